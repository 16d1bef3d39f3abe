//! What every store must do, whatever it keeps things in. One function per behaviour, run by `conformance.rs` on each.

pub(crate) mod approvals;
pub(crate) mod entries;
pub(crate) mod experience;
pub(crate) mod journal;
pub(crate) mod pending;
pub(crate) mod vectors;

use std::sync::Barrier;

use serde_json::json;
use toolcrib_engine::{
    DefinitionStore, ExperienceStore, KeyValueStore, ResultStore, StoreError, StoredDefinitions, VectorStore,
    approval::ApprovalStore, journal::JournalStore, pending::PendingStore, store_tools::EntryStore,
};

/// A store as the suite needs it.
pub(crate) trait Store:
    DefinitionStore
    + KeyValueStore
    + ResultStore
    + ApprovalStore
    + JournalStore
    + PendingStore
    + EntryStore
    + ExperienceStore
    + VectorStore
{
}
impl<T> Store for T where
    T: DefinitionStore
        + KeyValueStore
        + ResultStore
        + ApprovalStore
        + JournalStore
        + PendingStore
        + EntryStore
        + ExperienceStore
        + VectorStore
        + VectorStore
{
}

/// Runs `racers` threads that start together, each with one of the stores in turn, and gives what they came to.
pub(crate) fn at_once<'s, S: Store, T: Send, F: Future<Output = T>>(
    stores: &'s [S],
    racers: usize,
    race: impl Fn(&'s S, usize) -> F + Sync,
) -> Vec<T> {
    let start = Barrier::new(racers);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..racers)
            .map(|racer| {
                let (store, start, race) = (&stores[racer % stores.len()], &start, &race);
                scope.spawn(move || {
                    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                    start.wait();
                    runtime.block_on(race(store, racer))
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Far enough away that nothing expires during a test.
pub(crate) const LATER: u64 = 32_503_680_000_000;

fn definitions(fingerprint: &str) -> StoredDefinitions {
    StoredDefinitions {
        fingerprint: fingerprint.to_owned(),
        tools: vec![
            json!({"name": "z", "inputSchema": {"b": 1, "a": [0.1, 18_446_744_073_709_551_615_u64]}, "é": "\u{0}"}),
        ],
        instructions: Some("Read me.\n".to_owned()),
        fetched_at_ms: 1_764_000_000_123,
    }
}

pub(crate) async fn definitions_come_back_as_they_were(store: impl Store) {
    let kept = definitions("one");
    assert_eq!(store.load("mcp:a", "one").await.unwrap(), None);
    store.save("mcp:a", kept.clone()).await.unwrap();
    let loaded = store.load("mcp:a", "one").await.unwrap().unwrap();
    assert_eq!(loaded, kept);
    assert_eq!(loaded.tools[0].to_string(), kept.tools[0].to_string(), "key order");
    assert_eq!(store.load("mcp:b", "one").await.unwrap(), None);
}

pub(crate) async fn definitions_are_replaced_and_forgotten(store: impl Store) {
    store.save("mcp:a", definitions("one")).await.unwrap();
    store.save("mcp:a", definitions("two")).await.unwrap();
    store.save("mcp:b", definitions("one")).await.unwrap();
    let mut newer = definitions("one");
    newer.instructions = None;
    store.save("mcp:a", newer.clone()).await.unwrap();
    assert_eq!(store.load("mcp:a", "one").await.unwrap(), Some(newer));
    store.forget("mcp:a").await.unwrap();
    store.forget("mcp:a").await.unwrap();
    assert_eq!(store.load("mcp:a", "one").await.unwrap(), None);
    assert_eq!(store.load("mcp:a", "two").await.unwrap(), None, "under every configuration");
    assert!(store.load("mcp:b", "one").await.unwrap().is_some());
}

// Two projects may both have a server of this name.
pub(crate) async fn definitions_of_two_configurations_stand_side_by_side(store: impl Store) {
    for fingerprint in ["one", "two"] {
        store.save("mcp:a", definitions(fingerprint)).await.unwrap();
    }
    for fingerprint in ["one", "two"] {
        assert_eq!(store.load("mcp:a", fingerprint).await.unwrap(), Some(definitions(fingerprint)));
    }
    assert_eq!(store.load("mcp:a", "three").await.unwrap(), None);
}

pub(crate) async fn eight_configurations_of_a_source_are_kept_those_saved_last(store: impl Store) {
    store.save("mcp:b", definitions("0")).await.unwrap();
    for n in 0..8 {
        store.save("mcp:a", definitions(&n.to_string())).await.unwrap();
    }
    store.save("mcp:a", definitions("0")).await.unwrap();
    // Also one that was obtained before all others counts as the newest when it is saved last.
    let late = StoredDefinitions { fetched_at_ms: 1, ..definitions("late") };
    store.save("mcp:a", late).await.unwrap();
    for (fingerprint, kept) in [("0", true), ("1", false), ("2", true), ("7", true), ("late", true)] {
        assert_eq!(store.load("mcp:a", fingerprint).await.unwrap().is_some(), kept, "{fingerprint}");
    }
    assert!(store.load("mcp:b", "0").await.unwrap().is_some(), "each source has its own");
}

pub(crate) async fn values_are_kept_per_namespace(store: impl Store) {
    store.set("n", "k", "1", 10).await.unwrap();
    store.set("m", "k", "2", 10).await.unwrap();
    store.set("n", "k", "3\u{0} ü", 10).await.unwrap();
    assert_eq!(KeyValueStore::get(&store, "n", "k").await.unwrap().as_deref(), Some("3\u{0} ü"));
    assert_eq!(KeyValueStore::get(&store, "m", "k").await.unwrap().as_deref(), Some("2"));
    assert!(store.delete("n", "k").await.unwrap());
    assert!(!store.delete("n", "k").await.unwrap());
    assert_eq!(KeyValueStore::get(&store, "n", "k").await.unwrap(), None);
    assert_eq!(KeyValueStore::get(&store, "m", "k").await.unwrap().as_deref(), Some("2"));
}

pub(crate) async fn a_namespace_has_a_quota_of_keys(store: impl Store) {
    store.set("n", "a", "", 2).await.unwrap();
    store.set("n", "b", "", 2).await.unwrap();
    let refused = store.set("n", "c", "", 2).await.unwrap_err();
    assert!(matches!(&refused, StoreError::Quota(text) if text.contains("2 keys")), "{refused}");
    store.set("n", "b", "replacing is always possible", 2).await.unwrap();
    store.set("m", "c", "another namespace has its own", 2).await.unwrap();
    store.delete("n", "a").await.unwrap();
    store.set("n", "c", "", 2).await.unwrap();
}

pub(crate) async fn keys_are_listed_in_order_by_prefix_and_page(store: impl Store) {
    for key in ["b", "a/1", "a/2", "a/10", "a", "c", "a%", "A", "ä", "a_x"] {
        store.set("n", key, "", 100).await.unwrap();
    }
    let cases: &[(&str, Option<&str>, usize, &[&str])] = &[
        ("", None, 100, &["A", "a", "a%", "a/1", "a/10", "a/2", "a_x", "b", "c", "ä"]),
        ("a/", None, 100, &["a/1", "a/10", "a/2"]),
        ("a/", Some("a/1"), 1, &["a/10"]),
        ("a/", Some("a/2"), 100, &[]),
        ("b", Some("a"), 100, &["b"]),
        ("%", None, 100, &[]),
        ("a_", None, 100, &["a_x"]),
        ("", Some("c"), 100, &["ä"]),
        ("", None, 0, &[]),
        ("a/", Some("z"), 100, &[]),
    ];
    for (prefix, after, limit, expected) in cases {
        let keys = store.list("n", prefix, *after, *limit).await.unwrap();
        assert_eq!(keys, *expected, "prefix {prefix:?} after {after:?} limit {limit}");
    }
    assert!(store.list("other", "", None, 10).await.unwrap().is_empty());
}

pub(crate) async fn a_result_is_read_by_its_scope_only(store: impl Store) {
    let handle = store.put("scope", "text ✓".to_owned(), LATER).await.unwrap();
    assert_eq!(ResultStore::get(&store, "scope", &handle).await.unwrap().as_deref(), Some("text ✓"));
    for (scope, handle) in [("other", handle.as_str()), ("scope", "wrong"), ("", &handle), ("scope", "")] {
        assert_eq!(ResultStore::get(&store, scope, handle).await.unwrap(), None, "{scope} {handle}");
    }
}

pub(crate) async fn handles_are_long_plain_and_never_the_same(store: impl Store) {
    let mut handles = std::collections::BTreeSet::new();
    for _ in 0..50 {
        let handle = store.put("scope", "same".to_owned(), LATER).await.unwrap();
        assert_eq!(handle.len(), 26);
        assert!(handle.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()), "{handle}");
        handles.insert(handle);
    }
    assert_eq!(handles.len(), 50);
}

pub(crate) async fn an_expired_result_is_gone(store: impl Store) {
    let gone = store.put("scope", "x".to_owned(), 1).await.unwrap();
    assert_eq!(ResultStore::get(&store, "scope", &gone).await.unwrap(), None);
}

/// `store` keeps 100 bytes of results.
pub(crate) async fn the_oldest_results_make_room(store: impl Store) {
    let mut handles = Vec::new();
    for _ in 0..4 {
        handles.push(store.put("scope", "x".repeat(30), LATER).await.unwrap());
    }
    let mut kept = Vec::new();
    for handle in &handles {
        kept.push(ResultStore::get(&store, "scope", handle).await.unwrap().is_some());
    }
    assert_eq!(kept, [false, true, true, true]);
    let whole = store.put("scope", "y".repeat(100), LATER).await.unwrap();
    assert!(ResultStore::get(&store, "scope", &whole).await.unwrap().is_some());
    assert!(ResultStore::get(&store, "scope", &handles[3]).await.unwrap().is_none());
    let refused = store.put("scope", "z".repeat(101), LATER).await.unwrap_err();
    assert!(matches!(&refused, StoreError::Quota(text) if text.contains("101 bytes")), "{refused}");
    assert!(ResultStore::get(&store, "scope", &whole).await.unwrap().is_some(), "a refused one evicts nothing");
}

/// `store` keeps 100 bytes of results.
pub(crate) async fn expired_results_go_before_living_ones(store: impl Store) {
    let living = store.put("scope", "x".repeat(40), LATER).await.unwrap();
    store.put("scope", "x".repeat(40), 1).await.unwrap();
    store.put("scope", "x".repeat(60), LATER).await.unwrap();
    assert!(ResultStore::get(&store, "scope", &living).await.unwrap().is_some());
}

pub(crate) async fn many_tasks_at_once_lose_nothing(store: impl Store) {
    let store = std::sync::Arc::new(store);
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..16 {
        let store = store.clone();
        tasks.spawn(async move {
            for n in 0..25 {
                let key = format!("{task:02}/{n:02}");
                store.set("n", &key, &key, 1_000).await.unwrap();
                assert_eq!(KeyValueStore::get(&*store, "n", &key).await.unwrap().as_deref(), Some(key.as_str()));
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    assert_eq!(store.list("n", "", None, 1_000).await.unwrap().len(), 400);
}
