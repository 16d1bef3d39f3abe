//! Tools over a conversation, for hosts that keep it themselves: the array of tools, the way back, what is refused.

use serde_json::{Value, json};

use super::{ANN, Api, error_code};
use crate::http::Answer;

fn post(api: &Api, path: &str, body: &Value) -> Answer {
    api.of(ANN, "POST", path, &body.to_string())
}

#[track_caller]
fn done(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

fn names(assembled: &Value) -> Vec<&str> {
    assembled["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

fn uses(name: &str, input: &Value) -> Value {
    json!({"role": "assistant", "content": [{"type": "tool_use", "id": "one", "name": name, "input": input}], "stop_reason": "tool_use"})
}

/// What a search found is shown from then on, after what was shown before, and calls of it go back by its own way
/// (openclaw cases 91, 92; the key `$filter?` goes by another name at the provider).
#[test]
fn a_tool_found_in_mid_conversation_is_shown_and_called_by_its_own_keys() {
    let api = Api::start_with("", &["--disclosure", "on"]);
    let first = done(&post(&api, "/v1/assemble", &json!({"target": "anthropic", "conversation": {}})));
    assert!(names(&first).contains(&"tool_search") && !names(&first).contains(&"up__echo_odd"), "{first:#}");
    assert_eq!((&first["loaded"], &first["gone"]), (&json!([]), &json!([])), "{first:#}");

    let mut messages = vec![json!({"role": "user", "content": "which plants are there?"})];
    let asked = uses("tool_search", &json!({"queries": ["filter a catalogue of plants"], "limit": 1}));
    let conversation = json!({"previous": first["turn"]});
    let turn = json!({"target": "anthropic", "response": asked, "conversation": conversation});
    messages.extend(done(&post(&api, "/v1/turns", &turn))["messages"].as_array().unwrap().clone());

    let conversation = json!({"transcript": messages, "previous": first["turn"]});
    let second = done(&post(&api, "/v1/assemble", &json!({"target": "anthropic", "conversation": conversation})));
    let (before, after) = (first["tools"].as_array().unwrap(), second["tools"].as_array().unwrap());
    assert_eq!(&after[..before.len()], &before[..], "what was shown stays as it was");
    assert_eq!(after.len(), before.len() + 1, "{:?}", names(&second));
    assert_eq!(second["loaded"], json!([{"name": "up__echo_odd", "id": "mcp:up/echo_odd", "how": "searched"}]));
    assert!(second["marker"].as_str().unwrap().contains("mcp:up/echo_odd"), "{second:#}");
    assert_ne!(second["hash"], first["hash"]);

    let properties = after[before.len()]["input_schema"]["properties"].as_object().unwrap();
    let renamed = properties.keys().next().unwrap().clone();
    assert_ne!(renamed, "$filter?");
    let asked = uses("up__echo_odd", &json!({renamed.clone(): "ferns"}));
    let run = |conversation: &Value| {
        post(&api, "/v1/turns", &json!({"target": "anthropic", "response": asked, "conversation": conversation}))
    };
    // With the turn that was shown, or with all that it was assembled from.
    for conversation in [&json!({"previous": second["turn"]}), &conversation] {
        let ran = done(&run(conversation));
        assert_eq!(ran["calls"][0]["status"], 200, "{ran:#}");
        assert!(ran["messages"][1].to_string().contains("$filter?"), "{ran:#}");
    }
    // Without, the tool was not shown, and its arguments are nobody's.
    let ran = done(&run(&json!({})));
    assert_eq!(ran["calls"][0]["code"], "invalid_arguments", "{ran:#}");
}

/// Tools for a task, tools within a budget, and what was left out.
#[test]
fn a_task_and_a_budget_choose() {
    let api = Api::start_with("", &["--disclosure", "on"]);
    let assembled = |conversation: Value| {
        done(&post(&api, "/v1/assemble", &json!({"target": "openai-chat", "conversation": conversation})))
    };
    let shown = |set: &Value| -> Vec<String> {
        set["turn"]["shown"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
    };
    let for_task = assembled(json!({"task": "filter a catalogue of plants", "most": 1}));
    assert!(shown(&for_task).iter().any(|name| name == "up__echo_odd"), "{for_task:#}");
    assert_eq!(for_task["loaded"].as_array().unwrap().len(), 1, "{for_task:#}");
    let small = assembled(json!({"task": "filter a catalogue of plants", "budget": 1}));
    let left: Vec<&Value> = small["left_out"].as_array().unwrap().iter().collect();
    assert!(
        left.iter().any(|left| left["name"] == "up__echo_odd" && left["why"] == "budget" && left["deferred"] == true)
    );
    assert!(small["over_budget"].as_u64().unwrap() > 0, "{small:#}");
}

/// A tool that is gone leaves the array; where the provider would refuse the history for it, the history comes back mended
/// (standards §4.2; openclaw case 91).
#[test]
fn what_is_gone_leaves_and_the_history_is_mended() {
    let api = Api::start_with("", &["--disclosure", "on"]);
    let first = done(&post(&api, "/v1/assemble", &json!({"target": "anthropic", "conversation": {}})));
    let mut turn = first["turn"].clone();
    turn["shown"].as_array_mut().unwrap().push("away__tool".into());
    let result = |name: &str| {
        json!([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "one", "content": [
            {"type": "tool_reference", "tool_name": name}]}]}])
    };
    let assembled = |transcript: Value| {
        let conversation = json!({"previous": turn, "transcript": transcript});
        done(&post(&api, "/v1/assemble", &json!({"target": "anthropic", "conversation": conversation})))
    };
    let set = assembled(result("away__tool"));
    assert_eq!(set["gone"], json!(["away__tool"]), "{set:#}");
    assert_eq!(set["tools"], first["tools"]);
    let mended = set["transcript"].to_string();
    assert!(mended.contains("no longer available") && !mended.contains("tool_reference"), "{mended}");
    assert_eq!(assembled(result("up__echo_odd")).get("transcript"), None, "what is there may stay");
}

#[test]
fn what_is_no_conversation_is_refused() {
    let api = Api::start_with("", &["--disclosure", "on"]);
    let check = |conversation: Value, at: &str| {
        for path in ["/v1/assemble", "/v1/turns"] {
            let mut body = json!({"target": "anthropic", "conversation": conversation});
            if path == "/v1/turns" {
                body["response"] = uses("tool_search", &json!({}));
            }
            let answer = post(&api, path, &body);
            assert_eq!((answer.status, error_code(&answer).as_str()), (400, "not_read"), "{conversation}");
            assert!(answer.body.contains(at), "{conversation}: {}", answer.body);
        }
    };
    check(json!([]), "object");
    check(json!({"transcripts": []}), "transcripts");
    check(json!({"task": " "}), "empty");
    check(json!({"budget": -1}), "budget");
    check(json!({"most": 0}), "out of range");
    check(json!({"previous": {"shown": []}}), "reachable");
    check(json!({"previous": {"shown": [], "reachable": [], "bridge": {"form": "loud", "listing": ""}}}), "loud");
}

/// Tools that a client brings must have names of their own (openclaw case 75).
#[test]
fn names_of_a_client_s_own_tools_must_be_free() {
    let api = Api::start_with("", &["--disclosure", "on"]);
    let check = |names: &[&str], taken: Option<(usize, &str)>| {
        let answer = post(&api, "/v1/assemble", &json!({"target": "anthropic", "client_tools": names}));
        match taken {
            None => assert_eq!(answer.status, 200, "{names:?}: {answer:?}"),
            Some((at, holder)) => {
                assert_eq!((answer.status, error_code(&answer).as_str()), (422, "name_taken"), "{names:?}");
                let told = answer.body.as_str();
                assert!(told.contains(&format!("/client_tools/{at}")) && told.contains(holder), "{names:?}: {told}");
            }
        }
    };
    check(&["render_page", "up__mine"], None);
    check(&["mine", " UP__Note_HTTP "], Some((1, "up__note_http")));
    check(&["Tool_Search"], Some((0, "tool_search")));
    check(&["mine", "MINE"], Some((1, "mine")));
    check(&["up__note-http"], Some((0, "up__note_http")));
}
