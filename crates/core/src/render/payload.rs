//! The provider's own shape of a definition.

use serde_json::{Map, Value, json};

use super::dialect::Wrapper;

/// Wraps one tool. Wrappers that hold several tools are put around by [`gather`].
pub(super) fn wrap(wrapper: Wrapper, name: &str, description: Option<&str>, schema: Value) -> Value {
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
    match wrapper {
        Wrapper::Function => json!({"type": "function", "function": inner}),
        Wrapper::ToolSpec => json!({"toolSpec": inner}),
        // Left out, the API tries strict mode by itself and changes the schema (standards reference §4.1).
        Wrapper::FlatFunction => {
            inner.insert("strict".to_owned(), false.into());
            Value::Object(inner)
        }
        Wrapper::Anthropic | Wrapper::Declarations(_) => Value::Object(inner),
    }
}

/// The list that goes into the request's `tools`.
pub(super) fn gather(wrapper: Wrapper, tools: Vec<Value>) -> Vec<Value> {
    match wrapper {
        Wrapper::Declarations(_) if !tools.is_empty() => vec![json!({"functionDeclarations": tools})],
        _ => tools,
    }
}
