//! Layers: trees laid over one another, with the origin of every value.

use std::{collections::BTreeMap, fmt, path::PathBuf};

use serde::Serialize;
use serde_json::{Map, Value};

/// Where a value was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// In a file.
    File {
        /// The file.
        path: PathBuf,
        /// The line, from 1, where known.
        line: Option<usize>,
    },
    /// In an environment variable.
    Variable(String),
    /// In a flag.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, line: Some(line) } => write!(f, "{}:{line}", path.display()),
            Self::File { path, line: None } => write!(f, "{}", path.display()),
            Self::Variable(name) => write!(f, "environment variable {name}"),
            Self::Flag(name) => write!(f, "flag {name}"),
        }
    }
}

/// Origins by key path (`servers.github.url`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins(BTreeMap<String, Origin>);

impl Origins {
    /// The origin of a key, or of the nearest key around or beneath it.
    pub fn of(&self, key: &str) -> Option<&Origin> {
        let mut outer = key;
        loop {
            if let Some(origin) = self.0.get(outer) {
                return Some(origin);
            }
            match outer.rfind(['.', '[']) {
                Some(end) => outer = &outer[..end],
                None => break,
            }
        }
        let beneath = format!("{key}.");
        self.0.range(beneath.clone()..).next().filter(|(k, _)| k.starts_with(&beneath)).map(|(_, origin)| origin)
    }

    /// The origin of a key for a sentence; `default` where nobody wrote it.
    pub fn text(&self, key: &str) -> String {
        self.of(key).map_or_else(|| "default".to_owned(), |origin| format!("{key} in {origin}"))
    }
}

/// Lays `upper` over `lower`: maps are merged, everything else is replaced. `origin` is asked for each value laid down.
pub fn overlay(
    lower: &mut Map<String, Value>,
    upper: Map<String, Value>,
    prefix: &str,
    origins: &mut Origins,
    origin: &dyn Fn(&str) -> Origin,
) {
    for (key, value) in upper {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match (lower.get_mut(&key), value) {
            (Some(Value::Object(below)), Value::Object(above)) => overlay(below, above, &path, origins, origin),
            (_, Value::Object(above)) => {
                let mut fresh = Map::new();
                origins.0.insert(path.clone(), origin(&path));
                overlay(&mut fresh, above, &path, origins, origin);
                lower.insert(key, Value::Object(fresh));
            }
            (_, value) => {
                origins.0.insert(path.clone(), origin(&path));
                lower.insert(key, value);
            }
        }
    }
}
