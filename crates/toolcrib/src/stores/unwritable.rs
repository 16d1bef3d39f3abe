//! The journal of a process whose store cannot be used: it refuses every record, so that what may change something does
//! not run without a trace, and everything else works.

use std::sync::Arc;

use toolcrib_engine::{
    BoxFuture, StoreError,
    journal::{Begun, Claim, ClaimResult, GENESIS, JournalFilter, JournalRecord, JournalStore, StoredRecord},
};

/// Takes nothing; says why.
pub(super) struct Unwritable {
    cause: String,
}

impl Unwritable {
    /// Because of this.
    pub(super) fn new(cause: String) -> Self {
        Self { cause }
    }

    fn error(&self) -> StoreError {
        StoreError::Failed { operation: "write the journal", cause: self.cause.clone() }
    }

    fn refuse<T: Send + 'static>(&self) -> BoxFuture<'_, Result<T, StoreError>> {
        Box::pin(std::future::ready(Err(self.error())))
    }
}

fn nothing<T: Send + 'static>(value: T) -> BoxFuture<'static, Result<T, StoreError>> {
    Box::pin(std::future::ready(Ok(value)))
}

impl JournalStore for Unwritable {
    fn trouble(&self) -> Option<StoreError> {
        Some(self.error())
    }

    fn open_run<'a>(&'a self, _run: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        nothing(())
    }

    fn unfinished(&self, _limit: usize) -> BoxFuture<'_, Result<Vec<StoredRecord>, StoreError>> {
        nothing(Vec::new())
    }

    fn begin(
        &self,
        _intent: Arc<JournalRecord>,
        _claim: Option<Claim>,
        _now_ms: u64,
    ) -> BoxFuture<'_, Result<Begun, StoreError>> {
        self.refuse()
    }

    fn finish(
        &self,
        _outcome: Arc<JournalRecord>,
        _claim: Option<ClaimResult>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        self.refuse()
    }

    fn append(&self, _records: Vec<Arc<JournalRecord>>) -> BoxFuture<'_, Result<(), StoreError>> {
        // For good: nothing is gained by keeping them for another attempt.
        Box::pin(std::future::ready(Err(StoreError::Quota(self.cause.clone()))))
    }

    fn records(&self, _filter: JournalFilter) -> BoxFuture<'_, Result<Vec<StoredRecord>, StoreError>> {
        self.refuse()
    }

    fn anchor(&self) -> BoxFuture<'_, Result<(u64, String), StoreError>> {
        nothing((0, GENESIS.to_owned()))
    }

    fn prune_journal(&self, _before_ms: u64) -> BoxFuture<'_, Result<u64, StoreError>> {
        nothing(0)
    }
}
