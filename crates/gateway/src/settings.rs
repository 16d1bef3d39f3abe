//! What the gateway is told, and why it may refuse to start.

use std::{
    collections::HashMap,
    fmt, io,
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use toolcrib_mcp::server::ServerOptions;

/// Settings of the HTTP face. The defaults serve loopback only, without keys.
#[derive(Clone, Debug)]
pub struct GatewaySettings {
    /// Where to listen. Default 127.0.0.1:0 (a free port). Beyond loopback, [`keys`](Self::keys) must not be empty.
    pub listen: SocketAddr,
    /// Host names accepted besides the loopback names with the port listened on: `name` as a client sends it on a default
    /// port, or `name:port`. Exact, not case-sensitive, no wildcards. Default none.
    pub hosts: Vec<String>,
    /// Web origins accepted besides those of accepted hosts: `scheme://host[:port]`, exact. Default none.
    pub origins: Vec<String>,
    /// Keys, one of which a client must then show as `Authorization: Bearer …`. Default none.
    pub keys: Vec<AccessKey>,
    /// Keys that close nothing to others: who shows one may do what its scopes say, and where [`keys`](Self::keys) are none
    /// everybody else still gets in. Default none.
    pub operator_keys: Vec<AccessKey>,
    /// Profile of all callers. Default none.
    pub profile: Option<String>,
    /// Name, version and limits of the protocol.
    pub server: ServerOptions,
    /// Largest request body, in bytes. Default 4 MiB.
    pub max_body: usize,
    /// Largest request head, in bytes. Default 32 KiB (T16); at least 8 KiB.
    pub max_head: usize,
    /// Most header fields. Default 100.
    pub max_headers: usize,
    /// How long a client may take to send a request head, an idle connection included. Default 10 s (F4).
    pub head_timeout: Duration,
    /// How long a client may take to send a request body. Default 30 s (F4).
    pub body_timeout: Duration,
    /// How long a client may leave an answer unread before its connection is closed. Default 30 s (F4).
    pub write_timeout: Duration,
    /// Most connections at once; more wait to be accepted. Default 1,000.
    pub max_connections: usize,
    /// Most long-lived streams at once, change notifications of both eras together. Default 500.
    pub max_streams: usize,
    /// Most sessions of legacy clients. The one idle longest makes room for a new one. Default 1,000.
    pub max_sessions: usize,
    /// How long a session may be idle. Default 1 h.
    pub session_idle: Duration,
    /// Calls of all modern clients together that run at once. Default 256.
    pub running: usize,
    /// Calls of all modern clients together that wait for a place. Default 1,024.
    pub waiting: usize,
    /// How long an answer may take before it becomes a stream with heartbeats, for clients that accept one. Default 5 s.
    pub stream_after: Duration,
    /// Time between heartbeats on a stream. Default 15 s.
    pub heartbeat: Duration,
    /// How long running requests may go on after shutdown was asked for. Default 10 s.
    pub drain: Duration,
}

impl Default for GatewaySettings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            hosts: Vec::new(),
            origins: Vec::new(),
            keys: Vec::new(),
            operator_keys: Vec::new(),
            profile: None,
            server: ServerOptions::default(),
            max_body: 4 << 20,
            max_head: 32 << 10,
            max_headers: 100,
            head_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            max_connections: 1_000,
            max_streams: 500,
            max_sessions: 1_000,
            session_idle: Duration::from_hours(1),
            running: 256,
            waiting: 1_024,
            stream_after: Duration::from_secs(5),
            heartbeat: Duration::from_secs(15),
            drain: Duration::from_secs(10),
        }
    }
}

