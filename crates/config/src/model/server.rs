//! One MCP server.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{LabelConfig, clamp, label::MAX_PRIORITY};
use crate::{Diagnostic, Secret};

/// How a server is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TransportKind {
    /// A child process.
    #[serde(rename = "stdio")]
    Stdio,
    /// Streamable HTTP.
    #[serde(rename = "http", alias = "streamable-http", alias = "streamableHttp", alias = "streamable_http")]
    Http,
    /// HTTP with SSE, the transport of 2024; not supported.
    #[serde(rename = "sse")]
    Sse,
}

/// Which protocol era to speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EraSetting {
    /// Ask the server.
    #[default]
    Auto,
    /// Up to 2025-11-25.
    Legacy,
    /// From 2026-07-28.
    Modern,
}

/// One MCP server: either `command` or `url`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServerConfig {
    /// Program to start.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Environment variables for it, beside a short list of harmless ones (`PATH`, `HOME`, `LANG`, …).
    pub env: BTreeMap<String, Secret>,
    /// A file of `NAME=VALUE` lines with more of them; `env` wins. Relative to the configuration file.
    pub env_file: Option<String>,
    /// Names of further environment variables to pass on.
    pub env_inherit: Vec<String>,
    /// Its working directory.
    pub cwd: Option<String>,
    /// Endpoint of a server reached over HTTP.
    pub url: Option<String>,
    /// Headers sent with every request.
    pub headers: BTreeMap<String, Secret>,
    /// Sent as `Authorization: Bearer …`.
    pub bearer: Option<Secret>,
    /// Name of the environment variable that holds the bearer token (as Codex writes it).
    pub bearer_token_env_var: Option<String>,
    /// How the server is reached; told by `command` or `url` if left out.
    pub transport: Option<TransportKind>,
    /// Whether the server is used. `disabled`, as other clients spell it, is taken as well.
    pub enabled: bool,
    /// Which protocol era to speak.
    pub era: EraSetting,
    /// Milliseconds from start to a finished handshake, 100 to 600000.
    #[schemars(range(min = 100, max = 600_000))]
    pub connect_timeout_ms: u64,
    /// Milliseconds for one call, 100 to 600000. Left out: `calls.timeout_ms`.
    #[schemars(range(min = 100, max = 600_000))]
    pub call_timeout_ms: Option<u64>,
    /// One line on what the server is for; shown in listings and searched.
    pub description: Option<String>,
    /// Tags of all its tools, for `tag:NAME` selectors.
    pub tags: Vec<String>,
    /// What its tools are for, for `category:NAME` selectors.
    pub category: Option<String>,
    /// The set its tools belong to, for `namespace:NAME` selectors. Left out: `default`.
    pub namespace: Option<String>,
    /// Tools of a higher priority come first where not all can be shown; -1000000 to 1000000.
    #[schemars(range(min = -1_000_000, max = 1_000_000))]
    pub priority: i32,
    /// What is said of single tools, by the server's own names.
    pub tools: BTreeMap<String, LabelConfig>,
    /// Only these of its tools (own names, globs).
    pub include: Option<Vec<String>>,
    /// Not these of its tools; wins over `include`.
    pub exclude: Vec<String>,
    /// Never defer its tools.
    pub always: bool,
    /// Relay the server's own instructions to clients.
    pub instructions: bool,
    /// Believe what the server says of its tools (`readOnlyHint`), so that a `readonly` rule may let them through.
    pub trust_hints: bool,
    /// Start it at the first call, if its tools are known from before.
    pub lazy: bool,
    /// What references inserted into program, arguments and address; to be hidden in everything said about the server.
    #[serde(skip)]
    pub inserted: Vec<Secret>,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            command: None,
            args: Vec::new(),
            env: BTreeMap::new(),
            env_file: None,
            env_inherit: Vec::new(),
            cwd: None,
            url: None,
            headers: BTreeMap::new(),
            bearer: None,
            bearer_token_env_var: None,
            transport: None,
            enabled: true,
            era: EraSetting::Auto,
            connect_timeout_ms: 30_000,
            call_timeout_ms: None,
            description: None,
            tags: Vec::new(),
            category: None,
            namespace: None,
            priority: 0,
            tools: BTreeMap::new(),
            include: None,
            exclude: Vec::new(),
            always: false,
            instructions: false,
            trust_hints: false,
            lazy: false,
            inserted: Vec::new(),
        }
    }
}

