//! Publication: snapshots replace one another whole; late and removed publishers change nothing.

use std::sync::Arc;

use serde_json::json;
use toolcrib_core::{Labels, Scope, Source, SourceState};
use toolcrib_engine::{Engine, EngineSettings, Hub, HubLimits, SourceOptions};

use crate::script::Script;

fn source(name: &str) -> Source {
    Source::Mcp(name.to_owned())
}

#[test]
fn a_source_is_replaced_whole_and_others_are_shared() {
    let hub = Hub::new(HubLimits::default());
    let a = hub.register(source("a"), SourceOptions::default(), Arc::new(Script::default()));
    let b = hub.register(source("b"), SourceOptions::default(), Arc::new(Script::default()));
    a.tools(SourceState::Ready, vec![json!({"name": "x"}), json!({"name": "y"})], None, false);
    b.tools(SourceState::Ready, vec![json!({"name": "z"})], None, false);
    let before = hub.catalog();
    a.tools(SourceState::Ready, vec![json!({"name": "y"})], None, false);
    let after = hub.catalog();
    assert_eq!((before.len(), after.len()), (3, 2));
    assert!(after.generation() > before.generation());
    assert!(Arc::ptr_eq(&before.sources()[&source("b")], &after.sources()[&source("b")]));
}

#[test]
fn publishing_the_same_again_makes_no_new_snapshot() {
    let hub = Hub::new(HubLimits::default());
    let a = hub.register(source("a"), SourceOptions::default(), Arc::new(Script::default()));
    a.tools(SourceState::Ready, vec![json!({"name": "x", "description": "d"})], None, false);
    let generation = hub.catalog().generation();
    a.tools(SourceState::Ready, vec![json!({"description": "d", "name": "x"})], None, false);
    assert_eq!(hub.catalog().generation(), generation);
}

#[test]
fn a_source_that_goes_down_keeps_its_tools() {
    let hub = Hub::new(HubLimits::default());
    let a = hub.register(source("a"), SourceOptions::default(), Arc::new(Script::default()));
    a.tools(SourceState::Ready, vec![json!({"name": "x"})], None, false);
    let hash = hub.catalog().hash();
    a.state(SourceState::Down { reason: "gone".into() });
    assert_eq!(hub.catalog().len(), 1);
    assert_eq!(hub.catalog().hash(), hash, "the state is not part of what is listed");
}

#[test]
fn a_late_publisher_of_a_removed_or_replaced_source_changes_nothing() {
    let hub = Hub::new(HubLimits::default());
    let old = hub.register(source("a"), SourceOptions::default(), Arc::new(Script::default()));
    let new = hub.register(source("a"), SourceOptions::default(), Arc::new(Script::default()));
    new.tools(SourceState::Ready, vec![json!({"name": "new"})], None, false);
    old.tools(SourceState::Ready, vec![json!({"name": "old"})], None, false);
    assert_eq!(hub.catalog().tools().next().unwrap().name(), "new");
    hub.remove(&source("a"));
    new.tools(SourceState::Ready, vec![json!({"name": "new"})], None, false);
    new.state(SourceState::Ready);
    assert!(hub.catalog().is_empty());
    assert!(hub.backend(&source("a")).is_none());
}

#[test]
fn views_are_shared_until_something_changes() {
    let hub = Hub::new(HubLimits::default());
    let a = hub.register(source("a"), SourceOptions::default(), Arc::new(Script::default()));
    a.tools(SourceState::Ready, vec![json!({"name": "x"})], None, false);
    let engine = Engine::new(hub, EngineSettings::default(), None, vec![]);
    let scope = Scope::default();
    let first = engine.view(&scope).unwrap();
    assert!(Arc::ptr_eq(&first, &engine.view(&scope).unwrap()));
    a.state(SourceState::Down { reason: "gone".into() });
    assert!(Arc::ptr_eq(&first, &engine.view(&scope).unwrap()), "a state does not change the set");
    a.tools(SourceState::Ready, vec![json!({"name": "y"})], None, false);
    assert!(!Arc::ptr_eq(&first, &engine.view(&scope).unwrap()));
    let second = engine.view(&scope).unwrap();
    engine.replace_settings(EngineSettings::default());
    assert!(!Arc::ptr_eq(&second, &engine.view(&scope).unwrap()));
}

#[test]
fn a_successor_takes_the_tools_over_until_it_has_its_own() {
    let hub = Hub::new(HubLimits::default());
    let old = hub.register(source("a"), SourceOptions::default(), Arc::new(Script::default()));
    old.tools(SourceState::Ready, vec![json!({"name": "x"})], Some("use it".into()), false);
    let new = hub.register(
        source("a"),
        SourceOptions { labels: Arc::new(Labels { always: true, ..Labels::default() }), ..SourceOptions::default() },
        Arc::new(Script::default()),
    );
    let entry = hub.catalog().sources()[&source("a")].clone();
    assert_eq!((entry.tools.len(), &entry.state, entry.stale), (1, &SourceState::Starting, true));
    assert!(entry.tools[0].always(), "under the new options");
    new.tools(SourceState::Ready, vec![json!({"name": "y"})], None, false);
    assert_eq!(hub.catalog().tools().next().unwrap().name(), "y");
}

fn labels(tag: &str) -> Arc<Labels> {
    Arc::new(Labels { tags: [tag.to_owned()].into(), ..Labels::default() })
}

#[test]
fn a_source_is_relabelled_without_being_touched() {
    let hub = Hub::new(HubLimits::default());
    let a = hub.register(source("a"), SourceOptions::default(), Arc::new(Script::default()));
    a.tools(SourceState::Ready, vec![json!({"name": "x"})], None, false);
    let options = SourceOptions {
        summary: Some("s".into()),
        labels: labels("t"),
        tools: [("z".to_owned(), labels("single"))].into(),
        ..SourceOptions::default()
    };
    hub.reconfigure(&source("a"), options);
    let entry = hub.catalog().sources()[&source("a")].clone();
    assert_eq!((entry.summary.as_deref(), &entry.state), (Some("s"), &SourceState::Ready));
    assert_eq!(entry.tools[0].tags(), ["t"]);
    a.tools(SourceState::Ready, vec![json!({"name": "y"}), json!({"name": "z"})], None, false);
    let catalog = hub.catalog();
    let tags: Vec<_> = catalog.tools().map(|tool| tool.tags()[0].as_str()).collect();
    assert_eq!(tags, ["t", "single"], "the publisher goes on under the new options");
}

#[test]
fn tools_and_source_can_come_in_one_snapshot() {
    let hub = Hub::new(HubLimits::default());
    let before = hub.catalog().generation();
    hub.replace(
        source("a"),
        SourceOptions::default(),
        Arc::new(Script::default()),
        SourceState::Ready,
        vec![json!({"name": "x"})],
    );
    assert_eq!((hub.catalog().generation(), hub.catalog().len()), (before + 1, 1));
}
