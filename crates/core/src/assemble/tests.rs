use std::collections::HashSet;

use serde_json::json;

use super::*;
use crate::{
    IngestLimits, SourceEntry, SourceState,
    explain::{Fate, explain},
    ingest::ingest,
    select::{Allow, ListStage, Lists},
    selector::Groups,
};

fn entry(source: &str, names: &[&str]) -> (Source, Arc<SourceEntry>) {
    let source: Source = source.parse().unwrap();
    let items = names
        .iter()
        .map(|name| json!({"name": name, "description": format!("Does {name}. And more."), "inputSchema": {"type": "object", "properties": {"id": {"type": "string"}}}}))
        .collect();
    let (tools, quarantined) = ingest(&source, items, &IngestLimits::default(), 1000, &|_| Ok(()));
    (source, Arc::new(SourceEntry::new(SourceState::Ready, tools.into_iter().map(Arc::new).collect(), quarantined)))
}

fn catalog() -> Catalog {
    [
        entry("mcp:slack", &["post_message", "list_channels"]),
        entry("builtin", &["read_file", "kv_get"]),
        entry("mcp:github", &["create_issue", "", "create_issue"]),
    ]
    .into_iter()
    .fold(Catalog::default(), |catalog, (source, entry)| catalog.with_source(source, Some(entry)))
}

fn shown(set: &ToolSet) -> Vec<&str> {
    set.definitions.iter().map(|definition| definition["name"].as_str().unwrap()).collect()
}

#[test]
fn core_tools_are_direct_and_the_rest_stands_behind_the_bridge() {
    let set = assemble(&catalog(), &Scope::default(), &AssembleSettings::default()).unwrap();
    assert_eq!(shown(&set), ["read_file", "tool_search", "tool_describe", "tool_call"]);
    let names: Vec<_> = set.names().collect();
    assert_eq!(names, ["github__create_issue", "kv_get", "read_file", "slack__list_channels", "slack__post_message"]);
    let listing = set.definitions[1]["description"].as_str().unwrap();
    for word in ["github", "create_issue", "slack", "post_message"] {
        assert!(listing.contains(word), "the listing must name {word}: {listing}");
    }
}

#[test]
fn built_in_tools_alone_need_no_bridge_and_a_starting_server_brings_it() {
    let builtin = [entry("builtin", &["read_file", "kv_get"])];
    let catalog = builtin
        .into_iter()
        .fold(Catalog::default(), |catalog, (source, entry)| catalog.with_source(source, Some(entry)));
    let set = assemble(&catalog, &Scope::default(), &AssembleSettings::default()).unwrap();
    assert_eq!(shown(&set), ["kv_get", "read_file"]);
    let starting = SourceEntry::new(SourceState::Starting, vec![], vec![]);
    let catalog = catalog.with_source(Source::Mcp("slow".into()), Some(Arc::new(starting)));
    let set = assemble(&catalog, &Scope::default(), &AssembleSettings::default()).unwrap();
    assert_eq!(shown(&set), ["read_file", "tool_search", "tool_describe", "tool_call"]);
}

#[test]
fn switched_off_everything_is_inline() {
    let (disclosure, _) = disclosure::resolve(&json!(false));
    let settings = AssembleSettings { disclosure, ..AssembleSettings::default() };
    let set = assemble(&catalog(), &Scope::default(), &settings).unwrap();
    assert_eq!(
        shown(&set),
        ["kv_get", "read_file", "github__create_issue", "slack__list_channels", "slack__post_message"]
    );
    assert_eq!(set.tokens.shown, set.tokens.eager);
}

#[test]
fn selectors_pin_and_defer() {
    let settings = AssembleSettings {
        always: vec!["mcp:github".parse().unwrap()],
        defer: vec!["read_file".parse().unwrap()],
        ..AssembleSettings::default()
    };
    let set = assemble(&catalog(), &Scope::default(), &settings).unwrap();
    assert_eq!(shown(&set), ["github__create_issue", "tool_search", "tool_describe", "tool_call"]);
}

