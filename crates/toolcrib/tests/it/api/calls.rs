//! Calls: keys that make two requests one call, numbers with all their digits, and clients that go away.

use std::{
    net::Shutdown,
    time::{Duration, Instant},
};

use serde_json::json;

use super::{ANN, Api, BOB, body, error_code};

/// reliability §2.2.
#[test]
fn calls_with_the_same_key_are_one_call() {
    let api = Api::start("");
    let header = |key: &str, idempotency: &str, arguments: &str| {
        let key = format!("Bearer {key}");
        let headers = [("Authorization", key.as_str()), ("Idempotency-Key", idempotency)];
        api.served.send("POST", "/v1/calls", &headers, &body("note", arguments, ""))
    };
    let in_body = |idempotency: &str, arguments: &str| {
        api.call_as(ANN, "note", arguments, &format!(r#""idempotency_key":"{idempotency}""#))
    };
    let first = header(ANN, "k1", r#"{"key":"a","n":1}"#);
    assert_eq!((first.status, &first.json()["replayed"]), (200, &json!(false)));
    assert!(!first.headers.contains_key("idempotent-replayed"));
    // Key order, spaces and where the key stands make no difference.
    for again in [header(ANN, "k1", r#"{ "n": 1, "key": "a" }"#), in_body("k1", r#"{"key":"a","n":1}"#)] {
        assert_eq!((again.status, again.json()["result"].to_string()), (200, first.json()["result"].to_string()));
        assert_eq!((&again.json()["replayed"], again.headers["idempotent-replayed"].as_str()), (&json!(true), "true"));
    }
    assert_eq!(api.scene.executions("a"), 1);
    // The same key for something else is a mistake.
    for other in [in_body("k1", r#"{"key":"a","n":2}"#), header(ANN, "k1", r#"{"key":"b","n":1}"#)] {
        assert_eq!((other.status, other.json()["outcome"].as_str().unwrap()), (422, "invalid"), "{other:?}");
        assert_eq!(error_code(&other), "key_reused");
        assert!(other.body.contains("idempotency key"), "{other:?}");
    }
    assert_eq!(api.scene.executions("b"), 0);
    // Another key, and the same key of another caller.
    assert_eq!(in_body("k2", r#"{"key":"a","n":1}"#).status, 200);
    assert_eq!(api.scene.executions("a"), 2);
    assert_eq!(header(BOB, "k1", r#"{"key":"a","n":1}"#).status, 200);
    assert_eq!(api.scene.executions("a"), 3);
    // Without a key there is nothing to go by.
    assert_eq!(api.call("note", r#"{"key":"a","n":1}"#).status, 200);
    assert_eq!(api.scene.executions("a"), 4);
    // While the first still runs, the second neither runs nor waits.
    let slow = r#"{"key":"slow","delay_ms":1500}"#;
    std::thread::scope(|scope| {
        let running = scope.spawn(|| in_body("k3", slow));
        until("it runs", || api.scene.executions("slow") == 1);
        let second = in_body("k3", slow);
        assert_eq!((second.status, error_code(&second).as_str()), (409, "still_running"), "{second:?}");
        assert_eq!(running.join().unwrap().status, 200);
    });
    assert_eq!(in_body("k3", slow).status, 200);
    assert_eq!(api.scene.executions("slow"), 1);
}

/// What was refused before it ran leaves the key free.
#[test]
fn a_key_is_used_up_by_what_ran() {
    let api = Api::start("permissions.ask = ['mcp:up/note_*']\napprovals.wait_ms = 0");
    let call = || api.call_as(ANN, "note", r#"{"key":"a"}"#, r#""idempotency_key":"k""#);
    assert_eq!(call().status, 403);
    let waiting = api.operator("GET", "/v1/approvals", "").json();
    let path = format!("/v1/approvals/{}", waiting["approvals"][0]["id"].as_str().unwrap());
    assert_eq!(api.operator("POST", &path, r#"{"answer":"approve","reach":"once"}"#).status, 200);
    assert_eq!(call().status, 200);
    assert_eq!(api.scene.executions("a"), 1);
    // Sent again because the answer was lost: no new question, and no second run.
    let again = call();
    assert_eq!(api.scene.executions("a"), 1, "{again:?}");
}

#[test]
fn numbers_keep_their_digits() {
    let api = Api::start("");
    for digits in [
        "123456789012345678901234567890",
        "-9223372036854775809",
        "18446744073709551616",
        "9007199254740993",
        "0.1000000000000000055511151231257827",
    ] {
        let arguments = format!(r#"{{"key":"big","deep":[{{"value":{digits}}}]}}"#);
        let answer = api.call("echo", &arguments);
        assert_eq!(answer.status, 200, "{digits}: {answer:?}");
        // Once as the text that the server had, once as data.
        assert!(answer.body.contains(&format!(r#""sent":{arguments}"#)), "{digits}: {answer:?}");
        assert!(answer.body.contains(&format!(r#"\"value\":{digits}"#)), "{digits}: {answer:?}");
    }
    assert_eq!(api.scene.executions("big"), 5);
    // What no program can read as a number is not passed on as another one.
    assert_eq!(api.call("echo", r#"{"key":"big","deep":1e400}"#).status, 422);
    assert_eq!(api.scene.executions("big"), 5);
    // The same number written differently is not the same call, the same digits are.
    let keyed = |n: &str| api.call_as(ANN, "loose", &format!(r#"{{"key":"k","n":{n}}}"#), r#""idempotency_key":"n""#);
    assert_eq!(keyed("9007199254740993").status, 200);
    assert_eq!(keyed("9007199254740993").status, 200);
    assert_eq!(keyed("9007199254740992").status, 422, "one off, and a float could not tell");
    assert_eq!(api.scene.executions("k"), 1);
}

/// Nobody waits any more, but what happened is in the journal.
#[test]
fn a_client_that_goes_away_in_mid_call() {
    let api = Api::start("");
    for (tool, key) in [("note", "gone-1"), ("look", "gone-2")] {
        let arguments = format!(r#"{{"key":"{key}","delay_ms":400}}"#);
        let stream = api.served.begin("POST", "/v1/calls", &[], &body(tool, &arguments, ""));
        until("it runs", || api.scene.executions(key) == 1);
        stream.shutdown(Shutdown::Both).unwrap();
        drop(stream);
        let query = format!("?tool=mcp:up/{tool}_http&user=ann");
        let records = api.records(&query, |found| found.iter().any(|record| record["kind"] == "outcome"));
        let ended = records.iter().find(|record| record["kind"] == "outcome").unwrap();
        assert_eq!(ended["outcome"], "cancelled", "{ended:#}");
        let intents = records.iter().filter(|record| record["kind"] == "intent").count();
        assert_eq!(intents, usize::from(tool == "note"), "{records:#?}");
    }
    // The server did it nevertheless, and said so late.
    let late = api.records("?tool=mcp:up/note_http", |found| found.iter().any(|record| record["kind"] == "late"));
    assert!(late.iter().any(|record| record["kind"] == "late" && record["outcome"] == "ok"), "{late:#?}");
    assert_eq!(api.call("look", r#"{"key":"after"}"#).status, 200);
    let totals = &api.operator("GET", "/v1/stats", "").json()["totals"];
    assert_eq!((&totals["calls"], &totals["failed"]["cancelled"]), (&json!(3), &json!(2)), "{totals:#}");
}

#[track_caller]
pub(super) fn until(what: &str, holds: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < until, "{what}: never");
        std::thread::sleep(Duration::from_millis(5));
    }
}
