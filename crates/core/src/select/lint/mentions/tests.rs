use std::sync::Arc;

use globset::Glob;
use serde_json::json;

use super::*;
use crate::{IngestLimits, SourceEntry, ingest::ingest};

fn catalog() -> Catalog {
    let mut catalog = Catalog::default();
    for (source, state, names) in [
        ("builtin", SourceState::Ready, vec!["current_time"]),
        ("mcp:github", SourceState::Ready, vec!["create_issue", "drop_repo"]),
        ("mcp:slow", SourceState::Starting, vec![]),
        ("mcp:broken", SourceState::Down { reason: "no such file".into() }, vec![]),
    ] {
        let source: Source = source.parse().unwrap();
        let items = names.iter().map(|name| json!({"name": name})).collect();
        let (tools, _) = ingest(&source, items, &IngestLimits::default(), 100, &|_| Ok(()));
        let entry = SourceEntry::new(state, tools.into_iter().map(Arc::new).collect(), vec![]);
        catalog = catalog.with_source(source, Some(Arc::new(entry)));
    }
    catalog
}

/// What is said of an entry; nothing where it names something.
#[track_caller]
fn check(names: Mentioned, want: Option<(FindingKind, &str)>) {
    let mention = Mention { origin: "here:1".into(), names, so: Some("it restricts nothing") };
    let found = lint_mentions(&catalog(), &AssembleSettings::default(), &[], std::slice::from_ref(&mention));
    match (&*found, want) {
        ([], None) => {}
        ([one], Some((kind, text))) => {
            assert!(one.kind == kind && one.message.contains(text), "{mention:?}: {one:?}");
            assert_eq!(one.message.ends_with("it restricts nothing"), kind == FindingKind::Unmatched, "{one:?}");
        }
        _ => panic!("{mention:?}: {found:?}"),
    }
}

#[test]
fn every_form_of_an_entry_is_looked_at() {
    use FindingKind::{Unavailable, Unmatched};
    let pattern = |text: &str| Mentioned::Pattern(text.parse().unwrap());
    let tool = |text: &str| Mentioned::Tool(text.parse().unwrap());
    let selector = |text: &str| Mentioned::Selector(text.parse().unwrap());
    let own =
        |source: &str, text: &str| Mentioned::Own(source.parse().unwrap(), Glob::new(text).unwrap().compile_matcher());
    for fine in ["github__create_issue", "mcp:github/drop_*", "mcp__github__create_issue", "current_time", "*"] {
        check(pattern(fine), None);
    }
    check(pattern("github__create_issue(x)"), None);
    check(pattern("github__create_isue"), Some((Unmatched, "the closest: github__create_issue")));
    check(pattern("mcp__github__gone"), Some((Unmatched, "no source offers")));
    check(pattern("mcp__broken__x"), Some((Unavailable, "mcp:broken is down: no such file")));
    check(pattern("mcp:broken/x"), Some((Unavailable, "mcp:broken is down: no such file")));
    check(pattern("broken__x"), Some((Unavailable, "its server is not there")));
    check(pattern("Bash(rm:*)"), Some((Unavailable, "not available here")));
    check(tool("mcp:github/create_issue"), None);
    check(tool("mcp:github/create_isue"), Some((Unmatched, "the closest: create_issue")));
    check(tool("mcp:slow/x"), Some((Unavailable, "still starting")));
    check(tool("mcp:gone/x"), Some((Unmatched, "there is no source mcp:gone")));
    check(tool("builtin/run_command"), Some((Unavailable, "not available here")));
    check(own("mcp:github", "create_*"), None);
    check(own("mcp:github", "delete_*"), Some((Unmatched, "offers no tool that it names")));
    check(own("mcp:broken", "delete_*"), Some((Unavailable, "is down")));
    check(selector("mcp:github"), None);
    check(selector("mcp:githib"), Some((Unmatched, "the closest is mcp:github")));
}
