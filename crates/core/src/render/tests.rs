use std::{fs, path::Path};

use serde_json::{Value, json};

use super::*;

mod properties;
mod rules;
mod strict;
mod walker;
mod wishes;

/// Arguments as production carries them back.
pub(crate) fn unmap_arguments(keys: &KeyMap, arguments: &Value) -> Value {
    unmapped(keys, &arguments.to_string()).map_or(arguments.clone(), |text| serde_json::from_str(&text).unwrap())
}

/// The other way, as a model has to: original keys get the names that the target knows.
pub(crate) fn map_arguments(keys: &KeyMap, arguments: &Value) -> Value {
    match arguments {
        Value::Object(map) => {
            let one = |(key, value): (&String, &Value)| {
                let renamed = keys.names.iter().find(|(_, original)| *original == key).map(|(renamed, _)| renamed);
                let new = renamed.unwrap_or(key);
                let inner = keys.inner.get(new).or(keys.values.as_deref());
                (new.clone(), inner.map_or(value.clone(), |inner| map_arguments(inner, value)))
            };
            Value::Object(map.iter().map(one).collect())
        }
        Value::Array(list) => match &keys.items {
            Some(items) => list.iter().map(|value| map_arguments(items, value)).collect(),
            None => arguments.clone(),
        },
        other => other.clone(),
    }
}

fn definition(schema: &Value) -> Value {
    json!({"name": "t", "description": "Does it.", "inputSchema": schema})
}

/// The schema that `parameters` would hold for the target.
#[track_caller]
fn lowered(target: Target, schema: &Value) -> Value {
    lower_schema(target, schema).unwrap()
}

/// Lowering a schema with one property `x` gives that property this form.
#[track_caller]
fn check(targets: &[Target], x: &Value, want: &Value) {
    for target in targets {
        let schema = json!({"type": "object", "properties": {"x": x}});
        let got = lowered(*target, &schema);
        assert_eq!(got["properties"]["x"], *want, "{target}");
    }
}

/// Lowering the whole schema gives this one.
#[track_caller]
fn check_root(targets: &[Target], schema: &Value, want: &Value) {
    for target in targets {
        assert_eq!(lowered(*target, schema), *want, "{target}");
    }
}

fn lowering() -> impl Iterator<Item = Target> {
    Target::ALL.into_iter().filter(|target| target.dialect().is_some())
}

#[test]
fn every_target_has_a_name_that_reads_back() {
    for target in Target::ALL {
        assert_eq!(target.name().parse(), Ok(target));
        assert!(target == Target::Mcp || target.dialect().is_some(), "{target}");
    }
    let error = "abacus".parse::<Target>().unwrap_err().to_string();
    assert!(error.contains("abacus") && Target::ALL.iter().all(|target| error.contains(target.name())), "{error}");
}

/// Standards reference §4.1: the shape of one tool.
#[test]
fn shapes() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let function =
        json!({"type": "function", "function": {"name": "t", "description": "Does it.", "parameters": schema}});
    for (target, want) in [
        (Target::Mcp, definition(&schema)),
        (Target::Anthropic, json!({"name": "t", "description": "Does it.", "input_schema": schema})),
        (Target::OpenAiChat, function.clone()),
        (
            Target::OpenAiResponses,
            json!({"type": "function", "name": "t", "description": "Does it.", "parameters": schema, "strict": false}),
        ),
        (
            Target::Gemini,
            json!({"functionDeclarations": [{"name": "t", "description": "Does it.", "parametersJsonSchema": schema}]}),
        ),
        (
            Target::GeminiParameters,
            json!({"functionDeclarations": [{"name": "t", "description": "Does it.", "parameters": schema}]}),
        ),
        (
            Target::Bedrock,
            json!({"toolSpec": {"name": "t", "description": "Does it.", "inputSchema": {"json": schema}}}),
        ),
        (Target::Mistral, function.clone()),
        (Target::Ollama, function.clone()),
        (Target::DeepSeek, function.clone()),
        (Target::Xai, function.clone()),
        (Target::Groq, function),
    ] {
        let rendered = render(target, [&definition(&schema)]);
        assert_eq!(rendered.tools, [want], "{target}");
        assert!(rendered.losses.is_empty() && rendered.refused.is_empty(), "{target}");
    }
}

#[test]
fn no_tools_are_an_empty_list() {
    for target in Target::ALL {
        assert_eq!(render(target, []), Rendered::new(target), "{target}");
    }
}

/// §4.4: an object of `parameters` must have properties, so a tool without arguments has none.
#[test]
fn gemini_parameters_are_left_out_when_there_are_none() {
    let rendered = render(Target::GeminiParameters, [&definition(&json!({"type": "object"}))]);
    assert_eq!(rendered.tools[0]["functionDeclarations"][0], json!({"name": "t", "description": "Does it."}));
}

/// §4.1, §4.5: Bedrock and Gemini need a description, others can do without.
#[test]
fn descriptions_are_filled_where_required() {
    for target in lowering() {
        let rendered = render(target, [&json!({"name": "t", "description": "", "inputSchema": {"type": "object"}})]);
        let text = rendered.tools[0].to_string();
        let required = target.dialect().unwrap().description_required;
        assert_eq!(text.contains("The tool t."), required, "{target}");
        assert_eq!(text.contains("\"description\""), required, "{target}");
        assert_eq!(rendered.losses.iter().any(|loss| loss.action == Action::Filled), required, "{target}");
    }
}

