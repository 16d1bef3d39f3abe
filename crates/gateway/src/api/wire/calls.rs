//! Calls: one, many, and what becomes of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use super::{List, Number, Object, ScopeWish, Text, Word};
use crate::api::Code;

/// `POST /v1/calls`: one call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The tool's exposed name, or one of the bridge's.
    pub name: Text<512>,
    /// Its arguments, an object. Kept as written: digits of big numbers count.
    #[serde(default)]
    #[schemars(with = "Option<Value>")]
    pub arguments: Option<Box<RawValue>>,
    /// The conversation: grants for the session and the guard against repetition go by it.
    #[serde(default)]
    pub session: Option<Word>,
    /// Calls with the same key are one call: it runs once, and later ones get what came of it. As the header
    /// `Idempotency-Key`; one of the two.
    #[serde(default)]
    pub idempotency_key: Option<Word>,
    /// Milliseconds the tool may take; never more than the operator's limit.
    #[serde(default)]
    pub timeout_ms: Option<Number<1, 86_400_000>>,
    /// Who asks.
    #[serde(default)]
    pub scope: Object<ScopeWish>,
}

/// Most calls of one batch.
pub const MAX_BATCH: usize = 64;

/// `POST /v1/calls`: many calls.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    /// The calls. They run side by side, eight at a time, and none waits for the outcome of another.
    pub calls: List<Object<Call>, MAX_BATCH>,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeWord {
    /// The tool ran.
    Ok,
    /// The tool ran and reported a failure of its own.
    ToolError,
    /// It was not let through; nothing ran.
    Denied,
    /// No such tool, or its arguments do not fit; nothing ran.
    Invalid,
    /// No answer in time; whether it ran is not known.
    TimedOut,
    /// Taken back; whether it ran is not known.
    Cancelled,
    /// Its source cannot be reached; nothing ran.
    Unavailable,
    /// The connection broke after it was sent; whether it ran is not known.
    Unknown,
}

/// A change that was made to the arguments to make them fit.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RepairMade {
    /// JSON Pointer of what was changed.
    pub path: String,
    /// What it was.
    pub from: &'static str,
    /// What it is now.
    pub to: &'static str,
}

/// Where the time went, microseconds.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct TimingsUs {
    /// From the door to the reply.
    pub total: u64,
    /// Waiting for a person.
    pub asking: u64,
    /// Inside the tool's backend.
    pub backend: u64,
}

/// A JSON-RPC error of the tool's server, or of a name that leads nowhere.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProtocolError {
    /// The code.
    pub code: i64,
    /// The message.
    pub message: String,
    /// Further data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// How a call ended, and what it gave.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CallOutcome {
    /// How it ended.
    pub outcome: OutcomeWord,
    /// What the tool gave, as MCP writes it: `content`, perhaps `structuredContent` and `isError`. A call that was not run has a
    /// text here that a model can act on.
    #[schemars(with = "ToolResult")]
    pub result: Box<RawValue>,
    /// The error in JSON-RPC terms, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ProtocolError>,
    /// The tool's identity, where the name led to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The call's number; with `run` it names the call in the record.
    pub call_id: u64,
    /// The process that ran it.
    pub run: String,
    /// How often the tool was run.
    pub attempts: u32,
    /// Whether this is the outcome of an earlier call with the same key, which was not run again.
    pub replayed: bool,
    /// Handle of the approval that the call waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
    /// Handle of the work that goes on, where the call outlives this answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<String>,
    /// What was changed in the arguments to make them fit.
    pub repairs: Vec<RepairMade>,
    /// Where the time went.
    pub timings_us: TimingsUs,
}

/// An MCP tool result.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes what is passed on as text")]
struct ToolResult {
    /// Blocks of content.
    content: Vec<Value>,
    /// Structured content.
    #[serde(rename = "structuredContent", default, skip_serializing_if = "Option::is_none")]
    structured: Option<Value>,
    /// Whether it is a failure.
    #[serde(rename = "isError", default, skip_serializing_if = "Option::is_none")]
    error: Option<bool>,
    #[serde(flatten)]
    more: super::More,
}

/// How a call of a batch ended: its status and code are those that it would have had alone.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Ended {
    /// The HTTP status.
    pub status: u16,
    /// The problem's code, if it did not end well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// Seconds after which it may be tried again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
    /// The outcome.
    #[serde(flatten)]
    pub call: CallOutcome,
}

/// The outcomes of a batch, in the order of its calls.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Outcomes {
    /// One for each call.
    pub outcomes: Vec<Ended>,
}

/// A step of progress on its way.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Step {
    /// What the tool says: `progress`, perhaps `total` and `message`.
    pub progress: Value,
}

/// What a stream tells: `progress` any number of times, `outcome` once for each call, `end` last.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Event {
    /// `event: progress`
    Progress {
        /// Which of the calls.
        index: usize,
        /// What it says.
        #[serde(flatten)]
        step: Step,
    },
    /// `event: outcome`
    Outcome {
        /// Which of the calls.
        index: usize,
        /// How it ended.
        #[serde(flatten)]
        ended: Box<Ended>,
    },
    /// `event: end`
    End {
        /// How many calls there were.
        calls: usize,
    },
}
