//! What happened: one event per call, handed to whoever observes.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use toolcrib_core::ToolId;

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The tool ran and reported success.
    Ok,
    /// The tool ran and reported a failure of its own.
    ToolError,
    /// Policy did not let the call through; nothing ran.
    Denied,
    /// The call named no tool the caller may see, or its arguments were not acceptable; nothing ran.
    Invalid,
    /// The deadline passed; whether the tool ran is not known.
    TimedOut,
    /// The caller gave up; whether the tool ran is not known.
    Cancelled,
    /// The source could not be reached; nothing ran.
    Unavailable,
    /// The connection broke, or the code running the tool failed, after the call was sent.
    Unknown,
}

impl Outcome {
    /// The outcome's word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::ToolError => "tool_error",
            Self::Denied => "denied",
            Self::Invalid => "invalid",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Unavailable => "unavailable",
            Self::Unknown => "unknown",
        }
    }
}

/// Which way a call came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Door {
    /// A tool called by its own name over MCP.
    Direct,
    /// Through the `tool_call` bridge.
    Bridge,
    /// The JSON API.
    Http,
    /// The command line.
    Cli,
    /// A program that embeds the library.
    Library,
}

/// One finished call. Holds no arguments and no results: those may carry secrets.
#[derive(Clone, Debug, Serialize)]
pub struct CallEvent {
    /// The call's number in this process.
    pub call_id: u64,
    /// Which way it came in.
    pub door: Door,
    /// The tool, where the name led to one.
    pub tool: Option<ToolId>,
    /// The name as the caller wrote it, at most 128 characters.
    pub name: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Why, where the caller was not told the whole reason (hidden, quarantined and unknown answer alike).
    pub reason: Option<String>,
    /// How many repairs the arguments took.
    pub repairs: usize,
    /// Size of the result before shaping, in bytes.
    pub result_bytes: usize,
    /// Time inside the backend.
    pub backend_time: Duration,
    /// Time from the door to the reply.
    pub total_time: Duration,
}

/// Observes finished calls. Runs on the call's own task: must be quick and must not block.
pub trait EventSink: Send + Sync + 'static {
    /// Takes one event.
    fn record(&self, event: &CallEvent);
}

/// Writes events to the log.
pub struct LogSink;

impl EventSink for LogSink {
    fn record(&self, event: &CallEvent) {
        tracing::info!(
            target: "toolcrib::call",
            call_id = event.call_id,
            door = ?event.door,
            tool = event.tool.as_ref().map(ToString::to_string),
            name = event.name,
            outcome = event.outcome.word(),
            reason = event.reason,
            repairs = event.repairs,
            result_bytes = event.result_bytes,
            backend_us = u64::try_from(event.backend_time.as_micros()).unwrap_or(u64::MAX),
            total_us = u64::try_from(event.total_time.as_micros()).unwrap_or(u64::MAX),
            "call"
        );
    }
}

/// Shared observers.
pub type Sinks = Arc<[Arc<dyn EventSink>]>;
