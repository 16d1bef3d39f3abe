//! What is said by hand, kept in a store that several processes share.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use toolcrib_core::permission::Action;
use toolcrib_engine::{
    BoxFuture, StoreError,
    manager::{Adjustment, KeepError, Keeper, Patch},
    store_tools::{EntryStore, NewEntry, Quota, Shelf, StoredEntry, Usage},
};

use super::*;

/// Entries in memory. `late` writes meet another one that came before.
#[derive(Default)]
struct Shelves {
    entries: Mutex<BTreeMap<(Shelf, String), StoredEntry>>,
    late: AtomicUsize,
    writes: AtomicUsize,
}

impl Shelves {
    fn put(&self, shelf: &Shelf, key: &str, value: String) -> StoredEntry {
        let mut entries = self.entries.lock();
        let place = (shelf.clone(), key.to_owned());
        let revision = entries.get(&place).map_or(0, |entry| entry.revision) + 1;
        let entry = StoredEntry { key: key.to_owned(), value, created_at_ms: 1, updated_at_ms: 1, revision };
        entries.insert(place, entry.clone());
        entry
    }
}

impl EntryStore for Shelves {
    fn read<'a>(&'a self, shelf: &'a Shelf, key: &'a str) -> BoxFuture<'a, Result<Option<StoredEntry>, StoreError>> {
        Box::pin(async move { Ok(self.entries.lock().get(&(shelf.clone(), key.to_owned())).cloned()) })
    }

    fn write<'a>(
        &'a self,
        shelf: &'a Shelf,
        entry: NewEntry,
        _quota: Quota,
    ) -> BoxFuture<'a, Result<Option<StoredEntry>, StoreError>> {
        Box::pin(async move {
            self.writes.fetch_add(1, Ordering::SeqCst);
            if entry.over.is_some() && self.late.load(Ordering::SeqCst) > 0 {
                self.late.fetch_sub(1, Ordering::SeqCst);
                let other = json!({"version": 1, "tools": {"u": {"priority": 8, "by": "another process"}}});
                self.put(shelf, &entry.key, other.to_string());
            }
            let place = (shelf.clone(), entry.key.clone());
            let revision = self.entries.lock().get(&place).map_or(0, |entry| entry.revision);
            if entry.over.is_some_and(|over| over != revision) {
                return Ok(None);
            }
            Ok(Some(self.put(shelf, &entry.key, entry.value)))
        })
    }

    fn remove<'a>(&'a self, _: &'a Shelf, _: &'a str, _: Option<u64>) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async { Ok(false) })
    }

    fn page<'a>(
        &'a self,
        shelf: &'a Shelf,
        _: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StoredEntry>, StoreError>> {
        Box::pin(async move {
            let entries = self.entries.lock();
            let own = entries.iter().filter(|((of, key), _)| of == shelf && after.is_none_or(|after| **key > *after));
            Ok(own.map(|(_, entry)| entry.clone()).take(limit).collect())
        })
    }

    fn find<'a>(&'a self, _: &'a Shelf, _: &'a [String]) -> BoxFuture<'a, Result<Vec<StoredEntry>, StoreError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn usage<'a>(&'a self, _: &'a Shelf) -> BoxFuture<'a, Result<Usage, StoreError>> {
        Box::pin(async { Ok(Usage::default()) })
    }

    fn clear<'a>(&'a self, _: &'a Shelf) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(async { Ok(0) })
    }
}

fn say(name: &str, say: Adjustment) -> Vec<(ToolId, Patch)> {
    vec![(id(name), Patch { reset: false, say })]
}

fn off() -> Adjustment {
    Adjustment { enabled: Some(false), ..Adjustment::default() }
}

fn process(store: &Arc<Shelves>, tenant: &str) -> (Manager, Keeper) {
    let manager = manager();
    server(&manager, &["t", "u"]);
    (manager, Keeper::new(store.clone(), tenant))
}

