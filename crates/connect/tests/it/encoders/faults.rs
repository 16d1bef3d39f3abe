//! Encoders that refuse, break down, or become others: what it costs, and that it passes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use toolcrib_core::{
    Scope,
    search::{RankerKind, Vector},
};
use toolcrib_engine::{
    BoxFuture, Engine, EngineSettings,
    encoder::{Encoder, EncoderError, Encoding},
};
use toolcrib_store::MemoryStore;

use super::{
    endpoint::embedding,
    searches::{DESK, PATIENCE, QUERY, by, engine, is_plain, notes, plain, publish, ready, search},
};

/// An encoder of this process that misbehaves on demand.
#[derive(Default)]
struct Toy {
    /// Batches with a text that contains one of these fail.
    refuses: &'static [&'static str],
    /// It panics over such documents, over queries, and over queries that are to be answered at once.
    panics_over: Option<&'static str>,
    panics: AtomicBool,
    /// How many zeros are behind the numbers.
    wider: AtomicUsize,
    batch: usize,
    documents: Mutex<Vec<Vec<String>>>,
    queries: Mutex<Vec<Vec<String>>>,
}

impl Toy {
    fn vectors(&self, texts: &[String]) -> Result<Vec<Vector>, EncoderError> {
        if texts.iter().any(|text| self.refuses.iter().any(|word| text.contains(word))) {
            return Err(EncoderError::new("it has too many tokens"));
        }
        let wider = self.wider.load(Ordering::SeqCst);
        let vector = |text: &String| {
            let numbers = embedding(text).into_iter().map(|part| part as f32).chain(vec![0.0; wider]);
            Vector::new(&numbers.collect::<Vec<_>>()).unwrap()
        };
        Ok(texts.iter().map(vector).collect())
    }

    fn texts_read(&self) -> usize {
        self.documents.lock().iter().map(Vec::len).sum()
    }
}

