//! What a tool gives back, as a result of a call.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use toolcrib_core::ToolResult;

use super::schema::{is_object, schema_of_output};

/// Something that can be the output of a tool.
pub trait Output {
    /// The schema of its structured content. Default: it has none.
    fn schema() -> Option<OutputSchema> {
        None
    }

    /// The result of the call. `wrap` is [`OutputSchema::wrapped`] of [`Self::schema`], made once.
    fn into_result(self, wrap: bool) -> Result<ToolResult, serde_json::Error>;
}

/// What structured content looks like.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputSchema {
    /// The schema of an object.
    pub schema: Value,
    /// Whether that object only wraps the output proper.
    pub wrapped: bool,
}

/// Structured content: the value as JSON under its schema, and the same as text for clients that read only text. What is no
/// object is wrapped as `{"result": …}`, because structured content is one (MCP 2025-06-18). A type about which nothing is
/// known (`Json<Value>`) declares no schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl<T: Serialize + JsonSchema> Output for Json<T> {
    fn schema() -> Option<OutputSchema> {
        let schema = schema_of_output::<T>();
        // By the type, not by the value: an enum may be an object once and a text the next time.
        match schema.as_object() {
            None => None,
            Some(schema) if schema.keys().all(|key| key == "description") => None,
            Some(_) if is_object(&schema) => Some(OutputSchema { schema, wrapped: false }),
            Some(_) => Some(OutputSchema { schema: wrapped(schema), wrapped: true }),
        }
    }

    fn into_result(self, wrap: bool) -> Result<ToolResult, serde_json::Error> {
        let value = serde_json::to_value(self.0)?;
        Ok(ToolResult::structured(&if wrap || !value.is_object() { json!({"result": value}) } else { value }))
    }
}

fn wrapped(mut schema: Value) -> Value {
    let definitions = schema.as_object_mut().and_then(|schema| schema.shift_remove("$defs"));
    let mut whole = json!({"type": "object", "properties": {"result": schema}, "required": ["result"]});
    if let Some(definitions) = definitions {
        whole["$defs"] = definitions;
    }
    whole
}

impl Output for String {
    fn into_result(self, _wrap: bool) -> Result<ToolResult, serde_json::Error> {
        Ok(ToolResult::text(self))
    }
}

impl Output for &'static str {
    fn into_result(self, _wrap: bool) -> Result<ToolResult, serde_json::Error> {
        Ok(ToolResult::text(self))
    }
}

/// Done, with nothing to say about it.
impl Output for () {
    fn into_result(self, _wrap: bool) -> Result<ToolResult, serde_json::Error> {
        Ok(ToolResult::text("Done."))
    }
}

/// A result as it is: images, several blocks, links.
impl Output for ToolResult {
    fn into_result(self, _wrap: bool) -> Result<ToolResult, serde_json::Error> {
        Ok(self)
    }
}
