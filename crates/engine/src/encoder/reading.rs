//! The task that has tools read: one view after the other, batch by batch. What was read is in the store, and of the view
//! that was read last in memory too, so that a changed source costs what is new.
//!
//! Where a batch fails, a text that every encoder can read tells whose fault it is. Is that not encoded either, then the view
//! goes to the end of the queue, and nothing is asked for a while. Is it, then the batch is halved, down to the text that is
//! refused: its tool goes by words alone for as long as the process lives.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    hash::RandomState,
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::sync::mpsc::{self, error::TryRecvError};
use toolcrib_core::{
    ContentHash,
    backoff::Backoff,
    search::{Encoded, Vector},
};

use super::{
    EncoderError, EncodingState, Shared,
    ask::{Kind, ask},
};
use crate::{
    clock::now_ms,
    view::{MAX_VIEWS, View},
};

/// Rows read from, or written to, the store at a time.
const ROWS: usize = 500;
/// Most bytes of vectors in the store; those not used for longest make room.
const MAX_STORED_BYTES: usize = 256 * 1024 * 1024;
/// Most bytes of the vectors of the view that was read last that are held for the next one.
const MAX_HELD_BYTES: usize = 64 * 1024 * 1024;
/// Most texts that are known to be refused; beyond, all of them are asked for again.
const MAX_REFUSED: usize = 4_096;
/// Why vectors of all tools are no use.
const STRANGE: &str = "its vectors are too large for so many tools";
/// Why they are not asked for any further for now.
const CHANGING: &str = "the number of numbers of its vectors changes from answer to answer";
/// What a row costs beside its numbers.
const ROW_BYTES: usize = 128;
/// First and longest pause after a failure.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(5);
/// What every encoder can read that can read anything.
const PLAIN_TEXT: &str = "a tool";

type Vectors = HashMap<ContentHash, Arc<Vector>>;
type Text = (ContentHash, String);

/// What the task knows from one view to the next.
struct Memory {
    held: Vectors,
    /// Vectors without a direction, for texts that are refused. Never in the store: another day they may be taken.
    refused: Vectors,
    pauses: Backoff,
}

/// How the reading of a view ended.
#[derive(PartialEq, Eq)]
enum End {
    /// It was read, or is gone, or can never be used.
    Over,
    /// The encoder failed.
    Failed,
}

pub(super) async fn run(shared: Arc<Shared>, mut views: mpsc::Receiver<Weak<View>>) {
    let pauses = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE, RandomState::new());
    let mut memory = Memory { held: Vectors::new(), refused: Vectors::new(), pauses };
    let (mut queue, mut failed) = (VecDeque::new(), None);
    loop {
        if queue.is_empty() && failed.is_none() {
            let Some(view) = views.recv().await else { return };
            queue.push_back(view);
        }
        while queue.len() < MAX_VIEWS {
            match views.try_recv() {
                Ok(view) => queue.push_back(view),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return,
            }
        }
        queue.extend(failed.take());
        // Nobody looks at a view any more that is gone: another catalog has taken its place.
        queue.retain(|view| view.strong_count() > 0);
        let Some(view) = queue.pop_front() else { continue };
        let end = read(&shared, &view, &mut memory).await;
        shared.done.send_modify(|count| *count += 1);
        if end == End::Failed {
            failed = Some(view);
            tokio::time::sleep(memory.pauses.wait()).await;
        }
    }
}

