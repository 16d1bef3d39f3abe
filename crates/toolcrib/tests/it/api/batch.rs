//! Many calls in one request, and outcomes as a stream.

use std::{
    io::{BufRead, BufReader, Read},
    net::{Shutdown, TcpStream},
};

use serde_json::{Value, json};

use super::{ANN, Api, error_code};
use crate::http::Answer;

/// A batch of calls of `up__TOOL_http`.
fn batch(api: &Api, headers: &[(&str, &str)], calls: &[(&str, Value, Value)]) -> Answer {
    let calls: Vec<Value> = calls
        .iter()
        .map(|(tool, arguments, more)| {
            let mut call = json!({"name": format!("up__{tool}_http"), "arguments": arguments});
            for (key, value) in more.as_object().into_iter().flatten() {
                call[key] = value.clone();
            }
            call
        })
        .collect();
    api.served.send("POST", "/v1/calls", headers, &json!({"calls": calls}).to_string())
}

/// Statuses, codes and texts, in order.
fn told(answer: &Answer) -> Vec<(u64, String, String)> {
    assert_eq!(answer.status, 200, "{answer:?}");
    let all = answer.json()["outcomes"].as_array().unwrap().clone();
    let text = |one: &Value| one["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    all.iter()
        .map(|one| (one["status"].as_u64().unwrap(), one["code"].as_str().unwrap_or("-").to_owned(), text(one)))
        .collect()
}

#[test]
fn each_call_of_a_batch_has_its_own_outcome_in_its_own_place() {
    let api = Api::start("permissions.deny = ['mcp:up/shell_*']\npolicy.show_denied = true");
    let none = json!({});
    let answer = batch(
        &api,
        &[],
        &[
            // The slowest first: order is that of the request, not of the ends.
            ("note", json!({"key": "a", "delay_ms": 300}), none.clone()),
            ("nuke", json!({}), none.clone()),
            ("note", json!({"n": 1}), none.clone()),
            ("shell", json!({"command": "ls"}), none.clone()),
            ("frail", json!({"fault": true, "key": "f"}), none.clone()),
            ("look", json!({"key": "l"}), json!({"scope": {"profile": "none"}})),
            ("note", json!({"key": "b"}), json!({"session": "s", "scope": {"agent": "x"}})),
        ],
    );
    let told = told(&answer);
    let short: Vec<(u64, &str)> = told.iter().map(|(status, code, _)| (*status, code.as_str())).collect();
    assert_eq!(
        short,
        [
            (200, "-"),
            (404, "unknown_tool"),
            (422, "invalid_arguments"),
            (403, "denied"),
            (502, "unknown_outcome"),
            (403, "scope_refused"),
            (200, "-"),
        ]
    );
    assert_eq!((told[0].2.as_str(), told[6].2.as_str()), ("did a", "did b"));
    for (key, times) in [("a", 1), ("b", 1), ("f", 1), ("l", 0)] {
        assert_eq!(api.scene.executions(key), times, "{key}");
    }
}

#[test]
fn a_batch_is_bounded() {
    let api = Api::start("");
    let calls = |count: usize| {
        let calls: Vec<Value> = (0..count).map(|n| json!({"name": "up__look_http", "arguments": {"n": n}})).collect();
        api.served.post("/v1/calls", &json!({"calls": calls}).to_string())
    };
    let all = told(&calls(64));
    assert!(all.len() == 64 && all.iter().all(|(status, ..)| *status == 200), "{all:?}");
    let many = calls(65);
    assert_eq!((many.status, error_code(&many).as_str()), (400, "not_read"));
    assert_eq!(many.json()["errors"][0]["at"], "/calls");
    assert_eq!(api.scene.executions("-"), 64);
}

/// reliability §2.2: also in a batch, what ran is not run again.
#[test]
fn the_key_of_a_batch_is_one_for_each_place() {
    let api = Api::start("");
    let keyed = [("Idempotency-Key", "k")];
    let send = |second: &str| {
        let none = json!({});
        batch(&api, &keyed, &[("note", json!({"key": "a"}), none.clone()), ("note", json!({"key": second}), none)])
    };
    assert_eq!(told(&send("b")).iter().map(|one| one.0).collect::<Vec<_>>(), [200, 200]);
    let again = send("b");
    assert!(again.json()["outcomes"].as_array().unwrap().iter().all(|one| one["replayed"] == true), "{again:?}");
    let other = told(&send("c"));
    assert_eq!((other[0].0, other[1].0, other[1].1.as_str()), (200, 422, "key_reused"));
    let own = json!({"idempotency_key": "other"});
    let both = batch(&api, &keyed, &[("note", json!({"key": "a"}), own.clone())]);
    assert_eq!((both.status, &both.json()["errors"][0]["at"]), (422, &json!("/calls/0/idempotency_key")), "{both:?}");
    assert_eq!(told(&batch(&api, &[], &[("note", json!({"key": "d"}), own)]))[0].0, 200);
    for (key, times) in [("a", 1), ("b", 1), ("c", 0), ("d", 1)] {
        assert_eq!(api.scene.executions(key), times, "{key}");
    }
}

const EVENTS: [(&str, &str); 1] = [("Accept", "text/event-stream")];

/// Events of a whole stream: names and data.
fn events(text: &str) -> Vec<(String, Value)> {
    let text = text.replace("\r\n", "\n");
    let whole = text.split("\n\n").filter(|event| !event.trim().is_empty() && !event.starts_with(':'));
    whole
        .filter_map(|event| {
            let name = event.lines().find_map(|line| line.strip_prefix("event: "))?;
            let data = event.lines().find_map(|line| line.strip_prefix("data: "))?;
            Some((name.to_owned(), serde_json::from_str(data).unwrap()))
        })
        .collect()
}

#[test]
fn outcomes_are_streamed_as_they_come() {
    let api = Api::start("");
    let none = json!({});
    let calls = [
        ("look", json!({"key": "slow", "delay_ms": 400}), none.clone()),
        ("look", json!({"key": "fast"}), none.clone()),
        ("nuke", json!({}), none),
    ];
    let answer = batch(&api, &EVENTS, &calls);
    assert_eq!((answer.status, answer.headers["content-type"].as_str()), (200, "text/event-stream"));
    let found = events(&answer.body);
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["outcome", "outcome", "outcome", "end"], "{found:#?}");
    assert_eq!((&found[2].1["index"], &found[2].1["status"]), (&json!(0), &json!(200)), "the slow one is last");
    assert_eq!(found[3].1, json!({"calls": 3}));
    // A single call is streamed the same way; what cannot be read is a problem like any other.
    let one = api.served.send("POST", "/v1/calls", &EVENTS, &super::body("look", r#"{"key":"one"}"#, ""));
    let found = events(&one.body);
    assert_eq!((found.len(), &found[0].1["result"]["content"][0]["text"]), (2, &json!("did one")));
    let bad = api.served.send("POST", "/v1/calls", &EVENTS, "{}");
    assert_eq!((bad.status, error_code(&bad).as_str()), (400, "not_read"));
}

/// Nobody reads any more: the calls are cancelled, and end in the record.
#[test]
fn who_leaves_a_stream_cancels_its_calls() {
    let api = Api::start("");
    let arguments = r#"{"key":"gone","delay_ms":2000}"#;
    let stream: TcpStream = api.served.begin("POST", "/v1/calls", &EVENTS, &super::body("note", arguments, ""));
    let mut lines = BufReader::new(stream.try_clone().unwrap());
    let mut first = String::new();
    lines.read_line(&mut first).unwrap();
    assert!(first.starts_with("HTTP/1.1 200"), "the stream begins before the call ends: {first}");
    super::calls::until("it runs", || api.scene.executions("gone") == 1);
    stream.shutdown(Shutdown::Both).unwrap();
    let _ = lines.read_to_end(&mut Vec::new());
    let ended = api.records("?tool=mcp:up/note_http&outcome=cancelled", |found| !found.is_empty());
    assert_eq!(ended[0]["kind"], "outcome");
    assert_eq!(api.call_as(ANN, "look", r#"{"key":"after"}"#, "").status, 200);
}
