//! Categories that a conversation loads, through the tools by which a model does it. Numbers are cases of the oneringai
//! reference.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use proptest::prelude::*;
use serde_json::{Value, json};
use toolcrib_core::{
    Labels, Scope, Source, SourceState,
    categories::{Book, CategoryId, CategorySpec, Offered, Patterns, Unloaded},
};
use toolcrib_engine::{
    CallReply, CallRequest, Door, Engine, EngineSettings, Hub, HubLimits, Identity, Outcome, SourceOptions, Trust,
    authoring::{About, FactoryError, NoArguments, Toolbox, tool_fn},
    categories::{Item, LoadError, LoadState, VERSION, catalog_toolbox, publish_on_load},
};

fn id(text: &str) -> CategoryId {
    text.parse().unwrap()
}

fn toolbox(names: &[&str]) -> Toolbox {
    let tools = names.iter().map(|name| {
        let about = About::new((*name).to_owned(), format!("Does what {name} does.")).reads();
        toolcrib_engine::authoring::erase(tool_fn(about, |_: NoArguments, _| async { Ok("done") }))
    });
    Toolbox::builder().extend(tools).build().unwrap()
}

/// An engine with categories `web` (fetch, find), `shell` (run) and `both` (fetch, run); `plain` is in none. Exposed names are
/// those of the tools, because all are built-in.
fn engine(change: impl FnOnce(&mut Book)) -> Engine {
    let hub = Hub::new(HubLimits::default());
    let mut book = Book { unloaded: Unloaded::Hidden, ..Book::default() };
    let tools =
        |names: &[&str]| names.iter().map(|name| format!("custom:me/{name}").parse().unwrap()).collect::<Vec<_>>();
    let description = Some("Fetching pages and searching the web.".to_owned());
    book.upsert(id("web"), CategorySpec { name: None, description, tools: tools(&["fetch", "find"]) });
    book.upsert_tools(id("shell"), tools(&["run"]));
    book.upsert_tools(id("both"), tools(&["fetch", "run"]));
    change(&mut book);
    let mut settings = EngineSettings::default();
    settings.permissions.trust = Trust::All;
    settings.assemble.policy.categories = Some(Arc::new(book));
    toolbox(&["fetch", "find", "run", "plain"]).publish(&hub, Source::Custom("me".into()), SourceOptions::default());
    let engine = Engine::new(hub, settings, None, vec![]);
    let always: Arc<Labels> = Arc::new(Labels { always: true, ..Labels::default() });
    let catalog = catalog_toolbox(&engine).unwrap();
    let tools = catalog.names().map(|name| (name.to_owned(), always.clone())).collect();
    let options = SourceOptions { tools, ..SourceOptions::default() };
    catalog.publish(engine.hub(), Source::Builtin, options);
    engine
}

/// One conversation.
struct Talk<'e> {
    engine: &'e Engine,
    scope: Scope,
    session: Option<&'static str>,
}

impl<'e> Talk<'e> {
    fn new(engine: &'e Engine) -> Self {
        Self { engine, scope: Scope::default(), session: Some("s1") }
    }

    async fn call(&self, name: &str, arguments: Value) -> (Outcome, Value) {
        let raw = serde_json::value::to_raw_value(&arguments).unwrap();
        let mut request = CallRequest::new(name, Some(raw), self.scope.clone(), Door::Library);
        request.identity = Arc::new(Identity { session: self.session.map(str::to_owned), ..Identity::default() });
        let report = self.engine.call_report(request).await;
        let text = match report.reply {
            CallReply::Result(result) => result.to_text(),
            CallReply::Protocol { message, .. } => message,
            CallReply::Question(request) => request.description.clone(),
        };
        let value = serde_json::from_str(&text).unwrap_or_else(|_| text.into());
        (report.outcome, value)
    }

    async fn answer(&self, name: &str, arguments: Value) -> Value {
        let (outcome, value) = self.call(name, arguments).await;
        assert_eq!(outcome, Outcome::Ok, "{value}");
        value
    }

    /// The code of a failure.
    async fn refused(&self, name: &str, arguments: Value) -> String {
        let (outcome, value) = self.call(name, arguments).await;
        assert_eq!(outcome, Outcome::ToolError, "{value}");
        value["error"].as_str().unwrap_or_else(|| panic!("no code: {value}")).to_owned()
    }

    /// Tools of `me` that are listed.
    fn listed(&self) -> Vec<String> {
        let view = self.engine.view(&self.engine.in_session(self.scope.clone(), self.session)).unwrap();
        view.set.names().filter_map(|name| name.strip_prefix("me__")).map(str::to_owned).collect()
    }
}

