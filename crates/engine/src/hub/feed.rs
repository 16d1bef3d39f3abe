//! Changes that are taken into the catalog when somebody looks: registrations that come one by one, and what is said of
//! tools by hand.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;
use serde_json::Value;
use toolcrib_core::{
    Catalog, Labels, Quarantine, QuarantineReason, Source, SourceEntry, SourceState, Tool, ToolId, ingest::ingest,
};

use super::{Hub, Inner, Registered, relabelled, restate};
use crate::{backend::Backend, manager::Adjustment};

/// Brings the tools of its sources when the catalog is read.
pub(crate) trait Feed: Send + Sync {
    /// The sources that changed since the last time and those of `also` that are its own, each whole and with the labels
    /// that its tools were registered with.
    fn collect(&self, also: &BTreeSet<Source>) -> Vec<Fed>;
}

/// All tools of one source.
pub(crate) struct Fed {
    pub(crate) source: Source,
    pub(crate) tools: Vec<Arc<Tool>>,
}

/// How far the catalog is behind.
#[derive(Default)]
pub(super) struct Pace {
    /// Grows with every change that waits.
    asked: AtomicU64,
    /// What of that is in the catalog.
    done: AtomicU64,
    /// Held while changes are taken in, so that whoever looks meanwhile waits for its own.
    turn: Mutex<()>,
}

impl Hub {
    pub(crate) fn attach(&self, feed: Weak<dyn Feed>) -> u64 {
        self.inner.registry.lock().attach(feed)
    }

    /// Takes a feed and the sources that still are its away.
    pub(crate) fn detach(&self, feed: u64) {
        let mut registry = self.inner.registry.lock();
        registry.detach(feed);
        let own = registry.sources.iter().filter(|(_, registered)| registered.feed == Some(feed));
        let own: Vec<Source> = own.map(|(source, _)| source.clone()).collect();
        for source in own {
            registry.sources.remove(&source);
            self.inner.swap(source, None);
        }
    }

    /// Keeps a source for a feed; false if somebody else has it.
    pub(crate) fn reserve(&self, source: &Source, feed: u64, backend: impl FnOnce() -> Arc<dyn Backend>) -> bool {
        let mut registry = self.inner.registry.lock();
        if let Some(registered) = registry.sources.get(source) {
            return registered.feed == Some(feed);
        }
        let registered =
            Registered { backend: backend(), options: Arc::default(), epoch: 0, feed: Some(feed), scoped: None };
        registry.sources.insert(source.clone(), registered);
        true
    }

    /// Wakes everybody who watches: a feed has something new.
    pub(crate) fn stir(&self) {
        self.inner.pace.asked.fetch_add(1, Ordering::AcqRel);
        self.touch();
    }

    /// The catalog without what waits to be taken in. Never waits itself.
    pub(crate) fn peek(&self) -> Arc<Catalog> {
        self.inner.catalog.load_full()
    }

    /// Checks one definition for a source.
    pub(crate) fn take_in(&self, source: &Source, definition: Value) -> Result<Tool, Quarantine> {
        let limits = &self.inner.limits;
        let check = |value: &Value| limits.check_schema(value);
        let (mut tools, mut refused) = ingest(source, vec![definition], &limits.ingest, 1, &check);
        match tools.pop() {
            Some(tool) => Ok(tool),
            None => Err(refused.pop().unwrap_or_else(|| Quarantine {
                source: source.clone(),
                name: String::new(),
                reason: QuarantineReason::NoName,
            })),
        }
    }

    /// What the options of a published source say of a tool; `None` where they are not asked.
    pub(crate) fn labels_of(&self, id: &ToolId) -> Option<Arc<Labels>> {
        let registry = self.inner.registry.lock();
        let registered = registry.sources.get(&id.source).filter(|registered| registered.feed.is_none())?;
        Some(registered.options.labels_of(&id.name).clone())
    }

    /// Whether the tools of this source are made for whoever asks, so that nobody knows all of them.
    pub(crate) fn is_scoped(&self, source: &Source) -> bool {
        let registry = self.inner.registry.lock();
        registry.sources.get(source).is_some_and(|registered| registered.scoped.is_some())
    }

    /// Puts what is said of tools by hand in place of what was said of them before.
    pub(crate) fn adjust(&self, changes: impl IntoIterator<Item = (ToolId, Adjustment)>) {
        let mut registry = self.inner.registry.lock();
        let mut any = false;
        for (id, adjustment) in changes {
            registry.say(id, adjustment);
            any = true;
        }
        if any {
            self.inner.pace.asked.fetch_add(1, Ordering::AcqRel);
            drop(registry);
            self.touch();
        }
    }

    pub(crate) fn adjustment(&self, id: &ToolId) -> Option<Adjustment> {
        self.inner.registry.lock().adjustment(id).cloned()
    }

    pub(crate) fn adjustments(&self) -> BTreeMap<ToolId, Adjustment> {
        self.inner.registry.lock().adjustments()
    }

    /// How many tools something is said of by hand.
    pub(crate) fn adjusted(&self) -> usize {
        self.inner.registry.lock().adjusted()
    }
}

impl Inner {
    /// Takes into the catalog what waits, all of it in one snapshot.
    pub(super) fn settle(&self) {
        let pace = &self.pace;
        let behind = || pace.asked.load(Ordering::Acquire) != pace.done.load(Ordering::Acquire);
        if !behind() {
            return;
        }
        // The catalog before may be the last to hold tools of a program: it goes when all locks are free.
        let _before;
        let _turn = pace.turn.lock();
        let asked = pace.asked.load(Ordering::Acquire);
        if asked == pace.done.load(Ordering::Acquire) {
            return;
        }
        let (dirty, feeds) = {
            let mut registry = self.registry.lock();
            (std::mem::take(&mut registry.dirty), registry.feeds())
        };
        // Feeds have locks of their own, which come before the registry's.
        let fed: Vec<(u64, Fed)> =
            feeds.iter().flat_map(|(id, feed)| feed.collect(&dirty).into_iter().map(|fed| (*id, fed))).collect();
        let registry = self.registry.lock();
        let catalog = self.catalog.load();
        let mut sources = catalog.sources().clone();
        for source in dirty {
            let published = registry.sources.get(&source).filter(|registered| registered.feed.is_none());
            if let (Some(registered), Some(old)) = (published, sources.get(&source)) {
                let said = registry.said(&source);
                if let Some(scoped) = &registered.scoped {
                    scoped.relabel(&registered.options, said.as_ref());
                    continue;
                }
                let entry = restate(old, &registered.options, said.as_ref());
                sources.insert(source, Arc::new(entry));
            }
        }
        for (feed, Fed { source, tools }) in fed {
            if registry.sources.get(&source).is_none_or(|registered| registered.feed != Some(feed)) {
                tracing::warn!(%source, "registered tools are not served: somebody else publishes their source now");
                continue;
            }
            if tools.is_empty() {
                sources.remove(&source);
                continue;
            }
            let said = registry.said(&source);
            let label = |tool: Arc<Tool>| match said.as_ref().and_then(|said| said.get(tool.name())) {
                Some(adjustment) => relabelled(&tool, adjustment.over(tool.labels())),
                None => tool,
            };
            let tools = tools.into_iter().map(label).collect();
            sources.insert(source, Arc::new(SourceEntry::new(SourceState::Ready, tools, Vec::new())));
        }
        _before = self.catalog.swap(Arc::new(Catalog::new(catalog.generation() + 1, sources)));
        pace.done.store(asked, Ordering::Release);
    }
}
