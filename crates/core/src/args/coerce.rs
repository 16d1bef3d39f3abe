//! Coercion by schema: a value of the wrong type becomes the one the schema asks for where only one reading is possible
//! (§ coercion of the Hermes reference). A value that fits is never touched.

use serde_json::{Value, value::RawValue};

use super::{
    ArgsLimits, Arguments, Repair,
    change::{self, Change},
    fits::{self, Lens},
    numeric, strict,
};

/// Repairs the arguments by the schema and reports each repair. Tried, in the order in which the schema names types:
///
/// * numeric text to a number: integral text to an integer, never a fraction to an integer, never `NaN`, infinities or
///   leading zeros;
/// * `true` and `false` (any case) to a boolean, `null` to null; never to a `true` that confirms something (a property whose
///   name says so, a schema that takes nothing but `true`);
/// * text that is a JSON list or object to that, and what is in it;
/// * a number where only text is allowed to the text of its digits (golden case val-006);
/// * last, a single value where a list is expected to a list of it; null stays null.
///
/// A value that is valid is not changed, so a caller that holds a [`crate::schema::Validator`] saves the walk by asking
/// it first. Properties, items and alternatives are looked into. What cannot be repaired stays as it is, for validation to report.
pub fn coerce(arguments: &mut Arguments, schema: &Value) {
    let mut lens = Lens::new(schema);
    let Some(change) = fix(&mut lens, &arguments.value, schema) else { return };
    let mut text = String::new();
    if change::apply(arguments.raw.get(), Some(&change), &mut text).is_err() {
        return;
    }
    // Opening nested text can deepen the whole; then the original stays, and validation speaks.
    let Ok(value) = strict::read(&text, ArgsLimits::default().depth) else { return };
    // Arguments are an object, whatever a schema of the whole says.
    if !value.is_object() {
        return;
    }
    let Ok(raw) = RawValue::from_string(text) else { return };
    change::report(&change, &arguments.value, &mut String::new(), &mut arguments.repairs);
    (arguments.raw, arguments.value) = (raw, value);
}

/// A plain text as the only required property of a schema, if that is a string. Text that looks like JSON (or like what
/// was meant to be) is not plain.
pub(super) fn main_field(text: Option<&str>, schema: &Value) -> Option<Arguments> {
    let text = text?.trim();
    let plain = if text.starts_with('"') { serde_json::from_str(text).ok()? } else { text.to_owned() };
    if plain.trim_start().starts_with(['{', '[']) || plain.len() > ArgsLimits::default().bytes {
        return None;
    }
    if !text.starts_with('"') && serde_json::from_str::<&RawValue>(text).is_ok() {
        return None; // a bare number, boolean or null
    }
    let lens = Lens::new(schema);
    let schema = lens.resolve(schema)?;
    let required = schema["required"].as_array()?;
    let [Value::String(name)] = required.as_slice() else { return None };
    let field = lens.resolve(schema["properties"].get(name)?)?;
    fits::types(field).filter(|types| types.contains(&"string"))?;
    let value = serde_json::json!({name: plain});
    let raw = RawValue::from_string(value.to_string()).ok()?;
    let path = format!("/{}", strict::escaped(name));
    Some(Arguments { raw, value, repairs: vec![Repair { path, from: "plain text", to: "string" }] })
}

fn fix<'s>(lens: &mut Lens<'s>, value: &Value, schema: &'s Value) -> Option<Change> {
    lens.within(|lens| look(lens, value, schema)).flatten()
}

fn look<'s>(lens: &mut Lens<'s>, value: &Value, schema: &'s Value) -> Option<Change> {
    let schema = lens.resolve(schema)?;
    for key in ["anyOf", "oneOf"] {
        let Some(Value::Array(branches)) = schema.get(key) else { continue };
        if branches.is_empty() || branches.iter().any(|branch| lens.fits(value, branch)) {
            continue;
        }
        for branch in branches {
            if let Some(change) = fix(lens, value, branch)
                && changed(value, &change).is_some_and(|changed| lens.fits(&changed, branch))
            {
                return Some(change);
            }
        }
    }
    let own = match fits::types(schema) {
        Some(types) if !fits::is_one_of(value, &types) => convert(lens, value, &types, schema),
        _ => descend(lens, value, schema),
    };
    own.or_else(|| {
        let parts = schema["allOf"].as_array().map(Vec::as_slice).unwrap_or_default();
        parts.iter().find_map(|part| fix(lens, value, part))
    })
}