#[tokio::test]
async fn what_one_process_says_another_hears_and_a_later_one_finds() {
    let store = Arc::new(Shelves::default());
    let (one, its) = process(&store, "");
    let (two, others) = process(&store, "");
    assert!(others.refresh(&two).await.unwrap().is_empty());
    let mut events = two.subscribe();
    let t = say("mcp:s/t", off());
    assert_eq!(its.preview(&one, &t).unwrap().len(), 1);
    assert_eq!(its.change(&one, "terminal", &t).await.unwrap(), [id("mcp:s/t")]);
    assert_eq!(one.is_enabled(&id("mcp:s/t")), Some(false));
    assert_eq!(two.is_enabled(&id("mcp:s/t")), Some(true));
    assert_eq!(others.refresh(&two).await.unwrap(), [id("mcp:s/t")]);
    assert_eq!(told(&mut events), [Event::Disabled { id: id("mcp:s/t") }]);
    assert_eq!(two.adjustment(&id("mcp:s/t")).unwrap().by.as_deref(), Some("terminal"));
    // Nothing new: nothing is read or told.
    assert!(others.refresh(&two).await.unwrap().is_empty());
    // After a restart, before the server has published anything.
    let three = manager();
    Keeper::new(store.clone(), "").refresh(&three).await.unwrap();
    server(&three, &["t"]);
    assert_eq!(three.is_enabled(&id("mcp:s/t")), Some(false));
    // Said twice is said once: nothing is written.
    let writes = store.writes.load(Ordering::SeqCst);
    assert!(its.preview(&one, &t).unwrap().is_empty());
    assert!(its.change(&one, "terminal", &t).await.unwrap().is_empty());
    assert_eq!(store.writes.load(Ordering::SeqCst), writes);
    // Taken back.
    let reset = vec![(id("mcp:s/t"), Patch { reset: true, say: Adjustment::default() })];
    its.change(&one, "terminal", &reset).await.unwrap();
    others.refresh(&two).await.unwrap();
    assert_eq!((one.is_enabled(&id("mcp:s/t")), two.is_enabled(&id("mcp:s/t"))), (Some(true), Some(true)));
    assert!(two.adjustments().is_empty());
}

#[tokio::test]
async fn tenants_are_apart() {
    let store = Arc::new(Shelves::default());
    let (one, its) = process(&store, "a");
    let (two, others) = process(&store, "b");
    its.change(&one, "ann", &say("mcp:s/t", off())).await.unwrap();
    assert!(others.refresh(&two).await.unwrap().is_empty());
    assert_eq!(two.is_enabled(&id("mcp:s/t")), Some(true));
}

#[tokio::test]
async fn changes_that_come_between_are_not_lost() {
    let store = Arc::new(Shelves::default());
    let (one, its) = process(&store, "");
    store.late.store(3, Ordering::SeqCst);
    its.change(&one, "terminal", &say("mcp:s/t", off())).await.unwrap();
    assert_eq!(one.is_enabled(&id("mcp:s/t")), Some(false));
    assert_eq!(one.labels(&id("mcp:s/u")).unwrap().priority, 8, "the other process's");
    store.late.store(1_000, Ordering::SeqCst);
    let error =
        its.change(&one, "terminal", &say("mcp:s/t", Adjustment { priority: Some(3), ..Adjustment::default() })).await;
    assert!(matches!(error, Err(KeepError::Busy(_))), "{error:?}");
}

#[tokio::test]
async fn later_words_are_laid_over_earlier_ones() {
    let store = Arc::new(Shelves::default());
    let (one, its) = process(&store, "");
    its.change(&one, "ann", &say("mcp:s/t", off())).await.unwrap();
    let ask = Adjustment { permission: Some(Action::Ask), ..Adjustment::default() };
    its.change(&one, "bob", &say("mcp:s/t", ask)).await.unwrap();
    let said = one.adjustment(&id("mcp:s/t")).unwrap();
    assert_eq!((said.enabled, said.permission, said.by.as_deref()), (Some(false), Some(Action::Ask), Some("bob")));
    let patch = Patch { reset: true, say: Adjustment { priority: Some(2), ..Adjustment::default() } };
    its.change(&one, "bob", &[(id("mcp:s/t"), patch)]).await.unwrap();
    let said = one.adjustment(&id("mcp:s/t")).unwrap();
    assert_eq!((said.enabled, said.permission, said.priority), (None, None, Some(2)));
}

#[tokio::test]
async fn what_cannot_be_read_is_an_error_and_changes_nothing() {
    for (value, why) in [("{", "EOF"), (r#"{"version":2,"tools":{}}"#, "version 2"), (r#"{"tools":5}"#, "invalid type")]
    {
        let store = Arc::new(Shelves::default());
        let (one, its) = process(&store, "");
        its.change(&one, "ann", &say("mcp:s/t", off())).await.unwrap();
        let shelf = store.entries.lock().keys().next().unwrap().0.clone();
        store.put(&shelf, "mcp:s", value.to_owned());
        let (two, others) = process(&store, "");
        let error = others.refresh(&two).await.unwrap_err().to_string();
        assert!(error.contains("mcp:s") && error.contains(why), "{error}");
        assert!(two.adjustments().is_empty());
        // Nor is it overwritten.
        others.change(&two, "ann", &say("mcp:s/u", off())).await.unwrap_err();
        assert_eq!(store.entries.lock()[&(shelf, "mcp:s".to_owned())].value, value);
    }
}
