//! What an operator sees: records, circuits and figures.

use serde_json::{Value, json};

use super::{ANN, Api, BOB, OPERATOR, error_code};

#[test]
fn records_are_found_by_what_is_asked_for() {
    let api = Api::start("permissions.deny = ['mcp:up/shell_*']\npolicy.show_denied = true");
    let trace = [("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")];
    let call = super::body("look", r#"{"key":"a"}"#, r#""session":"s1","scope":{"agent":"helper"}"#);
    let first = api.served.send("POST", "/v1/calls", &trace, &call).json();
    assert_eq!(api.call("note", r#"{"key":"b","n":471147114711}"#).status, 200);
    assert_eq!(api.call_as(BOB, "look", r#"{"key":"c"}"#, "").status, 200);
    assert_eq!(api.call_as(BOB, "shell", r#"{"command":"ls"}"#, "").status, 403);
    let all = api.records("", |found| found.iter().filter(|record| record["kind"] == "outcome").count() == 4);

    let check = |query: &str, want: &[(&str, &str, &str)]| {
        let found = api.operator("GET", &format!("/v1/audit{query}"), "").json();
        let found: Vec<_> = found["records"].as_array().unwrap().iter().map(short).collect();
        assert_eq!(found, want.iter().map(|(a, b, c)| format!("{a} {b} {c}")).collect::<Vec<_>>(), "{query}");
    };
    check("?tool=mcp:up/look_http", &[("outcome", "ann", "ok"), ("outcome", "bob", "ok")]);
    check("?tool=mcp:up/look_http&user=bob", &[("outcome", "bob", "ok")]);
    check("?tool=mcp:up/note_http", &[("intent", "ann", "-"), ("outcome", "ann", "ok")]);
    check("?outcome=denied", &[("outcome", "bob", "denied")]);
    check("?outcome=timed_out", &[]);
    check("?user=nobody", &[]);
    check("?user=ann&outcome=ok&limit=1", &[("outcome", "ann", "ok")]);
    check("?user=bob&since=1h", &[("outcome", "bob", "ok"), ("outcome", "bob", "denied")]);
    check("?user=bob&since=2099-01-01T00:00:00Z", &[]);
    check("?tool=mcp:up/&user=bob&after=0&limit=1", &[("outcome", "bob", "ok")]);
    let (run, number) = (first["run"].as_str().unwrap(), &first["call_id"]);
    check(&format!("?run={run}&call={number}"), &[("outcome", "ann", "ok")]);
    // Page by page.
    let mut after = 0;
    let mut paged = Vec::new();
    while let Some(record) =
        api.operator("GET", &format!("/v1/audit?after={after}&limit=1"), "").json()["records"].get(0)
    {
        after = record["seq"].as_u64().unwrap();
        paged.push(record.clone());
    }
    assert_eq!(paged, all);

    let traced = &api.records(&format!("?run={run}&call={number}"), |_| true)[0];
    assert_eq!(traced["trace"], trace[0].1);
    assert_eq!((&traced["principal"]["session"], &traced["principal"]["agent"]), (&json!("s1"), &json!("helper")));
    assert!(!Value::from(all).to_string().contains("471147114711"), "digests, no arguments");

    for query in [
        "?call=x",
        "?outcome=fine",
        "?since=yesterday",
        "?after=-1",
        "?limit=many",
        "?limit=-1",
        "?limit=0",
        "?limit=1001",
        "?user=",
        "?unknown=1",
        "?Tool=x",
    ] {
        let answer = api.operator("GET", &format!("/v1/audit{query}"), "");
        assert_eq!((answer.status, error_code(&answer).as_str()), (400, "not_read"), "{query}: {answer:?}");
    }
}

/// Kind, user and outcome.
fn short(record: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    format!("{} {} {}", text(&record["kind"]), text(&record["principal"]["user"]), text(&record["outcome"]))
}

#[test]
fn circuits_are_listed_and_closed_again() {
    let api = Api::start("calls.breaker.failures = 2");
    assert_eq!(api.call("frail", r#"{"key":"a"}"#).status, 200);
    assert_eq!(state(&api, "frail"), Some("closed".to_owned()));
    for _ in 0..2 {
        assert_eq!(api.call("frail", r#"{"key":"a","fault":true}"#).status, 502);
    }
    assert_eq!(state(&api, "frail"), Some("open".to_owned()));
    assert_eq!(api.call("frail", r#"{"key":"a"}"#).status, 503);
    assert_eq!(api.call("look", r#"{"key":"b"}"#).status, 200, "the source and its other tools go on");
    let reset = |key: &str| api.operator("POST", "/v1/breakers/reset", &json!({"key": key}).to_string());
    assert_eq!(reset("mcp:up/nope").json(), json!({"reset": 0}));
    assert_eq!(api.call("frail", r#"{"key":"a"}"#).status, 503);
    assert_eq!(reset("mcp:up/frail_http").json(), json!({"reset": 1}));
    assert_eq!(api.call("frail", r#"{"key":"a"}"#).status, 200);
    assert_eq!(api.scene.executions("a"), 4);
    let told = api.records("", |found| found.iter().filter(|record| record["kind"] == "breaker").count() >= 2);
    assert!(
        told.iter().any(|record| record["tool"] == "mcp:up/frail_http" && record["kind"] == "breaker"),
        "{told:#?}"
    );
}

/// The state of a tool's circuit, if there is one.
fn state(api: &Api, tool: &str) -> Option<String> {
    let list = api.operator("GET", "/v1/breakers", "").json();
    let name = format!("mcp:up/{tool}_http");
    let found =
        list["breakers"].as_array().unwrap().iter().find(|breaker| breaker.to_string().contains(&name))?.clone();
    Some(found["state"].as_str().unwrap_or_else(|| panic!("{found:#}")).to_owned())
}

#[test]
fn figures_agree_with_what_happened() {
    let api = Api::start("permissions.deny = ['mcp:up/shell_*']\npolicy.show_denied = true");
    for n in 0..3 {
        assert_eq!(api.call("look", &format!(r#"{{"key":"a","n":{n}}}"#)).status, 200);
    }
    assert_eq!(api.call("shell", r#"{"command":"ls"}"#).status, 403);
    assert_eq!(api.call("nothing", "{}").status, 404);
    let answer = api.operator("GET", "/metrics", "");
    assert!(answer.headers["content-type"].starts_with("text/plain; version=0.0.4"), "{answer:?}");
    let series = read(&answer.body);
    let calls = |tool: &str, outcome: &str| {
        let name = format!(r#"toolcrib_calls_total{{tool="mcp:up/{tool}_http",source="mcp:up",outcome="{outcome}"}}"#);
        series.iter().find(|(series, _)| *series == name).map(|(_, value)| *value)
    };
    assert_eq!(calls("look", "ok"), Some(3.0), "{}", answer.body);
    assert_eq!(calls("shell", "denied"), Some(1.0), "{}", answer.body);
    assert_eq!(calls("note", "ok"), None, "what was not called has no series");
    assert!(!answer.body.contains("nothing"), "a name that a caller made up is no label");
    for secret in [ANN, BOB, OPERATOR] {
        assert!(!answer.body.contains(secret));
    }
    let stats = api.operator("GET", "/v1/stats", "").json();
    assert!(stats.to_string().contains("mcp:up/look_http"), "{stats:#}");
}

/// Series and values; every line is one, or says what one is about.
#[track_caller]
fn read(text: &str) -> Vec<(String, f64)> {
    assert!(text.ends_with('\n'));
    let mut declared = String::new();
    let mut found: Vec<(String, f64)> = Vec::new();
    for line in text.lines() {
        if let Some(about) = line.strip_prefix("# TYPE ") {
            let (name, kind) = about.split_once(' ').unwrap();
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            name.clone_into(&mut declared);
        } else if !line.starts_with("# HELP ") {
            let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
            assert!(series.starts_with(declared.as_str()) && !declared.is_empty(), "{line} follows {declared}");
            assert!(found.iter().all(|(known, _)| known != series), "{line} twice");
            found.push((series.to_owned(), value.parse().unwrap_or_else(|_| panic!("{line}"))));
        }
    }
    found
}

/// On this machine alone, with no keys at all: figures for anybody, answers from nobody.
#[test]
fn without_keys() {
    let scene = crate::scene::Scene::new("permissions.ask = ['mcp:up/note_*']");
    let served = crate::http::Served::start(&scene, None);
    assert_eq!(served.get("/metrics").status, 200);
    assert_eq!(served.post("/v1/calls", &super::body("look", r#"{"key":"a"}"#, "")).status, 200);
    assert_eq!(served.post("/v1/calls", &super::body("note", r#"{"key":"a"}"#, "")).status, 403);
    for path in ["/v1/approvals", "/v1/grants", "/v1/audit", "/v1/stats", "/v1/breakers"] {
        assert_eq!(served.get(path).status, 403, "{path}");
    }
}
