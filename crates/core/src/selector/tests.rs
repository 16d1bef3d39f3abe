use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::{
    IngestLimits,
    ingest::ingest,
    name::{NameSettings, exposed_name},
};

fn tool(source: &str, name: &str) -> Tool {
    let definition = json!({"name": name, "annotations": {"readOnlyHint": name.starts_with("get")}});
    let (mut tools, _) = ingest(&source.parse().unwrap(), vec![definition], &IngestLimits::default(), 1, &|_| Ok(()));
    tools.remove(0).with_tags(Arc::from(["work".to_owned()]))
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
    check("static", "static:slack", "post", true);
}

#[test]
fn a_text_that_is_no_selector_is_refused() {
    for text in ["", "  ", "[", "a{", "risk:high", &"x".repeat(600)] {
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
        ("*", "mcp:x", "a", true),
    ] {
        assert_eq!(grants(selector, source, name), want, "{selector} on {source}/{name}");
    }
    let trusted = tool("mcp:good", "get_all").with_trusted_hints(true);
    assert!("readonly".parse::<Selector>().unwrap().grants(&trusted, "good__get_all", &Groups::default()));
}
