use serde_json::json;

use super::*;
use crate::permission::{
    Operator,
    fixture::{Call, tool, tool_with},
};

fn rule(text: &str) -> Rule {
    let (action, pattern) = text.split_once(' ').unwrap();
    Rule::new(pattern.parse().unwrap(), action.parse().unwrap(), text)
}

fn when(mut rule: Rule, conditions: &[(&str, Operator, &str)]) -> Rule {
    rule.when = conditions.iter().map(|(name, op, value)| Condition::new(*name, *op, *value).unwrap()).collect();
    rule
}

fn at(mut rule: Rule, updated_at_ms: u64) -> Rule {
    rule.updated_at_ms = updated_at_ms;
    rule
}

fn issue() -> Call {
    let properties = json!({"repo": {"type": "string"}, "title": {"type": "string"}});
    let tool = tool_with("mcp:github/create_issue", &properties, &json!({}));
    let mut call = Call::new(tool, json!({"repo": "acme/web", "title": "x"}));
    call.category = Some("shell");
    call
}

/// The action that counts, whatever the order of the rules.
#[track_caller]
fn decides(rules: &[Rule], want: Option<Action>) {
    let call = issue();
    let mut rules = rules.to_vec();
    for _ in 0..rules.len() {
        let set = RuleSet::new(rules.clone());
        assert_eq!(set.decide(&call.subject(), 1_000).map(|found| found.action), want, "{rules:?}");
        rules.rotate_left(1);
    }
}

const ALLOW: Option<Action> = Some(Action::Allow);
const DENY: Option<Action> = Some(Action::Deny);
const ASK: Option<Action> = Some(Action::Ask);
const WEB: (&str, Operator, &str) = ("repo", Operator::StartsWith, "acme/");
const TITLE: (&str, Operator, &str) = ("title", Operator::Equals, "x");
const OTHER: (&str, Operator, &str) = ("title", Operator::Equals, "y");

#[test]
fn all_conditions_have_to_hold() {
    // Case 96.
    decides(&[when(rule("deny mcp:github"), &[WEB, OTHER])], None);
    decides(&[when(rule("deny mcp:github"), &[WEB, TITLE])], DENY);
    decides(&[], None);
    decides(&[rule("deny mcp:gitlab")], None);
}

#[test]
fn unconditional_then_specific_then_new_then_strict() {
    // Case 97: unconditional allow beside a specific deny.
    let unconditional = Rule { unconditional: true, ..rule("allow *") };
    decides(&[unconditional.clone(), when(rule("deny mcp:github"), &[WEB, TITLE])], ALLOW);
    decides(&[unconditional, Rule { unconditional: true, ..rule("deny *") }], DENY);
    // More conditions beat fewer, whatever the action.
    decides(&[rule("deny *"), when(rule("allow mcp:github"), &[WEB])], ALLOW);
    decides(&[when(rule("allow *"), &[WEB]), when(rule("ask *"), &[WEB, TITLE])], ASK);
    // A content counts as a condition.
    decides(&[at(rule("allow mcp:github"), 9), rule("deny mcp:github(acme*)")], DENY);
    // Case 99: the newer of equally specific ones.
    decides(&[at(rule("deny *"), 1), at(rule("allow *"), 2)], ALLOW);
    decides(&[at(rule("deny *"), 2), at(rule("allow *"), 1)], DENY);
    decides(&[rule("deny *"), rule("allow *"), rule("ask *")], DENY);
    decides(&[rule("allow *"), rule("ask *")], ASK);
}

#[test]
fn rules_out_of_force_are_ignored() {
    // Case 100; the clock says 1,000.
    decides(&[Rule { enabled: false, ..rule("deny *") }], None);
    decides(&[Rule { expires_at_ms: Some(999), ..rule("deny *") }], None);
    decides(&[Rule { expires_at_ms: Some(1_000), ..rule("allow *") }], None);
    decides(&[Rule { expires_at_ms: Some(1_001), ..rule("allow *") }], ALLOW);
    decides(&[Rule { user: Some("bob".into()), ..rule("allow *") }], None);
    decides(&[Rule { user: Some("ada".into()), ..rule("allow *") }], ALLOW);
    let mut call = issue();
    call.scope.user = None;
    let set = RuleSet::new(vec![Rule { user: Some("ada".into()), ..rule("allow *") }]);
    assert!(set.decide(&call.subject(), 0).is_none(), "nobody is not that user");
}

#[test]
fn pseudo_arguments_choose_tools() {
    // Case 101.
    decides(&[when(rule("deny *"), &[("$category", Operator::Equals, "shell")])], DENY);
    decides(&[when(rule("deny *"), &[("$category", Operator::Equals, "web")])], None);
    decides(&[when(rule("ask *"), &[("$risk", Operator::Equals, "medium")])], ASK);
}

#[test]
fn the_strictest_counts_in_permission_lists() {
    // Case 46: nothing that allows outweighs a deny.
    let call = issue();
    let strictest = |rules: &[Rule]| {
        let set = RuleSet::new(rules.to_vec());
        set.strictest(&call.subject(), 0).map(|found| found.action)
    };
    let allow = Rule { unconditional: true, ..when(at(rule("allow *"), 9), &[WEB, TITLE]) };
    assert_eq!(strictest(&[allow.clone(), rule("deny mcp:github")]), DENY);
    assert_eq!(strictest(&[allow.clone(), rule("ask mcp:github")]), ASK);
    assert_eq!(strictest(&[rule("ask mcp:github"), rule("deny *")]), DENY);
    assert_eq!(strictest(&[allow]), ALLOW);
    assert_eq!(strictest(&[]), None);
}

