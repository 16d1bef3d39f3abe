use std::{collections::BTreeMap, sync::Arc};

use serde_json::json;

use super::*;
use crate::{
    IngestLimits, Source, SourceEntry, SourceState,
    ingest::ingest,
    select::{Layer, Origins},
    selector::Selector,
};

fn catalog() -> Catalog {
    let mut catalog = Catalog::default();
    let long = "a_very_long_name_of_a_server_that_nobody_would_ever_type";
    for (source, state, names) in [
        ("builtin", SourceState::Ready, vec!["current_time", "run_command", "read_file"]),
        ("mcp:github", SourceState::Ready, vec!["create_issue", "drop_repo", "Create_Issue"]),
        (&format!("mcp:{long}"), SourceState::Ready, vec!["do_something_long"]),
        ("mcp:slow", SourceState::Starting, vec![]),
        ("mcp:broken", SourceState::Down { reason: "no such file".into() }, vec![]),
    ] {
        let source: Source = source.parse().unwrap();
        let items = names
            .iter()
            .map(|name| json!({"name": name, "annotations": {"destructiveHint": name.starts_with("drop")}}));
        let (tools, _) = ingest(&source, items.collect(), &IngestLimits::default(), 100, &|_| Ok(()));
        let entry = SourceEntry::new(state, tools.into_iter().map(Arc::new).collect(), vec![]);
        catalog = catalog.with_source(source, Some(Arc::new(entry)));
    }
    catalog
}

fn selectors(list: &[&str]) -> Vec<Selector> {
    list.iter().map(|text| text.parse().unwrap()).collect()
}

fn lists(allow: Option<&[&str]>, deny: &[&str]) -> Lists {
    Lists {
        allow: Allow::from_list(allow.map(selectors)),
        deny: selectors(deny),
        origins: Origins { home: "policy".into(), ..Origins::from("here:1") },
        ..Lists::default()
    }
}

/// Findings of a kind as `entry: message`.
fn found(policy: Policy, scopes: &[Scope], kind: FindingKind) -> Vec<String> {
    let settings = AssembleSettings { policy, ..AssembleSettings::default() };
    let scopes: Vec<(String, Scope)> = scopes.iter().map(|scope| ("a scope".to_owned(), scope.clone())).collect();
    let all = lint(&catalog(), &settings, &[], &scopes);
    let of_kind = all.into_iter().filter(|finding| finding.kind == kind);
    of_kind.map(|finding| format!("{}: {}", finding.entry.unwrap_or_default(), finding.message)).collect()
}

fn global(lists: Lists) -> Policy {
    let mut policy = Policy::default();
    policy.everyone.lists = lists;
    policy
}

#[track_caller]
fn entry(text: &str, kind: FindingKind, want: &str) {
    let found = found(global(lists(Some(&["*", text]), &[])), &[], kind);
    assert!(found.iter().any(|told| told.contains(want)), "{text}: {found:?}");
}

#[test]
fn an_entry_that_names_nothing_is_told_with_the_reason() {
    entry("github__create_isue", FindingKind::Unmatched, "github__create_issue");
    entry("mcp:githib", FindingKind::Unmatched, "the closest is mcp:github");
    entry("mcp:github/gone", FindingKind::Unmatched, "no source offers");
    entry("create_issue", FindingKind::Unmatched, "only by what a server says of itself; write \"mcp:github/");
    // Openclaw case 37, G8: what is shipped is known, whether it is here or not.
    entry("write_file", FindingKind::Unavailable, "not available here");
    entry("builtin/fetch_url", FindingKind::Unavailable, "not available here");
    entry("group:web", FindingKind::Unavailable, "no source offers any tool of that group");
    // G11: servers that are configured are known before they have tools.
    entry("mcp:slow", FindingKind::Unavailable, "still starting");
    entry("mcp:broken/x", FindingKind::Unavailable, "mcp:broken is down: no such file");
    entry("slow__*", FindingKind::Unavailable, "its server is not there");
    // A name that is cut: a pattern over the whole of it fits nothing.
    let pattern = "a_very_long_name_of_a_server_that_nobody_would_ever_type__do_something*";
    entry(pattern, FindingKind::Unmatched, "is long or has other characters; write \"mcp:a_very_long");
    for fine in ["github__create_issue", "mcp:github", "*", "group:fs", "Bash", "run_command"] {
        assert_eq!(found(global(lists(Some(&[fine]), &[])), &[], FindingKind::Unmatched), [""; 0], "{fine}");
    }
}

