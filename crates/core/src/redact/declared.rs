//! What a schema declares to be secret: `writeOnly: true` and `format: "password"`.
//!
//! Follows the value and the schema side by side, so that only the declared place is hidden. Where that is not certain
//! (alternatives, patterns), all that could apply does. Work is bounded; beyond the bound everything is a secret.

use std::cell::Cell;

use serde_json::Value;

/// Steps from schema to schema over one value.
const STEPS: usize = 200_000;
/// Schemas that apply to one place.
const AT_ONCE: usize = 256;

/// Keywords whose schemas apply to the same value: one, or a list of them.
const SAME: [&str; 6] = ["allOf", "anyOf", "oneOf", "if", "then", "else"];

pub(super) struct Declared<'s> {
    root: Option<&'s Value>,
    left: Cell<usize>,
}

impl<'s> Declared<'s> {
    pub(super) fn new(root: Option<&'s Value>) -> Self {
        Self { root, left: Cell::new(STEPS) }
    }

    /// Adds the schemas that apply to the same value, through references and alternatives, and tells whether one of
    /// them makes it a secret.
    pub(super) fn spread(&self, schemas: &mut Vec<&'s Value>) -> bool {
        let mut at = 0;
        while let Some(&schema) = schemas.get(at) {
            if schema["writeOnly"] == true || schema["format"] == "password" {
                return true;
            }
            let referred = ["$ref", "$dynamicRef", "$recursiveRef"].iter().filter_map(|key| self.target(&schema[*key]));
            let same = SAME.iter().flat_map(|key| match &schema[*key] {
                Value::Array(schemas) => schemas.iter().collect(),
                schema => vec![schema],
            });
            let dependent = schema["dependentSchemas"].as_object().into_iter().flat_map(|map| map.values());
            for next in referred.chain(same).chain(dependent) {
                if next.is_object() && !schemas.iter().any(|known| std::ptr::eq(*known, next)) {
                    if !self.step() || schemas.len() >= AT_ONCE {
                        return true;
                    }
                    schemas.push(next);
                }
            }
            at += 1;
        }
        // Once the steps are used up, what is declared can no longer be told.
        self.root.is_some() && self.left.get() == 0
    }

    /// Whether the steps are used up, so that [`Self::spread`] takes everything for a secret.
    pub(super) fn is_exhausted(&self) -> bool {
        self.left.get() == 0
    }

    /// The schemas that apply to a property.
    pub(super) fn property(&self, schemas: &[&'s Value], name: &str) -> Vec<&'s Value> {
        let mut found = Vec::new();
        for schema in schemas {
            let named = schema["properties"].get(name);
            found.extend(named);
            found.extend(schema["patternProperties"].as_object().into_iter().flat_map(|map| map.values()));
            if named.is_none() {
                found.extend([&schema["additionalProperties"], &schema["unevaluatedProperties"]]);
            }
        }
        self.kept(found)
    }

    /// The schemas that apply to the items of a list, whichever item it is.
    pub(super) fn items(&self, schemas: &[&'s Value]) -> Vec<&'s Value> {
        let mut found = Vec::new();
        for schema in schemas {
            for key in ["items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"] {
                match &schema[key] {
                    Value::Array(schemas) => found.extend(schemas),
                    schema => found.push(schema),
                }
            }
        }
        self.kept(found)
    }

    fn kept(&self, mut found: Vec<&'s Value>) -> Vec<&'s Value> {
        found.retain(|schema| schema.is_object());
        found.truncate(AT_ONCE);
        let left = self.left.get().saturating_sub(found.len());
        self.left.set(left);
        found
    }

    fn step(&self) -> bool {
        let left = self.left.get().saturating_sub(1);
        self.left.set(left);
        left > 0
    }

    /// What a local reference means.
    fn target(&self, reference: &Value) -> Option<&'s Value> {
        let pointer = reference.as_str()?.strip_prefix('#')?;
        let pointer = super::encoding::percent(pointer.as_bytes())
            .map_or_else(|| Some(pointer.to_owned()), |view| String::from_utf8(view.bytes).ok())?;
        self.root?.pointer(&pointer)
    }
}
