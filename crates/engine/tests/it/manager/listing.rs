//! Queries, compact rows, statistics and the view for user interfaces.

use serde_json::to_value;
use toolcrib_core::{Scope, categories::Book, permission::Action, selector::Selector};
use toolcrib_engine::{
    CallEvent, Door, Engine, EngineSettings, EventSink, Identity, Outcome,
    manager::{Count, Filter, Shown, ViewFilter},
    stats::Statistics,
};

use super::*;

/// Tools of every kind.
fn everything() -> Manager {
    let manager = with([
        plain("order").namespace("shop").category("sales").tags(["money"]),
        plain("refund").namespace("shop").category("sales").priority(2).disabled(),
        Registration { source: "connector:github:work".parse().unwrap(), ..plain("get_pr") }.category("code"),
        Registration { source: "connector:github".parse().unwrap(), ..plain("github_api") },
        Registration { source: "plugin:notes".parse().unwrap(), ..plain("note") },
    ]);
    server(&manager, &["list", "broken"]);
    let hub = manager.hub();
    let tools = vec![json!({"name": "read_file", "description": "Reads.", "title": "Read a file"})];
    hub.replace(Source::Builtin, SourceOptions::default(), Arc::new(Script::default()), SourceState::Ready, tools);
    manager
}

#[test]
fn a_filter_names_what_is_wanted() {
    let manager = everything();
    let f = Filter::default;
    let text = |text: &str| Some(text.to_owned());
    let rows: [(Filter, &[&str]); 20] = [
        (f(), &["refund", "order", "get_pr", "github_api", "note", "read_file", "list", "broken"]),
        (Filter::enabled(), &["order", "get_pr", "github_api", "note", "read_file", "list", "broken"]),
        (Filter { enabled: Some(false), ..f() }, &["refund"]),
        (Filter { kind: text("connector"), ..f() }, &["get_pr", "github_api"]),
        (Filter { kind: text("builtin"), ..f() }, &["read_file"]),
        (Filter { kind: text("plugin"), ..f() }, &["note"]),
        (Filter { kind: text("mcp"), ..f() }, &["broken", "list"]),
        (Filter { service: text("github"), ..f() }, &["get_pr", "github_api"]),
        (Filter { source: Some("connector:github".parse().unwrap()), ..f() }, &["github_api"]),
        (Filter { namespace: text("shop"), ..f() }, &["refund", "order"]),
        (Filter { namespace: text("none"), ..f() }, &[]),
        (Filter { category: text("sales"), enabled: Some(true), ..f() }, &["order"]),
        (Filter { tag: text("money"), ..f() }, &["order"]),
        // The case of letters does not count.
        (Filter { namespace: text("Shop"), ..f() }, &["refund", "order"]),
        (Filter { category: text("SALES"), ..f() }, &["refund", "order"]),
        (Filter { tag: text("Money"), ..f() }, &["order"]),
        // A connector's tools are in its category.
        (Filter { category: text("connector:github:work"), ..f() }, &["get_pr"]),
        (Filter { text: text("READS file"), ..f() }, &["read_file"]),
        (Filter { text: text("money does"), ..f() }, &["order"]),
        (Filter { text: text("  "), kind: text("plugin"), ..f() }, &["note"]),
    ];
    for (filter, want) in rows {
        let mut found: Vec<String> =
            manager.query(&filter).unwrap().iter().map(|entry| entry.tool.name().to_owned()).collect();
        let mut want: Vec<String> = want.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(
            found.first().map(String::as_str).unwrap_or_default(),
            want.first().map(String::as_str).unwrap_or_default(),
            "{filter:?}"
        );
        found.sort();
        want.sort();
        assert_eq!(found, want, "{filter:?}");
    }
}

#[test]
fn a_compact_row_has_category_and_service_only_where_there_are_some() {
    let manager = everything();
    let compact = |id: &str| to_value(manager.get(&id.parse().unwrap()).unwrap().compact()).unwrap();
    assert_eq!(
        compact("connector:github:work/get_pr"),
        json!({"id": "connector:github:work/get_pr", "name": "get_pr", "description": "Does get_pr.", "category": "code", "service": "github"})
    );
    assert_eq!(
        compact("builtin/read_file"),
        json!({"id": "builtin/read_file", "name": "read_file", "description": "Reads."})
    );
}

