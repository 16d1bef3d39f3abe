//! A light reading of a schema, enough to choose between alternatives and to see where a value has the wrong type. The
//! full validation comes afterwards and is not replaced by this.

use serde_json::Value;

use crate::schema::{is_integral, type_name};

/// Looks into one schema with a bounded number of steps, so that no pair of schema and value makes repair expensive.
pub(super) struct Lens<'s> {
    root: &'s Value,
    left: usize,
    depth: usize,
}

/// Subschemas looked at for one call. Real schemas need some dozens.
const STEPS: usize = 20_000;
/// How deep schemas are looked into for one call: parts within parts of a value, and alternatives of the same part within each
/// other, which a schema may nest without end (`allOf` naming itself). Arguments are 64 deep at most; what is deeper here
/// stays as it is, for validation.
const DEPTH: usize = 256;
/// References followed from one place.
const HOPS: usize = 16;

impl<'s> Lens<'s> {
    pub(super) fn new(root: &'s Value) -> Self {
        Self { root, left: STEPS, depth: 0 }
    }

    /// Does one step further in; none when there are no more steps or it would be too deep.
    pub(super) fn within<T>(&mut self, look: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.left = self.left.checked_sub(1)?;
        if self.depth == DEPTH {
            return None;
        }
        self.depth += 1;
        let found = look(self);
        self.depth -= 1;
        Some(found)
    }

    /// The schema behind local references.
    pub(super) fn resolve(&self, mut schema: &'s Value) -> Option<&'s Value> {
        for _ in 0..HOPS {
            match schema.get("$ref") {
                Some(Value::String(reference)) => schema = self.root.pointer(reference.strip_prefix('#')?)?,
                Some(_) => return None,
                None => return Some(schema),
            }
        }
        None
    }

    /// Whether `value` has the types, names and choices that the schema asks for. True in doubt.
    pub(super) fn fits(&mut self, value: &Value, schema: &'s Value) -> bool {
        self.within(|lens| lens.look(value, schema)).unwrap_or(true)
    }

    fn look(&mut self, value: &Value, schema: &'s Value) -> bool {
        let Some(schema) = self.resolve(schema) else { return true };
        if schema == &Value::Bool(false) || !types(schema).is_none_or(|types| is_one_of(value, &types)) {
            return false;
        }
        if schema.get("const").is_some_and(|only| only != value) {
            return false;
        }
        if schema["enum"].as_array().is_some_and(|values| !values.contains(value)) {
            return false;
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(Value::Array(branches)) = schema.get(key)
                && !branches.is_empty()
                && !branches.iter().any(|branch| self.fits(value, branch))
            {
                return false;
            }
        }
        if let Some(Value::Array(all)) = schema.get("allOf")
            && !all.iter().all(|part| self.fits(value, part))
        {
            return false;
        }
        match value {
            Value::Object(map) => {
                let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
                required.iter().filter_map(Value::as_str).all(|name| map.contains_key(name))
                    && map.iter().all(|(name, inner)| match property(schema, name) {
                        Some(schema) => self.fits(inner, schema),
                        None => true,
                    })
            }
            Value::Array(items) => items.iter().enumerate().all(|(index, inner)| match item(schema, index) {
                Some(schema) => self.fits(inner, schema),
                None => true,
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        }
    }
}

/// The types that a schema names, in its order; none when it names no types.
pub(super) fn types(schema: &Value) -> Option<Vec<&str>> {
    let mut types: Vec<&str> = match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => {
            let values = schema["enum"]
                .as_array()
                .map(Vec::as_slice)
                .or_else(|| schema.get("const").map(std::slice::from_ref))?;
            let mut types = Vec::new();
            values.iter().map(type_name).for_each(|name| {
                if !types.contains(&name) {
                    types.push(name);
                }
            });
            types
        }
    };
    if schema["nullable"] == true {
        types.push("null");
    }
    Some(types)
}

/// Whether the value is of one of the types.
pub(super) fn is_one_of(value: &Value, types: &[&str]) -> bool {
    types.iter().any(|name| match value {
        Value::Number(number) => *name == "number" || *name == "integer" && is_integral(number),
        _ => type_name(value) == *name,
    })
}

/// The schema of a property.
pub(super) fn property<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    let properties = schema.get("properties").and_then(|properties| properties.get(name));
    properties.or_else(|| {
        schema.get("additionalProperties").filter(|other| schema["patternProperties"].is_null() || other.is_object())
    })
}

/// The schema of an item.
pub(super) fn item(schema: &Value, index: usize) -> Option<&Value> {
    let listed = schema["prefixItems"].as_array().or_else(|| schema["items"].as_array());
    listed.and_then(|listed| listed.get(index)).or_else(|| schema.get("items").filter(|items| !items.is_array()))
}
