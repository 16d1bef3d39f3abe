use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::{
    ActionSpec, BadSpec, Duplicate, ListQuery, Listing, Owner, Router, STORE_TOOLS, Store, StoreFault, StoreSpec,
};
use crate::{
    CallContext,
    backend::BoxFuture,
    hub::{Hub, HubLimits},
};

/// Remembers what it was asked for.
#[derive(Default)]
struct Fake {
    id: &'static str,
    asked: Mutex<Vec<Value>>,
}

impl Store for Fake {
    fn spec(&self) -> StoreSpec {
        StoreSpec {
            id: self.id.to_owned(),
            description: "Keeps things.".to_owned(),
            usage_hint: "Use it often.".to_owned(),
            fields: "text".to_owned(),
            actions: vec![
                ActionSpec { name: "count".to_owned(), description: "Counts.".to_owned(), ..ActionSpec::default() },
                ActionSpec {
                    name: "wipe".to_owned(),
                    description: "Removes all.".to_owned(),
                    destructive: true,
                    ..ActionSpec::default()
                },
            ],
            ..StoreSpec::default()
        }
    }

    fn get<'a>(&'a self, owner: &'a Owner, key: &'a str) -> BoxFuture<'a, Result<Option<Value>, StoreFault>> {
        self.asked.lock().push(json!(["get", owner.tenant, owner.user, key]));
        Box::pin(async move { Ok((key != "none").then(|| json!({"text": key}))) })
    }

    fn set<'a>(
        &'a self,
        _: &'a Owner,
        key: &'a str,
        fields: Map<String, Value>,
    ) -> BoxFuture<'a, Result<Value, StoreFault>> {
        self.asked.lock().push(json!(["set", key, fields]));
        Box::pin(async { Ok(json!({"bytes": 1})) })
    }

    fn delete<'a>(&'a self, _: &'a Owner, key: &'a str) -> BoxFuture<'a, Result<bool, StoreFault>> {
        Box::pin(async move { Ok(key != "none") })
    }

    fn list<'a>(&'a self, _: &'a Owner, query: ListQuery) -> BoxFuture<'a, Result<Listing, StoreFault>> {
        self.asked.lock().push(json!(["list", query.filter, query.after, query.limit]));
        let entries = vec![json!({"key": "a"}), json!({"key": "none"})];
        Box::pin(async move { Ok(Listing { entries, total: Some(3), next: Some("none".to_owned()) }) })
    }

    fn act<'a>(
        &'a self,
        _: &'a Owner,
        action: &'a str,
        params: Map<String, Value>,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<Value, StoreFault>> {
        self.asked.lock().push(json!(["act", action, params]));
        Box::pin(async { Ok(json!({"done": true})) })
    }
}

