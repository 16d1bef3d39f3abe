//! The tool manager: tools that a program registers one by one, and what operators say of the tools of every source while
//! everything runs. Queries, selection, events, statistics, and a state that can be saved and applied.
//!
//! What is said by hand is an [`Adjustment`], kept by identity and laid over what the source says. It decides what is
//! offered, how tools are grouped and in which order they come; no policy is widened by it. Registering changes nothing
//! that readers see until one of them asks for the catalog, so ten thousand single inserts cost ten thousand small steps.

mod adjustment;
mod dispatch;
mod entry;
mod error;
mod event;
mod find;
mod keep;
mod namespace;
mod register;
mod registration;
mod select;
mod state;
mod stats;
mod switch;
mod table;
mod view;

use std::{
    collections::BTreeSet,
    sync::{Arc, Weak},
    time::Duration,
};

use parking_lot::{Mutex, RwLock, RwLockWriteGuard};
use tokio::sync::broadcast;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolcrib_core::{Catalog, Labels, Source, ToolId};

use self::{entry::Listing, table::Table};
use crate::{
    event::{CallEvent, EventSink},
    hub::{Fed, Feed, Hub},
    index_cache::Indexer,
    settings::EngineSettings,
    stats::Statistics,
    view::ViewCache,
};

pub use adjustment::{Adjustment, BadLabel, MAX_CONDITIONS, MAX_TAGS, MAX_WORD, When};
pub use entry::{Compact, Entry, Filter};
pub use error::ManagerError;
pub use event::{EVENTS, Event};
pub use keep::{KeepError, Keeper, Patch};
pub use namespace::Namespace;
pub use registration::{OnConflict, Registration, Replaced};
pub use select::{Picked, Selected, Selecting};
pub use state::{Report, STATE_VERSION, State};
pub use stats::{Count, ManagerStats, Used};
pub use switch::Outcomes;
pub use view::{Adjusted, CatalogEntry, CatalogPage, MAX_PAGE, Shown, ViewFilter};

/// Most tools that are adjusted by hand at a time.
pub const MAX_ADJUSTED: usize = 65_536;
/// Who changes things where nobody said who it is.
const PROGRAM: &str = "the program";

/// The tool manager of a hub. Cheap to clone; when the last clone is dropped, what was registered goes with it. A hub has one; a second one sees the first one's tools as those of others.
#[derive(Clone)]
pub struct Manager {
    inner: Arc<Inner>,
    by: Arc<str>,
}

struct Inner {
    hub: Hub,
    // Taken before the hub's own lock, never while the hub holds it.
    table: RwLock<Table>,
    feed: u64,
    events: broadcast::Sender<Event>,
    statistics: Option<Arc<Statistics>>,
    listing: Mutex<Option<Listing>>,
    views: ViewCache,
    settings: EngineSettings,
    running: TaskTracker,
    stop: CancellationToken,
}

impl Manager {
    /// A manager of this hub's tools. Without statistics it knows nothing of use.
    pub fn new(hub: Hub) -> Self {
        Self::build(hub, None)
    }

    /// The same, telling of use what these statistics counted. Attach them to the engine as a sink too.
    pub fn with_statistics(hub: Hub, statistics: Arc<Statistics>) -> Self {
        Self::build(hub, Some(statistics))
    }

    fn build(hub: Hub, statistics: Option<Arc<Statistics>>) -> Self {
        let inner = Arc::new_cyclic(|inner: &Weak<Inner>| {
            let feed: Weak<dyn Feed> = inner.clone();
            Inner {
                feed: hub.attach(feed),
                hub,
                table: RwLock::default(),
                events: broadcast::Sender::new(EVENTS),
                statistics,
                listing: Mutex::default(),
                views: ViewCache::new(Indexer::new(None, None)),
                settings: EngineSettings::default(),
                running: TaskTracker::new(),
                stop: CancellationToken::new(),
            }
        });
        Self { inner, by: PROGRAM.into() }
    }

    /// The same manager for somebody whose name goes with what is said through it.
    #[must_use]
    pub fn acting_as(&self, who: &str) -> Self {
        Self { inner: self.inner.clone(), by: who.into() }
    }

    /// The hub whose tools it manages.
    pub fn hub(&self) -> &Hub {
        &self.inner.hub
    }

    /// Hears of every change from now on. A receiver that lags behind by more than [`EVENTS`] is told how many it missed.
    pub fn subscribe(&self) -> broadcast::Receiver<Event> {
        self.inner.events.subscribe()
    }

    /// Takes all registrations back, waits for their calls at most this long and cuts off the rest; whether there was
    /// none to cut off. Using the manager afterwards is an error; shutting it down again is not (case 39).
    pub async fn shutdown(&self, grace: Duration) -> bool {
        let all = self.inner.table.write().close();
        drop(all);
        self.inner.hub.detach(self.inner.feed);
        self.inner.running.close();
        let drained = tokio::time::timeout(grace, self.inner.running.wait()).await.is_ok();
        self.inner.stop.cancel();
        drained
    }

    /// The table to change, if the manager is in use.
    fn open(&self) -> Result<RwLockWriteGuard<'_, Table>, ManagerError> {
        let table = self.inner.table.write();
        if table.is_closed() { Err(ManagerError::ShutDown) } else { Ok(table) }
    }

    /// The catalog as it is, everything registered included.
    fn catalog(&self) -> Result<Arc<Catalog>, ManagerError> {
        if self.inner.table.read().is_closed() {
            return Err(ManagerError::ShutDown);
        }
        Ok(self.inner.hub.catalog())
    }

    /// What is said of a tool apart from adjustments; `None` if there is no such tool, not even one whose definition was refused. Of sources that make their tools for
    /// whoever asks, any name may be one. Call it without the table's lock.
    fn base(&self, id: &ToolId) -> Option<Arc<Labels>> {
        if let Some(tool) = self.inner.table.read().get(id) {
            return Some(tool.labels().clone());
        }
        let hub = &self.inner.hub;
        if hub.is_scoped(&id.source) {
            return hub.labels_of(id);
        }
        // Only what another manager registered is not there before somebody asks.
        let known = hub.peek().get(id).cloned().or_else(|| hub.catalog().get(id).cloned());
        match known {
            Some(known) => Some(hub.labels_of(id).unwrap_or_else(|| known.labels().clone())),
            // What is said of a tool whose definition was refused holds once that is mended.
            None => hub.peek().refuses(id).then(|| hub.labels_of(id).unwrap_or_else(Labels::nothing)),
        }
    }

    fn send(&self, event: Event) {
        // Nobody listens: nobody misses it.
        let _ = self.inner.events.send(event);
    }
}

/// Tools of a manager that is gone could not be called.
impl Drop for Inner {
    fn drop(&mut self) {
        drop(self.table.get_mut().close());
        self.hub.detach(self.feed);
    }
}

impl Feed for Inner {
    fn collect(&self, also: &BTreeSet<Source>) -> Vec<Fed> {
        self.table.write().collect(also)
    }
}

/// Tells subscribers of calls. Counting them is for [`Statistics`].
impl EventSink for Manager {
    fn record(&self, event: &CallEvent) {
        if let (Some(tool), 1..) = (&event.tool, self.inner.events.receiver_count()) {
            let took_us = u64::try_from(event.total_time.as_micros()).unwrap_or(u64::MAX);
            self.send(Event::Executed { id: tool.clone(), outcome: event.outcome, took_us });
        }
    }
}
