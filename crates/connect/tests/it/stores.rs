//! The stores that come along, through the five tools.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use toolcrib_connect::stores::{self, STORES, StoreSettings};
use toolcrib_core::Scope;
use toolcrib_engine::{
    CallContext, KeyValueStore,
    store_tools::{EntryStore, Quota, Router},
};
use toolcrib_store::{MemoryStore, SqliteStore};

/// A router over all stores, kept in memory or in SQLite.
struct Desk {
    router: Router,
    scope: Scope,
}

fn desk<S: EntryStore + KeyValueStore>(store: S, settings: StoreSettings) -> Desk {
    let store = Arc::new(store);
    let (entries, values): (Arc<dyn EntryStore>, Arc<dyn KeyValueStore>) = (store.clone(), store);
    let router = Router::default();
    for id in STORES {
        router.add(stores::store(id, &entries, &values, settings).unwrap()).unwrap();
    }
    assert!(stores::store("nowhere", &entries, &values, settings).is_none());
    Desk { router, scope: Scope::default() }
}

fn desks() -> [Desk; 2] {
    let settings = StoreSettings::default();
    [desk(MemoryStore::new(), settings), desk(SqliteStore::open_in_memory().unwrap(), settings)]
}

impl Desk {
    async fn run(&self, tool: &str, arguments: Value) -> Result<Value, String> {
        let mut context = CallContext::new(1, Duration::from_secs(5));
        context.scope = self.scope.clone();
        let result = self.router.run(tool, &arguments.to_string(), &context).await;
        let value = result.to_value();
        if result.is_error() {
            return Err(value["content"][0]["text"].as_str().unwrap_or_default().to_owned());
        }
        Ok(value["structuredContent"].clone())
    }

    async fn set(&self, store: &str, key: &str, fields: Value) -> Result<Value, String> {
        self.run("store_set", json!({"store": store, "key": key, "data": fields})).await
    }

    async fn get(&self, store: &str, key: &str) -> Value {
        self.run("store_get", json!({"store": store, "key": key})).await.unwrap()["entry"].clone()
    }

    async fn act(&self, store: &str, action: &str, params: Value) -> Result<Value, String> {
        self.run("store_action", json!({"store": store, "action": action, "params": params, "confirm": true})).await
    }

    async fn keys(&self, store: &str, filter: Value) -> Vec<String> {
        let page = self.run("store_list", json!({"store": store, "filter": filter})).await.unwrap();
        named(&page["entries"])
    }
}

