//! The registry: which interceptors are attached.

use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;

use super::{Interceptor, Pipeline, Stage, guarded::caught, pipeline::Entry};

/// The attached interceptors. Cheap to clone; clones share the registry. Nothing is attached to begin with.
#[derive(Clone, Default)]
pub struct Interceptors {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    current: ArcSwap<Pipeline>,
    // Counts registrations; serialises changes. Readers never take it.
    changes: Mutex<u64>,
}

/// One attached interceptor, for listings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    /// Its name.
    pub name: String,
    /// Its stage.
    pub stage: Stage,
    /// Its priority.
    pub priority: i32,
}

impl Interceptors {
    /// An empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Attaches one, as the latest registration. One of the same name is taken out first: its `detached` runs, then the
    /// new one's `attached`. True if there was one.
    pub fn attach(&self, hook: Arc<dyn Interceptor>) -> bool {
        let mut count = self.inner.changes.lock();
        *count += 1;
        let added = Entry::new(*count, hook);
        let (mut entries, old) = self.without(&added.name);
        entries.push(added.clone());
        self.inner.current.store(Arc::new(Pipeline::new(entries)));
        // A callback may use the registry itself.
        drop(count);
        if let Some(old) = &old {
            call_back(old, "detached", || old.hook.detached());
        }
        call_back(&added, "attached", || added.hook.attached());
        old.is_some()
    }

    /// Takes one out and runs its `detached`. False when none has this name.
    pub fn detach(&self, name: &str) -> bool {
        let changes = self.inner.changes.lock();
        let (entries, old) = self.without(name);
        let Some(old) = old else { return false };
        self.inner.current.store(Arc::new(Pipeline::new(entries)));
        drop(changes);
        call_back(&old, "detached", || old.hook.detached());
        true
    }

    /// A copy of what is attached, in the order before a tool.
    pub fn list(&self) -> Vec<Attached> {
        self.inner.current.load().list()
    }

    /// What a call that begins now goes through.
    pub fn snapshot(&self) -> Arc<Pipeline> {
        self.inner.current.load_full()
    }

    fn without(&self, name: &str) -> (Vec<Entry>, Option<Entry>) {
        let mut entries = self.inner.current.load().entries().to_vec();
        let old = entries.iter().position(|entry| entry.name == name).map(|at| entries.remove(at));
        (entries, old)
    }
}

fn call_back(entry: &Entry, which: &str, run: impl FnOnce()) {
    if caught(run).is_err() {
        tracing::warn!(hook = entry.name, which, "a callback of an interceptor panicked");
    }
}
