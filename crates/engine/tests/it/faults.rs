//! A journal store in memory whose faults can be switched on.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use toolcrib_engine::{
    BoxFuture, Outcome, StoreError,
    journal::{
        Begun, Claim, ClaimResult, Earlier, GENESIS, JournalFilter, JournalRecord, JournalStore, Kind, StoredRecord,
        Unfinished, link,
    },
};

#[derive(Default)]
struct State {
    records: Vec<StoredRecord>,
    anchor: Option<(u64, String)>,
    claims: HashMap<(String, String), (u64, Earlier)>,
    alive: HashSet<String>,
}

/// Keeps everything; does what its switches say.
#[derive(Default)]
pub(crate) struct Shelf {
    state: Mutex<State>,
    /// Every write fails.
    pub(crate) full: AtomicBool,
    /// Every write waits until this is off.
    pub(crate) stuck: AtomicBool,
    /// How many writes were tried.
    pub(crate) writes: AtomicUsize,
    /// So many writes panic.
    pub(crate) panics: AtomicUsize,
    /// Most keys it takes; 0 = any number.
    pub(crate) most_keys: AtomicUsize,
    /// It says from the start that it takes nothing.
    pub(crate) hopeless: AtomicBool,
    /// Largest number of records in one append.
    pub(crate) largest: AtomicUsize,
}

impl Shelf {
    /// The process that ran `run` is gone.
    pub(crate) fn kill(&self, run: &str) {
        self.state.lock().alive.remove(run);
    }

    /// Changes the stored record at `seq` without mending the chain.
    pub(crate) fn tamper(&self, seq: u64, change: impl FnOnce(&mut StoredRecord)) {
        let mut state = self.state.lock();
        change(state.records.iter_mut().find(|stored| stored.seq == seq).unwrap());
    }

    /// Drops the stored record at `seq`.
    pub(crate) fn cut(&self, seq: u64) {
        self.state.lock().records.retain(|stored| stored.seq != seq);
    }

    pub(crate) fn all(&self) -> Vec<JournalRecord> {
        self.state.lock().records.iter().map(|stored| stored.record.clone()).collect()
    }

    /// Whether there is such a record.
    pub(crate) fn holds(&self, kind: Kind, call: u64) -> bool {
        let state = self.state.lock();
        state.records.iter().rev().any(|stored| stored.record.kind == kind && stored.record.call == call)
    }

    /// Kind and call number of every record.
    pub(crate) fn story(&self) -> Vec<(Kind, u64)> {
        self.all().iter().map(|record| (record.kind, record.call)).collect()
    }

    async fn writing(&self) -> Result<(), StoreError> {
        self.writes.fetch_add(1, Ordering::SeqCst);
        // No store answers before it was asked: others get their turn.
        tokio::task::yield_now().await;
        while self.stuck.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let panics = self.panics.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        assert!(!panics, "scripted");
        if self.full.load(Ordering::SeqCst) {
            return Err(StoreError::Failed { operation: "append", cause: "disk full".into() });
        }
        Ok(())
    }
}

/// Longest reason it takes, characters.
pub(crate) const LONGEST: usize = 10_000;

fn within(record: &JournalRecord) -> Result<(), StoreError> {
    let long = record.reason.as_ref().is_some_and(|reason| reason.len() > LONGEST);
    if long { Err(StoreError::Quota("a journal record is too long".into())) } else { Ok(()) }
}

fn push(state: &mut State, record: JournalRecord) {
    let (seq, hash) = state
        .records
        .last()
        .map(|last| (last.seq, last.hash.clone()))
        .or_else(|| state.anchor.clone())
        .unwrap_or((0, GENESIS.to_owned()));
    let hash = link(&hash, seq + 1, &record);
    state.records.push(StoredRecord { seq: seq + 1, hash, record });
}

impl JournalStore for Shelf {
    fn trouble(&self) -> Option<StoreError> {
        self.hopeless
            .load(Ordering::SeqCst)
            .then(|| StoreError::Failed { operation: "append", cause: "no such folder".into() })
    }

