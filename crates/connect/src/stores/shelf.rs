//! What stores of entries do alike: reading and writing values of one type, pages, changes of an entry, taking out and in.

use std::sync::Arc;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use toolcrib_engine::store_tools::{
    ActionSpec, EntryStore, NewEntry, Owner, Shelf, StoreFault, StoredEntry, check_key,
};

use super::{StoreSettings, fields, words};

/// Entries of `export` and `import` at once.
const BUNDLE: usize = 100;
/// How often a change is tried again that another one came before.
const TRIES: usize = 8;
/// Entries read from the store at once where all are looked at.
const STEP: usize = 200;

/// What one store keeps: its id, its quota, and how its values become words.
pub(super) struct Entries<T> {
    id: &'static str,
    kept: Arc<dyn EntryStore>,
    settings: StoreSettings,
    words: fn(&str, &T) -> String,
}

/// An entry with its value read.
pub(super) struct Entry<T> {
    pub(super) key: String,
    pub(super) value: T,
    pub(super) stored: StoredEntry,
}

impl<T: Serialize + DeserializeOwned + Send + Sync> Entries<T> {
    pub(super) fn new(
        id: &'static str,
        kept: Arc<dyn EntryStore>,
        settings: StoreSettings,
        words: fn(&str, &T) -> String,
    ) -> Self {
        Self { id, kept, settings, words }
    }

    fn shelf(&self, owner: &Owner) -> Shelf {
        Shelf { tenant: owner.tenant.clone(), user: owner.user.clone(), store: self.id.to_owned() }
    }

    fn entry(&self, stored: StoredEntry) -> Result<Entry<T>, StoreFault> {
        match serde_json::from_str(&stored.value) {
            Ok(value) => Ok(Entry { key: stored.key.clone(), value, stored }),
            Err(error) => Err(StoreFault::new(format!(
                "entry '{}' of store '{}' was kept by another version and cannot be read ({error}); write it anew or delete it",
                stored.key, self.id
            ))),
        }
    }

    pub(super) async fn get(&self, owner: &Owner, key: &str) -> Result<Option<Entry<T>>, StoreFault> {
        let stored = self.kept.read(&self.shelf(owner), key).await?;
        stored.map(|stored| self.entry(stored)).transpose()
    }

    pub(super) async fn existing(&self, owner: &Owner, key: &str) -> Result<Entry<T>, StoreFault> {
        self.get(owner, key).await?.ok_or_else(|| {
            StoreFault::new(format!("store '{}' has no entry '{key}'; store_list shows the keys", self.id))
        })
    }

    /// Writes over `over`, or over whatever is there; `None` if it has another revision.
    pub(super) async fn put(
        &self,
        owner: &Owner,
        key: &str,
        value: &T,
        over: Option<u64>,
    ) -> Result<Option<StoredEntry>, StoreFault> {
        check_key(key)?;
        let text = fields::text(value, self.settings.max_entry_bytes)?;
        let entry = NewEntry { key: key.to_owned(), value: text, words: (self.words)(key, value), over };
        Ok(self.kept.write(&self.shelf(owner), entry, self.settings.quota).await?)
    }

    /// Changes an entry that is there; a change that comes between is not lost, this one is made on top of it.
    pub(super) async fn change(
        &self,
        owner: &Owner,
        key: &str,
        change: impl Fn(T) -> Result<T, StoreFault> + Send + Sync,
    ) -> Result<Entry<T>, StoreFault> {
        for _ in 0..TRIES {
            let found = self.existing(owner, key).await?;
            let value = change(found.value)?;
            if let Some(stored) = self.put(owner, key, &value, Some(found.stored.revision)).await? {
                return Ok(Entry { key: key.to_owned(), value, stored });
            }
        }
        Err(StoreFault::new(format!("entry '{key}' is being changed by others all the time; try again")))
    }

    pub(super) async fn delete(&self, owner: &Owner, key: &str) -> Result<bool, StoreFault> {
        Ok(self.kept.remove(&self.shelf(owner), key, None).await?)
    }

    /// Deletes an entry if it still is as it was read.
    pub(super) async fn delete_as_read(&self, owner: &Owner, entry: &Entry<T>) -> Result<bool, StoreFault> {
        Ok(self.kept.remove(&self.shelf(owner), &entry.key, Some(entry.stored.revision)).await?)
    }

    /// Moves an entry to a key where there is none. What others do to it meanwhile is moved too, and what happens in
    /// between leaves two, never none.
    pub(super) async fn rename(&self, owner: &Owner, from: &str, to: &str) -> Result<Entry<T>, StoreFault> {
        let mut over = 0;
        for _ in 0..TRIES {
            let found = self.existing(owner, from).await?;
            let Some(stored) = self.put(owner, to, &found.value, Some(over)).await? else {
                return Err(StoreFault::new(format!("there is '{to}' already; delete it first")));
            };
            if self.delete_as_read(owner, &found).await? {
                return Ok(Entry { key: to.to_owned(), value: found.value, stored });
            }
            over = stored.revision;
        }
        Err(StoreFault::new(format!("'{from}' is being changed by others all the time; it is under '{to}' too now")))
    }

    pub(super) async fn clear(&self, owner: &Owner) -> Result<u64, StoreFault> {
        Ok(self.kept.clear(&self.shelf(owner)).await?)
    }

    pub(super) async fn count(&self, owner: &Owner) -> Result<u64, StoreFault> {
        Ok(self.kept.usage(&self.shelf(owner)).await?.entries)
    }

