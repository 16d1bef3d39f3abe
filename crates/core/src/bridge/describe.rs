//! The reply of `tool_describe`.

use serde_json::{Map, Value, json};

use super::{BridgeError, Card, DescribeRequest, Directory, TOOL_CALL, is_bridge_name, suggest_from};
use crate::disclosure::{clean, clean_lines};

/// The answer to a description.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribeReply {
    /// The JSON to send.
    pub value: Value,
    /// Whether not one of the names was found.
    pub nothing_found: bool,
}

/// Describes tools by name: `found` definitions with their original schemas, `not_found` with suggestions, and
/// `errors` for names that are not to be described. Lists that would be empty are left out.
pub fn describe_reply<D: Directory + ?Sized>(request: &DescribeRequest, directory: &D) -> DescribeReply {
    let mut found = Vec::new();
    let mut not_found = Vec::new();
    let mut errors = Vec::new();
    for name in &request.names {
        if let Some(index) = directory.find(name) {
            found.push(definition(&directory.card(index)));
        } else if is_bridge_name(name) {
            let error = format!("{name} is in your tools list; call it directly");
            errors.push(json!({"name": name, "error": error}));
        } else {
            let error = BridgeError::unknown_tool(name, suggest_from(directory, name));
            let mut entry = Map::new();
            if let BridgeError::UnknownTool { name, suggestions } = &error {
                entry.insert("name".to_owned(), name.as_str().into());
                entry.insert("suggestions".to_owned(), json!(suggestions));
            }
            entry.insert("error".to_owned(), error.to_string().into());
            not_found.push(Value::Object(entry));
        }
    }
    let nothing_found = found.is_empty();
    let mut value = Map::new();
    for (key, list) in [("found", found), ("not_found", not_found), ("errors", errors)] {
        if !list.is_empty() {
            value.insert(key.to_owned(), list.into());
        }
    }
    if !nothing_found {
        value.insert("next".to_owned(), format!("Run it with {TOOL_CALL}, arguments as inputSchema says.").into());
    }
    if !request.notes.is_empty() {
        value.insert("notes".to_owned(), json!(request.notes));
    }
    DescribeReply { value: Value::Object(value), nothing_found }
}

/// What a model needs to call the tool. Texts lose invisible characters; the schemas are the source's own: arguments are validated against these.
fn definition(card: &Card<'_>) -> Value {
    let mut shown = Map::new();
    shown.insert("name".to_owned(), card.name.into());
    shown.insert("server".to_owned(), clean(card.server).into());
    for key in ["title", "description", "inputSchema", "outputSchema", "annotations"] {
        if let Some(value) = card.definition.get(key).filter(|value| !value.is_null()) {
            let value = value.as_str().map_or_else(|| value.clone(), |text| clean_lines(text).into());
            shown.insert(key.to_owned(), value);
        }
    }
    Value::Object(shown)
}
