//! The way back from what a target was shown: names, keys, and what can still be loaded.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::{Value, value::RawValue};

use crate::{
    bridge::TOOL_SEARCH,
    render::{KeyMap, Target},
};

/// A definition that the target is given only when a search finds it.
#[derive(Clone, Debug, PartialEq)]
pub struct Loadable {
    /// The name at the target.
    pub own: String,
    /// The definition in the target's shape.
    pub definition: Value,
    /// The group it belongs to.
    pub group: String,
}

/// The way back from a rendered set.
#[derive(Clone, Debug, PartialEq)]
pub struct WayBack {
    target: Target,
    known: BTreeSet<String>,
    names: BTreeMap<String, String>,
    keys: BTreeMap<String, KeyMap>,
    references: bool,
    loadable: BTreeMap<String, Loadable>,
}

impl WayBack {
    /// A way back: all exposed names that were rendered, those that the target knows by another name (exposed by own),
    /// and renamed keys by exposed name.
    pub fn new(
        target: Target,
        known: impl IntoIterator<Item = String>,
        names: BTreeMap<String, String>,
        keys: BTreeMap<String, KeyMap>,
    ) -> Self {
        Self { target, known: known.into_iter().collect(), names, keys, references: false, loadable: BTreeMap::new() }
    }

    /// The same for a set in which searches are answered with references to tools that are in the list, deferred.
    #[must_use]
    pub fn with_references(mut self) -> Self {
        self.references = true;
        self
    }

    /// The same for a set in which searches are answered with definitions; by exposed name.
    #[must_use]
    pub fn with_loadable(mut self, loadable: BTreeMap<String, Loadable>) -> Self {
        self.known.extend(loadable.keys().cloned());
        self.loadable = loadable;
        self
    }

    /// Whom the set was rendered for.
    pub fn target(&self) -> Target {
        self.target
    }

    /// The exposed name for a name at the target, and whether the set has it. Models also write the exposed name where
    /// a listing shows it.
    pub fn exposed(&self, own: &str) -> (String, bool) {
        if let Some(name) = self.names.get(own) {
            return (name.clone(), true);
        }
        (own.to_owned(), self.known.contains(own) || self.loadable.contains_key(own))
    }

    /// The name at the target for an exposed name.
    pub fn own<'a>(&'a self, exposed: &'a str) -> &'a str {
        self.names.iter().find(|(_, name)| *name == exposed).map_or(exposed, |(own, _)| own)
    }

    /// Whether the set has a tool of this exposed name.
    pub(super) fn knows(&self, exposed: &str) -> bool {
        self.known.contains(exposed)
    }

    /// Whether a search by this call is answered with references.
    pub(super) fn refers(&self, exposed: &str) -> bool {
        self.references && exposed == TOOL_SEARCH
    }

    /// What can be loaded, by exposed name.
    pub(super) fn loadable(&self, exposed: &str) -> Option<&Loadable> {
        self.loadable.get(exposed)
    }

    /// Arguments with their original keys. Text that nothing was renamed in stays as it is to the last byte; anything
    /// that is not an object is left to the call path.
    pub(super) fn arguments(&self, exposed: &str, raw: Box<RawValue>) -> Box<RawValue> {
        match self.keys.get(exposed) {
            Some(keys) if !keys.is_empty() => carried(keys, &raw).map_or(raw, |text| owned(&text)),
            _ => raw,
        }
    }
}

/// A JSON text as a raw value; a JSON string where it is no JSON.
pub(super) fn owned(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned())
        .or_else(|_| serde_json::value::to_raw_value(text))
        .unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// The text with original keys; none where nothing changes. Works on the text, so that numbers keep their digits and a
/// key given twice stays twice and is refused by the strict reader.
fn carried(keys: &KeyMap, raw: &RawValue) -> Option<String> {
    let text = raw.get().trim_start();
    if text.starts_with('{') {
        let Ok(Entries(entries)) = serde_json::from_str(text) else { return None };
        let mut out = String::with_capacity(text.len());
        out.push('{');
        for (key, value) in &entries {
            if value.get() == "null" && keys.absent.contains(key) {
                continue;
            }
            if out.len() > 1 {
                out.push(',');
            }
            let original = keys.names.get(key).unwrap_or(key);
            out.push_str(&Value::from(original.as_str()).to_string());
            out.push(':');
            let inner = keys.inner.get(key).or(keys.values.as_deref());
            match inner.filter(|inner| !inner.is_empty()).and_then(|inner| carried(inner, value)) {
                Some(text) => out.push_str(&text),
                None => out.push_str(value.get()),
            }
        }
        out.push('}');
        return Some(out);
    }
    if text.starts_with('[') {
        let items = keys.items.as_deref()?;
        let list: Vec<&RawValue> = serde_json::from_str(text).ok()?;
        let list: Vec<String> =
            list.iter().map(|item| carried(items, item).unwrap_or_else(|| item.get().to_owned())).collect();
        return Some(format!("[{}]", list.join(",")));
    }
    None
}

/// The entries of an object in their order, a key as often as it is written.
struct Entries<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> serde::Deserialize<'de> for Entries<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(entries)
            }
        }
        deserializer.deserialize_map(Reader).map(Entries)
    }
}
