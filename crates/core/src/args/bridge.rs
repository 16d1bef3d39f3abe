//! Unwrapping a call of the bridge's `tool_call`: which tool is meant, and with which arguments. Whether that tool may
//! be called is for whoever holds the name map.

use serde_json::{Value, value::RawValue};

use super::{ArgsError, ArgsLimits, Repair, parse, parse_text, strict};
use crate::{bridge::is_bridge_name, shape::sanitize_text};

/// Keys under which models name the tool; the first is the right one.
const NAMES: [&str; 3] = ["name", "tool", "tool_name"];
/// Keys under which models put the arguments; the first is the right one.
const ARGUMENTS: [&str; 4] = ["arguments", "args", "input", "parameters"];

/// A call as the bridge was asked to make it.
#[derive(Clone, Debug)]
pub struct BridgeCall {
    /// The tool's name, trimmed, not looked up.
    pub name: String,
    /// The tool's arguments: an object, or a plain text for [`super::prepare`]; absent when there are none.
    pub arguments: Option<Box<RawValue>>,
    /// What was repaired.
    pub repairs: Vec<Repair>,
    /// Keys beside the arguments that mean nothing here and are not passed on; for a note to the caller.
    pub ignored: Vec<String>,
}

/// Why no call can be made of what the bridge was given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BridgeError {
    /// No tool is named.
    #[error("'name' is missing; give the name of the tool to call, as tool_search shows it")]
    MissingName,
    /// The bridge is asked to call itself.
    #[error("'{0}' cannot be called through tool_call; call it directly")]
    Recursion(String),
    /// The bridge's own arguments cannot be read.
    #[error("{0}")]
    Call(ArgsError),
    /// The tool's arguments cannot be read.
    #[error("{0}")]
    Arguments(ArgsError),
}

impl BridgeError {
    /// The error's word, stable for programs; the same words as those of the other bridge tools.
    pub fn code(&self) -> &'static str {
        match self {
            Self::MissingName => "missing_name",
            Self::Recursion(_) => "bridge_recursion",
            Self::Call(_) | Self::Arguments(_) => "bad_arguments",
        }
    }
}

/// Reads the bridge's arguments: `{"name": …, "arguments": object | its JSON text | null}`.
///
/// Checked in the order of the golden cases: name, recursion, arguments. Common other keys are understood (`tool`,
/// `args`, …). When there are no arguments, the keys beside the name are them (flattened, cases res-050 to res-052).
pub fn unwrap(raw: Option<&RawValue>) -> Result<BridgeCall, BridgeError> {
    let call = parse(raw).map_err(BridgeError::Call)?;
    let mut repairs = call.repairs;
    let mut entries = strict::entries(call.raw.get()).map_err(BridgeError::Call)?;

    let at = NAMES.iter().find_map(|key| entries.iter().position(|(name, _)| name == key));
    let name = at.and_then(|at| name_of(entries.remove(at).1)).ok_or(BridgeError::MissingName)?;
    if is_bridge_name(&name) {
        return Err(BridgeError::Recursion(name));
    }

    let mut arguments = None;
    for key in ARGUMENTS {
        let Some(at) = entries.iter().position(|(name, _)| name == key) else { continue };
        match inner(entries[at].1, key == ARGUMENTS[0]) {
            Ok(Some((object, inner_repairs))) => {
                if key != ARGUMENTS[0] {
                    repairs.push(Repair { path: format!("/{key}"), from: "other key", to: "arguments" });
                }
                repairs.extend(inner_repairs);
                arguments = Some(object);
                entries.remove(at);
            }
            Ok(None) => {
                entries.remove(at);
                continue;
            }
            Err(error) if key == ARGUMENTS[0] => return Err(BridgeError::Arguments(error)),
            // No object: a flattened argument that happens to be called so.
            Err(_) => continue,
        }
        break;
    }
    // Some models repeat the provider's own envelope.
    entries.retain(|(key, value)| !(key == "type" && value.get() == "\"function\""));
    if arguments.is_none() && !entries.is_empty() {
        repairs.extend(entries.iter().map(|(key, _)| Repair {
            path: format!("/{}", strict::escaped(key)),
            from: "key beside name",
            to: "argument",
        }));
        arguments = Some(object_of(&entries).map_err(BridgeError::Arguments)?);
        entries.clear();
    }
    let ignored = entries.into_iter().take(20).map(|(key, _)| sanitize_text(&key.chars().take(80).collect::<String>()));
    Ok(BridgeCall { name, arguments, repairs, ignored: ignored.collect() })
}

/// Whatever names a tool: text, or a number other than 0 (golden cases res-004 and res-048).
fn name_of(raw: &RawValue) -> Option<String> {
    match serde_json::from_str(raw.get()).ok()? {
        Value::String(name) => Some(name.trim().to_owned()).filter(|name| !name.is_empty()),
        Value::Number(number) if number.as_f64() != Some(0.0) => Some(number.to_string()),
        _ => None,
    }
}

type Inner = Option<(Box<RawValue>, Vec<Repair>)>;

/// The object in an arguments entry; none when it is empty. With `plain`, text that is no JSON passes, for the tool's
/// main field.
fn inner(raw: &RawValue, plain: bool) -> Result<Inner, ArgsError> {
    match parse_text(Some(raw.get()), &ArgsLimits::default()) {
        Ok(arguments) if arguments.value.as_object().is_some_and(serde_json::Map::is_empty) => Ok(None),
        Ok(arguments) => Ok(Some((arguments.raw, arguments.repairs))),
        Err(ArgsError::BadJson { .. } | ArgsError::Trailing { .. }) if plain && is_plain_text(raw) => {
            Ok(Some((raw.to_owned(), Vec::new())))
        }
        Err(error) => Err(error),
    }
}

fn is_plain_text(raw: &RawValue) -> bool {
    serde_json::from_str::<String>(raw.get()).is_ok_and(|text| {
        text.trim_start().starts_with(|first: char| first.is_alphabetic() || first == '/' || first == '.')
    })
}

fn object_of(entries: &[(String, &RawValue)]) -> Result<Box<RawValue>, ArgsError> {
    let mut text = String::from("{");
    for (index, (key, value)) in entries.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        text.push_str(&Value::String(key.clone()).to_string());
        text.push(':');
        text.push_str(value.get());
    }
    text.push('}');
    RawValue::from_string(text).map_err(|error| ArgsError::from_json(&error))
}
