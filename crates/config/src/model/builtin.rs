//! Built-in tools.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::clamp;
use crate::Diagnostic;

/// Built-in tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BuiltinConfig {
    /// Whether there are any.
    pub enabled: bool,
    /// Reading, searching and writing files.
    pub files: FilesConfig,
    /// Running commands.
    pub command: CommandConfig,
    /// Fetching web pages.
    pub fetch: FetchConfig,
    /// The current time.
    pub time: TimeConfig,
    /// A small persistent map.
    pub kv: KeyValueConfig,
    /// Asking the user a question.
    pub user_input: UserInputConfig,
}

impl Default for BuiltinConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            files: FilesConfig::default(),
            command: CommandConfig::default(),
            fetch: FetchConfig::default(),
            time: TimeConfig::default(),
            kv: KeyValueConfig::default(),
            user_input: UserInputConfig::default(),
        }
    }
}

/// Reading, searching and writing files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FilesConfig {
    /// Whether the tools are there.
    pub enabled: bool,
    /// Folders beneath which files may be touched. Default: the working directory.
    pub roots: Vec<String>,
    /// Whether files may be written and edited.
    pub write: bool,
}

impl Default for FilesConfig {
    fn default() -> Self {
        Self { enabled: true, roots: vec![".".to_owned()], write: true }
    }
}

/// Running commands. Off unless enabled: a command can do whatever the user can.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CommandConfig {
    /// Whether the tool is there.
    pub enabled: bool,
    /// Only these programs; empty = all.
    pub allow: Vec<String>,
    /// Longest run in milliseconds, 100 to 600000.
    #[schemars(range(min = 100, max = 600_000))]
    pub timeout_ms: u64,
}

impl Default for CommandConfig {
    fn default() -> Self {
        Self { enabled: false, allow: Vec::new(), timeout_ms: 60_000 }
    }
}

/// Fetching web pages as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FetchConfig {
    /// Whether the tool is there.
    pub enabled: bool,
    /// Whether loopback and private addresses may be fetched.
    pub allow_private: bool,
    /// Hosts that may be fetched although their address is private.
    pub allow_hosts: Vec<String>,
    /// Largest body in bytes, 1024 to 67108864.
    #[schemars(range(min = 1_024, max = 64 * 1024 * 1024))]
    pub max_bytes: u64,
}

impl Default for FetchConfig {
    fn default() -> Self {
        Self { enabled: true, allow_private: false, allow_hosts: Vec::new(), max_bytes: 5 * 1024 * 1024 }
    }
}

/// The current time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TimeConfig {
    /// Whether the tool is there.
    pub enabled: bool,
}

impl Default for TimeConfig {
    fn default() -> Self {
        Self { enabled: true }
    }
}

/// A small persistent map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct KeyValueConfig {
    /// Whether the tools are there.
    pub enabled: bool,
    /// Largest value in bytes, 1 to 1048576.
    #[schemars(range(min = 1, max = 1024 * 1024))]
    pub max_value_bytes: u64,
    /// Most keys, 1 to 1000000.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_keys: u64,
}

impl Default for KeyValueConfig {
    fn default() -> Self {
        Self { enabled: true, max_value_bytes: 65_536, max_keys: 10_000 }
    }
}

/// Asking the user a question (`request_user_input`). Where the client can show questions the answer is the tool's result;
/// otherwise the call waits, for up to seven days, until `toolcrib approvals reply ID TEXT` or `POST /v1/resume/ID` answers.
/// Off unless enabled: it needs somebody who answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UserInputConfig {
    /// Whether the tool is there.
    pub enabled: bool,
}

impl BuiltinConfig {
    pub(crate) fn settle(&mut self, findings: &mut Vec<Diagnostic>) {
        clamp(&mut self.command.timeout_ms, 100, 600_000, "builtin.command.timeout_ms", findings);
        clamp(&mut self.fetch.max_bytes, 1_024, 64 * 1024 * 1024, "builtin.fetch.max_bytes", findings);
        clamp(&mut self.kv.max_value_bytes, 1, 1024 * 1024, "builtin.kv.max_value_bytes", findings);
        clamp(&mut self.kv.max_keys, 1, 1_000_000, "builtin.kv.max_keys", findings);
    }
}
