//! Strict modes: which tools fit, what becomes of their schemas, and the budget (standards reference §4.2, §4.3).

use std::collections::BTreeSet;

use super::*;

const MODES: &[Target] = &[
    Target::Anthropic,
    Target::Bedrock,
    Target::OpenAiChat,
    Target::OpenAiResponses,
    Target::Mistral,
    Target::DeepSeek,
];

fn strictly(target: Target, definitions: &[Value], names: &[&str]) -> Rendered {
    let strict: BTreeSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let options = RenderOptions { strict_model: true, strict, ..RenderOptions::default() };
    render_set(target, definitions.iter().map(Item::direct), &options)
}

fn one(target: Target, schema: &Value) -> Rendered {
    strictly(target, &[definition(schema)], &["t"])
}

fn schema_of(target: Target, tool: &Value) -> Value {
    let place = match target {
        Target::Anthropic => "/input_schema",
        Target::Bedrock => "/toolSpec/inputSchema/json",
        Target::OpenAiChat | Target::Mistral | Target::DeepSeek => "/function/parameters",
        _ => "/parameters",
    };
    tool.pointer(place).cloned().unwrap_or_default()
}

fn flag(tool: &Value) -> bool {
    [&tool["strict"], &tool["function"]["strict"], &tool["toolSpec"]["strict"]].iter().any(|flag| **flag == true)
}

#[test]
fn objects_are_closed_and_optional_keys_become_nullable_where_none_may_be_left_out() {
    let schema = json!({
        "type": "object",
        "properties": {
            "a": {"type": "string", "default": "x"},
            "b": {"type": "array", "items": {"type": "object", "properties": {"c": {"type": "integer"}, "d": {"enum": ["p", "q"]}}, "required": ["c"]}},
            "e": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "n": {"type": ["string", "null"]},
        },
        "required": ["a"],
    });
    for target in [Target::OpenAiChat, Target::OpenAiResponses] {
        let rendered = one(target, &schema);
        assert!(flag(&rendered.tools[0]), "{target}: {:?}", rendered.strict);
        assert_eq!(
            schema_of(target, &rendered.tools[0]),
            json!({
                "type": "object",
                "properties": {
                    "a": {"type": "string", "description": "(default: x)"},
                    "b": {"type": ["array", "null"], "items": {
                        "type": "object",
                        "properties": {"c": {"type": "integer"}, "d": {"enum": ["p", "q", null]}},
                        "required": ["c", "d"], "additionalProperties": false,
                    }},
                    "e": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
                    "n": {"type": ["string", "null"]},
                },
                "required": ["a", "b", "e", "n"], "additionalProperties": false,
            }),
            "{target}"
        );
        let keys = &rendered.key_maps["t"];
        let given = json!({"a": "1", "b": [{"c": 1, "d": null}], "e": null, "n": null});
        // `n` could be null before, so null stays what it was.
        assert_eq!(unmap_arguments(keys, &given), json!({"a": "1", "b": [{"c": 1}], "n": null}));
        let raw = serde_json::value::to_raw_value(&given).unwrap();
        let turn = json!({"output": [{"type": "function_call", "call_id": "c", "name": "t", "arguments": raw.get()}]});
        if target == Target::OpenAiResponses {
            let turn =
                crate::provider::calls_from(&rendered.way_back(), &turn, &crate::provider::ReadOptions::default())
                    .unwrap();
            assert_eq!(turn.calls[0].arguments.get(), r#"{"a":"1","b":[{"c":1}],"n":null}"#);
        }
    }
    for target in [Target::Anthropic, Target::Bedrock] {
        let rendered = one(target, &schema);
        let got = schema_of(target, &rendered.tools[0]);
        assert!(flag(&rendered.tools[0]));
        assert_eq!((&got["required"], &got["additionalProperties"]), (&json!(["a"]), &json!(false)));
        assert_eq!(got["properties"]["b"]["items"]["additionalProperties"], false);
        assert!(rendered.key_maps.is_empty(), "what may be left out may still be");
    }
}

#[test]
fn constraints_that_strict_modes_do_not_take_are_told() {
    let schema = json!({
        "type": "object",
        "properties": {
            "n": {"type": "integer", "minimum": 1},
            "s": {"type": "string", "minLength": 2, "format": "phone"},
            "p": {"type": "string", "pattern": "^(?=a)b"},
            "q": {"type": "string", "pattern": "^[a-z]+$"},
        },
        "required": ["n", "s", "p", "q"], "additionalProperties": false,
    });
    for target in MODES {
        let rendered = one(*target, &schema);
        let got = schema_of(*target, &rendered.tools[0])["properties"].clone();
        let bounds = !matches!(target, Target::Anthropic | Target::Bedrock);
        assert_eq!(got["n"].get("minimum").is_some(), bounds, "{target}");
        assert_eq!(got["s"], json!({"type": "string", "description": "(minLength: 2; format: phone)"}), "{target}");
        assert_eq!(got["p"], json!({"type": "string", "description": "(pattern: ^(?=a)b)"}), "{target}");
        assert_eq!(got["q"], json!({"type": "string", "pattern": "^[a-z]+$"}), "{target}");
    }
}

/// A tool that would lose what calls may need stays as it is, and it is said why.
#[test]
fn what_strict_mode_cannot_say() {
    let check = |x: Value, word: &str| {
        for target in MODES {
            let schema = json!({
                "type": "object", "properties": {"x": x}, "required": ["x"],
                "$defs": {"n": {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}}},
            });
            let rendered = one(*target, &schema);
            assert!(!flag(&rendered.tools[0]), "{target}: {x}");
            let reason = rendered.strict[0].reason.clone().unwrap();
            assert!(reason.contains("/properties/x") && reason.contains(word), "{target}: {reason}");
            assert_eq!(rendered.tools, render(*target, [&definition(&schema)]).tools, "{target}");
        }
    };
    check(json!({"type": "object"}), "not declared");
    check(json!({"type": "object", "additionalProperties": {"type": "string"}}), "not declared");
    check(
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": true}),
        "not declared",
    );
    check(json!({"type": "object", "patternProperties": {"^a": {"type": "string"}}}), "not declared");
    check(json!({}), "anything");
    check(json!({"type": "array"}), "anything");
    check(json!({"$ref": "#/$defs/n"}), "leads back");
    check(json!({"$ref": "https://example.com/s"}), "another document");
    check(json!({"enum": [{"a": 1}]}), "objects or lists");
}

