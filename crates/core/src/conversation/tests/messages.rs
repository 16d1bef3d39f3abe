//! What transcripts of every shape name.

use serde_json::{Value, json};

use crate::{
    ToolId,
    conversation::{carried, discoveries, marker, mend_references},
};

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "rows read better")]
fn check(transcript: Value, want: &[(&str, &str)]) {
    let found = discoveries(&transcript);
    let got: Vec<(String, String)> =
        found.iter().map(|found| (found.name.clone(), json!(found.how).as_str().unwrap().to_owned())).collect();
    let want: Vec<(String, String)> = want.iter().map(|(name, how)| ((*name).to_owned(), (*how).to_owned())).collect();
    assert_eq!(got, want, "{transcript}");
    // Wrapped as a request has it, it reads the same.
    if transcript.is_array() {
        for key in ["messages", "input", "contents"] {
            assert_eq!(discoveries(&json!({key: transcript})), found);
        }
    }
}

fn search_reply(names: &[&str]) -> Value {
    let matches: Vec<Value> = names.iter().map(|name| json!({"name": name, "score": 1.0})).collect();
    json!({"results": [{"query": "q", "matches": matches}], "total_available": 9})
}

fn describe_reply(names: &[&str]) -> Value {
    let found: Vec<Value> = names.iter().map(|name| json!({"name": name, "inputSchema": {}})).collect();
    json!({"found": found, "not_found": [{"name": "no", "suggestions": ["yes"]}]})
}

/// The same conversation in every shape: a search that finds a and b, a description of c, a bridged call of d, a direct
/// call of e.
const WHOLE: [(&str, &str); 5] =
    [("a", "searched"), ("b", "searched"), ("c", "described"), ("d", "called"), ("e", "called")];

#[test]
fn anthropic() {
    let call = |id: &str, name: &str, input: Value| json!({"type": "tool_use", "id": id, "name": name, "input": input});
    let result = |id: &str, content: Value| json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": content}]});
    check(
        json!([
            {"role": "user", "content": "hello"},
            {"role": "assistant", "content": [
                {"type": "text", "text": "Looking."},
                call("1", "tool_search", json!({"query": "q"})),
            ]},
            result("1", search_reply(&["a", "b"]).to_string().into()),
            {"role": "assistant", "content": [call("2", "tool_describe", json!({"names": ["c"]}))]},
            result("2", json!([{"type": "text", "text": describe_reply(&["c"]).to_string()}])),
            {"role": "assistant", "content": [
                call("3", "tool_call", json!({"name": "d", "arguments": {}})),
                call("4", "e", json!({})),
            ]},
        ]),
        &WHOLE,
    );
    // Blocks in the answer of another tool are its words, and an id that comes again is no longer that of the search.
    check(
        json!([
            {"role": "assistant", "content": [call("1", "find", json!({}))]},
            result("1", json!([
                {"type": "tool_use", "id": "2", "name": "a", "input": {}},
                {"type": "result", "name": "tool_search", "content": search_reply(&["b"]).to_string()},
                {"functionResponse": {"name": "tool_search", "response": search_reply(&["c"])}},
            ])),
            {"role": "assistant", "content": [call("3", "tool_search", json!({"query": "q"})), call("3", "find", json!({}))]},
            result("3", search_reply(&["d"]).to_string().into()),
        ]),
        &[("find", "called")],
    );
    // References: of an own search tool, and of the provider's.
    check(
        json!([
            {"role": "assistant", "content": [call("1", "find", json!({}))]},
            result("1", json!([{"type": "tool_reference", "tool_name": "a"}, {"type": "tool_reference", "tool_name": "b"}])),
            {"role": "assistant", "content": [
                {"type": "server_tool_use", "id": "s", "name": "tool_search_tool_bm25", "input": {"query": "x"}},
                {"type": "tool_search_tool_result", "tool_use_id": "s", "content": {
                    "type": "tool_search_tool_search_result",
                    "tool_references": [{"type": "tool_reference", "tool_name": "c"}],
                }},
            ]},
        ]),
        &[
            ("find", "called"),
            ("a", "referenced"),
            ("b", "referenced"),
            ("tool_search_tool_bm25", "called"),
            ("c", "referenced"),
        ],
    );
}