fn standings(answer: &Value) -> Vec<(String, u64, bool, bool)> {
    let all = answer["categories"].as_array().unwrap().iter();
    all.map(|one| {
        let text = one["category"].as_str().unwrap().to_owned();
        (text, one["tools"].as_u64().unwrap(), one["loaded"] == true, one["pinned"] == true)
    })
    .collect()
}

fn names(tools: &Value) -> Vec<&str> {
    tools
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool.as_str().unwrap_or_else(|| tool["name"].as_str().unwrap()))
        .collect()
}

#[tokio::test]
async fn load_use_unload() {
    let engine = engine(|_| {});
    let talk = Talk::new(&engine);
    let mut changes = engine.hub().watch();
    assert_eq!(talk.listed(), ["plain"]);
    assert_eq!(talk.call("me__fetch", json!({})).await.0, Outcome::Invalid, "what is not loaded is not there");
    changes.mark_unchanged();
    // Case 61.
    let answer = talk.answer("tool_catalog_load", json!({"category": "web"})).await;
    assert_eq!(answer, json!({"loaded": 2, "tools": ["me__fetch", "me__find"]}));
    assert!(changes.has_changed().unwrap(), "clients are told");
    assert_eq!(talk.listed(), ["fetch", "find", "plain"]);
    talk.answer("me__fetch", json!({})).await;
    // Case 62.
    let again = talk.answer("tool_catalog_load", json!({"category": "web"})).await;
    assert_eq!((&again["loaded"], &again["alreadyLoaded"]), (&json!(2), &json!(true)));
    // Case 66, and what theirs got wrong (§2.5): what another category keeps stays.
    talk.answer("tool_catalog_load", json!({"category": "both"})).await;
    assert_eq!(talk.listed(), ["fetch", "find", "plain", "run"]);
    let answer = talk.answer("tool_catalog_unload", json!({"category": "web"})).await;
    assert_eq!(answer, json!({"unloaded": 1, "tools": ["me__find"]}));
    assert_eq!(talk.listed(), ["fetch", "plain", "run"]);
    talk.answer("me__fetch", json!({})).await;
    assert_eq!(talk.call("me__find", json!({})).await.0, Outcome::Invalid);
    // Again, after it was unloaded.
    assert_eq!(talk.answer("tool_catalog_load", json!({"category": "web"})).await["loaded"], 2);
    // Case 67: not loaded.
    let answer = talk.answer("tool_catalog_unload", json!({"category": "shell"})).await;
    assert_eq!((&answer["unloaded"], answer["message"].is_string()), (&json!(0), true));
}

#[tokio::test]
async fn conversations_do_not_see_each_others_loads() {
    let engine = engine(|_| {});
    let one = Talk::new(&engine);
    one.answer("tool_catalog_load", json!({"category": "web"})).await;
    let other_session = Talk { session: Some("s2"), ..Talk::new(&engine) };
    let no_session = Talk { session: None, ..Talk::new(&engine) };
    let other_user = Talk { scope: Scope { user: Some("ann".into()), ..Scope::default() }, ..Talk::new(&engine) };
    let other_tenant = Talk { scope: Scope { tenant: "t".into(), ..Scope::default() }, ..Talk::new(&engine) };
    for other in [other_session, no_session, other_user, other_tenant] {
        assert_eq!(other.listed(), ["plain"]);
        assert_eq!(other.call("me__fetch", json!({})).await.0, Outcome::Invalid);
    }
    assert_eq!(one.listed(), ["fetch", "find", "plain"]);
    engine.categories(&Scope::default(), Some("s1")).end();
    assert_eq!(one.listed(), ["plain"]);
    // Whoever names no session goes by what those without one have loaded, through every door.
    engine.categories(&Scope::default(), None).load(&id("shell")).unwrap();
    assert!(engine.view(&Scope::default()).unwrap().set.tool("me__run").is_some());
}