fn named(entries: &Value) -> Vec<String> {
    entries.as_array().unwrap().iter().map(|entry| entry["key"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn notes_are_kept_and_found_by_their_words() {
    for desk in desks() {
        desk.set("notes", "trip", json!({"text": "Flights to Lisbon in May", "title": "Travelling"})).await.unwrap();
        desk.set("notes", "food", json!({"text": "Ann likes olives", "tags": ["people"]})).await.unwrap();
        desk.set("notes", "木", json!({"text": "東京の天気"})).await.unwrap();
        assert_eq!(desk.get("notes", "food").await, json!({"text": "Ann likes olives", "tags": ["people"]}));
        for (query, hits) in [
            ("flight travel", &["trip"] as &[_]),
            ("LIKES liking", &["food"]),
            ("天気", &["木"]),
            ("people", &["food"]),
            ("trip", &["trip"]),
            ("nothing of it", &[]),
            ("\"'*()-:^", &[]),
        ] {
            let found = desk.act("notes", "search", json!({"query": query})).await.unwrap();
            assert_eq!(named(&found["found"]), hits, "{query}");
        }
        assert_eq!(desk.keys("notes", json!({"tag": "people"})).await, ["food"]);
        assert_eq!(desk.keys("notes", json!({"prefix": "t"})).await, ["trip"]);
        desk.act("notes", "append", json!({"key": "food", "text": "and figs"})).await.unwrap();
        assert_eq!(desk.get("notes", "food").await["text"], "Ann likes olives\nand figs");
        desk.act("notes", "append", json!({"key": "new", "text": "begun"})).await.unwrap();
        // Who holds a word more often comes first, also a word whose stem has a stem of its own.
        desk.set("notes", "often", json!({"text": "database, database"})).await.unwrap();
        desk.set("notes", "once", json!({"text": "database"})).await.unwrap();
        let found = desk.act("notes", "search", json!({"query": "databases"})).await.unwrap();
        assert_eq!(named(&found["found"]), ["often", "once"]);
        assert_eq!(desk.act("notes", "clear", json!({})).await.unwrap(), json!({"deleted": 6}));
        assert!(desk.keys("notes", json!({})).await.is_empty());
    }
}

#[tokio::test]
async fn fields_that_a_store_does_not_know_are_refused() {
    let [desk, _] = desks();
    for (store, key, fields, needle) in [
        ("notes", "k", json!({"body": "x"}), "text, title?"),
        ("notes", "k", json!({"text": " "}), "needs a text"),
        ("notes", "k", json!({"text": "x", "tags": (0..33).map(|n| n.to_string()).collect::<Vec<_>>()}), "32 tags"),
        ("tasks", "k", json!({"title": "x", "status": "finished"}), "finished"),
        ("tasks", "k", json!({"title": ""}), "title"),
        ("tasks", "k", json!({"title": "x", "due": "soon"}), "2027-01-31"),
        ("tasks", "k", json!({"title": "x", "after": ["nowhere"]}), "nowhere"),
        ("files", "../etc/passwd", json!({"content": "x"}), "not a path"),
        ("files", "/a", json!({"content": "x"}), "not a path"),
        ("files", "a//b", json!({"content": "x"}), "not a path"),
        ("files", "a\\b", json!({"content": "x"}), "not a path"),
        ("files", "a", json!({"content": "?", "encoding": "base64"}), "not base64"),
        ("values", "k", json!({"value": 1}), "value (text)"),
    ] {
        let told = desk.set(store, key, fields.clone()).await.unwrap_err();
        assert!(told.contains(needle), "{store} {fields}: {told}");
    }
    for (store, filter) in [("notes", json!({"colour": 1})), ("tasks", json!({"due_before": "x"})), ("files", json!(1))]
    {
        let listed = desk.run("store_list", json!({"store": store, "filter": filter})).await;
        assert!(listed.is_err(), "{store} {filter}");
    }
}

#[tokio::test]
async fn tasks_come_in_their_order() {
    for desk in desks() {
        desk.set("tasks", "plan", json!({"title": "Plan", "due": "2027-03-01"})).await.unwrap();
        desk.set("tasks", "build", json!({"title": "Build", "after": ["plan"]})).await.unwrap();
        desk.set("tasks", "tidy", json!({"title": "Tidy", "priority": "low"})).await.unwrap();
        desk.set("tasks", "call", json!({"title": "Call Ann", "due": "2027-02-01T09:00:00Z"})).await.unwrap();
        let next = async |limit: u64| named(&desk.act("tasks", "next", json!({"limit": limit})).await.unwrap()["next"]);
        assert_eq!(next(9).await, ["call", "plan", "tidy"], "what waits is left out, dates come first");
        desk.act("tasks", "update", json!({"key": "tidy", "status": "doing"})).await.unwrap();
        assert_eq!(next(1).await, ["tidy"], "what is under way comes first");
        let done = desk.act("tasks", "complete", json!({"key": "plan"})).await.unwrap();
        assert_eq!(done["completed"], "plan");
        assert_eq!(next(9).await, ["tidy", "call", "build"]);
        assert_eq!(desk.get("tasks", "tidy").await["title"], "Tidy", "other fields stay");
        let ring = desk.act("tasks", "update", json!({"key": "plan", "after": ["build"]})).await.unwrap_err();
        assert!(ring.contains("wait for itself"), "{ring}");
        let two = json!([
            {"key": "i1", "fields": {"title": "x", "after": ["i2"]}},
            {"key": "i2", "fields": {"title": "x", "after": ["i1"]}},
        ]);
        let ring = desk.act("tasks", "import", json!({"entries": two})).await.unwrap_err();
        assert!(ring.contains("wait for itself"), "{ring}");
        assert_eq!(desk.get("tasks", "i1").await, Value::Null, "nothing was done");
        assert_eq!(desk.keys("tasks", json!({"status": "done"})).await, ["plan"]);
        assert_eq!(desk.keys("tasks", json!({"due_before": "2027-02-15"})).await, ["call"]);
        assert_eq!(desk.act("tasks", "clear_done", json!({})).await.unwrap(), json!({"deleted": 1}));
        assert_eq!(next(9).await, ["tidy", "call", "build"], "waiting for one that is gone is over");
        let missing = desk.act("tasks", "complete", json!({"key": "plan"})).await.unwrap_err();
        assert!(missing.contains("no entry 'plan'"), "{missing}");
    }
}

#[tokio::test]
async fn files_are_read_and_changed_in_parts() {
    for desk in desks() {
        desk.set("files", "a/poem.txt", json!({"content": "one\ntwo\nthree\n"})).await.unwrap();
        desk.set("files", "a/dot.png", json!({"content": "AAEC", "encoding": "base64", "media_type": "image/png"}))
            .await
            .unwrap();
        let part = desk.act("files", "read", json!({"key": "a/poem.txt", "offset": 2, "limit": 1})).await.unwrap();
        assert_eq!(part, json!({"key": "a/poem.txt", "lines": 3, "offset": 2, "content": "two", "next_offset": 3}));
        desk.act("files", "replace", json!({"key": "a/poem.txt", "old": "two", "new": "2"})).await.unwrap();
        desk.act("files", "append", json!({"key": "a/poem.txt", "content": "four"})).await.unwrap();
        assert_eq!(desk.get("files", "a/poem.txt").await["content"], "one\n2\nthree\nfour");
        for (old, needle) in [("e", "times"), ("five", "not in the file"), ("", "not in the file")] {
            let told =
                desk.act("files", "replace", json!({"key": "a/poem.txt", "old": old, "new": ""})).await.unwrap_err();
            assert!(told.contains(needle), "{old}: {told}");
        }
        let bytes = desk.act("files", "append", json!({"key": "a/dot.png", "content": "x"})).await.unwrap_err();
        assert!(bytes.contains("not a text"), "{bytes}");
        desk.act("files", "rename", json!({"from": "a/poem.txt", "to": "b/poem.txt"})).await.unwrap();
        assert_eq!(desk.keys("files", json!({})).await, ["a/dot.png", "b/poem.txt"]);
        assert_eq!(desk.keys("files", json!({"prefix": "b/"})).await, ["b/poem.txt"]);
        let taken = desk.act("files", "rename", json!({"from": "b/poem.txt", "to": "a/dot.png"})).await.unwrap_err();
        assert!(taken.contains("already"), "{taken}");
        let listed = desk.run("store_list", json!({"store": "files", "prefix": "a/"})).await.unwrap();
        assert_eq!((&listed["entries"][0]["bytes"], &listed["entries"][0]["encoding"]), (&json!(3), &json!("base64")));
    }
}

#[tokio::test]
async fn values_are_those_of_the_key_value_tools() {
    let store = Arc::new(MemoryStore::new());
    KeyValueStore::set(&*store, "default", "k", "from kv_set", 10).await.unwrap();
    let (entries, values): (Arc<dyn EntryStore>, Arc<dyn KeyValueStore>) = (store.clone(), store.clone());
    let router = Router::default();
    router.add(stores::store("values", &entries, &values, StoreSettings::default()).unwrap()).unwrap();
    let desk = Desk { router, scope: Scope::default() };
    assert_eq!(desk.get("values", "k").await, json!({"value": "from kv_set"}));
    desk.set("values", "l", json!({"value": "2"})).await.unwrap();
    assert_eq!(KeyValueStore::get(&*store, "default", "l").await.unwrap().as_deref(), Some("2"));
    assert_eq!(desk.keys("values", json!({})).await, ["k", "l"]);
    assert_eq!(desk.run("store_delete", json!({"store": "values", "key": "k"})).await.unwrap()["deleted"], true);
}

#[tokio::test]
async fn every_tenant_and_user_has_things_of_their_own() {
    for mut desk in desks() {
        let scope = |tenant: &str, user: Option<&str>| Scope {
            tenant: tenant.to_owned(),
            user: user.map(str::to_owned),
            ..Scope::default()
        };
        let callers = [scope("", None), scope("", Some("ann")), scope("acme", None), scope("acme", Some("ann"))];
        for (nth, caller) in callers.iter().enumerate() {
            desk.scope = caller.clone();
            for (store, fields) in [
                ("notes", json!({"text": format!("word {nth}")})),
                ("tasks", json!({"title": nth.to_string()})),
                ("files", json!({"content": nth.to_string()})),
                ("values", json!({"value": nth.to_string()})),
            ] {
                assert_eq!(desk.keys(store, json!({})).await, [""; 0], "{store} {caller:?}");
                desk.set(store, "k", fields).await.unwrap();
            }
        }
        for (nth, caller) in callers.iter().enumerate() {
            desk.scope = caller.clone();
            let found = desk.act("notes", "search", json!({"query": "word"})).await.unwrap();
            assert_eq!(found["found"][0]["preview"], format!("word {nth}"));
            assert_eq!(found["found"].as_array().unwrap().len(), 1);
        }
    }
}

#[tokio::test]
async fn what_was_taken_out_can_be_taken_in() {
    for desk in desks() {
        for n in 0..150 {
            desk.set("notes", &format!("{n:03}"), json!({"text": format!("note {n}")})).await.unwrap();
        }
        let first = desk.act("notes", "export", json!({})).await.unwrap();
        let second = desk.act("notes", "export", json!({"after": first["next"]})).await.unwrap();
        assert_eq!((named(&first["entries"]).len(), named(&second["entries"]).len()), (100, 50));
        assert_eq!(second["next"], Value::Null);
        desk.act("notes", "clear", json!({})).await.unwrap();
        desk.set("notes", "000", json!({"text": "kept"})).await.unwrap();
        let taken = desk.act("notes", "import", json!({"entries": first["entries"]})).await.unwrap();
        assert_eq!(taken, json!({"added": 99, "already_there": ["000"]}));
        assert_eq!(desk.get("notes", "000").await["text"], "kept");
        let long = "t".repeat(2 * 1024 * 1024);
        for (key, text) in [("y", ""), ("y", &*long), ("", "no key")] {
            let bad = json!([{"key": "x", "fields": {"text": "fine"}}, {"key": key, "fields": {"text": text}}]);
            let told = desk.act("notes", "import", json!({"entries": bad})).await.unwrap_err();
            assert!(told.contains(&format!("entry '{key}'")), "{told}");
            assert_eq!(desk.get("notes", "x").await, Value::Null, "nothing was done");
        }
        let page = desk.run("store_list", json!({"store": "notes", "limit": 2})).await.unwrap();
        assert_eq!(
            (named(&page["entries"]), &page["total"], &page["next"]),
            (vec!["000".to_owned(), "001".to_owned()], &json!(100), &json!("001"))
        );
    }
}

#[tokio::test]
async fn quotas_hold_for_each_user() {
    let settings = StoreSettings { quota: Quota { entries: 2, bytes: 100_000 }, max_entry_bytes: 200 };
    for desk in [desk(MemoryStore::new(), settings), desk(SqliteStore::open_in_memory().unwrap(), settings)] {
        let told = desk.set("notes", "k", json!({"text": "x".repeat(300)})).await.unwrap_err();
        assert!(told.contains("at most 200"), "{told}");
        for key in ["a", "b"] {
            desk.set("notes", key, json!({"text": "x"})).await.unwrap();
            desk.set("values", key, json!({"value": "x"})).await.unwrap();
        }
        assert!(desk.set("notes", "c", json!({"text": "x"})).await.unwrap_err().contains("2 entries"));
        assert!(desk.set("values", "c", json!({"value": "x"})).await.unwrap_err().contains("2 keys"));
        desk.set("tasks", "a", json!({"title": "other stores have quotas of their own"})).await.unwrap();
        let long = "k".repeat(513);
        assert!(desk.act("notes", "append", json!({"key": long, "text": "x"})).await.unwrap_err().contains("512"));
    }
}
