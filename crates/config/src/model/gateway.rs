//! The HTTP face, and where state is kept.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::clamp;
use crate::{Diagnostic, Secret};

/// The HTTP face.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GatewayConfig {
    /// Address to listen on. Keys are required when it is not a loopback address.
    pub listen: String,
    /// Bearer keys of clients.
    pub keys: Vec<Secret>,
    /// Bearer keys of clients by the name their callers go by, in records and in roles. A text is the key itself.
    pub named_keys: BTreeMap<String, NamedKey>,
    /// Bearer keys of operators, which open everything: who shows one may also answer approvals and read records over HTTP.
    /// Never give one to an agent.
    pub operator_keys: Vec<Secret>,
    /// Values of `Host` that are taken beside the loopback names.
    pub allowed_hosts: Vec<String>,
    /// Values of `Origin` that are taken.
    pub allowed_origins: Vec<String>,
    /// Largest request body in bytes, 1024 to 67108864.
    #[schemars(range(min = 1_024, max = 64 * 1024 * 1024))]
    pub max_body_bytes: u64,
    /// Milliseconds that calls may go on after a stop was asked for, 0 to 600000.
    #[schemars(range(min = 0, max = 600_000))]
    pub drain_timeout_ms: u64,
    /// Why the HTTP face must not start: its keys could not be read, and without them it would stand open.
    #[serde(skip)]
    pub unusable: Option<String>,
}

impl Default for GatewayConfig {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:7332".to_owned(),
            keys: Vec::new(),
            named_keys: BTreeMap::new(),
            operator_keys: Vec::new(),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            max_body_bytes: 4 * 1024 * 1024,
            drain_timeout_ms: 10_000,
            unusable: None,
        }
    }
}

impl GatewayConfig {
    pub(crate) fn settle(&mut self, findings: &mut Vec<Diagnostic>) {
        clamp(&mut self.max_body_bytes, 1_024, 64 * 1024 * 1024, "gateway.max_body_bytes", findings);
        clamp(&mut self.drain_timeout_ms, 0, 600_000, "gateway.drain_timeout_ms", findings);
    }
}

/// A client's key, and what it opens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedKey {
    /// The bearer key.
    pub key: Secret,
    /// What it opens. MCP clients need `read` and `call`.
    #[serde(default = "caller_scopes")]
    pub scopes: Vec<KeyScope>,
    /// The tenant that its callers belong to: approvals, records and results are kept apart by it.
    #[serde(default)]
    pub tenant: Option<String>,
}

fn caller_scopes() -> Vec<KeyScope> {
    vec![KeyScope::Read, KeyScope::Call]
}

/// A part of the gateway that a key opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyScope {
    /// Looking at tools.
    Read,
    /// Calling them.
    Call,
    /// Answering approvals.
    Approve,
    /// Records, figures, circuit breakers, answers for tools that wait for the outside.
    Operate,
}

/// Where state is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StoreConfig {
    /// The SQLite file; `:memory:` keeps nothing. Default: `toolcrib/state.db` in the user's state folder.
    pub path: Option<String>,
    /// What a write that was answered survives.
    pub sync: SyncMode,
}

/// What a write that was answered survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SyncMode {
    /// The death of the process at any moment.
    #[default]
    Normal,
    /// Loss of power, too; slower.
    Full,
}