#[tokio::test]
async fn the_catalog_is_looked_through() {
    let engine = engine(|book| book.pinned = vec![id("shell")]);
    let talk = Talk::new(&engine);
    // Case 58.
    let answer = talk.answer("tool_catalog_search", json!({})).await;
    assert_eq!(
        standings(&answer),
        [("both".into(), 2, false, false), ("shell".into(), 1, true, true), ("web".into(), 2, false, false)]
    );
    assert_eq!(answer["categories"][2]["name"], "Web");
    // Case 59.
    assert_eq!(talk.refused("tool_catalog_search", json!({"category": "nothing"})).await, "not_available");
    let web = talk.answer("tool_catalog_search", json!({"category": "web", "query": " ", "listAll": false})).await;
    assert_eq!(names(&web["tools"]), ["me__fetch", "me__find"]);
    assert_eq!(web["tools"][0]["description"], "Does what fetch does.");
    // Case 73, ours: ranked, and words are enough.
    let found = talk.answer("tool_catalog_search", json!({"query": "fetch page"})).await;
    assert_eq!(found["results"][0]["category"], "both", "the tool is in both, by id: {found}");
    assert!(found["results"].as_array().unwrap().iter().any(|one| one["category"] == "web"), "{found}");
    // A category that fits by its own text comes with all its tools.
    let found = talk.answer("tool_catalog_search", json!({"query": "searching the web"})).await;
    let web = found["results"].as_array().unwrap().iter().find(|one| one["category"] == "web").unwrap();
    let mut all = names(&web["tools"]);
    all.sort_unstable();
    assert_eq!(all, ["me__fetch", "me__find"], "{found}");
    // One question at a time; theirs drops all but one.
    for both in [
        json!({"category": "web", "query": "run"}),
        json!({"listAll": true, "query": "run"}),
        json!({"listAll": true, "category": "web"}),
        json!({"listAll": true, "category": "web", "query": "run"}),
    ] {
        let (outcome, said) = talk.call("tool_catalog_search", both.clone()).await;
        assert_eq!((outcome, &said["error"]), (Outcome::ToolError, &json!("invalid_arguments")), "{both}");
        assert!(said["message"].as_str().unwrap().contains("query, category and listAll"), "{said}");
    }
    let nothing = talk.answer("tool_catalog_search", json!({"query": "zzzzqqqq"})).await;
    assert_eq!((&nothing["results"], nothing["hint"].is_string()), (&json!([]), true));
}

#[tokio::test]
async fn what_is_not_offered_is_not_there() {
    let engine = engine(|book| book.offered = Offered::Only(Patterns::parse(["web"]).unwrap()));
    let talk = Talk::new(&engine);
    // Case 60.
    let all = talk.answer("tool_catalog_search", json!({"listAll": true, "category": ""})).await;
    assert_eq!((&all["totalCategories"], &all["totalTools"]), (&json!(1), &json!(2)));
    assert_eq!(names(&all["categories"][0]["tools"]), ["me__fetch", "me__find"]);
    // Case 63; and a connector that nobody has.
    for category in ["shell", "connector:github"] {
        let (_, value) = talk.call("tool_catalog_load", json!({"category": category})).await;
        assert_eq!(value["error"], "not_available");
        assert!(value["message"].as_str().unwrap().contains("not available"), "{value}");
    }
    assert_eq!(talk.refused("tool_catalog_load", json!({"tool": "me__run"})).await, "not_available");
    assert_eq!(talk.refused("tool_catalog_load", json!({"category": " "})).await, "invalid_arguments");
    assert_eq!(talk.refused("tool_catalog_load", json!({})).await, "invalid_arguments");
    let explained = engine.explain(&Scope::default(), "run").unwrap();
    assert!(explained[0].sentence().contains("is not offered"), "{}", explained[0].sentence());
}

#[tokio::test]
async fn the_limit_counts_neither_pins_nor_pins_that_failed() {
    // Case 65; theirs: each pin that cannot be loaded raises the limit.
    let engine = engine(|book| {
        book.pinned = vec![id("shell"), id("nowhere"), id("neither")];
        book.max_loaded = 1;
        book.max_tools = 1;
    });
    let talk = Talk::new(&engine);
    talk.answer("tool_catalog_load", json!({"category": "web"})).await;
    let (_, value) = talk.call("tool_catalog_load", json!({"category": "both"})).await;
    assert_eq!(value["error"], "limit");
    assert!(value["message"].as_str().unwrap().contains("web"), "what is loaded is named: {value}");
    assert_eq!(talk.listed(), ["fetch", "find", "plain", "run"]);
    // Case 67: pinned.
    assert_eq!(talk.refused("tool_catalog_unload", json!({"category": "shell"})).await, "pinned");
    assert_eq!(talk.answer("tool_catalog_load", json!({"category": "shell"})).await["alreadyLoaded"], true);
    // Tools have a limit of their own.
    talk.answer("tool_catalog_load", json!({"tool": "me__run"})).await;
    assert_eq!(talk.refused("tool_catalog_load", json!({"tool": "me__find"})).await, "limit");
    talk.answer("tool_catalog_unload", json!({"category": "web"})).await;
    talk.answer("tool_catalog_load", json!({"category": "both"})).await;
}

