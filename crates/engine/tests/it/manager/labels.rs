//! What is said of tools of other sources: it holds over re-publication, is explained, and is never looser than policy.

use toolcrib_core::{Labels, Scope, permission::Action, shortlist::Condition};
use toolcrib_engine::{
    Engine, EngineSettings,
    manager::{Adjustment, When},
};

use super::*;

const T: &str = "mcp:s/t";

#[test]
fn what_is_said_of_a_server_s_tool_holds_whatever_the_server_publishes() {
    let manager = manager();
    let publisher = server(&manager, &["t", "u"]);
    manager.set_enabled(&id(T), false).unwrap();
    manager.update(&id(T), |said| said.priority = Some(3)).unwrap();
    let labels = |manager: &Manager| manager.hub().catalog().get(&id(T)).map(|tool| tool.labels().clone());
    assert!(labels(&manager).is_some_and(|labels| !labels.enabled && labels.priority == 3));
    // Published again, gone and back, and by a successor.
    publisher.tools(SourceState::Ready, vec![json!({"name": "t", "description": "new"})], None, false);
    assert!(labels(&manager).is_some_and(|labels| !labels.enabled && labels.priority == 3));
    publisher.tools(SourceState::Ready, vec![], None, false);
    assert!(labels(&manager).is_none());
    publisher.tools(SourceState::Ready, vec![json!({"name": "t"})], None, false);
    assert!(labels(&manager).is_some_and(|labels| !labels.enabled && labels.priority == 3));
    server(&manager, &["t"]);
    assert!(labels(&manager).is_some_and(|labels| !labels.enabled && labels.priority == 3));
    assert_eq!(manager.reset(&id(T)), Ok(true));
    assert!(labels(&manager).is_some_and(|labels| *labels == Labels::default()));
}

#[test]
fn other_words_of_the_configuration_stay_in_force() {
    let manager = manager();
    let options = |category: &str| SourceOptions {
        labels: Arc::new(Labels { category: Some(category.into()), priority: 5, ..Labels::default() }),
        ..SourceOptions::default()
    };
    let hub = manager.hub();
    let publisher = hub.register(Source::Mcp("s".into()), options("first"), Arc::new(Script::default()));
    publisher.tools(SourceState::Ready, vec![json!({"name": "t"})], None, false);
    manager.update(&id(T), |said| said.priority = Some(9)).unwrap();
    hub.reconfigure(&Source::Mcp("s".into()), options("second"));
    let labels = manager.labels(&id(T)).unwrap();
    assert_eq!((labels.category.as_deref(), labels.priority), (Some("second"), 9));
    assert_eq!(hub.catalog().get(&id(T)).unwrap().labels(), &labels);
    // An empty text takes the category away.
    manager.update(&id(T), |said| said.category = Some(String::new())).unwrap();
    assert_eq!(manager.labels(&id(T)).unwrap().category, None);
}

#[test]
fn what_only_repeats_the_source_is_not_kept() {
    let manager = manager();
    server(&manager, &["t"]);
    let changed = manager.update(&id(T), |said| {
        said.enabled = Some(true);
        said.namespace = Some("default".into());
        said.category = Some(String::new());
        said.tags = Some(vec![]);
        said.priority = Some(0);
        said.conditions = Some(vec![]);
    });
    assert_eq!(changed, Ok(false));
    assert_eq!(manager.adjustment(&id(T)), None);
}

#[test]
fn every_label_can_be_said() {
    let manager = manager();
    server(&manager, &["t"]);
    let mut events = manager.subscribe();
    let say = |said: &mut Adjustment| {
        said.namespace = Some("work".into());
        said.category = Some("files".into());
        said.tags = Some(vec!["x".into(), "y".into()]);
        said.priority = Some(-2);
        said.conditions = Some(vec![When::Mode(vec!["plan".into()]), When::Mentions(vec!["disk".into()])]);
        said.permission = Some(Action::Ask);
    };
    assert_eq!(manager.update(&id(T), say), Ok(true));
    let labels = manager.hub().catalog().get(&id(T)).unwrap().labels().clone();
    assert_eq!((labels.namespace(), labels.category.as_deref(), labels.priority), ("work", Some("files"), -2));
    assert_eq!((labels.tags.join(" ").as_str(), labels.permission), ("x y", Some(Action::Ask)));
    assert_eq!(labels.conditions[0], Condition::Mode(vec!["plan".into()]));
    assert!(matches!(&told(&mut events)[..], [Event::Adjusted { adjustment, .. }] if adjustment.priority == Some(-2)));
    assert_eq!(manager.update(&id(T), say), Ok(false));
    assert!(told(&mut events).is_empty());
}

type Say = fn(&mut Adjustment);

#[test]
fn words_that_would_break_listings_are_refused() {
    let manager = manager();
    server(&manager, &["t"]);
    let bad: [(Say, &str); 6] = [
        (|said| said.namespace = Some(String::new()), "namespace"),
        (|said| said.namespace = Some("a\nb".into()), "namespace"),
        (|said| said.category = Some(" padded".into()), "category"),
        (|said| said.tags = Some(vec!["a,b".into()]), "tag"),
        (|said| said.tags = Some(vec!["x".repeat(65)]), "tag"),
        (|said| said.tags = Some(vec!["x".into(); 33]), "number of tags"),
    ];
    for (say, what) in bad {
        let error = manager.update(&id(T), say).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
        assert_eq!(manager.adjustment(&id(T)), None);
    }
}

#[test]
fn a_tool_that_is_switched_off_is_explained_with_who_did_it_and_what_brings_it_back() {
    let manager = manager();
    server(&manager, &["t", "u"]);
    let engine = Engine::new(manager.hub().clone(), EngineSettings::default(), None, vec![]);
    let sees = |name: &str| engine.view(&Scope::default()).unwrap().set.tool(name).is_some();
    let sentence = || engine.explain(&Scope::default(), T).unwrap()[0].sentence();
    assert!(sees("s__t"));
    manager.acting_as("terminal").set_enabled(&id(T), false).unwrap();
    assert!(!sees("s__t") && sees("s__u"));
    let text = sentence();
    assert!(text.contains("switched off") && text.contains("by terminal on 20"), "{text}");
    assert!(text.contains("toolcrib tools enable \"mcp:s/t\""), "{text}");
    manager.reset(&id(T)).unwrap();
    manager.acting_as("http:ann").update(&id(T), |said| said.permission = Some(Action::Deny)).unwrap();
    assert!(!sees("s__t"));
    let text = sentence();
    assert!(text.contains("permission is deny") && text.contains("by http:ann on 20"), "{text}");
    manager.update(&id(T), |said| said.permission = Some(Action::Ask)).unwrap();
    assert!(sees("s__t"));
}

#[test]
fn who_said_something_is_who_said_it_last() {
    let manager = manager();
    server(&manager, &["t"]);
    manager.acting_as("ann").set_enabled(&id(T), false).unwrap();
    manager.acting_as("bob").set_enabled(&id(T), false).unwrap();
    assert_eq!(manager.adjustment(&id(T)).unwrap().by.as_deref(), Some("ann"), "bob changed nothing");
    manager.acting_as("bob").update(&id(T), |said| said.priority = Some(1)).unwrap();
    let said = manager.adjustment(&id(T)).unwrap();
    assert_eq!((said.by.as_deref(), said.enabled, said.priority), (Some("bob"), Some(false), Some(1)));
    assert!(said.at_ms > 0);
}
