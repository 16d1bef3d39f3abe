use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::Labels;
use crate::permission::{
    Action, Rule, RuleSet,
    fixture::{Call, tool, tool_with},
};

/// Whether the pattern names the tool in a rule that allows, and in one that denies.
#[track_caller]
fn names(pattern: &str, id: &str, grant: bool, restrict: bool) {
    let call = Call::new(tool(id), json!({}));
    let pattern: ToolPattern = pattern.parse().unwrap();
    let got = (
        pattern.names_to_grant(&call.tool, &call.exposed, &call.groups),
        pattern.names(&call.tool, &call.exposed, &call.groups),
    );
    assert_eq!(got, (grant, restrict), "{pattern} on {id} (allow, deny)");
}

#[test]
fn names_and_selectors() {
    names("*", "mcp:x/a", true, true);
    names("write_file", "builtin/write_file", true, true);
    names("write_file", "builtin/read_file", false, false);
    names("kv_*", "builtin/kv_set", true, true);
    names("group:fs", "builtin/write_file", true, true);
    names("group:fs", "mcp:x/write_file", false, false);
    names("mcp:github", "mcp:github/a", true, true);
    names("mcp:github/a", "mcp:github/a", true, true);
    names("mcp:*/a", "mcp:github/a", true, true);
    names("builtin", "builtin/read_file", true, true);
    names("notes", "plugin:notes/add", true, true);
    names("add", "plugin:notes/add", true, true);
    names("mine", "custom:ada/mine", false, true);
    names("ada__mine", "custom:ada/mine", true, true);
    // Servers' tools go by their full form, not by a bare name.
    names("write_file", "mcp:x/write_file", false, false);
    names("x__write_file", "mcp:x/write_file", true, true);
    names("x__*", "mcp:x/write_file", true, true);
    names("get_*", "mcp:x/get_me", false, false);
    names("crm__find", "connector:crm/find", true, true);
    names("find", "connector:crm/find", false, false);
}

#[test]
fn other_hosts_way_of_writing_server_tools() {
    // Case 41.
    for pattern in ["mcp__srv", "mcp__srv__*"] {
        names(pattern, "mcp:srv/a", true, true);
        names(pattern, "mcp:srv2/a", false, false);
        names(pattern, "builtin/read_file", false, false);
        names(pattern, "plugin:srv/a", false, false);
    }
    names("mcp__srv__a", "mcp:srv/a", true, true);
    names("mcp__srv__a", "mcp:srv/b", false, false);
    // As well the tool `b` of a server `srv__a`: a name that can be read in two ways lets nothing through.
    names("mcp__srv__a__b", "mcp:srv/a__b", false, true);
    names("mcp__srv__a__b", "mcp:srv__a/b", false, true);
    names("up__two__look", "mcp:up/two__look", false, true);
    names("up__two__look", "mcp:up__two/look", false, true);
    names("up__two__*", "mcp:up/two__look", false, true);
    names("up__*", "mcp:up/two__look", true, true);
    names("mcp:up__two/look", "mcp:up__two/look", true, true);
    names("mcp__srv__a*", "mcp:srv/ab", false, false);
    names("mcp__my_srv__a", "mcp:my.srv/a", false, true);
    names("mcp__my_srv", "mcp:my.srv/a", false, true);
}

#[test]
fn a_bare_name_never_means_a_servers_tool_shown_without_prefix() {
    // Case 42.
    let mut call = Call::new(tool("mcp:srv/Write"), json!({}));
    call.exposed = "Write".into();
    let named = |pattern: &str| {
        let pattern: ToolPattern = pattern.parse().unwrap();
        (
            pattern.names_to_grant(&call.tool, &call.exposed, &call.groups),
            pattern.names(&call.tool, &call.exposed, &call.groups),
        )
    };
    assert_eq!(named("Write"), (false, false));
    assert_eq!(named("W*"), (false, false));
    assert_eq!(named("srv__Write"), (true, true));
    assert_eq!(named("mcp__srv__Write"), (true, true));
    assert_eq!(named("mcp:srv/Write"), (true, true));
}

