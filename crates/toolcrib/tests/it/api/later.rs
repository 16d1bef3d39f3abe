//! What comes after its call: background work and its deliveries, giving work up, and questions to the user.

use serde_json::{Value, json};

use super::{ANN, Api, BOB};
use crate::http::Answer;

const NOTES: &str = "calls.background = ['mcp:up/note_http']";

/// What a listener gets within twenty seconds, or at once.
#[track_caller]
fn deliveries(api: &Api, key: &str, query: &str) -> Vec<Value> {
    let answer = api.of(key, "GET", &format!("/v1/deliveries{query}"), "");
    assert_eq!(answer.status, 200, "{query}: {answer:?}");
    answer.json()["deliveries"].as_array().unwrap().clone()
}

fn handle(answer: &Answer) -> String {
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["pending"].as_str().unwrap_or_else(|| panic!("{answer:?}")).to_owned()
}

/// What `tool_result_read` tells Ann.
fn read(api: &Api, handle: &str) -> String {
    let call = json!({"name": "tool_result_read", "arguments": {"handle": handle}}).to_string();
    api.of(ANN, "POST", "/v1/calls", &call).body
}

#[test]
fn a_background_result_is_delivered_to_its_caller_once() {
    let api = Api::start(NOTES);
    let answer = api.call_as(ANN, "note", r#"{"key":"a","n":12345678901234567890123}"#, r#""session":"s1""#);
    let handle = handle(&answer);
    // Nobody listens yet, so nothing is promised but the handle.
    assert!(answer.body.contains("tool_result_read") && !answer.body.contains("by itself"), "{answer:?}");
    let found = deliveries(&api, ANN, "?wait_ms=20000&session=s1");
    assert_eq!((found.len(), &found[0]["handle"], &found[0]["session"]), (1, &json!(handle), &json!("s1")));
    assert_eq!(found[0]["failed"], false);
    for (key, query) in [(ANN, "?session=s1"), (ANN, ""), (ANN, "?wait_ms=0"), (BOB, "")] {
        assert!(deliveries(&api, key, query).is_empty(), "{query}");
    }
    // It can be read by its handle still.
    assert!(read(&api, &handle).contains("\"outcome\":\"ok\""));
    assert_eq!(api.scene.executions("a"), 1);
    // One call: one record, under the number its caller was told.
    let ended = |records: &[Value]| records.iter().filter(|record| record["kind"] == "outcome").count();
    let records = api.records("?tool=mcp:up/note_http", |records| ended(records) > 0);
    assert_eq!((records.len(), ended(&records)), (2, 1), "{records:#?}");
    assert!(records.iter().all(|record| record["call"] == answer.json()["call_id"]), "{records:#?}");
}

#[test]
fn only_its_own_caller_and_session_hear_of_a_result() {
    let api = Api::start(NOTES);
    handle(&api.call_as(ANN, "note", r#"{"key":"a"}"#, r#""session":"s1""#));
    handle(&api.call_as(BOB, "note", r#"{"key":"b"}"#, ""));
    let of_bob = deliveries(&api, BOB, "?wait_ms=20000");
    assert_eq!((of_bob.len(), &of_bob[0]["session"]), (1, &Value::Null));
    assert!(deliveries(&api, ANN, "?session=s2").is_empty());
    assert_eq!(deliveries(&api, ANN, "?wait_ms=20000")[0]["session"], "s1");
    for query in ["?wait_ms=soon", "?session=", "?until=1"] {
        assert_eq!(api.of(ANN, "GET", &format!("/v1/deliveries{query}"), "").status, 400, "{query}");
    }
}

#[test]
fn work_is_given_up_by_its_owner() {
    let api = Api::start(NOTES);
    let handle = handle(&api.call("note", r#"{"key":"a","delay_ms":30000}"#));
    let path = format!("/v1/pending/{handle}");
    assert_eq!(api.of(ANN, "GET", "/v1/pending", "").json()["pending"].as_array().unwrap().len(), 1);
    assert_eq!(api.of(BOB, "DELETE", &path, "").status, 404);
    assert_eq!(api.of(ANN, "DELETE", &path, "").status, 200);
    let found = deliveries(&api, ANN, "?wait_ms=20000");
    assert_eq!(found[0]["failed"], true);
    assert!(found[0]["result"].to_string().contains("cancelled"), "{found:?}");
    assert_eq!(api.of(ANN, "DELETE", &path, "").status, 404);
    assert_eq!(api.of(ANN, "GET", "/v1/pending", "").json(), json!({"pending": []}));
    let records = api.records("?tool=mcp:up/note_http&outcome=cancelled", |records| !records.is_empty());
    assert_eq!(records.len(), 1);
}

/// What stands against a call is told at once, also where it would run in the background.
#[test]
fn a_refused_call_is_no_background_call() {
    let api = Api::start(&format!("{NOTES}\npermissions.deny = ['up__note_http']\npolicy.show_denied = true"));
    let answer = api.call("note", r#"{"key":"a"}"#);
    assert_eq!((answer.status, &answer.json()["pending"]), (403, &Value::Null), "{answer:?}");
    assert_eq!(api.scene.executions("a"), 0);
}

/// A question waits for the user, with the way to answer it.
fn ask(api: &Api) -> (String, String) {
    let call = r#"{"name":"request_user_input","arguments":{"prompt":"Tea or coffee?"}}"#;
    let answer = api.of(ANN, "POST", "/v1/calls", call);
    let waiting = api.of(ANN, "GET", "/v1/pending", "").json();
    let piece = waiting["pending"].as_array().unwrap().last().unwrap().clone();
    let correlation = piece["correlation"].as_str().unwrap().to_owned();
    assert_eq!(piece["metadata"]["prompt"], "Tea or coffee?");
    assert!(answer.body.contains(&format!("POST /v1/resume/{correlation}")), "{answer:?}");
    (handle(&answer), correlation)
}

#[test]
fn a_question_to_the_user_is_answered_over_http_or_from_the_terminal() {
    let api = Api::start("builtin.user_input.enabled = true");
    let (handle, correlation) = ask(&api);
    assert!(read(&api, &handle).contains("still waits"));
    let path = format!("/v1/resume/{correlation}");
    assert_eq!(api.of(ANN, "POST", &path, r#""tea""#).status, 403, "a model must not answer for the user");
    // Every digit arrives.
    let n = "123456789012345678901234567890";
    assert_eq!(api.operator("POST", &path, &format!(r#"{{"n":{n}}}"#)).status, 200);
    assert_eq!(api.operator("POST", &path, r#""coffee""#).status, 409);
    let told = read(&api, &handle);
    assert!(told.contains(&format!("\"structuredContent\":{{\"n\":{n}}}")), "{told}");
    assert!(deliveries(&api, ANN, "").is_empty(), "it was read already");

    let (handle, correlation) = ask(&api);
    let ran = api.scene.run(&["approvals", "reply", &correlation, "coffee"], false);
    assert!(ran.status.success(), "{ran:?}");
    let found = deliveries(&api, ANN, "?wait_ms=20000");
    assert_eq!((found.len(), &found[0]["handle"], &found[0]["resume_as"]), (1, &json!(handle), &json!("tool_result")));
    assert!(found[0]["result"].to_string().contains("coffee"), "{found:?}");
    assert!(!api.scene.run(&["approvals", "reply", &correlation, "tea"], false).status.success());
}

#[test]
fn the_user_is_not_asked_unless_that_is_switched_on() {
    let api = Api::start("");
    let call = r#"{"name":"request_user_input","arguments":{"prompt":"x"}}"#;
    assert_eq!(api.of(ANN, "POST", "/v1/calls", call).status, 404);
}

/// A client of the modern era gets the question as the end of its call and comes again with the answer.
#[test]
fn a_modern_client_brings_the_answer_with_the_next_call() {
    let api = Api::start("builtin.user_input.enabled = true");
    let send = |name: &str, more: &str| {
        let about = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}"#;
        let params = format!(r#"{{"_meta":{{{about}}},"name":"{name}","arguments":{{"prompt":"Tea?"}}{more}}}"#);
        let frame = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        let headers = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", name)];
        let answer = api.served.send("POST", "/mcp", &headers, &frame);
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["result"].clone()
    };
    let asked = send("request_user_input", "");
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    assert!(asked["inputRequests"]["user_input"].to_string().contains("Tea?"), "{asked}");
    let state = asked["requestState"].as_str().unwrap();
    let reply = |state: &str, reply: &str| {
        format!(r#","requestState":{},"inputResponses":{{"user_input":{reply}}}"#, json!(state))
    };
    let accept = r#"{"action":"accept","content":{"answer":"green"}}"#;
    // The handle alone answers nothing.
    let handle = state.rsplit_once('.').unwrap().0;
    assert_eq!(send("request_user_input", &reply(handle, accept))["resultType"], "input_required");
    let stray = r#"{"action":"accept","content":{"other":"green"}}"#;
    assert_eq!(send("request_user_input", &reply(state, stray))["isError"], true);
    for _ in 0..2 {
        let told = send("request_user_input", &reply(state, accept));
        assert_eq!(told["content"][0]["text"], "green", "{told}");
    }
    let declined = send("request_user_input", "");
    let state = declined["requestState"].as_str().unwrap();
    let told = send("request_user_input", &reply(state, r#"{"action":"decline"}"#));
    assert!(told["content"][0]["text"].as_str().unwrap().contains("does not want to answer"), "{told}");
}
