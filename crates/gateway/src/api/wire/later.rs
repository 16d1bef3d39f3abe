//! Work that outlives its call, and what comes of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use super::{More, Number, Word, records::Principal};

/// Longest wait for deliveries, milliseconds.
pub const MAX_WAIT_MS: u64 = 30_000;

/// Unfinished work of the caller's.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PendingList {
    /// Oldest first.
    pub pending: Vec<Pending>,
}

/// One piece of it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Pending {
    /// Its handle.
    pub handle: String,
    /// `background` or `suspended`.
    pub kind: String,
    /// Whose it is.
    pub principal: Principal,
    /// The tool's identity.
    pub tool: String,
    /// The name it was called by.
    pub exposed: String,
    /// `waiting`, `ready`, `delivered`, `expired`, `lost`.
    pub state: String,
    /// When it began, milliseconds since the Unix epoch.
    pub created_at_ms: u64,
    /// When it is given up.
    pub expires_at_ms: u64,
    /// What the outside knows it by, and the tool's own notes.
    #[serde(flatten)]
    pub more: More,
}

/// `DELETE /v1/pending/{handle}`
#[derive(Debug, Serialize, JsonSchema)]
pub struct Cancelled {
    /// True.
    pub cancelled: bool,
}

/// `GET /v1/deliveries`
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DeliveriesQuery {
    /// Milliseconds to wait for the first. Default 0.
    pub wait_ms: Option<Number<0, MAX_WAIT_MS>>,
    /// Only of this conversation's calls.
    pub session: Option<Word>,
}

/// Results that came after their calls.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Deliveries {
    /// Each is given once; one that got lost on its way can still be read by its handle, with `tool_result_read`.
    pub deliveries: Vec<Delivery>,
}

/// One result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Delivery {
    /// The handle the call gave.
    pub handle: String,
    /// `background` or `suspended`.
    pub kind: Value,
    /// The call's number.
    pub call_id: u64,
    /// The conversation.
    pub session: Option<String>,
    /// The agent.
    pub agent: Option<String>,
    /// The tool's identity.
    pub tool: String,
    /// The name it was called by.
    pub name: String,
    /// Whether it failed.
    pub failed: bool,
    /// `tool_result` or `user_message`: how the model is to see it.
    pub resume_as: Value,
    /// What the outside knows it by.
    pub correlation: Option<String>,
    /// The tool's own notes.
    pub metadata: Value,
    /// The result, as MCP writes it.
    #[schemars(with = "Value")]
    pub result: Box<RawValue>,
}

/// `POST /v1/resume/{correlation}`
#[derive(Debug, Serialize, JsonSchema)]
pub struct Resumed {
    /// The handle of the work that goes on.
    pub handle: String,
    /// The tool's identity.
    pub tool: String,
}
