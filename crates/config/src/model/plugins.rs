//! Plugins.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::clamp;
use crate::{Diagnostic, Secret};

/// Tools from folders with a `plugin.toml` (docs/plugins.md).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PluginsConfig {
    /// Whether plugins are used. Where not, no folder is looked into.
    pub enabled: bool,
    /// Folders that hold plugins, or are one; relative to the configuration file. Left out: `toolcrib/plugins` in the user's
    /// config folder.
    pub folders: Option<Vec<String>>,
    /// Only plugins with these ids (globs).
    pub allow: Option<Vec<String>>,
    /// Not plugins with these ids (globs); wins over `allow`.
    pub deny: Vec<String>,
    /// Milliseconds that calls of a plugin may go on after it was reloaded, 0 to 600000.
    #[schemars(range(min = 0, max = 600_000))]
    pub drain_ms: u64,
    /// What is handed to single plugins, by id.
    pub settings: BTreeMap<String, PluginConfig>,
    /// Plugins that are off because what they are to be handed cannot be read, with what is wrong.
    #[serde(skip)]
    pub unusable: BTreeMap<String, Diagnostic>,
}

/// What is handed to one plugin.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PluginConfig {
    /// Its own configuration: whatever its documentation asks for. Not for secrets.
    pub config: Map<String, Value>,
    /// Environment variables for its process, beside a short list of harmless ones (`PATH`, `HOME`, `LANG`, …).
    pub env: BTreeMap<String, Secret>,
    /// Names of further environment variables to pass on.
    pub env_inherit: Vec<String>,
    /// Credentials by name. The plugin is told them when it starts; they are in no environment and no argument.
    pub auth: BTreeMap<String, Secret>,
    /// Milliseconds for one call, 100 to 600000. Left out: `calls.timeout_ms`.
    #[schemars(range(min = 100, max = 600_000))]
    pub call_timeout_ms: Option<u64>,
}

impl Default for PluginsConfig {
    fn default() -> Self {
        Self {
            enabled: false,
            folders: None,
            allow: None,
            deny: Vec::new(),
            drain_ms: 10_000,
            settings: BTreeMap::new(),
            unusable: BTreeMap::new(),
        }
    }
}

impl PluginsConfig {
    pub(crate) fn settle(&mut self, findings: &mut Vec<Diagnostic>) {
        clamp(&mut self.drain_ms, 0, 600_000, "plugins.drain_ms", findings);
        for (id, plugin) in &mut self.settings {
            if let Some(limit) = &mut plugin.call_timeout_ms {
                clamp(limit, 100, 600_000, &format!("plugins.settings.{id}.call_timeout_ms"), findings);
            }
        }
    }
}
