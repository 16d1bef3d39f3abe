//! The HTTP face, and where state is kept.

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
    /// Values of `Host` that are taken beside the loopback names.
    pub allowed_hosts: Vec<String>,
    /// Values of `Origin` that are taken.
    pub allowed_origins: Vec<String>,
    /// Largest request body in bytes, 1024 to 67108864.
    pub max_body_bytes: u64,
    /// Milliseconds that calls may go on after a stop was asked for, 0 to 600000.
    pub drain_timeout_ms: u64,
}

impl Default for GatewayConfig {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:7332".to_owned(),
            keys: Vec::new(),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            max_body_bytes: 4 * 1024 * 1024,
            drain_timeout_ms: 10_000,
        }
    }
}

impl GatewayConfig {
    pub(crate) fn settle(&mut self, findings: &mut Vec<Diagnostic>) {
        clamp(&mut self.max_body_bytes, 1_024, 64 * 1024 * 1024, "gateway.max_body_bytes", findings);
        clamp(&mut self.drain_timeout_ms, 0, 600_000, "gateway.drain_timeout_ms", findings);
    }
}

/// Where state is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StoreConfig {
    /// The SQLite file; `:memory:` keeps nothing. Default: `toolcrib/state.db` in the user's state folder.
    pub path: Option<String>,
}