/// §4.8.12.
#[test]
fn long_descriptions_are_shortened_and_keep_their_remarks() {
    let mut definition = definition(&json!({"type": "object", "not": {"required": ["a"]}}));
    definition["description"] = "é".repeat(3000).into();
    let rendered = render(Target::OpenAiChat, [&definition]);
    let text = rendered.tools[0]["function"]["description"].as_str().unwrap();
    assert_eq!(text.chars().count(), 1024);
    assert!(text.ends_with(r#"… (not: {"required":["a"]})"#), "{text}");
    assert!(rendered.losses.iter().any(|loss| loss.action == Action::Shortened));
    assert!(render(Target::Groq, [&definition]).losses.iter().all(|loss| loss.action != Action::Shortened));
}

/// §4.1: reported, never cut.
#[test]
fn too_many_tools_are_reported_and_kept() {
    let definitions: Vec<Value> =
        (0..129).map(|i| json!({"name": format!("t{i}"), "inputSchema": {"type": "object"}})).collect();
    for (target, limit) in [
        (Target::OpenAiChat, Some(128)),
        (Target::OpenAiResponses, Some(128)),
        (Target::DeepSeek, Some(128)),
        (Target::Groq, Some(128)),
        (Target::Xai, None),
        (Target::Gemini, None),
        (Target::Anthropic, None),
    ] {
        let rendered = render(target, &definitions);
        assert_eq!(rendered.too_many, limit.map(|limit| TooManyTools { count: 129, limit }), "{target}");
        let list = rendered.tools[0]["functionDeclarations"].as_array().unwrap_or(&rendered.tools);
        assert_eq!(list.len(), 129, "{target}");
    }
}

#[test]
fn names_that_a_target_refuses_are_renamed_and_reported() {
    let named = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
    let rendered = render(Target::Gemini, [&named("1st"), &named("a.b"), &named("plain")]);
    assert_eq!(
        rendered.names.iter().map(|(own, name)| (own.as_str(), name.as_str())).collect::<Vec<_>>(),
        [("_1st", "1st"), ("a_b", "a.b")]
    );
    let long = "n".repeat(80);
    let rendered = render(Target::Anthropic, [&named(&long)]);
    assert_eq!(rendered.names.keys().map(String::len).collect::<Vec<_>>(), [64]);
    assert!(render(Target::Ollama, [&named("a.b")]).names.is_empty());
    let rendered = render(Target::Anthropic, [&named("a.b"), &named("a_b")]);
    assert_eq!(rendered.refused.iter().map(|refused| refused.tool.as_str()).collect::<Vec<_>>(), ["a.b"]);
}

/// A bad tool is refused for the target, the others stay (case: one bad schema must not cost the whole list).
#[test]
fn tools_that_cannot_be_lowered_are_refused() {
    let good = definition(&json!({"type": "object"}));
    for (schema, word) in [
        (json!({"type": "string"}), "string"),
        (json!({"type": ["array", "null"]}), "array, null"),
        (bomb(), "unfolds"),
        (json!({"type": "object", "properties": {"x": {"description": "x".repeat(300_000)}}}), "bytes"),
    ] {
        for target in lowering() {
            let bad = json!({"name": "bad", "inputSchema": schema});
            let rendered = render(target, [&bad, &good]);
            assert_eq!(rendered.refused.len(), 1, "{target}");
            assert!(rendered.refused[0].reason.contains(word), "{target}: {}", rendered.refused[0].reason);
            assert!(rendered.losses.iter().all(|loss| loss.tool != "bad"));
            assert_eq!(rendered.tools.len(), 1);
        }
    }
}

/// References that double at every level.
fn bomb() -> Value {
    let mut defs = serde_json::Map::new();
    for i in 0..20 {
        let next = json!({"$ref": format!("#/$defs/d{}", i + 1)});
        defs.insert(format!("d{i}"), json!({"type": "object", "properties": {"a": next, "b": next}}));
    }
    defs.insert("d20".to_owned(), json!({"type": "string"}));
    json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": defs})
}

#[test]
fn losses_name_the_place() {
    let schema = json!({"type": "object", "properties": {"a/b": {"type": "array", "items": {"type": "string", "format": "uri"}}}});
    let rendered = render(Target::Gemini, [&definition(&schema)]);
    let found: Vec<Value> = rendered.losses.iter().map(|loss| json!(loss)).collect();
    assert_eq!(
        found,
        [
            json!({"tool": "t", "path": "/properties/a~1b/items/format", "construct": "format", "action": "described"}),
            json!({"tool": "t", "path": "/properties/a~1b", "construct": "property_key", "action": "renamed"}),
        ]
    );
}

/// The reference is checked in; `UPDATE_GENERATED=1` writes it.
#[test]
fn the_reference_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/targets.md");
    let want = markdown();
    if std::env::var("UPDATE_GENERATED").is_ok() {
        fs::write(&path, &want).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == want, "{} is out of date; run this test with UPDATE_GENERATED=1", path.display());
}
