use serde_json::{json, value::RawValue};

use super::*;
use crate::permission::fixture::{Call, tool};

#[track_caller]
fn check(condition: (&str, &str, &str), arguments: &Value, grant: bool, restrict: bool) {
    let (argument, operator, value) = condition;
    let condition = Condition::new(argument, operator.parse().unwrap(), value).unwrap();
    let mut call = Call::new(tool("mcp:github/create_issue"), arguments.clone());
    call.category = Some("shell");
    let subject = call.subject();
    let holds = |side| condition.holds(&subject, side) == Match::Yes;
    let got = (holds(Side::Grant), holds(Side::Restrict));
    assert_eq!(got, (grant, restrict), "{condition} on {arguments} (allow, deny)");
}

#[test]
fn eight_operators_ignoring_case() {
    let arguments = json!({"title": "Fix the Bug", "n": 5, "on": true});
    check(("title", "starts_with", "fix"), &arguments, true, true);
    check(("title", "not_starts_with", "FIX"), &arguments, false, false);
    check(("title", "contains", "the"), &arguments, true, true);
    check(("title", "not_contains", "x y"), &arguments, true, true);
    check(("title", "equals", "fix the bug"), &arguments, true, true);
    check(("title", "not_equals", "fix"), &arguments, true, true);
    check(("title", "matches", "^fix.*bug$"), &arguments, true, true);
    check(("title", "not_matches", "feature"), &arguments, true, true);
    check(("n", "equals", "5"), &arguments, true, true);
    check(("on", "equals", "true"), &arguments, true, true);
}

#[test]
fn a_missing_argument_never_lets_through() {
    for arguments in [json!({}), json!({"a": null}), json!({"a": {"b": 1}}), json!("text")] {
        let place = if arguments["a"].is_object() { "a.c" } else { "a" };
        check((place, "equals", "x"), &arguments, false, false);
        check((place, "starts_with", ""), &arguments, false, false);
        check((place, "not_equals", "x"), &arguments, false, true);
        check((place, "not_matches", "x"), &arguments, false, true);
    }
}

