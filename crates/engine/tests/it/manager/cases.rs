//! Registering, switching, selecting: the reference's cases and what its table of behaviour says.

use toolcrib_core::{
    permission::Action,
    shortlist::{Condition, Recent, Situation, Why},
};
use toolcrib_engine::manager::{Event, ManagerError, OnConflict};

use super::*;

#[test]
fn registering_is_told_with_name_namespace_and_switch() {
    // Case 1.
    let manager = manager();
    let mut events = manager.subscribe();
    manager.insert(plain("a").namespace("test"), OnConflict::Error).unwrap();
    manager.insert(plain("b").disabled(), OnConflict::Error).unwrap();
    let registered =
        |name, namespace: &str, enabled| Event::Registered { id: id(name), namespace: namespace.into(), enabled };
    assert_eq!(told(&mut events), [registered("a", "test", true), registered("b", "default", false)]);
}

#[test]
fn a_place_that_is_taken_is_kept_or_given_up_as_asked() {
    let with_text = |text: &str| {
        let mut registration = plain("a");
        registration.definition["description"] = text.into();
        registration
    };
    let manager = with([with_text("first").category("c").tags(["t"]).priority(7).permission(Action::Ask)]);
    let description = |manager: &Manager| manager.get(&id("a")).unwrap().tool.description().to_owned();
    assert_eq!(manager.insert(with_text("second"), OnConflict::Error).unwrap_err(), ManagerError::Taken(id("a")));
    assert_eq!(description(&manager), "first");
    // Case 2: the second one is what is there; case 19: what it says anew counts, the rest stays.
    let replaced = manager.insert(with_text("second").category("d"), OnConflict::Merge).unwrap().unwrap();
    assert_eq!(
        (description(&manager).as_str(), replaced.tool.description(), replaced.changed),
        ("second", "first", true)
    );
    let labels = manager.labels(&id("a")).unwrap();
    assert_eq!((labels.category.as_deref(), &*labels.tags, labels.priority), (Some("d"), &["t".to_owned()][..], 7));
    // A replacement brings all of its own, but never a looser permission.
    manager.insert(with_text("third").permission(Action::Allow), OnConflict::Replace).unwrap().unwrap();
    let labels = manager.labels(&id("a")).unwrap();
    assert_eq!((labels.category.as_deref(), labels.tags.len(), labels.priority), (None, 0, 0));
    assert_eq!(labels.permission, Some(Action::Ask));
}

#[test]
fn registering_again_never_loosens_a_permission() {
    let stricter = [
        (None, Some(Action::Allow), None),
        (Some(Action::Allow), None, None),
        (Some(Action::Allow), Some(Action::Allow), Some(Action::Allow)),
        (Some(Action::Ask), None, Some(Action::Ask)),
        (Some(Action::Ask), Some(Action::Allow), Some(Action::Ask)),
        (Some(Action::Deny), Some(Action::Ask), Some(Action::Deny)),
        (Some(Action::Ask), Some(Action::Deny), Some(Action::Deny)),
        (None, Some(Action::Ask), Some(Action::Ask)),
    ];
    for on in [OnConflict::Replace, OnConflict::Merge] {
        for (old, new, want) in stricter {
            let with_permission = |permission| {
                let mut registration = plain("a");
                registration.labels.permission = permission;
                registration
            };
            let manager = with([with_permission(old)]);
            manager.insert(with_permission(new), on).unwrap();
            assert_eq!(manager.labels(&id("a")).unwrap().permission, want, "{old:?} then {new:?}, {on:?}");
        }
    }
}

#[test]
fn what_an_operator_said_outlives_the_registration() {
    let manager = with([plain("a")]);
    manager.set_enabled(&id("a"), false).unwrap();
    manager.insert(plain("a"), OnConflict::Replace).unwrap();
    assert_eq!(manager.is_enabled(&id("a")), Some(false));
    manager.remove(&id("a")).unwrap();
    manager.insert(plain("a"), OnConflict::Error).unwrap();
    assert_eq!(manager.is_enabled(&id("a")), Some(false));
}