#[test]
fn a_tool_without_arguments_is_strict() {
    for target in MODES {
        let rendered = one(*target, &json!({"type": "object"}));
        assert!(flag(&rendered.tools[0]), "{target}");
        let want = json!({"type": "object", "properties": {}, "additionalProperties": false});
        assert_eq!(schema_of(*target, &rendered.tools[0]), want, "{target}");
    }
}

#[test]
fn only_where_there_is_such_a_mode() {
    let schema = json!({"type": "object"});
    let validated = [Target::Gemini, Target::GeminiParameters];
    for target in lowering().filter(|target| !MODES.contains(target) && !validated.contains(target)) {
        let rendered = one(target, &schema);
        assert!(rendered.strict[0].reason.as_deref().unwrap().contains("no strict mode"), "{target}");
        assert_eq!(rendered.tools, render(target, [&definition(&schema)]).tools);
    }
    let wished = BTreeSet::from(["t".to_owned()]);
    let options = RenderOptions { strict: wished.clone(), ..RenderOptions::default() };
    let definition = definition(&schema);
    let reason = |options: &RenderOptions| {
        render_set(Target::OpenAiChat, [Item::direct(&definition)], options).strict[0]
            .reason
            .clone()
            .unwrap_or_default()
    };
    assert!(reason(&options).contains("the model is not known"));
    let options = RenderOptions { strict_model: true, lower_as: Some(Target::Xai), ..options };
    assert!(reason(&options).contains("no strict mode"), "another provider's model behind a compatible endpoint");
    let options = RenderOptions { lower_as: None, programmatic: wished, ..options };
    assert!(reason(&options).contains("programs"));
}

/// §4.6, §4.9: closed, everything required, few formats, no lengths; a default may stay.
#[test]
fn deepseek_and_mistral() {
    let schema = json!({
        "type": "object",
        "properties": {
            "mail": {"type": "string", "format": "email", "default": "a@b.test"},
            "when": {"type": "string", "format": "date-time"},
            "list": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
        },
        "required": ["when", "list"],
    });
    for (target, default, date, most) in [(Target::DeepSeek, true, false, false), (Target::Mistral, false, true, true)]
    {
        let rendered = one(target, &schema);
        assert!(flag(&rendered.tools[0]), "{target}: {:?}", rendered.strict);
        let got = schema_of(target, &rendered.tools[0]);
        assert_eq!((&got["additionalProperties"], &got["required"]), (&json!(false), &json!(["mail", "when", "list"])));
        let property = &got["properties"];
        assert_eq!(property["mail"]["format"], "email", "{target}");
        assert_eq!(property["mail"]["type"], json!(["string", "null"]), "{target}");
        assert_eq!(property["mail"].get("default").is_some(), default, "{target}");
        assert_eq!(property["when"].get("format").is_some(), date, "{target}");
        assert_eq!(property["list"].get("maxItems").is_some(), most, "{target}");
        assert!(rendered.key_maps["t"].absent.contains("mail"), "{target}: its null is taken out again");
    }
}

