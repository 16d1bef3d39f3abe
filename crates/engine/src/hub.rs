//! The hub: sources publish what they have, readers take the current snapshot.

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

use self::scoped::{ByScope, Scoped, ScopedCatalogs};
pub use self::scoped::{FactoryLimits, ScopedPublisher};
use crate::{authoring::ToolFactory, backend::Backend};

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

/// Collects sources into one catalog. Cheap to clone.
#[derive(Clone)]
pub struct Hub {
    inner: Arc<Inner>,
}

struct Inner {
    catalog: ArcSwap<Catalog>,
    // Serialises publication; readers never take it.
    registry: Mutex<BTreeMap<Source, Registered>>,
    wake: watch::Sender<u64>,
    limits: HubLimits,
    // Those of the registered sources that make their tools for whoever asks; mostly none.
    scoped: ArcSwap<Vec<Arc<Scoped>>>,
    by_scope: ScopedCatalogs,
}

struct Registered {
    backend: Arc<dyn Backend>,
    options: Arc<SourceOptions>,
    // Distinguishes a source from its successor of the same name, so that a late publisher changes nothing.
    epoch: u64,
    // The same as the backend, where the tools are made for whoever asks.
    scoped: Option<Arc<Scoped>>,
}

impl Hub {
    /// An empty hub.
    pub fn new(limits: HubLimits) -> Self {
        Self {
            inner: Arc::new(Inner {
                catalog: ArcSwap::from_pointee(Catalog::default()),
                registry: Mutex::new(BTreeMap::new()),
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
    /// May wait for them, at most [`FactoryLimits::patience`] for each that is asked for the first time.
    pub fn catalog_for(&self, scope: &Scope) -> Arc<Catalog> {
        let common = self.catalog();
        let scoped = self.inner.scoped.load();
        if scoped.is_empty() {
            return common;
        }
        self.inner.by_scope.get(scope, &common, &scoped, &self.inner.limits)
    }

    /// The current snapshot. Of sources that make their tools for whoever asks it has none.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.inner.catalog.load_full()
    }

    /// Wakes after every new snapshot (several may be one wake-up); the number only grows and means nothing else.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.inner.wake.subscribe()
    }

    /// Adds a source in state [`SourceState::Starting`]. One of the same identity is replaced; its tools stay listed, as
    /// stale, until the new one publishes, so that readers see no gap.
    pub fn register(&self, source: Source, options: SourceOptions, backend: Arc<dyn Backend>) -> Publisher {
        let mut registry = self.inner.registry.lock();
        let publisher = self.enter(&mut registry, source.clone(), options, backend);
        let options = registry.get(&source).map(|registered| registered.options.clone()).unwrap_or_default();
        let entry = match self.inner.catalog.load().sources().get(&source) {
            Some(old) => {
                let mut entry = restate(old, &options);
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
        let entry = build_entry(&source, &options, &self.inner.limits, state, items, None, false);
        let mut registry = self.inner.registry.lock();
        let publisher = self.enter(&mut registry, source.clone(), options, backend);
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
        let mut registry = self.inner.registry.lock();
        self.enter(&mut registry, source.clone(), options, Arc::new(ByScope(scoped.clone())));
        if let Some(registered) = registry.get_mut(&source) {
            registered.scoped = Some(scoped.clone());
        }
        self.inner.list_scoped(&registry);
        self.inner.swap(source, Some(Arc::new(entry)));
        ScopedPublisher { scoped }
    }

    fn enter(
        &self,
        registry: &mut BTreeMap<Source, Registered>,
        source: Source,
        options: SourceOptions,
        backend: Arc<dyn Backend>,
    ) -> Publisher {
        let epoch = self.inner.catalog.load().generation() + 1;
        let before =
            registry.insert(source.clone(), Registered { backend, options: Arc::new(options), epoch, scoped: None });
        if before.is_some_and(|before| before.scoped.is_some()) {
            self.inner.list_scoped(registry);
        }
        Publisher { hub: Arc::downgrade(&self.inner), source, epoch }
    }

    /// Changes what is said locally about a source that goes on running.
    pub fn reconfigure(&self, source: &Source, options: SourceOptions) {
        let mut registry = self.inner.registry.lock();
        let Some(registered) = registry.get_mut(source) else { return };
        registered.options = Arc::new(options);
        if let Some(scoped) = &registered.scoped {
            scoped.forget(&|_| true);
        }
        if let Some(old) = self.inner.catalog.load().sources().get(source) {
            self.inner.swap(source.clone(), Some(Arc::new(restate(old, &registered.options))));
        }
    }

    /// Removes a source and its tools.
    pub fn remove(&self, source: &Source) {
        let mut registry = self.inner.registry.lock();
        if registry.remove(source).is_some() {
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
        self.inner.registry.lock().get(source).map(|registered| registered.backend.clone())
    }
}

impl Inner {
    // Called with the registry locked.
    fn list_scoped(&self, registry: &BTreeMap<Source, Registered>) {
        let scoped = registry.values().filter_map(|registered| registered.scoped.clone()).collect();
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
        let options = match hub.registry.lock().get(&self.source) {
            Some(registered) if registered.epoch == self.epoch => registered.options.clone(),
            Some(_) | None => return,
        };
        // The slow part runs without the lock.
        let entry = build_entry(&self.source, &options, &hub.limits, state, items, instructions, stale);
        let registry = hub.registry.lock();
        if registry.get(&self.source).is_some_and(|registered| registered.epoch == self.epoch) {
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
        if registry.get(&self.source).is_none_or(|registered| registered.epoch != self.epoch) {
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

fn build_entry(
    source: &Source,
    options: &SourceOptions,
    limits: &HubLimits,
    state: SourceState,
    items: Vec<Value>,
    instructions: Option<String>,
    stale: bool,
) -> SourceEntry {
    let check = |value: &Value| schema::check(value, &limits.schema).map_err(|problem| problem.to_string());
    let (tools, quarantined) = ingest(source, items, &limits.ingest, limits.tools_per_source, &check);
    let tools = tools.into_iter().map(|tool| Arc::new(marked(tool, options))).collect();
    let mut entry = SourceEntry::new(state, tools, quarantined).with_summary(summary(options));
    entry.instructions = instructions.map(|text| text.chars().take(8_000).collect::<String>().into());
    entry.stale = stale;
    entry
}

fn marked(tool: Tool, options: &SourceOptions) -> Tool {
    let labels = options.tools.get(tool.name()).unwrap_or(&options.labels).clone();
    tool.with_labels(labels).with_trusted_hints(options.trust_hints).with_generation(options.generation)
}

fn summary(options: &SourceOptions) -> Option<Arc<str>> {
    options.summary.as_deref().map(Arc::from)
}

/// The same entry under other options.
fn restate(old: &SourceEntry, options: &SourceOptions) -> SourceEntry {
    let tools = old.tools.iter().map(|tool| Arc::new(marked(Tool::clone(tool), options))).collect();
    let mut entry = SourceEntry::new(old.state.clone(), tools, old.quarantined.to_vec()).with_summary(summary(options));
    entry.instructions.clone_from(&old.instructions);
    entry.stale = old.stale;
    entry
}
