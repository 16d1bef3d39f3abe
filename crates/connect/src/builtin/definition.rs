//! The shape all built-in definitions share.

use serde_json::{Value, json};

/// How a tool behaves, in the terms of MCP's tool annotations. Hints that equal the specification's default are left
/// out, to save tokens.
#[derive(Clone, Copy)]
pub(crate) enum Behaviour {
    /// Reads, on this machine.
    Reads,
    /// Reads, anywhere.
    ReadsOpenWorld,
    /// Changes things for good; doing it twice is like doing it once.
    Overwrites,
    /// Changes things for good.
    Changes,
    /// May do anything.
    Anything,
}

impl Behaviour {
    fn hints(self) -> Option<Value> {
        match self {
            Self::Reads => Some(json!({"readOnlyHint": true, "openWorldHint": false})),
            Self::ReadsOpenWorld => Some(json!({"readOnlyHint": true})),
            Self::Overwrites => Some(json!({"idempotentHint": true, "openWorldHint": false})),
            Self::Changes => Some(json!({"openWorldHint": false})),
            // The specification's defaults: may write, destroy, differ each time, reach anywhere.
            Self::Anything => None,
        }
    }
}

/// A definition with a closed schema.
pub(crate) fn define(
    name: &str,
    title: &str,
    description: &str,
    properties: &Value,
    required: &[&str],
    behaviour: Behaviour,
) -> Value {
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema["additionalProperties"] = json!(false);
    let mut definition = json!({"name": name, "title": title, "description": description, "inputSchema": schema});
    if let Some(hints) = behaviour.hints() {
        definition["annotations"] = hints;
    }
    definition
}