fn router(ids: &[&'static str]) -> (Router, Vec<Arc<Fake>>) {
    let router = Router::default();
    let stores: Vec<_> = ids.iter().map(|&id| Arc::new(Fake { id, asked: Mutex::default() })).collect();
    for store in &stores {
        router.add(store.clone()).unwrap();
    }
    (router, stores)
}

async fn run(router: &Router, tool: &str, arguments: &Value) -> Result<Value, String> {
    let context = CallContext::new(1, Duration::from_secs(1));
    let result = router.run(tool, &arguments.to_string(), &context).await;
    let value = result.to_value();
    if result.is_error() {
        return Err(value["content"][0]["text"].as_str().unwrap_or_default().to_owned());
    }
    Ok(value["structuredContent"].clone())
}

#[tokio::test]
async fn what_a_call_asks_for_reaches_its_store() {
    #[track_caller]
    fn same(case: &str, left: &Value, right: &Value) {
        assert_eq!(left, right, "{case}");
    }
    for (case, tool, arguments, asked, answer) in [
        (
            "one entry",
            "store_get",
            json!({"store": "notes", "key": "k"}),
            json!([["get", "", "", "k"]]),
            json!({"found": true, "key": "k", "entry": {"text": "k"}}),
        ),
        (
            "an entry that is not there",
            "store_get",
            json!({"store": "notes", "key": "none"}),
            json!([["get", "", "", "none"]]),
            json!({"found": false, "key": "none", "entry": null}),
        ),
        (
            "without a key, whole entries; one that went is left out",
            "store_get",
            json!({"store": "notes"}),
            json!([["list", {}, null, 50], ["get", "", "", "a"], ["get", "", "", "none"]]),
            json!({"entries": [{"key": "a", "entry": {"text": "a"}}], "total": 3, "next": "none"}),
        ),
        (
            "case 113: flat fields",
            "store_set",
            json!({"store": "notes", "key": "k", "text": "x", "tags": [1]}),
            json!([["set", "k", {"text": "x", "tags": [1]}]]),
            json!({"stored": true, "key": "k", "entry": {"bytes": 1}}),
        ),
        (
            "case 113: an object of fields stands alone",
            "store_set",
            json!({"store": "notes", "key": "k", "data": {"text": "x"}, "stray": 1}),
            json!([["set", "k", {"text": "x"}]]),
            json!({"stored": true, "key": "k", "entry": {"bytes": 1}}),
        ),
        (
            "case 113: data that is a list is a field",
            "store_set",
            json!({"store": "notes", "key": "k", "data": [1]}),
            json!([["set", "k", {"data": [1]}]]),
            json!({"stored": true, "key": "k", "entry": {"bytes": 1}}),
        ),
        (
            "a filter, flat or not",
            "store_list",
            json!({"store": "notes", "status": "open", "limit": 7, "after": "a"}),
            json!([["list", {"status": "open"}, "a", 7]]),
            json!({"entries": [{"key": "a"}, {"key": "none"}], "total": 3, "next": "none"}),
        ),
        (
            "an action's parameters",
            "store_action",
            json!({"store": "notes", "action": "count", "params": {"of": "all"}}),
            json!([["act", "count", {"of": "all"}]]),
            json!({"done": true}),
        ),
        (
            "case 116: what is confirmed runs",
            "store_action",
            json!({"store": "notes", "action": "wipe", "confirm": true, "older": 3}),
            json!([["act", "wipe", {"older": 3}]]),
            json!({"done": true}),
        ),
    ] {
        let (router, stores) = router(&["notes"]);
        same(case, &run(&router, tool, &arguments).await.unwrap(), &answer);
        same(case, &Value::Array(stores[0].asked.lock().clone()), &asked);
    }
}

#[tokio::test]
async fn what_cannot_be_done_says_what_to_do() {
    let (router, stores) = router(&["notes", "tasks"]);
    for (case, tool, arguments, needle) in [
        ("case 114", "store_get", json!({"store": "nowhere"}), "stores: notes, tasks"),
        ("no store", "store_get", json!({"key": "k"}), "'store' is missing"),
        ("a store that is no text", "store_get", json!({"store": 1}), "in quotes"),
        ("no key", "store_set", json!({"store": "notes", "text": "x"}), "'key' is missing"),
        ("an empty key", "store_set", json!({"store": "notes", "key": ""}), "1 to 512 bytes"),
        ("a long key", "store_set", json!({"store": "notes", "key": "k".repeat(513)}), "513"),
        ("a line break in a key", "store_delete", json!({"store": "notes", "key": "a\nb"}), "control"),
        ("a page of nothing", "store_list", json!({"store": "notes", "limit": 0}), "from 1 to 200"),
        ("too large a page", "store_list", json!({"store": "notes", "limit": 201}), "from 1 to 200"),
        ("an action that is not declared", "store_action", json!({"store": "notes", "action": "drop"}), "count, wipe"),
        ("nothing confirmed", "store_action", json!({"store": "notes", "action": "wipe"}), "confirm: true"),
        ("case 116", "store_action", json!({"store": "notes", "action": "wipe", "confirm": "true"}), "confirm: true"),
        ("case 116", "store_action", json!({"store": "notes", "action": "wipe", "confirm": "false"}), "confirm: true"),
        ("case 116", "store_action", json!({"store": "notes", "action": "wipe", "confirm": 1}), "confirm: true"),
    ] {
        let told = run(&router, tool, &arguments).await.unwrap_err();
        assert!(told.contains(needle), "{case}: {told}");
    }
    assert!(stores.iter().all(|store| store.asked.lock().is_empty()), "none of it reached a store");
}

#[test]
fn stores_come_and_go_and_the_tools_say_so() {
    let (router, _) = router(&["notes"]);
    let hub = Hub::new(HubLimits::default());
    router.publish(&hub, toolcrib_core::Source::Builtin);
    let shown = || {
        let catalog = hub.catalog();
        let tools: Vec<_> =
            catalog.sources().get(&toolcrib_core::Source::Builtin).unwrap().tools.iter().cloned().collect();
        assert_eq!(tools.iter().map(|tool| tool.name()).collect::<Vec<_>>(), STORE_TOOLS);
        tools.iter().map(|tool| tool.description().to_owned()).collect::<Vec<_>>().join("\n")
    };
    assert!(shown().contains("- notes: Keeps things."));
    assert!(!shown().contains("- tasks"));
    // Case 117.
    router.add(Arc::new(Fake { id: "tasks", asked: Mutex::default() })).unwrap();
    assert!(shown().contains("- tasks: "));
    let twice = router.add(Arc::new(Fake { id: "tasks", asked: Mutex::default() })).unwrap_err();
    assert_eq!(twice, Duplicate::Id("tasks".to_owned()));
    assert!(router.remove("tasks").is_some() && router.remove("tasks").is_none());
    assert!(router.remove("notes").is_some());
    assert!(shown().contains("There are no stores."));
}

#[test]
fn an_overview_counts_the_stores() {
    assert_eq!(router(&[]).0.overview(), None);
    let one = router(&["notes"]).0.overview().unwrap();
    assert!(one.starts_with("One store can") && one.contains("Actions: count, wipe."), "{one}");
    assert!(router(&["notes", "tasks"]).0.overview().unwrap().starts_with("2 stores can"));
}

#[test]
fn an_application_may_say_what_a_store_is() {
    let view = |spec: &StoreSpec| StoreSpec {
        id: "other".to_owned(),
        description: format!("{} For us.", spec.description),
        actions: Vec::new(),
        ..StoreSpec::default()
    };
    let router = Router::builder().prompt_view(view).build();
    router.add(Arc::new(Fake { id: "notes", asked: Mutex::default() })).unwrap();
    let shown = router.overview().unwrap();
    assert!(shown.contains("- notes: Keeps things. For us. Actions: count, wipe."), "{shown}");
    // What cannot be shown is not.
    let router = Router::builder().prompt_view(|_| StoreSpec::default()).build();
    router.add(Arc::new(Fake { id: "notes", asked: Mutex::default() })).unwrap();
    assert!(router.overview().unwrap().contains("Keeps things."));
}

#[test]
fn a_store_that_describes_itself_badly_is_refused() {
    #[track_caller]
    fn check(spec: &StoreSpec, needle: &str) {
        let refused: BadSpec = spec.check().unwrap_err();
        assert!(refused.to_string().contains(needle), "{refused}");
    }
    let good = || StoreSpec { id: "s".to_owned(), description: "Keeps.".to_owned(), ..StoreSpec::default() };
    let action = |name: &str| ActionSpec { name: name.to_owned(), ..ActionSpec::default() };
    assert_eq!(good().check(), Ok(()));
    for id in ["", "S", "1s", "a-b", "a b", "ä", &"a".repeat(33)] {
        check(&StoreSpec { id: id.to_owned(), ..good() }, "cannot name");
    }
    check(&StoreSpec { description: " ".to_owned(), ..good() }, "no description");
    check(&StoreSpec { fields: "x".repeat(601), ..good() }, "601 characters");
    check(&StoreSpec { actions: vec![action("a"), action("a")], ..good() }, "'a' twice");
    check(&StoreSpec { actions: vec![action("A")], ..good() }, "cannot name");
    check(&StoreSpec { actions: (0..25).map(|n| action(&format!("a{n}"))).collect(), ..good() }, "25 actions");
}
