//! Which request gets which status.

use super::{ANN, Api, OPERATOR, body, error_code};
use crate::http::Answer;

#[test]
fn a_call_has_the_status_of_its_outcome() {
    let api = Api::start(
        "policy.deny = ['mcp:up/loose_*']\npolicy.show_denied = true\npermissions.deny = ['mcp:up/shell_*']\ncalls.breaker.failures = 1\n\
         permissions.ask = ['mcp:up/wipe_*']",
    );
    let check = |tool: &str, arguments: &str, more: &str, status: u16, outcome: &str, says: &str| {
        let answer = api.call_as(ANN, tool, arguments, more);
        assert_eq!(
            (answer.status, answer.json()["outcome"].as_str().unwrap()),
            (status, outcome),
            "{tool}: {answer:?}"
        );
        assert!(answer.body.contains(says), "{tool}: {answer:?}");
        assert!(answer.json()["call_id"].is_u64() && answer.json()["run"].is_string(), "{answer:?}");
    };
    check("note", r#"{"key":"a","n":1}"#, "", 200, "ok", "did a");
    check("note", r#"{"key":"b","n":"1"}"#, "", 200, "ok", r#""repairs":[{"#);
    check("note", r#"{"key":"c","n":"many"}"#, "", 422, "invalid", "/n");
    check("note", r#"{"n":1}"#, "", 422, "invalid", "key");
    check("note", r#"{"key":"c","n":1,"n":2}"#, "", 422, "invalid", "twice");
    // Cut off in the middle: what it would have said is anybody's guess.
    check("note", r#""{\"key\":\"c\",\"n\":1""#, "", 422, "invalid", "Nothing was run");
    check(
        "note",
        r#"{"key":"d","n":1}"#,
        r#""session":"s","scope":{"agent":"x"},"timeout_ms":9000"#,
        200,
        "ok",
        "did d",
    );
    check("nuke", "{}", "", 404, "invalid", "there is no tool");
    check("loose", r#"{"key":"c"}"#, "", 404, "invalid", "there is no tool");
    check("shell", r#"{"key":"c","command":"ls"}"#, "", 403, "denied", "Do not retry");
    check("wipe", r#"{"key":"c"}"#, "", 403, "denied", "approve");
    check("look", r#"{"key":"e","delay_ms":3000}"#, r#""timeout_ms":100"#, 504, "timed_out", "may or may not");
    check("frail", r#"{"key":"f","fault":true}"#, "", 502, "unknown", "cannot be used");
    check("frail", r#"{"key":"c"}"#, "", 503, "unavailable", "keeps failing");
    // Through the bridge: a name that leads nowhere is one thing, what is wrong with the bridge's own arguments another.
    for (name, arguments, status) in [
        ("tool_call", r#"{"name":"up__note_http","arguments":{"key":"g"}}"#, 200),
        ("tool_call", r#"{"name":"up__nuke_http","arguments":{}}"#, 404),
        ("tool_call", r#"{"arguments":{}}"#, 422),
        ("tool_call", r#"{"name":"up__note_http","arguments":{"key":"c","key":"d"}}"#, 422),
        ("tool_search", "{}", 422),
    ] {
        let body = format!(r#"{{"name":"{name}","arguments":{arguments}}}"#);
        let answer = api.served.post("/v1/calls", &body);
        assert_eq!(answer.status, status, "{body}: {answer:?}");
    }
    for (key, times) in [("a", 1), ("b", 1), ("c", 0), ("d", 1), ("e", 1), ("f", 1), ("g", 1)] {
        assert_eq!(api.scene.executions(key), times, "{key}");
    }
    // What is hidden and what does not exist are told in the same words; names that are like it are those that are shown.
    let told = |tool: &str| {
        let error = api.call(tool, r#"{"key":"c"}"#).json()["error"].clone();
        let told = error["message"].as_str().unwrap().replace(&format!("up__{tool}_http"), "NAME");
        assert!(!told.contains("loose"), "{told}");
        (error["code"].clone(), error["data"].clone(), told.split("; did you mean").next().unwrap().to_owned())
    };
    assert_eq!(told("loose"), told("nonsuch"));
}

/// Requests that are no calls yet.
#[test]
fn requests_that_cannot_be_taken() {
    let api = Api::start("");
    let good = body("look", r#"{"key":"never"}"#, "");
    let long = "x".repeat(257);
    let json = ("Content-Type", "application/json");
    let check = |headers: &[(&str, &str)], text: &str, status: u16| -> Answer {
        let answer = api.served.send("POST", "/v1/calls", headers, text);
        assert_eq!(answer.status, status, "{headers:?} {text}: {answer:?}");
        answer
    };
    for text in [
        "",
        "{",
        "[]",
        "7",
        "{}",
        r#"{"name":7}"#,
        r#"{"name":"a","name":"b"}"#,
        r#"{"name":"up__look_http","arguments":{},"arguments":{}}"#,
        r#"{"name":"up__look_http","argument":{}}"#,
        r#"{"name":"up__look_http","timeout_ms":-1}"#,
        r#"{"name":"up__look_http","timeout_ms":0}"#,
        r#"{"name":"up__look_http","session":""}"#,
        r#"{"name":"up__look_http","idempotency_key":""}"#,
        &format!(r#"{{"name":"up__look_http","scope":{{"agent":"{long}"}}}}"#),
        r#"{"name":"up__look_http","agent":"x"}"#,
        r#"{"name":"up__look_http","timeout_ms":0}"#,
        r#"{"calls":[]}"#,
        r#"{"calls":[{"name":"up__look_http"},{"name":"up__look_http","argument":{}}]}"#,
        r#"{"calls":[{"name":"up__look_http"}],"more":1}"#,
        &format!("{good} {good}"),
    ] {
        assert_eq!(error_code(&check(&[], text, 400)), "not_read", "{text}");
    }
    for headers in [
        &[("Idempotency-Key", "")][..],
        &[("Idempotency-Key", &long)],
        &[("Idempotency-Key", "a b")],
        &[("Idempotency-Key", "a"), ("Idempotency-Key", "b")],
    ] {
        assert_eq!(error_code(&check(headers, &good, 400)), "not_read", "{headers:?}");
    }
    let keyed = body("look", r#"{"key":"never"}"#, r#""idempotency_key":"a""#);
    assert_eq!(error_code(&check(&[("Idempotency-Key", "b")], &keyed, 422)), "key_conflict");
    for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""] {
        assert_eq!(error_code(&check(&[("Content-Type", kind)], &good, 415)), "not_json", "{kind}");
    }
    assert_eq!(error_code(&check(&[json, json], &good, 415)), "not_json");
    let large = body("look", &format!(r#"{{"key":"{}"}}"#, "x".repeat(5_000)), "");
    assert_eq!(error_code(&check(&[], &large, 413)), "too_large");
    // Before anything is read: who asks, and from where.
    for (header, status, code) in [
        (("Authorization", "Bearer wrong"), 401, "key_needed"),
        (("Authorization", ""), 401, "key_needed"),
        (("Host", "evil.example"), 403, "host_not_served"),
        (("Origin", "https://evil.example"), 403, "cross_site"),
        (("Sec-Fetch-Site", "cross-site"), 403, "cross_site"),
        (("Accept", "text/html"), 406, "not_acceptable"),
    ] {
        assert_eq!(error_code(&check(&[header], &good, status)), code, "{header:?}");
    }
    assert_eq!(api.scene.executions("never"), 0, "none of these ran");
    assert_eq!(check(&[("Content-Type", "application/json; charset=utf-8")], &good, 200).json()["outcome"], "ok");
    for (method, path, status, code, allow) in [
        ("GET", "/v1/calls", 405, "method_not_allowed", Some("POST")),
        ("DELETE", "/v1/tools", 405, "method_not_allowed", Some("GET,HEAD")),
        ("PUT", "/v1/approvals/x", 405, "method_not_allowed", Some("POST")),
        ("GET", "/v1/nothing", 404, "not_found", None),
        ("POST", "/v1/call", 404, "not_found", None),
        ("GET", "/v2/tools", 404, "not_found", None),
        ("GET", "/v1/stats?x=1", 400, "not_read", None),
        ("GET", "/v1/tools?profil=x", 400, "not_read", None),
        ("GET", "/v1/tools?profile=none", 403, "scope_refused", None),
    ] {
        let answer = api.operator(method, path, "");
        assert_eq!((answer.status, error_code(&answer).as_str()), (status, code), "{method} {path}");
        assert_eq!(answer.headers.get("allow").map(String::as_str), allow, "{method} {path}");
    }
}

#[test]
fn looking_at_tools_needs_no_more_than_a_caller_s_key() {
    let api = Api::start("policy.deny = ['mcp:up/loose_*']");
    let check = |method: &str, path: &str, text: &str, status: u16, says: &str| {
        let answer = api.of(ANN, method, path, text);
        assert_eq!(answer.status, status, "{method} {path} {text}: {answer:?}");
        assert!(answer.body.contains(says), "{method} {path} {text}: {answer:?}");
        assert!(!answer.body.contains("loose_"), "what is hidden is nowhere: {answer:?}");
    };
    check("GET", "/v1/tools", "", 200, "up__note_http");
    check("POST", "/v1/search", r#"{"query":"note http"}"#, 200, "up__note_http");
    check("POST", "/v1/search", r#"{"query":["note http","look"],"server":"up","limit":1}"#, 200, "up__note_http");
    check("POST", "/v1/search", r#"{"query":7}"#, 400, "/query");
    check("POST", "/v1/search", "nonsense", 400, "not_read");
    check("POST", "/v1/describe", r#"{"names":["up__note_http"]}"#, 200, "branch");
    check("POST", "/v1/describe", r#"{"names":["up__nope_http"]}"#, 200, "not_found");
    check("POST", "/v1/describe", "{}", 400, "names");
    check("POST", "/v1/assemble", r#"{"target":"anthropic"}"#, 200, "input_schema");
    check("POST", "/v1/assemble", r#"{"target":"nobody"}"#, 400, "nobody");
    check("GET", "/v1/pending", "", 200, r#"{"pending":[]}"#);
    check("POST", "/v1/explain", r#"{"name":"up__note_http","arguments":{"key":"a"}}"#, 200, r#""decision":"allow""#);
    check("POST", "/v1/explain", r#"{"name":"*"}"#, 200, "is shown directly");
    // What is hidden is told like what does not exist; only operators are told the difference.
    check("POST", "/v1/explain", r#"{"name":"up__lose_http"}"#, 404, "unknown_tool");
    let hidden = api.of(ANN, "POST", "/v1/explain", r#"{"name":"up__loose_http"}"#);
    assert_eq!((hidden.status, error_code(&hidden).as_str()), (404, "unknown_tool"));
    assert_eq!(api.of(ANN, "POST", "/v1/explain", r#"{"name":"x","key":"bob"}"#).status, 403);
    let told = api.operator("POST", "/v1/explain", r#"{"name":"up__loose_http","key":"ann"}"#);
    assert_eq!((told.status, &told.json()["tools"][0]["fate"]), (200, &"hidden".into()), "{told:?}");
    check("GET", "/v1/health", "", 200, r#"{"source":"mcp:up","state":"ready""#);
}

/// A model that can call tools must not be able to answer for a person, or to read what others did.
#[test]
fn what_only_operators_may() {
    let api = Api::start("");
    let approve = r#"{"answer":"approve","reach":"once"}"#;
    for (method, path, text, as_operator) in [
        ("GET", "/v1/approvals", "", 200),
        ("GET", "/v1/approvals?state=all&limit=5", "", 200),
        ("GET", "/v1/approvals?state=odd", "", 400),
        ("GET", "/v1/approvals?limit=many", "", 400),
        ("GET", "/v1/approvals?limit=-1", "", 400),
        ("GET", "/v1/approvals?stat=all", "", 400),
        ("POST", "/v1/approvals/none", approve, 404),
        ("POST", "/v1/approvals/none", "{}", 400),
        ("POST", "/v1/approvals/none", r#"{"answer":"approve"}"#, 400),
        ("POST", "/v1/approvals/none", r#"{"answer":"maybe","reach":"once"}"#, 400),
        ("GET", "/v1/grants", "", 200),
        ("DELETE", "/v1/grants/none", "", 404),
        ("POST", "/v1/resume/none", r#""yes""#, 404),
        ("GET", "/v1/stats", "", 200),
        ("GET", "/v1/audit", "", 200),
        ("GET", "/v1/breakers", "", 200),
        ("POST", "/v1/breakers/reset", r#"{"key":"mcp:up"}"#, 200),
        ("POST", "/v1/breakers/reset", r#"{"key":"nothing such"}"#, 404),
        ("POST", "/v1/breakers/reset", "{}", 400),
        ("GET", "/metrics", "", 200),
    ] {
        let answer = api.of(OPERATOR, method, path, text);
        assert_eq!(answer.status, as_operator, "{method} {path} {text}: {answer:?}");
        if answer.status >= 400 {
            error_code(&answer);
        }
        let answer = api.of(ANN, method, path, text);
        assert_eq!(answer.status, 403, "{method} {path} {text}: {answer:?}");
        assert_eq!(error_code(&answer), "scope_needed", "{method} {path} {text}");
        assert_eq!(api.of("wrong", method, path, text).status, 401, "{method} {path} {text}");
    }
    // An operator is a caller too.
    assert_eq!(api.call_as(OPERATOR, "look", r#"{"key":"o"}"#, "").status, 200);
}

/// What may be tried again says when.
#[test]
fn retry_after_is_said_where_it_is_known() {
    let api = Api::start(
        "calls.rates = [{ tool = 'mcp:up/note_*', limit = 1, window_ms = 600000 }]\ncalls.breaker.failures = 1",
    );
    assert_eq!(api.call("note", r#"{"key":"a"}"#).status, 200);
    let fast = api.call("note", r#"{"key":"b"}"#);
    assert_eq!((fast.status, error_code(&fast).as_str()), (429, "too_fast"));
    let seconds: u64 = fast.headers["retry-after"].parse().unwrap();
    assert!((1..=600).contains(&seconds) && fast.json()["retry_after"] == seconds, "{fast:?}");
    assert_eq!(api.call("frail", r#"{"key":"c","fault":true}"#).status, 502);
    let open = api.call("frail", r#"{"key":"c"}"#);
    assert_eq!((open.status, error_code(&open).as_str()), (503, "unavailable"));
    assert!(open.headers["retry-after"].parse::<u64>().unwrap() > 0, "{open:?}");
    assert_eq!(api.scene.executions("b"), 0);
}
