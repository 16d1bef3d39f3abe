//! Watching for new questions, for whoever answers them at a terminal or in a console.

use std::{
    collections::{HashSet, VecDeque},
    time::Duration,
};

use tokio::sync::watch;

use super::{
    broker::Approvals,
    request::{RequestState, StoredRequest},
    store::RequestFilter,
};
use crate::store::StoreError;

/// How often the store is asked for changes made by other processes.
const POLL: Duration = Duration::from_millis(250);
/// Most open questions looked at in one go.
const MOST: usize = 1_000;

/// Open questions, each once, oldest first; those that stand already come first.
pub struct Watch<'a> {
    approvals: &'a Approvals,
    changed: watch::Receiver<u64>,
    tenant: Option<String>,
    version: Option<u64>,
    seen: HashSet<String>,
    ready: VecDeque<StoredRequest>,
}

impl Approvals {
    /// Watches the open questions of one tenant, or of all.
    pub fn watch(&self, tenant: Option<String>) -> Watch<'_> {
        Watch {
            approvals: self,
            changed: self.changed.subscribe(),
            tenant,
            version: None,
            seen: HashSet::new(),
            ready: VecDeque::new(),
        }
    }
}

impl Watch<'_> {
    /// Waits for the next question that was not seen yet. `now_ms` is asked for the time whenever the store is read.
    /// Dropping the future loses nothing.
    pub async fn next(&mut self, now_ms: impl Fn() -> u64) -> Result<StoredRequest, StoreError> {
        loop {
            if let Some(request) = self.ready.pop_front() {
                return Ok(request);
            }
            let version = self.approvals.store.version().await?;
            if self.version != Some(version) {
                let filter =
                    RequestFilter { tenant: self.tenant.clone(), state: Some(RequestState::Pending), limit: MOST };
                let open = self.approvals.store.requests(filter, now_ms()).await?;
                self.version = Some(version);
                // What is no longer open is forgotten, so that this never holds more than one listing.
                let now: HashSet<String> = open.iter().map(|stored| stored.request.id.clone()).collect();
                self.ready.extend(open.into_iter().rev().filter(|stored| !self.seen.contains(&stored.request.id)));
                self.seen = now;
                continue;
            }
            tokio::select! {
                _ = self.changed.changed() => {}
                () = tokio::time::sleep(POLL) => {}
            }
        }
    }
}
