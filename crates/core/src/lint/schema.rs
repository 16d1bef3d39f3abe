//! Hazards in schemas that are valid.

use serde_json::Value;

use super::{Code, Findings, Subject, strings::escaped};
use crate::{
    disclosure::{clean, clip},
    schema::type_name,
};

/// An enum with more values is large. Its values are in every prompt that shows the tool.
const LARGE_ENUM: usize = 100;
/// Deepest place that is looked at; ingestion allows 64.
const DEEPEST: usize = 64;

pub(super) fn check(tool: &Subject<'_>, findings: &mut Findings) {
    let mut place = String::from("/inputSchema");
    walk(tool, &tool.definition["inputSchema"], &mut place, 0, findings);
    let output = &tool.definition["outputSchema"];
    if output.is_object() && output["type"] != "object" {
        let kind = output["type"].as_str().unwrap_or("not said");
        let message = format!("the type of its root is {}", clip(&clean(kind), 40));
        findings.add(Code::OutputNotObject, tool.id, "/outputSchema/type", message, kind);
    }
}

fn walk(tool: &Subject<'_>, schema: &Value, place: &mut String, depth: usize, findings: &mut Findings) {
    let Some(map) = schema.as_object().filter(|_| depth < DEEPEST) else { return };
    undeclared(tool, schema, place, findings);
    if let Some(values) = map.get("enum").and_then(Value::as_array).filter(|values| values.len() > LARGE_ENUM) {
        let message = format!("lists {} values", values.len());
        findings.add(Code::LargeEnum, tool.id, &format!("{place}/enum"), message, &values.len().to_string());
    }
    if let Some(default) = map.get("default")
        && let Some(message) = misfit(default, schema)
    {
        findings.add(Code::BadDefault, tool.id, &format!("{place}/default"), message, &default.to_string());
    }
    let mut deeper = |step: &str, inner: &Value, findings: &mut Findings| {
        let length = place.len();
        place.push_str(step);
        walk(tool, inner, place, depth + 1, findings);
        place.truncate(length);
    };
    for key in ["properties", "$defs", "definitions", "patternProperties"] {
        for (name, inner) in map.get(key).and_then(Value::as_object).into_iter().flatten() {
            deeper(&format!("/{key}/{}", escaped(name)), inner, findings);
        }
    }
    for key in ["items", "additionalProperties", "not"] {
        if let Some(inner) = map.get(key) {
            deeper(&format!("/{key}"), inner, findings);
        }
    }
    for key in ["anyOf", "oneOf", "allOf", "prefixItems"] {
        for (index, inner) in map.get(key).and_then(Value::as_array).into_iter().flatten().enumerate() {
            deeper(&format!("/{key}/{index}"), inner, findings);
        }
    }
}

/// `required` beside `properties` that lack it. Where properties may be declared elsewhere nothing can be said.
fn undeclared(tool: &Subject<'_>, schema: &Value, place: &str, findings: &mut Findings) {
    let elsewhere = ["allOf", "anyOf", "oneOf", "$ref", "patternProperties", "if"];
    let (Some(properties), Some(required)) = (schema["properties"].as_object(), schema["required"].as_array()) else {
        return;
    };
    if elsewhere.iter().any(|key| !schema[key].is_null()) {
        return;
    }
    let missing: Vec<&str> =
        required.iter().filter_map(Value::as_str).filter(|name| !properties.contains_key(*name)).collect();
    if !missing.is_empty() {
        let shown: Vec<String> = missing.iter().take(10).map(|name| clip(&clean(name), 64)).collect();
        let message = format!("{} is required and not declared", shown.join(", "));
        findings.add(Code::UndeclaredRequired, tool.id, &format!("{place}/required"), message, &missing.join("\n"));
    }
}

/// Why a default does not fit. Only what is certain: its type, and the values listed.
fn misfit(default: &Value, schema: &Value) -> Option<String> {
    // `null` is widely written for "none".
    if default.is_null() {
        return None;
    }
    if let Some(values) = schema["enum"].as_array()
        && !values.contains(default)
    {
        return Some(format!("{} is not one of the values listed", clip(&clean(&default.to_string()), 60)));
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    let is = type_name(default);
    let fits = types.iter().any(|kind| *kind == is || (*kind == "number" && is == "integer"));
    (!fits && !types.is_empty())
        .then(|| format!("{} is of type {is}, not {}", clip(&clean(&default.to_string()), 60), types.join(" or ")))
}
