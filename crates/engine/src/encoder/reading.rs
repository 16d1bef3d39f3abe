//! The task that has tools read: one view after the other, batch by batch, again and again where the encoder fails. What was
//! read is in the store, and of the view that was read last in memory too, so that a changed source costs what is new.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::{sync::mpsc, time::timeout};
use toolcrib_core::{
    ContentHash,
    search::{Encoded, Vector},
};

use super::{EncoderError, EncodingState, Shared};
use crate::{clock::now_ms, view::View};

/// Rows read from, or written to, the store at a time.
const ROWS: usize = 500;
/// Most bytes of vectors in the store; those not used for longest make room.
const MAX_STORED_BYTES: usize = 256 * 1024 * 1024;
/// Most bytes of the vectors of the view that was read last that are held for the next one.
const MAX_HELD_BYTES: usize = 64 * 1024 * 1024;
/// Why vectors of all tools are no use.
const STRANGE: &str = "its vectors are of different widths, or too large for so many tools";
/// What a row costs beside its numbers.
const ROW_BYTES: usize = 128;
/// Longest time for one batch.
const BATCH_TIMEOUT: Duration = Duration::from_mins(2);
/// First and longest pause after a failure; it doubles from one to the other.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(5);

type Vectors = HashMap<ContentHash, Arc<Vector>>;

pub(super) async fn run(shared: Arc<Shared>, mut views: mpsc::Receiver<Weak<View>>) {
    let mut held = Vectors::new();
    while let Some(view) = views.recv().await {
        if let Some(vectors) = read(&shared, &view, &held).await {
            held = vectors;
        }
        shared.done.send_modify(|count| *count += 1);
    }
}

/// Reads a view's tools; `None` if it is gone meanwhile. `held`: what is known already.
async fn read(shared: &Arc<Shared>, view: &Weak<View>, held: &Vectors) -> Option<Vectors> {
    let (keys, mut missing) = {
        let view = view.upgrade()?;
        let passages = tokio::task::spawn_blocking(move || view.set.passages()).await.ok()?;
        let keys: Vec<ContentHash> = passages.iter().map(|text| ContentHash::of_bytes(text.as_bytes())).collect();
        let mut seen = HashSet::new();
        let texts = keys.iter().copied().zip(passages).filter(|(key, _)| seen.insert(*key));
        let texts: Vec<(ContentHash, String)> = texts.collect();
        (keys, texts)
    };
    let mut vectors: Vectors = missing.iter().filter_map(|(key, _)| Some((*key, held.get(key)?.clone()))).collect();
    missing.retain(|(key, _)| !vectors.contains_key(key));
    tell(shared, &keys, &vectors);
    load(shared, &missing, &mut vectors).await;
    missing.retain(|(key, _)| !vectors.contains_key(key));
    tell(shared, &keys, &vectors);

    let mut pause = FIRST_PAUSE;
    let mut rest = &missing[..];
    while !rest.is_empty() {
        // Nobody looks at a view any more that is gone: another catalog has taken its place.
        view.upgrade()?;
        let (batch, behind) = rest.split_at(shared.encoder.batch().clamp(1, ROWS).min(rest.len()));
        match encode(shared, batch, vectors.values().next()).await {
            Ok(encoded) => {
                keep(shared, batch, &encoded).await;
                vectors.extend(batch.iter().map(|(key, _)| *key).zip(encoded));
                (rest, pause) = (behind, FIRST_PAUSE);
                let width = vectors.values().next().map_or(0, |vector| vector.dimensions());
                if !Encoded::fits(keys.len(), width) {
                    // Not one text more is sent for what could not be used.
                    fail(shared, &keys, &vectors, STRANGE);
                    return None;
                }
                tell(shared, &keys, &vectors);
            }
            Err(error) => {
                fail(shared, &keys, &vectors, &error.to_string());
                tokio::time::sleep(pause.mul_f64(jitter())).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
    let view = view.upgrade()?;
    let by: Arc<str> = shared.encoder.name().into();
    let own = shared.clone();
    let arranged = tokio::task::spawn_blocking(move || {
        let vector = |at: usize| keys.get(at).and_then(|key| vectors.get(key)).map(|vector| &**vector);
        match view.index().encode(by, vector) {
            Some(encoded) => view.encode(encoded),
            None => fail(&own, &keys, &vectors, STRANGE),
        }
        vectors
    });
    let mut vectors = arranged.await.ok()?;
    let held: usize = vectors.values().map(|vector| vector.dimensions() + ROW_BYTES).sum();
    if held > MAX_HELD_BYTES {
        vectors.clear();
    }
    Some(vectors)
}

/// One batch's vectors, all as wide as `like`.
async fn encode(
    shared: &Shared,
    batch: &[(ContentHash, String)],
    like: Option<&Arc<Vector>>,
) -> Result<Vec<Arc<Vector>>, EncoderError> {
    let texts: Vec<String> = batch.iter().map(|(_, text)| text.clone()).collect();
    let answer = timeout(BATCH_TIMEOUT, shared.encoder.encode_documents(texts)).await;
    let late = |_| EncoderError::new(format!("no answer within {} s", BATCH_TIMEOUT.as_secs()));
    let vectors = answer.map_err(late)??;
    if vectors.len() != batch.len() {
        return Err(EncoderError::new(format!("{} vectors came for {} texts", vectors.len(), batch.len())));
    }
    let width = like.map_or_else(|| vectors[0].dimensions(), |like| like.dimensions());
    if let Some(other) = vectors.iter().find(|vector| vector.dimensions() != width) {
        let cause = format!("vectors of {} and of {width} numbers came; is it another model now?", other.dimensions());
        return Err(EncoderError::new(cause));
    }
    Ok(vectors.into_iter().map(Arc::new).collect())
}

/// Takes over what the store has.
async fn load(shared: &Shared, missing: &[(ContentHash, String)], vectors: &mut Vectors) {
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

async fn keep(shared: &Shared, batch: &[(ContentHash, String)], encoded: &[Arc<Vector>]) {
    let rows: Vec<(ContentHash, Vec<u8>)> =
        batch.iter().zip(encoded).map(|((key, _), vector)| (*key, vector.to_bytes())).collect();
    let most = MAX_STORED_BYTES / (rows.first().map_or(0, |(_, bytes)| bytes.len()) + ROW_BYTES);
    if let Err(error) = shared.store.keep_vectors(shared.encoder.id(), rows, now_ms(), most).await {
        tracing::warn!(%error, "vectors cannot be kept; tools are encoded again at the next start");
    }
}

/// Says how far it is.
fn tell(shared: &Shared, keys: &[ContentHash], vectors: &Vectors) {
    let read = keys.iter().filter(|key| vectors.contains_key(key)).count();
    *shared.state.lock() = EncodingState { read, tools: keys.len(), problem: None };
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

/// Between 0.5 and 1, so that several processes do not come back at the same moment.
fn jitter() -> f64 {
    getrandom::u32().map_or(1.0, |number| 0.5 + 0.5 * f64::from(number) / f64::from(u32::MAX))
}
