//! One test per row of the standards reference §4.9, and the cases of other references that concern schemas.

use super::*;
use Target::{
    Anthropic, Bedrock, DeepSeek, Gemini, GeminiParameters, Groq, Mistral, Ollama, OpenAiChat, OpenAiResponses, Xai,
};

const OPENAI: &[Target] = &[OpenAiChat, OpenAiResponses];
const CLAUDE: &[Target] = &[Anthropic, Bedrock];
const KEEPING: &[Target] = &[Anthropic, Bedrock, OpenAiChat, OpenAiResponses];
const COMPATIBLE: &[Target] = &[Mistral, DeepSeek, Groq, Xai];
const EVERY: &[Target] =
    &[Anthropic, OpenAiChat, OpenAiResponses, Gemini, GeminiParameters, Bedrock, Mistral, Ollama, DeepSeek, Xai, Groq];

fn text() -> Value {
    json!({"type": "string"})
}

/// Row "root not object / no type"; OpenClaw cases 102 and 103.
#[test]
fn the_root_is_an_object_with_properties() {
    let empty = json!({"type": "object", "properties": {}});
    for schema in [json!({}), json!({"type": "object"}), json!({"type": ["object", "null"]}), json!(true)] {
        check_root(EVERY, &schema, &empty);
    }
    let a = json!({"properties": {"a": text()}});
    check_root(EVERY, &a, &json!({"type": "object", "properties": {"a": text()}}));
}

/// Row "root anyOf/oneOf/allOf"; OpenClaw case 105: values of a choice are united.
#[test]
fn alternatives_at_the_root_become_one_object() {
    for key in ["anyOf", "oneOf"] {
        let schema = json!({key: [
            {"type": "object", "properties": {"action": {"type": "string", "enum": ["get"]}, "id": text()}, "required": ["action", "id"]},
            {"type": "object", "properties": {"action": {"type": "string", "enum": ["list"]}}, "required": ["action"]},
            {"type": "null"},
        ]});
        let want = json!({
            "type": "object",
            "properties": {"action": {"type": "string", "enum": ["get", "list"]}, "id": text()},
            "required": ["action"],
        });
        check_root(EVERY, &schema, &want);
        for target in EVERY {
            let rendered = render(*target, [&definition(&schema)]);
            assert!(rendered.tools[0].to_string().contains("(action, id) or (action)"), "{target}");
            assert!(rendered.losses.iter().any(|loss| loss.construct == Construct::RootCombinator), "{target}");
        }
    }
}

#[test]
fn different_forms_of_one_property_stay_alternatives() {
    let schema = json!({"anyOf": [{"properties": {"a": text()}}, {"properties": {"a": {"type": "boolean"}}}]});
    let either = json!({"anyOf": [text(), {"type": "boolean"}]});
    check_root(EVERY, &schema, &json!({"type": "object", "properties": {"a": either}}));
}

/// Differs from OpenClaw case 106, which leaves `allOf` alone: the APIs refuse it.
#[test]
fn parts_at_the_root_are_merged() {
    let schema = json!({
        "properties": {"a": text()}, "required": ["a"],
        "allOf": [{"properties": {"b": text()}, "required": ["b"]}, {"properties": {"a": {"minLength": 1}}}],
    });
    for target in EVERY {
        let got = lowered(*target, &schema);
        assert_eq!(got["required"], json!(["a", "b"]), "{target}");
        assert_eq!(got["properties"].as_object().unwrap().len(), 2, "{target}");
        assert!(got["properties"]["a"].to_string().contains("minLength"), "{target}");
    }
}

/// §4.3: `enum` and `not` at the root.
#[test]
fn constraints_at_the_root_are_told() {
    let schema = json!({"type": "object", "properties": {"a": text()}, "not": {"required": ["a"]}});
    check_root(CLAUDE, &schema, &schema);
    for target in OPENAI.iter().chain(COMPATIBLE).chain(&[Gemini, GeminiParameters, Ollama]) {
        assert_eq!(lowered(*target, &schema), json!({"type": "object", "properties": {"a": text()}}), "{target}");
        let tool = render(*target, [&definition(&schema)]).tools[0].to_string();
        assert!(tool.contains("Does it. (not: "), "{target}: {tool}");
    }
}

/// §4.6: Ollama reads no description of the root.
#[test]
fn the_description_of_the_root() {
    let schema = json!({"type": "object", "description": "Of a thing.", "properties": {}});
    check_root(&[KEEPING, COMPATIBLE, &[Gemini]].concat(), &schema, &schema);
    check_root(&[Ollama], &schema, &json!({"type": "object", "properties": {}}));
    let tool = render(Ollama, [&definition(&schema)]).tools[0]["function"]["description"].clone();
    assert_eq!(tool, "Does it. (Of a thing.)");
}

