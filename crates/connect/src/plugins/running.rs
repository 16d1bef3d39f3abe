//! The seam between the host and the ways a plugin runs: what is handed to one that starts, and what it tells.

use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc, time::Duration};

use serde::Serialize;
use serde_json::{Map, Value};
use toolcrib_core::ToolResult;
use toolcrib_engine::{Backend, BoxFuture, Invocation, InvokeError};

use super::manifest::Manifest;

/// What the configuration hands to one plugin. Shows no values.
#[derive(Clone, Default, PartialEq)]
pub struct PluginSettings {
    /// Its configuration, as it is told when it starts.
    pub config: Map<String, Value>,
    /// Environment variables of its process, beside a short list of harmless ones.
    pub env: BTreeMap<String, String>,
    /// Credentials by name. A process is told them when it starts, never by its environment or arguments.
    pub auth: BTreeMap<String, String>,
}

impl fmt::Debug for PluginSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PluginSettings")
            .field("config", &self.config.keys().collect::<Vec<_>>())
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .field("auth", &self.auth.keys().collect::<Vec<_>>())
            .finish()
    }
}

/// The clockwork; the defaults are for use, tests shorten them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// First wait before a process that ended is started again; doubles. Default 200 ms.
    pub backoff_min: Duration,
    /// Longest such wait. Default 30 s.
    pub backoff_max: Duration,
    /// A process that lived this long, or answered a call, counts as healthy. Default 30 s.
    pub healthy_after: Duration,
    /// Ends in a row after which a process rests. Default 5.
    pub failures: u32,
    /// How long it rests. Default 5 min.
    pub park: Duration,
    /// How long a process may leave what we write unread. Default 30 s.
    pub write: Duration,
    /// How long calls of a generation that was replaced may go on. Default 10 s.
    pub drain: Duration,
    /// A start that takes longer than this is told (openclaw §1.1). Default 1 s.
    pub slow: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            backoff_min: Duration::from_millis(200),
            backoff_max: Duration::from_secs(30),
            healthy_after: Duration::from_secs(30),
            failures: 5,
            park: Duration::from_mins(5),
            write: Duration::from_secs(30),
            drain: Duration::from_secs(10),
            slow: Duration::from_secs(1),
        }
    }
}

/// Bounds on what a process may say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest frame in bytes. Default 8 MiB.
    pub frame_bytes: usize,
    /// Most calls at a time; further ones are refused at once, and may be tried again. Default 64.
    pub in_flight: usize,
    /// Lines that are no frames after which a process is ended. Default 100.
    pub bad_lines: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { frame_bytes: 8 * 1024 * 1024, in_flight: 64, bad_lines: 100 }
    }
}

/// Everything a plugin is started with.
#[derive(Clone)]
pub struct Start {
    /// What it declares.
    pub manifest: Arc<Manifest>,
    /// Its folder, which is a process's working directory. None for one that an embedding program brings along.
    pub folder: Option<PathBuf>,
    /// What the configuration hands to it.
    pub settings: Arc<PluginSettings>,
    /// The binary whose `__guard` command ends a process with all it started when this one is killed outright.
    pub guard: Option<PathBuf>,
    /// The clockwork.
    pub timing: Timing,
    /// Bounds.
    pub limits: Limits,
    /// Who is told how it is doing.
    pub listener: Arc<dyn Listener>,
}

/// What a running plugin tells.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    /// It is being started, for the first time or again.
    Starting,
    /// It is ready, and this is all that it offers, as it says it. Unchecked.
    Ready(Vec<Value>),
    /// It wants to offer nothing (openclaw case 14); no cause for alarm.
    OptedOut,
    /// It cannot be used; the text says why, without secrets.
    Down(String),
    /// Something an operator should know once, without secrets.
    Odd(String),
}

/// Hears what a running plugin tells. May take a moment over [`News::Ready`].
pub trait Listener: Send + Sync + 'static {
    /// One piece of news.
    fn hear(&self, news: News);
}

/// A plugin that runs, or is being started, or is waiting to be started again.
pub trait Running: Backend {
    /// Ends it, and waits until its whole process tree, if it has one, has ended. Calls that are under way end too.
    fn stop(&self) -> BoxFuture<'_, ()>;

    /// Somebody wants it: one that waits to be started again is tried as soon as a call would be. Whether that is soon
    /// enough to wait for (within a second).
    fn wake(&self) -> bool {
        false
    }

    /// A look at it.
    fn vitals(&self) -> Vitals {
        Vitals::default()
    }
}

/// Stands for a plugin that cannot run here at all.
pub(super) struct Refusing(String);

impl Refusing {
    /// Says so to the listener.
    pub(super) fn launch(start: &Start, reason: &str) -> Arc<dyn Running> {
        start.listener.hear(News::Down(reason.to_owned()));
        Arc::new(Self(format!("plugin '{}': {reason}", start.manifest.id)))
    }
}

impl Backend for Refusing {
    fn invoke<'a>(&'a self, _: Invocation<'a>) -> BoxFuture<'a, Result<ToolResult, InvokeError>> {
        Box::pin(async move { Err(InvokeError::Unavailable(self.0.clone())) })
    }
}

impl Running for Refusing {
    fn stop(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// What there is to see of a running plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Vitals {
    /// The process, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// How often it was started again.
    pub restarts: u64,
    /// Lines on its standard output that were no frames.
    pub bad_lines: u64,
    /// The end of what it wrote to standard error, masked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stderr: Vec<String>,
}

/// Starts plugins of one kind. Returns at once; how it goes is told to the listener. Called within a tokio runtime.
pub trait Launcher: Send + Sync + 'static {
    /// Starts one.
    fn launch(&self, start: Start) -> Arc<dyn Running>;
}