#[test]
fn other_and_older_names() {
    names("Bash", "builtin/run_command", true, true);
    names("Read", "builtin/read_file", true, true);
    names("Write", "builtin/write_file", true, true);
    names("Edit", "builtin/edit_file", true, true);
    names("Glob", "builtin/find_files", true, true);
    names("Grep", "builtin/search_text", true, true);
    names("WebFetch", "builtin/fetch_url", true, true);
    names("Bash", "plugin:x/run_command", false, false);
    names("Bash", "plugin:x/Bash", true, true);
    names("KillShell", "plugin:x/TaskStop", true, true); // case 45
    names("KillShell", "plugin:x/KillShell", false, true);
    names("Task", "plugin:x/Agent", true, true);
    names("AgentOutputTool", "plugin:x/TaskOutput", true, true);
    names("BashOutputTool", "plugin:x/TaskOutput", true, true);
    names("constructor", "plugin:x/toString", false, false);
}

#[track_caller]
fn form(text: &str, whole: bool, malformed: bool) {
    let pattern: ToolPattern = text.parse().unwrap();
    assert_eq!((pattern.whole_tool(), pattern.malformed()), (whole, malformed), "{text}");
    assert_eq!(pattern.to_string(), text);
}

#[test]
fn contents() {
    form("Bash", true, false);
    form("Bash()", true, false); // case 44
    form("Bash(*)", true, false); // case 44
    form("Bash( * )", true, false);
    form("Bash(rm:*)", false, false);
    form("Bash(echo (x))", false, false);
    form(r"Bash(echo \(x\))", false, false);
    form("Bash(rm", true, true);
    form("Bash rm)", true, true);
    form("Bash(rm) x", true, true);
    form("(rm)", true, true);
    form("Bash)rm(", true, true);
    form(r"Bash(rm\)", true, true);
    names("Bash(rm:*)", "builtin/run_command", true, true); // case 43: the tool stays
    names("Bash(rm", "builtin/run_command", false, false);
    let odd = tool("plugin:x/Bash(rm");
    assert!("Bash(rm".parse::<ToolPattern>().unwrap().names(&odd, "Bash_rm", &Groups::default()), "a literal name");
}

#[test]
fn a_pattern_goes_by_labels_as_a_selector_does() {
    let labels = Labels { category: Some("danger".into()), namespace: Some("prod".into()), ..Labels::default() };
    let labelled = tool("mcp:crm/boom").with_labels(Arc::new(labels));
    for (pattern, want) in [
        ("category:danger", true),
        ("category:other", false),
        ("namespace:prod", true),
        ("risk:medium", true),
        ("risk:critical", false),
    ] {
        let pattern: ToolPattern = pattern.parse().unwrap();
        assert_eq!(pattern.names(&labelled, "crm__boom", &Groups::default()), want, "{pattern}");
    }
}

#[test]
fn what_cannot_be_read_is_refused() {
    for text in
        ["", "  ", "a[", "domain:", &"x".repeat(9_000), "WebFetch(domain:a b)", "WebFetch(domain:)", "risk:some"]
    {
        let refused = text.parse::<ToolPattern>().is_err();
        assert_eq!(refused, text != "domain:", "{text}");
    }
    assert!(serde_json::from_value::<ToolPattern>(json!("WebFetch(domain:a b)")).is_err());
    let pattern: ToolPattern = serde_json::from_value(json!("Bash(rm:*)")).unwrap();
    assert_eq!(serde_json::to_value(&pattern).unwrap(), json!("Bash(rm:*)"));
}

/// What an allowing and a denying rule with this pattern come to.
#[track_caller]
fn call_of(call: &Call, pattern: &str, grant: bool, restrict: Option<Action>) {
    let decide = |action| {
        let set = RuleSet::new(vec![Rule::new(pattern.parse().unwrap(), action, "test")]);
        set.decide(&call.subject(), 0).map(|found| found.action)
    };
    assert_eq!(decide(Action::Allow).is_some(), grant, "allow {pattern} on {}", call.arguments);
    assert_eq!(decide(Action::Deny), restrict, "deny {pattern} on {}", call.arguments);
}

#[track_caller]
fn content(id: &str, arguments: &Value, pattern: &str, grant: bool, restrict: Option<Action>) {
    call_of(&Call::new(tool(id), arguments.clone()), pattern, grant, restrict);
}

const DENY: Option<Action> = Some(Action::Deny);
const ASK: Option<Action> = Some(Action::Ask);

