//! Taking definitions in: each is checked alone, and a bad one is set aside with a reason while its siblings go on.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{Annotations, Source, Tool};

/// What a single definition may measure. Sizes are bytes of compact JSON unless said otherwise.
/// Defaults follow threat T15 of the security reference and the tool rules of MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IngestLimits {
    /// Longest name, in characters. MCP advises 128; more is tolerated because the exposed name is ours. Default 256.
    pub name_chars: usize,
    /// Largest whole definition. Default 256 KiB.
    pub definition_bytes: usize,
    /// Largest input or output schema. Default 64 KiB.
    pub schema_bytes: usize,
    /// Deepest nesting of a definition. Default 64.
    pub depth: usize,
}

impl Default for IngestLimits {
    fn default() -> Self {
        Self { name_chars: 256, definition_bytes: 256 * 1024, schema_bytes: 64 * 1024, depth: 64 }
    }
}

/// A definition that was refused.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Quarantine {
    /// Where it came from.
    pub source: Source,
    /// The name it gave itself, shortened; empty when it had none.
    pub name: String,
    /// Why it was refused.
    #[serde(flatten)]
    pub reason: QuarantineReason,
}

/// Why a definition was refused. The text names the cause and what would help.
#[derive(Clone, Debug, PartialEq, thiserror::Error, Serialize)]
#[serde(tag = "reason", content = "detail", rename_all = "snake_case")]
pub enum QuarantineReason {
    /// The item is not a JSON object.
    #[error("the definition is {0}, not an object; the server must send tools as objects")]
    NotAnObject(&'static str),
    /// There is no usable name.
    #[error("the definition has no text 'name'; the server must name its tool")]
    NoName,
    /// The name is too long or holds control characters.
    #[error("the name is not usable: {0}; rename the tool at its server")]
    BadName(String),
    /// The same source offers the name more than once; the first one stays.
    #[error("the source offers this name more than once; only the first definition is served")]
    DuplicateName,
    /// A schema is not one we can serve.
    #[error("{field} is not usable: {problem}; fix the schema at its server, or raise the limit it names")]
    BadSchema {
        /// `inputSchema` or `outputSchema`.
        field: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// The whole definition is over a limit.
    #[error("the definition is too large: {0}; shorten it at its server, or exclude the tool")]
    TooLarge(String),
    /// The source offers more tools than the configured limit.
    #[error(
        "the source offers more than {limit} tools, so this one and {more} after it are not served; raise limits.tools_per_server"
    )]
    TooMany {
        /// The limit.
        limit: usize,
        /// How many more were cut off.
        more: usize,
    },
}

/// Marks a stand-in for a definition that was too large to be taken in; its value is the size in bytes.
const OVERSIZE: &str = "toolcrib/oversize";

/// What a source hands on in place of a definition of `bytes` bytes that it did not even build: [`ingest`] refuses it
/// under `name` (empty if unknown), for its size.
pub fn oversize(name: &str, bytes: usize) -> Value {
    let name: String = name.chars().take(80).collect();
    json!({"name": name, OVERSIZE: bytes})
}

/// Checks schemas beyond their size; injected so that ingestion does not depend on the validator's module.
pub type SchemaCheck<'a> = &'a dyn Fn(&Value) -> Result<(), String>;

/// Turns the items of a source's tool list into tools, refusing each bad item alone. At most `max_tools` are kept.
pub fn ingest(
    source: &Source,
    items: Vec<Value>,
    limits: &IngestLimits,
    max_tools: usize,
    check_schema: SchemaCheck<'_>,
) -> (Vec<Tool>, Vec<Quarantine>) {
    let mut tools: BTreeMap<String, Tool> = BTreeMap::new();
    let mut quarantined = Vec::new();
    let mut refuse = |name: String, reason| {
        // One entry stands for all that are over the limit, else a hostile list would fill memory with refusals.
        if quarantined.len() < max_tools {
            quarantined.push(Quarantine { source: source.clone(), name, reason });
        }
    };
    let mut items = items.into_iter();
    while let Some(item) = items.next() {
        let name = display_name(&item);
        if tools.len() >= max_tools {
            refuse(name, QuarantineReason::TooMany { limit: max_tools, more: items.len() });
            break;
        }
        match ingest_one(source, item, limits, check_schema) {
            // Which of two stays does not depend on their order.
            Ok(tool) if tools.get(tool.name()).is_some_and(|other| other.hash() <= tool.hash()) => {
                refuse(name, QuarantineReason::DuplicateName);
            }
            Ok(tool) => {
                if tools.contains_key(tool.name()) {
                    refuse(name, QuarantineReason::DuplicateName);
                }
                tools.insert(tool.name().to_owned(), tool);
            }
            Err(reason) => refuse(name, reason),
        }
    }
    (tools.into_values().collect(), quarantined)
}

fn display_name(item: &Value) -> String {
    item["name"].as_str().or_else(|| item["function"]["name"].as_str()).unwrap_or_default().chars().take(80).collect()
}

