//! The journal's trait over the statements of [`super::journal`], with what needs to know which runs are alive.

use std::sync::Arc;

use toolcrib_engine::{
    BoxFuture, StoreError,
    journal::{
        Begun, Claim, ClaimResult, Earlier, JournalFilter, JournalRecord, JournalStore, StoredRecord, Unfinished,
    },
};

use super::{SqliteStore, journal, runs};
use crate::now_ms;

impl JournalStore for SqliteStore {
    fn open_run<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        let run = run.to_owned();
        Box::pin(async move {
            let signs = self.inner.signs.clone();
            let (named, damage) = (run.clone(), self.inner.damage.clone());
            // Locked before anybody can read of the run; then the chance to tidy up after others.
            let dead = self
                .dead_of("open run", move |connection| {
                    signs.open(&named).map_err(super::failure::Refusal::Rule)?;
                    signs.sweep();
                    runs::open_runs(connection, &damage)
                })
                .await?;
            self.write("open run", move |connection| {
                runs::close_runs(connection, &dead, now_ms())?;
                runs::insert_run(connection, &run, now_ms())
            })
            .await
        })
    }

    fn unfinished(&self, limit: usize) -> BoxFuture<'_, Result<Vec<Unfinished>, StoreError>> {
        Box::pin(async move {
            let (damage, looked) = (self.inner.damage.clone(), self.inner.damage.clone());
            let candidates = move |connection: &_| journal::runs_with_open_intents(connection, &looked);
            let dead = self.dead_of("look for unfinished calls", candidates).await?;
            if dead.is_empty() {
                return Ok(Vec::new());
            }
            let closed = dead.clone();
            let closing =
                self.write("close dead runs", move |connection| runs::close_runs(connection, &closed, now_ms()));
            if let Err(error) = closing.await {
                // What they left unfinished is worth knowing even if nothing can be written.
                tracing::warn!(%error, "the runs of dead processes stay open in the store");
            }
            // Read after they were found dead: what a run wrote in its last moments counts.
            self.read("look for unfinished calls", move |connection| {
                journal::open_intents(connection, &damage, &dead, limit)
            })
            .await
        })
    }

    fn begin(
        &self,
        intent: Arc<JournalRecord>,
        claim: Option<Claim>,
        now_ms: u64,
    ) -> BoxFuture<'_, Result<Begun, StoreError>> {
        Box::pin(
            self.write("write journal", move |connection| journal::begin(connection, &intent, claim.as_ref(), now_ms)),
        )
    }

    fn claimed<'a>(&'a self, claim: &'a Claim, now_ms: u64) -> BoxFuture<'a, Result<Option<Earlier>, StoreError>> {
        let claim = claim.clone();
        Box::pin(self.read("look for a key", move |connection| journal::claimed(connection, &claim, now_ms)))
    }

    fn finish(&self, outcome: Arc<JournalRecord>, claim: Option<ClaimResult>) -> BoxFuture<'_, Result<(), StoreError>> {
        let max_bytes = self.inner.max_result_bytes;
        Box::pin(
            self.write("write journal", move |connection| {
                journal::finish(connection, &outcome, claim.as_ref(), max_bytes)
            }),
        )
    }

    fn append(&self, records: Vec<Arc<JournalRecord>>) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.write("write journal", move |connection| journal::append_all(connection, &records)))
    }

    fn records(&self, filter: JournalFilter) -> BoxFuture<'_, Result<Vec<StoredRecord>, StoreError>> {
        let damage = self.inner.damage.clone();
        Box::pin(self.read("read journal", move |connection| journal::records(connection, &damage, &filter)))
    }

    fn chained(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<StoredRecord>, StoreError>> {
        Box::pin(self.read("read journal", move |connection| journal::chained(connection, after, limit)))
    }

    fn anchor(&self) -> BoxFuture<'_, Result<(u64, String), StoreError>> {
        Box::pin(self.read("read journal", journal::anchor))
    }

    fn prune_journal(&self, before_ms: u64) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move {
            self.in_portions("drop old journal records", move |connection, most| {
                journal::prune(connection, before_ms, most)
            })
            .await
        })
    }
}
