use serde_json::json;

use super::*;
use crate::{IngestLimits, SourceEntry, SourceState, ingest::ingest};

fn catalog() -> Catalog {
    let mut catalog = Catalog::default();
    for (source, names) in [
        ("builtin", vec!["read_file", "run_command"]),
        ("mcp:github", vec!["create_issue", "list_issues"]),
        ("mcp:slack", vec!["post"]),
    ] {
        let source: Source = source.parse().unwrap();
        let items = names.iter().map(|name| json!({"name": name})).collect();
        let (tools, _) = ingest(&source, items, &IngestLimits::default(), 100, &|_| Ok(()));
        let entry = SourceEntry::new(SourceState::Ready, tools.into_iter().map(Arc::new).collect(), vec![]);
        catalog = catalog.with_source(source, Some(Arc::new(entry)));
    }
    catalog
}

fn selectors(list: &[&str]) -> Vec<Selector> {
    list.iter().map(|text| text.parse().unwrap()).collect()
}

fn lists(allow: Option<&[&str]>, deny: &[&str]) -> Lists {
    Lists { allow: Allow::from_list(allow.map(selectors)), deny: selectors(deny), origin: "test".into() }
}

fn policy(allow: Option<&[&str]>, deny: &[&str]) -> Policy {
    let mut policy = Policy::new(Groups::default());
    policy.push(ListStage { name: "global".into(), lists: lists(allow, deny) });
    policy
}

#[track_caller]
fn kept(policy: &Policy, scope: &Scope, want: &[&str]) -> Selection {
    let selection = select(&catalog(), policy, &NameSettings::default(), scope).unwrap();
    let names: Vec<&str> = selection.kept.iter().map(|tool| tool.name()).collect();
    assert_eq!(names, want);
    assert_eq!(selection.kept.len() + selection.removed.len(), 5, "every tool has a fate");
    selection
}

#[test]
fn absent_empty_and_listed_are_three_things() {
    let all = ["read_file", "run_command", "create_issue", "list_issues", "post"];
    kept(&policy(None, &[]), &Scope::default(), &all);
    kept(&policy(Some(&[]), &[]), &Scope::default(), &[]);
    kept(&policy(Some(&["mcp:github"]), &[]), &Scope::default(), &["create_issue", "list_issues"]);
}

#[test]
fn deny_beats_allow_and_says_so() {
    let selection = kept(
        &policy(Some(&["*"]), &["mcp:github/create_*"]),
        &Scope::default(),
        &["read_file", "run_command", "list_issues", "post"],
    );
    assert_eq!(selection.removed[0].removal.rule, "deny \"mcp:github/create_*\"");
    assert!(selection.removed[0].removal.fix.contains("remove"));
}

#[test]
fn a_rule_that_names_nothing_is_kept_and_reported() {
    let selection = kept(&policy(Some(&["slack__post", "jira_*"]), &[]), &Scope::default(), &["post"]);
    assert_eq!(selection.unmatched, [("global".to_owned(), "jira_*".to_owned())]);
}

#[test]
fn unknown_profiles_and_groups_fail_closed() {
    let error = select(&catalog(), &policy(Some(&["group:nope"]), &[]), &NameSettings::default(), &Scope::default())
        .unwrap_err();
    assert!(error.to_string().contains("group:nope"), "{error}");
    let mut with_profiles = policy(None, &[]);
    with_profiles
        .push(ProfileStage { profiles: [("read".to_owned(), lists(Some(&["group:fs"]), &[]))].into(), default: None });
    let scope = Scope { profile: Some("write".into()), ..Scope::default() };
    let error = select(&catalog(), &with_profiles, &NameSettings::default(), &scope).unwrap_err();
    assert_eq!(error.to_string(), "no profile is called 'write'; configured: read");
    kept(&with_profiles, &Scope { profile: Some("read".into()), ..Scope::default() }, &["read_file"]);
}

#[test]
fn stages_only_remove() {
    let mut two = policy(Some(&["mcp:github"]), &[]);
    two.push(ListStage { name: "second".into(), lists: lists(Some(&["*"]), &["list_issues"]) });
    let selection = kept(&two, &Scope::default(), &["create_issue"]);
    assert_eq!(selection.removed.iter().filter(|r| r.stage == "global").count(), 3);
}
