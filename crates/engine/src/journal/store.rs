//! Where the journal is kept.

use std::sync::Arc;

use super::record::{JournalRecord, StoredRecord};
use crate::{backend::BoxFuture, event::Outcome, store::StoreError};

/// An idempotency key that a caller gave, or that duplicate suppression formed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Whose key: keys of different owners never meet.
    pub owner: String,
    /// The key.
    pub key: String,
    /// Digest of tool and arguments: the same key with another digest is a mistake of the caller's.
    pub digest: String,
    /// When the key is forgotten, milliseconds since the Unix epoch.
    pub expires_at_ms: u64,
}

/// What is known of an earlier call under the same key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Earlier {
    /// The run and number of that call.
    pub run: String,
    /// The call's number within its run.
    pub call: u64,
    /// Its digest of tool and arguments.
    pub digest: String,
    /// How it ended; `None` = it is still running as far as anybody knows.
    pub outcome: Option<Outcome>,
    /// Its result, where one was kept.
    pub result: Option<String>,
}

/// Whether a call may go ahead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begun {
    /// The intent is durable; the call may leave.
    Started,
    /// The key was used before; nothing was written and nothing may run.
    Duplicate(Earlier),
}

/// What to remember under a claimed key when the call has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimResult {
    /// As in the claim.
    pub owner: String,
    /// As in the claim.
    pub key: String,
    /// The result's JSON text to give to whoever comes with the same key; `None` if too large.
    pub result: Option<String>,
    /// True: the call certainly did not run, so the key is free again.
    pub release: bool,
}

/// Which records to read, in the order of their places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JournalFilter {
    /// Only after this place.
    pub after: u64,
    /// Only at or after this time.
    pub since_ms: Option<u64>,
    /// Only before this time.
    pub until_ms: Option<u64>,
    /// Only of this tool (identity as text), or of this source when it ends in `/`.
    pub tool: Option<String>,
    /// Only with this outcome.
    pub outcome: Option<Outcome>,
    /// Only of this user.
    pub user: Option<String>,
    /// Only of this tenant.
    pub tenant: Option<String>,
    /// Only of this run.
    pub run: Option<String>,
    /// Only of this call (with `run`).
    pub call: Option<u64>,
    /// The last ones instead of the first ones (still in the order of their places).
    pub newest: bool,
    /// At most this many.
    pub limit: usize,
}

/// An intent without an outcome.
pub type Unfinished = StoredRecord;

/// Keeps the journal. Appending, chaining and claiming are one atomic step each, also between processes. Records are
/// shared, because a write that fails is tried again with the same ones.
pub trait JournalStore: Send + Sync + 'static {
    /// What is known from the start to keep this store from taking anything; the default is nothing. A journal over a
    /// store that says something counts as failing until a write succeeds.
    fn trouble(&self) -> Option<StoreError> {
        None
    }
    /// Announces this process's run and holds a sign of life for as long as the store is open. Whether a run is alive
    /// must be told without clocks, and must end with the process however it ends.
    fn open_run<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;
    /// Intents without an outcome of runs whose process is gone, at most `limit`. One whose record cannot be read is given
    /// all the same, with its run and call and a `detail` that says so: what it belongs to ended nobody knows how.
    fn unfinished(&self, limit: usize) -> BoxFuture<'_, Result<Vec<Unfinished>, StoreError>>;
    /// Writes an intent durably, together with its claim. The claim of an expired key counts as none.
    fn begin(
        &self,
        intent: Arc<JournalRecord>,
        claim: Option<Claim>,
        now_ms: u64,
    ) -> BoxFuture<'_, Result<Begun, StoreError>>;
    /// What is known under the claim's key without claiming it, so that nobody is asked about a call that ran already.
    /// [`JournalStore::begin`] has the last word; a store that cannot tell says `None`, which is the default.
    fn claimed<'a>(&'a self, _claim: &'a Claim, _now_ms: u64) -> BoxFuture<'a, Result<Option<Earlier>, StoreError>> {
        Box::pin(async { Ok(None) })
    }
    /// Writes an outcome durably, together with what is remembered of its claim. Of two outcomes of one call the second
    /// is left out, here and in [`JournalStore::append`]: a write whose end was not learnt of is tried again.
    fn finish(&self, outcome: Arc<JournalRecord>, claim: Option<ClaimResult>) -> BoxFuture<'_, Result<(), StoreError>>;
    /// Appends records in order, all or none. A [`Kind::Recovered`](super::Kind::Recovered) of a call that has no open
    /// intent is left out, here and in [`JournalStore::finish`]: another process was first. (A call recovered by mistake
    /// still gets its outcome: that is left out only where there is an outcome.)
    fn append(&self, records: Vec<Arc<JournalRecord>>) -> BoxFuture<'_, Result<(), StoreError>>;
    /// Reads records. One that cannot be read is left out and told ([`crate::damage`]).
    fn records(&self, filter: JournalFilter) -> BoxFuture<'_, Result<Vec<StoredRecord>, StoreError>>;
    /// Records from a place on, at most `limit`, for whoever checks the chain: fails at the first one that cannot be read or
    /// that would be found by something else than what it says. The default is for stores whose records cannot be damaged.
    fn chained(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<StoredRecord>, StoreError>> {
        self.records(JournalFilter { after, limit, ..JournalFilter::default() })
    }
    /// The place and hash that the oldest kept record is chained to: 0 and [`super::GENESIS`], unless pruned.
    fn anchor(&self) -> BoxFuture<'_, Result<(u64, String), StoreError>>;
    /// Drops records from before `before_ms`, oldest first, never an intent without its outcome nor what follows it,
    /// and moves the anchor; returns how many.
    fn prune_journal(&self, before_ms: u64) -> BoxFuture<'_, Result<u64, StoreError>>;
}