#[test]
fn commands() {
    let rm = json!({"command": "rm", "args": ["x"]});
    content("builtin/run_command", &rm, "Bash(rm:*)", true, DENY); // case 43
    content("builtin/run_command", &rm, "Bash(git:*)", false, None);
    content("builtin/run_command", &json!({"command": "bash", "args": ["-c", "$X"]}), "Bash(rm:*)", false, ASK);
    content("mcp:sh/bash", &json!({"command": "git x; rm y"}), "mcp:sh(git:*)", false, DENY);
    content("mcp:sh/bash", &json!({"command": "git x"}), "mcp__sh__bash(git:*)", true, DENY);
    content("builtin/run_command", &json!({"command": "echo", "args": ["(x)"]}), r"Bash(echo '\(x\)')", true, DENY);
}

#[test]
fn paths() {
    let path = |text: &str| json!({ "path": text });
    content("builtin/read_file", &path("/etc/passwd"), "Read(/etc/**)", true, DENY);
    content("builtin/read_file", &path("/etc"), "Read(/etc/**)", true, DENY);
    content("builtin/read_file", &path("/work/../etc/passwd"), "Read(/etc/**)", true, DENY);
    content("builtin/read_file", &path("/work/../etc/passwd"), "Read(/work/**)", false, None); // case 102
    content("builtin/read_file", &path("../etc/passwd"), "Read(/etc/**)", true, DENY);
    content("builtin/read_file", &path("/etc-x/a"), "Read(/etc/**)", false, None);
    content("builtin/read_file", &path("/ETC/passwd"), "Read(/etc/**)", false, DENY);
    content("builtin/read_file", &path("/etc/a/b"), "Read(/etc/*)", false, None);
    content("builtin/read_file", &path("src/a.rs"), "Read(src/**)", true, DENY);
    content("builtin/read_file", &path("/work/src/a.rs"), "Read(src/**)", true, DENY);
    content("builtin/read_file", &path("src/../b"), "Read(src/**)", false, None);
    content("builtin/read_file", &path("/other/src/a.rs"), "Read(src/**)", false, None);
    content("builtin/read_file", &path("deep/key.pem"), "Read(*.pem)", true, DENY);
    content("builtin/read_file", &path("/other/key.pem"), "Read(*.pem)", false, DENY);
    content("builtin/read_file", &path("/home/ada/.ssh/id"), "Read(~/.ssh/**)", true, DENY);
    content("builtin/read_file", &path("~/.ssh/id"), "Read(~/.ssh/**)", false, DENY);
    content("builtin/read_file", &path("~/x"), "Read(/etc/**)", false, ASK);
    content("builtin/read_file", &path("~bob/x"), "Read(/etc/**)", false, ASK);
    content("builtin/read_file", &json!({}), "Read(/etc/**)", false, ASK);
    content("mcp:fs/move", &json!({"source": "/work/a", "destination": "/etc/b"}), "mcp:fs(/work/**)", false, DENY);
    content("mcp:fs/move", &json!({"source": "/work/a", "destination": "/work/b"}), "mcp:fs(/work/**)", true, DENY);
    content("mcp:fs/read", &json!({"paths": ["/work/a", "/x"]}), "mcp:fs(/work/**)", false, DENY);
    content("mcp:fs/read", &json!({"path": "file:///etc/%70asswd"}), "mcp:fs(/etc/passwd)", true, DENY);

    let mut call = Call::new(tool("builtin/read_file"), path("a/b"));
    call.place = crate::permission::Place::default();
    call_of(&call, "Read(/etc/**)", false, ASK);
    call_of(&call, "Read(a/*)", true, DENY);
    call_of(&call, "Read(~/.ssh/**)", false, ASK);
    call.arguments = path("../etc/x");
    call_of(&call, "Read(**/x)", false, ASK);
}

#[test]
fn hosts_and_texts() {
    let url = |text: &str| json!({ "url": text });
    content("builtin/fetch_url", &url("https://api.example.com/x"), "WebFetch(domain:example.com)", true, DENY);
    content("builtin/fetch_url", &url("https://example.com.evil.org"), "WebFetch(domain:example.com)", false, None);
    content("builtin/fetch_url", &url(r"https://evil.org\@example.com"), "WebFetch(domain:example.com)", false, ASK);
    content("builtin/fetch_url", &url("HTTPS://example.com/a/../b"), "WebFetch(https://example.com/b*)", true, DENY);
    content("builtin/fetch_url", &url("https://example.com/c"), "WebFetch(https://example.com/b*)", false, None);
    content("builtin/kv_set", &json!({"key": "tmp/a", "value": "x"}), "kv_set(tmp/*)", true, DENY);
    content("builtin/kv_set", &json!({"key": "a", "value": "tmp/"}), "kv_set(tmp/*)", false, None);
    content("mcp:x/a", &json!({}), "mcp:x(tmp/*)", false, ASK);
    let search = tool_with("mcp:x/search", &json!({"limit": {}, "query": {"type": "string"}}), &json!({}));
    call_of(&Call::new(search, json!({"limit": 3, "query": "cats"})), "x__search(cat*)", true, DENY);
}

