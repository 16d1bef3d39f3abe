//! Descriptions of tools and arguments.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Code, Findings, Subject};
use crate::{
    disclosure::{clean, clip},
    name::loose,
};

/// Words that say nothing by themselves.
const EMPTY_WORDS: &[&str] = &[
    "a",
    "an",
    "the",
    "this",
    "that",
    "these",
    "and",
    "or",
    "of",
    "to",
    "for",
    "from",
    "in",
    "on",
    "by",
    "with",
    "it",
    "is",
    "tool",
    "function",
    "method",
    "endpoint",
    "api",
    "operation",
    "call",
    "calls",
    "used",
    "use",
    "uses",
    "mcp",
    "via",
    "using",
];
/// Descriptions that were never written.
const PLACEHOLDERS: &[&str] = &[
    "todo",
    "tbd",
    "fixme",
    "description",
    "no description",
    "n/a",
    "na",
    "none",
    "null",
    "undefined",
    "string",
    "test",
    "placeholder",
    "xxx",
];
/// Most names of arguments in one finding.
const NAMED: usize = 10;

pub(super) fn check(tool: &Subject<'_>, findings: &mut Findings) {
    let description = clean(tool.description());
    let bare = description.trim().trim_end_matches(['.', '!', ':']).to_lowercase();
    if bare.is_empty() {
        findings.add(Code::NoDescription, tool.id, "/description", "there is none".to_owned(), "");
    } else if PLACEHOLDERS.contains(&bare.as_str()) {
        findings.add(Code::NoDescription, tool.id, "/description", format!("'{bare}' is a placeholder"), &bare);
    } else if repeats(&tool.id.name, &description) {
        let message = format!("'{}' only repeats the name", clip(&description, 80));
        findings.add(Code::UselessDescription, tool.id, "/description", message, &description);
    }
    parameters(tool, findings);
}

/// Whether a description has no word that the name has not.
fn repeats(name: &str, description: &str) -> bool {
    let known: BTreeSet<String> = words(name).collect();
    words(description).all(|word| EMPTY_WORDS.contains(&word.as_str()) || known.contains(&word))
}

/// Lower-case words without plural endings; names come apart at separators and humps.
fn words(text: &str) -> impl Iterator<Item = String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut lower_before = false;
    for c in text.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && lower_before) {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        lower_before = c.is_lowercase();
    }
    words.push(word);
    words.into_iter().filter(|word| !word.is_empty()).map(|word| {
        let stem =
            word.strip_suffix("es").filter(|stem| stem.ends_with(['s', 'x', 'h'])).or_else(|| word.strip_suffix('s'));
        stem.filter(|stem| stem.len() > 2 && !stem.ends_with('s')).map_or_else(|| word.clone(), str::to_owned)
    })
}

fn parameters(tool: &Subject<'_>, findings: &mut Findings) {
    let Some(properties) = tool.definition["inputSchema"]["properties"].as_object() else { return };
    let mut undescribed = Vec::new();
    let mut untyped = Vec::new();
    for (name, schema) in properties {
        if !is_described(name, schema, &tool.definition["inputSchema"]) {
            undescribed.push(name.as_str());
        }
        if !says_what(schema) {
            untyped.push(name.as_str());
        }
    }
    for (code, names) in [(Code::UndescribedParameters, undescribed), (Code::UntypedParameter, untyped)] {
        if names.is_empty() {
            continue;
        }
        let shown: Vec<String> = names.iter().take(NAMED).map(|name| clip(&clean(name), 64)).collect();
        let more = names.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let message = format!("{} of {}: {}{more}", names.len(), properties.len(), shown.join(", "));
        findings.add(code, tool.id, "/inputSchema/properties", message, &names.join("\n"));
    }
}

/// Whether an argument has a description, at its own place or where it refers to. A title that repeats the name, as
/// generators write it, is none.
fn is_described(name: &str, schema: &Value, root: &Value) -> bool {
    let text = |schema: &Value, key: &str| schema[key].as_str().unwrap_or_default().trim().to_owned();
    let has = |schema: &Value| {
        let title = text(schema, "title");
        !text(schema, "description").is_empty() || (!title.is_empty() && loose(&title) != loose(name))
    };
    let target = || schema["$ref"].as_str().and_then(|to| root.pointer(to.strip_prefix('#')?));
    let mut parts = ["anyOf", "oneOf", "allOf"].iter().filter_map(|key| schema[key].as_array()).flatten();
    has(schema) || target().is_some_and(has) || parts.any(has)
}

fn says_what(schema: &Value) -> bool {
    const SAYING: [&str; 9] = ["type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref", "properties", "items"];
    schema.as_object().is_none_or(|schema| SAYING.iter().any(|key| schema.contains_key(*key)))
}
