//! What operators look at: the record of calls, figures, circuits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{More, Number, Text, Word};

/// Whom something belongs to.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Principal {
    /// The tenant; empty on a single-user machine.
    pub tenant: String,
    /// The key's name.
    pub user: Option<String>,
    /// The agent.
    pub agent: Option<String>,
    /// The conversation.
    pub session: Option<String>,
}

/// What `since` looks like.
const SINCE: &str =
    "^([0-9]{1,6}[smhd]|20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z)$";

/// `GET /v1/audit`
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AuditQuery {
    /// Only of this tool (identity), or of this source when it ends in `/`.
    pub tool: Option<Text<512>>,
    /// Only of the caller with this key.
    pub user: Option<Word>,
    /// Only of this process.
    pub run: Option<Word>,
    /// Only of this call (with `run`).
    pub call: Option<Number<0, 9_007_199_254_740_991>>,
    /// Only with this outcome.
    pub outcome: Option<AuditOutcome>,
    /// Only since then: how long ago (`90s`, `15m`, `2h`, `7d`) or a time (RFC 3339).
    #[schemars(regex(pattern = SINCE))]
    pub since: Option<Word>,
    /// Only after this place, oldest first; without it the newest are given.
    pub after: Option<Number<0, 9_007_199_254_740_991>>,
    /// Most of them. Default 100.
    pub limit: Option<Number<1, 1_000>>,
}

/// How recorded calls ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "as the outcomes of calls")]
pub enum AuditOutcome {
    Ok,
    ToolError,
    Denied,
    Invalid,
    TimedOut,
    Cancelled,
    Unavailable,
    Unknown,
}

/// Records in the order of their places.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Records {
    /// The records.
    pub records: Vec<Record>,
}

/// One record.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// What it tells: `intent`, `outcome`, `late`, `asked`, `answered`, `grant`, `breaker`, `recovered`, `pruned`,
    /// `search`, `adjusted`, `gap`.
    pub kind: String,
    /// When, milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// The process.
    pub run: String,
    /// The call's number within it; 0: no call.
    pub call: u64,
    /// Whose call.
    pub principal: Principal,
    /// Its place and hash in the chain, the tool, digests, outcome, authority, times.
    #[serde(flatten)]
    pub more: More,
}

/// How calls went since the start.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Stats {
    /// Since when calls are counted, milliseconds since the Unix epoch.
    pub since_ms: u64,
    /// All calls together.
    pub totals: More,
    /// Every tool, those called most first.
    pub tools: Vec<More>,
    /// Further members.
    #[serde(flatten)]
    pub more: More,
}

/// Circuit breakers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Breakers {
    /// Those that have seen a fault.
    pub breakers: Vec<Breaker>,
}

/// One circuit breaker.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Breaker {
    /// The source or tool it stands before.
    pub guarded: String,
    /// `closed`, `open`, `half-open`.
    pub state: String,
    /// Its policy, counters, and the last fault.
    #[serde(flatten)]
    pub more: More,
}

/// `POST /v1/breakers/reset`
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reset {
    /// A source or a tool: `mcp:github`, `mcp:github/create_issue`.
    pub key: Text<512>,
}

/// What came of it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ResetDone {
    /// How many circuits were closed.
    pub reset: u64,
}
