//! What was read for the search index outlives the engine, and an index is ready where one was before.

use std::{
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::json;
use toolcrib_core::{Scope, Source, SourceState, search::Ranker as _};
use toolcrib_engine::{Engine, Hub, HubLimits, IndexCache, Publisher, SourceOptions};

use crate::script::Script;

#[derive(Default)]
struct Kept {
    snapshot: Mutex<Option<Vec<u8>>>,
    loads: AtomicUsize,
    saves: AtomicUsize,
}

impl IndexCache for Kept {
    fn load(&self) -> io::Result<Option<Vec<u8>>> {
        self.loads.fetch_add(1, Ordering::SeqCst);
        Ok(self.snapshot.lock().unwrap().clone())
    }

    fn save(&self, snapshot: &[u8]) -> io::Result<()> {
        *self.snapshot.lock().unwrap() = Some(snapshot.to_vec());
        self.saves.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

fn publish(publisher: &Publisher, tools: usize) {
    let tool =
        |number: usize| json!({"name": format!("tool_{number}"), "description": format!("Counts thing{number}.")});
    publisher.tools(SourceState::Ready, (0..tools).map(tool).collect(), None, false);
}

fn engine(kept: &Arc<Kept>, tools: usize) -> (Engine, Publisher) {
    let engine = Engine::builder(Hub::new(HubLimits::default())).index_cache(kept.clone()).build();
    let publisher =
        engine.hub().register(Source::Mcp("many".into()), SourceOptions::default(), Arc::new(Script::default()));
    publish(&publisher, tools);
    (engine, publisher)
}

/// What is found, without a runtime: saving is done before this ends.
fn search(engine: &Engine) -> Vec<(usize, u64)> {
    let view = engine.view(&Scope::default()).unwrap();
    let hits = view.index().search("counting thing7", 5);
    hits.into_iter().map(|hit| (hit.index, hit.score.to_bits())).collect()
}

#[test]
fn an_engine_that_starts_again_takes_over_what_was_read() {
    let kept = Arc::new(Kept::default());
    let first = search(&engine(&kept, 1_200).0);
    assert!(!first.is_empty());
    let count = |kept: &Kept| (kept.loads.load(Ordering::SeqCst), kept.saves.load(Ordering::SeqCst));
    assert_eq!(count(&kept), (1, 1));
    assert_eq!(search(&engine(&kept, 1_200).0), first);
    assert_eq!(count(&kept), (2, 1), "nothing new to keep");
    // What is damaged is as good as nothing, and replaced.
    *kept.snapshot.lock().unwrap() = Some(b"no snapshot".to_vec());
    assert_eq!(search(&engine(&kept, 1_200).0), first);
    assert_eq!(count(&kept), (3, 2));
    // A small catalog is read faster than a file.
    let small = Arc::new(Kept::default());
    search(&engine(&small, 20).0);
    assert_eq!(count(&small), (1, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn whoever_searched_before_a_source_changed_finds_an_index_ready() {
    let (engine, publisher) = engine(&Arc::new(Kept::default()), 40);
    let view = engine.view(&Scope::default()).unwrap();
    publish(&publisher, 41);
    assert!(!engine.view(&Scope::default()).unwrap().is_indexed(), "nobody searched the first one");
    view.index();
    engine.view(&Scope::default()).unwrap().index();
    publish(&publisher, 42);
    let view = engine.view(&Scope::default()).unwrap();
    let end = Instant::now() + Duration::from_secs(20);
    while !view.is_indexed() && Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert!(view.is_indexed());
}
