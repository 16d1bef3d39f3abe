//! The schema of the configuration, and what is derived from it: unknown keys, the reference text.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use crate::{Config, Diagnostic, diagnostic::nearest, variables::VARIABLES};

/// Keys in a server's entry that mean something to another client and nothing here.
const SERVER_KEYS: &[&str] =
    &["autoApprove", "alwaysAllow", "timeout", "name", "gallery", "version", "$schema", "required", "trust", "id"];

/// The JSON Schema of a configuration file, short forms and other spellings included.
pub fn json_schema() -> Value {
    let mut schema = model_schema();
    if let Some(properties) = schema["properties"].as_object_mut() {
        let servers = properties.get("servers").cloned().unwrap_or_default();
        for alias in ["mcpServers", "mcp_servers"] {
            properties.insert(alias.to_owned(), servers.clone());
        }
        properties.insert("$schema".to_owned(), json!({"type": "string"}));
        if let Some(disclosure) = properties.get_mut("disclosure") {
            let object = disclosure["$ref"].take();
            *disclosure = json!({
                "description": disclosure["description"],
                "anyOf": [{"$ref": object}, {"type": "boolean"}, {"enum": ["auto", "on", "off"]}],
            });
        }
    }
    if let Some(entry) = schema.pointer_mut("/$defs/GatewayConfig/properties/named_keys/additionalProperties") {
        *entry = json!({"anyOf": [entry.take(), {"type": "string"}]});
    }
    if let Some(properties) = schema.pointer_mut("/$defs/ServerConfig/properties").and_then(Value::as_object_mut) {
        let transport = json!({"description": "Another spelling of `transport`.", "type": "string"});
        properties.insert("type".to_owned(), transport);
        let disabled = json!({"description": "The opposite of `enabled`.", "type": "boolean"});
        properties.insert("disabled".to_owned(), disabled);
    }
    schema
}

/// The long form only: what a file comes to once it is read.
fn model_schema() -> Value {
    schemars::schema_for!(Config).to_value()
}

/// Whether a top-level key is one of ours.
pub fn is_section(key: &str) -> bool {
    model_schema()["properties"].get(key).is_some()
}

/// Findings about keys that nothing reads, each with the nearest known one.
pub fn unknown_keys(tree: &Map<String, Value>) -> Vec<Diagnostic> {
    let schema = model_schema();
    let mut findings = Vec::new();
    walk(&schema, &schema, tree, "", &mut findings);
    findings
}