#[test]
fn a_tool_that_is_registered_switched_off_is_there() {
    // Case 3.
    let manager = with([plain("a").disabled()]);
    assert!(manager.contains(&id("a")));
    assert_eq!(manager.is_enabled(&id("a")), Some(false));
    assert!(names(&manager).is_empty());
    assert_eq!(manager.set_enabled(&id("a"), true), Ok(true));
    assert_eq!(names(&manager), ["a"]);
}

#[test]
fn what_is_not_there_is_said_not_to_be() {
    let manager = manager();
    // Case 4.
    assert_eq!(manager.remove(&id("x")), Ok(false));
    // Case 5.
    assert_eq!(manager.set_enabled(&id("x"), true), Err(ManagerError::NotFound("custom:own/x".into())));
    assert_eq!(manager.toggle(&id("x")), Ok(None));
    assert_eq!(manager.is_enabled(&id("x")), None);
    assert_eq!(
        manager.update(&id("x"), |said| said.priority = Some(1)),
        Err(ManagerError::NotFound("custom:own/x".into()))
    );
    assert!(!manager.contains(&id("x")) && manager.get(&id("x")).is_none());
    assert_eq!(manager.reset(&id("x")), Ok(false));
    assert_eq!(manager.clear(), Ok(0));
    assert_eq!(manager.namespace("nowhere").set_enabled(true), Ok(0));
}

#[test]
fn switching_tells_only_of_real_changes() {
    let manager = with([plain("a"), plain("b")]);
    let mut events = manager.subscribe();
    assert_eq!(manager.set_enabled(&id("a"), true), Ok(false));
    assert_eq!(manager.set_enabled(&id("a"), false), Ok(true));
    assert_eq!(manager.set_enabled(&id("a"), false), Ok(false));
    assert_eq!(manager.toggle(&id("a")), Ok(Some(true)));
    assert_eq!(manager.toggle(&id("a")), Ok(Some(false)));
    let on = || Event::Enabled { id: id("a") };
    let off = || Event::Disabled { id: id("a") };
    assert_eq!(told(&mut events), [off(), on(), off()]);
    let unknown = id("x");
    let outcomes = manager.set_enabled_many([&id("a"), &id("b"), &unknown], false).unwrap();
    assert_eq!((outcomes.changed, outcomes.unchanged, outcomes.unknown), (vec![id("b")], vec![id("a")], vec![unknown]));
    assert_eq!(told(&mut events), [Event::Disabled { id: id("b") }]);
}

#[test]
fn one_of_three_switched_off_leaves_the_two_others() {
    // Case 6.
    let manager = with(["a", "b", "c"].map(plain));
    manager.set_enabled(&id("b"), false).unwrap();
    assert_eq!(names(&manager), ["a", "c"]);
}

#[test]
fn priority_orders_and_the_order_of_registration_decides_between_equals() {
    // Case 7.
    let manager = with([plain("ten").priority(10), plain("hundred").priority(100), plain("fifty").priority(50)]);
    assert_eq!(names(&manager), ["hundred", "fifty", "ten"]);
    let selected = manager.select().unwrap().pick();
    let selected: Vec<&str> = selected.tools().map(|picked| picked.tool.name()).collect();
    assert_eq!(selected, ["hundred", "fifty", "ten"]);
    // Case 9.
    let manager = with(["b", "a", "c"].map(plain));
    assert_eq!(names(&manager), ["b", "a", "c"]);
    manager.update(&id("b"), |said| said.priority = Some(-1)).unwrap();
    assert_eq!(names(&manager), ["a", "c", "b"]);
    // Being replaced costs nobody the place.
    manager.insert(plain("a"), OnConflict::Replace).unwrap();
    assert_eq!(names(&manager), ["a", "c", "b"]);
}