/// §4.4: the mode VALIDATED is one of the request, and large sets fail in it.
#[test]
fn gemini_validates_all_tools_of_a_request_or_none() {
    let tools = |count: usize| -> Vec<Value> {
        (0..count).map(|n| json!({"name": format!("t{n:02}"), "inputSchema": {"type": "object"}})).collect()
    };
    let names: Vec<String> = (0..30).map(|n| format!("t{n:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for target in [Target::Gemini, Target::GeminiParameters] {
        let check = |rendered: &Rendered, reason: Option<&str>| {
            let on = json!({"functionCallingConfig": {"mode": "VALIDATED"}});
            assert_eq!(rendered.tool_config, reason.is_none().then_some(on), "{target}");
            for verdict in &rendered.strict {
                assert_eq!(verdict.strict, reason.is_none(), "{target}");
                assert!(
                    verdict.reason.as_deref().unwrap_or_default().contains(reason.unwrap_or_default()),
                    "{verdict:?}"
                );
            }
        };
        let all = strictly(target, &tools(20), &names);
        check(&all, None);
        assert_eq!(all.strict.len(), 20, "{target}");
        assert_eq!(all.tools, render(target, &tools(20)).tools, "the tools themselves stay as they are");
        check(&strictly(target, &tools(21), &names), Some("at most 20"));
        let some = strictly(target, &tools(3), &["t00", "t02"]);
        check(&some, Some("name all of them"));
        assert_eq!(some.strict.len(), 2, "{target}");
        let options =
            RenderOptions { strict: names.iter().map(|name| (*name).to_owned()).collect(), ..RenderOptions::default() };
        let unknown = render_set(target, tools(2).iter().map(Item::direct), &options);
        check(&unknown, Some("not known to take strict tools"));
        let none = render(target, &tools(2));
        assert_eq!((none.tool_config, none.strict), (None, Vec::new()), "{target}: nobody wished it");
    }
    assert_eq!(strictly(Target::OpenAiChat, &tools(2), &names).tool_config, None);
}

/// §4.2: 20 strict tools, 24 optional parameters, 16 unions in one request; first come, first served.
#[test]
fn the_budget_of_a_request() {
    let tools = |count: usize, schema: &Value| -> Vec<Value> {
        (0..count).map(|index| json!({"name": format!("t{index:02}"), "inputSchema": schema})).collect()
    };
    let all: Vec<String> = (0..40).map(|index| format!("t{index:02}")).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let strict = |target: Target, count: usize, schema: &Value| {
        let rendered = strictly(target, &tools(count, schema), &all);
        let fit = rendered.strict.iter().filter(|verdict| verdict.strict).count();
        let reasons: BTreeSet<String> = rendered.strict.iter().filter_map(|verdict| verdict.reason.clone()).collect();
        assert!(rendered.strict.iter().take(fit).all(|verdict| verdict.strict), "the first ones");
        (fit, reasons.into_iter().next().unwrap_or_default())
    };
    let none = json!({"type": "object"});
    let (fit, reason) = strict(Target::Anthropic, 30, &none);
    assert!(fit == 20 && reason.contains("20 strict tools"), "{fit} {reason}");
    assert_eq!(strict(Target::OpenAiChat, 30, &none).0, 30);
    let five =
        json!({"type": "object", "properties": {"a": text(), "b": text(), "c": text(), "d": text(), "e": text()}});
    let (fit, reason) = strict(Target::Anthropic, 10, &five);
    assert!(fit == 4 && reason.contains("24 optional"), "{fit} {reason}");
    let unions = json!({"type": "object", "properties": {"a": {"type": ["string", "null"]}, "b": {"anyOf": [text(), {"type": "integer"}]}}, "required": ["a", "b"]});
    let (fit, reason) = strict(Target::Anthropic, 10, &unions);
    assert!(fit == 8 && reason.contains("16"), "{fit} {reason}");
}

/// §4.3: sizes of one tool.
#[test]
fn the_limits_of_one_tool() {
    let deep =
        (0..10).fold(text(), |inner, _| json!({"type": "object", "properties": {"x": inner}, "required": ["x"]}));
    assert!(flag(&one(Target::OpenAiChat, &deep).tools[0]));
    let deeper = json!({"type": "object", "properties": {"x": deep}});
    let reason = one(Target::OpenAiChat, &deeper).strict[0].reason.clone().unwrap();
    assert!(reason.contains("11 levels"), "{reason}");
    let values: Vec<String> = (0..1001).map(|n| n.to_string()).collect();
    let many = json!({"type": "object", "properties": {"x": {"type": "string", "enum": values}}, "required": ["x"]});
    let reason = one(Target::OpenAiChat, &many).strict[0].reason.clone().unwrap();
    assert!(reason.contains("1001 values"), "{reason}");
}

fn text() -> Value {
    json!({"type": "string"})
}
