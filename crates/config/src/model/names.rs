//! How exposed names are formed.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::clamp;
use crate::Diagnostic;

/// What happens when two tools would have the same name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConflictRule {
    /// Built-in beats plugin beats MCP beats the rest.
    #[default]
    Priority,
    /// The identity that sorts first.
    First,
    /// None of them is served.
    Reject,
    /// The losers get their source's label in front.
    Namespace,
}

/// Whether names carry their server's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PrefixRule {
    /// `SERVER__TOOL`.
    #[default]
    Server,
    /// The server's own names; for a single server.
    None,
}

/// How exposed names are formed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NamesConfig {
    /// What happens when two tools would have the same name.
    pub conflict: ConflictRule,
    /// Whether names carry their server's.
    pub prefix: PrefixRule,
    /// Longest name in characters, 16 to 64.
    #[schemars(range(min = 16, max = 64))]
    pub max_length: u64,
    /// Other names of tools, such as `bash = "builtin/run_command"`: lists may use them, and calls to them reach the tool.
    pub aliases: BTreeMap<String, String>,
    /// Tools that several instances of one server offer alike become one, by the name that stands for the servers.
    pub merge: BTreeMap<String, MergeConfig>,
}

/// Servers whose tools become one where they are the same to the letter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MergeConfig {
    /// The servers, by their names under `servers`; also the values of the argument.
    pub servers: Vec<String>,
    /// The argument that says which server is meant.
    pub argument: String,
}

impl Default for MergeConfig {
    fn default() -> Self {
        Self { servers: Vec::new(), argument: "instance".to_owned() }
    }
}

impl Default for NamesConfig {
    fn default() -> Self {
        Self {
            conflict: ConflictRule::Priority,
            prefix: PrefixRule::Server,
            max_length: 64,
            aliases: BTreeMap::new(),
            merge: BTreeMap::new(),
        }
    }
}

impl NamesConfig {
    pub(crate) fn settle(&mut self, findings: &mut Vec<Diagnostic>) {
        clamp(&mut self.max_length, 16, 64, "names.max_length", findings);
    }
}
