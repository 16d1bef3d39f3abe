//! How a schema is read for validation: a copy without what validation does not need, where forms that servers in the
//! field use and whose meaning is plain are brought into the declared draft. The original stays what is shown.

use std::{borrow::Cow, collections::HashSet};

use jsonschema::Draft;
use serde_json::{Map, Value};

use super::{graph::Graph, keywords, validator::Unchecked};

/// Keywords without influence on whether a value is valid. They may be of any form, and dropping them keeps the
/// compiled schema small. Identifiers go too: references are local, so every pointer counts from the root.
const ANNOTATIONS: [&str; 18] = [
    "$schema",
    "$vocabulary",
    "$comment",
    "title",
    "description",
    "default",
    "example",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "discriminator",
    "xml",
    "externalDocs",
    "nullable",
];

/// The draft a schema declares, 2020-12 if it declares none or an unknown one (MCP 2025-11-25).
pub(super) fn draft_of(schema: &Value) -> Draft {
    let declared = schema.get("$schema").and_then(Value::as_str).unwrap_or_default();
    let name = declared.trim_end_matches('#').trim_start_matches("https://").trim_start_matches("http://");
    match name {
        "json-schema.org/draft-04/schema" => Draft::Draft4,
        "json-schema.org/draft-06/schema" => Draft::Draft6,
        "json-schema.org/draft-07/schema" => Draft::Draft7,
        "json-schema.org/draft/2019-09/schema" => Draft::Draft201909,
        _ => Draft::Draft202012,
    }
}

/// Builds the copy. `usable` tells whether the engine can match a pattern.
pub(super) fn read(
    schema: &Value,
    graph: &Graph<'_>,
    draft: Draft,
    usable: &dyn Fn(&str) -> bool,
) -> (Value, Vec<Unchecked>) {
    let mut copy = schema.clone();
    let mut unchecked = Vec::new();
    let mut places: Vec<_> = (0..graph.nodes.len()).map(|node| graph.pointer(node)).collect();
    // Innermost first: moving a list of `items` changes the pointers of what lies within.
    places.sort_by_key(|place| std::cmp::Reverse(place.len()));
    for place in places {
        let Some(Value::Object(keywords)) = at(&mut copy, &place) else { continue };
        let mut reader = Reader { draft, usable, place: &place, unchecked: &mut unchecked };
        reader.tidy(keywords);
    }
    (copy, unchecked)
}

fn at<'v>(mut value: &'v mut Value, place: &[Cow<'_, str>]) -> Option<&'v mut Value> {
    for step in place {
        value = match value {
            Value::Object(map) => map.get_mut(step.as_ref())?,
            Value::Array(items) => items.get_mut(step.parse::<usize>().ok()?)?,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
        };
    }
    Some(value)
}

struct Reader<'r> {
    draft: Draft,
    usable: &'r dyn Fn(&str) -> bool,
    place: &'r [Cow<'r, str>],
    unchecked: &'r mut Vec<Unchecked>,
}

