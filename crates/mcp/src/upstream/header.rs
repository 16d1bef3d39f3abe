//! `Mcp-Name` and `Mcp-Param-*`: what a modern request repeats in its headers (2026-07-28, streamable HTTP).

use std::collections::BTreeSet;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, value::RawValue};

const ANNOTATION: &str = "x-mcp-header";
const MOST: usize = 64;
// 2^53 - 1: what the specification lets through, as JavaScript counts exactly up to there.
const SAFE_INTEGER: u64 = (1 << 53) - 1;

/// One argument that is repeated in a header.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Binding {
    /// The whole header name.
    header: String,
    /// Property names from the root of the arguments.
    path: Vec<String>,
}

/// The annotated properties of an input schema, or what makes the annotations, and the tool with them, invalid.
pub(super) fn bindings(schema: &Value) -> Result<Vec<Binding>, String> {
    let mut found = Vec::new();
    walk(schema, &mut Vec::new(), true, &mut found)?;
    let mut names = BTreeSet::new();
    if let Some(twice) = found.iter().find(|binding| !names.insert(binding.header.to_ascii_lowercase())) {
        return Err(format!("'{ANNOTATION}' gives the header {} twice", twice.header));
    }
    if found.len() > MOST {
        return Err(format!("more than {MOST} '{ANNOTATION}' annotations"));
    }
    Ok(found)
}

fn walk(schema: &Value, path: &mut Vec<String>, reachable: bool, found: &mut Vec<Binding>) -> Result<(), String> {
    let Value::Object(members) = schema else {
        if let Value::Array(items) = schema {
            return items.iter().try_for_each(|item| walk(item, path, false, found));
        }
        return Ok(());
    };
    if let Some(annotation) = members.get(ANNOTATION) {
        let place = if path.is_empty() { "the schema's root".to_owned() } else { format!("'{}'", path.join(".")) };
        if !reachable || path.is_empty() {
            return Err(format!(
                "'{ANNOTATION}' below {place} is not on a property reachable through 'properties' alone"
            ));
        }
        let name = annotation.as_str().filter(|name| is_token(name));
        let name = name.ok_or_else(|| format!("'{ANNOTATION}' on {place} is no header name"))?;
        if !members.get("type").is_some_and(is_primitive) {
            return Err(format!("'{ANNOTATION}' on {place}, whose type is not string, integer or boolean"));
        }
        found.push(Binding { header: format!("Mcp-Param-{name}"), path: path.clone() });
    }
    for (keyword, value) in members {
        match (keyword.as_str(), value) {
            // Data, not schemas.
            (ANNOTATION | "const" | "enum" | "default" | "examples" | "required", _) => {}
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    path.push(name.clone());
                    walk(property, path, reachable, found)?;
                    path.pop();
                }
            }
            ("patternProperties" | "$defs" | "definitions" | "dependentSchemas", Value::Object(schemas)) => {
                schemas.values().try_for_each(|schema| walk(schema, path, false, found))?;
            }
            _ => walk(value, path, false, found)?,
        }
    }
    Ok(())
}

fn is_primitive(kind: &Value) -> bool {
    let fits = |kind: &Value| matches!(kind.as_str(), Some("string" | "integer" | "boolean"));
    match kind {
        Value::Array(kinds) => {
            let mut kinds = kinds.iter().filter(|kind| kind.as_str() != Some("null")).peekable();
            kinds.peek().is_some() && kinds.all(fits)
        }
        kind => fits(kind),
    }
}

