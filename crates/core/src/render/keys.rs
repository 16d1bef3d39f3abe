//! Property keys that a target refuses: plain ones in their place, and the way back.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    Action,
    dialect::{Construct, KeyScope},
    report::Report,
};
use crate::{ContentHash, json_text};

/// Longest plain key in characters.
const LENGTH: usize = 64;

/// The way back from renamed keys, by place in the arguments. Empty when nothing was renamed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KeyMap {
    /// Original keys of this object by renamed key.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub names: BTreeMap<String, String>,
    /// What holds inside the values of this object, by key as renamed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub inner: BTreeMap<String, KeyMap>,
    /// What holds in the values of all other keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Box<KeyMap>>,
    /// What holds in the entries of this list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<Box<KeyMap>>,
    /// Keys, as renamed, for which `null` means that they are not given: strict modes let no key be left out.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub absent: BTreeSet<String>,
}

impl KeyMap {
    /// Whether nothing was renamed.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
            && self.inner.is_empty()
            && self.values.is_none()
            && self.items.is_none()
            && self.absent.is_empty()
    }

    pub(super) fn absorb(&mut self, other: Self) {
        self.names.extend(other.names);
        self.absent.extend(other.absent);
        for (key, map) in other.inner {
            self.inner.entry(key).or_default().absorb(map);
        }
        for (ours, theirs) in [(&mut self.values, other.values), (&mut self.items, other.items)] {
            if let Some(theirs) = theirs {
                ours.get_or_insert_default().absorb(*theirs);
            }
        }
    }
}

/// The text of arguments with their original keys: renamed ones get their names, and a `null` that stands for nothing goes.
/// `None` where nothing changes. The text stays text, so that numbers keep their digits and a key given twice stays twice
/// and is refused by the strict reader. It is known to be JSON; what it nests is bounded by what the map does.
pub(crate) fn unmapped(keys: &KeyMap, text: &str) -> Option<String> {
    let begin = json_text::skip_blanks(text.as_bytes(), 0);
    let mut parts = Vec::new();
    let (open, close) = match text.as_bytes().get(begin) {
        Some(b'{') => {
            for member in json_text::members(text, begin) {
                let value = &text[member.value];
                if value == "null" && keys.absent.contains(&*member.key) {
                    continue;
                }
                let key = keys.names.get(&*member.key).map(|key| json_text::encoded(key));
                let key = key.as_deref().unwrap_or(member.written);
                let inner = keys.inner.get(&*member.key).or(keys.values.as_deref());
                let inner = inner.filter(|inner| !inner.is_empty()).and_then(|inner| unmapped(inner, value));
                parts.push(format!("{key}:{}", inner.as_deref().unwrap_or(value)));
            }
            ('{', '}')
        }
        Some(b'[') => {
            let inner = keys.items.as_deref()?;
            for item in json_text::items(text, begin) {
                parts.push(unmapped(inner, &text[item.clone()]).unwrap_or_else(|| text[item].to_owned()));
            }
            ('[', ']')
        }
        _ => return None,
    };
    Some(format!("{open}{}{close}", parts.join(",")))
}

/// Whether a key is plain.
pub(super) fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.len() <= LENGTH && key.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b))
}

/// Renames the keys of a schema that are not plain. One key has one new name in the whole tool, and no new name is the
/// name of another key.
pub(super) fn rename(schema: &mut Value, scope: KeyScope, report: &mut Report) -> KeyMap {
    if scope == KeyScope::Nowhere {
        return KeyMap::default();
    }
    let mut found = BTreeSet::new();
    collect(schema, scope, true, &mut found);
    let (plain, odd): (BTreeSet<_>, BTreeSet<_>) = found.into_iter().partition(|key| is_plain(key));
    if odd.is_empty() {
        return KeyMap::default();
    }
    let mut taken = plain;
    let mut names = BTreeMap::new();
    for key in odd {
        let base: String = key
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '_' })
            .take(LENGTH)
            .collect();
        let base = if base.is_empty() { "_".to_owned() } else { base };
        let mut new = base.clone();
        let mut round = 0_u32;
        while taken.contains(&new) || (round == 0 && key.chars().count() > LENGTH) {
            let tail = ContentHash::of_bytes(format!("{round}{key}").as_bytes()).base32(6);
            new = format!("{}_{tail}", base.chars().take(LENGTH - 7).collect::<String>());
            round += 1;
        }
        taken.insert(new.clone());
        names.insert(key, new);
    }
    Renamer { names, scope, report }.schema(schema, true)
}

/// Keywords whose schemas look at the same value.
const SAME: [&str; 4] = ["not", "if", "then", "else"];
const SAME_LISTS: [&str; 3] = ["anyOf", "oneOf", "allOf"];