/// Reads a view's tools.
async fn read(shared: &Arc<Shared>, view: &Weak<View>, memory: &mut Memory) -> End {
    let Some((keys, texts)) = texts(view).await else { return End::Over };
    if keys.is_empty() {
        return End::Over;
    }
    let known = |key| memory.held.get(key).or_else(|| memory.refused.get(key));
    let mut vectors: Vectors = texts.iter().filter_map(|(key, _)| Some((*key, known(key)?.clone()))).collect();
    tell(shared, &keys, &vectors, false);
    load(shared, &unread(&texts, &vectors), &mut vectors).await;
    drop_strangers(shared.width.now(), &mut vectors);
    tell(shared, &keys, &vectors, false);
    let end = encode_all(shared, view, &keys, &texts, &mut vectors, memory).await;
    let complete = keys.iter().all(|key| vectors.contains_key(key));
    if let Some(view) = view.upgrade().filter(|_| complete) {
        let (by, own): (Arc<str>, _) = (shared.encoder.name().into(), shared.clone());
        let arranged = tokio::task::spawn_blocking(move || {
            let vector = |at: usize| keys.get(at).and_then(|key| vectors.get(key)).map(|vector| &**vector);
            match view.index().encode(by, vector) {
                Some(encoded) => {
                    view.encode(encoded);
                    tell(&own, &keys, &vectors, true);
                }
                None => fail(&own, &keys, &vectors, STRANGE),
            }
            vectors
        });
        let Ok(arranged) = arranged.await else { return End::Over };
        vectors = arranged;
    }
    let bytes: usize = vectors.values().map(|vector| vector.dimensions() + ROW_BYTES).sum();
    memory.held = if bytes > MAX_HELD_BYTES { Vectors::new() } else { vectors };
    end
}

/// What a view's tools say, by position, and each text once; `None` if it is gone meanwhile.
async fn texts(view: &Weak<View>) -> Option<(Vec<ContentHash>, Vec<Text>)> {
    let view = view.upgrade()?;
    let passages = tokio::task::spawn_blocking(move || view.set.passages()).await.ok()?;
    let keys: Vec<ContentHash> = passages.iter().map(|text| ContentHash::of_bytes(text.as_bytes())).collect();
    let mut seen = HashSet::new();
    let texts = keys.iter().copied().zip(passages).filter(|(key, _)| seen.insert(*key)).collect();
    Some((keys, texts))
}

fn unread<'a>(texts: &'a [Text], vectors: &Vectors) -> Vec<&'a Text> {
    texts.iter().filter(|(key, _)| !vectors.contains_key(key)).collect()
}

/// Leaves vectors of one width: that of the encoder's last answer, as far as there was one.
fn drop_strangers(width: Option<usize>, vectors: &mut Vectors) {
    let any = vectors.values().next().map(|vector| vector.dimensions());
    let all_alike = vectors.values().all(|vector| Some(vector.dimensions()) == any);
    match width {
        Some(width) => vectors.retain(|_, vector| vector.dimensions() == width),
        None if all_alike => {}
        // Which of them still count cannot be told.
        None => vectors.clear(),
    }
}

/// Gets the vectors that are missing.
async fn encode_all(
    shared: &Shared,
    view: &Weak<View>,
    keys: &[ContentHash],
    texts: &[Text],
    vectors: &mut Vectors,
    memory: &mut Memory,
) -> End {
    let most = shared.encoder.batch().clamp(1, ROWS);
    let (mut rest, mut at, mut size) = (unread(texts, vectors), 0, most);
    // What failed alone is tried once more after all others, and after a pause: it may have been the moment.
    let (mut doubtful, mut paused) = (HashSet::new(), false);
    let (mut refused, mut turned) = (0, false);
    while at < rest.len() {
        if view.strong_count() == 0 {
            return End::Over;
        }
        if !paused && doubtful.contains(&rest[at].0) {
            paused = true;
            tokio::time::sleep(FIRST_PAUSE).await;
        }
        let batch = &rest[at..rest.len().min(at + size)];
        let error = match encode(shared, batch).await {
            Ok(encoded) => {
                if !turned {
                    memory.pauses.reset();
                }
                let width = encoded[0].dimensions();
                keep(shared, batch, &encoded).await;
                vectors.extend(batch.iter().map(|(key, _)| *key).zip(encoded));
                (at, size) = (at + batch.len(), (size * 2).min(most));
                if !Encoded::fits(keys.len(), width) {
                    // Not one text more is sent for what could not be used.
                    fail(shared, keys, vectors, STRANGE);
                    return End::Over;
                }
                let before = vectors.len();
                drop_strangers(Some(width), vectors);
                if vectors.len() < before {
                    // What was known is of another model: all of it is read anew, and replaced in the store.
                    memory.refused.clear();
                    if std::mem::replace(&mut turned, true) {
                        fail(shared, keys, vectors, CHANGING);
                        return End::Failed;
                    }
                    (rest, at) = (unread(texts, vectors), 0);
                }
                tell(shared, keys, vectors, true);
                continue;
            }
            Err(error) => error,
        };
        let plain = (ContentHash::of_bytes(PLAIN_TEXT.as_bytes()), PLAIN_TEXT.to_owned());
        let Ok(answer) = encode(shared, &[&plain]).await else {
            fail(shared, keys, vectors, &error.to_string());
            return End::Failed;
        };
        if batch.len() > 1 {
            size = batch.len() / 2;
            continue;
        }
        let text = rest[at];
        at += 1;
        if doubtful.insert(text.0) {
            rest.push(text);
            continue;
        }
        let width = vectors.values().next().unwrap_or(&answer[0]).dimensions();
        let Ok(nothing) = Vector::new(&vec![0.0; width]) else { continue };
        if memory.refused.len() >= MAX_REFUSED {
            memory.refused.clear();
        }
        let nothing = Arc::new(nothing);
        memory.refused.insert(text.0, nothing.clone());
        vectors.insert(text.0, nothing);
        refused += 1;
        let encoder = shared.encoder.name();
        if refused == 1 {
            tracing::warn!(%error, encoder, "what a tool says of itself is refused; such tools are found by words alone");
        }
    }
    End::Over
}

