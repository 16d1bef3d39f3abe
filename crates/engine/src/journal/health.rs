//! Whether the store takes what it is given, and how much it has not taken.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use serde::Serialize;
use tokio::sync::watch;

use super::sink::SinkReport;
use crate::store::StoreError;

/// How a journal is doing, for status pages and metrics.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JournalStatus {
    /// Records accepted and not written yet.
    pub queued: usize,
    /// Most records that may wait.
    pub capacity: usize,
    /// Outcomes of calls that ran which the store has not taken so far.
    pub owed: usize,
    /// Records given up for good since the journal was opened.
    pub lost: u64,
    /// What the store said last, while it fails.
    pub error: Option<String>,
    /// Calls of dead processes that were closed when the journal was opened.
    pub recovered: u64,
    /// Observers of users.
    pub sinks: Vec<SinkReport>,
}

/// Judged by every operation: the first success after failures ends the trouble.
pub(super) struct Health {
    trouble: watch::Sender<Option<StoreError>>,
    pub(super) queued: AtomicUsize,
    pub(super) lost: AtomicU64,
    /// Lost records that no record tells of yet.
    untold: AtomicU64,
}

impl Health {
    /// `trouble` is what is known to be wrong from the start.
    pub(super) fn new(trouble: Option<StoreError>) -> Self {
        Self {
            trouble: watch::Sender::new(trouble),
            queued: AtomicUsize::new(0),
            lost: AtomicU64::new(0),
            untold: AtomicU64::new(0),
        }
    }

    pub(super) fn state(&self) -> Result<(), StoreError> {
        self.trouble.borrow().clone().map_or(Ok(()), Err)
    }

    /// A quota says something about what was to be written, not about the store.
    pub(super) fn judge<T>(&self, result: &Result<T, StoreError>) {
        match result {
            Ok(_) => self.good(),
            Err(StoreError::Quota(_)) => {}
            Err(error) => self.bad(error.clone()),
        }
    }

    pub(super) fn bad(&self, error: StoreError) {
        self.trouble.send_if_modified(|trouble| {
            if trouble.is_none() {
                tracing::error!(%error, "the journal cannot be written: calls that may change something are refused");
            }
            let worse = trouble.is_none();
            *trouble = Some(error);
            worse
        });
    }

    fn good(&self) {
        if self.trouble.borrow().is_some() {
            self.trouble.send_if_modified(|trouble| {
                let was = trouble.take().is_some();
                if was {
                    tracing::info!("the journal is written again");
                }
                was
            });
        }
    }

    /// Waits until the store fails.
    pub(super) async fn failing(&self) -> StoreError {
        let mut trouble = self.trouble.subscribe();
        loop {
            if let Some(error) = trouble.borrow_and_update().clone() {
                return error;
            }
            if trouble.changed().await.is_err() {
                return closed();
            }
        }
    }

    pub(super) fn lose(&self, records: usize) {
        let records = records as u64;
        self.lost.fetch_add(records, Ordering::Relaxed);
        self.untold.fetch_add(records, Ordering::Relaxed);
    }

    /// Puts losses back that could not be told of.
    pub(super) fn untell(&self, lost: u64) {
        self.untold.fetch_add(lost, Ordering::Relaxed);
    }

    /// How many losses are to be told of; whoever takes the number writes the record.
    pub(super) fn take_untold(&self) -> u64 {
        self.untold.swap(0, Ordering::Relaxed)
    }
}

pub(super) fn closed() -> StoreError {
    StoreError::Failed { operation: "write the journal", cause: "it was closed; the process is ending".to_owned() }
}
