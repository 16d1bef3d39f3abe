//! Entries of the store tools.

use toolcrib_engine::{
    StoreError,
    store_tools::{EntryStore, MAX_FOUND, NewEntry, Quota, Shelf, Usage},
};

const ROOMY: Quota = Quota { entries: 1_000, bytes: 1_000_000 };

fn shelf(tenant: &str, user: &str, store: &str) -> Shelf {
    Shelf { tenant: tenant.to_owned(), user: user.to_owned(), store: store.to_owned() }
}

fn new(key: &str, value: &str, words: &str) -> NewEntry {
    NewEntry { key: key.to_owned(), value: value.to_owned(), words: words.to_owned(), over: None }
}

async fn keys(store: &impl EntryStore, shelf: &Shelf, prefix: &str, after: Option<&str>, limit: usize) -> Vec<String> {
    store.page(shelf, prefix, after, limit).await.unwrap().into_iter().map(|entry| entry.key).collect()
}

async fn found(store: &impl EntryStore, shelf: &Shelf, words: &[&str]) -> Vec<String> {
    let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    let mut keys: Vec<String> = store.find(shelf, &words).await.unwrap().into_iter().map(|entry| entry.key).collect();
    keys.sort();
    keys
}

pub(crate) async fn an_entry_comes_back_as_it_was_written(store: impl EntryStore) {
    let shelf = shelf("t", "u", "notes");
    let first = store.write(&shelf, new("a/ü ✓", r#"{"text":"1"}"#, ""), ROOMY).await.unwrap().unwrap();
    assert_eq!((first.revision, first.created_at_ms), (1, first.updated_at_ms));
    let second = store.write(&shelf, new("a/ü ✓", r#"{"text":"2"}"#, ""), ROOMY).await.unwrap().unwrap();
    assert_eq!((second.revision, second.created_at_ms), (2, first.created_at_ms));
    assert_eq!(store.read(&shelf, "a/ü ✓").await.unwrap(), Some(second));
    assert_eq!(store.read(&shelf, "A/ü ✓").await.unwrap(), None, "keys are exact");
    let revision = store.read(&shelf, "a/ü ✓").await.unwrap().unwrap().revision;
    assert!(!store.remove(&shelf, "a/ü ✓", Some(revision + 1)).await.unwrap(), "not what was meant");
    assert!(store.remove(&shelf, "a/ü ✓", Some(revision)).await.unwrap());
    assert!(!store.remove(&shelf, "a/ü ✓", None).await.unwrap());
    assert_eq!(store.usage(&shelf).await.unwrap(), Usage::default());
}

pub(crate) async fn entries_are_apart_by_tenant_user_and_store(store: impl EntryStore) {
    let shelves = [
        ("", "", "s"),
        ("t", "", "s"),
        ("", "t", "s"),
        ("t", "u", "s"),
        ("tu", "", "s"),
        ("t", "us", ""),
        ("t", "u", "o"),
    ]
    .map(|(tenant, user, store)| shelf(tenant, user, store));
    for (nth, shelf) in shelves.iter().enumerate() {
        store.write(shelf, new("k", &nth.to_string(), "same"), ROOMY).await.unwrap();
    }
    for (nth, shelf) in shelves.iter().enumerate() {
        assert_eq!(store.read(shelf, "k").await.unwrap().unwrap().value, nth.to_string());
        assert_eq!(store.page(shelf, "", None, 10).await.unwrap().len(), 1);
        let hits = store.find(shelf, &["same".to_owned()]).await.unwrap();
        assert_eq!(hits.iter().map(|hit| hit.value.as_str()).collect::<Vec<_>>(), [nth.to_string()]);
    }
    assert_eq!(store.clear(&shelves[3]).await.unwrap(), 1);
    assert!(store.find(&shelves[3], &["same".to_owned()]).await.unwrap().is_empty());
    assert!(store.read(&shelves[4], "k").await.unwrap().is_some());
}

pub(crate) async fn an_entry_is_written_over_the_revision_that_was_meant(store: impl EntryStore) {
    let shelf = shelf("", "", "s");
    let over = |over| NewEntry { over: Some(over), ..new("k", "x", "") };
    assert!(store.write(&shelf, over(1), ROOMY).await.unwrap().is_none(), "there is none to write over");
    assert!(store.write(&shelf, over(0), ROOMY).await.unwrap().is_some());
    assert!(store.write(&shelf, over(0), ROOMY).await.unwrap().is_none(), "there is one already");
    assert_eq!(store.write(&shelf, over(1), ROOMY).await.unwrap().unwrap().revision, 2);
    assert!(store.write(&shelf, over(1), ROOMY).await.unwrap().is_none(), "it changed in the meantime");
}

pub(crate) async fn a_shelf_has_a_quota_of_entries_and_of_bytes(store: impl EntryStore) {
    let shelf = shelf("", "", "s");
    let quota = Quota { entries: 2, bytes: 10 };
    store.write(&shelf, new("a", "1234", ""), quota).await.unwrap();
    store.write(&shelf, new("b", "123", ""), quota).await.unwrap();
    assert_eq!(store.usage(&shelf).await.unwrap(), Usage { entries: 2, bytes: 9 });
    let refused = |outcome: Result<_, StoreError>, needle: &str| match outcome {
        Err(StoreError::Quota(text)) => assert!(text.contains(needle), "{text}"),
        other => panic!("{other:?}"),
    };
    refused(store.write(&shelf, new("c", "", ""), quota).await, "2 entries");
    refused(store.write(&shelf, new("a", "123456", ""), quota).await, "11 bytes");
    assert_eq!(store.read(&shelf, "a").await.unwrap().unwrap().value, "1234", "a refused write leaves what was there");
    // What makes it smaller goes through, also beyond a quota that was lowered.
    let lowered = Quota { entries: 1, bytes: 2 };
    assert!(store.write(&shelf, new("a", "1", ""), lowered).await.unwrap().is_some());
    refused(store.write(&shelf, new("a", "12", ""), lowered).await, "at most 2");
}

pub(crate) async fn entries_are_listed_in_order_by_prefix_and_page(store: impl EntryStore) {
    let shelf = shelf("", "", "s");
    for key in ["b", "a/2", "a/1", "a", "ab", "c%", "c_"] {
        store.write(&shelf, new(key, "1", ""), ROOMY).await.unwrap();
    }
    assert_eq!(keys(&store, &shelf, "", None, 10).await, ["a", "a/1", "a/2", "ab", "b", "c%", "c_"]);
    assert_eq!(keys(&store, &shelf, "a/", None, 10).await, ["a/1", "a/2"]);
    assert_eq!(keys(&store, &shelf, "a", Some("a/1"), 1).await, ["a/2"]);
    assert_eq!(keys(&store, &shelf, "b", Some("a"), 10).await, ["b"], "a place before the prefix is before its first");
    assert_eq!(keys(&store, &shelf, "c%", None, 10).await, ["c%"], "nothing in a prefix is a wildcard");
    assert!(keys(&store, &shelf, "x", None, 10).await.is_empty());
}

pub(crate) async fn entries_are_found_by_any_of_their_words(store: impl EntryStore) {
    let shelf = shelf("", "", "s");
    for (key, words) in [("1", "red fox"), ("2", "blue fox fox"), ("3", "größe 日本 本語"), ("4", "")] {
        store.write(&shelf, new(key, "1", words), ROOMY).await.unwrap();
    }
    for (asked, hits) in [
        (&["fox"] as &[_], &["1", "2"] as &[_]),
        (&["blue", "red"], &["1", "2"]),
        (&["größe"], &["3"]),
        (&["grosse"], &[]),
        (&["本語"], &["3"]),
        (&["fo"], &[]),
        (&["fox\" OR \"red", "*", "NOT", "\""], &[]),
        (&["shelf"], &[]),
        (&[], &[]),
    ] {
        assert_eq!(found(&store, &shelf, asked).await, hits, "{asked:?}");
    }
    store.write(&shelf, new("1", "1", "wolf"), ROOMY).await.unwrap();
    assert_eq!(found(&store, &shelf, &["red"]).await, [""; 0], "the words of the text before are gone");
    store.remove(&shelf, "2", None).await.unwrap();
    assert_eq!(found(&store, &shelf, &["fox", "wolf"]).await, ["1"]);
}

pub(crate) async fn a_search_gives_the_best_when_there_are_many(store: impl EntryStore) {
    let shelf = shelf("", "", "s");
    for n in 0..MAX_FOUND + 5 {
        store.write(&shelf, new(&format!("{n:04}"), "1", "common"), ROOMY).await.unwrap();
    }
    store.write(&shelf, new("z", "1", "common rare"), ROOMY).await.unwrap();
    let hits = store.find(&shelf, &["common".to_owned(), "rare".to_owned()]).await.unwrap();
    assert_eq!((hits.len(), hits[0].key.as_str()), (MAX_FOUND, "z"));
    assert_eq!(store.clear(&shelf).await.unwrap(), MAX_FOUND as u64 + 6);
    assert!(keys(&store, &shelf, "", None, 10).await.is_empty());
}