#[test]
fn conditions_and_recent_use_narrow_a_choice() {
    // Case 8.
    let manager = with([plain("admin").when(Condition::Mode(vec!["admin".into()])), plain("both")]);
    let chosen = |mode: &str, recent: &[&str]| {
        let recent = recent.iter().map(|name| (*name).to_owned()).collect();
        let situation = Situation { mode: Some(mode.into()), recent, ..Situation::default() };
        let selected = manager.select().unwrap().when(situation, Recent::Exclude).pick();
        selected.tools().map(|picked| picked.tool.name().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(chosen("user", &[]), ["both"]);
    assert_eq!(chosen("admin", &[]), ["admin", "both"]);
    // Case 10: by exposed name.
    let exposed = manager.select().unwrap().pick().tools().nth(1).unwrap().name.to_owned();
    assert_eq!(chosen("admin", &[&exposed]), ["admin"]);
}

#[test]
fn a_test_that_panics_costs_only_its_own_tool() {
    let test: toolcrib_core::shortlist::Test = Arc::new(|_| panic!("scripted"));
    let manager = with([plain("bad").when(Condition::Test { name: "t".into(), test }), plain("good")]);
    let selected = manager.select().unwrap().when(Situation::default(), Recent::Ignore).pick();
    assert_eq!(selected.tools().len(), 1);
    assert!(matches!(selected.left_out().next(), Some((_, Why::BrokenCondition { .. }))));
}

#[test]
fn a_task_finds_what_answers_it_and_blanks_find_nothing() {
    let described = |name: &str, text: &str| {
        let mut registration = plain(name);
        registration.definition["description"] = text.into();
        registration
    };
    let manager = with([described("read_file", "Read a file."), described("send_email", "Send a letter.")]);
    let found = |text: &str| {
        let selected = manager.select().unwrap().matching(text).pick();
        selected.tools().map(|picked| picked.tool.name().to_owned()).collect::<Vec<_>>()
    };
    // Case 12.
    assert_eq!(found("please file"), ["read_file"]);
    // Case 13, ours.
    assert!(found("").is_empty() && found("  ").is_empty());
    assert_eq!(found(" file"), ["read_file"]);
}

#[test]
fn a_budget_is_filled_in_the_order_of_priority() {
    let long = |name: &str| {
        let mut registration = plain(name);
        registration.definition["description"] = "word ".repeat(400).into();
        registration
    };
    let manager = with([plain("small"), long("large").priority(5), plain("first").priority(9)]);
    let selected = manager.select().unwrap().within(200).pick();
    let names: Vec<&str> = selected.tools().map(|picked| picked.tool.name()).collect();
    // What does not fit leaves its room to later, smaller ones.
    assert_eq!(names, ["first", "small"]);
    assert!(selected.tokens() <= 200 && selected.over() == 0);
    assert!(matches!(selected.left_out().collect::<Vec<_>>()[..], [(_, Why::Budget { .. })]));
}

#[test]
fn what_is_switched_off_is_not_chosen() {
    let manager = with([plain("a"), plain("b")]);
    manager.set_enabled(&id("a"), false).unwrap();
    let selected = manager.select().unwrap().pick();
    assert_eq!(selected.tools().len(), 1);
}

#[test]
fn namespaces_are_what_tools_say_and_vanish_with_them() {
    let manager = with([plain("a")]);
    manager.namespace("fs").extend([plain("r"), plain("w")], OnConflict::Error).unwrap();
    // An empty list makes no namespace.
    manager.namespace("none").extend([], OnConflict::Error).unwrap();
    let there = |manager: &Manager| manager.namespaces().unwrap().keys().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(there(&manager), ["default", "fs"]);
    let mut events = manager.subscribe();
    assert_eq!(manager.namespace("fs").set_enabled(false), Ok(2));
    assert_eq!(manager.namespace("fs").set_enabled(false), Ok(0));
    let expected = [
        Event::Disabled { id: id("r") },
        Event::Disabled { id: id("w") },
        Event::NamespaceDisabled { namespace: "fs".into(), changed: 2 },
    ];
    assert_eq!(told(&mut events), expected);
    assert_eq!(names(&manager), ["a"]);
    assert_eq!(manager.namespace("fs").entries().unwrap().len(), 2, "switched off, not gone");
    assert_eq!(manager.namespace("fs").set_enabled(true), Ok(2));
    manager.update(&id("r"), |said| said.namespace = Some("other".into())).unwrap();
    manager.remove(&id("w")).unwrap();
    assert_eq!(there(&manager), ["default", "other"]);
    manager.update(&id("r"), |said| said.namespace = Some("default".into())).unwrap();
    assert_eq!(there(&manager), ["default"]);
}

#[test]
fn many_are_registered_together_or_not_at_all() {
    let manager = with([plain("a")]);
    let mut events = manager.subscribe();
    let before = manager.hub().catalog();
    let bad = || {
        let mut registration = plain("bad");
        registration.definition = json!({"name": "bad", "inputSchema": 5});
        registration
    };
    for attempt in [
        vec![plain("x"), plain("a")],
        vec![plain("x"), plain("x")],
        vec![plain("x"), bad()],
        vec![plain("x"), plain("y").namespace(" ")],
    ] {
        manager.extend(attempt, OnConflict::Error).unwrap_err();
    }
    assert_eq!(manager.hub().catalog().hash(), before.hash());
    assert!(told(&mut events).is_empty());
    // One snapshot for all of them.
    assert_eq!(manager.extend([plain("x"), plain("y"), plain("a")], OnConflict::Replace), Ok(1));
    assert_eq!(manager.hub().catalog().generation(), before.generation() + 1);
    assert_eq!(names(&manager), ["a", "x", "y"]);
}

#[test]
fn a_source_is_whole_and_has_a_limit() {
    let hub = Hub::new(HubLimits { tools_per_source: 2, ..HubLimits::default() });
    let manager = Manager::new(hub);
    server(&manager, &["t"]);
    let foreign = Registration { source: Source::Mcp("s".into()), ..plain("t") };
    assert_eq!(
        manager.insert(foreign, OnConflict::Replace).unwrap_err(),
        ManagerError::ForeignSource(Source::Mcp("s".into()))
    );
    let never = Registration { source: Source::Static(String::new()), ..plain("t") };
    assert!(matches!(manager.insert(never, OnConflict::Error), Err(ManagerError::ForeignSource(_))));
    manager.extend([plain("a"), plain("b")], OnConflict::Error).unwrap();
    assert!(matches!(manager.insert(plain("c"), OnConflict::Error), Err(ManagerError::Full { limit: 2, .. })));
    manager.insert(plain("b"), OnConflict::Replace).unwrap();
    manager.remove(&id("a")).unwrap();
    manager.insert(plain("c"), OnConflict::Error).unwrap();
    assert_eq!(names(&manager), ["b", "c", "t"]);
}

#[test]
fn clearing_takes_registrations_back_and_nothing_else() {
    let manager = with([plain("a"), plain("b")]);
    server(&manager, &["t"]);
    let mut events = manager.subscribe();
    assert_eq!(manager.clear(), Ok(2));
    assert_eq!(told(&mut events), [Event::Cleared { removed: 2 }]);
    assert_eq!(names(&manager), ["t"]);
    assert!(!manager.hub().catalog().sources().contains_key(&own()));
    manager.insert(plain("c"), OnConflict::Error).unwrap();
    assert_eq!(names(&manager), ["c", "t"]);
}

#[test]
fn names_lead_to_tools() {
    let manager = with([plain("a"), plain("twice")]);
    server(&manager, &["twice", "far/away"]);
    assert_eq!(manager.find("a"), Ok(id("a")));
    assert_eq!(manager.find("custom:own/a"), Ok(id("a")));
    assert_eq!(manager.find("far/away"), Ok("mcp:s/far/away".parse().unwrap()));
    let ids = vec!["mcp:s/twice".parse().unwrap(), id("twice")];
    assert_eq!(manager.find("twice"), Err(ManagerError::Ambiguous { name: "twice".into(), ids }));
    assert_eq!(manager.find("x"), Err(ManagerError::NotFound("x".into())));
}
