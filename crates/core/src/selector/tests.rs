use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::{
    IngestLimits, Labels,
    ingest::ingest,
    name::{NameSettings, exposed_name},
    permission::RiskRule,
};

fn tool(source: &str, name: &str) -> Tool {
    let definition = json!({"name": name, "annotations": {"readOnlyHint": name.starts_with("get")}});
    let (mut tools, _) = ingest(&source.parse().unwrap(), vec![definition], &IngestLimits::default(), 1, &|_| Ok(()));
    tools.remove(0).with_labels(Arc::new(Labels {
        tags: Arc::from(["work".to_owned()]),
        category: Some("notes".into()),
        ..Labels::default()
    }))
}

#[track_caller]
fn check(selector: &str, source: &str, name: &str, want: bool) {
    let tool = tool(source, name);
    let exposed = exposed_name(tool.id(), &NameSettings::default());
    let selector: Selector = selector.parse().unwrap();
    assert_eq!(selector.matches(&tool, &exposed, &Groups::default()), want, "{selector} on {}", tool.id());
}

#[test]
fn every_form_of_the_vocabulary() {
    check("*", "mcp:github", "get_me", true);
    check("readonly", "mcp:github", "get_me", true);
    check("readonly", "mcp:github", "create", false);
    check("github__get_me", "mcp:github", "get_me", true);
    check("get_me", "mcp:github", "get_me", true);
    check("get_*", "mcp:github", "get_me", true);
    check("github__*", "mcp:github", "get_me", true);
    check("github__*", "mcp:gitlab", "get_me", false);
    check("mcp:github", "mcp:github", "get_me", true);
    check("mcp:github", "mcp:gitlab", "get_me", false);
    check("mcp:github", "static:github", "get_me", false);
    check("mcp:github/get_me", "mcp:github", "get_me", true);
    check("mcp:github/get_me", "mcp:other", "get_me", false);
    check("mcp:github/get*", "mcp:github", "get_me", true);
    check("mcp:*/get_me", "mcp:other", "get_me", true);
    check("builtin", "builtin", "read_file", true);
    check("builtin/read_file", "builtin", "read_file", true);
    check("builtin/read_file", "mcp:x", "read_file", false);
    check("plugin:notes", "plugin:notes", "add", true);
    check("notes", "plugin:notes", "add", true);
    check("connector:crm", "connector:crm:eu", "find", true);
    check("connector:crm:us", "connector:crm:eu", "find", false);
    check("group:fs", "builtin", "read_file", true);
    check("group:fs", "mcp:x", "read_file", false);
    check("group:mcp", "mcp:x", "read_file", true);
    check("group:unknown", "mcp:x", "read_file", false);
    check("tag:work", "mcp:x", "a", true);
    check("tag:play", "mcp:x", "a", false);
    // The case of letters does not count, but in what comes from keys.
    check("TAG:Work", "mcp:x", "a", true);
    check("ReadOnly", "mcp:github", "get_me", true);
    check("namespace:Default", "mcp:x", "a", true);
    check("Risk:High", "builtin", "run_command", true);
    check("Group:FS", "builtin", "read_file", true);
    check("GitHub__Get_Me", "mcp:github", "get_me", true);
    check("mcp:GitHub", "mcp:github", "get_me", false);
    check("static", "static:slack", "post", true);
    check("category:notes", "mcp:x", "a", true);
    check("category:tag", "mcp:x", "a", false);
    check("namespace:default", "mcp:x", "a", true);
    check("namespace:work", "mcp:x", "a", false);
    // Where a list takes away: of this level or worse.
    check("risk:high", "builtin", "run_command", true);
    check("risk:medium", "builtin", "run_command", true);
    check("risk:critical", "builtin", "run_command", false);
    check("risk:medium", "builtin", "read_file", false);
    check("risk:medium", "mcp:x", "a", true);
}

#[test]
fn a_text_that_is_no_selector_is_refused() {
    for text in [
        "",
        "  ",
        "[",
        "a{",
        "risk:",
        "risk:some",
        "category:",
        "namespace:",
        "tag:",
        "group:",
        "category:we\u{202e}b",
        "a\u{200b}b",
        &"x".repeat(600),
    ] {
        assert!(text.parse::<Selector>().is_err(), "{text:?}");
    }
}

#[test]
fn a_cycle_of_groups_matches_nothing_and_is_refused() {
    let mut groups = Groups::default();
    groups.insert("a", vec!["group:b".parse().unwrap()]);
    groups.insert("b", vec!["group:a".parse().unwrap()]);
    let selector: Selector = "group:a".parse().unwrap();
    assert!(!selector.matches(&tool("builtin", "x"), "x", &groups));
    assert!(matches!(groups.check(&selector), Err(GroupError::Cycle { .. })));
}

