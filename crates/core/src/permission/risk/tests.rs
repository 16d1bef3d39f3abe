use serde_json::json;

use super::*;
use crate::permission::fixture::{Call, tool, tool_with};

#[track_caller]
fn check(id: &str, hints: &Value, trusted: bool, risk: Risk, effect: Effect) {
    let tool = tool_with(id, &json!({}), hints).with_trusted_hints(trusted);
    let found = classify(&tool, tool.name(), &[], &Groups::default());
    assert_eq!((found.risk, found.effect), (risk, effect), "{id} {hints} trusted {trusted}");
    assert!(!found.reasons.is_empty());
}

#[test]
fn hints_of_an_upstream_only_raise_caution() {
    use Effect::{Destructive, Mutating, ReadOnly};
    use Risk::{High, Low, Medium};
    check("builtin/run_command", &json!({}), false, High, Destructive);
    check("builtin/run_command", &json!({"readOnlyHint": true}), false, High, Destructive);
    check("builtin/write_file", &json!({}), false, Medium, Mutating);
    check("builtin/edit_file", &json!({}), false, Medium, Mutating);
    check("builtin/kv_set", &json!({}), false, Low, Mutating);
    check("builtin/kv_delete", &json!({}), false, Low, Mutating);
    check("builtin/store_set", &json!({}), false, Low, Mutating);
    check("builtin/store_action", &json!({}), false, Low, Mutating);
    check("builtin/store_delete", &json!({}), false, Medium, Destructive);
    check("builtin/store_get", &json!({}), false, Low, ReadOnly);
    check("builtin/fetch_url", &json!({}), false, Low, ReadOnly);
    check("builtin/read_file", &json!({}), false, Low, ReadOnly);
    check("builtin/current_time", &json!({}), false, Low, ReadOnly);
    check("builtin/tool_result_read", &json!({}), false, Low, ReadOnly);
    check("builtin/new_one", &json!({}), false, Medium, Mutating);
    check("builtin/new_one", &json!({"readOnlyHint": true}), false, Low, ReadOnly);
    check("mcp:x/run_command", &json!({}), false, Medium, Mutating);
    check("mcp:x/read_file", &json!({}), false, Medium, Mutating);
    check("mcp:x/a", &json!({"readOnlyHint": true}), false, Medium, Mutating);
    check("mcp:x/a", &json!({"readOnlyHint": true}), true, Low, ReadOnly);
    check("mcp:x/a", &json!({"destructiveHint": true}), false, High, Destructive);
    check("mcp:x/a", &json!({"destructiveHint": true, "readOnlyHint": true}), true, High, Destructive);
    check("mcp:x/a", &json!({"destructiveHint": false}), false, Medium, Mutating);
    check("plugin:x/a", &json!({"readOnlyHint": true}), false, Low, ReadOnly);
}

fn rule(selector: &str, risk: Option<Risk>, effect: Option<Effect>) -> RiskRule {
    RiskRule { selector: selector.parse().unwrap(), risk, effect }
}

#[track_caller]
fn local(id: &str, rules: &[RiskRule], risk: Risk, effect: Effect, dangerous: bool) {
    let call = Call::new(tool(id), json!({}));
    let found = classify(&call.tool, &call.exposed, rules, &call.groups);
    assert_eq!((found.risk, found.effect, found.dangerous()), (risk, effect, dangerous), "{id} {:?}", found.reasons);
}

#[test]
fn local_rules_win_and_may_lower() {
    use Effect::{Destructive, Mutating, ReadOnly};
    use Risk::{Critical, High, Low, Medium};
    local("mcp:x/a", &[rule("mcp:x", Some(Critical), None)], Critical, Mutating, true);
    local("mcp:x/a", &[rule("mcp:x/a", Some(Low), Some(ReadOnly))], Low, ReadOnly, false);
    local("mcp:x/a", &[rule("mcp:x", None, Some(Destructive))], Medium, Destructive, true);
    local("builtin/run_command", &[rule("run_command", Some(Low), None)], Low, Destructive, false);
    local("builtin/run_command", &[rule("run_command", Some(Low), Some(Destructive))], Low, Destructive, true);
    local("mcp:x/a", &[rule("*", Some(High), None), rule("mcp:x", Some(Low), None)], Low, Mutating, false);
    // A server that picks the name of a lowered tool lowers nothing, one of a raised tool is raised.
    local("mcp:x/safe", &[rule("safe", Some(Low), None)], Medium, Mutating, false);
    local("mcp:x/safe", &[rule("safe", Some(High), None)], High, Mutating, true);
}

#[track_caller]
fn writes(id: &str, arguments: &Value, want: bool) {
    let call = Call::new(tool(id), arguments.clone());
    let scratch = ["/scratch".to_owned()];
    assert_eq!(dangerous(&call.tool, &call.assessment, arguments, &scratch, call.place), want, "{id} {arguments}");
}

#[test]
fn writing_outside_the_scratch_area_is_dangerous() {
    writes("builtin/write_file", &json!({"path": "/scratch/a"}), false);
    writes("builtin/write_file", &json!({"path": "/scratch/../etc/a"}), true);
    writes("builtin/write_file", &json!({"path": "/scratch-2/a"}), true);
    writes("builtin/write_file", &json!({"path": "../scratch/a"}), false);
    writes("builtin/write_file", &json!({"path": "a"}), true);
    writes("builtin/edit_file", &json!({"path": "~/a"}), true);
    writes("builtin/edit_file", &json!({}), true);
    writes("builtin/read_file", &json!({"path": "/etc/a"}), false);
    writes("builtin/run_command", &json!({"command": "ls"}), true);
    writes("mcp:x/write_file", &json!({"path": "/etc/a"}), false);
}

#[test]
fn a_store_s_action_that_destroys_something_is_dangerous() {
    writes("builtin/store_action", &json!({"action": "clear", "confirm": true}), true);
    // These are refused by the store itself (oneringai case 116).
    writes("builtin/store_action", &json!({"action": "clear", "confirm": "true"}), false);
    writes("builtin/store_action", &json!({"action": "search"}), false);
    writes("builtin/store_delete", &json!({"store": "notes", "key": "k"}), true);
    writes("mcp:x/store_action", &json!({"confirm": true}), false);
}

#[test]
fn words_go_there_and_back() {
    for risk in [Risk::Low, Risk::Medium, Risk::High, Risk::Critical] {
        assert_eq!(risk.word().parse(), Ok(risk));
        assert_eq!(serde_json::to_value(risk).unwrap(), json!(risk.word()));
    }
    for effect in [Effect::ReadOnly, Effect::Mutating, Effect::Destructive] {
        assert_eq!(effect.word().parse(), Ok(effect));
        assert_eq!(serde_json::to_value(effect).unwrap(), json!(effect.word()));
    }
    let error = "huge".parse::<Risk>().unwrap_err().to_string();
    assert_eq!(error, "'huge' is no risk; use one of low, medium, high, critical");
    assert!(Risk::Low < Risk::Medium && Risk::High < Risk::Critical);
}