impl GatewaySettings {
    /// Whether it is safe to start with these.
    ///
    /// # Errors
    /// [`GatewayError::NoKeys`] for an address others can reach without a key, and what is wrong with a key: empty, not one
    /// that a header can carry, or the same as another, which would leave open whose it is.
    pub fn check(&self) -> Result<(), GatewayError> {
        let keys = self.keys.iter().map(|key| (key, "keys"));
        let mut seen = HashMap::new();
        for (key, list) in keys.chain(self.operator_keys.iter().map(|key| (key, "operator_keys"))) {
            let name = || format!("{} ({list})", key.name);
            if key.secret.trim().is_empty() {
                return Err(GatewayError::EmptyKey(name()));
            }
            if key.secret.trim() != key.secret || !key.secret.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
                return Err(GatewayError::UnusableKey(name()));
            }
            if let Some(first) = seen.insert(key.secret.as_str(), name()) {
                return Err(GatewayError::SameKey(first, name()));
            }
        }
        if !self.listen.ip().is_loopback() && self.keys.is_empty() {
            return Err(GatewayError::NoKeys(self.listen));
        }
        Ok(())
    }
}

/// A key a client may show, the name its callers go by, and what they may use.
#[derive(Clone)]
pub struct AccessKey {
    /// The principal's name: in logs and policies.
    pub name: String,
    /// The secret text.
    pub secret: String,
    /// What it opens.
    pub scopes: KeyScopes,
}

impl AccessKey {
    /// A caller's key: for looking at tools and calling them.
    pub fn caller(name: impl Into<String>, secret: impl Into<String>) -> Self {
        Self { name: name.into(), secret: secret.into(), scopes: KeyScopes::CALLER }
    }

    /// An operator's key, which opens everything. Never for an agent: with one a model could answer for the person it is
    /// to ask.
    pub fn operator(name: impl Into<String>, secret: impl Into<String>) -> Self {
        Self { name: name.into(), secret: secret.into(), scopes: KeyScopes::ALL }
    }
}

/// A part of the gateway that a key may open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyScope {
    /// Looking at tools: listing, searching, assembling, explaining.
    Read,
    /// Calling them.
    Call,
    /// Answering for a person: approvals and grants.
    Approve,
    /// Records, figures, circuit breakers, and answers for tools that wait for the outside.
    Operate,
}

impl KeyScope {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Read, Self::Call, Self::Approve, Self::Operate];

    /// The scope's word, as in the configuration.
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Call => "call",
            Self::Approve => "approve",
            Self::Operate => "operate",
        }
    }
}

/// A set of [`KeyScope`]s.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct KeyScopes(u8);

impl KeyScopes {
    /// What a caller needs: [`KeyScope::Read`] and [`KeyScope::Call`].
    pub const CALLER: Self = Self(1 << KeyScope::Read as u8 | 1 << KeyScope::Call as u8);
    /// Everything.
    pub const ALL: Self = Self(Self::CALLER.0 | 1 << KeyScope::Approve as u8 | 1 << KeyScope::Operate as u8);

    /// Whether the scope is one of them.
    pub fn has(self, scope: KeyScope) -> bool {
        self.0 & 1 << scope as u8 != 0
    }

    /// The words, in order.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        KeyScope::ALL.into_iter().filter(move |scope| self.has(*scope)).map(KeyScope::word)
    }
}

impl FromIterator<KeyScope> for KeyScopes {
    fn from_iter<I: IntoIterator<Item = KeyScope>>(scopes: I) -> Self {
        Self(scopes.into_iter().fold(0, |all, scope| all | 1 << scope as u8))
    }
}

impl fmt::Debug for KeyScopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.words()).finish()
    }
}

impl fmt::Debug for AccessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessKey").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Why the gateway does not start or had to stop.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// Others than this machine could use every tool.
    #[error(
        "refusing to listen on {0} without a key: others could use every tool; configure a key or listen on 127.0.0.1"
    )]
    NoKeys(SocketAddr),
    /// A key that anyone has.
    #[error("key {0:?} is empty; give it a value or remove it")]
    EmptyKey(String),
    /// A key that no request can show.
    #[error(
        "no request can show key {0:?}: a key has printable ASCII characters only and no space or line end around them"
    )]
    UnusableKey(String),
    /// Two callers with one secret.
    #[error("keys {0:?} and {1:?} are the same, so it is open whose it is; give each caller a key of its own")]
    SameKey(String, String),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}; choose another port or end what uses it")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
}
