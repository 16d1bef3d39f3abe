use serde_json::{Value, json};

use super::*;
use crate::{
    ToolResult,
    render::{Rendered, render},
};

mod streams;

const FILES: &str = "files__read";

/// A set with a plain tool, one with a key that targets rename, and one whose name they rename.
fn set(target: Target) -> Rendered {
    let definitions = [
        json!({"name": FILES, "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}}}),
        json!({"name": "odd", "inputSchema": {"type": "object", "properties": {
            "file name": {"type": "string"}, "deep": {"type": "array", "items": {"type": "object", "properties": {"a b": {}}}},
        }}}),
        json!({"name": "x.y", "inputSchema": {"type": "object"}}),
    ];
    render(target, &definitions)
}

fn way(target: Target) -> WayBack {
    set(target).way_back()
}

#[track_caller]
fn read(target: Target, response: &Value) -> Turn {
    calls_from(&way(target), response, &ReadOptions::default()).unwrap()
}

fn printed(target: Target, text: &str) -> Turn {
    let response = json!({"role": "assistant", "content": text});
    calls_from(&way(target), &response, &ReadOptions { printed: true, turn: 0 }).unwrap()
}

/// Name and arguments of each call.
fn asked(turn: &Turn) -> Vec<(String, String)> {
    turn.calls.iter().map(|call| (call.name.clone(), call.arguments.get().to_owned())).collect()
}

/// A text, the calls in it, and what is left of it.
type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);

fn pairs(want: &[(&str, &str)]) -> Vec<(String, String)> {
    want.iter().map(|(name, arguments)| ((*name).to_owned(), (*arguments).to_owned())).collect()
}

/// A response with these calls, as each provider writes it.
fn response(target: Target, calls: &[(&str, Value)]) -> Value {
    let chat = |text: bool, ids: bool| -> Value {
        calls
            .iter()
            .enumerate()
            .map(|(index, (name, arguments))| {
                let arguments = if text { arguments.to_string().into() } else { arguments.clone() };
                let mut call = json!({"function": {"name": name, "arguments": arguments}});
                if ids {
                    call["id"] = format!("call0000{index}").into();
                    call["type"] = "function".into();
                }
                call
            })
            .collect()
    };
    let each = |write: &dyn Fn(usize, &str, &Value) -> Value| -> Value {
        calls.iter().enumerate().map(|(index, (name, arguments))| write(index, name, arguments)).collect()
    };
    match target {
        Target::Mcp => Value::Null,
        Target::Anthropic => {
            json!({"role": "assistant", "stop_reason": "tool_use", "content": each(&|index, name, input| {
                json!({"type": "tool_use", "id": format!("call0000{index}"), "name": name, "input": input})
            })})
        }
        Target::OpenAiChat | Target::DeepSeek | Target::Xai | Target::Groq => {
            json!({"choices": [{"message": {"role": "assistant", "content": null, "tool_calls": chat(true, true)}}]})
        }
        Target::Mistral => {
            json!({"choices": [{"message": {"role": "assistant", "content": "", "tool_calls": chat(false, true)}}]})
        }
        Target::Ollama => json!({"message": {"role": "assistant", "content": "", "tool_calls": chat(false, false)}}),
        Target::OpenAiResponses => json!({"output": each(&|index, name, arguments| {
            json!({"type": "function_call", "call_id": format!("call0000{index}"), "name": name, "arguments": arguments.to_string()})
        })}),
        Target::Gemini | Target::GeminiParameters => {
            json!({"candidates": [{"content": {"role": "model", "parts": each(&|index, name, args| {
                json!({"functionCall": {"id": format!("call0000{index}"), "name": name, "args": args}})
            })}}]})
        }
        Target::Bedrock => json!({"output": {"message": {"role": "assistant", "content": each(&|index, name, input| {
            json!({"toolUse": {"toolUseId": format!("call0000{index}"), "name": name, "input": input}})
        })}}}),
    }
}

fn providers() -> impl Iterator<Item = Target> {
    Target::ALL.into_iter().filter(|target| *target != Target::Mcp)
}

/// The ids that answers carry, or the names where there are no ids, in their order.
fn answered(messages: &[Value]) -> Vec<String> {
    let blocks = |message: &Value| -> Vec<Value> {
        message["content"].as_array().or(message["parts"].as_array()).cloned().unwrap_or_else(|| vec![message.clone()])
    };
    messages
        .iter()
        .flat_map(blocks)
        .filter_map(|block| {
            let places = [
                "/tool_use_id",
                "/toolResult/toolUseId",
                "/functionResponse/id",
                "/tool_call_id",
                "/call_id",
                "/tool_name",
            ];
            places.iter().find_map(|place| block.pointer(place)?.as_str().map(str::to_owned))
        })
        .collect()
}

/// Names, keys, order and ids there and back, for every provider; parallel calls, one of an unknown tool.
#[test]
fn calls_come_back_as_they_were_meant() {
    for target in providers() {
        let way = way(target);
        let rendered = set(target);
        let keys = rendered.key_maps.get("odd").cloned().unwrap_or_default();
        let odd = json!({"file name": "a", "deep": [{"a b": 1}]});
        let shown = crate::render::tests::map_arguments(&keys, &odd);
        let calls =
            [(FILES, json!({"path": "p"})), ("odd", shown), (way.own("x.y"), json!({})), ("nobody", json!({"z": 1}))];
        let response = response(target, &calls);
        let turn = calls_from(&way, &response, &ReadOptions::default()).unwrap();
        let want = [(FILES, r#"{"path":"p"}"#), ("odd", &odd.to_string()), ("x.y", "{}"), ("nobody", r#"{"z":1}"#)];
        assert_eq!(asked(&turn), pairs(&want), "{target}");
        assert_eq!(turn.calls.iter().map(|call| call.known).collect::<Vec<_>>(), [true, true, true, false], "{target}");
        // Every call is answered, in order, whether it was run or not.
        let results = [Some(ToolResult::text("one")), None, Some(ToolResult::error("broken"))];
        let answers = results_into(&way, &turn, &results, &WriteOptions::default());
        let want: Vec<String> = match target {
            Target::Ollama => turn.calls.iter().map(|call| way.own(&call.name).to_owned()).collect(),
            _ => (0..4).map(|index| format!("call0000{index}")).collect(),
        };
        assert_eq!(answered(&answers), want, "{target}");
        let text = serde_json::to_string(&answers).unwrap();
        assert!(text.contains("one") && text.contains("broken"), "{target}: {text}");
        assert_eq!(text.matches("This call was not run.").count(), 2, "{target}: {text}");
    }
}

/// §4.1 "error flag": a mark where there is one, else a text that begins with "Error".
#[test]
fn failures_are_marked() {
    let cases = [
        (Target::Anthropic, "/0/content/0/is_error", json!(true)),
        (Target::Bedrock, "/0/content/0/toolResult/status", json!("error")),
        (Target::Gemini, "/0/parts/0/functionResponse/response/error", json!("Error: no such file")),
        (Target::OpenAiChat, "/0/content", json!("Error: no such file")),
        (Target::OpenAiResponses, "/0/output", json!("Error: no such file")),
        (Target::Mistral, "/0/content", json!("Error: no such file")),
        (Target::Ollama, "/0/content", json!("Error: no such file")),
    ];
    for (target, place, want) in cases {
        let turn = read(target, &response(target, &[(FILES, json!({}))]));
        let answers =
            results_into(&way(target), &turn, &[Some(ToolResult::error("no such file"))], &WriteOptions::default());
        assert_eq!(Value::from(answers).pointer(place), Some(&want), "{target}");
    }
}

/// §4.7, by kind of content and provider.
#[test]
fn content_is_written_as_the_provider_takes_it() {
    let result = ToolResult::from_value(&json!({"content": [
        {"type": "text", "text": "seen"},
        {"type": "image", "mimeType": "image/png", "data": "AAAA"},
        {"type": "image", "mimeType": "image/tiff", "data": "AAAA"},
        {"type": "audio", "mimeType": "audio/wav", "data": "AAAA"},
        {"type": "resource_link", "uri": "file:///a", "name": "a", "description": "first"},
        {"type": "resource", "resource": {"uri": "file:///b", "text": "inside"}},
        {"type": "hologram"},
    ]}));
    for target in providers() {
        let turn = read(target, &response(target, &[(FILES, json!({}))]));
        let results = [Some(result.clone())];
        let blind =
            Value::from(results_into(&way(target), &turn, &results, &WriteOptions { images: false })).to_string();
        let seeing =
            Value::from(results_into(&way(target), &turn, &results, &WriteOptions { images: true })).to_string();
        for text in [&blind, &seeing] {
            for said in [
                "seen",
                "[image not shown: image/tiff, 3 bytes]",
                "[audio not shown: audio/wav",
                "[a](file:///a): first",
                "file:///b\\ninside",
                "[content of type hologram not shown]",
            ] {
                assert!(text.contains(said), "{target}: {said} in {text}");
            }
        }
        assert!(
            blind.contains("[image not shown: image/png, 3 bytes]") && !blind.contains("AAAA"),
            "{target}: {blind}"
        );
        // Mistral's answers are text, and no other message may follow them.
        assert_eq!(seeing.contains("AAAA"), target != Target::Mistral, "{target}: {seeing}");
    }
}

#[test]
fn images_stand_where_the_provider_looks_for_them() {
    let image =
        ToolResult::from_value(&json!({"content": [{"type": "image", "mimeType": "image/png", "data": "AAAA"}]}));
    let answers = |target: Target| {
        let turn = read(target, &response(target, &[(FILES, json!({}))]));
        Value::from(results_into(&way(target), &turn, &[Some(image.clone())], &WriteOptions { images: true }))
    };
    let cases = [
        (
            Target::Anthropic,
            "/0/content/0/content/0",
            json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}),
        ),
        (
            Target::OpenAiResponses,
            "/0/output/0",
            json!({"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,AAAA"}),
        ),
        (
            Target::Bedrock,
            "/0/content/0/toolResult/content/0",
            json!({"image": {"format": "png", "source": {"bytes": "AAAA"}}}),
        ),
        (
            Target::Gemini,
            "/0/parts/0/functionResponse/parts/0",
            json!({"inlineData": {"mimeType": "image/png", "data": "AAAA"}}),
        ),
        (
            Target::OpenAiChat,
            "/1/content/1",
            json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}),
        ),
        (Target::Ollama, "/0/images", json!(["AAAA"])),
    ];
    for (target, place, want) in cases {
        assert_eq!(answers(target).pointer(place), Some(&want), "{target}");
    }
    assert_eq!(answers(Target::OpenAiChat)[1]["role"], "user");
}

