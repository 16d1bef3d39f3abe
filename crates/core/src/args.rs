//! Arguments of a call: read strictly, repaired where the intent is certain, never guessed, every repair reported.
//!
//! The text is kept beside the value and is what goes on to the tool, so digits and key order reach it as they were
//! written; only a repair rewrites it, and then only the part that was repaired. Reading refuses what two JSON readers
//! could understand differently (threat T18 of the security reference).

pub mod bridge;
pub mod canonical;
mod change;
mod coerce;
mod fits;
mod numeric;
mod strict;

use serde::Serialize;
use serde_json::{Value, value::RawValue};

pub use coerce::coerce;
pub use strict::ArgsError;

/// Limits on the arguments of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgsLimits {
    /// Largest text, in bytes. Default 1 MiB (T16).
    pub bytes: usize,
    /// Deepest nesting of objects and lists, at most 120. Default 64.
    pub depth: usize,
}

impl Default for ArgsLimits {
    fn default() -> Self {
        Self { bytes: 1024 * 1024, depth: 64 }
    }
}

/// One change made to the arguments as written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Repair {
    /// JSON Pointer of what was changed; empty for the whole.
    pub path: String,
    /// What it was: a JSON type, or a word such as `blank text`.
    pub from: &'static str,
    /// What it is now.
    pub to: &'static str,
}

impl Repair {
    fn whole(from: &'static str) -> Self {
        Self { path: String::new(), from, to: "object" }
    }
}

/// The arguments of one call: always an object.
#[derive(Clone, Debug)]
pub struct Arguments {
    /// The JSON text, as written unless repaired. This is what a tool receives.
    pub raw: Box<RawValue>,
    /// The same as a value, for looking. Numbers beyond 64 bits lose digits here, and only here.
    pub value: Value,
    /// What was repaired, in order.
    pub repairs: Vec<Repair>,
}

impl Arguments {
    fn empty(repairs: Vec<Repair>) -> Self {
        let raw = RawValue::from_string("{}".to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned());
        Self { raw, value: Value::Object(serde_json::Map::new()), repairs }
    }
}

/// Reads arguments within the default limits. See [`parse_text`].
pub fn parse(raw: Option<&RawValue>) -> Result<Arguments, ArgsError> {
    let limits = ArgsLimits::default();
    // A raw value is exactly one value: what begins an object is one, and is read once.
    match raw.filter(|raw| raw.get().starts_with('{') && raw.get().len() <= limits.bytes) {
        Some(object) => {
            let value = strict::read(object.get(), limits.depth)?;
            Ok(Arguments { raw: object.to_owned(), value, repairs: Vec::new() })
        }
        None => parse_text(raw.map(RawValue::get), &limits),
    }
}

/// Reads arguments, without regard to a schema.
///
/// Absent, `null` and blank text mean no arguments. A JSON string that holds an object is that object. The same object
/// written several times is one (golden case res-024). Everything else that is not exactly one object is refused:
/// text that ends early (it is never closed by guess, or half a command would run), other values behind the first, and
/// a key given twice anywhere, escaped or not.
pub fn parse_text(text: Option<&str>, limits: &ArgsLimits) -> Result<Arguments, ArgsError> {
    let Some(text) = text else { return Ok(Arguments::empty(Vec::new())) };
    if text.len() > limits.bytes {
        return Err(ArgsError::TooLarge { bytes: text.len(), limit: limits.bytes });
    }
    if is_blank(text) {
        return Ok(Arguments::empty(vec![Repair::whole("blank text")]));
    }
    let (value, mut repairs, span) = one_value(text, limits)?;
    match value {
        Value::Null => Ok(Arguments::empty(vec![Repair::whole("null")])),
        Value::Object(_) => Ok(Arguments { raw: owned(span)?, value, repairs }),
        Value::String(inner) => {
            if is_blank(&inner) {
                return Ok(Arguments::empty(vec![Repair::whole("blank text")]));
            }
            let (value, inner_repairs, span) = one_value(&inner, limits)?;
            match value {
                Value::Null => Ok(Arguments::empty(vec![Repair::whole("text of null")])),
                Value::Object(_) => {
                    repairs.push(Repair::whole("text of an object"));
                    repairs.extend(inner_repairs);
                    Ok(Arguments { raw: owned(span)?, value, repairs })
                }
                other => Err(ArgsError::NotAnObject { kind: crate::schema::type_name(&other) }),
            }
        }
        other => Err(ArgsError::NotAnObject { kind: crate::schema::type_name(&other) }),
    }
}

/// Reads and repairs arguments for a tool: [`parse`], then [`coerce`]. In addition a plain text that is no JSON at all
/// becomes the tool's main field: its only required property, if that is a string (case 113 of the OpenClaw reference).
pub fn prepare(raw: Option<&RawValue>, schema: &Value) -> Result<Arguments, ArgsError> {
    let mut arguments = match parse(raw) {
        Ok(arguments) => arguments,
        Err(error) => match coerce::main_field(raw.map(RawValue::get), schema) {
            Some(arguments) => return Ok(arguments),
            None => return Err(error),
        },
    };
    coerce(&mut arguments, schema);
    Ok(arguments)
}

fn is_blank(text: &str) -> bool {
    text.chars().all(char::is_whitespace)
}

fn owned(text: &str) -> Result<Box<RawValue>, ArgsError> {
    RawValue::from_string(text.to_owned()).map_err(|error| ArgsError::from_json(&error))
}

/// Reads one value; the span is its text without what surrounds it.
fn one_value<'t>(text: &'t str, limits: &ArgsLimits) -> Result<(Value, Vec<Repair>, &'t str), ArgsError> {
    let mut spans = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let Some(Ok(first)) = spans.next() else {
        // The strict reader finds the same fault, and names the depth where that is the fault.
        strict::read(text, limits.depth)?;
        return Err(ArgsError::Truncated { line: 1, column: text.chars().count() });
    };
    let first = first.get();
    let mut repairs = Vec::new();
    while !is_blank(&text[spans.byte_offset()..]) {
        let offset = spans.byte_offset();
        let repeated = first.starts_with('{') && matches!(spans.next(), Some(Ok(next)) if next.get() == first);
        if !repeated {
            return Err(ArgsError::trailing(text, offset));
        }
        if repairs.is_empty() {
            repairs.push(Repair::whole("repeated object"));
        }
    }
    Ok((strict::read(first, limits.depth)?, repairs, first))
}

#[cfg(test)]
mod tests;