/// Rows "nested anyOf", "nested oneOf".
#[test]
fn alternatives_below_the_root() {
    let choices = json!([text(), {"type": "integer"}]);
    check(EVERY, &json!({"anyOf": choices}), &json!({"anyOf": choices}));
    check(KEEPING, &json!({"oneOf": choices}), &json!({"oneOf": choices}));
    let rest = [COMPATIBLE, &[Gemini, GeminiParameters, Ollama]].concat();
    check(&rest, &json!({"oneOf": choices}), &json!({"anyOf": choices}));
}

#[test]
fn gemini_parameters_have_nothing_beside_any_of() {
    check(
        &[GeminiParameters],
        &json!({"description": "Id.", "anyOf": [{"type": "string", "description": "name"}, {"type": "integer"}]}),
        &json!({"anyOf": [
            {"type": "string", "description": "Id. (name)"}, {"type": "integer", "description": "Id."},
        ]}),
    );
}

/// Hermes §2: a choice of constants is an enumeration.
#[test]
fn alternatives_of_constants_become_values() {
    let x = json!({"oneOf": [{"const": "a", "title": "first"}, {"const": "b"}]});
    check(KEEPING, &x, &x);
    let untyped = json!({"description": "(a: first)", "enum": ["a", "b"]});
    check(&[COMPATIBLE, &[Ollama]].concat(), &x, &untyped);
    let text = json!({"type": "string", "description": "(a: first)", "enum": ["a", "b"]});
    check(&[Gemini, GeminiParameters], &x, &text);
}

/// Row "allOf".
#[test]
fn parts_below_the_root() {
    let x = json!({"allOf": [{"type": "object", "properties": {"a": text()}}, {"required": ["a"]}]});
    let rest = [COMPATIBLE, &[Gemini, GeminiParameters, Ollama]].concat();
    check(&rest, &x, &json!({"type": "object", "properties": {"a": text()}, "required": ["a"]}));
    check(KEEPING, &x, &x);
}

/// Rows "local `$ref`", "remote `$ref`".
#[test]
fn references_are_replaced() {
    let schema = |reference: &str| {
        json!({
            "type": "object",
            "properties": {"x": {"$ref": reference, "description": "here"}},
            "$defs": {"a/b": {"type": "string", "description": "there"}, "n": {"$anchor": "n", "type": "string"}},
        })
    };
    let want = json!({"type": "object", "properties": {"x": {"type": "string", "description": "here"}}});
    check_root(EVERY, &schema("#/$defs/a~1b"), &want);
    check_root(EVERY, &schema("#/%24defs/a~1b"), &want);
    check_root(EVERY, &schema("#n"), &want);
    for foreign in ["https://example.com/s.json", "#/nowhere", "other.json#/a"] {
        for target in EVERY {
            let rendered = render(*target, [&definition(&schema(foreign))]);
            let losses: Vec<_> = rendered.losses.iter().map(|loss| (loss.path.as_str(), loss.construct)).collect();
            assert!(losses.contains(&("/properties/x", Construct::ForeignReference)), "{target}: {losses:?}");
        }
    }
}

/// Row "recursion"; OpenClaw case 107.
#[test]
fn cycles_end_in_an_open_object() {
    let schema = json!({
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/node"}},
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
    });
    let open = json!({"type": "object", "properties": {}});
    let rest = [OPENAI, COMPATIBLE, &[Gemini, GeminiParameters, Ollama]].concat();
    for (targets, end) in [(rest.as_slice(), open), (CLAUDE, json!({"type": "object"}))] {
        let x = json!({"type": "object", "properties": {"next": end}});
        check_root(targets, &schema, &json!({"type": "object", "properties": {"x": x}}));
    }
    let whole = json!({"type": "object", "properties": {"x": {"$ref": "#"}}});
    for target in EVERY {
        let rendered = render(*target, [&definition(&whole)]);
        assert!(rendered.losses.iter().any(|loss| loss.construct == Construct::Recursion), "{target}");
    }
}

/// Row "`$schema` with an old dialect". Means nothing to a model, so it is no loss.
#[test]
fn marks_are_left_out() {
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#", "$id": "urn:x", "$comment": "c",
        "type": "object", "properties": {}, "definitions": {"a": text()},
    });
    check_root(EVERY, &schema, &json!({"type": "object", "properties": {}}));
    for target in EVERY {
        assert!(render(*target, [&definition(&schema)]).losses.is_empty(), "{target}");
    }
}