#[test]
fn listings_are_worked_out_once_for_a_catalog() {
    let manager = everything();
    let first = manager.entries().unwrap();
    assert!(Arc::ptr_eq(&first, &manager.entries().unwrap()));
    manager.set_enabled(&"plugin:notes/note".parse().unwrap(), false).unwrap();
    assert!(!Arc::ptr_eq(&first, &manager.entries().unwrap()));
}

#[test]
fn figures_are_those_of_the_tools_and_of_the_calls() {
    let statistics = Arc::new(Statistics::default());
    let manager = Manager::with_statistics(Hub::new(HubLimits::default()), statistics.clone());
    manager
        .extend(
            [plain("a").namespace("n"), plain("b").namespace("n").disabled(), plain("c").category("k")],
            OnConflict::Error,
        )
        .unwrap();
    server(&manager, &["t"]);
    manager.set_enabled(&id("mcp:s/t"), false).unwrap();
    let call = |name: &str, times: usize| {
        let event = CallEvent {
            call_id: 1,
            door: Door::Library,
            tool: Some(id(name)),
            name: name.into(),
            outcome: Outcome::Ok,
            reason: None,
            repairs: 0,
            result_bytes: 0,
            backend_time: std::time::Duration::from_micros(1),
            total_time: std::time::Duration::from_micros(7),
        };
        for _ in 0..times {
            statistics.record(&event);
            EventSink::record(&manager, &event);
        }
    };
    let mut events = manager.subscribe();
    call("c", 3);
    call("a", 1);
    let executed = told(&mut events);
    assert_eq!(executed[0], Event::Executed { id: id("c"), outcome: Outcome::Ok, took_us: 7 });
    assert_eq!(executed.len(), 4);
    let stats = manager.stats().unwrap();
    let count = |total, enabled| Count { total, enabled };
    assert_eq!((stats.tools, stats.adjusted, stats.calls), (count(4, 2), 1, 4));
    assert_eq!(stats.namespaces.get(&"n".into()), Some(&count(2, 1)));
    assert_eq!(stats.namespaces.get(&"Default".into()), Some(&count(2, 1)));
    assert_eq!(stats.categories.len(), 1);
    assert_eq!((stats.kinds["custom"], stats.kinds["mcp"]), (count(3, 2), count(1, 0)));
    let top: Vec<_> = stats.top.iter().map(|used| (used.id.name.as_str(), used.calls)).collect();
    assert_eq!(top, [("c", 3), ("a", 1)]);
}

#[test]
fn the_view_has_tools_of_every_kind_with_what_a_scope_sees_of_them() {
    let manager = everything();
    let publisher = server(&manager, &[]);
    let tools = vec![json!({"name": "list"}), json!({"name": "broken", "inputSchema": 5})];
    publisher.tools(SourceState::Down { reason: "no answer".into() }, tools, None, true);
    manager.acting_as("ann").update(&id("order"), |said| said.permission = Some(Action::Ask)).unwrap();
    let engine = Engine::new(manager.hub().clone(), EngineSettings::default(), None, vec![]);
    let page = engine.entries(&Scope::default(), &ViewFilter::default()).unwrap();
    assert_eq!((page.total, page.next.is_none()), (8, true));
    let entry = |id: &str| page.entries.iter().find(|entry| entry.id.to_string() == id).unwrap();
    let read = entry("builtin/read_file");
    assert_eq!((read.kind, read.service.as_deref(), read.title.as_deref()), ("builtin", None, Some("Read a file")));
    assert_eq!(
        (read.disclosure, read.state, read.enabled, read.namespace.as_str()),
        (Shown::Direct, "ready", true, "default")
    );
    let order = entry("custom:own/order");
    assert_eq!(
        (order.kind, order.category.as_deref(), order.tags.join(" ").as_str()),
        ("custom", Some("sales"), "money")
    );
    assert_eq!(order.permission, Some(Action::Ask.word()));
    let adjusted = order.adjusted.as_ref().unwrap();
    assert_eq!((adjusted.by.as_deref(), adjusted.says.as_str()), (Some("ann"), "permission=ask"));
    let refund = entry("custom:own/refund");
    assert_eq!((refund.disclosure, refund.enabled), (Shown::Hidden, false));
    assert!(refund.why.as_deref().is_some_and(|why| why.contains("switched off")), "{:?}", refund.why);
    let pr = entry("connector:github:work/get_pr");
    assert_eq!((pr.kind, pr.service.as_deref()), ("connector", Some("github")));
    let list = entry("mcp:s/list");
    assert_eq!((list.state, list.reason.as_deref(), list.stale), ("down", Some("no answer"), true));
    let broken = entry("mcp:s/broken");
    assert_eq!(broken.disclosure, Shown::Quarantined);
    // Whoever must not learn of others does not.
    let seen = engine.entries(&Scope::default(), &ViewFilter { reachable: true, ..ViewFilter::default() }).unwrap();
    assert_eq!(seen.total, 6);
    assert!(seen.entries.iter().all(|entry| entry.disclosure.reachable()));
}