fn ingest_one(
    source: &Source,
    item: Value,
    limits: &IngestLimits,
    check_schema: SchemaCheck<'_>,
) -> Result<Tool, QuarantineReason> {
    let Value::Object(item) = item else {
        return Err(QuarantineReason::NotAnObject(kind_of(&item)));
    };
    if let Some(bytes) = item.get(OVERSIZE).and_then(Value::as_u64) {
        let limit = limits.definition_bytes;
        return Err(QuarantineReason::TooLarge(format!("{bytes} bytes as sent, the limit is {limit}")));
    }
    let mut definition = to_mcp_shape(item);
    let name = match definition.get("name") {
        Some(Value::String(name)) if !name.trim().is_empty() => name.clone(),
        _ => return Err(QuarantineReason::NoName),
    };
    if name.chars().count() > limits.name_chars {
        return Err(QuarantineReason::BadName(format!("longer than {} characters", limits.name_chars)));
    }
    if let Some(control) = name.chars().find(|c| c.is_control()) {
        return Err(QuarantineReason::BadName(format!("it holds the control character U+{:04X}", control as u32)));
    }
    check_size(&definition, limits)?;
    optional::mend(&mut definition);
    match definition.get("inputSchema") {
        // Clients refuse whole lists over a missing schema; "anything" is what the server means.
        None | Some(Value::Null | Value::Bool(true)) => {
            definition.insert("inputSchema".to_owned(), json!({"type": "object"}));
        }
        Some(Value::Object(schema)) => {
            if let Some(kind) = schema.get("type").filter(|kind| *kind != "object") {
                return Err(bad_schema("inputSchema", format!("its root type is {kind}, not \"object\"")));
            }
            if !schema.contains_key("type")
                && let Some(Value::Object(schema)) = definition.get_mut("inputSchema")
            {
                schema.shift_insert(0, "type".to_owned(), Value::from("object"));
            }
        }
        Some(other) => return Err(bad_schema("inputSchema", format!("it is {}, not an object", kind_of(other)))),
    }
    for field in ["inputSchema", "outputSchema"] {
        let Some(schema) = definition.get(field).filter(|schema| !schema.is_null()) else { continue };
        let bytes = json_len(schema);
        if bytes > limits.schema_bytes {
            return Err(bad_schema(
                field,
                format!("it has {bytes} bytes, limits.schema_bytes is {}", limits.schema_bytes),
            ));
        }
        check_schema(schema).map_err(|problem| bad_schema(field, problem))?;
    }
    // A hint of the wrong type must not cost the tool: it is only a hint, so it counts as absent.
    let hint = |key: &str| definition.get("annotations").and_then(|hints| hints.get(key)).and_then(Value::as_bool);
    let annotations = Annotations {
        read_only_hint: hint("readOnlyHint"),
        destructive_hint: hint("destructiveHint"),
        idempotent_hint: hint("idempotentHint"),
        open_world_hint: hint("openWorldHint"),
    };
    Ok(Tool::new(source.clone(), name, Value::Object(definition), annotations))
}

fn bad_schema(field: &'static str, problem: String) -> QuarantineReason {
    QuarantineReason::BadSchema { field, problem }
}

fn check_size(definition: &Map<String, Value>, limits: &IngestLimits) -> Result<(), QuarantineReason> {
    if definition.values().any(|value| depth_exceeds(value, limits.depth)) {
        return Err(QuarantineReason::TooLarge(format!("nested deeper than {}", limits.depth)));
    }
    let bytes: usize = definition.values().map(json_len).sum();
    if bytes > limits.definition_bytes {
        return Err(QuarantineReason::TooLarge(format!("{bytes} bytes, the limit is {}", limits.definition_bytes)));
    }
    Ok(())
}

fn depth_exceeds(value: &Value, left: usize) -> bool {
    match value {
        Value::Array(items) => left == 0 || items.iter().any(|item| depth_exceeds(item, left - 1)),
        Value::Object(map) => left == 0 || map.values().any(|item| depth_exceeds(item, left - 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Length in bytes of the compact JSON text, without building it.
pub fn json_len(value: &Value) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, buf: &[u8]) -> std::io::Result<usize> {
            self.0 += buf.len();
            Ok(buf.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Counting cannot fail, and a value always serialises.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

/// Brings the shapes tool lists are found in to MCP's: the OpenAI wrapper is opened, `parameters` or `input_schema`
/// becomes `inputSchema`, and a list of parameter names becomes a schema. An MCP definition is left as it is.
fn to_mcp_shape(mut item: Map<String, Value>) -> Map<String, Value> {
    if item.get("type").is_some_and(|kind| kind == "function")
        && !item.contains_key("name")
        && let Some(Value::Object(function)) = item.get("function").cloned()
    {
        item = function;
    }
    if item.contains_key("inputSchema") {
        return item;
    }
    for key in ["input_schema", "parameters"] {
        let Some(index) = item.get_index_of_key(key) else { continue };
        let schema = match item.shift_remove(key) {
            Some(Value::Array(names)) if names.iter().all(Value::is_string) => {
                let properties: Map<_, _> =
                    names.iter().filter_map(Value::as_str).map(|name| (name.to_owned(), json!({}))).collect();
                json!({"type": "object", "properties": properties})
            }
            Some(schema) => schema,
            None => continue,
        };
        item.shift_insert(index, "inputSchema".to_owned(), schema);
        break;
    }
    item
}

trait IndexOfKey {
    fn get_index_of_key(&self, key: &str) -> Option<usize>;
}

impl IndexOfKey for Map<String, Value> {
    fn get_index_of_key(&self, key: &str) -> Option<usize> {
        self.keys().position(|k| k == key)
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

mod optional;
#[cfg(test)]
mod tests;