fn collect(schema: &Value, scope: KeyScope, root: bool, found: &mut BTreeSet<String>) {
    let Some(map) = schema.as_object() else { return };
    let active = root || scope == KeyScope::Everywhere;
    for (key, value) in map {
        match (key.as_str(), value) {
            ("properties" | "dependentSchemas", Value::Object(schemas)) => {
                for (name, schema) in schemas {
                    if active {
                        found.insert(name.clone());
                    }
                    collect(schema, scope, root && key == "dependentSchemas", found);
                }
            }
            ("patternProperties", Value::Object(schemas)) => {
                schemas.values().for_each(|schema| collect(schema, scope, false, found));
            }
            ("dependentRequired", Value::Object(lists)) if active => {
                found.extend(lists.keys().cloned());
                let names = lists.values().filter_map(Value::as_array).flatten().filter_map(Value::as_str);
                found.extend(names.map(str::to_owned));
            }
            ("required", Value::Array(names)) if active => {
                found.extend(names.iter().filter_map(Value::as_str).map(str::to_owned));
            }
            (key, Value::Array(list)) if SAME_LISTS.contains(&key) => {
                for schema in list {
                    collect(schema, scope, root, found);
                }
            }
            ("prefixItems", Value::Array(list)) => list.iter().for_each(|schema| collect(schema, scope, false, found)),
            (key, value) if SAME.contains(&key) => collect(value, scope, root, found),
            (
                "items"
                | "additionalProperties"
                | "contains"
                | "propertyNames"
                | "unevaluatedItems"
                | "unevaluatedProperties",
                value,
            ) => collect(value, scope, false, found),
            _ => {}
        }
    }
}

struct Renamer<'a> {
    names: BTreeMap<String, String>,
    scope: KeyScope,
    report: &'a mut Report,
}

impl Renamer<'_> {
    fn schema(&mut self, schema: &mut Value, root: bool) -> KeyMap {
        let mut keys = KeyMap::default();
        let Some(map) = schema.as_object_mut() else { return keys };
        let active = root || self.scope == KeyScope::Everywhere;
        for (key, value) in map.iter_mut() {
            self.report.enter(key);
            match (key.as_str(), value) {
                ("properties", Value::Object(schemas)) => {
                    for (name, mut schema) in std::mem::take(schemas) {
                        self.report.enter(&name);
                        let inner = self.schema(&mut schema, false);
                        let new = if active { self.name(&name, &mut keys) } else { name };
                        self.report.leave();
                        if !inner.is_empty() {
                            keys.inner.insert(new.clone(), inner);
                        }
                        schemas.insert(new, schema);
                    }
                }
                ("dependentSchemas", Value::Object(schemas)) => {
                    for (name, mut schema) in std::mem::take(schemas) {
                        keys.absorb(self.schema(&mut schema, root));
                        schemas.insert(if active { self.name(&name, &mut keys) } else { name }, schema);
                    }
                }
                ("patternProperties", Value::Object(schemas)) => {
                    for schema in schemas.values_mut() {
                        let inner = self.schema(schema, false);
                        put(&mut keys.values, inner);
                    }
                }
                ("dependentRequired", Value::Object(lists)) if active => {
                    for (name, mut list) in std::mem::take(lists) {
                        self.list(&mut list, &mut keys);
                        lists.insert(self.name(&name, &mut keys), list);
                    }
                }
                ("required", list @ Value::Array(_)) if active => self.list(list, &mut keys),
                (key, Value::Array(list)) if SAME_LISTS.contains(&key) => {
                    for schema in list {
                        keys.absorb(self.schema(schema, root));
                    }
                }
                ("prefixItems", Value::Array(list)) => {
                    for schema in list {
                        let inner = self.schema(schema, false);
                        put(&mut keys.items, inner);
                    }
                }
                (key, value) if SAME.contains(&key) => keys.absorb(self.schema(value, root)),
                ("items" | "contains" | "unevaluatedItems", value) => {
                    let inner = self.schema(value, false);
                    put(&mut keys.items, inner);
                }
                // Its schemas look at keys, which hold no keys themselves.
                ("propertyNames", value) => drop(self.schema(value, false)),
                ("additionalProperties" | "unevaluatedProperties", value) => {
                    let inner = self.schema(value, false);
                    put(&mut keys.values, inner);
                }
                _ => {}
            }
            self.report.leave();
        }
        // What holds for other keys does not hold for declared ones.
        if keys.values.is_some() {
            for name in map.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys) {
                keys.inner.entry(name.clone()).or_default();
            }
        }
        keys
    }

    fn list(&mut self, list: &mut Value, keys: &mut KeyMap) {
        for name in list.as_array_mut().into_iter().flatten() {
            if let Some(text) = name.as_str().filter(|text| self.names.contains_key(*text)) {
                *name = self.name(text, keys).into();
            }
        }
    }

    fn name(&mut self, name: &str, keys: &mut KeyMap) -> String {
        let Some(new) = self.names.get(name).cloned() else { return name.to_owned() };
        if keys.names.insert(new.clone(), name.to_owned()).is_none() {
            self.report.loss(Construct::PropertyKey, Action::Renamed);
        }
        new
    }
}

fn put(slot: &mut Option<Box<KeyMap>>, inner: KeyMap) {
    if !inner.is_empty() {
        slot.get_or_insert_default().absorb(inner);
    }
}
