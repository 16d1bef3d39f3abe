//! Outcomes that the store did not take: the tool ran, so they are kept until it does.

use std::{collections::VecDeque, sync::Arc};

use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

use super::{record::JournalRecord, store::ClaimResult};

/// An outcome with what its claim is to remember.
pub(super) type Outcome = (Arc<JournalRecord>, Option<ClaimResult>);

pub(super) struct Owed {
    most: usize,
    outcomes: Mutex<VecDeque<Outcome>>,
    arrived: Notify,
}

impl Owed {
    pub(super) fn new(most: usize) -> Self {
        Self { most: most.max(1), outcomes: Mutex::default(), arrived: Notify::new() }
    }

    /// False when there is no room.
    pub(super) fn push(&self, outcome: Outcome) -> bool {
        {
            let mut outcomes = self.outcomes.lock();
            if outcomes.len() >= self.most {
                return false;
            }
            outcomes.push_back(outcome);
        }
        self.arrived.notify_one();
        true
    }

    /// The oldest one. It stays until [`Self::paid`]: only the writing task takes any away.
    pub(super) fn oldest(&self) -> Option<Outcome> {
        self.outcomes.lock().front().cloned()
    }

    pub(super) fn paid(&self) {
        self.outcomes.lock().pop_front();
    }

    pub(super) fn len(&self) -> usize {
        self.outcomes.lock().len()
    }

    /// Waits until there is one, and until it may be tried.
    pub(super) async fn due(&self, not_before: Instant) {
        while self.len() == 0 {
            self.arrived.notified().await;
        }
        tokio::time::sleep_until(not_before).await;
    }
}