#[track_caller]
fn number(condition: (&str, &str), written: &str, grant: bool, restrict: bool) {
    let condition = Condition::new("a.n", condition.0.parse().unwrap(), condition.1).unwrap();
    for text in [format!(r#"{{"a": {{"n": {written} }}}}"#), format!(r#"{{"a":[{{"n":{written}}}]}}"#)] {
        let mut call = Call::new(tool("mcp:x/a"), serde_json::from_str(&text).unwrap());
        call.raw = Some(RawValue::from_string(text).unwrap());
        let subject = call.subject();
        let got = [Side::Grant, Side::Restrict].map(|side| condition.holds(&subject, side) == Match::Yes);
        assert_eq!(got, [grant, restrict], "{condition} on {written} (allow, deny)");
    }
}

#[test]
fn numbers_count_by_their_value() {
    for written in ["1", "1.0", "1e0", "10e-1", "100E-2", "0.1e1"] {
        number(("equals", "1"), written, true, true);
        number(("equals", "1.00"), written, true, true);
        number(("not_equals", "1"), written, false, false);
        number(("not_equals", "2"), written, true, true);
        number(("equals", "2"), written, false, false);
        number(("equals", "x"), written, false, false);
        number(("matches", "^1$"), written, written == "1", true);
        number(("starts_with", "1"), written, !written.starts_with('0'), true);
    }
    number(("equals", "0"), "-0.0", true, true);
    number(("matches", "^100$"), "1e2", false, true);
    number(("not_matches", "^100$"), "1e2", false, true);
    // All digits count. What a float cannot tell from the value is no leave, and no way past a denial.
    number(("equals", "123456789012345678901234567891"), "123456789012345678901234567891", true, true);
    number(("equals", "123456789012345678901234567891"), "123456789012345678901234567890", false, false);
    number(("equals", "123456789012345678901234567891"), "123456789012345678901234567891.0", true, true);
    number(("equals", "1"), "0.99999999999999999999999", false, true);
    number(("not_equals", "1"), "0.99999999999999999999999", false, true);
    number(("equals", "0"), "1e-400", false, true);
    number(("not_equals", "9007199254740993"), "9007199254740992", true, true);
    // A tool may read a text as a number: that denies, and never allows.
    number(("equals", "1"), "\"1.0\"", false, true);
    number(("equals", "1"), "\"1\"", true, true);
    number(("equals", "1"), "[1, 1.0]", true, true);
    number(("equals", "1"), "[1, 2.0]", false, true);
}

#[test]
fn values_are_found_by_path() {
    let arguments = json!({"a": {"b": [{"c": "x"}, {"c": "y"}]}, "d.e": "z", "$f": "w", "t": ["x", "x"], "empty": []});
    check(("a.b.0.c", "equals", "x"), &arguments, true, true);
    check(("/a/b/1/c", "equals", "y"), &arguments, true, true);
    check(("/d.e", "equals", "z"), &arguments, true, true);
    check(("/$f", "equals", "w"), &arguments, true, true);
    check(("d.e", "equals", "z"), &arguments, false, false);
    // Several values: all of them to allow, one to deny.
    check(("a.b.c", "equals", "x"), &arguments, false, true);
    check(("a.b.c", "not_equals", "x"), &arguments, false, true);
    check(("t", "equals", "x"), &arguments, true, true);
    check(("t", "not_equals", "x"), &arguments, false, false);
    check(("empty", "not_equals", "x"), &arguments, false, true);
    check(("a.b.7", "equals", "x"), &arguments, false, false);
}

#[test]
fn paths_count_as_written_and_as_they_lead() {
    let climbing = json!({"path": "/workspace/src/../../etc/passwd"}); // case 102
    check(("path", "starts_with", "/workspace"), &climbing, false, true);
    check(("path", "not_starts_with", "/workspace"), &climbing, false, true);
    check(("path", "starts_with", "/etc"), &climbing, false, true);
    check(("text", "starts_with", "/workspace"), &json!({"text": "/workspace/../etc"}), true, true);
    check(("path", "starts_with", "/workspace"), &json!({"path": "/workspace/a"}), true, true);
    check(("path", "equals", "/workspace/"), &json!({"path": "/workspace/"}), true, true);
    check(("path", "starts_with", "src"), &json!({"path": "src/a"}), true, true);
    check(("path", "starts_with", "src"), &json!({"path": "src/../../etc"}), false, true);
}

#[test]
fn pseudo_arguments() {
    let arguments = json!({});
    check(("$category", "equals", "shell"), &arguments, true, true); // case 101
    check(("$namespace", "equals", "shell"), &arguments, true, true);
    check(("$tool", "equals", "mcp:github/create_issue"), &arguments, true, true);
    check(("$source", "equals", "mcp:github"), &arguments, true, true);
    check(("$risk", "equals", "medium"), &arguments, true, true);
    check(("$effect", "equals", "mutating"), &arguments, true, true);
    check(("$user", "equals", "ada"), &arguments, true, true);
    check(("$tenant", "not_equals", "acme"), &arguments, false, false);
}

#[track_caller]
fn refused(argument: &str, operator: &str, value: &str, says: &str) {
    let error = Condition::new(argument, operator.parse().unwrap(), value).unwrap_err().to_string();
    assert!(error.contains(says) && error.contains(operator), "{error}");
}

#[test]
fn what_cannot_be_used_is_said_when_it_is_written() {
    refused("", "equals", "x", "names no argument");
    refused("$nothing", "equals", "x", "no such pseudo-argument");
    refused("a", "matches", "(", "does not compile");
    refused("a", "not_matches", "a{1000}{1000}", "does not compile");
    refused("a", "matches", &"(".repeat(200), "does not compile");
    refused("a", "equals", &"x".repeat(5_000), "longer than");
    assert!("like".parse::<Operator>().is_err());
}

#[test]
fn written_form_goes_there_and_back() {
    let written = json!({"argument": "a", "op": "not_matches", "value": "^X", "case_sensitive": true});
    let condition: Condition = serde_json::from_value(written.clone()).unwrap();
    assert_eq!(serde_json::to_value(&condition).unwrap(), written);
    let call = Call::new(tool("mcp:x/a"), json!({"a": "xy"}));
    assert_eq!(condition.holds(&call.subject(), Side::Grant), Match::Yes, "case matters here");
    assert!(serde_json::from_value::<Condition>(json!({"argument": "a", "op": "matches", "value": "("})).is_err());
    assert!(
        serde_json::from_value::<Condition>(json!({"argument": "a", "op": "equals", "value": "", "x": 1})).is_err()
    );
}

#[test]
fn paths_count_where_they_really_lead() {
    // What a relative path starts from counts as soon as the value is a whole path.
    check(("path", "starts_with", "/work/secret"), &json!({"path": "secret/key"}), false, true);
    check(("path", "contains", "/secret/"), &json!({"path": "secret/key"}), false, true);
    check(("path", "not_contains", "/secret/"), &json!({"path": "secret/key"}), false, true);
    check(("path", "matches", "^/work/secret"), &json!({"path": "secret/key"}), false, true);
    check(("path", "matches", "^secret/"), &json!({"path": "secret/key"}), true, true);
    check(("source", "starts_with", "/work/secret"), &json!({"source": "secret/key", "destination": "a"}), false, true);
}

#[track_caller]
fn check_real(condition: (&str, &str), cwd: Option<&'static str>, path: &str, grant: Match, restrict: Match) {
    let condition = Condition::new("path", condition.0.parse().unwrap(), condition.1).unwrap();
    let mut call = Call::new(tool("mcp:fs/read"), json!({"path": path}));
    call.place.cwd = cwd;
    let pairs = [("/work/link/a", "/data/a"), ("/work/a", "/work/a"), ("/lost/a", ""), ("/work/link", "/data")];
    let real = |there: &str| Some(there.to_owned()).filter(|there| !there.is_empty());
    let real = pairs.into_iter().map(|(path, there)| (path.to_owned(), real(there))).collect();
    let subject = crate::permission::Subject { real: Some(&real), ..call.subject() };
    let got = (condition.holds(&subject, Side::Grant), condition.holds(&subject, Side::Restrict));
    assert_eq!(got, (grant, restrict), "{condition} on {path} (allow, deny)");
}

#[test]
fn paths_count_where_links_lead() {
    use Match::{No, Uncertain, Yes};

    let work = Some("/work");
    check_real(("starts_with", "/data"), work, "/work/link/a", No, Yes);
    check_real(("starts_with", "/data"), work, "link/a", No, Yes);
    check_real(("starts_with", "/work"), work, "/work/link/a", No, Yes);
    check_real(("starts_with", "link/"), work, "link/a", No, Yes);
    check_real(("starts_with", "a"), work, "a", Yes, Yes);
    check_real(("starts_with", "/work/link/"), work, "/work/link/a", Yes, Yes);
    check_real(("not_starts_with", "/data"), work, "/work/link/a", No, Yes);
    check_real(("not_starts_with", "/data"), work, "/work/a", Yes, Yes);
    // It cannot be told where they lead.
    check_real(("starts_with", "/data"), work, "/lost/a", No, Uncertain);
    check_real(("starts_with", "/data"), None, "a", No, Uncertain);
    check_real(("not_starts_with", "/data"), None, "a", No, Yes);
    check_real(("starts_with", "a"), None, "a", Yes, Yes);
}
