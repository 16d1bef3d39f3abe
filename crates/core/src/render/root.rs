//! The root of a schema of arguments: one object with properties, whatever combined it.
//!
//! Alternatives become one object that accepts what any of them accepts (OpenClaw reference §1.10): properties of all,
//! values of a choice united, required only what every alternative requires. What that loses is told to the model.

use serde_json::{Map, Value, json};

use super::{
    Action, RefusedTool,
    dialect::{Construct, Dialect, Rule},
    merge::{either, merge, types},
    notes::shown,
    report::Report,
};

/// Makes the root a plain object. Returns remarks for the description of the tool.
pub(super) fn flatten(
    mut root: Map<String, Value>,
    dialect: &Dialect,
    report: &mut Report,
) -> Result<(Map<String, Value>, Vec<String>), RefusedTool> {
    let mut notes = Vec::new();
    let written = types(root.get("type"));
    if !written.is_empty() && !written.iter().any(|word| word == "object") {
        return Err(RefusedTool::RootNotObject(written.join(", ")));
    }
    root.insert("type".to_owned(), "object".into());
    unite(&mut root, report, &mut notes);
    if !root.get("properties").is_some_and(Value::is_object) {
        root.insert("properties".to_owned(), json!({}));
    }
    if dialect.rule(Construct::RootConstraint) != Rule::Keep {
        for key in ["enum", "const", "not"] {
            if let Some(value) = root.shift_remove(key) {
                report.loss_at(key, Construct::RootConstraint, Action::Described);
                notes.push(format!("{key}: {}", shown(&value)));
            }
        }
    }
    if dialect.rule(Construct::RootDescription) != Rule::Keep
        && let Some(Value::String(text)) = root.shift_remove("description")
    {
        report.loss_at("description", Construct::RootDescription, Action::Described);
        if !text.trim().is_empty() {
            notes.push(shown(&text.into()));
        }
    }
    Ok((root, notes))
}

fn unite(map: &mut Map<String, Value>, report: &mut Report, notes: &mut Vec<String>) {
    while let Some(Value::Array(parts)) = map.shift_remove("allOf") {
        report.loss_at("allOf", Construct::RootCombinator, Action::Rewritten);
        let mut lost = Vec::new();
        for part in parts {
            if let Value::Object(mut part) = part {
                // Two choices cannot be merged, so each becomes plain first.
                for key in ["anyOf", "oneOf"] {
                    if part.contains_key(key) && map.contains_key(key) {
                        unite(&mut part, report, notes);
                    }
                }
                merge(map, part, &mut lost);
            }
        }
        for key in lost {
            report.loss_at(&key, Construct::RootCombinator, Action::Dropped);
        }
    }
    for key in ["anyOf", "oneOf"] {
        let Some(Value::Array(choices)) = map.shift_remove(key) else { continue };
        report.loss_at(key, Construct::RootCombinator, Action::Rewritten);
        let mut variants = Vec::new();
        for choice in choices {
            let Value::Object(mut choice) = choice else { continue };
            let written = types(choice.get("type"));
            if written.is_empty() || written.iter().any(|word| word == "object") {
                unite(&mut choice, report, notes);
                variants.push(choice);
            }
        }
        alternatives(map, variants, notes);
    }
}

fn alternatives(map: &mut Map<String, Value>, variants: Vec<Map<String, Value>>, notes: &mut Vec<String>) {
    let required: Vec<Vec<Value>> = variants.iter().map(required_of).collect();
    let always: Vec<Value> = required.first().map_or_else(Vec::new, |first| {
        first.iter().filter(|name| required.iter().all(|names| names.contains(name))).cloned().collect()
    });
    let forms: Vec<String> = required
        .iter()
        .map(|names| {
            let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
            format!("({})", names.join(", "))
        })
        .collect();
    if required.iter().any(|names| names.len() > always.len()) {
        notes.push(format!("give the arguments of one of these forms: {}", forms.join(" or ")));
    }
    let mut united = Map::new();
    for variant in variants {
        if let Some(Value::Object(properties)) = variant.get("properties") {
            for (name, schema) in properties {
                let schema = match united.shift_remove(name) {
                    Some(known) => either(known, schema.clone()),
                    None => schema.clone(),
                };
                united.insert(name.clone(), schema);
            }
        }
    }
    let mut addition = Map::new();
    if !united.is_empty() {
        addition.insert("properties".to_owned(), Value::Object(united));
    }
    if !always.is_empty() {
        addition.insert("required".to_owned(), Value::Array(always));
    }
    let mut lost = Vec::new();
    merge(map, addition, &mut lost);
}

fn required_of(variant: &Map<String, Value>) -> Vec<Value> {
    variant.get("required").and_then(Value::as_array).cloned().unwrap_or_default()
}