/// The value with a change made; digits may suffer, so only for looking.
fn changed(value: &Value, change: &Change) -> Option<Value> {
    let mut text = String::new();
    change::apply(&value.to_string(), Some(change), &mut text).ok()?;
    serde_json::from_str(&text).ok()
}

fn descend<'s>(lens: &mut Lens<'s>, value: &Value, schema: &'s Value) -> Option<Change> {
    match value {
        Value::Object(map) => {
            let mut changes = Vec::new();
            for (name, inner) in map {
                let change = fits::property(schema, name).and_then(|schema| fix(lens, inner, schema));
                if let Some(change) = change.filter(|change| !confirms(name, change)) {
                    changes.push((name.clone(), change));
                }
            }
            (!changes.is_empty()).then_some(Change::Entries(changes))
        }
        Value::Array(items) => {
            let mut changes = Vec::new();
            for (index, inner) in items.iter().enumerate() {
                if let Some(change) = fits::item(schema, index).and_then(|schema| fix(lens, inner, schema)) {
                    changes.push((index, change));
                }
            }
            (!changes.is_empty()).then_some(Change::Items(changes))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// Whether a change would make a value confirm something that it did not: only `true` itself is a confirmation, so no text
/// becomes one. What confirms is told by its name here, and by a schema that takes nothing but `true` in [`from_text`].
fn confirms(name: &str, change: &Change) -> bool {
    matches!(change, Change::Text(text) if text == "true") && name.to_ascii_lowercase().contains("confirm")
}

fn convert<'s>(lens: &mut Lens<'s>, value: &Value, types: &[&str], schema: &'s Value) -> Option<Change> {
    for wanted in types {
        let change = match value {
            Value::String(text) => from_text(lens, text, wanted, schema),
            Value::Number(_) if *wanted == "string" => Some(Change::Quoted),
            _ => None,
        };
        if change.is_some() {
            return change;
        }
    }
    if types.contains(&"array") { wrap(lens, value, schema) } else { None }
}

fn from_text<'s>(lens: &mut Lens<'s>, text: &str, wanted: &str, schema: &'s Value) -> Option<Change> {
    let trimmed = text.trim();
    match wanted {
        "integer" => numeric::integer(text).map(Change::Text),
        "number" => numeric::number(text).map(|number| Change::Text(number.to_owned())),
        "boolean" => {
            let only_true = schema["const"] == true || schema["enum"].as_array().is_some_and(|list| *list == [true]);
            let words = if only_true { &["false"][..] } else { &["true", "false"] };
            let word = words.iter().find(|word| trimmed.eq_ignore_ascii_case(word));
            word.map(|word| Change::Text((*word).to_owned()))
        }
        "null" => (trimmed == "null").then(|| Change::Text(trimmed.to_owned())),
        "array" | "object" => {
            if !trimmed.starts_with(if wanted == "array" { '[' } else { '{' }) {
                return None;
            }
            let value = strict::read(trimmed, ArgsLimits::default().depth).ok()?;
            let inner = descend(lens, &value, schema).map(Box::new);
            Some(Change::Unquoted(trimmed.to_owned(), value, inner))
        }
        _ => None,
    }
}

fn wrap<'s>(lens: &mut Lens<'s>, value: &Value, schema: &'s Value) -> Option<Change> {
    // Broken or cut JSON is not an item; it is for the caller to send again.
    let is_json_like = value.as_str().is_some_and(|text| text.trim_start().starts_with(['[', '{']));
    if value.is_null() || is_json_like {
        return None;
    }
    let Some(item) = fits::item(schema, 0) else { return Some(Change::Wrapped(None)) };
    if lens.fits(value, item) {
        return Some(Change::Wrapped(None));
    }
    let inner = fix(lens, value, item)?;
    let fits = changed(value, &inner).is_some_and(|changed| lens.fits(&changed, item));
    fits.then(|| Change::Wrapped(Some(Box::new(inner))))
}