#[tokio::test]
async fn a_single_tool_is_loaded() {
    let engine = engine(|_| {});
    let talk = Talk::new(&engine);
    let answer = talk.answer("tool_catalog_load", json!({"tool": "me__run"})).await;
    assert_eq!(answer, json!({"loaded": 1, "tools": ["me__run"]}));
    assert_eq!(talk.listed(), ["plain", "run"]);
    talk.answer("tool_catalog_load", json!({"category": "shell"})).await;
    assert_eq!(
        talk.answer("tool_catalog_unload", json!({"category": "shell"})).await["unloaded"],
        0,
        "it stays by itself"
    );
    assert_eq!(talk.listed(), ["plain", "run"]);
    assert_eq!(talk.answer("tool_catalog_unload", json!({"tool": "custom:me/run"})).await["unloaded"], 1);
    assert_eq!(talk.listed(), ["plain"]);
    // A tool of no category needs no loading.
    assert_eq!(talk.refused("tool_catalog_load", json!({"tool": "me__plain"})).await, "not_available");
}

#[tokio::test]
async fn deferred_tools_are_found_and_called_before_they_are_loaded() {
    let engine = engine(|book| book.unloaded = Unloaded::Deferred);
    let talk = Talk::new(&engine);
    assert_eq!(talk.listed(), ["fetch", "find", "plain", "run"]);
    let view = |talk: &Talk<'_>| engine.view(&engine.in_session(talk.scope.clone(), talk.session)).unwrap();
    let direct = |talk: &Talk<'_>| -> Vec<String> {
        let view = view(talk);
        let names = view.set.definitions.iter().map(|definition| definition["name"].as_str().unwrap().to_owned());
        names.filter(|name| name.starts_with("me__")).collect()
    };
    assert_eq!(direct(&talk), Vec::<String>::new());
    assert_eq!(talk.answer("tool_call", json!({"name": "me__run", "arguments": {}})).await, "done");
    talk.answer("tool_catalog_load", json!({"category": "shell"})).await;
    assert_eq!(direct(&talk), ["me__run"], "one notion of loaded: it is direct now");
    // Same input, same bytes.
    assert_eq!(view(&talk).set.hash, view(&talk).set.hash);
    assert!(Arc::ptr_eq(&view(&talk), &view(&talk)));
}

#[tokio::test]
async fn a_category_that_has_only_a_factory_is_loaded() {
    // Cases 55 and 72: the factory is asked, and not before somebody looks.
    let engine = engine(|_| {});
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let factory = move |scope: &Scope| -> Result<Toolbox, FactoryError> {
        counted.fetch_add(1, Ordering::SeqCst);
        Ok(toolbox(&[&format!("of_{}", scope.user.as_deref().unwrap_or("nobody"))]))
    };
    publish_on_load(engine.hub(), id("connector:mail:ann@example.com"), SourceOptions::default(), Arc::new(factory));
    let talk = Talk { scope: Scope { user: Some("ann".into()), ..Scope::default() }, ..Talk::new(&engine) };
    assert_eq!(talk.listed(), ["plain"]);
    assert_eq!(asked.load(Ordering::SeqCst), 0, "nobody has loaded it");
    let listed = talk.answer("tool_catalog_search", json!({"category": "connector:mail:ann@example.com"})).await;
    assert_eq!((&listed["connector"], &listed["account"]), (&json!("mail"), &json!("ann@example.com")));
    let name = names(&listed["tools"])[0].to_owned();
    assert!(name.contains("__of_ann"), "{name}");
    assert_eq!(talk.call(&name, json!({})).await.0, Outcome::Invalid, "seen, not loaded");
    let loaded = talk.answer("tool_catalog_load", json!({"category": "connector:mail:ann@example.com"})).await;
    assert_eq!(names(&loaded["tools"]), [name.as_str()]);
    assert_eq!(talk.answer(&name, json!({})).await, "done");
    talk.answer("tool_catalog_unload", json!({"category": "connector:mail:ann@example.com"})).await;
    assert_eq!(talk.call(&name, json!({})).await.0, Outcome::Invalid);
    // Resolved by connector, for whoever embeds.
    let resolution = engine.categories(&talk.scope, talk.session).resolve(["me__plain", "nothing", &name]).unwrap();
    assert_eq!(resolution.missing, ["nothing"]);
    assert_eq!(resolution.plain().map(|tool| tool.name()).collect::<Vec<_>>(), ["plain"]);
    let by = resolution.by_connector();
    assert_eq!(
        by.iter().map(|(of, tools)| (of.to_string(), tools.len())).collect::<Vec<_>>(),
        [("mail:ann@example.com".into(), 1)]
    );
}

#[tokio::test]
async fn names_are_looked_up_across_categories() {
    let engine = engine(|_| {});
    let categories = engine.categories(&Scope::default(), None);
    // Theirs: the first category alone.
    let owners = categories.find("fetch").unwrap();
    assert_eq!(owners.iter().map(|owner| owner.category.to_string()).collect::<Vec<_>>(), ["both", "web"]);
    assert!(owners.iter().all(|owner| owner.exposed == "me__fetch"));
    assert_eq!(categories.find("nothing").unwrap(), []);
    // Case 54: what is unknown is told, what is known is there.
    let resolution = categories.resolve(["me__fetch", "custom:me/fetch", "run", "unknown"]).unwrap();
    assert_eq!(resolution.tools.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["me__fetch", "me__run"]);
    assert_eq!(resolution.missing, ["unknown"]);
}

