//! An independent reading of the table of the standards reference §4.9: what must not be in a payload. Shares nothing
//! with the code under test.

use serde_json::{Map, Value};

use crate::render::Target;

/// Everything in the schema that the target refuses, as text.
pub(super) fn refused(target: Target, schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let root = schema.as_object().expect("an object");
    let mut bad = |text: &str| found.push(format!("root: {text}"));
    if root.get("type") != Some(&"object".into()) {
        bad("no type object");
    }
    if !root.get("properties").is_some_and(Value::is_object) {
        bad("no properties");
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        if root.contains_key(key) {
            bad(key);
        }
    }
    if !matches!(target, Target::Anthropic | Target::Bedrock) {
        for key in ["enum", "not", "const"] {
            if root.contains_key(key) {
                bad(key);
            }
        }
    }
    if target == Target::Ollama && root.contains_key("description") {
        bad("description");
    }
    walk(target, root, true, "", &mut found);
    found
}

const GEMINI_FIELDS: &[&str] = &[
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "items",
    "minItems",
    "maxItems",
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
    "example",
    "anyOf",
    "propertyOrdering",
    "default",
];
const OLLAMA_FIELDS: &[&str] = &["type", "anyOf", "items", "description", "enum", "properties", "required"];

fn walk(target: Target, map: &Map<String, Value>, root: bool, at: &str, found: &mut Vec<String>) {
    let openai = matches!(target, Target::OpenAiChat | Target::OpenAiResponses);
    let anthropic = matches!(target, Target::Anthropic | Target::Bedrock);
    let gemini = target == Target::GeminiParameters;
    let mut bad = |text: String| found.push(format!("{at}: {text}"));
    for key in ["$schema", "$id", "$ref", "$defs", "definitions", "$dynamicRef", "$comment", "$anchor"] {
        if map.contains_key(key) {
            bad(key.to_owned());
        }
    }
    let types: Vec<&str> = match map.get("type") {
        Some(Value::String(word)) => vec![word],
        Some(Value::Array(words)) if !gemini && words.len() > 1 => {
            words.iter().map(|word| word.as_str().unwrap()).collect()
        }
        Some(other) => {
            bad(format!("type {other}"));
            Vec::new()
        }
        None => Vec::new(),
    };
    if !anthropic {
        if types.contains(&"array") && !map.contains_key("items") {
            bad("array without items".to_owned());
        }
        if types.contains(&"object") && !map.contains_key("properties") {
            bad("object without properties".to_owned());
        }
    }
    if !anthropic && !openai {
        for key in ["oneOf", "allOf", "not", "if", "patternProperties", "propertyNames", "const", "dependentRequired"] {
            if map.contains_key(key) {
                bad(key.to_owned());
            }
        }
        for name in map.get("required").and_then(Value::as_array).into_iter().flatten() {
            if map["properties"].get(name.as_str().unwrap()).is_none() {
                bad(format!("requires {name}"));
            }
        }
    }
    let fields = match target {
        Target::GeminiParameters => Some(GEMINI_FIELDS),
        Target::Ollama => Some(OLLAMA_FIELDS),
        _ => None,
    };
    if let Some(fields) = fields {
        map.keys().filter(|key| !fields.contains(&key.as_str())).for_each(|key| bad(format!("field {key}")));
    }
    if matches!(target, Target::GeminiParameters | Target::Gemini)
        && let Some(values) = map.get("enum")
        && !values.as_array().unwrap().iter().all(Value::is_string)
    {
        bad("enum of other values than text".to_owned());
    }
    if gemini {
        if types.contains(&"null") {
            bad("type null".to_owned());
        }
        if types.is_empty() && !map.contains_key("anyOf") {
            bad("no type".to_owned());
        }
        if map.contains_key("anyOf") && map.len() > 1 {
            bad("fields beside anyOf".to_owned());
        }
        let known = ["date-time", "enum", "float", "double", "int32", "int64"];
        if map.get("format").is_some_and(|format| !known.contains(&format.as_str().unwrap())) {
            bad("format".to_owned());
        }
        if map.contains_key("enum") && types != ["string"] {
            bad("enum of no text".to_owned());
        }
    }
    if target == Target::Xai {
        for key in ["minLength", "maxLength", "minItems", "maxItems"] {
            if map.contains_key(key) {
                bad(key.to_owned());
            }
        }
    }
    for (key, value) in map {
        let at = format!("{at}/{key}");
        match (key.as_str(), value) {
            ("properties" | "patternProperties" | "dependentSchemas", Value::Object(schemas)) => {
                for (name, schema) in schemas {
                    let plain = (1..=64).contains(&name.len())
                        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
                    let free = target == Target::Ollama || (anthropic && !root);
                    if key == "properties" && !plain && !free {
                        found.push(format!("{at}: key {name:?}"));
                    }
                    child(target, schema, &format!("{at}/{name}"), found);
                }
            }
            ("properties", _) => found.push(format!("{at}: no object")),
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(list)) => {
                if list.is_empty() {
                    found.push(format!("{at}: empty"));
                }
                for schema in list {
                    child(target, schema, &at, found);
                }
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", _) => found.push(format!("{at}: no list")),
            ("additionalProperties" | "unevaluatedProperties" | "unevaluatedItems", Value::Bool(_)) => {}
            (
                "items"
                | "additionalProperties"
                | "not"
                | "if"
                | "then"
                | "else"
                | "contains"
                | "propertyNames"
                | "unevaluatedProperties"
                | "unevaluatedItems",
                schema,
            ) => child(target, schema, &at, found),
            _ => {}
        }
    }
}

fn child(target: Target, schema: &Value, at: &str, found: &mut Vec<String>) {
    match schema {
        Value::Object(map) => walk(target, map, false, at, found),
        Value::Bool(_) if matches!(target, Target::Anthropic | Target::Bedrock) => {}
        other => found.push(format!("{at}: {other}")),
    }
}
