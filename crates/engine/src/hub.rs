//! The hub: sources publish what they have, readers take the current snapshot.

mod feed;
mod registry;
mod scoped;

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;
use toolcrib_core::{
    Catalog, IngestLimits, Labels, Scope, Source, SourceEntry, SourceState, Tool,
    ingest::ingest,
    schema::{self, SchemaLimits},
};

pub use self::scoped::{FactoryLimits, ScopedPublisher};
use self::{
    feed::Pace,
    registry::{Registered, Registry, Said},
    scoped::{ByScope, Scoped, ScopedCatalogs},
};
use crate::{authoring::ToolFactory, backend::Backend};

pub(crate) use self::feed::{Fed, Feed};

/// What local configuration says about a source.
#[derive(Clone, Debug, Default)]
pub struct SourceOptions {
    /// One line on what the source is for, shown in listings.
    pub summary: Option<String>,
    /// What is said of all its tools.
    pub labels: Arc<Labels>,
    /// What is said of single tools instead, by the source's own name of each.
    pub tools: BTreeMap<String, Arc<Labels>>,
    /// Whether its behaviour hints are believed: only then may `readonly` let its tools through.
    pub trust_hints: bool,
    /// Which generation of the source this is, where that is counted (plugins); 0 = not.
    pub generation: u64,
}

/// Limits of the hub.
#[derive(Clone, Copy, Debug)]
pub struct HubLimits {
    /// Limits on one definition.
    pub ingest: IngestLimits,
    /// Limits on one schema.
    pub schema: SchemaLimits,
    /// Most tools of one source. Default 10,000.
    pub tools_per_source: usize,
    /// Bounds on sources that make their tools for whoever asks.
    pub factories: FactoryLimits,
}

impl Default for HubLimits {
    fn default() -> Self {
        Self {
            ingest: IngestLimits::default(),
            schema: SchemaLimits::default(),
            tools_per_source: 10_000,
            factories: FactoryLimits::default(),
        }
    }
}

impl HubLimits {
    /// Whether a schema can be used; if not, why not.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check_schema(&self, schema: &Value) -> Result<(), String> {
        schema::check(schema, &self.schema).map_err(|problem| problem.to_string())
    }
}

/// Collects sources into one catalog. Cheap to clone.
#[derive(Clone)]
pub struct Hub {
    inner: Arc<Inner>,
}

struct Inner {
    catalog: ArcSwap<Catalog>,
    // Serialises publication; readers never take it, unless something waits to be taken in.
    registry: Mutex<Registry>,
    pace: Pace,
    wake: watch::Sender<u64>,
    limits: HubLimits,
    // Those of the registered sources that make their tools for whoever asks; mostly none.
    scoped: ArcSwap<Vec<Arc<Scoped>>>,
    by_scope: ScopedCatalogs,
}

impl Hub {
    /// An empty hub.
    pub fn new(limits: HubLimits) -> Self {
        Self {
            inner: Arc::new(Inner {
                catalog: ArcSwap::from_pointee(Catalog::default()),
                registry: Mutex::default(),
                pace: Pace::default(),
                wake: watch::Sender::new(0),
                limits,
                scoped: ArcSwap::default(),
                by_scope: ScopedCatalogs::default(),
            }),
        }
    }

    /// The limits sources are held to.
    pub fn limits(&self) -> &HubLimits {
        &self.inner.limits
    }

    /// The current snapshot as this scope sees it: sources that make their tools for whoever asks have those of this scope.
    /// May wait for them, for all together at most [`FactoryLimits::patience`].
    pub fn catalog_for(&self, scope: &Scope) -> Arc<Catalog> {
        let common = self.catalog();
        let scoped = self.inner.scoped.load();
        if scoped.is_empty() {
            return common;
        }
        self.inner.by_scope.get(scope, &common, &scoped, &self.inner.limits)
    }

