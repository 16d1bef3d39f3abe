//! A parsed tree in which every value knows where it was written.

use std::collections::HashMap;

use serde_json::{Map, Number, Value};

/// A place in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// A value with its place: that of its key where it has one, else its own.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) kind: Kind,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Scalar(Value),
    List(Vec<Node>),
    /// In written order; a key may occur twice, the last one counts.
    Map(Vec<(String, Node)>),
}

impl Node {
    pub(super) fn scalar(value: impl Into<Value>) -> Self {
        Self { place: Place::default(), kind: Kind::Scalar(value.into()) }
    }

    pub(super) fn at(self, place: Place) -> Self {
        Self { place, ..self }
    }
}

/// A number JSON has, or the text of one it has not.
pub(super) fn number(value: f64) -> Value {
    Number::from_f64(value).map_or_else(|| Value::from(value.to_string()), Value::Number)
}

/// Places by key path (`servers.github.args[0]`).
#[derive(Clone, Debug, Default)]
pub(super) struct Places(HashMap<String, Place>);

impl Places {
    /// The place of a key, or of the nearest key around it.
    pub(super) fn of(&self, key: &str) -> Option<Place> {
        let mut key = key;
        loop {
            if let Some(place) = self.0.get(key) {
                return Some(*place);
            }
            key = &key[..key.rfind(['.', '['])?];
        }
    }
}

/// What is left when the places are set aside.
#[derive(Debug, Default)]
pub(super) struct Flattened {
    pub(super) places: Places,
    /// Key paths written twice, with the place of the one that counts.
    pub(super) repeated: Vec<(String, Place)>,
    /// Key paths without a value (`null`, or nothing behind the colon): they count as left out.
    pub(super) valueless: Vec<(String, Place)>,
}

impl Flattened {
    pub(super) fn map(&mut self, pairs: Vec<(String, Node)>, prefix: &str) -> Map<String, Value> {
        let mut map = Map::new();
        for (key, node) in pairs {
            let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
            let place = node.place;
            if matches!(node.kind, Kind::Scalar(Value::Null)) {
                self.valueless.push((path, place));
                continue;
            }
            let value = self.value(node, path.clone());
            if map.insert(key, value).is_some() {
                self.repeated.push((path, place));
            }
        }
        map
    }

    fn value(&mut self, node: Node, path: String) -> Value {
        let value = match node.kind {
            Kind::Scalar(value) => value,
            Kind::List(items) => items
                .into_iter()
                .enumerate()
                .map(|(index, item)| self.value(item, format!("{path}[{index}]")))
                .collect(),
            Kind::Map(pairs) => Value::Object(self.map(pairs, &path)),
        };
        self.places.0.insert(path, node.place);
        value
    }
}
