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
    /// Stores that models keep things in, behind five generic tools.
    pub stores: StoresConfig,
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
            stores: StoresConfig::default(),
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

/// Stores that models keep things in: `store_get`, `store_set`, `store_delete`, `store_list` and `store_action` over all of
/// them. Off unless enabled: five more tools. What is kept lasts, apart by tenant and user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StoresConfig {
    /// Whether the tools are there.
    pub enabled: bool,
    /// Which stores: `files` (a scratch workspace), `notes`, `tasks`, `values` (what the `kv_` tools keep). Default: all.
    pub only: Option<Vec<StoreName>>,
    /// Most entries of one store and user, 1 to 100000.
    #[schemars(range(min = 1, max = 100_000))]
    pub max_entries: u64,
    /// Most bytes of one store and user, 1024 to 1073741824.
    #[schemars(range(min = 1_024, max = 1024 * 1024 * 1024))]
    pub max_bytes: u64,
    /// Largest entry in bytes, 1024 to 16777216.
    #[schemars(range(min = 1_024, max = 16 * 1024 * 1024))]
    pub max_entry_bytes: u64,
}

/// A store that comes along.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StoreName {
    /// Files under paths, apart from the disk.
    Files,
    /// Notes, found by their words.
    Notes,
    /// Things to do.
    Tasks,
    /// Texts under keys.
    Values,
}

impl StoreName {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Files, Self::Notes, Self::Tasks, Self::Values];

    /// The word in the configuration, which is the store's id.
    pub fn word(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Notes => "notes",
            Self::Tasks => "tasks",
            Self::Values => "values",
        }
    }
}

impl Default for StoresConfig {
    fn default() -> Self {
        Self {
            enabled: false,
            only: None,
            max_entries: 2_000,
            max_bytes: 16 * 1024 * 1024,
            max_entry_bytes: 1024 * 1024,
        }
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
        let stores = &mut self.stores;
        clamp(&mut stores.max_entries, 1, 100_000, "builtin.stores.max_entries", findings);
        clamp(&mut stores.max_bytes, 1_024, 1024 * 1024 * 1024, "builtin.stores.max_bytes", findings);
        clamp(&mut stores.max_entry_bytes, 1_024, 16 * 1024 * 1024, "builtin.stores.max_entry_bytes", findings);
    }
}
