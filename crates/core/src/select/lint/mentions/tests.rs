use std::sync::Arc;

use globset::Glob;
use serde_json::json;

use super::*;
use crate::{
    IngestLimits, SourceEntry,
    categories::{Book, Offered},
    ingest::ingest,
};

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

#[test]
fn categories_that_are_not_there_are_told() {
    use FindingKind::{Shadowed, Unavailable, Unmatched};
    let mut settings = AssembleSettings::default();
    let mut book = Book { offered: Offered::Except(Patterns::parse(["secret"]).unwrap()), ..Book::default() };
    let tools = |text: &str| [text.parse().unwrap()];
    book.upsert_tools("Code".parse().unwrap(), tools("mcp:github/create_*"));
    book.upsert_tools("secret".parse().unwrap(), tools("mcp:github/drop_*"));
    book.upsert_tools("empty".parse().unwrap(), tools("mcp:github/none"));
    settings.policy.categories = Some(Arc::new(book));
    let ready = catalog().with_source("mcp:slow".parse().unwrap(), None);
    let ready = ready.with_source("mcp:broken".parse().unwrap(), None);
    let source: Source = "connector:crm:eu".parse().unwrap();
    let (found, _) = ingest(&source, vec![json!({"name": "find"})], &IngestLimits::default(), 100, &|_| Ok(()));
    let entry = SourceEntry::new(SourceState::Ready, found.into_iter().map(Arc::new).collect(), vec![]);
    let ready = ready.with_source(source, Some(Arc::new(entry)));
    let look = |catalog: &Catalog, names: Mentioned| {
        let mention = Mention { origin: "here:1".into(), names, so: None };
        lint_mentions(catalog, &settings, &[], &[mention]).pop().map(|one| (one.kind, one.message))
    };
    let check = |names: Mentioned, want: Option<(FindingKind, &str)>| {
        let found = look(&ready, names.clone());
        let said = found.as_ref().map(|(kind, text)| (*kind, text.as_str()));
        match (said, want) {
            (None, None) => {}
            (Some((kind, text)), Some((wanted, part))) if kind == wanted && text.contains(part) => {}
            _ => panic!("{names:?}: {said:?}, not {want:?}"),
        }
    };
    let category = |text: &str| Mentioned::Category(text.parse().unwrap());
    let fitting = |text: &str| Mentioned::Categories(Patterns::parse([text]).unwrap(), text.to_owned());
    let connector = |text: &str| Mentioned::Connector(text.parse().unwrap());
    check(category("code"), None);
    check(category("cod"), Some((Unmatched, "the closest: Code")));
    check(category("empty"), Some((Unmatched, "no tool is in it")));
    check(category("secret"), Some((Shadowed, "out of categories.except")));
    check(category("connector:crm:eu"), None);
    check(category("connector:crm"), Some((Unmatched, "no tool is in it")));
    check(fitting("co*"), None);
    check(fitting("SECRET"), None);
    check(fitting("x*"), Some((Unmatched, "no category that has tools fits it")));
    check(connector("crm"), None);
    check(connector("crm:eu"), None);
    check(connector("crm:us"), Some((Unmatched, "no such connector")));
    // While servers are missing nobody knows.
    let (kind, text) = look(&catalog(), category("cod")).unwrap();
    assert!(kind == Unavailable && text.contains("not there yet: mcp:broken, mcp:slow"), "{text}");
}