#[tokio::test]
async fn what_was_used_least_recently_makes_room() {
    // Case 68: pinned categories stay.
    let engine = engine(|book| {
        book.pinned = vec![id("shell")];
        book.auto_load = vec![id("web")];
    });
    let talk = Talk::new(&engine);
    let categories = engine.categories(&Scope::default(), Some("s1"));
    talk.answer("tool_catalog_load", json!({"category": "both"})).await;
    assert_eq!(talk.listed(), ["fetch", "find", "plain", "run"]);
    let free = categories.reclaimable().unwrap();
    assert!(free > 0);
    // find is of web alone: both was used longer ago.
    talk.answer("me__fetch", json!({})).await;
    talk.answer("me__find", json!({})).await;
    // Everything that both has is kept by web and by the pin: unloading it frees nothing, so web goes too.
    assert_eq!(categories.reclaim(1).unwrap(), free);
    assert_eq!((talk.listed(), categories.reclaimable().unwrap()), (vec!["plain".to_owned(), "run".to_owned()], 0));
    assert_eq!(categories.reclaim(1_000).unwrap(), 0);
    // Of two that are used at different times the older goes, and no more than is needed.
    talk.answer("tool_catalog_load", json!({"tool": "me__fetch"})).await;
    talk.answer("tool_catalog_load", json!({"tool": "me__find"})).await;
    talk.answer("me__fetch", json!({})).await;
    assert!(categories.reclaim(1).unwrap() > 0);
    assert_eq!(talk.listed(), ["fetch", "plain", "run"]);
}

#[tokio::test]
async fn what_is_loaded_is_kept_and_taken_up_again() {
    let engine = engine(|book| book.pinned = vec![id("shell")]);
    let first = engine.categories(&Scope::default(), Some("s1"));
    first.load(&id("web")).unwrap();
    first.load_tool("me__run").unwrap();
    let state = first.state();
    assert_eq!(
        serde_json::to_value(&state).unwrap(),
        json!({"version": 1, "categories": ["web"], "tools": ["custom:me/run"]})
    );
    let other = engine.categories(&Scope::default(), Some("s2"));
    other.load(&id("both")).unwrap();
    let report = other.restore(&state);
    assert_eq!(report.loaded, ["web", "custom:me/run"]);
    assert!(other.loaded().has(&id("both")), "nothing is unloaded");
    assert_eq!(other.restore(&state).already, ["web", "custom:me/run"]);
    // Junk is skipped, and said to be; a version of another time loads nothing.
    let junk = json!({"version": VERSION, "categories": ["nothing", ""], "tools": ["x", "custom:me/gone"], "more": 1});
    let report = other.restore(&serde_json::from_value::<LoadState>(junk).unwrap());
    assert_eq!(
        report.skipped.iter().map(|one| one.entry.as_str()).collect::<Vec<_>>(),
        ["nothing", "", "x", "custom:me/gone"]
    );
    let report = other.restore(&LoadState { version: 9, ..state });
    assert_eq!((report.loaded.len(), report.skipped[0].why.as_str()), (0, "version 9 is not known; this is version 1"));
}

#[tokio::test]
async fn without_categories_there_is_nothing_to_load() {
    // Case 70: what is not there any more answers an error.
    let engine = engine(|_| {});
    let mut settings = EngineSettings::clone(&engine.settings());
    settings.assemble.policy.categories = None;
    engine.replace_settings(settings);
    let talk = Talk::new(&engine);
    assert_eq!(talk.listed(), ["fetch", "find", "plain", "run"], "categories are labels and no more");
    for (tool, arguments) in [
        ("tool_catalog_search", json!({})),
        ("tool_catalog_load", json!({"category": "web"})),
        ("tool_catalog_unload", json!({"category": "web"})),
    ] {
        assert_eq!(talk.refused(tool, arguments).await, "off", "{tool}");
    }
    assert_eq!(engine.categories(&Scope::default(), None).load(&id("web")), Err(LoadError::Off));
}

#[tokio::test]
async fn other_settings_hold_for_what_is_loaded_already() {
    let engine = engine(|_| {});
    let talk = Talk::new(&engine);
    talk.answer("tool_catalog_load", json!({"category": "web"})).await;
    let change = |change: &dyn Fn(&mut Book)| {
        let mut settings = EngineSettings::clone(&engine.settings());
        let mut book = Book::clone(settings.assemble.policy.categories.as_deref().unwrap());
        change(&mut book);
        settings.assemble.policy.categories = Some(Arc::new(book));
        engine.replace_settings(settings);
    };
    change(&|book| book.offered = Offered::Except(Patterns::parse(["web"]).unwrap()));
    assert_eq!(talk.listed(), ["plain"]);
    change(&|book| book.offered = Offered::All);
    assert_eq!(talk.listed(), ["fetch", "find", "plain"]);
    change(&|book| book.pinned = vec![id("shell")]);
    assert_eq!(talk.listed(), ["fetch", "find", "plain", "run"]);
}