    /// The current snapshot, with everything that was registered or said by hand up to now. Of sources that make their
    /// tools for whoever asks it has none.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.inner.settle();
        self.inner.catalog.load_full()
    }

    /// Wakes after every new snapshot (several may be one wake-up); the number only grows and means nothing else.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.inner.wake.subscribe()
    }

    /// Adds a source in state [`SourceState::Starting`]. One of the same identity is replaced; its tools stay listed, as
    /// stale, until the new one publishes, so that readers see no gap.
    pub fn register(&self, source: Source, options: SourceOptions, backend: Arc<dyn Backend>) -> Publisher {
        let _before;
        let mut registry = self.inner.registry.lock();
        let publisher;
        (publisher, _before) = self.enter(&mut registry, source.clone(), options, backend);
        let options = registry.sources.get(&source).map(|registered| registered.options.clone()).unwrap_or_default();
        let said = registry.said(&source);
        let entry = match self.inner.catalog.load().sources().get(&source) {
            Some(old) => {
                let mut entry = restate(old, &options, said.as_ref());
                entry.state = SourceState::Starting;
                entry.stale = true;
                entry
            }
            None => SourceEntry::new(SourceState::Starting, Vec::new(), Vec::new()).with_summary(summary(&options)),
        };
        self.inner.swap(source, Some(Arc::new(entry)));
        publisher
    }

    /// Adds or replaces a source together with its tools, in one snapshot.
    pub fn replace(
        &self,
        source: Source,
        options: SourceOptions,
        backend: Arc<dyn Backend>,
        state: SourceState,
        items: Vec<Value>,
    ) -> Publisher {
        let mut entry = build_entry(&source, &options, &self.inner.limits, state, items, None, false);
        let _before;
        let mut registry = self.inner.registry.lock();
        if let Some(said) = registry.said(&source) {
            entry = restate(&entry, &options, Some(&said));
        }
        let publisher;
        (publisher, _before) = self.enter(&mut registry, source.clone(), options, backend);
        self.inner.swap(source, Some(Arc::new(entry)));
        publisher
    }

    /// Adds or replaces a source whose tools are made for whoever asks. What a scope gets is asked once and remembered, until
    /// [`ScopedPublisher::refresh`]. A factory that fails, panics or takes long affects nothing but its own source.
    pub fn register_scoped(
        &self,
        source: Source,
        options: SourceOptions,
        factory: Arc<dyn ToolFactory>,
    ) -> ScopedPublisher {
        let scoped = Scoped::new(source.clone(), factory, Arc::downgrade(&self.inner));
        let entry = SourceEntry::new(SourceState::Ready, Vec::new(), Vec::new()).with_summary(summary(&options));
        // What was there before is a program's own: it goes when the lock is free.
        let _before;
        let mut registry = self.inner.registry.lock();
        (_, _before) = self.enter(&mut registry, source.clone(), options, Arc::new(ByScope(scoped.clone())));
        if let Some(registered) = registry.sources.get_mut(&source) {
            registered.scoped = Some(scoped.clone());
        }
        self.inner.list_scoped(&registry);
        self.inner.swap(source, Some(Arc::new(entry)));
        ScopedPublisher { scoped }
    }

    /// Also gives what was registered before, to be dropped without the lock.
    fn enter(
        &self,
        registry: &mut Registry,
        source: Source,
        options: SourceOptions,
        backend: Arc<dyn Backend>,
    ) -> (Publisher, Option<Registered>) {
        let epoch = self.inner.catalog.load().generation() + 1;
        let registered = Registered { backend, options: Arc::new(options), epoch, feed: None, scoped: None };
        let before = registry.sources.insert(source.clone(), registered);
        if before.as_ref().is_some_and(|before| before.scoped.is_some()) {
            self.inner.list_scoped(registry);
        }
        (Publisher { hub: Arc::downgrade(&self.inner), source, epoch }, before)
    }

    /// Changes what is said locally about a source that goes on running.
    pub fn reconfigure(&self, source: &Source, options: SourceOptions) {
        let mut registry = self.inner.registry.lock();
        let said = registry.said(source);
        let published = registry.sources.get_mut(source).filter(|registered| registered.feed.is_none());
        let Some(registered) = published else { return };
        registered.options = Arc::new(options);
        if let Some(scoped) = &registered.scoped {
            scoped.forget(&|_| true);
        }
        if let Some(old) = self.inner.catalog.load().sources().get(source) {
            let entry = restate(old, &registered.options, said.as_ref());
            self.inner.swap(source.clone(), Some(Arc::new(entry)));
        }
    }

    /// Removes a source and its tools.
    pub fn remove(&self, source: &Source) {
        // Dropped when the lock is free: it is a program's own.
        let removed;
        let mut registry = self.inner.registry.lock();
        removed = registry.sources.remove(source);
        if removed.is_some() {
            self.inner.list_scoped(&registry);
            self.inner.swap(source.clone(), None);
        }
    }

    /// Wakes everybody who watches although the catalog is the same: what scopes see may differ now.
    pub fn touch(&self) {
        self.inner.wake.send_modify(|count| *count += 1);
    }

    /// What runs the tools of a source.
    pub fn backend(&self, source: &Source) -> Option<Arc<dyn Backend>> {
        self.inner.registry.lock().sources.get(source).map(|registered| registered.backend.clone())
    }
}

impl Inner {
    // Called with the registry locked.
    fn list_scoped(&self, registry: &Registry) {
        let scoped = registry.sources.values().filter_map(|registered| registered.scoped.clone()).collect();
        self.scoped.store(Arc::new(scoped));
    }

    // Called with the registry locked.
    fn swap(&self, source: Source, entry: Option<Arc<SourceEntry>>) {
        let next = self.catalog.load().with_source(source, entry);
        self.catalog.store(Arc::new(next));
        self.wake.send_modify(|count| *count += 1);
    }
}

/// The right to publish for one source. Does nothing once the source was removed or replaced.
#[derive(Clone)]
pub struct Publisher {
    hub: Weak<Inner>,
    source: Source,
    epoch: u64,
}