#[track_caller]
fn command(rules: &[&str], line: &str, want: Option<Action>) {
    let call = Call::new(tool("mcp:sh/bash"), json!({ "command": line }));
    let set = RuleSet::new(rules.iter().map(|text| rule(text)).collect());
    assert_eq!(set.decide(&call.subject(), 0).map(|found| found.action), want, "{rules:?} on {line}");
}

#[test]
fn rules_on_commands() {
    command(&["allow mcp:sh(git:*)"], "git log", ALLOW);
    command(&["allow mcp:sh(git:*)"], "git log; npm test", None);
    command(&["allow mcp:sh(git:*)", "allow mcp:sh(npm test)"], "git log; npm test", ALLOW);
    command(&["allow mcp:sh(git:*)", "allow mcp:sh(npm test)"], "git log; npm test; rm x", None);
    command(&["allow mcp:sh(git:*)", "allow mcp:sh(npm test)", "deny mcp:sh(npm:*)"], "git log; npm test", DENY);
    command(&["allow mcp:sh(git:*)", "allow mcp:other(npm test)"], "git log; npm test", None);
    command(&["allow mcp:sh(git:*)", "deny mcp:sh(rm:*)"], "git log && rm x", DENY);
    command(&["deny mcp:sh(rm:*)"], "$X", ASK);
    command(&["allow mcp:sh(git:*)"], "git log; $X", None);
    command(&["ask mcp:sh(git push:*)", "allow mcp:sh(git:*)"], "git push", ASK);
}

#[test]
fn rules_together_count_as_their_weakest() {
    let call = Call::new(tool("mcp:sh/bash"), json!({"command": "git log; npm test"}));
    let set = RuleSet::new(vec![
        Rule { unconditional: true, ..rule("allow mcp:sh(git:*)") },
        rule("allow mcp:sh(npm test)"),
        when(rule("deny mcp:sh"), &[("command", Operator::Contains, "npm"), ("command", Operator::Contains, "test")]),
    ]);
    assert_eq!(set.decide(&call.subject(), 0).map(|found| found.action), DENY);
}

#[test]
fn what_was_found_can_be_told() {
    let call = Call::new(tool("mcp:sh/bash"), json!({"command": "$X"}));
    let set = RuleSet::new(vec![Rule { origin: "toolcrib.toml".into(), ..rule("deny mcp:sh(rm:*)") }]);
    let found = set.decide(&call.subject(), 0).unwrap();
    assert!(!found.certain);
    assert_eq!(
        found.reason(),
        "rule \"deny mcp:sh(rm:*)\" (toolcrib.toml), which may mean this call: its arguments cannot be told apart"
    );
    let rule = when(rule("allow *"), &[WEB, TITLE]);
    assert_eq!(rule.to_string(), "allow * when repo starts_with \"acme/\" and title equals \"x\"");
}

#[test]
fn written_form_goes_there_and_back() {
    let text = json!({
        "tool": "Bash(rm:*)", "action": "deny",
        "when": [{"argument": "cwd", "op": "starts_with", "value": "/", "case_sensitive": false}],
        "unconditional": true, "user": "ada", "enabled": true, "expires_at_ms": 5, "updated_at_ms": 4, "origin": "o", "note": "n",
    });
    let rule: Rule = serde_json::from_value(text.clone()).unwrap();
    assert_eq!(serde_json::to_value(&rule).unwrap(), text);
    let short: Rule = serde_json::from_value(json!({"tool": "*", "action": "ask"})).unwrap();
    assert!(short.enabled && short.when.is_empty() && short.expires_at_ms.is_none());
    assert!(serde_json::from_value::<Rule>(json!({"tool": "*", "action": "ask", "until": 5})).is_err());
}

#[test]
fn what_goes_by_the_tool_alone_is_told_apart() {
    #[track_caller]
    fn check(rules: &[Rule], want: Bearing) {
        let call = issue();
        let set = RuleSet::new(rules.to_vec());
        let subject = call.subject();
        assert_eq!(set.bearing(subject.tool, subject.exposed, subject.groups), want, "{rules:?}");
        // What goes by the tool alone is the same for any other call of it, at any time.
        let other = Subject { arguments: &serde_json::Value::Null, raw: None, ..subject };
        let (one, two) = (set.matching(&subject, 1_000), set.matching(&other, u64::MAX));
        match want {
            Bearing::None => assert!(one.is_empty() && two.is_empty(), "{rules:?}"),
            Bearing::Tool => assert_eq!(one, two, "{rules:?}"),
            Bearing::Call => {}
        }
    }
    check(&[], Bearing::None);
    check(&[rule("deny mcp:gitlab"), rule("allow run_command(rm:*)")], Bearing::None);
    check(&[Rule { enabled: false, ..rule("deny *") }], Bearing::None);
    check(&[rule("deny mcp:gitlab"), rule("allow mcp:github/*")], Bearing::Tool);
    check(&[rule("deny mcp:github"), rule("ask mcp:github/create_issue")], Bearing::Tool);
    check(&[rule("allow mcp:github"), rule("deny mcp:github(acme*)")], Bearing::Call);
    check(&[when(rule("deny mcp:github"), &[WEB])], Bearing::Call);
    check(&[rule("deny *"), Rule { user: Some("ann".to_owned()), ..rule("allow *") }], Bearing::Call);
    check(&[Rule { expires_at_ms: Some(2_000), ..rule("allow *") }], Bearing::Call);
}
