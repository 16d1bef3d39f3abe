//! Headers that mirror the body of a modern request, and the check that they do (T20; MCP 2026-07-28, request metadata).

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use axum::http::{HeaderMap, HeaderName};
use base64::{Engine, engine::general_purpose::STANDARD};
use parking_lot::Mutex;
use serde_json::{Map, Value};
use toolcrib_mcp::server::ToolList;

use crate::guard::single;

const PARAM_PREFIX: &str = "mcp-param-";
const ANNOTATION: &str = "x-mcp-header";
// Deeper annotations are not looked for, and then not enforced.
const MAX_DEPTH: usize = 32;

/// Whether any header is there that mirrors an argument.
pub(crate) fn has_params(headers: &HeaderMap) -> bool {
    headers.keys().any(|name| name.as_str().starts_with(PARAM_PREFIX))
}

/// Checks that a header is there once and says `wants`.
pub(crate) fn check(headers: &HeaderMap, name: &HeaderName, wants: &str) -> Result<(), String> {
    let value = match single(headers, name) {
        Ok(Some(value)) => value,
        Ok(None) => return Err(format!("header {name} is missing; it must be {wants:?}, as in the body")),
        Err(()) => return Err(format!("header {name} is given twice or has characters that no header may have")),
    };
    match decode(value) {
        Some(value) if value == wants => Ok(()),
        Some(value) => Err(format!("header {name} is {value:?}, but the body says {wants:?}")),
        None => Err(format!("header {name} is not valid base64 between =?base64? and ?=")),
    }
}

/// A header value as it was meant: what stands between the base64 markers is decoded, everything else is literal.
fn decode(value: &str) -> Option<String> {
    match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(encoded) => STANDARD.decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok()),
        None => Some(value.to_owned()),
    }
}

/// A tool argument that clients repeat in a header.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mirrored {
    // Lower case, with the prefix.
    header: String,
    path: Vec<String>,
    integer: bool,
}

/// The mirrored arguments of a list's tools, by tool name.
#[derive(Debug, Default)]
pub(crate) struct Mirrors(HashMap<String, Vec<Mirrored>>);

impl Mirrors {
    fn of(list: &ToolList) -> Self {
        let mut all = HashMap::new();
        for tool in list.tools.iter().filter(|tool| tool.get().contains(ANNOTATION)) {
            let Ok(Value::Object(tool)) = serde_json::from_str(tool.get()) else { continue };
            let (Some(name), Some(schema)) = (tool.get("name").and_then(Value::as_str), tool.get("inputSchema")) else {
                continue;
            };
            if let Some(mirrored) = annotations(schema) {
                all.insert(name.to_owned(), mirrored);
            }
        }
        Self(all)
    }

    /// Checks the headers of a call. Headers that mirror nothing are ignored, as the protocol asks.
    pub(crate) fn check(&self, tool: &str, arguments: Option<&str>, headers: &HeaderMap) -> Result<(), String> {
        let Some(mirrored) = self.0.get(tool) else { return Ok(()) };
        let arguments: Value = arguments.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        mirrored.iter().try_for_each(|mirrored| mirrored.check(&arguments, headers))
    }
}

impl Mirrored {
    fn check(&self, arguments: &Value, headers: &HeaderMap) -> Result<(), String> {
        let name = &self.header;
        let value = self.path.iter().try_fold(arguments, |value, key| value.get(key));
        let body = match value {
            Some(Value::String(text)) => Some(text.clone()),
            Some(scalar @ (Value::Bool(_) | Value::Number(_))) => Some(scalar.to_string()),
            // What is not there or cannot be put in a header is left out.
            None | Some(Value::Null | Value::Array(_) | Value::Object(_)) => None,
        };
        let mut values = headers.get_all(name.as_str()).iter();
        let header = match (values.next(), values.next()) {
            (first, None) => first.map(|value| value.to_str().ok().and_then(decode)),
            (_, Some(_)) => return Err(format!("header {name} is given twice")),
        };
        match (header, body) {
            (None, None) => Ok(()),
            (None, Some(body)) => Err(format!("header {name} is missing; it must be {body:?}, as in the body")),
            (Some(None), _) => Err(format!("header {name} has characters or base64 that no header may have")),
            (Some(Some(value)), None) => Err(format!("header {name} is {value:?}, but the body has no such argument")),
            (Some(Some(value)), Some(body)) => {
                let same = value == body
                    || self.integer && integer(&value).is_some_and(|number| integer(&body) == Some(number));
                if same { Ok(()) } else { Err(format!("header {name} is {value:?}, but the body says {body:?}")) }
            }
        }
    }
}

