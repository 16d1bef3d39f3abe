//! What was read for search indexes, shared by all views, and kept from one run to the next.

use std::{
    io,
    sync::{Arc, Once},
};

use toolcrib_core::{
    assemble::ToolSet,
    search::{Index, Shelf},
};

use crate::encoder::Encoding;

/// Most threads that read tools for an index.
const MAX_THREADS: usize = 8;
/// Fewest tools read since the last time for which it is kept anew: to read fewer takes no time worth saving.
const WORTH_KEEPING: usize = 1_000;

/// Where a snapshot of what was read is kept. Both are called where no call waits for anything else, and may block. What is
/// kept saves time and nothing else: it may be gone, old or damaged.
pub trait IndexCache: Send + Sync {
    /// What was saved last; `None` if nothing was.
    fn load(&self) -> io::Result<Option<Vec<u8>>>;

    /// Replaces what was saved.
    fn save(&self, snapshot: &[u8]) -> io::Result<()>;
}

/// Makes the indexes of an engine's views.
pub(crate) struct Indexer {
    shelf: Arc<Shelf>,
    cache: Option<Arc<dyn IndexCache>>,
    loaded: Once,
    encoding: Option<Encoding>,
}

impl Indexer {
    pub(crate) fn new(cache: Option<Arc<dyn IndexCache>>, encoding: Option<Encoding>) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self { shelf: Arc::new(Shelf::new(threads.min(MAX_THREADS))), cache, loaded: Once::new(), encoding }
    }

    /// Who encodes what the indexes hold, if anybody does.
    pub(crate) fn encoding(&self) -> Option<&Encoding> {
        self.encoding.as_ref()
    }

    /// An index over the tools of a set.
    pub(crate) fn build(&self, set: &ToolSet) -> Index {
        let Some(cache) = &self.cache else { return set.build_index_from(&self.shelf) };
        let kind = set.ranker();
        self.loaded.call_once(|| match cache.load() {
            Ok(Some(snapshot)) => match self.shelf.restore(kind, &snapshot) {
                Ok(tools) => tracing::debug!(tools, "what was read for the search index was kept"),
                Err(error) => tracing::warn!(%error, "search"),
            },
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "the search index that was kept cannot be read; tools are read anew"),
        });
        let index = set.build_index_from(&self.shelf);
        if self.shelf.unsaved(kind) >= WORTH_KEEPING {
            let (shelf, cache) = (self.shelf.clone(), cache.clone());
            let save = move || {
                if let Some(snapshot) = shelf.snapshot(kind)
                    && let Err(error) = cache.save(&snapshot)
                {
                    tracing::warn!(%error, "the search index cannot be kept; tools are read again at the next start");
                }
            };
            match tokio::runtime::Handle::try_current() {
                Ok(runtime) => drop(runtime.spawn_blocking(save)),
                Err(_) => save(),
            }
        }
        index
    }
}
