//! Numbers are those of the cases in the reference on OpenClaw and OpenClaude; `G` numbers are the complaints of their
//! users.

mod order;
mod properties;

use std::{collections::BTreeSet, sync::Arc};

use serde_json::json;

use super::*;
use crate::{
    IngestLimits, Labels, Source, SourceEntry, SourceState, ToolId,
    assemble::{AssembleSettings, Incomplete, assemble},
    ingest::ingest,
    permission::{Action, ToolPattern},
    selector::{Groups, Selector},
};

const TOOLS: &[(&str, &[&str])] = &[
    ("builtin", &["current_time", "edit_file", "fetch_url", "read_file", "run_command", "write_file"]),
    ("plugin:notes", &["add_note", "spawn_agent", "sessions_send"]),
    ("plugin:labs", &["search", "draw"]),
    ("mcp:bridge", &["search", "read_file"]),
    ("mcp:github", &["create_issue", "subscribe_pr_activity"]),
];

fn catalog_of(tools: &[(&str, &[&str])]) -> Catalog {
    let mut catalog = Catalog::default();
    for (source, names) in tools {
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

fn named(list: &[&str]) -> Named {
    Named { selectors: selectors(list), origin: "test".into() }
}

/// `None` as the allow list is no list.
fn lists(allow: Option<&[&str]>, deny: &[&str]) -> Lists {
    Lists {
        allow: Allow::from_list(allow.map(selectors)),
        deny: selectors(deny),
        origins: "test".into(),
        ..Lists::default()
    }
}

fn also(list: &[&str]) -> Lists {
    Lists { also_allow: selectors(list), origins: "test".into(), ..Lists::default() }
}

fn global(allow: Option<&[&str]>, deny: &[&str]) -> Policy {
    let mut policy = Policy::default();
    policy.everyone.lists = lists(allow, deny);
    policy
}

fn kept(policy: &Policy, scope: &Scope) -> BTreeSet<String> {
    let selection = select(&catalog_of(TOOLS), policy, &NameSettings::default(), scope).unwrap();
    assert_eq!(selection.kept.len() + selection.removals.len(), 15, "every tool has a fate");
    selection.kept.iter().map(|claim| claim.tool.id().to_string()).collect()
}

/// Which of these tools stay.
#[track_caller]
fn check(policy: &Policy, scope: &Scope, stay: &[&str], go: &[&str]) {
    let kept = kept(policy, scope);
    for id in stay {
        assert!(kept.contains(*id), "{id} should stay: {kept:?}");
    }
    for id in go {
        assert!(!kept.contains(*id), "{id} should go: {kept:?}");
    }
}

#[track_caller]
fn exactly(policy: &Policy, scope: &Scope, want: &[&str]) {
    let want: BTreeSet<String> = want.iter().map(|id| (*id).to_owned()).collect();
    assert_eq!(kept(policy, scope), want);
}

/// The stage and the reason for which a tool is gone.
#[track_caller]
fn reason(policy: &Policy, scope: &Scope, id: &str) -> (String, Removal) {
    let selection = select(&catalog_of(TOOLS), policy, &NameSettings::default(), scope).unwrap();
    let removed = selection.removals.iter().find(|removed| removed.tool.id().to_string() == id).expect(id);
    (selection.removals.stage(removed).to_owned(), selection.removals.removal(removed))
}

fn everybody() -> Scope {
    Scope::default()
}

fn cap(allow: Option<&[&str]>, deny: &[&str]) -> Cap {
    Cap { allow: Allow::from_list(allow.map(selectors)), deny: selectors(deny), origin: "this run".into() }
}

const NOTHING: [&str; 0] = [];

#[test]
fn absent_empty_and_listed_are_three_things() {
    let all: Vec<String> = kept(&Policy::default(), &everybody()).into_iter().collect();
    assert_eq!(all.len(), 15);
    exactly(&global(Some(&[]), &[]), &everybody(), &NOTHING);
    // 21: no list and a denial.
    check(
        &global(None, &["run_command"]),
        &everybody(),
        &["builtin/read_file", "mcp:github/create_issue"],
        &["builtin/run_command"],
    );
    // 22: an empty list for a run means nothing, as everywhere.
    exactly(&Policy::default(), &Scope { caps: vec![cap(Some(&[]), &[])], ..everybody() }, &NOTHING);
}

#[test]
fn names_of_other_hosts_case_and_groups() {
    // 24, and its kin.
    for name in ["Bash", "bash", "exec", "EXEC", "run_command", "Run_Command"] {
        exactly(&global(Some(&[name]), &[]), &everybody(), &["builtin/run_command"]);
    }
    // 25.
    exactly(
        &global(Some(&["group:fs"]), &[]),
        &everybody(),
        &["builtin/read_file", "builtin/write_file", "builtin/edit_file"],
    );
    // 27, otherwise here: a name means what it names, and group:fs or two names mean both.
    exactly(&global(Some(&["Write"]), &[]), &everybody(), &["builtin/write_file"]);
    exactly(
        &global(Some(&["write_file", "apply_patch"]), &[]),
        &everybody(),
        &["builtin/edit_file", "builtin/write_file"],
    );
    // 30.
    check(
        &global(Some(&["*"]), &["group:plugins"]),
        &everybody(),
        &["builtin/read_file", "mcp:bridge/search"],
        &["plugin:notes/add_note", "plugin:labs/draw"],
    );
    check(
        &global(None, &["LABS"]),
        &everybody(),
        &["plugin:notes/add_note"],
        &["plugin:labs/draw", "plugin:labs/search"],
    );
    // A name that a server chose lets nothing through, whatever its case.
    exactly(&global(Some(&["Read_File"]), &[]), &everybody(), &["builtin/read_file"]);
    exactly(&global(Some(&["mcp:github/Create_Issue"]), &[]), &everybody(), &NOTHING);
    check(&global(None, &["mcp:github/Create_Issue"]), &everybody(), &[], &["mcp:github/create_issue"]);
    let mut policy = global(Some(&["ticket"]), &[]);
    policy.groups.alias("Ticket", "mcp:github/create_issue".parse().unwrap());
    exactly(&policy, &everybody(), &["mcp:github/create_issue"]);
}

#[track_caller]
fn refused(policy: &Policy, scope: &Scope, want: &str) {
    let error = select(&catalog_of(TOOLS), policy, &NameSettings::default(), scope).err().unwrap();
    assert_eq!(error.to_string(), want);
}

#[test]
fn what_cannot_be_judged_is_refused() {
    // 26, otherwise here: a group that does not exist fails closed.
    let known = "agent-control, agents, builtin, connectors, coordinator, fs, mcp, memory, plugins, runtime, web";
    let want = format!("global names 'group:nope' (test): 'group:nope' names no group; known groups: {known}");
    refused(&global(Some(&["group:nope"]), &[]), &everybody(), &want);
    let profiles = "coding, full, messaging, minimal";
    let scope = Scope { profile: Some("nope".into()), ..everybody() };
    refused(&Policy::default(), &scope, &format!("no profile is called 'nope'; configured: {profiles}"));
    let mut policy = Policy::default();
    policy.agents.insert("lead".into(), Layer::default());
    let scope = Scope { agent: Some("laed".into()), ..everybody() };
    refused(
        &policy,
        &scope,
        "no agent is called 'laed'; configured: lead; an entry agents.\"*\" would stand for all others",
    );
    policy.agents.insert("*".into(), Layer::default());
    assert!(policy.check(&scope).is_ok());
    let mut circle = global(Some(&["group:a"]), &[]);
    circle.groups.insert("a", selectors(&["group:b", "builtin"]));
    circle.groups.insert("b", selectors(&["group:c"]));
    circle.groups.insert("c", selectors(&["group:b"]));
    refused(
        &circle,
        &everybody(),
        "global names 'group:a' (test): groups go in a circle: b names c names b; take one of them out of the other",
    );
    let mut inner = global(Some(&["group:a"]), &[]);
    inner.groups.insert("a", selectors(&["group:gone"]));
    assert!(inner.check(&everybody()).is_err(), "an unknown group within a group");
    // Required tools as well: of everybody, of the agent, of the run.
    let required = |origin: &str| Named { selectors: selectors(&["group:gone"]), origin: origin.into() };
    let mut everyone = Policy::default();
    everyone.everyone.required = required("policy.required");
    assert!(everyone.check(&everybody()).unwrap_err().to_string().contains("required names 'group:gone'"));
    let mut of_agent = Policy::default();
    of_agent.agents.insert("lead".into(), Layer { required: required("agents.lead.required"), ..Layer::default() });
    assert!(of_agent.check(&everybody()).is_ok(), "another's");
    let lead = Scope { agent: Some("lead".into()), ..everybody() };
    assert!(of_agent.check(&lead).unwrap_err().to_string().contains("agents.lead.required"));
    let run = Scope { required: selectors(&["group:gone"]), ..everybody() };
    assert!(Policy::default().check(&run).is_err());
    let mut deep = Arc::new(everybody());
    for _ in 0..=MAX_DEPTH {
        deep = Arc::new(deep.child(None));
    }
    refused(&Policy::default(), &deep, "the scope has 9 agents above it; at most 8 are taken");
    let many = Scope { caps: vec![cap(None, &[]); 33], ..everybody() };
    refused(&Policy::default(), &many, "the run brings 33 pairs of lists; at most 32 are taken");
}

#[test]
fn groups_name_groups() {
    let mut policy = global(Some(&["group:mine"]), &[]);
    policy.groups.insert("mine", selectors(&["group:runtime", "group:more"]));
    policy.groups.insert("more", selectors(&["mcp:bridge/search"]));
    exactly(&policy, &everybody(), &["builtin/run_command", "mcp:bridge/search"]);
}

#[test]
fn profiles_and_what_is_allowed_beside_them() {
    let with = |profile: &str| Scope { profile: Some(profile.into()), ..everybody() };
    exactly(&Policy::default(), &with("minimal"), &["builtin/current_time"]);
    check(
        &Policy::default(),
        &with("coding"),
        &["builtin/run_command", "mcp:github/create_issue"],
        &["plugin:labs/draw"],
    );
    check(
        &Policy::default(),
        &with("messaging"),
        &["mcp:github/create_issue", "builtin/current_time"],
        &["builtin/run_command", "builtin/read_file", "plugin:labs/draw"],
    );
    assert_eq!(kept(&Policy::default(), &with("full")).len(), 15);
    // 29: an additive list alone takes nothing away, and names optional tools.
    let mut policy = Policy::default();
    policy.optional = named(&["mcp:bridge"]);
    policy.everyone.lists = also(&["bridge__search"]);
    check(&policy, &everybody(), &["mcp:bridge/search", "builtin/run_command"], &["mcp:bridge/read_file"]);
    // Beside the choice of a profile it widens that profile, but not one that somebody else chose.
    let mut policy = Policy::default();
    policy.everyone.profile = Some("minimal".into());
    policy.everyone.lists = also(&["mcp:github"]);
    check(&policy, &everybody(), &["mcp:github/create_issue", "builtin/current_time"], &["mcp:bridge/search"]);
    check(&policy, &with("messaging"), &["mcp:bridge/search"], &[]);
    exactly(&policy, &with("minimal"), &["builtin/current_time"]);
    // An agent's profile replaces the default one.
    policy
        .agents
        .insert("a".into(), Layer { profile: Some("coding".into()), lists: also(&["labs"]), ..Layer::default() });
    let agent = Scope { agent: Some("a".into()), ..everybody() };
    check(&policy, &agent, &["builtin/run_command", "plugin:labs/draw"], &["plugin:notes/add_note"]);
}

#[test]
fn models_by_the_longest_key_that_fits() {
    // 32.
    let mut policy = Policy::default();
    let rule = |deny: &[&str]| ModelRule { lists: lists(None, deny), profile: None };
    policy.everyone.models.insert("openai".into(), rule(&["run_command"]));
    policy.everyone.models.insert("openai/gpt-x".into(), rule(&["fetch_url"]));
    let with = |model: &str| Scope { model: Some(Model::new(model)), ..everybody() };
    check(&policy, &with("OpenAI/GPT-X"), &["builtin/run_command"], &["builtin/fetch_url"]);
    check(&policy, &with("openai/other"), &["builtin/fetch_url"], &["builtin/run_command"]);
    check(&policy, &with("openai"), &["builtin/fetch_url"], &["builtin/run_command"]);
    check(&policy, &with("openairy/gpt-x"), &["builtin/run_command", "builtin/fetch_url"], &[]);
    policy.everyone.models.insert(
        "openai/gpt-x".into(),
        ModelRule { profile: Some("minimal".into()), lists: also(&["labs__*", "labs"]) },
    );
    exactly(&policy, &with("openai/gpt-x"), &["builtin/current_time", "plugin:labs/draw", "plugin:labs/search"]);
    assert_eq!(reason(&policy, &with("openai/gpt-x"), "builtin/read_file").0, "provider profile");
}

#[test]
fn channels_and_senders() {
    let mut policy = Policy::default();
    policy.everyone.channels.insert("slack".into(), lists(None, &["fetch_url"]));
    policy.everyone.channels.insert("slack:c1".into(), lists(None, &["read_file"]));
    policy.everyone.channels.insert("*".into(), lists(Some(&["current_time"]), &[]));
    policy.everyone.senders.insert("*".into(), lists(None, &["run_command"]));
    policy.everyone.senders.insert("id:42".into(), Lists::default());
    let at = |channel: &str, sender: &[&str]| {
        let mut scope = Scope { channel: Some(channel.into()), ..everybody() };
        for text in sender {
            scope.sender.get_or_insert_default().tell(text);
        }
        scope
    };
    check(&policy, &everybody(), &["builtin/run_command", "builtin/fetch_url"], &[]);
    check(&policy, &at("slack:c1", &["42"]), &["builtin/fetch_url", "builtin/run_command"], &["builtin/read_file"]);
    check(&policy, &at("slack:c2", &["id:42"]), &["builtin/run_command"], &["builtin/fetch_url"]);
    // Somebody who is not known is everybody else.
    check(&policy, &at("slack:c1", &[]), &[], &["builtin/run_command", "builtin/read_file"]);
    check(&policy, &at("slack:c1", &["7"]), &[], &["builtin/run_command"]);
    exactly(&policy, &at("mail", &["42"]), &["builtin/current_time"]);
    // 33: an agent's entry replaces everybody's, even an empty one.
    let mut agent = Layer::default();
    agent.senders.insert("*".into(), Lists::default());
    policy.agents.insert("a".into(), agent);
    let scope = Scope { agent: Some("a".into()), ..at("slack:c2", &["7"]) };
    check(&policy, &scope, &["builtin/run_command"], &["builtin/fetch_url"]);
    // Keys in their order, each compared as its kind is.
    let mut sender = Sender::default();
    for text in ["phone:+49 (30) 1", "username:@Ann", "name:Ann", "id:7"] {
        sender.tell(text);
    }
    assert_eq!(sender.keys().collect::<Vec<_>>(), ["id:7", "phone:49301", "username:ann", "name:Ann"]);
    assert_eq!(sender_key("username:@ANN"), "username:ann");
}

#[test]
fn conditions() {
    let mut policy = Policy::default();
    policy.owner_only = named(&["group:runtime"]);
    policy.capabilities.insert("canvas".into(), named(&["labs"]));
    // 34.
    check(&policy, &everybody(), &[], &["builtin/run_command"]);
    check(&policy, &Scope { owner: true, ..everybody() }, &["builtin/run_command"], &[]);
    // 17.
    check(&policy, &everybody(), &["plugin:notes/add_note"], &["plugin:labs/draw"]);
    check(&policy, &Scope { capabilities: ["canvas".to_owned()].into(), ..everybody() }, &["plugin:labs/draw"], &[]);
    check(&policy, &Scope { capabilities: ["canva".to_owned()].into(), ..everybody() }, &[], &["plugin:labs/draw"]);
}

#[test]
fn optional_tools_want_to_be_named() {
    let optional = |allow: Option<&[&str]>, deny: &[&str]| {
        let mut policy = global(allow, deny);
        policy.optional = named(&["group:plugins", "mcp:bridge"]);
        policy
    };
    // 2, 3.
    check(&optional(None, &[]), &everybody(), &["builtin/read_file"], &["plugin:labs/draw", "mcp:bridge/search"]);
    // 4.
    for entry in ["draw", "labs", "plugin:labs", "group:plugins", "*", "dr*", "plugin:labs/draw"] {
        check(&optional(Some(&[entry]), &[]), &everybody(), &["plugin:labs/draw"], &[]);
    }
    // 5.
    check(&optional(Some(&["BRIDGE__*"]), &[]), &everybody(), &["mcp:bridge/search"], &[]);
    // 6: a grant means one tool of one owner.
    let granted = Scope { grants: ["plugin:labs/search".parse().unwrap()].into(), ..everybody() };
    check(&optional(None, &[]), &granted, &["plugin:labs/search"], &["mcp:bridge/search", "plugin:labs/draw"]);
    // 7.
    check(&optional(None, &["plugin:labs/search"]), &granted, &[], &["plugin:labs/search"]);
    // A grant for a run does not open a list.
    check(&optional(Some(&["read_file"]), &[]), &granted, &[], &["plugin:labs/search"]);
}

#[test]
fn what_permissions_deny_whole_is_not_shown() {
    let denied = |text: &str| {
        let pattern: ToolPattern = text.parse().unwrap();
        let mut policy = Policy::default();
        policy.denied = vec![DeniedTools { pattern, origin: "test".into() }];
        policy
    };
    // 41.
    for rule in ["mcp__github", "mcp__github__*", "mcp:github"] {
        check(&denied(rule), &everybody(), &["mcp:bridge/search"], &["mcp:github/create_issue"]);
    }
    // 43, 44, 72a.
    check(&denied("Bash(rm:*)"), &everybody(), &["builtin/run_command"], &[]);
    for rule in ["Bash", "Bash(*)", "Bash()"] {
        check(&denied(rule), &everybody(), &["builtin/read_file"], &["builtin/run_command"]);
    }
    let (stage, removal) = reason(&denied("Bash"), &everybody(), "builtin/run_command");
    assert_eq!(
        (stage.as_str(), removal.rule.as_str()),
        ("permissions", "permissions deny \"Bash\", so no call of it could run")
    );
}

#[test]
fn a_sandbox_leaves_out_what_acts_outside_of_it() {
    let boxed = Scope { sandbox: true, ..everybody() };
    check(
        &Policy::default(),
        &boxed,
        &["builtin/fetch_url", "mcp:github/create_issue"],
        &["builtin/run_command", "builtin/read_file"],
    );
    // An explicit entry lifts the default denial.
    let mut policy = Policy::default();
    policy.everyone.sandbox =
        Some(Lists { unless_allowed: selectors(&["group:fs", "group:runtime"]), ..also(&["read_file"]) });
    check(&policy, &boxed, &["builtin/read_file", "builtin/fetch_url"], &["builtin/run_command"]);
    // An agent that is sandboxed cannot say otherwise.
    policy.agents.insert("a".into(), Layer { sandboxed: true, ..Layer::default() });
    check(&policy, &Scope { agent: Some("a".into()), ..everybody() }, &[], &["builtin/run_command"]);
}

#[test]
fn sub_agents_and_their_parents() {
    let parent = Arc::new(everybody());
    let child = parent.child(None);
    // 35: at the deepest, and above.
    check(
        &Policy::default(),
        &child,
        &["builtin/run_command"],
        &["plugin:notes/spawn_agent", "plugin:notes/sessions_send"],
    );
    let mut deeper = Policy::default();
    deeper.everyone.sub_agents = Some(SubAgents { max_depth: 2, ..SubAgents::default() });
    check(&deeper, &child, &["plugin:notes/spawn_agent"], &["plugin:notes/sessions_send"]);
    // A role that says leaf is believed.
    check(&deeper, &Scope { role: Some(Role::Leaf), ..child.clone() }, &[], &["plugin:notes/spawn_agent"]);
    check(&Policy::default(), &Scope { role: Some(Role::Leaf), ..everybody() }, &[], &["plugin:notes/spawn_agent"]);
    // Named, it is there again; 36: but not against a denial.
    let allowing = |allow: &[&str], deny: &[&str]| {
        let mut policy = Policy::default();
        let mut rules = SubAgents::default();
        rules.lists.also_allow = selectors(allow);
        rules.lists.deny = selectors(deny);
        policy.everyone.sub_agents = Some(rules);
        policy
    };
    check(
        &allowing(&["sessions_send"], &[]),
        &child,
        &["plugin:notes/sessions_send", "builtin/read_file"],
        &["plugin:notes/spawn_agent"],
    );
    check(&allowing(&["sessions_send"], &["sessions_send"]), &child, &[], &["plugin:notes/sessions_send"]);
    // Whatever a child says of itself, it has no more than its parent.
    let mut policy = Policy::default();
    policy.owner_only = named(&["fetch_url"]);
    policy
        .agents
        .insert("small".into(), Layer { lists: lists(Some(&["read_file", "fetch_url"]), &[]), ..Layer::default() });
    policy.agents.insert("big".into(), Layer::default());
    let small = Arc::new(Scope { agent: Some("small".into()), caps: vec![cap(None, &["mcp:*"])], ..everybody() });
    let big = Scope { owner: true, profile: Some("full".into()), ..small.child(Some("big".into())) };
    exactly(&policy, &big, &["builtin/read_file"]);
    let (stage, removal) = reason(&policy, &big, "builtin/run_command");
    assert_eq!(stage, "sub-agent");
    assert_eq!(removal.rule, "its parent does not have it: agent stage, allow list does not name it");
    // 85030 of their tracker: what a parent has from servers its child has too.
    check(&Policy::default(), &child, &["mcp:github/create_issue"], &[]);
}

#[test]
fn a_child_does_not_get_a_name_that_its_parent_lost() {
    let tools: &[(&str, &[&str])] = &[("builtin", &["search"]), ("plugin:labs", &["search"])];
    let catalog = catalog_of(tools);
    let parent = Arc::new(everybody());
    let child = Scope { caps: vec![cap(None, &["builtin"])], ..parent.child(None) };
    let selection = select(&catalog, &Policy::default(), &NameSettings::default(), &child).unwrap();
    assert!(selection.kept.is_empty());
    let reasons: Vec<String> =
        selection.removals.iter().map(|removed| selection.removals.removal(removed).rule).collect();
    assert_eq!(reasons[1], "its parent has builtin/search under the name search");
}

#[test]
fn a_coordinator_works_through_others() {
    // 73: by suffix, so also a server's.
    let coordinator = Scope { role: Some(Role::Coordinator), ..everybody() };
    let tools: &[(&str, &[&str])] =
        &[("builtin", &["read_file"]), ("plugin:host", &["Agent", "Bash"]), ("mcp:gh", &["subscribe_pr_activity"])];
    let names = |policy: &Policy, scope: &Scope| -> Vec<String> {
        let selection = select(&catalog_of(tools), policy, &NameSettings::default(), scope).unwrap();
        selection.kept.iter().map(|claim| claim.name.clone()).collect()
    };
    assert_eq!(names(&Policy::default(), &coordinator), ["Agent", "gh__subscribe_pr_activity"]);
    // 74: where coordinators may have everything, nothing is filtered.
    let mut open = Policy::default();
    open.everyone.coordinator = Some(lists(Some(&["*"]), &[]));
    assert_eq!(names(&open, &coordinator).len(), 4);
    let mut more = Policy::default();
    more.everyone.coordinator =
        Some(Lists { also_allow: selectors(&["read_file"]), ..lists(Some(&["group:coordinator"]), &[]) });
    assert_eq!(names(&more, &coordinator), ["read_file", "Agent", "gh__subscribe_pr_activity"]);
    // Its workers have theirs, and no more than it could hand on.
    let mut policy = Policy::default();
    let lead = Layer { role: Some(Role::Coordinator), lists: lists(None, &["Bash"]), ..Layer::default() };
    policy.agents.insert("lead".into(), lead);
    policy.agents.insert("worker".into(), Layer::default());
    let lead = Arc::new(Scope { agent: Some("lead".into()), ..everybody() });
    assert_eq!(names(&policy, &lead), ["Agent", "gh__subscribe_pr_activity"]);
    let worker = lead.child(Some("worker".into()));
    assert_eq!(names(&policy, &worker), ["read_file", "gh__subscribe_pr_activity"]);
}

#[test]
fn every_list_of_a_run_holds() {
    // Two lists of globs cannot be made into one.
    let caps = vec![cap(Some(&["*_file"]), &[]), cap(Some(&["read*", "run*"]), &[]), cap(None, &["mcp:bridge"])];
    exactly(&Policy::default(), &Scope { caps, ..everybody() }, &["builtin/read_file"]);
    // G2: a list for a run brings nothing back, and what removed the tool says so.
    let scope = Scope { caps: vec![cap(Some(&["run_command"]), &[])], ..everybody() };
    let (stage, removal) = reason(&global(None, &["run_command"]), &scope, "builtin/run_command");
    assert_eq!((stage.as_str(), removal.origin.as_str()), ("global", "test"));
}

#[test]
fn a_plugin_with_the_name_of_a_built_in_tool_is_left_out_whole() {
    // 8, 10.
    let tools: &[(&str, &[&str])] =
        &[("builtin", &["message"]), ("plugin:Message", &["send", "message"]), ("plugin:other", &["message", "more"])];
    let selection = select(&catalog_of(tools), &Policy::default(), &NameSettings::default(), &everybody()).unwrap();
    let kept: Vec<String> = selection.kept.iter().map(|claim| claim.tool.id().to_string()).collect();
    assert_eq!(kept, ["builtin/message", "plugin:other/message", "plugin:other/more"]);
    let removed = selection.removals.iter().next().unwrap();
    assert!(selection.removals.removal(removed).rule.contains("'Message' is the name of a built-in tool"));
    // A plugin whose own tool has its id is fine.
    let tools: &[(&str, &[&str])] = &[("builtin", &["x"]), ("plugin:message", &["message"])];
    let selection = select(&catalog_of(tools), &Policy::default(), &NameSettings::default(), &everybody()).unwrap();
    assert_eq!(selection.kept.len(), 2);
}

#[track_caller]
fn incomplete(policy: Policy, scope: &Scope, want: Option<&str>) {
    let settings = AssembleSettings { policy, ..AssembleSettings::default() };
    let set = assemble(&catalog_of(TOOLS), scope, &settings).unwrap();
    assert_eq!(set.incomplete.as_ref().map(Incomplete::to_string).as_deref(), want);
}

#[test]
fn what_a_run_needs_and_does_not_get_is_an_error() {
    let needs = |list: &[&str]| Scope { required: selectors(list), ..everybody() };
    incomplete(Policy::default(), &needs(&["read_file", "mcp:github", "group:web"]), None);
    incomplete(
        global(None, &["run_command"]),
        &needs(&["Bash"]),
        Some(
            "required tool 'Bash' (this run) is missing: the global stage removed it (deny \"run_command\", test); to change that, remove \"run_command\" from that deny list",
        ),
    );
    incomplete(
        Policy::default(),
        &needs(&["mcp:jira/find", "nothing"]),
        Some(
            "required tool 'mcp:jira/find' (this run) is missing: there is no source mcp:jira; see `toolcrib doctor`; required tool 'nothing' (this run) is missing: no source offers it; is the name right?",
        ),
    );
    // A server cannot stand in for a tool of another by naming its own alike.
    incomplete(
        global(None, &["builtin/read_file"]),
        &needs(&["read_file"]),
        Some(
            "required tool 'read_file' (this run) is missing: the global stage removed it (deny \"builtin/read_file\", test); to change that, remove \"builtin/read_file\" from that deny list",
        ),
    );
    // 39: lists that name something and leave nothing; an empty list and a full denial mean what they say.
    let mut policy = global(Some(&["mcp:github"]), &[]);
    policy.everyone.profile = Some("minimal".into());
    incomplete(
        policy,
        &everybody(),
        Some("no tool is left: together these allow lists let nothing through: built-in profile 'minimal'; test"),
    );
    incomplete(global(Some(&[]), &[]), &everybody(), None);
    incomplete(global(None, &["*"]), &everybody(), None);
}

#[test]
fn stages_have_one_order_and_the_first_that_removes_is_told() {
    let mut policy = global(None, &["fetch_url"]);
    policy.owner_only = named(&["fetch_url"]);
    policy.everyone.profile = Some("minimal".into());
    let scope = Scope { caps: vec![cap(Some(&[]), &[])], ..everybody() };
    assert_eq!(reason(&policy, &scope, "builtin/fetch_url").0, "owner");
    assert_eq!(reason(&policy, &Scope { owner: true, ..scope.clone() }, "builtin/fetch_url").0, "profile");
    assert_eq!(reason(&policy, &scope, "builtin/current_time").0, "run");
    policy.push(ListStage { name: "mine".into(), lists: lists(None, &["current_time"]) });
    assert_eq!(reason(&policy, &everybody(), "builtin/current_time").0, "mine");
    let mut sorted = STAGES;
    sorted.sort_unstable();
    assert!(sorted.windows(2).all(|two| two[0] != two[1]), "stages have different names");
}

/// The catalog with one tool labelled.
fn labelled(id: &str, labels: &Labels) -> Catalog {
    let (catalog, id) = (catalog_of(TOOLS), id.parse::<ToolId>().unwrap());
    let entry = &catalog.sources()[&id.source];
    let labels = Arc::new(labels.clone());
    let relabel = |tool: &Arc<Tool>| {
        let tool = Tool::clone(tool);
        Arc::new(if *tool.id() == id { tool.with_labels(labels.clone()) } else { tool })
    };
    let tools = entry.tools.iter().map(relabel).collect();
    let entry = SourceEntry::new(SourceState::Ready, tools, vec![]);
    assert_ne!(entry.hash(), catalog.sources()[&id.source].hash(), "labels are part of the hash");
    catalog.with_source(id.source, Some(Arc::new(entry)))
}

#[test]
fn labels_of_single_tools_take_them_away() {
    let told = |labels: Labels, policy: &Policy| {
        let catalog = labelled("mcp:bridge/search", &labels);
        let selection = select(&catalog, policy, &NameSettings::default(), &everybody()).unwrap();
        let found = selection.removals.iter().find(|one| one.tool.id().to_string() == "mcp:bridge/search")?;
        Some((selection.removals.stage(found).to_owned(), selection.removals.removal(found)))
    };
    let everything = global(None, &[]);
    assert_eq!(told(Labels { priority: 1, ..Labels::default() }, &everything), None);
    let off = Labels { enabled: false, origin: "toolcrib tools".into(), ..Labels::default() };
    let (stage, removal) = told(off, &everything).unwrap();
    assert_eq!((&*stage, &*removal.rule, &*removal.origin), ("tool", "it is switched off", "toolcrib tools"));
    assert_eq!(removal.fix, "switch it on: toolcrib tools enable \"mcp:bridge/search\"");
    let (_, removal) = told(Labels { permission: Some(Action::Deny), ..Labels::default() }, &everything).unwrap();
    assert_eq!((&*removal.rule, &*removal.origin), ("its permission is deny", "the program that registered it"));
    let lacking =
        Removal { rule: "it needs a key".to_owned(), origin: "plugin.toml".to_owned(), fix: "set it".to_owned() };
    let (stage, removal) =
        told(Labels { unavailable: Some(Arc::new(lacking.clone())), ..Labels::default() }, &everything).unwrap();
    assert_eq!((&*stage, removal), ("tool", lacking));
    // 17: what needs something of the client.
    let needing = Labels { capabilities: Arc::from(["maps".to_owned()]), ..Labels::default() };
    let (stage, removal) = told(needing.clone(), &everything).unwrap();
    assert_eq!((&*stage, &*removal.rule), ("capability", "it needs the client capability 'maps'"));
    let has = Scope { capabilities: ["maps".to_owned()].into(), ..everybody() };
    let catalog = labelled("mcp:bridge/search", &needing);
    let selection = select(&catalog, &everything, &NameSettings::default(), &has).unwrap();
    assert!(selection.removals.is_empty());
    // 2, 4: optional tools want to be named.
    let optional = || Labels { optional: true, ..Labels::default() };
    let (stage, removal) = told(optional(), &everything).unwrap();
    assert_eq!((&*stage, &*removal.rule), ("optional", "it is optional and no allow list names it"));
    assert_eq!(told(optional(), &global(Some(&["mcp:bridge"]), &[])), None);
}

#[test]
fn the_tools_of_a_parent_are_told_by_identity() {
    let granted: BTreeSet<ToolId> = ["plugin:labs/draw".parse().unwrap()].into();
    let parent = Arc::new(Scope { grants: granted, ..everybody() });
    let mut policy = Policy::default();
    policy.optional = named(&["labs"]);
    check(&policy, &parent.child(None), &["plugin:labs/draw"], &["plugin:labs/search"]);
    let groups = Groups::default();
    assert!(groups.names().any(|name| name == "agents"));
}

#[test]
fn scopes_that_differ_in_nothing_that_counts_are_alike() {
    let of = |user: &str| Scope { user: Some(user.into()), tenant: user.into(), ..everybody() };
    let mut policy = Policy::default();
    assert!(policy.alike(&of("ann"), &of("bob")));
    assert!(policy.alike(&Arc::new(of("ann")).child(None), &Arc::new(of("bob")).child(None)));
    assert!(!policy.alike(&of("ann"), &Arc::new(of("ann")).child(None)));
    for other in [
        Scope { owner: true, ..everybody() },
        Scope { profile: Some("coding".into()), ..everybody() },
        Scope { agent: Some("a".into()), ..everybody() },
        Scope { caps: vec![cap(Some(&[]), &[])], ..everybody() },
        Scope { required: selectors(&["x"]), ..everybody() },
        Scope { sender: Some(Sender::default()), ..everybody() },
    ] {
        assert!(!policy.alike(&everybody(), &other), "{other:?}");
    }
    // A stage of somebody else may look at anything.
    policy.push(ListStage { name: "mine".into(), lists: Lists::default() });
    assert!(!policy.alike(&of("ann"), &of("bob")));
}

#[test]
fn what_a_source_that_is_starting_may_bring_is_not_missing_yet() {
    #[track_caller]
    fn check(state: SourceState, required: &str, withholds: bool, told: &str) {
        let catalog = catalog_of(TOOLS)
            .with_source("mcp:crm".parse().unwrap(), Some(Arc::new(SourceEntry::new(state, vec![], vec![]))));
        let scope = Scope { required: selectors(&[required]), ..everybody() };
        let set = assemble(&catalog, &scope, &AssembleSettings::default()).unwrap();
        let incomplete = set.incomplete.unwrap();
        assert_eq!((incomplete.withholds(), incomplete.told().contains(told)), (withholds, true), "{incomplete:?}");
    }
    let down = || SourceState::Down { reason: "gone".into() };
    check(SourceState::Starting, "mcp:crm/find", false, "mcp:crm/find (starting)");
    check(SourceState::Starting, "crm__find", false, "crm__find (starting)");
    check(SourceState::Starting, "mcp:jira/find", true, "mcp:jira/find (source)");
    check(down(), "mcp:crm/find", true, "mcp:crm/find (source)");
    check(down(), "crm__find", true, "crm__find (unknown)");
    check(SourceState::Ready, "mcp:crm/find", true, "mcp:crm/find (source)");
}

/// A source without tools yet may be reached by what its tools would be called.
#[test]
fn lists_tell_of_sources_whose_tools_nobody_knows() {
    let reached = |allow: &[&str], source: &str| {
        let source: Source = source.parse().unwrap();
        let policy = global(Some(allow), &[]);
        !may_reach(&[&source], &policy, &NameSettings::default(), &Scope::default()).unwrap().is_empty()
    };
    for (allow, source, want) in [
        ("mcp:crm/find", "mcp:crm", true),
        ("crm__find", "mcp:crm", true),
        ("CRM__find*", "mcp:crm", true),
        ("crm_other__find", "mcp:crm", false),
        ("find", "mcp:crm", false),
        // Names of plugins have nothing in front.
        ("add_note", "plugin:notes", true),
        ("notes__add", "plugin:notes", true),
        ("eu__find", "connector:crm:eu", false),
    ] {
        assert_eq!(reached(&[allow], source), want, "{allow} and {source}");
    }
}
