//! The result of a call, carried as the JSON text its source sent.

mod head;

use serde_json::{Value, json, value::RawValue};

use head::Head;

/// An MCP call result (`content`, `structuredContent`, `isError`, `_meta`, …) kept as raw JSON text, so that images,
/// unknown fields, key order and big numbers reach the client exactly as the upstream wrote them.
#[derive(Clone, Debug)]
pub struct ToolResult {
    raw: Box<RawValue>,
    is_error: bool,
    /// Whether the content is known to be a list of objects, or not there, and `isError` a boolean, or not there.
    formed: bool,
}

/// Deepest nesting of a result. JSON readers of widely used clients give up somewhat above it, and then lose the answer
/// without a word.
pub const MAX_DEPTH: usize = 128;

/// A text that is not the JSON object a result must be.
#[derive(Debug, thiserror::Error)]
pub enum NotAResult {
    /// Not JSON, or no object.
    #[error("the result is not a JSON object: {0}")]
    Json(#[source] serde_json::Error),
    /// Too deep for clients.
    #[error("the result is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
}

impl ToolResult {
    /// Takes a result as an upstream sent it. Only that it is an object is required.
    pub fn from_raw(raw: Box<RawValue>) -> Result<Self, NotAResult> {
        if !raw.get().trim_start().starts_with('{') {
            return Err(NotAResult::Json(serde::de::Error::custom("it does not start with '{'")));
        }
        if depth_exceeds(raw.get(), MAX_DEPTH) {
            return Err(NotAResult::TooDeep);
        }
        let Head { is_error, formed } = serde_json::from_str(raw.get()).map_err(NotAResult::Json)?;
        Ok(Self { raw, is_error, formed })
    }

    /// The same result with entries added to its text: whether it tells of a failure stays, and it gets no deeper than
    /// results may be. `None` if the text is not JSON.
    pub(crate) fn with_text(&self, text: String) -> Option<Self> {
        Some(Self { raw: RawValue::from_string(text).ok()?, is_error: self.is_error, formed: self.formed })
    }

    /// A result built here.
    pub fn from_value(value: &Value) -> Self {
        let is_error = value["isError"] == true;
        let raw = serde_json::value::to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned());
        let formed = head::is_formed(value);
        Self { raw, is_error, formed }
    }

    /// One block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::from_value(&json!({"content": [{"type": "text", "text": text.into()}]}))
    }

    /// One block of text that tells of a failure (`isError`): something the model can act on.
    pub fn error(text: impl Into<String>) -> Self {
        Self::from_value(&json!({"content": [{"type": "text", "text": text.into()}], "isError": true}))
    }

    /// A structured value, with the same as text for clients that only read text (MCP 2025-06-18, structured content).
    pub fn structured(value: &Value) -> Self {
        Self::from_value(&json!({
            "content": [{"type": "text", "text": value.to_string()}],
            "structuredContent": value,
        }))
    }

    /// The JSON text.
    pub fn raw(&self) -> &RawValue {
        &self.raw
    }

    /// Gives the JSON text away.
    pub fn into_raw(self) -> Box<RawValue> {
        self.raw
    }

    /// Whether it is in the form of MCP for certain: the content, if there is any, is a list of objects, and `isError`, if
    /// it is there, a boolean. False may mean that nobody looked.
    pub(crate) fn is_formed(&self) -> bool {
        self.formed
    }

    /// Whether the tool reported a failure of its own.
    pub fn is_error(&self) -> bool {
        self.is_error
    }

    /// The result as a value; numbers beyond 64 bits lose precision here, so only for looking, not for forwarding.
    pub fn to_value(&self) -> Value {
        serde_json::from_str(self.raw.get()).unwrap_or_default()
    }

    /// All text blocks joined by line breaks; what a person reads on a terminal.
    pub fn to_text(&self) -> String {
        let value = self.to_value();
        let blocks = value["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
        texts.join("\n")
    }
}

/// Whether JSON text nests deeper than `limit`. Counts brackets outside of texts; the text is known to be JSON.
fn depth_exceeds(text: &str, limit: usize) -> bool {
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'{' | b'[' if !in_text => {
                depth += 1;
                if depth > limit {
                    return true;
                }
            }
            b'}' | b']' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_passes_through_byte_for_byte() {
        let text = r#"{ "content":[{"type":"image","data":"AA==","mimeType":"image/png","x":1}],"n":123456789012345678901234567890,"isError":true}"#;
        let result = ToolResult::from_raw(RawValue::from_string(text.to_owned()).unwrap()).unwrap();
        assert_eq!(result.raw().get(), text);
        assert!(result.is_error());
    }

    #[test]
    fn only_objects_are_results() {
        for text in ["[]", "1", "null", "\"x\""] {
            assert!(ToolResult::from_raw(RawValue::from_string(text.to_owned()).unwrap()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_result_deeper_than_clients_can_read_is_refused() {
        let nested = |depth: usize| format!(r#"{{"t":"\"[[[{{","x":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
        assert!(ToolResult::from_raw(RawValue::from_string(nested(127)).unwrap()).is_ok());
        let deep = RawValue::from_string(nested(127).replace("[]", "[{}]").replace("[{}]", "[[]]")).unwrap();
        assert!(matches!(ToolResult::from_raw(deep), Err(NotAResult::TooDeep)));
    }
}
