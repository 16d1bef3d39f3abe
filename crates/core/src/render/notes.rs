//! Constraints in words: what a schema can no longer say is told in its description.

use serde_json::{Map, Value};

/// Most characters of one value in a remark.
const VALUE: usize = 160;
/// Most characters of all remarks on one schema.
const REMARKS: usize = 480;

/// A value as short text.
pub(super) fn shown(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    shortened(&text, VALUE)
}

/// At most `limit` characters, with a mark where something is missing.
pub(super) fn shortened(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    text.chars().take(limit.saturating_sub(1)).chain(['…']).collect()
}

/// Adds remarks to a description.
pub(super) fn with_remarks(description: &str, remarks: &[String]) -> String {
    if remarks.is_empty() {
        return description.to_owned();
    }
    let remarks = format!("({})", shortened(&remarks.join("; "), REMARKS));
    if description.trim().is_empty() { remarks } else { format!("{} {remarks}", description.trim_end()) }
}

/// Adds remarks to the description of a schema.
pub(super) fn remark(schema: &mut Map<String, Value>, remarks: &[String]) {
    if !remarks.is_empty() {
        let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        let description = with_remarks(description, remarks);
        schema.insert("description".to_owned(), description.into());
    }
}