/// Openclaw case 85, for servers whose hints are trusted.
#[test]
fn a_tool_may_ask_to_be_always_there() {
    for (asks, trusted, there) in [(true, true, true), (true, false, false), (false, true, false)] {
        let definition = json!({"name": "hot", "_meta": {"anthropic/alwaysLoad": asks}});
        let (tools, _) = ingest(
            &Source::Mcp("s".into()),
            vec![definition, json!({"name": "cold"})],
            &IngestLimits::default(),
            10,
            &|_| Ok(()),
        );
        let tools = tools.into_iter().map(|tool| Arc::new(tool.with_trusted_hints(trusted))).collect();
        let served = SourceEntry::new(SourceState::Ready, tools, vec![]);
        let catalog = catalog().with_source(Source::Mcp("s".into()), Some(Arc::new(served)));
        let set = assemble(&catalog, &Scope::default(), &AssembleSettings::default()).unwrap();
        assert_eq!(shown(&set).contains(&"s__hot"), there, "{asks} {trusted}");
        assert!(!shown(&set).contains(&"s__cold"));
    }
}

#[test]
fn the_order_in_which_sources_came_does_not_matter() {
    let mut entries = [entry("mcp:slack", &["a", "b"]), entry("mcp:github", &["c"]), entry("builtin", &["read_file"])];
    let build = |entries: &[(Source, Arc<SourceEntry>)]| {
        let catalog = entries.iter().fold(Catalog::default(), |catalog, (source, entry)| {
            catalog.with_source(source.clone(), Some(entry.clone()))
        });
        let set = assemble(&catalog, &Scope::default(), &AssembleSettings::default()).unwrap();
        (set.hash, serde_json::to_string(&set.definitions.iter().map(|d| &**d).collect::<Vec<_>>()).unwrap())
    };
    let first = build(&entries);
    entries.reverse();
    assert_eq!(build(&entries), first);
}

#[test]
fn every_tool_has_a_fate_that_names_cause_and_fix() {
    let mut policy = Policy::new(Groups::default());
    let lists = Lists {
        allow: Allow::All,
        deny: vec!["mcp:slack/post_*".parse().unwrap()],
        origins: "toolcrib.toml".into(),
        ..Lists::default()
    };
    policy.push(ListStage { name: "global".into(), lists });
    let settings = AssembleSettings { policy, ..AssembleSettings::default() };
    let catalog = catalog();
    let set = assemble(&catalog, &Scope::default(), &settings).unwrap();
    let all = explain(&catalog, &set, &settings, "*");
    let fates: HashSet<_> = all.iter().map(|e| (e.id.to_string(), std::mem::discriminant(&e.fate))).collect();
    // Five served or hidden tools, the nameless one, and the repeated one beside its first.
    assert_eq!(fates.len(), 7, "{all:#?}");
    let sentence = |name: &str| explain(&catalog, &set, &settings, name)[0].sentence();
    assert_eq!(
        sentence("slack__post_message"),
        "mcp:slack/post_message is hidden by the global stage (deny \"mcp:slack/post_*\", toolcrib.toml); to change that, remove \"mcp:slack/post_*\" from that deny list."
    );
    assert_eq!(
        sentence("list_channels"),
        "mcp:slack/list_channels is reachable as slack__list_channels through tool_search and tool_call."
    );
    assert!(matches!(explain(&catalog, &set, &settings, "mcp:github/")[0].fate, Fate::Quarantined { .. }));
    assert!(explain(&catalog, &set, &settings, "nothing").is_empty());
}

#[test]
fn the_hash_follows_schemas_of_deferred_tools() {
    let hash = |catalog: &Catalog| assemble(catalog, &Scope::default(), &AssembleSettings::default()).unwrap().hash;
    let before = catalog();
    let source: Source = "mcp:slack".parse().unwrap();
    let items = vec![
        json!({"name": "post_message", "inputSchema": {"type": "object", "required": ["x"]}}),
        json!({"name": "list_channels"}),
    ];
    let (tools, _) = ingest(&source, items, &IngestLimits::default(), 10, &|_| Ok(()));
    let changed = SourceEntry::new(SourceState::Ready, tools.into_iter().map(Arc::new).collect(), vec![]);
    assert_ne!(hash(&before), hash(&before.with_source(source, Some(Arc::new(changed)))));
}
