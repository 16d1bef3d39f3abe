//! The store that forgets everything when the process ends: for tests, for `store.path = ":memory:"`, and as the last
//! resort when no file can be written.

mod approvals;
mod entries;
mod experience;
mod journal;
mod pending;
mod vectors;

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    ops::Bound,
};

use parking_lot::Mutex;
use toolcrib_engine::{
    BoxFuture, DefinitionStore, KeyValueStore, ResultStore, StoreError, StoredDefinitions,
    damage::{DamageReport, DamagedTable},
    handle,
};

use crate::{DEFAULT_RESULT_BYTES, FINGERPRINTS_PER_SOURCE, now_ms};

/// Keeps everything in memory. Same behaviour as [`crate::SqliteStore`], nothing survives. Of the journal the newest
/// 100,000 records are kept: older ones go as if retention had dropped them.
#[derive(Default)]
pub struct MemoryStore {
    // Of each source from the one saved longest ago on.
    definitions: Mutex<BTreeMap<String, VecDeque<StoredDefinitions>>>,
    key_values: Mutex<BTreeMap<String, BTreeMap<String, String>>>,
    results: Mutex<Results>,
    approvals: Mutex<approvals::Approvals>,
    journal: Mutex<journal::Journal>,
    pending: Mutex<pending::Pieces>,
    entries: Mutex<entries::Shelves>,
    experience: Mutex<experience::Experience>,
    vectors: Mutex<vectors::Vectors>,
}

struct Results {
    texts: HashMap<String, Kept>,
    // Handles from the oldest on.
    order: VecDeque<String>,
    bytes: u64,
    max_bytes: u64,
}

struct Kept {
    scope: String,
    text: String,
    expires_at_ms: u64,
}

impl Default for Results {
    fn default() -> Self {
        Self { texts: HashMap::new(), order: VecDeque::new(), bytes: 0, max_bytes: DEFAULT_RESULT_BYTES }
    }
}

impl Results {
    fn forget_if(&mut self, gone: impl Fn(&Kept) -> bool) {
        let Self { texts, order, bytes, .. } = self;
        order.retain(|handle| match texts.get(handle) {
            Some(kept) if gone(kept) => {
                *bytes -= kept.text.len() as u64;
                texts.remove(handle);
                false
            }
            Some(_) => true,
            None => false,
        });
    }

    fn evict_until_fits(&mut self, incoming: u64) {
        while self.bytes + incoming > self.max_bytes {
            let Some(oldest) = self.order.pop_front() else { return };
            if let Some(kept) = self.texts.remove(&oldest) {
                self.bytes -= kept.text.len() as u64;
            }
        }
    }
}

impl MemoryStore {
    /// An empty store with the default caps.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty store that keeps at most `max_bytes` of results.
    pub fn with_result_bytes(max_bytes: u64) -> Self {
        let store = Self::default();
        store.results.lock().max_bytes = max_bytes;
        store
    }
}

fn ready<'a, T: Send + 'a>(value: T) -> BoxFuture<'a, T> {
    Box::pin(std::future::ready(value))
}

/// What is kept as it is cannot become unreadable.
impl DamageReport for MemoryStore {
    fn damage_met(&self) -> Vec<DamagedTable> {
        Vec::new()
    }

    fn look_for_damage(&self) -> BoxFuture<'_, Result<Vec<DamagedTable>, StoreError>> {
        ready(Ok(Vec::new()))
    }
}

impl DefinitionStore for MemoryStore {
    fn load<'a>(
        &'a self,
        source: &'a str,
        fingerprint: &'a str,
    ) -> BoxFuture<'a, Result<Option<StoredDefinitions>, StoreError>> {
        let definitions = self.definitions.lock();
        let known = definitions.get(source).and_then(|known| known.iter().find(|one| one.fingerprint == fingerprint));
        ready(Ok(known.cloned()))
    }

    fn save<'a>(&'a self, source: &'a str, definitions: StoredDefinitions) -> BoxFuture<'a, Result<(), StoreError>> {
        let mut sources = self.definitions.lock();
        let known = sources.entry(source.to_owned()).or_default();
        known.retain(|one| one.fingerprint != definitions.fingerprint);
        known.push_back(definitions);
        while known.len() > FINGERPRINTS_PER_SOURCE {
            known.pop_front();
        }
        ready(Ok(()))
    }

    fn forget<'a>(&'a self, source: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        self.definitions.lock().remove(source);
        ready(Ok(()))
    }
}

impl KeyValueStore for MemoryStore {
    fn get<'a>(&'a self, namespace: &'a str, key: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        ready(Ok(self.key_values.lock().get(namespace).and_then(|keys| keys.get(key)).cloned()))
    }

    fn set<'a>(
        &'a self,
        namespace: &'a str,
        key: &'a str,
        value: &'a str,
        max_keys: usize,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let mut namespaces = self.key_values.lock();
        let keys = namespaces.entry(namespace.to_owned()).or_default();
        let outcome = if !keys.contains_key(key) && keys.len() >= max_keys {
            Err(too_many_keys(max_keys))
        } else {
            keys.insert(key.to_owned(), value.to_owned());
            Ok(())
        };
        ready(outcome)
    }

    fn delete<'a>(&'a self, namespace: &'a str, key: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        let mut namespaces = self.key_values.lock();
        let Some(keys) = namespaces.get_mut(namespace) else { return ready(Ok(false)) };
        let removed = keys.remove(key).is_some();
        if keys.is_empty() {
            namespaces.remove(namespace);
        }
        ready(Ok(removed))
    }

    fn list<'a>(
        &'a self,
        namespace: &'a str,
        prefix: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        let namespaces = self.key_values.lock();
        let Some(keys) = namespaces.get(namespace) else { return ready(Ok(Vec::new())) };
        let start = match after {
            Some(after) if after >= prefix => Bound::Excluded(after),
            Some(_) | None => Bound::Included(prefix),
        };
        let found = keys
            .range::<str, _>((start, Bound::Unbounded))
            .map(|(key, _)| key)
            .take_while(|key| key.starts_with(prefix))
            .take(limit)
            .cloned()
            .collect();
        ready(Ok(found))
    }
}

impl ResultStore for MemoryStore {
    fn put<'a>(
        &'a self,
        scope: &'a str,
        text: String,
        expires_at_ms: u64,
    ) -> BoxFuture<'a, Result<String, StoreError>> {
        let put = || {
            let mut results = self.results.lock();
            let bytes = text.len() as u64;
            if bytes > results.max_bytes {
                return Err(result_too_large(bytes, results.max_bytes));
            }
            let handle = handle::fresh()?;
            let now = now_ms();
            results.forget_if(|kept| kept.expires_at_ms <= now);
            results.evict_until_fits(bytes);
            results.bytes += bytes;
            results.order.push_back(handle.clone());
            results.texts.insert(handle.clone(), Kept { scope: scope.to_owned(), text, expires_at_ms });
            Ok(handle)
        };
        ready(put())
    }

    fn get<'a>(&'a self, scope: &'a str, handle: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        let results = self.results.lock();
        let kept = results.texts.get(handle).filter(|kept| kept.scope == scope && kept.expires_at_ms > now_ms());
        ready(Ok(kept.map(|kept| kept.text.clone())))
    }
}

pub(crate) fn too_many_keys(max_keys: usize) -> StoreError {
    StoreError::Quota(format!("there are already {max_keys} keys, the most that are kept; delete one first"))
}

pub(crate) fn result_too_large(bytes: u64, max_bytes: u64) -> StoreError {
    StoreError::Quota(format!("a result of {bytes} bytes is larger than the {max_bytes} bytes kept for all results"))
}