impl Publisher {
    /// The source this publisher speaks for.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Publishes the source's complete tool list. `stale` marks last-known definitions. Runs schema checks: call it
    /// from a blocking-tolerant place when the list is long.
    pub fn tools(&self, state: SourceState, items: Vec<Value>, instructions: Option<String>, stale: bool) {
        let Some(hub) = self.hub.upgrade() else { return };
        let (options, said) = {
            let registry = hub.registry.lock();
            match registry.sources.get(&self.source) {
                Some(registered) if registered.epoch == self.epoch => {
                    (registered.options.clone(), registry.said(&self.source))
                }
                Some(_) | None => return,
            }
        };
        // The slow part runs without the lock.
        let source = &self.source;
        let mut entry = build_entry(source, &options, &hub.limits, state, items, instructions, stale);
        if said.is_some() {
            entry = restate(&entry, &options, said.as_ref());
        }
        let registry = hub.registry.lock();
        if let Some(registered) = registry.sources.get(source).filter(|registered| registered.epoch == self.epoch) {
            // What is said of the tools may have changed meanwhile.
            let said_now = registry.said(source);
            if !Arc::ptr_eq(&registered.options, &options) || !same(said.as_ref(), said_now.as_ref()) {
                entry = restate(&entry, &registered.options, said_now.as_ref());
            }
            let unchanged = hub.catalog.load().sources().get(&self.source).is_some_and(|old| {
                old.hash() == entry.hash()
                    && old.state == entry.state
                    && old.stale == entry.stale
                    && old.instructions == entry.instructions
                    && old.quarantined == entry.quarantined
            });
            if !unchanged {
                hub.swap(self.source.clone(), Some(Arc::new(entry)));
            }
        }
    }

    /// Publishes a new state; the tools stay as they are.
    pub fn state(&self, state: SourceState) {
        let Some(hub) = self.hub.upgrade() else { return };
        let registry = hub.registry.lock();
        if registry.sources.get(&self.source).is_none_or(|registered| registered.epoch != self.epoch) {
            return;
        }
        let Some(old) = hub.catalog.load().sources().get(&self.source).cloned() else { return };
        if old.state != state {
            let mut entry = SourceEntry::clone(&old);
            entry.state = state;
            hub.swap(self.source.clone(), Some(Arc::new(entry)));
        }
    }
}

/// Without what is said of the tools by hand.
fn build_entry(
    source: &Source,
    options: &SourceOptions,
    limits: &HubLimits,
    state: SourceState,
    items: Vec<Value>,
    instructions: Option<String>,
    stale: bool,
) -> SourceEntry {
    let check = |value: &Value| limits.check_schema(value);
    let (tools, quarantined) = ingest(source, items, &limits.ingest, limits.tools_per_source, &check);
    let tools = tools.into_iter().map(|tool| marked(&Arc::new(tool), options, None)).collect();
    let mut entry = SourceEntry::new(state, tools, quarantined).with_summary(summary(options));
    entry.instructions = instructions.map(|text| text.chars().take(8_000).collect::<String>().into());
    entry.stale = stale;
    entry
}

/// Whether nothing was said of the tools since.
fn same(a: Option<&Said>, b: Option<&Said>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        (None, None) => true,
        _ => false,
    }
}

/// The tool with what is said of it; the same one if it has that already.
fn marked(tool: &Arc<Tool>, options: &SourceOptions, said: Option<&Said>) -> Arc<Tool> {
    let base = options.labels_of(tool.name());
    let labels = said.and_then(|said| said.get(tool.name())).map_or_else(|| base.clone(), |said| said.over(base));
    let trusted = options.trust_hints || matches!(tool.source(), Source::Builtin | Source::Plugin(_));
    if tool.hints_trusted() == trusted && tool.generation() == options.generation {
        return relabelled(tool, labels);
    }
    let tool = Tool::clone(tool).with_labels(labels).with_trusted_hints(options.trust_hints);
    Arc::new(tool.with_generation(options.generation))
}

fn relabelled(tool: &Arc<Tool>, labels: Arc<Labels>) -> Arc<Tool> {
    if Arc::ptr_eq(tool.labels(), &labels) || **tool.labels() == *labels {
        return tool.clone();
    }
    Arc::new(Tool::clone(tool).with_labels(labels))
}

fn summary(options: &SourceOptions) -> Option<Arc<str>> {
    options.summary.as_deref().map(Arc::from)
}

/// The same entry under other options.
fn restate(old: &SourceEntry, options: &SourceOptions, said: Option<&Said>) -> SourceEntry {
    let tools = old.tools.iter().map(|tool| marked(tool, options, said)).collect();
    let mut entry = SourceEntry::new(old.state.clone(), tools, old.quarantined.to_vec()).with_summary(summary(options));
    entry.instructions.clone_from(&old.instructions);
    entry.stale = old.stale;
    entry
}
