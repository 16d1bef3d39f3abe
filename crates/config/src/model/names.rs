//! How exposed names are formed.

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NamesConfig {
    /// What happens when two tools would have the same name.
    pub conflict: ConflictRule,
    /// Whether names carry their server's.
    pub prefix: PrefixRule,
    /// Longest name in characters, 16 to 64.
    #[schemars(range(min = 16, max = 64))]
    pub max_length: u64,
}

impl Default for NamesConfig {
    fn default() -> Self {
        Self { conflict: ConflictRule::Priority, prefix: PrefixRule::Server, max_length: 64 }
    }
}

impl NamesConfig {
    pub(crate) fn settle(&mut self, findings: &mut Vec<Diagnostic>) {
        clamp(&mut self.max_length, 16, 64, "names.max_length", findings);
    }
}