impl Reader<'_> {
    fn drop_unchecked(&mut self, keywords: &mut Map<String, Value>, keyword: &str, why: &'static str) {
        if keywords.shift_remove(keyword).is_some() {
            self.note(keyword, why);
        }
    }

    fn note(&mut self, keyword: &str, why: &'static str) {
        let escaped = self.place.iter().map(|step| format!("/{}", step.replace('~', "~0").replace('/', "~1")));
        self.unchecked.push(Unchecked { place: escaped.collect(), keyword: keyword.to_owned(), why });
    }

    fn tidy(&mut self, keywords: &mut Map<String, Value>) {
        if keywords.get("nullable") == Some(&Value::Bool(true)) {
            allow_null(keywords);
        }
        for key in ANNOTATIONS {
            keywords.shift_remove(key);
        }
        let old_anchor = matches!(self.draft, Draft::Draft4 | Draft::Draft6 | Draft::Draft7);
        for key in ["$id", "id"] {
            let is_anchor = keywords.get(key).and_then(Value::as_str).is_some_and(|id| id.starts_with('#'));
            if !(is_anchor && old_anchor) {
                keywords.shift_remove(key);
            }
        }
        self.required(keywords);
        self.exclusive(keywords, "exclusiveMinimum", "minimum");
        self.exclusive(keywords, "exclusiveMaximum", "maximum");
        self.items(keywords);
        self.patterns(keywords);
        for key in ["allOf", "anyOf", "oneOf", "prefixItems", "enum"] {
            if keywords.get(key).and_then(Value::as_array).is_some_and(Vec::is_empty) {
                self.drop_unchecked(keywords, key, "it is empty");
            }
        }
        for key in ["enum", "type"] {
            if let Some(Value::Array(values)) = keywords.get_mut(key) {
                distinct(values);
            }
        }
        if keywords.get("format").is_some_and(|format| !format.is_string()) {
            keywords.shift_remove("format");
        }
    }

    /// Only texts are names; anything else names nothing (golden cases val-016 and val-017).
    fn required(&mut self, keywords: &mut Map<String, Value>) {
        match keywords.get_mut("required") {
            None => {}
            Some(Value::Array(names)) => {
                let count = names.len();
                names.retain(Value::is_string);
                let lost = names.len() < count;
                distinct(names);
                let empty = names.is_empty();
                if lost {
                    self.note("required", "some entries are not names");
                }
                if empty {
                    keywords.shift_remove("required");
                }
            }
            // `required: true` of draft 3 stands at the property and is widely ignored.
            Some(_) => self.drop_unchecked(keywords, "required", "it is not a list of names"),
        }
    }

    /// Draft 4 had a boolean beside the bound, later drafts have the bound itself; either is read in any draft.
    fn exclusive(&mut self, keywords: &mut Map<String, Value>, exclusive: &str, bound: &str) {
        let draft4 = self.draft == Draft::Draft4;
        match keywords.get(exclusive) {
            Some(Value::Bool(true)) if !draft4 => match keywords.shift_remove(bound) {
                Some(limit) => {
                    keywords.insert(exclusive.to_owned(), limit);
                }
                None => self.drop_unchecked(keywords, exclusive, "there is no bound beside it"),
            },
            Some(Value::Bool(false)) if !draft4 => {
                keywords.shift_remove(exclusive);
            }
            Some(Value::Bool(_)) if draft4 && !keywords.contains_key(bound) => {
                keywords.shift_remove(exclusive);
            }
            Some(limit) if draft4 && limit.is_number() => {
                let limit = limit.clone();
                keywords.insert(bound.to_owned(), limit);
                keywords.insert(exclusive.to_owned(), Value::Bool(true));
            }
            _ => {}
        }
    }

    /// A list under `items` became `prefixItems` in 2020-12, and `additionalItems` became `items`.
    fn items(&mut self, keywords: &mut Map<String, Value>) {
        let Some(Value::Array(list)) = keywords.get("items") else { return };
        let empty = list.is_empty();
        if self.draft != Draft::Draft202012 && !empty {
            return;
        }
        let list = keywords.shift_remove("items");
        if self.draft == Draft::Draft202012 {
            if let Some(rest) = keywords.shift_remove("additionalItems") {
                keywords.insert("items".to_owned(), rest);
            }
            if let Some(list) = list.filter(|_| !empty) {
                keywords.entry("prefixItems").or_insert(list);
            }
        }
    }

    fn patterns(&mut self, keywords: &mut Map<String, Value>) {
        const WHY: &str = "the pattern cannot be matched in linear time or is not valid";
        if keywords.get("pattern").and_then(Value::as_str).is_some_and(|pattern| !(self.usable)(pattern)) {
            self.drop_unchecked(keywords, "pattern", WHY);
        }
        let Some(Value::Object(map)) = keywords.get_mut("patternProperties") else { return };
        let count = map.len();
        map.retain(|pattern, _| (self.usable)(pattern));
        if map.len() < count {
            self.note("patternProperties", WHY);
            // What the lost pattern allowed must not be refused as unknown.
            keywords.shift_remove("additionalProperties");
            keywords.shift_remove("unevaluatedProperties");
        }
    }
}

/// OpenAPI 3.0 `nullable`.
fn allow_null(keywords: &mut Map<String, Value>) {
    let null = Value::String("null".to_owned());
    match keywords.get_mut("type") {
        Some(Value::Array(names)) => names.push(null),
        Some(name) => *name = Value::Array(vec![name.take(), null]),
        None => {}
    }
    if let Some(Value::Array(values)) = keywords.get_mut("enum") {
        values.push(Value::Null);
    }
}

fn distinct(values: &mut Vec<Value>) {
    let mut seen = HashSet::new();
    values.retain(|value| seen.insert(value.to_string()));
}

/// Every pattern of the schema, once.
pub(super) fn patterns<'a>(graph: &Graph<'a>) -> HashSet<&'a str> {
    let mut found = HashSet::new();
    for keywords in graph.nodes.iter().filter_map(|node| node.schema.as_object()) {
        for (key, value) in keywords {
            match (keywords::form(key), value) {
                (Some(keywords::Form::Pattern), Value::String(pattern)) => {
                    found.insert(pattern.as_str());
                }
                (Some(keywords::Form::PatternProperties), Value::Object(map)) => {
                    found.extend(map.keys().map(String::as_str));
                }
                _ => {}
            }
        }
    }
    found
}