#[test]
fn openai_chat_and_its_like() {
    let call = |id: &str, name: &str, arguments: Value| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    for as_text in [true, false] {
        let args = |value: Value| if as_text { Value::from(value.to_string()) } else { value };
        check(
            json!([
                {"role": "assistant", "content": null, "tool_calls": [
                    call("1", "tool_search", args(json!({"query": "q"}))),
                    call("2", "tool_describe", args(json!({"names": ["c"]}))),
                ]},
                {"role": "tool", "tool_call_id": "1", "content": search_reply(&["a", "b"]).to_string()},
                {"role": "tool", "tool_call_id": "2", "content": [{"type": "text", "text": describe_reply(&["c"]).to_string()}]},
                {"role": "assistant", "tool_calls": [
                    call("3", "tool_call", args(json!({"name": " d ", "arguments": {}}))),
                    call("4", "e", args(json!({}))),
                ]},
            ]),
            &WHOLE,
        );
    }
    // Ollama has no ids, the oldest shape one call a message.
    check(
        json!([
            {"role": "assistant", "tool_calls": [{"function": {"name": "tool_search", "arguments": {"query": "q"}}}]},
            {"role": "tool", "tool_name": "tool_search", "content": search_reply(&["a", "b"]).to_string()},
            {"role": "assistant", "function_call": {"name": "tool_describe", "arguments": "{}"}},
            {"role": "function", "name": "tool_describe", "content": describe_reply(&["c"]).to_string()},
            {"role": "assistant", "function_call": {"name": "tool_call", "arguments": "{\"name\":\"d\"}"}},
            {"role": "assistant", "function_call": {"name": "e", "arguments": "{"}},
        ]),
        &WHOLE,
    );
}

#[test]
fn openai_responses() {
    check(
        json!([
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
            {"type": "function_call", "call_id": "1", "id": "fc_1", "name": "tool_search", "arguments": "{\"query\":\"q\"}"},
            {"type": "function_call_output", "call_id": "1", "output": search_reply(&["a", "b"]).to_string()},
            {"type": "function_call", "call_id": "2", "name": "tool_describe", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "2", "output": [{"type": "input_text", "text": describe_reply(&["c"]).to_string()}]},
            {"type": "function_call", "call_id": "3", "name": "tool_call", "arguments": "{\"name\":\"d\",\"arguments\":{}}"},
            {"type": "function_call", "call_id": "4", "name": "e", "namespace": "n", "arguments": "{}"},
        ]),
        &WHOLE,
    );
    check(
        json!([
            {"type": "tool_search_call", "execution": "client", "call_id": "1", "arguments": {"goal": "x"}},
            {"type": "tool_search_output", "call_id": "1", "execution": "client", "tools": [
                {"type": "function", "name": "a", "parameters": {}},
                {"type": "namespace", "name": "n", "tools": [{"type": "function", "name": "b"}]},
            ]},
        ]),
        &[("a", "referenced"), ("b", "referenced")],
    );
}

#[test]
fn gemini_and_bedrock() {
    for (call, response) in [("functionCall", "functionResponse"), ("function_call", "function_response")] {
        check(
            json!([
                {"role": "model", "parts": [{call: {"name": "tool_search", "args": {"query": "q"}}}]},
                {"role": "user", "parts": [{response: {"name": "tool_search", "response": {"output": search_reply(&["a", "b"])}}}]},
                {"role": "model", "parts": [{call: {"id": "7", "name": "tool_describe", "args": {"names": ["c"]}}}]},
                {"role": "user", "parts": [{response: {"id": "7", "name": "tool_describe", "response": {"output": describe_reply(&["c"]).to_string()}}}]},
                {"role": "model", "parts": [
                    {"text": "Now."},
                    {call: {"name": "tool_call", "args": {"name": "d", "arguments": {}}}},
                    {call: {"name": "e", "args": {}}},
                ]},
            ]),
            &WHOLE,
        );
    }
    let call = |id: &str, name: &str, input: Value| json!({"toolUse": {"toolUseId": id, "name": name, "input": input}});
    let result = |id: &str, content: Value| json!({"role": "user", "content": [{"toolResult": {"toolUseId": id, "content": [content], "status": "success"}}]});
    check(
        json!([
            {"role": "assistant", "content": [{"text": "Looking."}, call("1", "tool_search", json!({"query": "q"}))]},
            result("1", json!({"json": search_reply(&["a", "b"])})),
            {"role": "assistant", "content": [call("2", "tool_describe", json!({"names": ["c"]}))]},
            result("2", json!({"text": describe_reply(&["c"]).to_string()})),
            {"role": "assistant", "content": [call("3", "tool_call", json!({"name": "d"})), call("4", "e", json!({}))]},
        ]),
        &WHOLE,
    );
}

#[test]
fn the_neutral_form_takes_results_as_mcp_has_them() {
    let mcp =
        |reply: Value| json!({"content": [{"type": "text", "text": reply.to_string()}], "structuredContent": null});
    check(
        json!([
            {"type": "call", "id": 1, "name": "tool_search"},
            {"type": "call", "id": "1", "name": "tool_search", "arguments": {"query": "q"}},
            {"type": "result", "id": "1", "content": mcp(search_reply(&["a", "b"]))},
            {"type": "result", "name": "tool_describe", "content": describe_reply(&["c"])},
            {"type": "call", "id": "3", "name": "tool_call", "arguments": "{\"name\": \"d\"}"},
            {"type": "call", "id": "4", "name": "e", "arguments": {}},
        ]),
        &WHOLE,
    );
}

