//! Schemas that hold together, as one schema; and schemas of which one holds, as one.

use serde_json::{Map, Value, json};

/// Adds the constraints of `other` to `into`, which keeps its annotations. Keywords that cannot be combined keep the
/// value of `into`; their names are added to `lost`.
pub(super) fn merge(into: &mut Map<String, Value>, other: Map<String, Value>, lost: &mut Vec<String>) {
    for (key, theirs) in other {
        let Some(ours) = into.get_mut(&key) else {
            into.insert(key, theirs);
            continue;
        };
        if *ours == theirs {
            continue;
        }
        match key.as_str() {
            "properties" | "patternProperties" | "dependentSchemas" => {
                let (Some(ours), Value::Object(theirs)) = (ours.as_object_mut(), theirs) else { continue };
                for (name, schema) in theirs {
                    match ours.get_mut(&name) {
                        Some(known) => merge_schemas(known, schema, lost),
                        None => drop(ours.insert(name, schema)),
                    }
                }
            }
            "items" | "additionalProperties" | "propertyNames" => merge_schemas(ours, theirs, lost),
            "required" | "allOf" => {
                let (Some(ours), Value::Array(theirs)) = (ours.as_array_mut(), theirs) else { continue };
                for entry in theirs {
                    if !ours.contains(&entry) {
                        ours.push(entry);
                    }
                }
            }
            "type" => match common_types(ours, &theirs) {
                Some(types) => *ours = types,
                None => lost.push(key),
            },
            "enum" => {
                let (Some(mine), Value::Array(theirs)) = (ours.as_array(), theirs) else { continue };
                let both: Vec<Value> = mine.iter().filter(|value| theirs.contains(value)).cloned().collect();
                if both.is_empty() { lost.push(key) } else { *ours = Value::Array(both) }
            }
            "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => {
                if theirs.as_f64() > ours.as_f64() {
                    *ours = theirs;
                }
            }
            "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => {
                if theirs.as_f64() < ours.as_f64() {
                    *ours = theirs;
                }
            }
            "title" | "description" | "default" | "examples" | "example" | "deprecated" | "readOnly" | "writeOnly"
            | "nullable" => {}
            _ => lost.push(key),
        }
    }
}

fn merge_schemas(ours: &mut Value, theirs: Value, lost: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => merge(ours, theirs, lost),
        (ours, theirs) if *ours == true || theirs == false => *ours = theirs,
        _ => {}
    }
}

/// The types of a `type` keyword.
pub(super) fn types(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(word)) => vec![word.clone()],
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

/// The `type` keyword for types.
pub(super) fn type_value(mut types: Vec<String>) -> Value {
    if types.len() == 1 { Value::String(types.swap_remove(0)) } else { json!(types) }
}

fn common_types(ours: &Value, theirs: &Value) -> Option<Value> {
    let (ours, theirs) = (types(Some(ours)), types(Some(theirs)));
    let mut both = Vec::new();
    for mine in &ours {
        for other in &theirs {
            let shared = match (mine.as_str(), other.as_str()) {
                (a, b) if a == b => a,
                ("integer", "number") | ("number", "integer") => "integer",
                _ => continue,
            };
            if !both.iter().any(|known| known == shared) {
                both.push(shared.to_owned());
            }
        }
    }
    (!both.is_empty()).then(|| type_value(both))
}

/// A schema that accepts what either accepts.
pub(super) fn either(ours: Value, theirs: Value) -> Value {
    if ours == theirs {
        return ours;
    }
    if let (Some(a), Some(b)) = (values(&ours), values(&theirs)) {
        let mut values = a;
        for value in b {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        let mut schema = ours;
        if let Value::Object(map) = &mut schema {
            map.remove("const");
            let mut all = types(map.get("type"));
            for word in types(theirs.get("type")) {
                if !all.contains(&word) {
                    all.push(word);
                }
            }
            let typed = !all.is_empty() && theirs.get("type").is_some();
            if typed {
                map.insert("type".to_owned(), type_value(all))
            } else {
                map.remove("type")
            };
            map.insert("enum".to_owned(), Value::Array(values));
        }
        return schema;
    }
    let mut choices = alternatives(ours);
    for choice in alternatives(theirs) {
        if !choices.contains(&choice) {
            choices.push(choice);
        }
    }
    json!({"anyOf": choices})
}

fn alternatives(schema: Value) -> Vec<Value> {
    match schema {
        Value::Object(mut map) if map.len() == 1 && map.get("anyOf").is_some_and(Value::is_array) => {
            match map.remove("anyOf") {
                Some(Value::Array(choices)) => choices,
                _ => Vec::new(),
            }
        }
        other => vec![other],
    }
}

/// The values of a schema that is nothing but a choice of values.
pub(super) fn values(schema: &Value) -> Option<Vec<Value>> {
    let map = schema.as_object()?;
    if !map.keys().all(|key| matches!(key.as_str(), "const" | "enum" | "type" | "title" | "description")) {
        return None;
    }
    match (map.get("const"), map.get("enum")) {
        (Some(value), _) => Some(vec![value.clone()]),
        (None, Some(Value::Array(values))) => Some(values.clone()),
        _ => None,
    }
}
