//! The first step of lowering: one tree of schemas without references, every keyword in the form it must have.
//!
//! References inside the schema are replaced by what they name. Where one leads back into a schema that is being
//! written, and where schemas nest too deeply, the place stays open.

use serde_json::{Map, Value, json};

use super::{
    Action, RefusedTool,
    dialect::Construct,
    keyword::{self, Form, TYPES},
    merge::{merge, type_value, types},
    report::Report,
};

/// Deepest nesting of schemas; deeper ones stay open.
pub(super) const DEPTH: usize = 32;
/// Largest schema without references, by [`weight`].
pub(super) const WEIGHT: usize = 20_000;

/// Writes the schema without references.
pub(super) fn inline(root: &Value, report: &mut Report) -> Result<Value, RefusedTool> {
    Inliner { root, open: Vec::new(), report, nodes: 0 }.schema(root)
}

struct Inliner<'a, 'r> {
    root: &'a Value,
    open: Vec<&'a Value>,
    report: &'r mut Report,
    nodes: usize,
}

impl<'a> Inliner<'a, '_> {
    fn schema(&mut self, schema: &'a Value) -> Result<Value, RefusedTool> {
        self.nodes += 1;
        if self.nodes > WEIGHT {
            return Err(RefusedTool::TooManySchemas);
        }
        match schema {
            Value::Bool(_) => Ok(schema.clone()),
            Value::String(word) if TYPES.contains(&word.as_str()) => Ok(json!({"type": word})),
            Value::Object(_) if self.open.len() >= DEPTH => {
                self.report.loss(Construct::Nesting, Action::Cut);
                Ok(json!({}))
            }
            Value::Object(map) => {
                self.open.push(schema);
                let result = self.object(map);
                self.open.pop();
                result.map(Value::Object)
            }
            _ => {
                self.report.loss(Construct::Malformed, Action::Dropped);
                Ok(json!({}))
            }
        }
    }

    fn object(&mut self, map: &'a Map<String, Value>) -> Result<Map<String, Value>, RefusedTool> {
        let mut out = Map::with_capacity(map.len());
        for (key, value) in map {
            if key != "$ref" {
                self.keyword(key, value, &mut out)?;
            }
        }
        if let Some(reference) = map.get("$ref") {
            let target = reference.as_str().and_then(|text| resolve(self.root, text));
            match target {
                Some(target) if self.open.iter().any(|open| std::ptr::eq(*open, target)) => {
                    self.report.loss(Construct::Recursion, Action::Cut);
                    if target["type"] == "object" || target["properties"].is_object() {
                        out.insert("type".to_owned(), "object".into());
                    }
                }
                Some(target) => {
                    // Constraints on both sides are merged, which is not always the same as both.
                    if out.keys().any(|key| !is_annotation(key)) {
                        self.report.loss(Construct::Reference, Action::Rewritten);
                    }
                    match self.schema(target)? {
                        Value::Object(target) => {
                            let mut lost = Vec::new();
                            merge(&mut out, target, &mut lost);
                            for key in lost {
                                self.report.loss_at(&key, Construct::Reference, Action::Dropped);
                            }
                        }
                        Value::Bool(false) => self.report.loss(Construct::BooleanSchema, Action::Cut),
                        _ => {}
                    }
                }
                None => self.report.loss(Construct::ForeignReference, Action::Cut),
            }
        }
        draft4_bound(&mut out, "exclusiveMinimum", "minimum");
        draft4_bound(&mut out, "exclusiveMaximum", "maximum");
        out.retain(|key, value| {
            let fits = keyword::find(key).is_none_or(|keyword| keyword.form.fits(value));
            if !fits {
                self.report.loss(Construct::Malformed, Action::Dropped);
            }
            fits
        });
        Ok(out)
    }

    fn keyword(&mut self, key: &str, value: &'a Value, out: &mut Map<String, Value>) -> Result<(), RefusedTool> {
        let form = keyword::find(key).map(|keyword| keyword.form);
        self.report.enter(key);
        let read = match (key, value) {
            ("$defs" | "definitions", _) => None,
            ("type", value) => self.types(value),
            // Lists of schemas by position, as drafts before 2020-12 wrote them.
            ("items", Value::Array(list)) => {
                if !list.is_empty() {
                    out.insert("prefixItems".to_owned(), self.list(list)?);
                }
                None
            }
            ("additionalItems", value @ (Value::Bool(_) | Value::Object(_))) => {
                let rest = self.schema(value)?;
                if !out.contains_key("items") {
                    out.insert("items".to_owned(), rest);
                }
                None
            }
            ("dependencies", Value::Object(map)) => {
                for (name, dependency) in map {
                    let (keyword, entry) = match dependency {
                        Value::Array(_) => ("dependentRequired", dependency.clone()),
                        other => ("dependentSchemas", self.schema(other)?),
                    };
                    if let Value::Object(known) = out.entry(keyword).or_insert_with(|| json!({})) {
                        known.insert(name.clone(), entry);
                    }
                }
                None
            }
            (_, Value::Array(list)) if form == Some(Form::Schemas) => Some(self.list(list)?),
            (_, Value::Object(map)) if form == Some(Form::SchemaMap) => {
                let mut schemas = Map::with_capacity(map.len());
                for (name, schema) in map {
                    self.report.enter(name);
                    schemas.insert(name.clone(), self.schema(schema)?);
                    self.report.leave();
                }
                Some(Value::Object(schemas))
            }
            (_, value) if form == Some(Form::Schema) => Some(self.schema(value)?),
            (_, value) => {
                self.nodes += weight(value);
                Some(value.clone())
            }
        };
        self.report.leave();
        if let Some(value) = read {
            out.insert(key.to_owned(), value);
        }
        Ok(())
    }

    fn list(&mut self, list: &'a [Value]) -> Result<Value, RefusedTool> {
        let mut schemas = Vec::with_capacity(list.len().min(64));
        for (index, schema) in list.iter().enumerate() {
            self.report.enter(&index.to_string());
            schemas.push(self.schema(schema)?);
            self.report.leave();
        }
        Ok(Value::Array(schemas))
    }

    fn types(&mut self, value: &Value) -> Option<Value> {
        let written = types(Some(value));
        let mut known: Vec<String> = Vec::new();
        for word in &written {
            let word = word.to_ascii_lowercase();
            if TYPES.contains(&word.as_str()) && !known.contains(&word) {
                known.push(word);
            }
        }
        if written.is_empty() || known.len() < written.len() {
            self.report.loss(Construct::Malformed, Action::Dropped);
        }
        (!known.is_empty()).then(|| type_value(known))
    }
}

