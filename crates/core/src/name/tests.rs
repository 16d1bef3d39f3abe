use std::{collections::BTreeSet, sync::Arc};

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{IngestLimits, Tool, ingest::ingest};

fn id(server: &str, tool: &str) -> ToolId {
    ToolId::new(Source::Mcp(server.to_owned()), tool)
}

fn tool(source: &Source, name: &str) -> Arc<Tool> {
    let (mut tools, _) = ingest(source, vec![json!({"name": name})], &IngestLimits::default(), 1, &|_| Ok(()));
    Arc::new(tools.remove(0))
}

#[track_caller]
fn plain(server: &str, own: &str, want: &str) {
    assert_eq!(exposed_name(&id(server, own), &NameSettings::default()), want);
}

#[track_caller]
fn tailed(server: &str, own: &str, want_stem: &str) {
    let name = exposed_name(&id(server, own), &NameSettings::default());
    assert!(looks_tailed(&name), "{name}");
    assert_eq!(&name[..name.len() - TAIL], want_stem);
}

#[test]
fn a_clean_name_is_label_and_own_name() {
    plain("github", "create_issue", "github__create_issue");
    plain("a-b", "c", "a-b__c");
    plain("a", "_b", "a___b");
    plain("s", "constructor", "s__constructor");
    plain("s", "list_messages", "s__list_messages");
}

#[test]
fn a_changed_name_carries_a_tail() {
    tailed("gcal", "calendar.create_event", "gcal__calendar_create_event");
    tailed("cafe", "ouvrir_porte_fermée", "cafe__ouvrir_porte_fermee");
    tailed("s", "日本語", "s");
    tailed("日本語", "get", "x__get");
    tailed("1st", "get", "t_1st__get");
    tailed("a_", "b", "a___b");
    tailed("a__b", "c", "a__b__c");
    tailed("s", "get_user\u{200b}", "s__get_user");
    tailed("s", "ｇet", "s__get");
    tailed("s", "name_0123abcd", "s__name_0123abcd");
    tailed("s", &"x".repeat(80), &format!("s__{}", "x".repeat(52)));
}

#[test]
fn reserved_names_are_never_given_away() {
    for name in ["tool_search", "tool_describe", "tool_call"] {
        let settings = NameSettings { prefix: Prefix::None, ..NameSettings::default() };
        assert!(looks_tailed(&exposed_name(&id("s", name), &settings)));
    }
}

#[track_caller]
fn conflict(rule: Conflict, want_owner: Option<&str>, want_served: usize) {
    let tools = [
        tool(&Source::Mcp("b".into()), "x"),
        tool(&Source::Builtin, "x"),
        tool(&Source::Mcp("a".into()), "x"),
        tool(&Source::Mcp("a".into()), "y"),
    ];
    let settings = NameSettings { prefix: Prefix::None, conflict: rule, ..NameSettings::default() };
    let claims = |tools: &[Arc<Tool>]| -> Vec<Claim> {
        let claim =
            |tool: &Arc<Tool>| Claim { name: exposed_name(tool.id(), &settings), tool: tool.clone(), position: 0 };
        tools.iter().map(claim).collect()
    };
    let assignment = assign(&claims(&tools), &settings);
    assert_eq!(assignment.map.id("x").map(ToString::to_string).as_deref(), want_owner);
    assert_eq!(assignment.map.len(), want_served);
    assert_eq!(assignment.losers.len(), 4 - want_served);
    let mut reversed = tools.to_vec();
    reversed.reverse();
    let again = assign(&claims(&reversed), &settings);
    assert!(again.map.iter().eq(assignment.map.iter()), "input order must not matter");
}

#[test]
fn conflicts_follow_the_declared_rule() {
    conflict(Conflict::Priority, Some("builtin/x"), 2);
    conflict(Conflict::First, Some("builtin/x"), 2);
    conflict(Conflict::Reject, None, 1);
    conflict(Conflict::Namespace, Some("builtin/x"), 4);
}

proptest! {
    #[test]
    fn names_are_legal_and_distinct(
        pairs in proptest::collection::btree_set(("[a-c_]{1,4}|\\PC{1,8}", "[a-c_]{1,4}|\\PC{0,70}"), 1..40),
        max_length in 16usize..=64,
    ) {
        let settings = NameSettings { max_length, ..NameSettings::default() };
        let mut seen = BTreeSet::new();
        for (server, own) in &pairs {
            let name = exposed_name(&id(server, own), &settings);
            prop_assert!(name.len() <= max_length);
            prop_assert!(name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'), "{name}");
            prop_assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'), "{name}");
            prop_assert!(seen.insert(name.clone()), "{name} is given twice");
        }
    }
}