#[test]
fn entries_without_effect() {
    let policy = global(lists(Some(&["mcp:github", "read_file"]), &["mcp:github"]));
    assert_eq!(
        found(policy, &[Scope::default()], FindingKind::Shadowed),
        ["mcp:github: all that it names is denied beside it (here:1); denials win"]
    );
    let twice = found(global(lists(Some(&["*", "read_file"]), &[])), &[Scope::default()], FindingKind::Redundant);
    assert_eq!(twice, ["read_file: it adds nothing beside \"*\""]);
    // G2: allowed by an agent, removed before.
    let mut policy = global(lists(None, &["run_command"]));
    policy
        .agents
        .insert("a".into(), Layer { lists: lists(Some(&["run_command", "read_file"]), &[]), ..Layer::default() });
    let scope = Scope { agent: Some("a".into()), ..Scope::default() };
    assert_eq!(
        found(policy, &[scope], FindingKind::Shadowed),
        ["run_command: it lets nothing through: the global stage has removed all that it names before"]
    );
}

#[test]
fn lists_that_leave_nothing_and_tools_that_nobody_sees() {
    let mut policy = global(lists(Some(&["mcp:github"]), &[]));
    policy.everyone.profile = Some("minimal".into());
    let told = found(policy.clone(), &[Scope::default()], FindingKind::RemovesEverything);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("built-in profile 'minimal'; here:1"));
    let unreachable = found(policy, &[Scope::default()], FindingKind::Unreachable);
    assert!(
        unreachable.iter().any(|told| told.contains("run_command") && told.contains("profile stage")),
        "{unreachable:?}"
    );
    assert_eq!(found(global(lists(None, &["run_command"])), &[Scope::default()], FindingKind::Unreachable), [""; 0]);
    let scope = Scope { profile: Some("nope".into()), ..Scope::default() };
    let told = found(Policy::default(), &[scope], FindingKind::Unservable);
    assert!(told[0].contains("no profile is called 'nope'"));
}

#[track_caller]
fn grant(place: impl Fn(&mut Policy, Lists), lists: Lists, want: Option<&str>) {
    let mut policy = Policy::default();
    place(&mut policy, lists);
    let found = found(policy, &[], FindingKind::Unsafe);
    match want {
        Some(want) => assert!(found.iter().any(|told| told.contains(want)), "{found:?}"),
        None => assert_eq!(found, [""; 0]),
    }
}

#[test]
fn grants_that_give_too_much() {
    let sender = |key: &str| {
        let key = key.to_owned();
        move |policy: &mut Policy, lists: Lists| policy.everyone.senders = BTreeMap::from([(key.clone(), lists)])
    };
    let channel =
        |policy: &mut Policy, lists: Lists| policy.everyone.channels = BTreeMap::from([("slack".into(), lists)]);
    let minimal = |policy: &mut Policy, lists: Lists| {
        policy.profiles.insert("minimal".into(), lists);
    };
    grant(sender("*"), lists(Some(&["*"]), &[]), Some("whoever writes in a channel gets everything"));
    grant(sender("*"), lists(Some(&["group:runtime"]), &[]), Some("builtin/run_command"));
    grant(sender("*"), lists(Some(&["mcp:github"]), &[]), Some("mcp:github/drop_repo"));
    grant(sender("*"), lists(Some(&["mcp:github"]), &["*drop*"]), None);
    grant(sender("*"), lists(Some(&["read_file"]), &[]), None);
    grant(sender("*"), lists(None, &["run_command"]), None);
    grant(sender("name:Ann"), lists(Some(&["read_file"]), &[]), Some("choose their display names"));
    grant(sender("id:7"), lists(Some(&["*"]), &[]), None);
    grant(channel, lists(Some(&["*"]), &[]), Some("everybody in the channel"));
    grant(minimal, lists(Some(&["current_time", "run_command"]), &[]), Some("builtin/run_command"));
    grant(minimal, lists(None, &[]), Some("'minimal' lets through"));
    grant(minimal, lists(Some(&["current_time"]), &[]), None);
    let boxed = |policy: &mut Policy, lists: Lists| policy.everyone.sandbox = Some(lists);
    let open = Lists { unless_allowed: selectors(&["group:fs", "group:runtime"]), ..lists(None, &[]) };
    grant(
        boxed,
        Lists { also_allow: selectors(&["run_command"]), ..open.clone() },
        Some("outside of the sandbox: builtin/run_command"),
    );
    grant(boxed, Lists { also_allow: selectors(&["mcp:github"]), ..open }, None);
}

#[test]
fn names_that_are_taken_for_one_another() {
    let told = found(Policy::default(), &[Scope::default()], FindingKind::Lookalike);
    assert_eq!(told.len(), 1);
    assert!(told[0].contains("mcp:github/Create_Issue") && told[0].contains("mcp:github/create_issue"), "{told:?}");
}