    /// The first `limit` entries after `after` that `wanted` lets through, and where the next page begins. What cannot
    /// be read is left out.
    pub(super) async fn page(
        &self,
        owner: &Owner,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
        wanted: impl Fn(&Entry<T>) -> bool + Send + Sync,
    ) -> Result<(Vec<Entry<T>>, Option<String>), StoreFault> {
        let (shelf, mut after) = (self.shelf(owner), after.map(str::to_owned));
        let mut found: Vec<Entry<T>> = Vec::new();
        loop {
            let step = self.kept.page(&shelf, prefix, after.as_deref(), STEP).await?;
            let last = step.len() < STEP;
            for stored in step {
                after = Some(stored.key.clone());
                let Ok(entry) = self.entry(stored) else { continue };
                if !wanted(&entry) {
                    continue;
                }
                if found.len() == limit {
                    // There is one more, so there is a next page; it begins after the last one given.
                    let next = found.last().map(|entry| entry.key.clone());
                    return Ok((found, next));
                }
                found.push(entry);
            }
            if last {
                return Ok((found, None));
            }
        }
    }

    /// Entries that have words of the query, best first.
    pub(super) async fn search(&self, owner: &Owner, query: &str, limit: usize) -> Result<Vec<Entry<T>>, StoreFault> {
        let asked = words::words(query);
        let found = self.kept.find(&self.shelf(owner), &asked).await?;
        let text = |stored: &StoredEntry| {
            let value = serde_json::from_str(&stored.value).ok();
            value.map(|value| (self.words)(&stored.key, &value)).unwrap_or_default()
        };
        let ranked = words::rank(found, &asked, text);
        Ok(ranked.into_iter().filter_map(|stored| self.entry(stored).ok()).take(limit).collect())
    }

    /// A page of whole entries, as [`take_in`](Self::take_in) reads them.
    pub(super) async fn take_out(&self, owner: &Owner, params: Map<String, Value>) -> Result<Value, StoreFault> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Params {
            #[serde(default)]
            after: Option<String>,
        }
        let Params { after } = fields::read(params, "export", "after? (the 'next' of the page before)")?;
        let (page, next) = self.page(owner, "", after.as_deref(), BUNDLE, |_| true).await?;
        let entries: Vec<Value> =
            page.iter().map(|entry| json!({"key": entry.key, "fields": json!(entry.value)})).collect();
        Ok(json!({"entries": entries, "next": next}))
    }

    /// Adds entries; keys that are there already stay as they are and are named.
    pub(super) async fn take_in(
        &self,
        owner: &Owner,
        params: Map<String, Value>,
        read: impl Fn(&str, Map<String, Value>) -> Result<T, StoreFault> + Send + Sync,
    ) -> Result<Value, StoreFault> {
        let read_in = self.read_in(params, read)?;
        self.add(owner, read_in).await
    }

    /// The entries of an import. All are read before the first is written: a bad one is told with nothing done.
    pub(super) fn read_in(
        &self,
        params: Map<String, Value>,
        read: impl Fn(&str, Map<String, Value>) -> Result<T, StoreFault>,
    ) -> Result<Vec<(String, T)>, StoreFault> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct One {
            key: String,
            fields: Map<String, Value>,
        }
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Params {
            entries: Vec<One>,
        }
        let Params { entries } = fields::read(params, "import", "entries (list of {key, fields})")?;
        if entries.len() > BUNDLE {
            return Err(StoreFault::new(format!(
                "import takes at most {BUNDLE} entries at once, these are {}",
                entries.len()
            )));
        }
        let mut read_in = Vec::with_capacity(entries.len());
        for One { key, fields } in entries {
            let wrong = |fault| StoreFault::new(format!("entry '{key}': {fault}"));
            check_key(&key).map_err(wrong)?;
            let value = read(&key, fields).map_err(wrong)?;
            fields::text(&value, self.settings.max_entry_bytes).map_err(wrong)?;
            read_in.push((key, value));
        }
        Ok(read_in)
    }

    /// Adds entries whose keys are free.
    pub(super) async fn add(&self, owner: &Owner, read_in: Vec<(String, T)>) -> Result<Value, StoreFault> {
        let (mut added, mut kept) = (0_u64, Vec::new());
        for (key, value) in read_in {
            let put = self.put(owner, &key, &value, Some(0)).await;
            // Each is written by itself, so what was added before stays.
            let put = put.map_err(|fault| match added {
                0 => fault,
                _ => StoreFault::new(format!("{fault}; the {added} entries before '{key}' were added")),
            });
            match put? {
                Some(_) => added += 1,
                None => kept.push(key),
            }
        }
        Ok(json!({"added": added, "already_there": kept}))
    }
}

/// An action that a store does not have, whatever its description says.
pub(super) fn no_action(action: &str) -> StoreFault {
    StoreFault::new(format!("this store has no action '{action}'"))
}

/// `export` and `import`, which every store of entries has.
pub(super) fn bundle_actions() -> [ActionSpec; 2] {
    [
        ActionSpec {
            name: "export".to_owned(),
            description: "Gives whole entries, page by page.".to_owned(),
            params: "after?".to_owned(),
            destructive: false,
        },
        ActionSpec {
            name: "import".to_owned(),
            description: "Adds entries as export gives them; keys that are there stay.".to_owned(),
            params: "entries".to_owned(),
            destructive: false,
        },
    ]
}

/// An action that takes everything away.
pub(super) fn clear_action(description: &str) -> ActionSpec {
    ActionSpec {
        name: "clear".to_owned(),
        description: description.to_owned(),
        params: String::new(),
        destructive: true,
    }
}
