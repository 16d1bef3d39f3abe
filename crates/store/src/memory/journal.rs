//! The journal in memory: the same chain, the newest records of it.

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    sync::Arc,
};

use toolcrib_engine::{
    BoxFuture, StoreError,
    event::Outcome,
    journal::{
        Begun, Claim, ClaimResult, Earlier, GENESIS, JournalFilter, JournalRecord, JournalStore, Kind, StoredRecord,
        Unfinished, link_text,
    },
};

use super::{MemoryStore, ready};
use crate::{DEFAULT_RESULT_BYTES, bounds};

/// Records kept; older ones are dropped, open intents among them.
const RECORDS: usize = 100_000;

type CallKey = (String, u64);
type ClaimKey = (String, String);

pub(super) struct Journal {
    anchor: (u64, String),
    records: VecDeque<StoredRecord>,
    // Place of the intent.
    open: HashMap<CallKey, u64>,
    // Calls whose outcome is among the records.
    ended: HashSet<CallKey>,
    runs: HashSet<String>,
    claims: HashMap<ClaimKey, Claimed>,
    // How many keys each owner has.
    owners: HashMap<String, usize>,
    // Keys by call and, with a result, by age.
    by_call: HashMap<CallKey, ClaimKey>,
    by_expiry: BTreeMap<(u64, u64), ClaimKey>,
    results: BTreeMap<u64, (ClaimKey, u64)>,
    next_claim: u64,
}

struct Claimed {
    number: u64,
    expires_at_ms: u64,
    earlier: Earlier,
}

impl Default for Journal {
    fn default() -> Self {
        Self {
            anchor: (0, GENESIS.to_owned()),
            records: VecDeque::new(),
            open: HashMap::new(),
            ended: HashSet::new(),
            runs: HashSet::new(),
            claims: HashMap::new(),
            owners: HashMap::new(),
            by_call: HashMap::new(),
            by_expiry: BTreeMap::new(),
            results: BTreeMap::new(),
            next_claim: 0,
        }
    }
}

impl Journal {
    /// The record's text, which goes into the chain.
    pub(super) fn check(record: &JournalRecord) -> Result<String, StoreError> {
        let text = serde_json::to_string(record).unwrap_or_default();
        bounds::within("a journal record", text.len(), bounds::RECORD_BYTES)?;
        Ok(text)
    }

