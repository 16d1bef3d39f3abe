//! What one scope sees, computed once for a catalog, a scope and the settings, with its search index.

use std::{
    collections::BTreeSet,
    sync::{Arc, OnceLock, Weak},
};

use parking_lot::{Mutex, RwLock};
use serde_json::{Value, value::RawValue};
use toolcrib_core::{
    Catalog, ContentHash, Scope, Source,
    assemble::{Incomplete, ToolSet, assemble},
    conversation::{TurnRequest, TurnSet, turn},
    find::{Ask, find},
    search::{Encoded, Hit, Index},
    select::{SelectError, may_reach},
};

use crate::{encoder::Asked, index_cache::Indexer, settings::EngineSettings};

/// Most views kept at a time; the one unused for longest makes room.
pub(crate) const MAX_VIEWS: usize = 64;

/// Why a scope is served nothing, at any door.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unservable {
    /// It cannot be judged.
    #[error(transparent)]
    Scope(#[from] SelectError),
    /// A tool that it cannot do without is missing. The text is for callers; the operator's is that of [`Incomplete`].
    #[error("{}", .0.told())]
    Incomplete(Incomplete),
}

impl Unservable {
    /// With the lists that are the cause, and what would change that.
    pub fn for_operators(&self) -> String {
        match self {
            Self::Scope(error) => error.to_string(),
            Self::Incomplete(incomplete) => incomplete.to_string(),
        }
    }
}

/// A scope's tool set and the index over exactly the tools in it: policy comes before ranking statistics, so a
/// restricted scope neither finds nor is skewed by others' tools.
pub struct View {
    /// The assembled set.
    pub set: ToolSet,
    index: OnceLock<Index>,
    indexer: Arc<Indexer>,
    // What an encoder says of the tools, once it has read them all.
    encoded: RwLock<Option<Arc<Encoded>>>,
    asked: Asked,
    me: Weak<Self>,
    rendered: OnceLock<Arc<[Arc<RawValue>]>>,
    // Sources that the scope may know of: those with a reachable tool, and those that have none at all yet.
    known: BTreeSet<Source>,
}

impl View {
    /// Whether the scope may learn how this source is doing.
    pub fn knows(&self, source: &Source) -> bool {
        self.known.contains(source)
    }

    /// The shown definitions as JSON text, in order; rendered once.
    pub fn rendered(&self) -> &Arc<[Arc<RawValue>]> {
        self.rendered.get_or_init(|| {
            let raw = |definition: &Arc<Value>| serde_json::value::to_raw_value(&**definition).map(Arc::from);
            // A value that was parsed always serialises.
            self.set.definitions.iter().filter_map(|definition| raw(definition).ok()).collect()
        })
    }

    /// The tools of one turn of a conversation, its task read as a search reads a query. Builds the search index if there is
    /// a task and nobody searched before.
    pub fn turn(&self, request: &TurnRequest) -> TurnSet {
        turn(&self.set, request, |text, limit| {
            let found = find(&self.set, self.index(), text, &Ask { limit, ..Ask::default() });
            found.hits.into_iter().map(|hit| Hit { index: hit.index, score: hit.score }).collect()
        })
    }

    /// Builds the search index where nobody waits for it: whoever searched before a source changed will search again.
    /// Without a runtime it is left to the first search.
    fn index_ahead(self: Arc<Self>) {
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn_blocking(move || {
                self.index();
            });
        }
    }

    /// Whether the search index is there already.
    pub fn is_indexed(&self) -> bool {
        self.index.get().is_some()
    }

    /// The search index, built at first use unless it was built ahead.
    pub fn index(&self) -> &Index {
        let index = self.index.get_or_init(|| self.indexer.build(&self.set));
        if let Some(encoding) = self.indexer.encoding()
            && self.encoded.read().is_none()
        {
            encoding.read_tools(&self.me, &self.asked, index);
        }
        index
    }

    /// What the engine's encoder says of the tools; `None` without one, and until it has read them all.
    pub fn encoded(&self) -> Option<Arc<Encoded>> {
        self.encoded.read().clone()
    }

    pub(crate) fn encode(&self, encoded: Encoded) {
        *self.encoded.write() = Some(Arc::new(encoded));
    }

    /// Forgets what the encoder said, if it was with vectors of so many numbers, and has it read the tools again. The index
    /// is there.
    pub(crate) fn read_again(&self, width: usize) {
        if self.encoded.write().take_if(|encoded| encoded.dimensions() == width).is_some() {
            self.asked.forget();
            self.index();
        }
    }
}

#[derive(PartialEq, Eq)]
struct Key {
    scope: Scope,
    settings_epoch: u64,
    catalog: ContentHash,
    // What the catalog is for scopes that no source makes tools for.
    common: ContentHash,
}

pub(crate) struct ViewCache {
    // What all views' indexes share: each tool is read once.
    indexer: Arc<Indexer>,
    // Most recently used last. Small enough that a scan beats a map.
    views: Mutex<Vec<(Key, Arc<View>)>>,
}

impl ViewCache {
    pub(crate) fn new(indexer: Indexer) -> Self {
        Self { indexer: Arc::new(indexer), views: Mutex::default() }
    }

    pub(crate) fn get(
        &self,
        scope: &Scope,
        settings_epoch: u64,
        catalog: &Catalog,
        common: ContentHash,
        settings: &EngineSettings,
    ) -> Result<Arc<View>, SelectError> {
        let policy = &settings.assemble.policy;
        let matches = |key: &Key| {
            key.settings_epoch == settings_epoch && key.catalog == catalog.hash() && policy.alike(&key.scope, scope)
        };
        {
            let mut views = self.views.lock();
            if let Some(index) = views.iter().rposition(|(key, _)| matches(key)) {
                let last = views.len() - 1;
                views[index..=last].rotate_left(1);
                return Ok(views[last].1.clone());
            }
        }
        // Built without the lock: two callers may build the same view, neither waits for the other.
        let set = assemble(catalog, scope, &settings.assemble)?;
        let reachable = set.tools().iter().chain(set.callable()).map(|tool| tool.source());
        // Of a source without tools it cannot be seen what policy leaves of it; of one that policy shuts out nothing is told.
        let silent = catalog.sources().iter().filter(|(_, entry)| entry.tools.is_empty());
        let silent: Vec<&Source> = silent.map(|(source, _)| source).collect();
        let may_reach = may_reach(&silent, policy, &settings.assemble.names, scope)?;
        let known = reachable.cloned().chain(may_reach).collect();
        let indexer = self.indexer.clone();
        let view = Arc::new_cyclic(|me| View {
            set,
            index: OnceLock::new(),
            indexer,
            encoded: RwLock::default(),
            asked: Asked::default(),
            me: me.clone(),
            rendered: OnceLock::new(),
            known,
        });
        let key = Key { scope: scope.clone(), settings_epoch, catalog: catalog.hash(), common };
        let mut views = self.views.lock();
        // Views of the same scope over an older catalog or older settings will not be asked for again.
        let outdated = |old: &Key| (old.common, old.settings_epoch) != (common, settings_epoch);
        let mut searched = false;
        views.retain(|(old, view)| {
            let replaced = old.scope == key.scope || (outdated(old) && policy.alike(&old.scope, &key.scope));
            searched |= replaced && view.is_indexed();
            !replaced
        });
        if views.len() >= MAX_VIEWS {
            views.remove(0);
        }
        views.push((key, view.clone()));
        drop(views);
        if searched {
            view.clone().index_ahead();
        }
        Ok(view)
    }
}