// `42` and `42.0` are the same integer.
fn integer(text: &str) -> Option<i128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    if fraction.is_empty() || fraction.bytes().any(|digit| digit != b'0') {
        return None;
    }
    whole.parse().ok()
}

// The annotated properties of a schema; `None` when there are none or any annotation is invalid: clients must then drop
// the tool and send no such headers.
fn annotations(schema: &Value) -> Option<Vec<Mirrored>> {
    let mut found = Vec::new();
    collect(schema, &mut Vec::new(), &mut found)?;
    let mut names: Vec<&str> = found.iter().map(|mirrored| mirrored.header.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    if found.is_empty() || names.len() != found.len() || count(schema, false, 0) != found.len() {
        return None;
    }
    Some(found)
}

fn collect(schema: &Value, path: &mut Vec<String>, found: &mut Vec<Mirrored>) -> Option<()> {
    if path.len() > MAX_DEPTH {
        return None;
    }
    let Some(Value::Object(properties)) = schema.get("properties") else { return Some(()) };
    for (key, property) in properties {
        path.push(key.clone());
        if let Some(name) = property.get(ANNOTATION) {
            let name = name.as_str().filter(|name| is_token(name))?;
            let kind = property.get("type").and_then(Value::as_str)?;
            if !matches!(kind, "string" | "integer" | "boolean") {
                return None;
            }
            let header = format!("{PARAM_PREFIX}{}", name.to_ascii_lowercase());
            found.push(Mirrored { header, path: path.clone(), integer: kind == "integer" });
        }
        collect(property, path, found)?;
        path.pop();
    }
    Some(())
}

// Annotations anywhere in the schema. A property may be called like the annotation.
fn count(value: &Value, names_are_properties: bool, depth: usize) -> usize {
    if depth > 2 * MAX_DEPTH {
        return 0;
    }
    match value {
        Value::Object(members) => count_members(members, names_are_properties, depth),
        Value::Array(items) => items.iter().map(|item| count(item, false, depth + 1)).sum(),
        _ => 0,
    }
}

fn count_members(members: &Map<String, Value>, names_are_properties: bool, depth: usize) -> usize {
    let own = usize::from(!names_are_properties && members.contains_key(ANNOTATION));
    let inner =
        members.iter().map(|(key, value)| count(value, !names_are_properties && key == "properties", depth + 1));
    own + inner.sum::<usize>()
}

// RFC 9110, token.
fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 100
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// The mirrors of the last few lists.
#[derive(Default)]
pub(crate) struct MirrorCache(Mutex<VecDeque<(String, Arc<Mirrors>)>>);

impl MirrorCache {
    const SIZE: usize = 16;

    pub(crate) fn of(&self, list: &ToolList) -> Arc<Mirrors> {
        if let Some((_, mirrors)) = self.0.lock().iter().find(|(hash, _)| *hash == list.hash) {
            return mirrors.clone();
        }
        let mirrors = Arc::new(Mirrors::of(list));
        let mut cache = self.0.lock();
        cache.truncate(Self::SIZE - 1);
        cache.push_front((list.hash.clone(), mirrors.clone()));
        mirrors
    }
}

#[cfg(test)]
mod tests;
