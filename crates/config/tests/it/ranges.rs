//! The ranges in the schema are the ranges that are kept.

use serde_json::{Value, json};
use toolcrib_config::reference::json_schema;

use crate::{one, texts};

/// Every number with a range: its key path, least and most.
fn ranges(root: &Value, schema: &Value, path: &str, found: &mut Vec<(String, f64, f64)>) {
    let target = |schema: &Value| schema["$ref"].as_str().and_then(|name| root.pointer(&name[1..])).cloned();
    let schema = target(schema).unwrap_or_else(|| schema.clone());
    if let (Some(min), Some(max)) = (schema["minimum"].as_f64(), schema["maximum"].as_f64()) {
        found.push((path.to_owned(), min, max));
    }
    for choice in schema["anyOf"].as_array().into_iter().flatten() {
        ranges(root, choice, path, found);
    }
    for (key, inner) in schema["properties"].as_object().into_iter().flatten() {
        if !["mcpServers", "mcp_servers"].contains(&key.as_str()) {
            ranges(root, inner, &if path.is_empty() { key.clone() } else { format!("{path}.{key}") }, found);
        }
    }
    if schema["additionalProperties"].is_object() {
        ranges(root, &schema["additionalProperties"], &format!("{path}.x"), found);
    }
}

fn load_with(path: &str, value: f64) -> (f64, Vec<String>) {
    let value = if value.fract() == 0.0 { json!(value as i64) } else { json!(value) };
    let mut tree = path.rsplit('.').fold(value, |tree, part| json!({part: tree}));
    if path.starts_with("servers.x.") {
        tree["servers"]["x"]["command"] = json!("x");
    }
    if path.starts_with("search.encoder.") {
        for (key, text) in [("kind", "http"), ("url", "https://x.test/v1"), ("model", "m")] {
            tree["search"]["encoder"][key] = json!(text);
        }
    }
    let loaded = one("toolcrib.json", tree.to_string());
    let config = serde_json::to_value(&loaded.config).unwrap();
    let pointer = format!("/{}", path.replace('.', "/"));
    (config.pointer(&pointer).and_then(Value::as_f64).unwrap(), texts(&loaded))
}

#[test]
fn numbers_are_held_to_the_ranges_of_the_schema() {
    let schema = json_schema();
    let mut found = Vec::new();
    ranges(&schema, &schema, "", &mut found);
    assert!(found.len() >= 15, "{found:?}");
    for (path, min, max) in found {
        // Most numbers are unsigned.
        let below = if min < 0.0 { min - 1.0 } else { (min - 1.0).max(0.0) };
        for (value, held) in [(min, min), (max, max), (max + 1.0, max), (below, min)] {
            let (used, texts) = load_with(&path, value);
            assert!((used - held).abs() < f64::EPSILON, "{path} = {value}: {used} instead of {held}");
            // Told with the key, the value and the range; not told when it is in range.
            let outside = (value - held).abs() > f64::EPSILON;
            assert_eq!(
                texts.iter().any(|text| text.contains(&path) && text.contains("out of range")),
                outside,
                "{path}: {texts:?}"
            );
        }
    }
}

/// A number without a range would be one that nothing holds.
#[test]
fn every_number_has_a_range() {
    let schema = json_schema();
    for (name, definition) in schema["$defs"].as_object().unwrap() {
        for (key, property) in definition["properties"].as_object().into_iter().flatten() {
            let kinds = property["type"].to_string();
            if kinds.contains("integer") || kinds.contains("number") {
                assert!(property["maximum"].is_number(), "{name}.{key} has no range");
            }
        }
    }
}
