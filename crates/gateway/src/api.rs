//! The JSON API: the same tools and the same call path for programs that do not speak MCP, and what an operator needs.
//!
//! Owns routes, bodies and who may use what. What a request means is the [`ApiService`]'s.

mod routes;
mod waiters;

pub(crate) use routes::routes;
pub use toolcrib_mcp::server::BoxFuture;

use serde_json::{Value, value::RawValue};
use tokio_util::sync::CancellationToken;

/// Answers requests of the JSON API.
pub trait ApiService: Send + Sync + 'static {
    /// Answers one. Must end soon after `request`'s cancellation, where it has one.
    fn answer<'a>(&'a self, caller: &'a ApiCaller, request: ApiRequest) -> BoxFuture<'a, ApiReply>;
}

/// Who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiCaller {
    /// The name of the key that was shown, if keys are configured.
    pub principal: Option<String>,
    /// Whether it was an operator's key. Requests that only operators may make do not get here without.
    pub operator: bool,
}

/// Longest wait for deliveries, milliseconds.
pub const MAX_WAIT_MS: u64 = 30_000;

/// What is asked for.
#[derive(Debug)]
pub enum ApiRequest {
    /// `GET /v1/tools`
    Tools,
    /// `POST /v1/search`: what `tool_search` takes.
    Search(Value),
    /// `POST /v1/describe`: what `tool_describe` takes.
    Describe(Value),
    /// `POST /v1/assemble`: `{target, context_length?}`.
    Assemble(Value),
    /// `POST /v1/call`
    Call(ApiCall),
    /// `GET /v1/approvals?state=&limit=` (operators)
    Approvals {
        /// Only those in this state.
        state: Option<String>,
        /// Most of them.
        limit: Option<usize>,
    },
    /// `POST /v1/approvals/ID` (operators): an answer, as the engine's `Answer` is written.
    Answer {
        /// The request's handle.
        id: String,
        /// The answer.
        answer: Value,
    },
    /// `GET /v1/grants` (operators)
    Grants,
    /// `DELETE /v1/grants/ID` (operators)
    Revoke {
        /// The grant's handle.
        id: String,
    },
    /// `GET /v1/pending` : own work that outlives its call.
    Pending,
    /// `POST /v1/resume/CORRELATION` (operators): what a suspended tool waits for.
    Resume {
        /// What the outside knows it by.
        correlation: String,
        /// The exact text of the result: a text, a tool result, or any other value.
        payload: Box<RawValue>,
    },
    /// `GET /v1/deliveries?wait_ms=&session=`: own results that came after their calls, each once.
    Deliveries {
        /// How long to wait for the first, at most [`MAX_WAIT_MS`].
        wait_ms: u64,
        /// Only of this conversation's calls.
        session: Option<String>,
    },
    /// `DELETE /v1/pending/HANDLE`: own work is given up.
    Cancel {
        /// The work's handle.
        handle: String,
    },
    /// `GET /v1/stats` (operators)
    Stats,
    /// `GET /v1/audit?tool=&outcome=&since=&limit=…` (operators)
    Audit(Vec<(String, String)>),
    /// `GET /v1/breakers` (operators)
    Breakers,
    /// `POST /v1/breakers/reset` (operators): `{"key": …}`.
    ResetBreaker(Value),
    /// `GET /metrics` (operators, or anybody where no callers' keys are configured)
    Metrics,
}

/// A call.
#[derive(Debug)]
pub struct ApiCall {
    /// The tool's exposed name.
    pub name: String,
    /// The exact text of its arguments.
    pub arguments: Option<Box<RawValue>>,
    /// The conversation, as the caller names it.
    pub session: Option<String>,
    /// The agent, as the caller names it.
    pub agent: Option<String>,
    /// From the `Idempotency-Key` header or the body.
    pub idempotency_key: Option<String>,
    /// The caller's own limit, milliseconds.
    pub timeout_ms: Option<u64>,
    /// From the `traceparent` header.
    pub trace: Option<String>,
    /// Fires when the client is gone.
    pub cancel: CancellationToken,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiReply {
    /// HTTP status.
    pub status: u16,
    /// JSON text, or plain text for `/metrics`.
    pub body: String,
}

impl ApiReply {
    /// A JSON answer.
    pub fn json(status: u16, value: &Value) -> Self {
        Self { status, body: value.to_string() }
    }

    /// An error, in the one form that all errors of the API have.
    pub fn error(status: u16, code: &str, message: impl Into<String>) -> Self {
        Self::json(status, &serde_json::json!({"error": {"code": code, "message": message.into()}}))
    }
}