/// Size of a value: one for each value in it, and one for every 64 bytes of text.
pub(super) fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => 1 + text.len() / 64,
        Value::Array(list) => list.iter().fold(1, |sum, value| sum + weight(value)),
        Value::Object(map) => map.values().fold(1, |sum, value| sum + weight(value)),
        _ => 1,
    }
}

fn is_annotation(key: &str) -> bool {
    matches!(key, "title" | "description" | "default" | "examples" | "deprecated" | "readOnly" | "writeOnly")
}

/// `minimum` with `exclusiveMinimum: true` is how draft 4 wrote an exclusive bound.
fn draft4_bound(map: &mut Map<String, Value>, exclusive: &str, bound: &str) {
    match map.get(exclusive) {
        Some(Value::Bool(true)) if map.get(bound).is_some_and(Value::is_number) => {
            if let Some(value) = map.remove(bound) {
                map.insert(exclusive.to_owned(), value);
            }
        }
        Some(Value::Bool(_)) => drop(map.remove(exclusive)),
        _ => {}
    }
}

/// What a reference inside the schema names: a JSON Pointer or an anchor.
fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let fragment = percent_decoded(reference.strip_prefix('#')?)?;
    if fragment.is_empty() || fragment.starts_with('/') {
        return root.pointer(&fragment);
    }
    ["$defs", "definitions"]
        .iter()
        .filter_map(|key| root.get(key)?.as_object())
        .flat_map(Map::values)
        .find(|schema| schema["$anchor"] == fragment.as_str() || schema["$id"] == reference)
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first == b'%'
            && let [high, low, tail @ ..] = tail
            && let (Some(high), Some(low)) = (char::from(*high).to_digit(16), char::from(*low).to_digit(16))
        {
            bytes.push((high * 16 + low) as u8);
            rest = tail;
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok()
}