/// One batch's vectors.
async fn encode(shared: &Shared, batch: &[&Text]) -> Result<Vec<Arc<Vector>>, EncoderError> {
    let texts = batch.iter().map(|(_, text)| text.clone()).collect();
    let vectors = ask(&shared.encoder, Kind::Documents, texts).await?;
    if let Some(first) = vectors.first() {
        shared.width.of_documents(first.dimensions());
    }
    Ok(vectors.into_iter().map(Arc::new).collect())
}

/// Takes over what the store has.
async fn load(shared: &Shared, missing: &[&Text], vectors: &mut Vectors) {
    for part in missing.chunks(ROWS) {
        let keys: Vec<ContentHash> = part.iter().map(|(key, _)| *key).collect();
        let kept = match shared.store.vectors(shared.encoder.id(), keys.clone(), now_ms()).await {
            Ok(kept) => kept,
            Err(error) => {
                tracing::warn!(%error, "kept vectors cannot be read; tools are encoded anew");
                return;
            }
        };
        let readable = keys.into_iter().zip(kept).filter_map(|(key, bytes)| Some((key, Vector::from_bytes(&bytes?)?)));
        vectors.extend(readable.map(|(key, vector)| (key, Arc::new(vector))));
    }
}

async fn keep(shared: &Shared, batch: &[&Text], encoded: &[Arc<Vector>]) {
    let rows: Vec<(ContentHash, Vec<u8>)> =
        batch.iter().zip(encoded).map(|((key, _), vector)| (*key, vector.to_bytes())).collect();
    let most = MAX_STORED_BYTES / (rows.first().map_or(0, |(_, bytes)| bytes.len()) + ROW_BYTES);
    if let Err(error) = shared.store.keep_vectors(shared.encoder.id(), rows, now_ms(), most).await {
        tracing::warn!(%error, "vectors cannot be kept; tools are encoded again at the next start");
    }
}

/// Says how far it is, and, where the encoder has answered, that it does.
fn tell(shared: &Shared, keys: &[ContentHash], vectors: &Vectors, answers: bool) {
    let read = keys.iter().filter(|key| vectors.contains_key(key)).count();
    let mut state = shared.state.lock();
    let problem = state.problem.take().filter(|_| !answers);
    *state = EncodingState { read, tools: keys.len(), problem };
}

/// Says why it goes no further, once until it does.
fn fail(shared: &Shared, keys: &[ContentHash], vectors: &Vectors, problem: &str) {
    let read = keys.iter().filter(|key| vectors.contains_key(key)).count();
    let state = EncodingState { read, tools: keys.len(), problem: Some(problem.to_owned()) };
    let before = std::mem::replace(&mut *shared.state.lock(), state);
    if before.problem.is_none() {
        let encoder = shared.encoder.name();
        tracing::warn!(problem, encoder, "tools are not encoded; searches go by the built-in table until they are");
    }
    shared.done.send_modify(|count| *count += 1);
}