    fn open_run<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        self.state.lock().alive.insert(run.to_owned());
        Box::pin(async { Ok(()) })
    }

    fn unfinished(&self, limit: usize) -> BoxFuture<'_, Result<Vec<Unfinished>, StoreError>> {
        Box::pin(async move {
            let state = self.state.lock();
            let ended: HashSet<_> = state
                .records
                .iter()
                .filter(|stored| matches!(stored.record.kind, Kind::Outcome | Kind::Recovered))
                .map(|stored| (stored.record.run.clone(), stored.record.call))
                .collect();
            Ok(state
                .records
                .iter()
                .filter(|stored| stored.record.kind == Kind::Intent)
                .filter(|stored| !state.alive.contains(&stored.record.run))
                .filter(|stored| !ended.contains(&(stored.record.run.clone(), stored.record.call)))
                .take(limit)
                .cloned()
                .collect())
        })
    }

    fn begin(
        &self,
        intent: Arc<JournalRecord>,
        claim: Option<Claim>,
        now_ms: u64,
    ) -> BoxFuture<'_, Result<Begun, StoreError>> {
        Box::pin(async move {
            self.writing().await?;
            within(&intent)?;
            let mut state = self.state.lock();
            if let Some(claim) = claim {
                let key = (claim.owner, claim.key);
                if let Some((_, earlier)) = state.claims.get(&key).filter(|(end, _)| *end > now_ms) {
                    return Ok(Begun::Duplicate(earlier.clone()));
                }
                let most = self.most_keys.load(Ordering::SeqCst);
                if most > 0 && state.claims.len() >= most {
                    return Err(StoreError::Quota(format!("this caller has {most} idempotency keys already")));
                }
                let earlier = Earlier {
                    run: intent.run.clone(),
                    call: intent.call,
                    digest: claim.digest,
                    outcome: None,
                    result: None,
                };
                state.claims.insert(key, (claim.expires_at_ms, earlier));
            }
            push(&mut state, Arc::unwrap_or_clone(intent));
            Ok(Begun::Started)
        })
    }

    fn claimed<'a>(&'a self, claim: &'a Claim, now_ms: u64) -> BoxFuture<'a, Result<Option<Earlier>, StoreError>> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            let state = self.state.lock();
            let found = state.claims.get(&(claim.owner.clone(), claim.key.clone()));
            Ok(found.filter(|(end, _)| *end > now_ms).map(|(_, earlier)| earlier.clone()))
        })
    }

    fn finish(&self, outcome: Arc<JournalRecord>, claim: Option<ClaimResult>) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            self.writing().await?;
            within(&outcome)?;
            let mut state = self.state.lock();
            let (run, call, ended) = (outcome.run.clone(), outcome.call, outcome.outcome);
            if let Some((_, earlier)) = state.claims.values_mut().find(|(_, c)| c.run == run && c.call == call) {
                earlier.outcome = ended;
            }
            if let Some(claim) = claim {
                let key = (claim.owner, claim.key);
                if claim.release {
                    state.claims.remove(&key);
                } else if let Some((_, earlier)) = state.claims.get_mut(&key) {
                    earlier.result = claim.result;
                }
            }
            push(&mut state, Arc::unwrap_or_clone(outcome));
            Ok(())
        })
    }

    fn append(&self, records: Vec<Arc<JournalRecord>>) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            self.writing().await?;
            records.iter().try_for_each(|record| within(record))?;
            self.largest.fetch_max(records.len(), Ordering::SeqCst);
            let mut state = self.state.lock();
            for record in records {
                push(&mut state, Arc::unwrap_or_clone(record));
            }
            Ok(())
        })
    }

    fn records(&self, filter: JournalFilter) -> BoxFuture<'_, Result<Vec<StoredRecord>, StoreError>> {
        Box::pin(async move {
            let state = self.state.lock();
            let fits = |stored: &&StoredRecord| {
                stored.seq > filter.after
                    && filter.outcome.is_none_or(|outcome: Outcome| stored.record.outcome == Some(outcome))
            };
            let mut found: Vec<_> = state.records.iter().filter(fits).cloned().collect();
            if filter.newest {
                found.drain(..found.len().saturating_sub(filter.limit));
            }
            found.truncate(filter.limit);
            Ok(found)
        })
    }

    fn anchor(&self) -> BoxFuture<'_, Result<(u64, String), StoreError>> {
        Box::pin(async { Ok(self.state.lock().anchor.clone().unwrap_or((0, GENESIS.to_owned()))) })
    }

    fn prune_journal(&self, before_ms: u64) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move {
            let mut state = self.state.lock();
            let old = state.records.iter().take_while(|stored| stored.record.at_ms < before_ms).count();
            let dropped: Vec<_> = state.records.drain(..old).collect();
            if let Some(last) = dropped.last() {
                state.anchor = Some((last.seq, last.hash.clone()));
            }
            Ok(old as u64)
        })
    }
}