#[test]
fn path_contents_count_where_paths_really_lead() {
    use Match::{No, Uncertain, Yes};

    /// `/work/link` leads to `/data`, nobody can tell about `/lost`.
    #[track_caller]
    fn check(content: &str, cwd: Option<&'static str>, path: &str, grant: Match, restrict: Match) {
        let mut call = Call::new(tool("builtin/read_file"), json!({"path": path}));
        call.place.cwd = cwd;
        let pattern: ToolPattern = format!("read_file({content})").parse().unwrap();
        let rules: RuleSet = vec![Rule::new(pattern.clone(), Action::Deny, "")].into();
        let real = rules.to_resolve(&call.subject(), 0).into_iter().map(|path| {
            let there = match path.strip_prefix("/work/link") {
                Some(rest) => Some(format!("/data{rest}")),
                None => Some(path.clone()).filter(|path| !path.starts_with("/lost")),
            };
            (path, there)
        });
        let real = real.collect();
        let subject = crate::permission::Subject { real: Some(&real), ..call.subject() };
        let facts = Facts::new(&subject);
        let got = (pattern.check(&facts, Side::Grant), pattern.check(&facts, Side::Restrict));
        assert_eq!(got, (grant, restrict), "{content} on {path} in {cwd:?} (allow, deny)");
    }
    let work = Some("/work");
    // Either spelling to deny, both to allow.
    check("/data/**", work, "/work/link/a", No, Yes);
    check("/data/**", work, "link/a", No, Yes);
    check("/work/**", work, "/work/link/a", No, Yes);
    check("/work/**", work, "/work/a", Yes, Yes);
    check("*.pem", work, "link/a.pem", No, Yes);
    check("link.pem", work, "link/a.pem", No, No);
    // What the glob begins with means what it points to.
    check("/work/link/**", work, "/data/a", Yes, Yes);
    check("/work/link/**", work, "/work/link/a", Yes, Yes);
    check("link/**", work, "link/a", Yes, Yes);
    check("link/*.txt", work, "/data/a.md", No, No);
    check("/work/link", work, "/data", Yes, Yes);
    check("/work/link/**", work, "/work/a", No, No);
    // What cannot be told.
    check("/data/**", work, "/lost/a", No, Uncertain);
    check("/lost/**", work, "/lost/a", Uncertain, Yes);
    check("/data/**", None, "a", Uncertain, Uncertain);
    check("/data/**", None, "/work/link/a", No, Yes);
}

#[test]
fn the_disk_is_looked_at_only_where_it_matters() {
    #[track_caller]
    fn check(pattern: &str, id: &str, arguments: Value, want: &[&str]) {
        let call = Call::new(tool(id), arguments);
        let rules: RuleSet = vec![Rule::new(pattern.parse().unwrap(), Action::Deny, "")].into();
        let found: Vec<_> = rules.to_resolve(&call.subject(), 0).into_iter().collect();
        assert_eq!(found, want, "{pattern} on {} {}", id, call.arguments);
    }
    let path = || json!({"path": "/a/../b"});
    check("read_file", "builtin/read_file", path(), &[]);
    check("write_file(/x/**)", "builtin/read_file", path(), &[]);
    check("run_command(/x/**)", "builtin/run_command", json!({"command": "ls"}), &[]);
    check("read_file(domain:x.example)", "builtin/read_file", path(), &[]);
    check("read_file(/x/*/y)", "builtin/read_file", path(), &["/a/../b", "/b", "/home/ada", "/work", "/x"]);
    check(
        "read_file(src/*)",
        "builtin/read_file",
        json!({"path": "~/a"}),
        &["/home/ada", "/home/ada/a", "/work", "/work/src", "/work/~/a"],
    );
}
