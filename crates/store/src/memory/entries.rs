//! Entries of the store tools, in memory.

use std::{cmp::Reverse, collections::BTreeMap, ops::Bound};

use toolcrib_engine::{
    BoxFuture, StoreError,
    store_tools::{EntryStore, MAX_FOUND, NewEntry, Quota, Shelf, StoredEntry, Usage},
};

use super::{MemoryStore, ready};
use crate::{bounds, now_ms};

/// Entries by shelf and key, each with the words it is found by.
pub(super) type Shelves = BTreeMap<Shelf, BTreeMap<String, (StoredEntry, String)>>;

fn size(entry: &StoredEntry) -> u64 {
    entry.key.len() as u64 + entry.value.len() as u64
}

fn usage(shelf: &BTreeMap<String, (StoredEntry, String)>) -> Usage {
    Usage { entries: shelf.len() as u64, bytes: shelf.values().map(|(entry, _)| size(entry)).sum() }
}

impl EntryStore for MemoryStore {
    fn read<'a>(&'a self, shelf: &'a Shelf, key: &'a str) -> BoxFuture<'a, Result<Option<StoredEntry>, StoreError>> {
        let shelves = self.entries.lock();
        ready(Ok(shelves.get(shelf).and_then(|shelf| shelf.get(key)).map(|(entry, _)| entry.clone())))
    }

    fn write<'a>(
        &'a self,
        shelf: &'a Shelf,
        new: NewEntry,
        quota: Quota,
    ) -> BoxFuture<'a, Result<Option<StoredEntry>, StoreError>> {
        let mut shelves = self.entries.lock();
        let entries = shelves.entry(shelf.clone()).or_default();
        let known = entries.get(&new.key).map(|(entry, _)| entry);
        let revision = known.map_or(0, |known| known.revision);
        if new.over.is_some_and(|over| over != revision) {
            return ready(Ok(None));
        }
        let (bytes, replaced) = (new.key.len() as u64 + new.value.len() as u64, known.map_or(0, size));
        if let Err(refused) = bounds::check_shelf(&shelf.store, usage(entries), known.is_none(), bytes, replaced, quota)
        {
            return ready(Err(refused));
        }
        let now = now_ms();
        let kept = StoredEntry {
            key: new.key.clone(),
            value: new.value,
            created_at_ms: known.map_or(now, |known| known.created_at_ms),
            updated_at_ms: now,
            revision: revision + 1,
        };
        entries.insert(new.key, (kept.clone(), new.words));
        ready(Ok(Some(kept)))
    }

    fn remove<'a>(
        &'a self,
        shelf: &'a Shelf,
        key: &'a str,
        over: Option<u64>,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let mut shelves = self.entries.lock();
        let Some(entries) = shelves.get_mut(shelf) else { return ready(Ok(false)) };
        let meant = entries.get(key).is_some_and(|(entry, _)| over.is_none_or(|over| entry.revision == over));
        ready(Ok(meant && entries.remove(key).is_some()))
    }

    fn page<'a>(
        &'a self,
        shelf: &'a Shelf,
        prefix: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StoredEntry>, StoreError>> {
        let shelves = self.entries.lock();
        let Some(entries) = shelves.get(shelf) else { return ready(Ok(Vec::new())) };
        let start = match after {
            Some(after) if after >= prefix => Bound::Excluded(after),
            Some(_) | None => Bound::Included(prefix),
        };
        let found = entries
            .range::<str, _>((start, Bound::Unbounded))
            .take_while(|(key, _)| key.starts_with(prefix))
            .take(limit)
            .map(|(_, (entry, _))| entry.clone())
            .collect();
        ready(Ok(found))
    }

    fn find<'a>(
        &'a self,
        shelf: &'a Shelf,
        words: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<StoredEntry>, StoreError>> {
        let shelves = self.entries.lock();
        let Some(entries) = shelves.get(shelf) else { return ready(Ok(Vec::new())) };
        let mut found: Vec<(usize, &StoredEntry)> = entries
            .values()
            .map(|(entry, kept)| {
                let held = words.iter().filter(|word| kept.split(' ').any(|one| one == word.as_str()));
                (held.count(), entry)
            })
            .filter(|(held, _)| *held > 0)
            .collect();
        found.sort_by_key(|(held, _)| Reverse(*held));
        ready(Ok(found.into_iter().take(MAX_FOUND).map(|(_, entry)| entry.clone()).collect()))
    }

    fn usage<'a>(&'a self, shelf: &'a Shelf) -> BoxFuture<'a, Result<Usage, StoreError>> {
        ready(Ok(self.entries.lock().get(shelf).map(usage).unwrap_or_default()))
    }

    fn clear<'a>(&'a self, shelf: &'a Shelf) -> BoxFuture<'a, Result<u64, StoreError>> {
        ready(Ok(self.entries.lock().remove(shelf).map_or(0, |entries| entries.len() as u64)))
    }
}