/// §4.7 "structuredContent" and OpenClaw case 57: shown once, also when there is no text.
#[test]
fn structured_content_is_shown_once() {
    let value = json!({"total": 3});
    let alone = ToolResult::from_value(&json!({"content": [], "structuredContent": value}));
    for result in [ToolResult::structured(&value), alone] {
        for target in providers() {
            let turn = read(target, &response(target, &[(FILES, json!({}))]));
            let answers =
                Value::from(results_into(&way(target), &turn, &[Some(result.clone())], &WriteOptions::default()));
            assert_eq!(answers.to_string().matches("total").count(), 1, "{target}: {answers}");
        }
    }
    let turn = read(Target::Gemini, &response(Target::Gemini, &[(FILES, json!({}))]));
    let answers =
        results_into(&way(Target::Gemini), &turn, &[Some(ToolResult::structured(&value))], &WriteOptions::default());
    assert_eq!(answers[0]["parts"][0]["functionResponse"]["response"], json!({"output": value}));
    // A list is no object, so Gemini and Bedrock get it as text.
    let list = ToolResult::structured(&json!([1, 2]));
    for (target, place) in [
        (Target::Gemini, "/parts/0/functionResponse/response/output"),
        (Target::Bedrock, "/content/0/toolResult/content/0/text"),
    ] {
        let turn = read(target, &response(target, &[(FILES, json!({}))]));
        let answers = results_into(&way(target), &turn, &[Some(list.clone())], &WriteOptions::default());
        assert_eq!(answers[0].pointer(place), Some(&json!("[1,2]")), "{target}");
    }
}

