//! How many requests of one caller may wait for results at a time.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Most requests of one caller that wait at a time: more than any client of one agent has use for, and few enough that one
/// caller does not take every connection.
pub(super) const MAX_WAITERS: usize = 32;

/// The places, by caller; as many callers as there are keys, and the one without.
#[derive(Default)]
pub(super) struct Waiters(Mutex<HashMap<Option<Arc<str>>, Arc<Semaphore>>>);

impl Waiters {
    /// A place to wait in, or none when all of the caller's are taken.
    pub(super) fn enter(&self, caller: Option<&Arc<str>>) -> Option<OwnedSemaphorePermit> {
        let mut callers = self.0.lock();
        let places = callers.entry(caller.cloned()).or_insert_with(|| Arc::new(Semaphore::new(MAX_WAITERS)));
        places.clone().try_acquire_owned().ok()
    }
}
