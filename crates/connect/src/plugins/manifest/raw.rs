//! The manifest's shape in TOML, before it is checked.

use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    pub(super) id: Spanned<String>,
    pub(super) version: Spanned<String>,
    pub(super) description: Spanned<String>,
    pub(super) run: Spanned<Run>,
    #[serde(default)]
    pub(super) requires: Option<Spanned<Requires>>,
    #[serde(default)]
    pub(super) tools: Vec<Tool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Run {
    #[serde(default)]
    pub(super) mcp: Option<Vec<String>>,
    #[serde(default)]
    pub(super) lines: Option<Vec<String>>,
    #[serde(default)]
    pub(super) factory: Option<String>,
    #[serde(default)]
    pub(super) start_timeout_ms: Option<u64>,
    #[serde(default)]
    pub(super) watch: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Requires {
    pub(super) config: Vec<String>,
    pub(super) env: Vec<String>,
    pub(super) auth: Vec<String>,
    pub(super) capabilities: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tool {
    pub(super) name: Spanned<String>,
    #[serde(default)]
    pub(super) title: Option<String>,
    #[serde(default)]
    pub(super) description: Option<String>,
    #[serde(default)]
    pub(super) optional: bool,
    #[serde(default)]
    pub(super) requires: Option<Spanned<Requires>>,
    #[serde(default)]
    pub(super) input_schema: Option<Value>,
    #[serde(default)]
    pub(super) output_schema: Option<Value>,
    #[serde(default)]
    pub(super) hints: Hints,
    #[serde(default)]
    pub(super) permission: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Hints {
    pub(super) read_only: Option<bool>,
    pub(super) destructive: Option<bool>,
    pub(super) idempotent: Option<bool>,
    pub(super) open_world: Option<bool>,
}

/// Why a text could not be read.
pub(super) struct ReadError {
    /// Where, in bytes from the beginning.
    pub(super) at: Option<usize>,
    pub(super) key: String,
    pub(super) problem: String,
}

pub(super) fn read(text: &str) -> Result<Manifest, ReadError> {
    let told = |key: String, error: &toml::de::Error| {
        let problem = error.message().lines().next().unwrap_or_default().to_owned();
        ReadError { at: error.span().map(|span| span.start), key, problem: format!("cannot be read: {problem}") }
    };
    let deserializer = toml::Deserializer::parse(text).map_err(|error| told(String::new(), &error))?;
    serde_path_to_error::deserialize(deserializer).map_err(|error| {
        // The reader of places has a key of its own in the path.
        let path = error.path().to_string().replace(".$__serde_spanned_private_value", "");
        let key = if path == "." { String::new() } else { path };
        told(key, error.inner())
    })
}
