//! The provider's own shape of a definition.

use serde_json::{Map, Value, json};

use super::{CacheLife, dialect::Wrapper};

/// The code execution tool of Anthropic's whose programs may call tools (standards reference §4.2).
const CODE_EXECUTION: &str = "code_execution_20260120";

/// What stands beside name, description and schema.
#[derive(Debug, Default)]
pub(super) struct Extras {
    pub(super) strict: bool,
    pub(super) deferred: bool,
    pub(super) programmatic: bool,
    pub(super) eager_streaming: bool,
    pub(super) asynchronous: bool,
    pub(super) output: Option<Value>,
}

/// Wraps one tool. Wrappers that hold several tools are put around by [`gather`].
pub(super) fn wrap(wrapper: Wrapper, name: &str, description: Option<&str>, schema: Value, extras: Extras) -> Value {
    let mut inner = Map::new();
    if wrapper == Wrapper::FlatFunction {
        inner.insert("type".to_owned(), "function".into());
    }
    inner.insert("name".to_owned(), name.into());
    if let Some(description) = description {
        inner.insert("description".to_owned(), description.into());
    }
    let key = match wrapper {
        Wrapper::Anthropic => "input_schema",
        Wrapper::Function | Wrapper::FlatFunction => "parameters",
        Wrapper::Declarations(key) => key,
        Wrapper::ToolSpec => "inputSchema",
    };
    let schema = if wrapper == Wrapper::ToolSpec { json!({"json": schema}) } else { schema };
    // A declaration of Gemini's without arguments has no `parameters`: an object there must have properties.
    let bare =
        wrapper == Wrapper::Declarations("parameters") && schema["properties"].as_object().is_none_or(Map::is_empty);
    if !bare {
        inner.insert(key.to_owned(), schema);
    }
    // Left out, the Responses API tries strict mode by itself and changes the schema (standards reference §4.1).
    if extras.strict || wrapper == Wrapper::FlatFunction {
        inner.insert("strict".to_owned(), extras.strict.into());
    }
    let mut add = |key: &str, value: Value| drop(inner.insert(key.to_owned(), value));
    match wrapper {
        Wrapper::Anthropic => {
            if extras.programmatic {
                add("allowed_callers", json!(["direct", CODE_EXECUTION]));
            }
            if extras.eager_streaming {
                add("eager_input_streaming", true.into());
            }
            if extras.deferred {
                add("defer_loading", true.into());
            }
        }
        Wrapper::FlatFunction => {
            if extras.programmatic {
                add("allowed_callers", json!(["direct", "programmatic"]));
            }
            if extras.asynchronous {
                add("async", true.into());
            }
            if let Some(output) = extras.output {
                add("output_schema", output);
            }
            if extras.deferred {
                add("defer_loading", true.into());
            }
        }
        Wrapper::Declarations(key) => {
            if let Some(output) = extras.output {
                add(if key == "parameters" { "response" } else { "responseJsonSchema" }, output);
            }
            if extras.asynchronous {
                add("behavior", "NON_BLOCKING".into());
            }
        }
        Wrapper::Function | Wrapper::ToolSpec => {}
    }
    match wrapper {
        Wrapper::Function => json!({"type": "function", "function": inner}),
        Wrapper::ToolSpec => json!({"toolSpec": inner}),
        Wrapper::Anthropic | Wrapper::Declarations(_) | Wrapper::FlatFunction => Value::Object(inner),
    }
}

/// The list that goes into the request's `tools`.
pub(super) fn gather(wrapper: Wrapper, tools: Vec<Value>) -> Vec<Value> {
    match wrapper {
        Wrapper::Declarations(_) if !tools.is_empty() => vec![json!({"functionDeclarations": tools})],
        _ => tools,
    }
}

/// Marks the end of the tools as the end of a prefix that is worth caching.
pub(super) fn mark_cache(wrapper: Wrapper, tools: &mut Vec<Value>, life: CacheLife) {
    match wrapper {
        Wrapper::Anthropic => {
            if let Some(Value::Object(last)) = tools.last_mut() {
                last.insert("cache_control".to_owned(), json!({"type": "ephemeral", "ttl": life.word()}));
            }
        }
        Wrapper::ToolSpec if !tools.is_empty() => tools.push(json!({"cachePoint": {"type": "default"}})),
        _ => {}
    }
}

/// The provider's own search tool (standards reference §4.2, §4.3).
pub(super) fn provider_search(wrapper: Wrapper) -> Value {
    if wrapper == Wrapper::Anthropic {
        json!({"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"})
    } else {
        json!({"type": "tool_search"})
    }
}
