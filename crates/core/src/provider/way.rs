//! The way back from what a target was shown: names, keys, and what can still be loaded.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, value::RawValue};

use crate::{
    bridge::TOOL_SEARCH,
    render::{KeyMap, Target, unmapped},
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
            Some(keys) if !keys.is_empty() => unmapped(keys, raw.get()).map_or(raw, |text| owned(&text)),
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