#[test]
fn the_prompt_tells_of_categories_within_bounds() {
    let engine = engine(|_| {});
    let categories = engine.categories(&Scope::default(), None);
    let before = categories.digest().unwrap();
    assert!(before.contains("- web (Web): Fetching pages and searching the web."), "{before}");
    categories.load(&id("web")).unwrap();
    assert_eq!(categories.digest().unwrap(), before, "the same whatever is loaded");
    assert_eq!(categories.digest_within(0), None);
    assert!(categories.digest_within(40).is_some_and(|text| text.chars().count() <= 160));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    /// Against a model that counts: what is listed is what some loaded thing owns, whatever the order of loading and
    /// unloading, of two conversations at once.
    #[test]
    fn loading_and_unloading_keeps_count(steps in prop::collection::vec((any::<bool>(), 0_usize..6, any::<bool>()), 0..24)) {
        let owns: [(Item, &[&str]); 6] = [
            (Item::Category(id("web")), &["fetch", "find"]),
            (Item::Category(id("shell")), &["run"]),
            (Item::Category(id("both")), &["fetch", "run"]),
            (Item::Tool("custom:me/fetch".parse().unwrap()), &["fetch"]),
            (Item::Tool("custom:me/find".parse().unwrap()), &["find"]),
            (Item::Tool("custom:me/run".parse().unwrap()), &["run"]),
        ];
        let engine = engine(|_| {});
        let mut counts = [[0_usize; 6]; 2];
        for (load, which, second) in steps {
            let session = if second { "s2" } else { "s1" };
            let categories = engine.categories(&Scope::default(), Some(session));
            let (item, _) = &owns[which];
            let count = &mut counts[usize::from(second)][which];
            if load {
                let now = match item {
                    Item::Category(category) => categories.load(category),
                    Item::Tool(tool) => categories.load_tool(&tool.to_string()),
                };
                prop_assert_eq!(now.unwrap().already, *count > 0);
                *count = 1;
            } else {
                let gone = categories.unload(item).unwrap();
                prop_assert_eq!(gone.is_some(), *count > 0);
                *count = 0;
            }
            for (session, counts) in ["s1", "s2"].into_iter().zip(&counts) {
                let mut expected: BTreeSet<&str> = ["plain"].into();
                for ((_, tools), count) in owns.iter().zip(counts) {
                    expected.extend(tools.iter().filter(|_| *count > 0));
                }
                let view = engine.categories(&Scope::default(), Some(session)).view().unwrap();
                let listed: BTreeSet<&str> = view.set.names().filter_map(|name| name.strip_prefix("me__")).collect();
                prop_assert_eq!(listed, expected);
            }
        }
    }
}

#[test]
fn a_source_may_be_in_a_category_by_label() {
    let engine = engine(|_| {});
    let labels = Labels { category: Some("mine".into()), ..Labels::default() };
    let options = SourceOptions { labels: Arc::new(labels), ..SourceOptions::default() };
    let publisher = toolbox(&["extra"]).publish(engine.hub(), Source::Custom("more".into()), options);
    let categories = engine.categories(&Scope::default(), None);
    assert_eq!(categories.load(&id("mine")).unwrap().tools, ["more__extra"]);
    // What is loaded is the category: tools that come later are loaded too.
    publisher.tools(SourceState::Ready, vec![json!({"name": "extra"}), json!({"name": "late"})], None, false);
    let view = categories.view().unwrap();
    assert!(view.set.tool("more__late").is_some());
}

