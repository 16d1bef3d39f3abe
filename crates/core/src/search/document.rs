//! What the rankers read of a tool.

use serde_json::Value;

/// Deepest schema level whose properties are read. Deeper ones are ignored.
const MAX_DEPTH: usize = 8;
/// Most parameters that are read of one schema.
const MAX_PARAMETERS: usize = 400;
/// Most allowed values that are read of one parameter.
const MAX_ENUM_VALUES: usize = 20;

/// One parameter of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameter {
    /// Property name.
    pub name: String,
    /// Its description, empty if it has none.
    pub description: String,
    /// The text of its allowed values.
    pub enum_values: Vec<String>,
    /// Whether it sits inside another parameter. The reference algorithm reads top-level names only.
    pub nested: bool,
}

/// The searchable text of one tool. Build it from what the caller would be shown: the exposed name, not the source's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// Exposed name.
    pub name: String,
    /// Display title, empty if there is none.
    pub title: String,
    /// Label of the group (server, plugin, connector) that the tool belongs to, empty for none.
    pub server: String,
    /// What that group says of itself: instructions or a summary.
    pub server_summary: String,
    /// The tool's description.
    pub description: String,
    /// Its parameters, nested ones included.
    pub parameters: Vec<Parameter>,
    /// Free labels and categories.
    pub tags: Vec<String>,
}

/// Most characters of a document's passage.
const PASSAGE_CHARS: usize = 1_500;

impl Document {
    /// What an encoder reads of the tool: server, name in words, title and description, cut to 1,500 characters. What the
    /// reference measured encoders with; parameters are left to the lexical side.
    pub fn passage(&self) -> String {
        let mut text = String::with_capacity(self.description.len() + 64);
        let name = super::lexical::words_of_name(&self.name, &self.server);
        for part in [&self.server, &name, &self.title] {
            if !part.trim().is_empty() {
                text.push_str(part.trim());
                text.push_str(": ");
            }
        }
        text.push_str(self.description.trim());
        let end = text.char_indices().nth(PASSAGE_CHARS).map_or(text.len(), |(end, _)| end);
        text.truncate(end);
        text
    }
}

impl Parameter {
    /// Reads the parameters of a JSON Schema object (`properties`, through nested objects, `items` and
    /// `additionalProperties`), in schema order, bounded in depth and number. Anything that is not understood is skipped.
    pub fn from_schema(schema: &Value) -> Vec<Self> {
        let mut out = Vec::new();
        walk(schema, 0, &mut out);
        out
    }
}

fn walk(schema: &Value, depth: usize, out: &mut Vec<Parameter>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, property) in properties {
        if out.len() == MAX_PARAMETERS {
            return;
        }
        out.push(Parameter {
            name: name.clone(),
            description: property.get("description").and_then(Value::as_str).unwrap_or_default().to_owned(),
            enum_values: enum_values(property),
            nested: depth > 0,
        });
        if depth + 1 < MAX_DEPTH {
            walk(property, depth + 1, out);
            for key in ["items", "additionalProperties"] {
                if let Some(inner) = property.get(key) {
                    walk(inner, depth + 1, out);
                }
            }
        }
    }
}

fn enum_values(property: &Value) -> Vec<String> {
    let Some(values) = property.get("enum").and_then(Value::as_array) else { return Vec::new() };
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    values.iter().take(MAX_ENUM_VALUES).filter_map(text).collect()
}