fn walk(root: &Value, schema: &Value, tree: &Map<String, Value>, prefix: &str, findings: &mut Vec<Diagnostic>) {
    let schema = resolve(root, schema);
    let properties = schema["properties"].as_object();
    for (key, value) in tree {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        let known = properties.and_then(|properties| properties.get(key));
        let inner = match known {
            Some(inner) => inner,
            None if schema["additionalProperties"].is_object() => &schema["additionalProperties"],
            None if properties.is_none() => continue,
            // Where the type refuses it, that is an error of its own.
            None if schema["additionalProperties"] == false && refused_elsewhere(prefix) => continue,
            None if key == "$schema" || (is_server(prefix) && SERVER_KEYS.contains(&key.as_str())) => continue,
            None => {
                let finding = Diagnostic::warning(&path, "unknown key, not used");
                let near = nearest(key, properties.into_iter().flat_map(Map::keys).map(String::as_str));
                findings.push(match near {
                    Some(near) => finding.hint(format!("did you mean {near}?")),
                    None if prefix.ends_with(']') => {
                        let known: Vec<&str> = properties.into_iter().flat_map(Map::keys).map(String::as_str).collect();
                        finding.hint(format!("known: {}", known.join(", ")))
                    }
                    None => finding,
                });
                continue;
            }
        };
        match value {
            Value::Object(value) => walk(root, inner, value, &path, findings),
            Value::Array(items) => {
                let item = resolve(root, &resolve(root, inner)["items"]);
                for (index, entry) in items.iter().enumerate().filter(|_| item["properties"].is_object()) {
                    if let Value::Object(entry) = entry {
                        walk(root, item, entry, &format!("{path}[{index}]"), findings);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

/// Whether what is said there is read as a whole or not at all: elements of lists, and what is said of single tools.
fn refused_elsewhere(prefix: &str) -> bool {
    prefix.ends_with(']') || (is_server(prefix) && prefix.contains(".tools."))
}

fn is_server(prefix: &str) -> bool {
    prefix.strip_prefix("servers.").is_some()
}

fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let target =
        schema["$ref"].as_str().and_then(|reference| reference.strip_prefix("#")).and_then(|p| root.pointer(p));
    match target {
        Some(target) => target,
        // `Option<T>` is written as a choice with null.
        None => {
            schema["anyOf"].as_array().and_then(|choices| choices.first()).map_or(schema, |first| resolve(root, first))
        }
    }
}

/// The reference as Markdown.
pub fn markdown() -> String {
    let root = model_schema();
    let mut out = String::from(
        "# Configuration reference\n\n\
         Made from the code; do not edit. `toolcrib.toml`, `.yaml` or `.json`; every text may hold `${NAME}`, `${NAME:-default}`,\n\
         `${env:NAME}` and `${file:PATH}`, and `$${` for a literal `${`. Files of other clients with `mcpServers`, `mcp_servers` or\n\
         `servers` work as they are. Later files win over earlier ones, environment variables over files, flags over both.\n",
    );
    section(&root, &root, "", &mut out);
    out.push_str("\n## Environment variables\n\n| variable | sets | purpose |\n|---|---|---|\n");
    for variable in VARIABLES {
        let key = if variable.key.is_empty() { "" } else { variable.key };
        let _ = writeln!(out, "| `{}` | {} | {} |", variable.name, code(key), variable.purpose);
    }
    out
}

fn code(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("`{text}`") }
}

fn section(root: &Value, schema: &Value, prefix: &str, out: &mut String) {
    let Some(properties) = schema["properties"].as_object() else { return };
    let mut inner = Vec::new();
    let title = if prefix.is_empty() { "Top level".to_owned() } else { code(prefix) };
    let _ = write!(out, "\n## {title}\n\n");
    if let Some(description) = schema["description"].as_str() {
        let _ = writeln!(out, "{}\n", description.replace('\n', " "));
    }
    out.push_str("| key | type | default | meaning |\n|---|---|---|---|\n");
    for (key, property) in properties {
        let target = resolve(root, property);
        let description = property["description"].as_str().or(target["description"].as_str()).unwrap_or_default();
        let needed = schema["required"].as_array().is_some_and(|names| names.iter().any(|name| name == key));
        let default = match &property["default"] {
            _ if needed => "must be given".to_owned(),
            Value::Null | Value::Object(_) => String::new(),
            value => code(&value.to_string()),
        };
        let kind = kind(root, property);
        let _ =
            writeln!(out, "| `{key}` | {kind} | {default} | {} |", description.replace('\n', " ").replace('|', "\\|"));
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        if target["properties"].is_object() {
            inner.push((path, target));
        } else if target["additionalProperties"].is_object() {
            let entry = resolve(root, &target["additionalProperties"]);
            if entry["properties"].is_object() {
                inner.push((format!("{path}.NAME"), entry));
            }
        } else if target["items"].is_object() {
            let entry = resolve(root, &target["items"]);
            if entry["properties"].is_object() {
                inner.push((format!("{path}[]"), entry));
            }
        }
    }
    for (path, schema) in inner {
        section(root, schema, &path, out);
    }
}

fn kind(root: &Value, property: &Value) -> String {
    let target = resolve(root, property);
    let choices = target["oneOf"].as_array().into_iter().flatten().chain([target]);
    let words = choices.flat_map(|choice| choice["enum"].as_array().into_iter().flatten().chain([&choice["const"]]));
    let words: Vec<String> = words.filter_map(Value::as_str).map(code).collect();
    if !words.is_empty() {
        return words.join(", ");
    }
    let name = match &target["type"] {
        Value::String(name) => name.clone(),
        Value::Array(names) => {
            names.iter().filter_map(Value::as_str).find(|name| *name != "null").unwrap_or_default().to_owned()
        }
        _ => "any".to_owned(),
    };
    match name.as_str() {
        "array" => "list".to_owned(),
        "object" => "map".to_owned(),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests;