#[test]
fn local_rules_of_risk_count_and_never_depend_on_themselves() {
    let rule = |selector: &str, risk| RiskRule { selector: selector.parse().unwrap(), risk: Some(risk), effect: None };
    let groups =
        Groups::default().with_risks(vec![rule("mcp:x/drop", Risk::Critical), rule("builtin/read_file", Risk::High)]);
    let holds = |selector: &str, source: &str, name: &str| {
        let selectors: [Selector; 1] = [selector.parse().unwrap()];
        let tool = tool(source, name);
        let found = selectors[0].matches(&tool, name, &groups);
        let ready = matcher::Matcher::new(&selectors, &groups, Side::Restrict);
        let within = ready.enter(tool.source());
        assert_eq!(within.first(&matcher::Subject::new(&tool, name)).is_some(), found, "{selector} on {name}");
        found
    };
    assert!(holds("risk:critical", "mcp:x", "drop"));
    assert!(!holds("risk:critical", "mcp:x", "get"));
    assert!(!holds("risk:critical", "builtin", "run_command"));
    assert!(holds("risk:high", "builtin", "read_file"));
    assert!(!holds("risk:critical", "builtin", "read_file"));
}

#[test]
fn a_category_is_its_list_and_its_label() {
    let mut groups = Groups::default();
    groups
        .insert_category("Web".parse().unwrap(), vec!["mcp:browser/*".parse().unwrap(), "fetch_url".parse().unwrap()]);
    groups.insert_category("ring".parse().unwrap(), vec!["category:ring".parse().unwrap()]);
    for (selector, source, name, want) in [
        ("category:web", "mcp:browser", "open", true),
        ("category:web", "builtin", "fetch_url", true),
        ("category:WEB", "builtin", "fetch_url", true),
        ("Category:Notes", "mcp:other", "open", true),
        ("category:connector:crm:eu", "connector:crm:eu", "find", true),
        ("category:connector:crm:us", "connector:crm:eu", "find", false),
        ("category:connector:CRM:eu", "connector:crm:eu", "find", false),
        ("category:web", "mcp:other", "open", false),
        ("category:notes", "mcp:other", "open", true),
        ("category:ring", "mcp:other", "open", false),
    ] {
        let selectors: [Selector; 1] = [selector.parse().unwrap()];
        let tool = tool(source, name);
        assert_eq!(selectors[0].matches(&tool, name, &groups), want, "{selector} on {source}/{name}");
        let ready = matcher::Matcher::new(&selectors, &groups, Side::Restrict);
        let found = ready.enter(tool.source()).first(&matcher::Subject::new(&tool, name)).is_some();
        assert_eq!(found, want, "{selector} on {source}/{name}");
    }
}

#[test]
fn what_a_server_says_of_itself_never_lets_it_through() {
    let grants = |selector: &str, source: &str, name: &str| {
        let tool = tool(source, name);
        let exposed = exposed_name(tool.id(), &NameSettings::default());
        selector.parse::<Selector>().unwrap().grants(&tool, &exposed, &Groups::default())
    };
    for (selector, source, name, want) in [
        ("readonly", "mcp:evil", "get_all", false),
        ("readonly", "builtin", "get_all", true),
        ("read_file", "mcp:evil", "read_file", false),
        ("read_file", "builtin", "read_file", true),
        ("read_*", "mcp:evil", "read_file", false),
        ("evil__read_file", "mcp:evil", "read_file", true),
        ("mcp:evil/read_file", "mcp:evil", "read_file", true),
        ("group:fs", "mcp:evil", "read_file", false),
        ("tag:work", "mcp:x", "a", true),
        ("category:notes", "mcp:x", "a", true),
        // Of this level or better; a server's own word that it only reads makes it no better than medium.
        ("risk:low", "builtin", "read_file", true),
        ("risk:low", "mcp:evil", "get_all", false),
        ("risk:medium", "mcp:evil", "get_all", true),
        ("risk:high", "builtin", "current_time", true),
        ("risk:medium", "builtin", "run_command", false),
        ("*", "mcp:x", "a", true),
    ] {
        assert_eq!(grants(selector, source, name), want, "{selector} on {source}/{name}");
    }
    let trusted = tool("mcp:good", "get_all").with_trusted_hints(true);
    assert!("readonly".parse::<Selector>().unwrap().grants(&trusted, "good__get_all", &Groups::default()));
}