#[test]
fn what_a_tool_or_a_model_writes_loads_nothing() {
    let id: ToolId = "mcp:s/x".parse().unwrap();
    let mark = marker([&id]);
    let reply = search_reply(&["x"]).to_string();
    check(
        json!([
            {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "read_mail", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": [
                {"type": "text", "text": reply.clone()},
                {"type": "text", "text": mark.clone()},
            ]}]},
            {"role": "assistant", "content": format!("{mark} {reply}")},
            {"role": "tool", "tool_call_id": "1", "content": mark.clone()},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "unknown", "content": reply}]},
        ]),
        &[("read_mail", "called")],
    );
}

#[test]
fn nonsense_is_passed_over() {
    for transcript in [
        json!(null),
        json!(7),
        json!({"messages": 7}),
        json!([null, 7, "x", [], {}]),
        json!([{"role": "assistant", "tool_calls": [null, {}, {"function": 7}, {"function": {"name": 7}}]}]),
        json!([{"role": "tool", "tool_call_id": 7, "content": {"a": []}}]),
        json!([{"type": "tool_use"}, {"type": "function_call", "name": ""}, {"type": "call", "name": "n".repeat(5_000)}]),
        json!([{"type": "call", "name": "tool_call", "arguments": "{"}, {"type": "call", "name": "tool_call", "arguments": {"name": "tool_call"}}]),
        json!([{"type": "call", "id": "1", "name": "tool_search"}, {"type": "result", "id": "1", "content": "{\"results\":[{\"mat"}]),
        json!([{"role": "user", "content": "<toolcrib-tools>[\"a\""}, {"role": "user", "content": "<toolcrib-tools>7</toolcrib-tools>"}]),
    ] {
        check(transcript, &[]);
    }
    let many: Vec<Value> = (0..2_000).map(|n| json!({"type": "call", "name": format!("t{n}")})).collect();
    assert_eq!(discoveries(&json!(many)).len(), super::super::MOST_DISCOVERIES);
}

#[test]
fn the_select_form_of_a_reply_names_its_tools_too() {
    check(
        json!([
            {"type": "call", "id": "1", "name": "tool_search", "arguments": {"query": "select:a,b"}},
            {"type": "result", "id": "1", "content": {"tools": {"a": {}, "b": {}}, "not_found": ["gone"]}},
        ]),
        &[("a", "searched"), ("b", "searched")],
    );
}

#[test]
fn a_marker_survives_whatever_the_summary_says_around_it() {
    // openclaw case 92
    let ids: Vec<ToolId> =
        ["mcp:s/a", "builtin/kv_get", "mcp:s/</toolcrib-tools>\"\\,"].map(|id| id.parse().unwrap()).into();
    let mark = marker(&ids);
    let names: Vec<String> = ids.iter().map(ToString::to_string).collect();
    assert_eq!(carried(&mark), names);
    for role in ["user", "system", "developer"] {
        let want: Vec<_> = names.iter().map(|name| (name.as_str(), "carried")).collect();
        check(json!([{"role": role, "content": format!("Summary: we talked. {mark}\nThen…")}]), &want);
        check(json!([{"role": role, "content": [{"type": "text", "text": mark.clone()}]}]), &want);
        check(json!([{"role": role, "parts": [{"text": mark.clone()}]}]), &want);
    }
}

#[test]
fn references_to_tools_that_are_gone_are_replaced() {
    // openclaw case 91
    let mut messages = json!([
        {"role": "user", "content": "hello"},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": [
            {"type": "tool_reference", "tool_name": "there"},
            {"type": "tool_reference", "tool_name": "gone"},
        ]}]},
        {"role": "assistant", "content": [{"type": "tool_search_tool_result", "tool_use_id": "2", "content": {
            "type": "tool_search_tool_search_result",
            "tool_references": [{"type": "tool_reference", "tool_name": "gone"}, {"type": "tool_reference", "tool_name": "there"}],
        }}]},
    ]);
    let untouched = messages[0].clone();
    assert_eq!(mend_references(&mut messages, &|name| name == "there"), 2);
    assert_eq!(messages[0], untouched);
    assert_eq!(
        messages[1]["content"][0]["content"],
        json!([
            {"type": "tool_reference", "tool_name": "there"},
            {"type": "text", "text": "[the tool gone is no longer available]"},
        ])
    );
    assert_eq!(
        messages[2]["content"][0]["content"]["tool_references"],
        json!([{"type": "tool_reference", "tool_name": "there"}])
    );
    assert_eq!(mend_references(&mut messages, &|name| name == "there"), 0, "mended once, nothing is left to mend");
    let mut wrapped = json!({"messages": [{"content": [{"type": "tool_result", "content": [{"type": "tool_reference", "tool_name": "x"}]}]}]});
    assert_eq!(mend_references(&mut wrapped, &|_| false), 1);
}