#[test]
fn an_empty_result_is_still_an_answer() {
    let empty = ToolResult::from_value(&json!({"content": [{"type": "text", "text": ""}]}));
    for target in providers() {
        let turn = read(target, &response(target, &[(FILES, json!({}))]));
        let answers = Value::from(results_into(&way(target), &turn, &[Some(empty.clone())], &WriteOptions::default()));
        if target == Target::Anthropic {
            assert_eq!(answers[0]["content"][0]["content"], json!([]));
        } else {
            assert!(answers.to_string().contains("(no output)"), "{target}: {answers}");
        }
    }
}

/// Arguments as text or as an object, absent, blank, and text that is no JSON, which the call path answers.
#[test]
fn arguments_in_any_form() {
    for (arguments, want) in [
        (json!(r#"{"path": "p"}"#), r#"{"path": "p"}"#),
        (json!({"path": "p"}), r#"{"path":"p"}"#),
        (json!(""), "{}"),
        (json!("  "), "{}"),
        (json!(null), "{}"),
        (json!("{\"path\": \"p"), r#""{\"path\": \"p""#),
        (json!("{\"n\": 12345678901234567890123}"), r#"{"n": 12345678901234567890123}"#),
    ] {
        let message = json!({"tool_calls": [{"id": "c", "function": {"name": FILES, "arguments": arguments}}]});
        let turn = read(Target::OpenAiChat, &json!({"choices": [{"message": message}]}));
        assert_eq!(turn.calls[0].arguments.get(), want);
        // The history holds text again, as the provider wants it.
        assert!(turn.messages[0]["tool_calls"][0]["function"]["arguments"].is_string());
        assert_eq!(turn.messages[0]["tool_calls"][0]["type"], "function");
    }
}

/// Digits survive renamed keys, and a key given twice stays twice, for the strict reader to refuse.
#[test]
fn renamed_keys_are_carried_in_the_text() {
    let arguments = r#"{"file_name": 12345678901234567890123, "deep": [{"a_b": 1.50}], "file name": "x"}"#;
    let message = json!({"tool_calls": [{"id": "c", "function": {"name": "odd", "arguments": arguments}}]});
    let turn = read(Target::OpenAiChat, &message);
    let want = r#"{"file name":12345678901234567890123,"deep":[{"a b":1.50}],"file name":"x"}"#;
    assert_eq!(turn.calls[0].arguments.get(), want);
    assert!(crate::args::parse(Some(&turn.calls[0].arguments)).is_err());
}

/// Ids: missing, repeated, or of a form that the provider refuses (§4.6: nine letters and digits for Mistral; §4.5).
#[test]
fn ids_are_settled_in_the_history_as_well() {
    let chat = |ids: [Value; 3]| {
        let calls: Vec<Value> =
            ids.into_iter().map(|id| json!({"id": id, "function": {"name": FILES, "arguments": "{}"}})).collect();
        json!({"choices": [{"message": {"tool_calls": calls}}]})
    };
    let long = "x".repeat(300);
    for (target, ids) in [
        (Target::OpenAiChat, [json!("a"), json!("a"), json!(null)]),
        (Target::Mistral, [json!("call_of_another_kind"), json!("AbCdEf123"), json!("AbCdEf123")]),
        (Target::Groq, [json!(""), json!(long), json!("ok")]),
    ] {
        let turn = read(target, &chat(ids));
        let ids: Vec<&str> = turn.calls.iter().map(|call| call.id.as_str()).collect();
        let unlike: std::collections::BTreeSet<&str> = ids.iter().copied().collect();
        assert_eq!(unlike.len(), 3, "{target}: {ids:?}");
        if target == Target::Mistral {
            assert!(ids.iter().all(|id| id.len() == 9 && id.chars().all(|c| c.is_ascii_alphanumeric())), "{ids:?}");
        }
        let written: Vec<&str> = turn.messages[0]["tool_calls"]
            .as_array()
            .unwrap()
            .iter()
            .map(|call| call["id"].as_str().unwrap())
            .collect();
        assert_eq!(written, ids, "{target}");
        assert_eq!(answered(&results_into(&way(target), &turn, &[], &WriteOptions::default())), ids, "{target}");
    }
    let missing = chat([json!(null), json!(null), json!(null)]);
    let ids = |turn: u64| {
        let turn = calls_from(&way(Target::OpenAiChat), &missing, &ReadOptions { printed: false, turn }).unwrap();
        turn.calls[0].id.clone()
    };
    assert_eq!(ids(1), ids(1));
    assert_ne!(ids(1), ids(2));
}

/// Older Gemini models give no ids; then answers have none either and go by order and name.
#[test]
fn gemini_without_ids() {
    let content = json!({"role": "model", "parts": [
        {"functionCall": {"name": FILES, "args": {"path": "a"}}, "thoughtSignature": "sig"},
        {"functionCall": {"name": FILES, "args": {"path": "b"}}},
    ]});
    let turn = read(Target::Gemini, &json!({"candidates": [{"content": content}]}));
    assert_eq!(turn.messages, [content], "signatures go back unchanged");
    let answers = results_into(&way(Target::Gemini), &turn, &[], &WriteOptions::default());
    assert_eq!(answers.len(), 1);
    for part in answers[0]["parts"].as_array().unwrap() {
        assert_eq!(part["functionResponse"]["name"], FILES);
        assert!(part["functionResponse"].get("id").is_none());
    }
}

/// What is beside the calls goes back as it came: reasoning, signatures, the provider's own tool calls.
#[test]
fn the_rest_of_a_turn_is_kept() {
    let content = json!([
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "I look."},
        {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}},
        {"type": "tool_use", "id": "toolu_1", "name": FILES, "input": {}},
    ]);
    let turn = read(Target::Anthropic, &json!({"content": content}));
    assert_eq!((turn.calls.len(), turn.text.as_str()), (1, "I look."));
    assert_eq!(turn.messages, [json!({"role": "assistant", "content": content})]);
    let items = json!([
        {"type": "reasoning", "id": "r", "summary": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "So."}]},
        {"type": "function_call", "call_id": "c", "name": FILES, "arguments": "", "caller": {"type": "program", "caller_id": "p"}},
    ]);
    let turn = read(Target::OpenAiResponses, &json!({"output": items}));
    assert_eq!(Value::from(turn.messages.clone()), items);
    assert_eq!(turn.text, "So.");
    let answers =
        results_into(&way(Target::OpenAiResponses), &turn, &[Some(ToolResult::text("ok"))], &WriteOptions::default());
    assert_eq!(
        answers,
        [
            json!({"type": "function_call_output", "call_id": "c", "output": "ok", "caller": {"type": "program", "caller_id": "p"}})
        ]
    );
    let reasoned = json!({"choices": [{"message": {"content": "", "refusal": null, "reasoning_content": "hm", "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": FILES, "arguments": "{}"}},
    ]}}]});
    let turn = read(Target::DeepSeek, &reasoned);
    assert_eq!(turn.messages[0]["reasoning_content"], "hm");
    assert!(turn.messages[0].get("refusal").is_none());
}