/// Loading, unloading and explaining take the same names.
#[tokio::test]
async fn one_rule_of_naming() {
    let engine = engine(|_| {});
    let other = toolbox(&["twin", "run"]);
    let labels = Arc::new(Labels { category: Some("other".into()), ..Labels::default() });
    other.publish(engine.hub(), Source::Custom("you".into()), SourceOptions { labels, ..SourceOptions::default() });
    let mut settings = (*engine.settings()).clone();
    settings.assemble.policy.groups.alias("lookup", "custom:me/find".parse().unwrap());
    engine.replace_settings(settings);
    let talk = Talk::new(&engine);
    let loads = async |name: &str, exposed: &str| {
        for name in [name.to_owned(), format!(" {name} ")] {
            let loaded = talk.answer("tool_catalog_load", json!({"tool": name})).await;
            assert_eq!(loaded, json!({"loaded": 1, "tools": [exposed]}), "{name}");
            let unloaded = talk.answer("tool_catalog_unload", json!({"tool": name})).await;
            assert_eq!(unloaded, json!({"unloaded": 1, "tools": [exposed]}), "{name}");
        }
        let explained = engine.explain(&Scope::default(), name).unwrap();
        assert_eq!(explained.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), [exposed], "{name}");
    };
    loads("me__find", "me__find").await;
    loads("custom:me/find", "me__find").await;
    loads("find", "me__find").await;
    loads("lookup", "me__find").await;
    // A name of several is none.
    for tool in ["tool_catalog_load", "tool_catalog_unload"] {
        let (outcome, said) = talk.call(tool, json!({"tool": "run"})).await;
        assert_eq!((outcome, said["error"].as_str()), (Outcome::ToolError, Some("ambiguous")), "{said}");
        assert!(said["message"].as_str().unwrap().contains("me__run, you__run"), "{said}");
    }
    assert_eq!(engine.explain(&Scope::default(), "run").unwrap().len(), 2);
    // Of no category: nothing to load.
    assert_eq!(talk.refused("tool_catalog_load", json!({"tool": "plain"})).await, "not_available");
}

#[test]
fn tools_of_categories_without_loading_them() {
    let engine = engine(|_| {});
    let source: Source = "connector:crm:eu".parse().unwrap();
    toolbox(&["find"]).publish(engine.hub(), source, SourceOptions::default());
    let categories = engine.categories(&Scope::default(), Some("s1"));
    let named =
        |id: &str| categories.tools_of(&id.parse().unwrap()).map(|tools| tools.into_iter().map(|(name, _)| name));
    let names = |id: &str| named(id).map(Iterator::collect::<Vec<_>>);
    assert_eq!(names("Web").unwrap(), ["me__fetch", "me__find"]);
    assert_eq!(names("connector:crm:eu").unwrap().len(), 1);
    assert!(matches!(names("none"), Err(LoadError::NotAvailable { .. })));
    assert!(categories.loaded().categories.is_empty(), "nothing is loaded");
    let overview = categories.overview().unwrap();
    let connectors: Vec<String> = overview.connectors().map(|(connector, _)| connector.to_string()).collect();
    assert_eq!(connectors, ["crm:eu"]);
    // `fetch` and `run` are in two categories, `plain` is in none.
    assert_eq!(overview.all_tools().count(), 4);
    assert_eq!(categories.digest_cost(), overview.view.set.counter().text(&categories.digest().unwrap()));
}

/// What was loaded by a name is unloaded by any name it went by, though it is gone; and does not come back.
#[tokio::test]
async fn a_tool_that_vanished_is_unloaded_by_its_names() {
    for (loaded_by, unloaded_by) in [
        ("create_invoice", "create_invoice"),
        ("shop__create_invoice", "shop__create_invoice"),
        ("create_invoice", "shop__create_invoice"),
        ("custom:shop/create_invoice", " create_invoice "),
        ("create_invoice", "custom:shop/create_invoice"),
        ("invoice", "invoice"),
    ] {
        let engine = engine(|_| {});
        let labels = Arc::new(Labels { category: Some("shop".into()), ..Labels::default() });
        let options = SourceOptions { labels, ..SourceOptions::default() };
        let shop = toolbox(&["create_invoice"]).publish(engine.hub(), Source::Custom("shop".into()), options);
        let alias = |set: bool| {
            let mut settings = (*engine.settings()).clone();
            settings.assemble.policy.groups = toolcrib_core::selector::Groups::default();
            if set {
                settings.assemble.policy.groups.alias("invoice", "custom:shop/create_invoice".parse().unwrap());
            }
            engine.replace_settings(settings);
        };
        alias(true);
        let talk = Talk::new(&engine);
        let shown = || {
            let view = engine.view(&engine.in_session(talk.scope.clone(), talk.session)).unwrap();
            view.set.tool("shop__create_invoice").is_some()
        };
        talk.answer("tool_catalog_load", json!({"tool": loaded_by})).await;
        assert!(shown());
        shop.tools(SourceState::Ready, vec![json!({"name": "other"})], None, false);
        alias(false);
        let (_, said) = talk.call("tool_catalog_unload", json!({"tool": "other"})).await;
        assert_eq!(said["message"], "'other' was not loaded");
        let said = talk.answer("tool_catalog_unload", json!({"tool": unloaded_by})).await;
        assert!(said["message"].as_str().unwrap().contains("not loaded any more"), "{loaded_by} {unloaded_by}: {said}");
        shop.tools(SourceState::Ready, vec![json!({"name": "create_invoice"})], None, false);
        assert!(!shown(), "{loaded_by} {unloaded_by}: it came back loaded");
    }
}

