//! How the gateway and its sources are doing.

use schemars::JsonSchema;
use serde::Serialize;

/// `GET /v1/health`
#[derive(Debug, Serialize, JsonSchema)]
pub struct Health {
    /// All in all.
    pub status: Standing,
    /// The gateway's version.
    pub version: &'static str,
    /// The process, as the record of calls names it; empty without one.
    pub run: String,
    /// The record of calls.
    pub record: RecordState,
    /// The sources that the caller may know of.
    pub sources: Vec<SourceHealth>,
}

/// How it is doing all in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Everything works.
    Ok,
    /// Something does not; the rest does.
    Degraded,
}

/// Whether calls are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecordState {
    /// They are.
    Ok,
    /// They cannot be at the moment: nothing that may change something runs.
    Failing,
    /// The record is switched off.
    Off,
}

/// One source.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SourceHealth {
    /// Which.
    pub source: String,
    /// `ready`, `starting`, `down`, `disabled`.
    pub state: &'static str,
    /// Why it is down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How many of its tools the caller sees.
    pub tools: usize,
}
