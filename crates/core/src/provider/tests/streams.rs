//! Streams become what the provider would have sent at once.

use serde_json::{Value, json};

use super::*;

#[track_caller]
fn streamed(target: Target, events: &[Value]) -> Result<Turn, FragmentError> {
    let mut fragments = Fragments::new(target)?;
    for event in events {
        fragments.push(event)?;
    }
    let response = fragments.finish()?;
    Ok(calls_from(&way(target), &response, &ReadOptions::default()).unwrap())
}

fn delta(calls: &Value) -> Value {
    json!({"choices": [{"index": 0, "delta": {"tool_calls": calls}}]})
}

#[test]
fn anthropic() {
    let turn = streamed(
        Target::Anthropic,
        &[
            json!({"type": "message_start", "message": {"content": []}}),
            json!({"type": "ping"}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "s"}}),
            json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "I "}}),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "look."}}),
            json!({"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "t1", "name": FILES, "input": {}}}),
            json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": ""}}),
            json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "{\"pa"}}),
            json!({"type": "content_block_start", "index": 3, "content_block": {"type": "tool_use", "id": "t2", "name": "odd", "input": {}}}),
            json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "th\": 1}"}}),
            json!({"type": "message_stop"}),
        ],
    )
    .unwrap();
    assert_eq!(asked(&turn), pairs(&[(FILES, r#"{"path":1}"#), ("odd", "{}")]));
    assert_eq!(turn.text, "I look.");
    assert_eq!(turn.messages[0]["content"][0], json!({"type": "thinking", "thinking": "hm", "signature": "s"}));
}

#[test]
fn chat() {
    let turn = streamed(
        Target::OpenAiChat,
        &[
            json!({"choices": [{"delta": {"role": "assistant", "content": null, "reasoning_content": "h"}}]}),
            json!({"choices": [{"delta": {"content": "Loo", "reasoning_content": "m"}}]}),
            json!({"choices": [{"delta": {"content": "k."}}]}),
            delta(&json!([{"index": 0, "id": "c1", "type": "function", "function": {"name": FILES, "arguments": ""}}])),
            delta(
                &json!([{"index": 1, "id": "c2", "type": "function", "function": {"name": "odd", "arguments": "{}"}}]),
            ),
            delta(&json!([{"index": 0, "function": {"arguments": "{\"path\""}}])),
            delta(&json!([{"index": 0, "function": {"arguments": ":\"p\"}"}}])),
            json!({"choices": []}),
        ],
    )
    .unwrap();
    assert_eq!(asked(&turn), pairs(&[(FILES, r#"{"path":"p"}"#), ("odd", "{}")]));
    assert_eq!((turn.text.as_str(), &turn.messages[0]["reasoning_content"]), ("Look.", &json!("hm")));
    assert_eq!(turn.calls[0].id, "c1");
}

/// Servers that give every call the index 0, or none, and whole calls at once.
#[test]
fn calls_without_an_index_of_their_own() {
    for index in [json!(0), Value::Null] {
        let call = |id: &Value, path: &str| {
            delta(
                &json!([{"index": index, "id": id, "function": {"name": FILES, "arguments": format!("{{\"path\":\"{path}\"}}")}}]),
            )
        };
        for ids in [[json!("AbCdEf001"), json!("AbCdEf002")], [Value::Null, Value::Null]] {
            let [a, b] = ids;
            let turn = streamed(Target::Mistral, &[call(&a, "p"), call(&b, "q")]).unwrap();
            assert_eq!(asked(&turn), pairs(&[(FILES, r#"{"path":"p"}"#), (FILES, r#"{"path":"q"}"#)]), "{index}");
        }
    }
    let message = |message: &Value| json!({"message": message, "done": false});
    let turn = streamed(
        Target::Ollama,
        &[
            message(&json!({"role": "assistant", "content": "a"})),
            message(
                &json!({"content": "b", "tool_calls": [{"function": {"name": FILES, "arguments": {"path": "p"}}}]}),
            ),
            message(&json!({"content": "", "tool_calls": [{"function": {"name": FILES, "arguments": {"path": "q"}}}]})),
        ],
    )
    .unwrap();
    assert_eq!(asked(&turn), pairs(&[(FILES, r#"{"path":"p"}"#), (FILES, r#"{"path":"q"}"#)]));
    assert_eq!(turn.text, "ab");
}

#[test]
fn responses() {
    let item =
        |arguments: &str| json!({"type": "function_call", "call_id": "c", "name": FILES, "arguments": arguments});
    let added = json!({"type": "response.output_item.added", "output_index": 1, "item": item("")});
    let more = |text: &str| json!({"type": "response.function_call_arguments.delta", "output_index": 1, "delta": text});
    let reasoning =
        json!({"type": "response.output_item.done", "output_index": 0, "item": {"type": "reasoning", "id": "r"}});
    let start = [reasoning, added, more("{\"path\":"), more("\"p\"}")];
    let want = pairs(&[(FILES, r#"{"path":"p"}"#)]);
    assert_eq!(asked(&streamed(Target::OpenAiResponses, &start).unwrap()), want);
    let done = json!({"type": "response.output_item.done", "output_index": 1, "item": item("{\"path\":\"p\"}")});
    let turn = streamed(Target::OpenAiResponses, &[start.to_vec(), vec![done]].concat()).unwrap();
    assert_eq!((asked(&turn), turn.messages.len()), (want.clone(), 2));
    let whole = json!({"type": "response.completed", "response": {"output": [item("{\"path\":\"p\"}")]}});
    assert_eq!(asked(&streamed(Target::OpenAiResponses, &[start.to_vec(), vec![whole]].concat()).unwrap()), want);
    let failed = json!({"type": "response.failed", "response": {"error": {"message": "too long"}}});
    assert_eq!(
        streamed(Target::OpenAiResponses, &[failed]).unwrap_err(),
        FragmentError::ProviderError("too long".to_owned())
    );
}

#[test]
fn gemini() {
    let part = |part: &Value| json!({"candidates": [{"content": {"role": "model", "parts": [part]}}]});
    let turn = streamed(
        Target::Gemini,
        &[
            part(&json!({"text": "I "})),
            part(&json!({"text": "look."})),
            part(&json!({"functionCall": {"name": FILES, "args": {"path": "p"}}, "thoughtSignature": "s"})),
            part(&json!({"functionCall": {"name": "odd", "willContinue": true}})),
            part(&json!({"functionCall": {"partialArgs": [{"jsonPath": "$.file_name", "stringValue": "a"}], "willContinue": true}})),
            part(&json!({"functionCall": {"partialArgs": [{"jsonPath": "$.file_name", "stringValue": "b"}, {"jsonPath": "$.deep[0].n", "numberValue": 2}]}})),
        ],
    )
    .unwrap();
    assert_eq!(asked(&turn), pairs(&[(FILES, r#"{"path":"p"}"#), ("odd", r#"{"file name":"ab","deep":[{"n":2}]}"#)]));
    assert_eq!(turn.text, "I look.");
    assert_eq!(turn.messages[0]["parts"][1]["thoughtSignature"], "s");
}

#[test]
fn bedrock() {
    let turn = streamed(
        Target::Bedrock,
        &[
            json!({"messageStart": {"role": "assistant"}}),
            json!({"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"reasoningContent": {"text": "hm"}}}}),
            json!({"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"reasoningContent": {"signature": "s"}}}}),
            json!({"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"text": "I look."}}}),
            json!({"contentBlockStart": {"contentBlockIndex": 2, "start": {"toolUse": {"toolUseId": "t", "name": FILES}}}}),
            json!({"contentBlockDelta": {"contentBlockIndex": 2, "delta": {"toolUse": {"input": "{\"path\":"}}}}),
            json!({"contentBlockDelta": {"contentBlockIndex": 2, "delta": {"toolUse": {"input": "\"p\"}"}}}}),
            json!({"contentBlockStop": {"contentBlockIndex": 2}}),
        ],
    )
    .unwrap();
    assert_eq!(asked(&turn), pairs(&[(FILES, r#"{"path":"p"}"#)]));
    assert_eq!(turn.text, "I look.");
    let reasoning = &turn.messages[0]["content"][0];
    assert_eq!(*reasoning, json!({"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}}));
}

/// Half a command never runs.
#[test]
fn a_stream_that_ends_inside_a_call() {
    let incomplete = Err(FragmentError::Incomplete(FILES.to_owned()));
    let turn = |target: Target, events: &[Value]| streamed(target, events).map(|turn| asked(&turn));
    let start = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t", "name": FILES, "input": {}}});
    let more = json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{\"path\": \"/tm"}});
    assert_eq!(turn(Target::Anthropic, &[start, more.clone()]), incomplete);
    assert_eq!(turn(Target::Anthropic, &[more]), Err(FragmentError::OutOfPlace("0".to_owned())));
    let start =
        json!({"contentBlockStart": {"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "t", "name": FILES}}}});
    let more = json!({"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"toolUse": {"input": "{"}}}});
    assert_eq!(turn(Target::Bedrock, &[start, more]), incomplete);
    let call = delta(&json!([{"index": 0, "id": "c", "function": {"name": FILES, "arguments": "{\"path\": \"/tm"}}]));
    assert_eq!(turn(Target::OpenAiChat, &[call]), incomplete);
    let call =
        json!({"candidates": [{"content": {"parts": [{"functionCall": {"name": FILES, "willContinue": true}}]}}]});
    assert_eq!(turn(Target::Gemini, &[call]), incomplete);
    // Text that is whole but no JSON is for the call path to answer.
    let call = delta(&json!([{"index": 0, "id": "c", "function": {"name": FILES, "arguments": "{path: p}"}}]));
    assert_eq!(turn(Target::OpenAiChat, &[call]), Ok(pairs(&[(FILES, r#""{path: p}""#)])));
}

#[test]
fn streams_are_bounded() {
    assert!(matches!(Fragments::new(Target::Mcp), Err(FragmentError::NoProvider(Target::Mcp))));
    let mut fragments = Fragments::new(Target::OpenAiChat).unwrap();
    let text = json!({"choices": [{"delta": {"content": "x".repeat(1 << 20)}}]});
    let refused = (0..20).find_map(|_| fragments.push(&text).err());
    assert_eq!(refused, Some(FragmentError::TooLarge));
    let mut fragments = Fragments::new(Target::OpenAiChat).unwrap();
    let call = |n: usize| delta(&json!([{"index": n, "id": format!("c{n}"), "function": {"name": FILES}}]));
    assert_eq!((0..600).find_map(|n| fragments.push(&call(n)).err()), Some(FragmentError::TooLarge));
}