/// A name that is another tool's by now means the one that is loaded.
#[tokio::test]
async fn a_name_that_passed_on_means_the_tool_that_is_loaded() {
    let engine = engine(|_| {});
    let labels = Arc::new(Labels { category: Some("shop".into()), ..Labels::default() });
    let options = || SourceOptions { labels: labels.clone(), ..SourceOptions::default() };
    let shop = toolbox(&["pay"]).publish(engine.hub(), Source::Custom("shop".into()), options());
    let talk = Talk::new(&engine);
    talk.answer("tool_catalog_load", json!({"tool": "pay"})).await;
    toolbox(&["pay"]).publish(engine.hub(), Source::Custom("bank".into()), options());
    // Of the two that are called so, one is loaded.
    assert_eq!(talk.refused("tool_catalog_load", json!({"tool": "pay"})).await, "ambiguous");
    assert_eq!(talk.answer("tool_catalog_unload", json!({"tool": "pay"})).await["tools"], json!(["shop__pay"]));
    talk.answer("tool_catalog_load", json!({"tool": "shop__pay"})).await;
    shop.tools(SourceState::Ready, vec![json!({"name": "other"})], None, false);
    let said = talk.answer("tool_catalog_unload", json!({"tool": "pay"})).await;
    assert!(said["message"].as_str().unwrap().contains("not loaded any more"), "{said}");
    let said = talk.answer("tool_catalog_unload", json!({"tool": "pay"})).await;
    assert_eq!(said["message"], "'pay' was not loaded");
}

#[tokio::test]
async fn what_keeps_a_tool_is_told() {
    let engine = engine(|book| book.pinned = vec![id("shell")]);
    let talk = Talk::new(&engine);
    let said = async |tool: &str| talk.answer("tool_catalog_unload", json!({"tool": tool})).await;
    talk.answer("tool_catalog_load", json!({"category": "web"})).await;
    let answer = said("me__find").await;
    assert_eq!(
        answer["message"],
        "'me__find' was not loaded by itself; it stays loaded through the category 'web': unload it to take it out"
    );
    // Loaded by itself too: what keeps it is told as well.
    talk.answer("tool_catalog_load", json!({"tool": "find"})).await;
    let answer = said("find").await;
    assert_eq!((&answer["unloaded"], &answer["tools"]), (&json!(0), &json!([])));
    let text = answer["message"].as_str().unwrap();
    assert!(text.contains("not loaded by itself any more") && text.contains("'web'"), "{text}");
    talk.answer("tool_catalog_load", json!({"category": "both"})).await;
    assert!(said("fetch").await["message"].as_str().unwrap().contains("the categories 'both', 'web'"));
    // Case 67, of a tool.
    let (outcome, answer) = talk.call("tool_catalog_unload", json!({"tool": "run"})).await;
    assert_eq!((outcome, &answer["error"]), (Outcome::ToolError, &json!("pinned")));
    assert_eq!(answer["message"], "'me__run' is of the category 'shell', which is pinned and stays loaded");
    talk.answer("tool_catalog_load", json!({"tool": "run"})).await;
    assert!(said("run").await["message"].as_str().unwrap().contains("pinned, so it stays"));
    assert_eq!(said("nothing").await["message"], "'nothing' was not loaded");
}

#[tokio::test]
async fn what_is_loaded_is_listed_by_its_ids() {
    let engine = engine(|book| {
        book.max_loaded = 2;
        book.max_tools = 1;
        book.auto_load = vec![id("BOTH")];
        book.pinned = vec![id("Shell")];
    });
    let talk = Talk::new(&engine);
    talk.answer("tool_catalog_load", json!({"category": "wEb"})).await;
    let labels = Arc::new(Labels { category: Some("more".into()), ..Labels::default() });
    let options = SourceOptions { labels, ..SourceOptions::default() };
    toolbox(&["extra"]).publish(engine.hub(), Source::Custom("more".into()), options);
    let (_, said) = talk.call("tool_catalog_load", json!({"category": "MORE"})).await;
    assert_eq!(
        said["message"],
        "2 categories are loaded, and no more may be: both, web; unload one with tool_catalog_unload first"
    );
    let (_, said) = talk.call("tool_catalog_unload", json!({"category": "SHELL"})).await;
    assert_eq!(said["message"], "the category 'shell' is pinned and stays loaded");
    // Single tools have a bound of their own.
    talk.answer("tool_catalog_load", json!({"tool": "more__extra"})).await;
    let (_, said) = talk.call("tool_catalog_load", json!({"tool": "find"})).await;
    assert_eq!(said["error"], "limit");
    assert!(said["message"].as_str().unwrap().starts_with("1 single tools are loaded"), "{said}");
}