fn is_token(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 128
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// The headers for these arguments. Absent and `null` values give none.
pub(super) fn param_headers(bindings: &[Binding], arguments: &RawValue) -> Vec<(String, String)> {
    if bindings.is_empty() {
        return Vec::new();
    }
    let arguments: Value = serde_json::from_str(arguments.get()).unwrap_or_default();
    let value_at = |path: &[String]| path.iter().try_fold(&arguments, |value, name| value.get(name));
    let headers = bindings.iter().filter_map(|binding| {
        let text = match value_at(&binding.path)? {
            Value::String(text) => text.clone(),
            Value::Bool(flag) => flag.to_string(),
            Value::Number(number) => integer_text(number)?,
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        Some((binding.header.clone(), encode(&text)))
    });
    headers.collect()
}

fn integer_text(number: &serde_json::Number) -> Option<String> {
    if let Some(number) = number.as_i64() {
        return (number.unsigned_abs() <= SAFE_INTEGER).then(|| number.to_string());
    }
    // `42.0` is the integer 42 in JSON Schema.
    let number = number.as_f64().filter(|number| number.fract() == 0.0 && number.abs() <= SAFE_INTEGER as f64)?;
    Some(format!("{number:.0}"))
}

/// A header value: as it is where that is safe, else in the Base64 form the specification gives.
pub(super) fn encode(text: &str) -> String {
    let safe = text.bytes().all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte));
    let padded = text.starts_with([' ', '\t']) || text.ends_with([' ', '\t']);
    let looks_encoded = text.starts_with("=?base64?") && text.ends_with("?=");
    let plain = safe && !padded && !looks_encoded;
    if plain { text.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(text)) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn headers(schema: &Value, arguments: &Value, expected: &[(&str, &str)]) {
        let arguments = serde_json::value::to_raw_value(arguments).unwrap();
        let found = param_headers(&bindings(schema).unwrap(), &arguments);
        let found: Vec<_> = found.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn annotated_arguments_are_repeated_in_headers() {
        let schema = json!({"type": "object", "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "n": {"type": "integer", "x-mcp-header": "N"},
            "flag": {"type": ["boolean", "null"], "x-mcp-header": "Flag"},
            "in": {"type": "object", "properties": {"deep": {"type": "string", "x-mcp-header": "Deep"}}},
            "x-mcp-header": {"type": "string", "default": {"x-mcp-header": 1}},
        }});
        headers(
            &schema,
            &json!({"region": "us-west1", "n": 42.0, "flag": true, "in": {"deep": "x"}}),
            &[
                ("Mcp-Param-Region", "us-west1"),
                ("Mcp-Param-N", "42"),
                ("Mcp-Param-Flag", "true"),
                ("Mcp-Param-Deep", "x"),
            ],
        );
        headers(&schema, &json!({"region": null, "n": 1.5, "in": 3}), &[]);
        headers(&schema, &json!({"n": -7}), &[("Mcp-Param-N", "-7")]);
        headers(&schema, &json!({"n": 9_007_199_254_740_993_u64}), &[]);
        headers(&json!({"type": "object"}), &json!({"a": 1}), &[]);
    }

    #[test]
    fn values_that_no_header_can_carry_are_encoded() {
        for (text, expected) in [
            ("us-west1", "us-west1"),
            ("a b\tc", "a b\tc"),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ] {
            assert_eq!(encode(text), expected);
        }
    }

    #[test]
    fn annotations_that_break_a_rule_make_the_tool_invalid() {
        let property = |property: Value| json!({"type": "object", "properties": {"a": property}});
        for (schema, reason) in [
            (property(json!({"type": "string", "x-mcp-header": ""})), "no header name"),
            (property(json!({"type": "string", "x-mcp-header": "a b"})), "no header name"),
            (property(json!({"type": "string", "x-mcp-header": "a\r\nb"})), "no header name"),
            (property(json!({"type": "string", "x-mcp-header": 7})), "no header name"),
            (property(json!({"type": "number", "x-mcp-header": "A"})), "type"),
            (property(json!({"x-mcp-header": "A"})), "type"),
            (property(json!({"type": "array", "items": {"type": "string", "x-mcp-header": "A"}})), "reachable"),
            (property(json!({"anyOf": [{"type": "string", "x-mcp-header": "A"}]})), "reachable"),
            (json!({"$defs": {"d": {"type": "string", "x-mcp-header": "A"}}}), "reachable"),
            (json!({"type": "string", "x-mcp-header": "A"}), "reachable"),
            (
                json!({"properties": {
                    "a": {"type": "string", "x-mcp-header": "Same"},
                    "b": {"type": "string", "x-mcp-header": "sAME"},
                }}),
                "twice",
            ),
        ] {
            let error = bindings(&schema).unwrap_err();
            assert!(error.contains(reason), "{schema}: {error}");
        }
    }
}
