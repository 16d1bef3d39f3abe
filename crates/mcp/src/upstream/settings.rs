//! What an upstream is told: plain values, already expanded by configuration.

use std::{collections::BTreeMap, fmt, path::PathBuf, time::Duration};

use serde::Serialize;

/// How a server is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum Transport {
    /// A child process that speaks on its standard streams.
    Stdio {
        /// Program, looked up in the child's `PATH` unless it holds a slash.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Added to the inherited allow-list (`PATH`, `HOME`, `LANG`, …), and winning over it.
        env: BTreeMap<String, String>,
        /// Working directory; ours when absent.
        cwd: Option<PathBuf>,
    },
    /// A streamable HTTP endpoint.
    Http {
        /// The endpoint.
        url: String,
        /// Sent with every request. Headers of the protocol itself cannot be set here (T20).
        headers: Vec<(String, String)>,
        /// Sent as `Authorization: Bearer …`.
        bearer: Option<String>,
    },
}

impl fmt::Debug for Transport {
    /// Shows no value that may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio { command, args, env, cwd } => f
                .debug_struct("Stdio")
                .field("command", command)
                .field("args", &args.len())
                .field("env", &env.keys().collect::<Vec<_>>())
                .field("cwd", cwd)
                .finish(),
            Self::Http { headers, bearer, .. } => f
                .debug_struct("Http")
                .field("headers", &headers.iter().map(|(name, _)| name).collect::<Vec<_>>())
                .field("bearer", &bearer.is_some())
                .finish_non_exhaustive(),
        }
    }
}

/// Which protocol era a server speaks (standards.md §1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Era {
    /// Up to 2025-11-25: `initialize` and sessions.
    Legacy,
    /// From 2026-07-28: stateless.
    Modern,
}

/// Which era to speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EraChoice {
    /// Ask the server (standards.md §1.6).
    #[default]
    Auto,
    /// Only `initialize`.
    Legacy,
    /// Only `server/discover`.
    Modern,
}

/// Bounds on what a server may send.
#[derive(Clone, Copy, Debug)]
pub struct UpstreamLimits {
    /// Largest message, in bytes: a line, a body, an event. Default 16 MiB (T16).
    pub message_bytes: usize,
    /// Largest result of a call, in bytes. Default 8 MiB (T16).
    pub result_bytes: usize,
    /// Largest definition of a tool, in bytes as sent; a larger one is set aside alone, unbuilt. Default 256 KiB (T15).
    pub definition_bytes: usize,
    /// Largest listing, in bytes, all pages together; a larger one is refused as a whole, and so is one that would take
    /// more than four times as much memory. Default 64 MiB.
    pub listing_bytes: usize,
    /// Most tools in a listing; one with more is refused as a whole. Far above what the hub serves of one source, which
    /// is cut there. Default 100,000.
    pub tools: usize,
    /// Most pages of a listing. Default 1,000.
    pub pages: usize,
    /// Most requests waiting for an answer; further calls are refused at once, and may be tried again. Default 128.
    pub in_flight: usize,
}

impl Default for UpstreamLimits {
    fn default() -> Self {
        Self {
            message_bytes: crate::wire::DEFAULT_MAX_LINE,
            result_bytes: 8 * 1024 * 1024,
            definition_bytes: 256 * 1024,
            listing_bytes: 64 * 1024 * 1024,
            tools: 100_000,
            pages: 1_000,
            in_flight: 128,
        }
    }
}

/// The clockwork; the defaults are for use, tests shorten them.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// How long the era probe may take before `initialize` is sent as well. Default 5 s.
    pub probe: Duration,
    /// Wait after each step of ending a child: closed stdin, SIGTERM. Default 2 s.
    pub stop_grace: Duration,
    /// First wait before a reconnect. Default 200 ms.
    pub backoff_min: Duration,
    /// Longest wait before a reconnect. Default 30 s.
    pub backoff_max: Duration,
    /// A connection that lasted this long counts as healthy. Default 30 s.
    pub healthy_after: Duration,
    /// Wait before a server with a permanent fault is tried again unasked. Default 300 s.
    pub park: Duration,
    /// Least time between two attempts at a server with a permanent fault when it is wanted. Default 5 s.
    pub park_min: Duration,
    /// How long a server may leave what we write unread. Default 30 s (F4).
    pub write: Duration,
    /// Least time between two listings. Default 1 s (F9).
    pub refresh_min: Duration,
    /// The same under a storm of notifications. Default 60 s (F9).
    pub refresh_max: Duration,
    /// Whole time for one listing, all pages. Default 60 s.
    pub listing: Duration,
    /// Time between pings of a legacy server; `None` sends none. Default 180 s.
    pub keepalive: Option<Duration>,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            probe: Duration::from_secs(5),
            stop_grace: Duration::from_secs(2),
            backoff_min: Duration::from_millis(200),
            backoff_max: Duration::from_secs(30),
            healthy_after: Duration::from_secs(30),
            park: Duration::from_mins(5),
            park_min: Duration::from_secs(5),
            write: Duration::from_secs(30),
            refresh_min: Duration::from_secs(1),
            refresh_max: Duration::from_mins(1),
            listing: Duration::from_mins(1),
            keepalive: Some(Duration::from_mins(3)),
        }
    }
}

/// Everything about one server.
#[derive(Clone, Debug)]
pub struct UpstreamSettings {
    /// The server's name in the configuration; the source is `mcp:NAME`.
    pub name: String,
    /// How it is reached.
    pub transport: Transport,
    /// Which era to speak.
    pub era: EraChoice,
    /// Budget from start to a finished handshake; also how long a call waits for it. Default 30 s.
    pub connect_timeout: Duration,
    /// Most time for one call, whatever its caller allows. Default 10 min.
    pub call_timeout: Duration,
    /// Start only when a tool is called, if last-known definitions are at hand.
    pub lazy: bool,
    /// Further texts to hide in everything said about the server, such as credentials in its arguments.
    pub secrets: Vec<String>,
    /// The binary whose `__guard` command ([`super::guard::run`]) ends the child when we are killed. Without it a killed gateway
    /// leaves its children to notice their closed stdin.
    pub guard: Option<PathBuf>,
    /// Bounds.
    pub limits: UpstreamLimits,
    /// Clockwork.
    pub timing: Timing,
}

impl UpstreamSettings {
    /// Settings with all defaults.
    pub fn new(name: impl Into<String>, transport: Transport) -> Self {
        Self {
            name: name.into(),
            transport,
            era: EraChoice::Auto,
            connect_timeout: Duration::from_secs(30),
            call_timeout: Duration::from_mins(10),
            lazy: false,
            secrets: Vec::new(),
            guard: None,
            limits: UpstreamLimits::default(),
            timing: Timing::default(),
        }
    }
}