impl ServerConfig {
    /// Whether the server is to be used.
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Hash text over everything that decides what is started and with what; secrets count, and cannot be read back.
    /// Last-known definitions are good for the fingerprint under which they were obtained.
    pub fn fingerprint(&self) -> String {
        let launched = Self {
            description: None,
            tags: Vec::new(),
            category: None,
            namespace: None,
            priority: 0,
            tools: BTreeMap::new(),
            include: None,
            exclude: Vec::new(),
            always: false,
            instructions: false,
            trust_hints: false,
            lazy: false,
            connect_timeout_ms: 0,
            call_timeout_ms: None,
            ..self.clone()
        };
        let mut hasher = blake3::Hasher::new();
        let mut part = |text: &str| {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        // Secrets serialise as stars, so their texts are added on their own.
        part(&serde_json::to_string(&launched).unwrap_or_default());
        for secret in self.env.values().chain(self.headers.values()).chain(&self.bearer) {
            part(secret.expose());
        }
        hasher.finalize().to_hex().to_string()
    }

    /// Whether a running server can stay as it is when its configuration becomes `new`: what is started, and how it is
    /// spoken to, is the same.
    pub fn can_stay(&self, new: &Self) -> bool {
        let spoken = |server: &Self| (server.era, server.connect_timeout_ms, server.lazy);
        self.fingerprint() == new.fingerprint() && spoken(self) == spoken(new)
    }

    /// What makes the server unusable, if anything.
    pub(crate) fn problem(&self) -> Option<(&'static str, String)> {
        match (&self.command, &self.url, self.transport) {
            (_, _, Some(TransportKind::Sse)) => Some((
                "transport",
                "the SSE transport of 2024 is not supported; use the server's streamable HTTP endpoint".to_owned(),
            )),
            (Some(command), _, _) if command.trim().is_empty() => Some(("command", "it is empty".to_owned())),
            (Some(_), Some(_), None) => {
                Some(("url", "both command and url are given; remove one, or set transport".to_owned()))
            }
            (None, None, _) => Some(("", "neither command nor url is given".to_owned())),
            (None, _, Some(TransportKind::Stdio)) => {
                Some(("command", "transport is stdio but there is no command".to_owned()))
            }
            (_, None, Some(TransportKind::Http)) => Some(("url", "transport is http but there is no url".to_owned())),
            (_, Some(url), kind) if kind != Some(TransportKind::Stdio) && !is_http(url) => {
                Some(("url", "it does not start with http:// or https://".to_owned()))
            }
            _ => None,
        }
    }

    pub(crate) fn settle(&mut self, key: &str, findings: &mut Vec<Diagnostic>) {
        clamp(&mut self.connect_timeout_ms, 100, 600_000, &format!("{key}.connect_timeout_ms"), findings);
        clamp(&mut self.priority, -MAX_PRIORITY, MAX_PRIORITY, &format!("{key}.priority"), findings);
        for (name, tool) in &mut self.tools {
            tool.settle(&format!("{key}.tools.{name}"), findings);
        }
        if let Some(limit) = &mut self.call_timeout_ms {
            clamp(limit, 100, 600_000, &format!("{key}.call_timeout_ms"), findings);
        }
    }
}

fn is_http(url: &str) -> bool {
    let lower = url.get(..8).unwrap_or(url).to_ascii_lowercase();
    lower.starts_with("http://") || lower.starts_with("https://")
}