    /// Chains a record that was checked.
    pub(super) fn append(&mut self, record: JournalRecord, text: &str) {
        let call = (record.run.clone(), record.call);
        let left_out = match record.kind {
            // Of several that find the same call unfinished, the first closes it.
            Kind::Recovered => !self.open.contains_key(&call),
            Kind::Outcome => self.ended.contains(&call),
            _ => false,
        };
        if left_out {
            return;
        }
        let (last, previous) =
            self.records.back().map_or((self.anchor.0, &self.anchor.1), |newest| (newest.seq, &newest.hash));
        let seq = last + 1;
        let hash = link_text(previous, seq, text);
        match record.kind {
            Kind::Intent => {
                self.open.entry(call).or_insert(seq);
            }
            Kind::Outcome | Kind::Recovered => {
                self.open.remove(&call);
                if record.kind == Kind::Outcome && record.call > 0 {
                    self.ended.insert(call.clone());
                }
                if let Some(claimed) = self.by_call.get(&call).and_then(|key| self.claims.get_mut(key)) {
                    claimed.earlier.outcome = claimed.earlier.outcome.or(record.outcome);
                }
            }
            Kind::Late
            | Kind::Asked
            | Kind::Answered
            | Kind::Grant
            | Kind::Breaker
            | Kind::Pruned
            | Kind::Search
            | Kind::Adjusted
            | Kind::Gap => {}
        }
        self.records.push_back(StoredRecord { seq, hash, record });
        if self.records.len() > RECORDS {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        let Some(oldest) = self.records.pop_front() else { return };
        let call = (oldest.record.run, oldest.record.call);
        if self.open.get(&call) == Some(&oldest.seq) {
            self.open.remove(&call);
        }
        if oldest.record.kind == Kind::Outcome {
            self.ended.remove(&call);
        }
        self.anchor = (oldest.seq, oldest.hash);
    }

    fn begin(&mut self, intent: JournalRecord, claim: Option<Claim>, now_ms: u64) -> Result<Begun, StoreError> {
        let text = Self::check(&intent)?;
        if let Some(claim) = claim {
            while let Some(oldest) = self.by_expiry.first_entry()
                && oldest.key().0 <= now_ms
            {
                let key = oldest.get().clone();
                self.forget(&key);
            }
            let key = (claim.owner, claim.key);
            if let Some(claimed) = self.claims.get(&key) {
                return Ok(Begun::Duplicate(claimed.earlier.clone()));
            }
            if self.owners.get(&key.0).is_some_and(|keys| *keys >= bounds::CLAIMS_PER_OWNER) {
                let own = self.by_expiry.iter().find(|(_, (owner, _))| *owner == key.0);
                let next = own.map_or(now_ms, |((end, _), _)| *end);
                return Err(bounds::too_many_claims_of(&key.0, next, now_ms));
            }
            if self.claims.len() >= bounds::CLAIMS {
                let next = self.by_expiry.first_key_value().map_or(now_ms, |((end, _), _)| *end);
                return Err(bounds::too_many_claims(next, now_ms));
            }
            *self.owners.entry(key.0.clone()).or_default() += 1;
            let number = self.next_claim;
            self.next_claim += 1;
            let earlier = Earlier {
                run: intent.run.clone(),
                call: intent.call,
                digest: claim.digest,
                outcome: None,
                result: None,
            };
            self.by_call.insert((intent.run.clone(), intent.call), key.clone());
            self.by_expiry.insert((claim.expires_at_ms, number), key.clone());
            self.claims.insert(key, Claimed { number, expires_at_ms: claim.expires_at_ms, earlier });
        }
        self.append(intent, &text);
        Ok(Begun::Started)
    }

    fn forget(&mut self, key: &ClaimKey) {
        if let Some(claimed) = self.claims.remove(key) {
            if let Some(keys) = self.owners.get_mut(&key.0) {
                *keys -= 1;
                if *keys == 0 {
                    self.owners.remove(&key.0);
                }
            }
            self.by_call.remove(&(claimed.earlier.run, claimed.earlier.call));
            self.by_expiry.remove(&(claimed.expires_at_ms, claimed.number));
            self.results.remove(&claimed.number);
        }
    }

    fn finish(&mut self, outcome: JournalRecord, claim: Option<ClaimResult>) -> Result<(), StoreError> {
        let text = Self::check(&outcome)?;
        let (run, call, how) = (outcome.run.clone(), outcome.call, outcome.outcome);
        self.append(outcome, &text);
        if let Some(claim) = claim {
            self.settle(claim, &run, call, how);
        }
        Ok(())
    }

    fn settle(&mut self, claim: ClaimResult, run: &str, call: u64, outcome: Option<Outcome>) {
        let key = (claim.owner, claim.key);
        // Only the call's own claim: after a key has expired another call may have it.
        let Some(claimed) =
            self.claims.get_mut(&key).filter(|claimed| claimed.earlier.run == run && claimed.earlier.call == call)
        else {
            return;
        };
        if claim.release {
            self.forget(&key);
            return;
        }
        let result = claim.result.filter(|result| result.len() <= bounds::CLAIM_RESULT_BYTES);
        let bytes = result.as_ref().map(|result| result.len() as u64);
        claimed.earlier.outcome = outcome;
        claimed.earlier.result = result;
        self.results.remove(&claimed.number);
        if let Some(bytes) = bytes.filter(|bytes| *bytes > 0) {
            self.results.insert(claimed.number, (key, bytes));
            self.make_room();
        }
    }

    fn make_room(&mut self) {
        let mut bytes: u64 = self.results.values().map(|(_, bytes)| bytes).sum();
        while (bytes > DEFAULT_RESULT_BYTES || self.results.len() > bounds::CLAIM_RESULTS)
            && let Some((_, (key, size))) = self.results.pop_first()
        {
            bytes -= size;
            if let Some(claimed) = self.claims.get_mut(&key) {
                claimed.earlier.result = None;
            }
        }
    }

    fn prune(&mut self, before_ms: u64) -> u64 {
        let open = self.open.values().copied().min().unwrap_or(u64::MAX);
        let mut dropped = 0;
        while let Some(oldest) = self.records.front()
            && oldest.record.at_ms < before_ms
            && oldest.seq < open
        {
            self.drop_oldest();
            dropped += 1;
        }
        dropped
    }

    fn unfinished(&self, limit: usize) -> Vec<StoredRecord> {
        let first = self.anchor.0 + 1;
        let mut places: Vec<u64> =
            self.open.iter().filter(|((run, _), _)| !self.runs.contains(run)).map(|(_, seq)| *seq).collect();
        places.sort_unstable();
        let index = |seq: u64| usize::try_from(seq - first).ok();
        let records = places.into_iter().filter_map(|seq| self.records.get(index(seq)?));
        records.take(limit.min(bounds::LIST)).cloned().collect()
    }
}

impl MemoryStore {
    /// Whether the run was opened: it lives as long as the store.
    pub(super) fn is_run_open(&self, run: &str) -> bool {
        self.journal.lock().runs.contains(run)
    }
}

/// The record itself, without a copy where nobody else holds it.
fn owned(record: Arc<JournalRecord>) -> JournalRecord {
    Arc::unwrap_or_clone(record)
}

fn matches(filter: &JournalFilter, stored: &StoredRecord) -> bool {
    let record = &stored.record;
    let tool = |wanted: &str| match record.tool.as_deref() {
        Some(tool) if wanted.ends_with('/') => tool.starts_with(wanted),
        tool => tool == Some(wanted),
    };
    stored.seq > filter.after
        && filter.since_ms.is_none_or(|time| record.at_ms >= time)
        && filter.until_ms.is_none_or(|time| record.at_ms < time)
        && filter.tool.as_deref().is_none_or(tool)
        && filter.outcome.is_none_or(|outcome| record.outcome == Some(outcome))
        && filter.user.as_ref().is_none_or(|user| record.principal.user.as_ref() == Some(user))
        && filter.tenant.as_ref().is_none_or(|tenant| record.principal.tenant == *tenant)
        && filter.run.as_ref().is_none_or(|run| record.run == *run)
        && filter.call.is_none_or(|call| record.call == call)
}

impl JournalStore for MemoryStore {
    fn open_run<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        let open = || {
            bounds::check_run(run)?;
            self.journal.lock().runs.insert(run.to_owned());
            Ok(())
        };
        ready(open())
    }