#[test]
fn a_turn_without_calls_needs_no_answer() {
    for target in providers() {
        let turn = read(target, &response(target, &[]));
        assert!(turn.calls.is_empty());
        assert!(results_into(&way(target), &turn, &[], &WriteOptions::default()).is_empty());
    }
}

#[test]
fn what_is_no_turn_is_told() {
    let check = |target: Target, response: &Value, word: &str| {
        let error = calls_from(&way(target), response, &ReadOptions::default()).unwrap_err().to_string();
        assert!(error.contains(word), "{target}: {error}");
    };
    check(Target::Mcp, &json!({}), "no responses of models");
    for target in providers() {
        check(target, &json!({"something": "else"}), "is missing");
        check(target, &json!("text"), "is missing");
        check(target, &json!({"error": {"message": "overloaded"}}), "overloaded");
    }
    let many: Vec<(&str, Value)> = (0..129).map(|_| (FILES, json!({}))).collect();
    for target in providers() {
        check(target, &response(target, &many), "129");
        check(target, &response(target, &[("", json!({}))]), "no name");
    }
}

/// Forms in which local models print calls (OpenClaude reference §2.5).
#[test]
fn printed_calls() {
    let one: &[(&str, &str)] = &[(FILES, r#"{"path":"p"}"#)];
    let spaced: &[(&str, &str)] = &[(FILES, r#"{"path": "p"}"#)];
    let two: &[(&str, &str)] = &[(FILES, r#"{"path":"p"}"#), (FILES, r#"{"path":"q"}"#)];
    let cases: &[Row<'_>] = &[
        ("<tool_call>\n{\"name\": \"files__read\", \"arguments\": {\"path\": \"p\"}}\n</tool_call>", spaced, ""),
        (
            "I read.\n<tool_call>{\"name\":\"files__read\",\"arguments\":{\"path\":\"p\"}}</tool_call><tool_call>{\"name\":\"files__read\",\"arguments\":{\"path\":\"q\"}}</tool_call> Done.",
            two,
            "I read.\n Done.",
        ),
        ("<tool_call>{\"name\":\"files__read\",\"arguments\":{\"path\":\"p\"}}", one, ""),
        (
            "<function_call>{\"name\":\"files__read\",\"arguments\":\"{\\\"path\\\":\\\"p\\\"}\"}</function_call>",
            one,
            "",
        ),
        ("```json\n{\"name\":\"files__read\",\"arguments\":{\"path\":\"p\"}}\n```", one, ""),
        (
            "Sure:\n```json\n[{\"tool\":\"files__read\",\"args\":{\"path\":\"p\"}},{\"name\":\"files__read\",\"parameters\":{\"path\":\"q\"}}]\n```",
            two,
            "Sure:",
        ),
        ("[TOOL_CALLS] [{\"name\":\"files__read\",\"arguments\":{\"path\":\"p\"}}]", one, ""),
        ("[TOOL_CALLS]files__read{\"path\":\"p\"}", one, ""),
        ("[TOOL_CALLS]files__read[ARGS]{\"path\":\"p\"}[TOOL_CALLS]files__read[ARGS]{\"path\":\"q\"}", two, ""),
        ("<|python_tag|>{\"type\":\"function\",\"name\":\"files__read\",\"parameters\":{\"path\":\"p\"}}", one, ""),
        (
            "<|python_tag|>{\"name\":\"files__read\",\"parameters\":{\"path\":\"p\"}}; {\"name\":\"files__read\",\"parameters\":{\"path\":\"q\"}}",
            two,
            "",
        ),
        ("{\"name\":\"files__read\",\"parameters\":{\"path\":\"p\"}}", one, ""),
        ("{\"function\":{\"name\":\"files__read\",\"arguments\":{\"path\":\"p\"}}}", one, ""),
        ("<function=files__read>{\"path\":\"p\"}</function>", one, ""),
        ("<tool_call>\n<function=files__read>\n<parameter=path>\np\n</parameter>\n</function>\n</tool_call>", one, ""),
        ("<tool_call>files__read\n<arg_key>path</arg_key>\n<arg_value>p</arg_value>\n</tool_call>", one, ""),
        (
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>files__read\n```json\n{\"path\":\"p\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
            one,
            "",
        ),
        (
            "<think>maybe <tool_call>{\"name\":\"odd\"}</tool_call></think><tool_call>{\"name\":\"files__read\",\"arguments\":{\"path\":\"p\"}}</tool_call>",
            one,
            "",
        ),
        (
            "<tool_call>{\"name\":\"odd\",\"arguments\":{\"file_name\":\"a\"}}</tool_call>",
            &[("odd", r#"{"file name":"a"}"#)],
            "",
        ),
    ];
    for target in [Target::OpenAiChat, Target::Groq, Target::Mistral] {
        for (text, want, rest) in cases {
            let turn = printed(target, text);
            assert_eq!(asked(&turn), pairs(want), "{target}: {text}");
            assert!(turn.calls.iter().all(|call| call.printed && call.known && !call.id.is_empty()));
            assert_eq!(turn.text, *rest, "{text}");
            // In the history they are calls like any other.
            assert_eq!(turn.messages[0]["tool_calls"][0]["id"], turn.calls[0].id.as_str());
        }
    }
    let turn = printed(Target::Ollama, cases[0].0);
    assert_eq!(turn.messages[0]["tool_calls"][0], json!({"function": {"name": FILES, "arguments": {"path": "p"}}}));
}

#[test]
fn what_only_looks_like_a_printed_call() {
    for text in [
        "<tool_call>{\"name\":\"nobody\",\"arguments\":{}}</tool_call>",
        "<tool_call>{\"name\":\"files__read\",\"arguments\":{</tool_call>",
        "```json\n{\"name\":\"files__read\"}\n```",
        "```python\n{\"name\":\"files__read\",\"arguments\":{}}\n```",
        "{\"name\":\"files__read\"}",
        "call files__read with {\"path\":\"p\"}",
        "<think><tool_call>{\"name\":\"files__read\",\"arguments\":{}}</tool_call></think>",
        "[TOOL_CALLS]nobody{\"path\":\"p\"}",
        "<function=nobody>{}</function>",
        "<tool_call></tool_call>",
        "",
    ] {
        let turn = printed(Target::OpenAiChat, text);
        assert!(turn.calls.is_empty(), "{text}: {:?}", turn.calls);
        assert_eq!(turn.text, text);
    }
    let call = "<tool_call>{\"name\":\"files__read\",\"arguments\":{}}</tool_call>";
    let message = json!({"content": call});
    assert!(read(Target::OpenAiChat, &message).calls.is_empty(), "only when asked for");
    assert!(printed(Target::Anthropic, call).calls.is_empty(), "never for a provider with calls of its own");
    let both = json!({"content": call, "tool_calls": [{"id": "c", "function": {"name": "odd", "arguments": "{}"}}]});
    let turn = calls_from(&way(Target::OpenAiChat), &both, &ReadOptions { printed: true, turn: 0 }).unwrap();
    assert_eq!(asked(&turn), pairs(&[("odd", "{}")]), "never beside proper calls");
}

/// §4.2 and §4.3: a search of ours is answered in the provider's own form, which loads the tools.
#[test]
fn searches_load_tools_where_the_provider_can() {
    let reply = json!({"results": [{"query": "q", "matches": [{"name": "x.y"}, {"name": FILES}, {"name": "hidden"}, {"name": FILES}]}]});
    let found = [Some(ToolResult::text(reply.to_string()))];
    let way = way(Target::Anthropic).with_references();
    let turn = read(Target::Anthropic, &response(Target::Anthropic, &[("tool_search", json!({"query": "q"}))]));
    let answers = results_into(&way, &turn, &found, &WriteOptions::default());
    assert_eq!(
        answers[0]["content"][0]["content"],
        json!([{"type": "tool_reference", "tool_name": "x_y"}, {"type": "tool_reference", "tool_name": FILES}])
    );
    let nothing = [Some(ToolResult::text(r#"{"results": [{"matches": []}], "hint": "Nothing matched."}"#))];
    let answers = results_into(&way, &turn, &nothing, &WriteOptions::default());
    assert!(answers[0]["content"][0]["content"][0]["text"].as_str().unwrap().contains("Nothing matched"));

    let definition = json!({"type": "namespace", "name": "files", "tools": []});
    let loadable = Loadable { own: FILES.to_owned(), definition: definition.clone(), group: "files".to_owned() };
    let way = super::tests::way(Target::OpenAiResponses).with_loadable([(FILES.to_owned(), loadable)].into());
    let item = json!({"type": "tool_search_call", "call_id": "c", "execution": "client", "arguments": {"query": "q"}});
    let hosted = json!({"type": "tool_search_call", "call_id": null, "execution": "server", "arguments": {}});
    let turn = calls_from(&way, &json!([hosted, item]), &ReadOptions::default()).unwrap();
    assert_eq!(asked(&turn), pairs(&[("tool_search", r#"{"query":"q"}"#)]));
    let answers = results_into(&way, &turn, &found, &WriteOptions::default());
    assert_eq!(
        answers,
        [
            json!({"type": "tool_search_output", "call_id": "c", "execution": "client", "status": "completed", "tools": [definition]})
        ]
    );
}

/// Turns with their answers, checked in: the end-to-end tests give them to the official SDKs. `UPDATE_GENERATED=1` writes
/// them.
#[test]
fn turns_for_the_sdks() {
    let results = [
        Some(ToolResult::text("one")),
        Some(ToolResult::error("broken")),
        Some(ToolResult::structured(&json!({"total": 3}))),
        Some(ToolResult::from_value(&json!({"content": [
            {"type": "text", "text": "seen"}, {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="},
        ]}))),
        None,
        Some(ToolResult::from_value(&json!({"content": []}))),
    ];
    let mut all = serde_json::Map::new();
    for target in providers() {
        let way = way(target);
        let calls: Vec<(&str, Value)> = (0..6).map(|n| (FILES, json!({"path": n.to_string()}))).collect();
        let turn = calls_from(&way, &response(target, &calls), &ReadOptions::default()).unwrap();
        let answers = results_into(&way, &turn, &results, &WriteOptions { images: true });
        all.insert(target.name().to_owned(), turn.messages.into_iter().chain(answers).collect());
    }
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/e2e/fixtures/turns.json");
    let want = format!("{:#}\n", Value::Object(all));
    if std::env::var("UPDATE_GENERATED").is_ok() {
        std::fs::write(&path, &want).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == want, "{} is out of date; run this test with UPDATE_GENERATED=1", path.display());
}