/// Rows "`additionalProperties: false`", "`additionalProperties: {schema}`".
#[test]
fn additional_properties() {
    let closed = json!({"type": "object", "properties": {"a": text()}, "additionalProperties": false});
    let open = json!({"type": "object", "properties": {"a": text()}});
    let most = [KEEPING, COMPATIBLE, &[Gemini]].concat();
    check(&most, &closed, &closed);
    check(&[GeminiParameters, Ollama], &closed, &open);
    let any = json!({"type": "object", "properties": {"a": text()}, "additionalProperties": {}});
    check(&[Gemini, GeminiParameters, Ollama], &any, &open);
    let map = json!({"type": "object", "properties": {}, "additionalProperties": {"type": "integer"}});
    check(&[KEEPING, COMPATIBLE].concat(), &map, &map);
    check(
        &[Gemini, GeminiParameters, Ollama],
        &map,
        &json!({"type": "object", "description": r#"(any other keys, each {"type":"integer"})"#, "properties": {}}),
    );
}

/// Row "`patternProperties`/`propertyNames`".
#[test]
fn patterns_of_keys() {
    let x = json!({"type": "object", "properties": {}, "propertyNames": {"pattern": "^x"}});
    check(KEEPING, &x, &x);
    let told = json!({"type": "object", "description": r#"(propertyNames: {"pattern":"^x"})"#, "properties": {}});
    check(&[COMPATIBLE, &[Gemini, GeminiParameters, Ollama]].concat(), &x, &told);
    let idle = json!({"type": "object", "properties": {}, "propertyNames": {"type": "string"}});
    check(&[Gemini, Ollama, Groq], &idle, &json!({"type": "object", "properties": {}}));
}

/// Row "`const`".
#[test]
fn constants() {
    check(KEEPING, &json!({"const": "a"}), &json!({"const": "a"}));
    check(&[Mistral, Ollama], &json!({"const": 1}), &json!({"enum": [1]}));
    check(&[Gemini, GeminiParameters], &json!({"const": "a"}), &json!({"type": "string", "enum": ["a"]}));
}

/// Row "`default`".
#[test]
fn defaults() {
    let x = json!({"type": "integer", "default": 5});
    let most = [KEEPING, COMPATIBLE, &[Gemini, GeminiParameters]].concat();
    check(&most, &x, &x);
    check(&[Ollama], &x, &json!({"type": "integer", "description": "(default: 5)"}));
}

/// Row "format outside the short list".
#[test]
fn formats() {
    let x = |format: &str| json!({"type": "string", "format": format});
    let told = |format: &str| json!({"type": "string", "description": format!("(format: {format})")});
    check(KEEPING, &x("color"), &x("color"));
    check(COMPATIBLE, &x("uuid"), &x("uuid"));
    check(COMPATIBLE, &x("color"), &told("color"));
    check(&[Gemini, GeminiParameters], &x("date-time"), &x("date-time"));
    check(&[Gemini, GeminiParameters, Ollama], &x("uri"), &told("uri"));
}

/// Row "type array / `null`".
#[test]
fn types() {
    let x = json!({"type": ["string", "null"], "minLength": 1});
    let most = [KEEPING, &[Mistral, DeepSeek, Groq]].concat();
    check(&most, &x, &x);
    check(&[GeminiParameters], &x, &json!({"type": "string", "nullable": true, "minLength": 1}));
    check(
        &[GeminiParameters],
        &json!({"anyOf": [{"type": "integer"}, {"type": "null"}], "description": "d"}),
        &json!({"type": "integer", "nullable": true, "description": "d"}),
    );
    check(
        &[GeminiParameters],
        &json!({"type": ["string", "array"], "minLength": 1, "description": "d"}),
        &json!({"anyOf": [
            {"type": "string", "minLength": 1, "description": "d"},
            {"type": "array", "items": {"type": "string"}, "description": "d"},
        ]}),
    );
    check(&[GeminiParameters], &json!({"type": ["integer", "number"]}), &json!({"type": "number"}));
    check(&[Groq], &json!({"type": "string", "nullable": true}), &json!({"type": ["string", "null"]}));
    check(&[GeminiParameters], &json!({"type": "STRING"}), &text());
}

/// Row "non-string enum".
#[test]
fn values_that_are_no_text() {
    let x = json!({"type": "integer", "enum": [1, 2, 2]});
    check(&[KEEPING, COMPATIBLE, &[Ollama]].concat(), &x, &json!({"type": "integer", "enum": [1, 2]}));
    check(&[Gemini, GeminiParameters], &x, &json!({"type": "integer", "description": "(one of: 1, 2)"}));
    let x = json!({"type": ["string", "null"], "enum": ["a", null]});
    check(&[GeminiParameters], &x, &json!({"type": "string", "nullable": true, "enum": ["a"]}));
    check(&[Gemini], &x, &json!({"type": ["string", "null"], "enum": ["a"]}));
}

/// Rows "min/max/multipleOf", "string length".
#[test]
fn limits() {
    let x = json!({"type": "integer", "minimum": 1, "maximum": 9, "multipleOf": 2});
    check(&[KEEPING, COMPATIBLE].concat(), &x, &x);
    let told = json!({"type": "integer", "description": "(multipleOf: 2)", "minimum": 1, "maximum": 9});
    check(&[Gemini, GeminiParameters], &x, &told);
    let told = json!({"type": "integer", "description": "(minimum: 1; maximum: 9; multipleOf: 2)"});
    check(&[Ollama], &x, &told);
    let x = json!({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 10});
    check(&[Gemini, GeminiParameters], &x, &json!({"type": "integer", "minimum": 1, "maximum": 9}));
    let x = json!({"type": "number", "exclusiveMinimum": 0});
    let told = json!({"type": "number", "description": "(exclusiveMinimum: 0)", "minimum": 0});
    check(&[Gemini, GeminiParameters], &x, &told);
    let x = json!({"type": "number", "minimum": 0, "exclusiveMinimum": true});
    check(KEEPING, &x, &json!({"type": "number", "exclusiveMinimum": 0}));
    let x = json!({"type": "string", "minLength": 1});
    check(&[KEEPING, &[Mistral, GeminiParameters]].concat(), &x, &x);
    check(&[Xai, Gemini, Ollama], &x, &json!({"type": "string", "description": "(minLength: 1)"}));
}

/// Rows "array without items", "object without properties".
#[test]
fn arrays_and_objects() {
    let array = json!({"type": "array"});
    check(CLAUDE, &array, &array);
    check(&[OPENAI, COMPATIBLE, &[Gemini, Ollama]].concat(), &array, &json!({"type": "array", "items": {}}));
    check(&[GeminiParameters], &array, &json!({"type": "array", "items": {"type": "string"}}));
    let object = json!({"type": "object"});
    check(CLAUDE, &object, &object);
    let rest = [OPENAI, COMPATIBLE, &[Gemini, GeminiParameters, Ollama]].concat();
    check(&rest, &object, &json!({"type": "object", "properties": {}}));
    let tuple = json!({"type": "array", "items": [text(), {"type": "integer"}], "minItems": 2});
    let places = json!([text(), {"type": "integer"}]);
    check(CLAUDE, &tuple, &json!({"type": "array", "prefixItems": places, "minItems": 2}));
    check(
        &[GeminiParameters, Mistral],
        &tuple,
        &json!({
            "type": "array", "description": "(a list of 2 places, each with its own form)",
            "items": {"anyOf": places}, "minItems": 2,
        }),
    );
}

/// Row "`required` names an undefined property"; §4.8.8.
#[test]
fn required_keys_that_are_not_declared() {
    let x = json!({"type": "object", "properties": {"a": text()}, "required": ["a", "b", "a"]});
    check(KEEPING, &x, &json!({"type": "object", "properties": {"a": text()}, "required": ["a", "b"]}));
    let pruned = json!({"type": "object", "properties": {"a": text()}, "required": ["a"]});
    check(&[COMPATIBLE, &[Gemini, GeminiParameters, Ollama]].concat(), &x, &pruned);
    let x = json!({"type": "object", "properties": {"a": text(), "b": text()}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]});
    check(KEEPING, &x, &x);
    let told = json!({"type": "object", "description": "(give (a) or (b))", "properties": {"a": text(), "b": text()}});
    check(&[COMPATIBLE, &[Gemini, GeminiParameters, Ollama]].concat(), &x, &told);
}

/// Row "odd property key": everywhere, at the root only, or nowhere.
#[test]
fn property_keys() {
    let schema = json!({
        "type": "object",
        "properties": {"a b": {"type": "object", "properties": {"$c": text()}}, "a_b": text()},
        "required": ["a b"],
    });
    for target in EVERY {
        let rendered = render(*target, [&definition(&schema)]);
        let keys = rendered.key_maps.get("t").cloned().unwrap_or_default();
        let names: Vec<&str> = keys.names.values().map(String::as_str).collect();
        let inner = keys.inner.values().flat_map(|keys| keys.names.values()).count();
        let want: (&[&str], usize) = match target {
            Ollama => (&[], 0),
            Anthropic | Bedrock => (&["a b"], 0),
            _ => (&["a b"], 1),
        };
        assert_eq!((names.as_slice(), inner), want, "{target}");
        let got = lowered(*target, &schema);
        let first = got["required"][0].as_str().unwrap();
        assert!(got["properties"].get(first).is_some() && first != "a_b", "{target}: {got}");
        let arguments = json!({"a b": {"$c": "1", "free key": 2}, "a_b": "x"});
        assert_eq!(unmap_arguments(&keys, &map_arguments(&keys, &arguments)), arguments, "{target}");
    }
}

#[test]
fn renamed_keys_inside_lists_and_maps_are_carried_back() {
    let inner = json!({"type": "object", "properties": {"@id": text()}});
    let schema = json!({
        "type": "object",
        "properties": {"list": {"type": "array", "items": inner}, "map": {"type": "object", "additionalProperties": inner}},
    });
    let rendered = render(OpenAiChat, [&definition(&schema)]);
    let keys = &rendered.key_maps["t"];
    let rendered_open = render(
        OpenAiChat,
        [&definition(
            &json!({"type": "object", "properties": {"free": {"type": "object"}}, "additionalProperties": inner}),
        )],
    );
    let mixed = json!({"free": {"_id": 1}, "other": {"_id": 2}});
    let want = json!({"free": {"_id": 1}, "other": {"@id": 2}});
    assert_eq!(unmap_arguments(&rendered_open.key_maps["t"], &mixed), want);
    let arguments = json!({"list": [{"_id": "1"}], "map": {"k": {"_id": "2"}}, "_id": 3});
    let want = json!({"list": [{"@id": "1"}], "map": {"k": {"@id": "2"}}, "_id": 3});
    assert_eq!(unmap_arguments(keys, &arguments), want);
}

/// Row "boolean sub-schema".
#[test]
fn boolean_schemas() {
    check(CLAUDE, &json!(true), &json!(true));
    check(&[OPENAI, COMPATIBLE, &[Gemini, Ollama]].concat(), &json!(true), &json!({}));
    check(
        &[OPENAI, COMPATIBLE, &[Gemini, Ollama]].concat(),
        &json!(false),
        &json!({"description": "Nothing is accepted here."}),
    );
    check(&[GeminiParameters], &json!(true), &text());
}

/// OpenClaw case 109 and Hermes §2: names of parameters and values are not keywords.
#[test]
fn names_and_values_are_never_keywords() {
    let schema = json!({
        "type": "object",
        "properties": {"pattern": text(), "definitions": text(), "$ref": text(), "allOf": text(), "default": text()},
        "required": ["pattern"],
    });
    for target in EVERY {
        let got = lowered(*target, &schema);
        for key in ["pattern", "definitions", "allOf", "default"] {
            assert_eq!(got["properties"][key], text(), "{target}");
        }
    }
    let value = json!({"$ref": "#", "oneOf": [], "type": "nonsense"});
    check(KEEPING, &json!({"default": value}), &json!({"default": value}));
    check(KEEPING, &json!({"enum": [value]}), &json!({"enum": [value]}));
    check(KEEPING, &json!({"const": value}), &json!({"const": value}));
    check(KEEPING, &json!({"examples": [value]}), &json!({"examples": [value]}));
}

/// Hermes §2: bare type words; keywords whose value makes no sense.
#[test]
fn malformed_keywords() {
    check(&[KEEPING, COMPATIBLE].concat(), &json!("string"), &text());
    for bad in [
        json!({"type": "string", "minLength": "1"}),
        json!({"type": "string", "enum": "a"}),
        json!({"type": "string", "enum": []}),
        json!({"type": "string", "anyOf": []}),
        json!({"type": "string", "required": true}),
        json!({"type": "string", "description": 5}),
        json!({"type": ["string", "file"]}),
    ] {
        check(EVERY, &bad, &text());
    }
    check(KEEPING, &json!({"type": "string", "x-order": 1}), &json!({"type": "string", "x-order": 1}));
    check(
        &[COMPATIBLE, &[Gemini, GeminiParameters, Ollama]].concat(),
        &json!({"type": "string", "x-order": 1}),
        &text(),
    );
}

/// Depth is bounded: what is deeper stays open.
#[test]
fn deep_schemas_are_cut() {
    let deep = (0..60).fold(text(), |inner, _| json!({"type": "object", "properties": {"x": inner}}));
    for target in EVERY {
        let rendered = render(*target, [&definition(&deep)]);
        assert!(rendered.losses.iter().any(|loss| loss.construct == Construct::Nesting), "{target}");
    }
}
