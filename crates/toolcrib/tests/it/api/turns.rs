//! Turns: a provider's response in, the messages that answer it out.

use serde_json::{Value, json};

use super::{ANN, Api, error_code};
use crate::http::Answer;

fn turn(api: &Api, headers: &[(&str, &str)], target: &str, response: &Value, more: &Value) -> Answer {
    let mut body = json!({"target": target, "response": response});
    for (key, value) in more.as_object().into_iter().flatten() {
        body[key] = value.clone();
    }
    api.served.send("POST", "/v1/turns", headers, &body.to_string())
}

/// Two calls at once, one of a name that leads nowhere.
fn response(target: &str) -> Value {
    let (good, bad) = (("up__note_http", json!({"key": "t", "n": 1})), ("up__nope_http", json!({})));
    let calls = [("one", good), ("two", bad)];
    match target {
        "anthropic" => {
            let uses =
                calls.map(|(id, (name, input))| json!({"type": "tool_use", "id": id, "name": name, "input": input}));
            json!({"id": "msg_1", "type": "message", "role": "assistant", "content": uses, "stop_reason": "tool_use"})
        }
        "openai-chat" => {
            let uses = calls.map(|(id, (name, input))| {
                json!({"id": id, "type": "function", "function": {"name": name, "arguments": input.to_string()}})
            });
            let message = json!({"role": "assistant", "content": "Let me see.", "tool_calls": uses});
            json!({"id": "c", "object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]})
        }
        "openai-responses" => {
            let uses = calls.map(|(id, (name, input))| {
                json!({"type": "function_call", "id": id, "call_id": id, "name": name, "arguments": input.to_string()})
            });
            json!({"id": "r", "object": "response", "status": "completed", "output": uses})
        }
        "gemini" => {
            let uses = calls.map(|(id, (name, args))| json!({"functionCall": {"id": id, "name": name, "args": args}}));
            json!({"candidates": [{"content": {"role": "model", "parts": uses}}]})
        }
        "bedrock" => {
            let uses =
                calls.map(|(id, (name, input))| json!({"toolUse": {"toolUseId": id, "name": name, "input": input}}));
            json!({"output": {"message": {"role": "assistant", "content": uses}}, "stopReason": "tool_use"})
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_response_is_answered_in_the_provider_s_own_shape() {
    let api = Api::start("");
    for target in ["anthropic", "openai-chat", "openai-responses", "gemini", "bedrock"] {
        let before = api.scene.executions("t");
        let answer = turn(&api, &[], target, &response(target), &json!({"session": "s"}));
        assert_eq!(answer.status, 200, "{target}: {answer:?}");
        let done = answer.json();
        let calls = done["calls"].as_array().unwrap();
        let told: Vec<_> =
            calls.iter().map(|call| (call["name"].as_str().unwrap(), call["status"].as_u64().unwrap())).collect();
        assert_eq!(told, [("up__note_http", 200), ("up__nope_http", 404)], "{target}");
        assert_eq!(done["done"], false, "{target}");
        assert_eq!(api.scene.executions("t"), before + 1, "{target}");
        let messages = done["messages"].as_array().unwrap();
        assert!(messages.len() >= 2, "{target}: {done:#}");
        let answers = Value::from(messages[1..].to_vec()).to_string();
        assert!(answers.contains("did t") && answers.contains("there is no tool"), "{target}: {answers}");
    }
}

/// The answer of a model that calls nothing is its text, and its turn goes into the conversation.
#[test]
fn a_response_without_calls_is_the_end() {
    let api = Api::start("");
    let response =
        json!({"role": "assistant", "content": [{"type": "text", "text": "Done."}], "stop_reason": "end_turn"});
    let done = turn(&api, &[], "anthropic", &response, &json!({})).json();
    assert_eq!((&done["done"], &done["text"], &done["calls"]), (&json!(true), &json!("Done."), &json!([])), "{done:#}");
    assert_eq!(done["messages"].as_array().unwrap().len(), 1, "{done:#}");
}

#[test]
fn calls_of_a_turn_pass_the_same_path() {
    let api = Api::start("permissions.ask = ['mcp:up/note_*']\napprovals.wait_ms = 0\nprofiles.none.allow = []");
    let response = response("anthropic");
    let parked = turn(&api, &[], "anthropic", &response, &json!({})).json();
    assert_eq!(parked["calls"][0]["code"], "approval_needed", "{parked:#}");
    let id = parked["calls"][0]["approval"].as_str().unwrap();
    assert!(parked["messages"][1]["content"][0]["is_error"] == true && parked.to_string().contains(id), "{parked:#}");
    let approve = r#"{"answer":"approve","reach":"once"}"#;
    assert_eq!(api.operator("POST", &format!("/v1/approvals/{id}"), approve).status, 200);
    // With a key, each call has the key with its own id: a turn that is sent again runs nothing again.
    let keyed = [("Idempotency-Key", "turn-1")];
    for replayed in [false, true] {
        let done = turn(&api, &keyed, "anthropic", &response, &json!({})).json();
        assert_eq!(
            (&done["calls"][0]["status"], &done["calls"][0]["replayed"]),
            (&json!(200), &json!(replayed)),
            "{done:#}"
        );
    }
    assert_eq!(api.scene.executions("t"), 1);
    // What a scope does not see it does not call.
    let hidden = turn(&api, &[], "anthropic", &response, &json!({"scope": {"profile": "none"}})).json();
    assert_eq!(hidden["calls"][0]["code"], "unknown_tool", "{hidden:#}");
}

#[test]
fn what_is_no_response_is_a_problem() {
    let api = Api::start("");
    let check = |target: &str, response: Value, says: &str| {
        let answer = turn(&api, &[], target, &response, &json!({}));
        assert_eq!((answer.status, error_code(&answer).as_str()), (422, "bad_response"), "{target} {response}");
        assert!(answer.body.contains(says), "{target} {response}: {answer:?}");
    };
    check("anthropic", json!({}), "response");
    check("anthropic", json!(7), "response");
    check(
        "anthropic",
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        "Overloaded",
    );
    check("mcp", json!({}), "provider");
    let uses = vec![json!({"functionCall": {"name": "x"}}); 129];
    check("gemini", json!({"candidates": [{"content": {"role": "model", "parts": uses}}]}), "more than");
    let unread = api.of(ANN, "POST", "/v1/turns", r#"{"target":"anthropic"}"#);
    assert_eq!((unread.status, error_code(&unread).as_str()), (400, "not_read"));
}

/// What may change something runs alone and in the order of the response, as `Engine::run_turn` has it.
#[test]
fn what_may_change_something_waits_for_what_comes_before_it() {
    let api = Api::start("");
    let uses = [json!({"key": "first", "delay_ms": 1500}), json!({"key": "second"})]
        .map(|input| json!({"type": "tool_use", "id": input["key"], "name": "up__note_http", "input": input}));
    let response = json!({"role": "assistant", "content": uses, "stop_reason": "tool_use"});
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| turn(&api, &[], "anthropic", &response, &json!({})));
        while api.scene.executions("first") == 0 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert_eq!(api.scene.executions("second"), 0, "the first is not done");
        let done = asked.join().unwrap().json();
        assert_eq!(
            done["calls"].as_array().unwrap().iter().filter(|call| call["status"] == 200).count(),
            2,
            "{done:#}"
        );
        assert_eq!(api.scene.executions("second"), 1);
    });
}