#[test]
fn pages_follow_one_another_without_a_gap_or_a_double() {
    let manager = everything();
    let engine = Engine::new(manager.hub().clone(), EngineSettings::default(), None, vec![]);
    let all = engine.entries(&Scope::default(), &ViewFilter::default()).unwrap();
    for limit in 1..=9 {
        let (mut after, mut ids) = (None, Vec::new());
        loop {
            let filter = ViewFilter { after: after.clone(), limit, ..ViewFilter::default() };
            let page = engine.entries(&Scope::default(), &filter).unwrap();
            assert!(page.total == 8 && page.entries.len() <= limit);
            ids.extend(page.entries.iter().map(|entry| entry.id.clone()));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert!(ids.iter().eq(all.entries.iter().map(|entry| &entry.id)), "{limit}");
    }
}

/// One notion of what is in a category: for the view, for `category:NAME`, and for the filter of searches.
#[tokio::test]
async fn categories_are_what_selectors_take_them_for() {
    let manager = everything();
    let mut settings = EngineSettings::default();
    let mut book = Book::default();
    book.upsert_tools("Sales".parse().unwrap(), ["plugin:notes", "mcp:s/list"].map(|text| text.parse().unwrap()));
    settings.assemble.policy.categories = Some(Arc::new(book));
    let engine = Engine::new(manager.hub().clone(), settings, None, vec![]);
    let seen = |category: &str| -> Vec<String> {
        let tools = Filter { category: Some(category.into()), ..Filter::default() };
        let page = engine.entries(&Scope::default(), &ViewFilter { tools, ..ViewFilter::default() }).unwrap();
        page.entries.iter().map(|entry| entry.id.to_string()).collect()
    };
    let sales = ["plugin:notes/note", "mcp:s/list", "custom:own/order", "custom:own/refund"];
    assert_eq!(seen("sales"), sales);
    assert_eq!(seen("SALES"), sales);
    assert_eq!(seen("connector:github:work"), ["connector:github:work/get_pr"]);
    assert!(seen("connector:").is_empty() && seen("none").is_empty());
    let policy = engine.settings().assemble.policy.clone();
    let all = engine.entries(&Scope::default(), &ViewFilter::default()).unwrap().entries;
    for category in ["sales", "code", "connector:github", "connector:github:work"] {
        let selector: Selector = format!("category:{category}").parse().unwrap();
        let catalog = engine.hub().catalog();
        let named =
            all.iter().filter(|entry| selector.grants(catalog.get(&entry.id).unwrap(), &entry.name, &policy.groups));
        assert_eq!(named.map(|entry| entry.id.to_string()).collect::<Vec<_>>(), seen(category), "{category}");
        let said = all.iter().filter(|entry| entry.categories.contains(&category.parse().unwrap()));
        assert_eq!(said.map(|entry| entry.id.to_string()).collect::<Vec<_>>(), seen(category), "{category}");
    }
    let found =
        engine.search(&Scope::default(), &json!({"query": "note", "category": "SALES"})).await.unwrap().unwrap();
    assert!(found.to_string().contains(r#""name":"note""#), "{found}");
    let none = engine.search(&Scope::default(), &json!({"query": "note", "category": "code"})).await.unwrap().unwrap();
    assert!(!none.to_string().contains(r#""name":"note""#), "{none}");
}

/// What cannot run is not said to run.
#[tokio::test]
async fn a_judgement_tells_what_keeps_a_call_from_running() {
    let manager = everything();
    let publisher = server(&manager, &["list"]);
    let state = |state: SourceState| publisher.tools(state, vec![json!({"name": "list"})], None, true);
    let engine = Engine::new(manager.hub().clone(), EngineSettings::default(), None, vec![]);
    let judged = async |name: &str| {
        let explained = engine.explain(&Scope::default(), name).unwrap().remove(0);
        engine.judge(&Scope::default(), &Identity::default(), &explained, &json!({})).await.unwrap()
    };
    state(SourceState::Ready);
    assert_eq!(judged("mcp:s/list").await.unwrap().hindrance, None);
    state(SourceState::Starting);
    assert!(judged("mcp:s/list").await.unwrap().hindrance.unwrap().contains("still starting"));
    state(SourceState::Down { reason: "no answer".into() });
    assert_eq!(judged("mcp:s/list").await.unwrap().hindrance.unwrap(), "mcp:s is down (no answer)");
    state(SourceState::Disabled);
    assert!(judged("mcp:s/list").await.unwrap().hindrance.unwrap().contains("not to be called"));
    // Not of another tool of that name either.
    assert!(judged("custom:own/refund").await.is_none());
    // The name that it would have is another tool's.
    let clash = Registration { source: Source::Custom("own__x".into()), ..plain("y") };
    manager.insert(clash, OnConflict::Error).unwrap();
    manager.insert(plain("x__y"), OnConflict::Error).unwrap();
    let explained = engine.explain(&Scope::default(), "own__x__y").unwrap();
    let lost = explained.iter().filter(|one| !one.fate.is_reachable());
    for one in lost {
        let judged = engine.judge(&Scope::default(), &Identity::default(), one, &json!({})).await.unwrap();
        assert!(judged.is_none(), "{}", one.sentence());
    }
    // Where something required is missing nothing is served.
    let scope = Scope { required: vec!["mcp:s/gone".parse().unwrap()], ..Scope::default() };
    let explained = engine.explain(&scope, "custom:own/order").unwrap().remove(0);
    let judgement = engine.judge(&scope, &Identity::default(), &explained, &json!({})).await.unwrap().unwrap();
    assert!(judgement.hindrance.unwrap().starts_with("nothing is served here"));
}

/// What the catalog lists can be switched, what was refused too; and it stays switched once it is mended.
#[test]
fn a_definition_that_was_refused_is_switched_off() {
    let manager = manager();
    let publisher = server(&manager, &["fine"]);
    let bad = json!({"name": "bad", "inputSchema": {"type": 5}});
    publisher.tools(SourceState::Ready, vec![bad, json!({"name": "fine"})], None, false);
    let engine = Engine::new(manager.hub().clone(), EngineSettings::default(), None, vec![]);
    let listed = |enabled: Option<bool>| {
        let filter = ViewFilter { tools: Filter { enabled, ..Filter::default() }, ..ViewFilter::default() };
        let entries = engine.entries(&Scope::default(), &filter).unwrap().entries;
        entries.into_iter().map(|entry| (entry.id.to_string(), entry.disclosure, entry.enabled)).collect::<Vec<_>>()
    };
    assert!(listed(None).contains(&("mcp:s/bad".to_owned(), Shown::Quarantined, true)));
    assert_eq!(manager.is_enabled(&id("mcp:s/bad")), Some(true));
    assert_eq!(manager.set_enabled(&id("mcp:s/bad"), false), Ok(true));
    assert_eq!(manager.set_enabled(&id("mcp:s/bad"), false), Ok(false));
    assert_eq!(listed(Some(false)), [("mcp:s/bad".to_owned(), Shown::Quarantined, false)]);
    assert!(manager.set_enabled(&id("mcp:s/never"), false).is_err());
    publisher.tools(SourceState::Ready, vec![json!({"name": "bad"})], None, false);
    assert_eq!(manager.is_enabled(&id("mcp:s/bad")), Some(false));
    assert_eq!(listed(None), [("mcp:s/bad".to_owned(), Shown::Hidden, false)]);
}