impl Encoder for Toy {
    fn id(&self) -> &'static str {
        "toy"
    }

    fn name(&self) -> &'static str {
        "the toy"
    }

    fn batch(&self) -> usize {
        if self.batch == 0 { 64 } else { self.batch }
    }

    fn query_wait(&self) -> Duration {
        PATIENCE
    }

    fn encode_documents(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vector>, EncoderError>> {
        let panics = self.panics_over.is_some_and(|word| texts.iter().any(|text| text.contains(word)));
        assert!(!panics, "on purpose");
        self.documents.lock().push(texts.clone());
        Box::pin(async move { self.vectors(&texts) })
    }

    fn encode_queries(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vector>, EncoderError>> {
        Box::pin(async move {
            assert!(!self.panics.load(Ordering::SeqCst), "on purpose");
            self.queries.lock().push(texts.clone());
            self.vectors(&texts)
        })
    }

    fn encode_at_once(&self, _: &str) -> Option<Vector> {
        assert!(!self.panics.load(Ordering::SeqCst), "on purpose");
        None
    }
}

fn start(toy: Toy, store: Arc<MemoryStore>) -> (Arc<Toy>, Engine) {
    let toy = Arc::new(toy);
    (toy.clone(), engine(Some(Encoding::start(toy, store)), EngineSettings::default(), false))
}

#[track_caller]
fn is_by_toy(reply: &serde_json::Value) {
    assert_eq!(notes(reply), [""; 0]);
    assert_eq!(by(reply), "the toy");
}

#[tokio::test]
async fn a_text_that_is_refused_costs_itself_alone() {
    for refuses in [&["list_colours", "colours"][..], &["create note"], &["note", "font"], &["desk"]] {
        let store = Arc::new(MemoryStore::new());
        let (toy, engine) = start(Toy { refuses, ..Toy::default() }, store);
        assert!(ready(&engine, &Scope::default()).await, "{refuses:?}");
        assert_eq!(engine.encoding().unwrap().state().problem, None);
        is_by_toy(&search(&engine, "keep what is said").await);
        let read = toy.texts_read();
        publish(engine.hub(), "other", &[("say_memo", "Speaks.")]);
        assert!(ready(&engine, &Scope::default()).await);
        assert_eq!(toy.texts_read(), read + 1, "{refuses:?}: what was refused is not asked for again");
    }
}

#[tokio::test]
async fn a_panic_costs_what_it_was_asked_for_alone() {
    let store = Arc::new(MemoryStore::new());
    let (toy, engine) = start(Toy { panics_over: Some("memo"), ..Toy::default() }, store);
    assert!(ready(&engine, &Scope::default()).await);
    is_by_toy(&search(&engine, QUERY).await);
    toy.panics.store(true, Ordering::SeqCst);
    let other = "drop a note";
    is_plain(&search(&engine, other).await, &plain(other).await, "the encoder failed");
    toy.panics.store(false, Ordering::SeqCst);
    is_by_toy(&search(&engine, other).await);
}

#[tokio::test]
async fn kept_vectors_of_a_model_that_was_exchanged_are_made_anew() {
    let store = Arc::new(MemoryStore::new());
    let (_, first) = start(Toy::default(), store.clone());
    assert!(ready(&first, &Scope::default()).await);
    // All are kept, so that a query is the first to be answered by the other model.
    let wider = || Toy { wider: 3.into(), ..Toy::default() };
    let (toy, second) = start(wider(), store.clone());
    assert!(ready(&second, &Scope::default()).await);
    assert_eq!(toy.texts_read(), 0);
    is_plain(&search(&second, QUERY).await, &plain(QUERY).await, "the encoder failed");
    assert!(ready(&second, &Scope::default()).await);
    assert_eq!(toy.texts_read(), DESK.len());
    is_by_toy(&search(&second, QUERY).await);
    // One is new, and is answered by yet another.
    let (toy, third) = start(Toy { wider: 9.into(), ..Toy::default() }, store.clone());
    publish(third.hub(), "other", &[("say_memo", "Speaks.")]);
    assert!(ready(&third, &Scope::default()).await);
    assert_eq!(toy.texts_read(), DESK.len() + 1);
    is_by_toy(&search(&third, QUERY).await);
    let (toy, fourth) = start(Toy { wider: 9.into(), ..Toy::default() }, store);
    assert!(ready(&fourth, &Scope::default()).await);
    assert_eq!(toy.texts_read(), 0, "the store has the new ones");
    // And while it is running.
    toy.wider.store(1, Ordering::SeqCst);
    search(&fourth, QUERY).await;
    assert!(ready(&fourth, &Scope::default()).await);
    is_by_toy(&search(&fourth, QUERY).await);
}

#[tokio::test]
async fn queries_come_in_batches_too() {
    let store = Arc::new(MemoryStore::new());
    let (toy, engine) = start(Toy { batch: 2, ..Toy::default() }, store);
    assert!(ready(&engine, &Scope::default()).await);
    is_by_toy(&search(&engine, "keep a long memo for me. then list all of the fonts").await);
    let queries = toy.queries.lock();
    let asked = queries.iter().map(Vec::len).collect::<Vec<_>>();
    assert!(asked.iter().sum::<usize>() >= 3 && asked.iter().all(|count| *count <= 2), "{asked:?}");
    assert!(toy.documents.lock().iter().all(|batch| batch.len() <= 2));
}

#[tokio::test]
async fn nothing_is_waited_for_where_there_is_nothing_to_read() {
    let store = Arc::new(MemoryStore::new());
    let toy = Arc::new(Toy::default());
    let mut settings = EngineSettings::default();
    settings.assemble.ranker = RankerKind::Lexical;
    let words = engine(Some(Encoding::start(toy.clone(), store.clone())), settings, false);
    let begun = Instant::now();
    assert!(!ready(&words, &Scope::default()).await);
    let hub = toolcrib_engine::Hub::new(toolcrib_engine::HubLimits::default());
    let empty = Engine::builder(hub).encoding(Encoding::start(toy.clone(), store)).build();
    assert!(ready(&empty, &Scope::default()).await);
    assert!(begun.elapsed() < PATIENCE);
    let reply = search(&empty, QUERY).await;
    assert_eq!(notes(&reply), [""; 0]);
    assert_eq!(empty.encoding().unwrap().state().problem, None);
    assert_eq!(toy.texts_read(), 0);
}

#[tokio::test]
async fn secrets_are_masked_for_whoever_does_not_say_that_nothing_leaves_the_machine() {
    let (toy, engine) = start(Toy::default(), Arc::new(MemoryStore::new()));
    assert!(ready(&engine, &Scope::default()).await);
    search(&engine, &format!("write a note with ghp_{}", "aB3dE5fG7h".repeat(4))).await;
    let queries = toy.queries.lock().concat().join("\n");
    assert!(queries.starts_with("write a note with") && !queries.contains("aB3dE5"), "{queries}");
}