    fn unfinished(&self, limit: usize) -> BoxFuture<'_, Result<Vec<Unfinished>, StoreError>> {
        ready(Ok(self.journal.lock().unfinished(limit)))
    }

    fn begin(
        &self,
        intent: Arc<JournalRecord>,
        claim: Option<Claim>,
        now_ms: u64,
    ) -> BoxFuture<'_, Result<Begun, StoreError>> {
        ready(self.journal.lock().begin(owned(intent), claim, now_ms))
    }

    fn claimed<'a>(&'a self, claim: &'a Claim, now_ms: u64) -> BoxFuture<'a, Result<Option<Earlier>, StoreError>> {
        let journal = self.journal.lock();
        let found = journal.claims.get(&(claim.owner.clone(), claim.key.clone()));
        ready(Ok(found.filter(|claimed| claimed.expires_at_ms > now_ms).map(|claimed| claimed.earlier.clone())))
    }

    fn finish(&self, outcome: Arc<JournalRecord>, claim: Option<ClaimResult>) -> BoxFuture<'_, Result<(), StoreError>> {
        ready(self.journal.lock().finish(owned(outcome), claim))
    }

    fn append(&self, records: Vec<Arc<JournalRecord>>) -> BoxFuture<'_, Result<(), StoreError>> {
        let append = || {
            let texts = records.iter().map(|record| Journal::check(record)).collect::<Result<Vec<_>, _>>()?;
            let mut journal = self.journal.lock();
            for (record, text) in records.into_iter().zip(texts) {
                journal.append(owned(record), &text);
            }
            Ok(())
        };
        ready(append())
    }

    fn records(&self, filter: JournalFilter) -> BoxFuture<'_, Result<Vec<StoredRecord>, StoreError>> {
        let journal = self.journal.lock();
        let limit = filter.limit.min(bounds::LIST);
        let found = journal.records.iter().filter(|stored| matches(&filter, stored));
        let mut records: Vec<_> = if filter.newest {
            found.rev().take(limit).cloned().collect()
        } else {
            found.take(limit).cloned().collect()
        };
        if filter.newest {
            records.reverse();
        }
        ready(Ok(records))
    }

    fn anchor(&self) -> BoxFuture<'_, Result<(u64, String), StoreError>> {
        ready(Ok(self.journal.lock().anchor.clone()))
    }

    fn prune_journal(&self, before_ms: u64) -> BoxFuture<'_, Result<u64, StoreError>> {
        ready(Ok(self.journal.lock().prune(before_ms)))
    }
}
