//! The one path every call takes, whatever door it came through. One file per stage, in this order:
//! [`resolve`] (name map, bridge, suggestions; with the scope check) → [`repair`] → [`validate`] → [`authorize`] →
//! [`invoke`] → [`shape`] → [`record`].

mod authorize;
mod invoke;
mod record;
mod repair;
mod resolve;
mod shape;
mod validate;

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;
use serde_json::{Value, value::RawValue};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolcrib_core::{Scope, Source, Tool, ToolId, ToolResult, args::Repair};

use crate::{
    backend::{InvokeError, ProgressSink},
    engine::Engine,
    event::{Door, Outcome},
    settings::EngineSettings,
    view::View,
};

/// A call as it comes in.
pub struct CallRequest {
    /// The exposed name, possibly of a bridge tool.
    pub name: String,
    /// The arguments as the caller wrote them; `None` = none given.
    pub arguments: Option<Box<RawValue>>,
    /// Who asks.
    pub scope: Scope,
    /// Which way it came in.
    pub door: Door,
    /// The caller's own deadline.
    pub timeout: Option<Duration>,
    /// Cancelled when nobody waits any more.
    pub cancel: CancellationToken,
    /// Where progress goes.
    pub progress: Option<ProgressSink>,
    /// The caller's `_meta`, less reserved keys.
    pub meta: Option<Value>,
}

impl CallRequest {
    /// A call with nothing but a name and arguments.
    pub fn new(name: impl Into<String>, arguments: Option<Box<RawValue>>, scope: Scope, door: Door) -> Self {
        Self {
            name: name.into(),
            arguments,
            scope,
            door,
            timeout: None,
            cancel: CancellationToken::new(),
            progress: None,
            meta: None,
        }
    }
}

/// What the caller gets.
#[derive(Debug)]
pub enum CallReply {
    /// A result; failures the model can act on are results with `isError`.
    Result(ToolResult),
    /// A protocol error: no such tool, or the upstream's own JSON-RPC error.
    Protocol {
        /// JSON-RPC code.
        code: i64,
        /// Text for the model and the user.
        message: String,
        /// Further data.
        data: Option<Value>,
    },
}

/// A call with its outcome.
#[derive(Debug)]
pub struct CallReport {
    /// What the caller gets.
    pub reply: CallReply,
    /// How it ended.
    pub outcome: Outcome,
    /// The tool, where the name led to one.
    pub tool: Option<ToolId>,
    /// What was repaired in the arguments.
    pub repairs: Vec<Repair>,
}

/// A call that ends before or instead of a plain result.
pub(crate) struct Stop {
    pub(crate) outcome: Outcome,
    pub(crate) reply: CallReply,
    /// For the record only.
    pub(crate) reason: Option<String>,
}

impl Stop {
    /// Ends the call with a text the model can act on.
    pub(crate) fn told(outcome: Outcome, text: impl Into<String>) -> Self {
        Self { outcome, reply: CallReply::Result(ToolResult::error(text)), reason: None }
    }

    pub(crate) fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }
}

/// What the stages share about one call. Each stage fills its part; none changes another's.
pub(crate) struct Progressing {
    pub(crate) call_id: u64,
    pub(crate) started: Instant,
    pub(crate) door: Door,
    pub(crate) name: String,
    pub(crate) tool: Option<Arc<Tool>>,
    pub(crate) repairs: Vec<Repair>,
    pub(crate) result_bytes: usize,
    pub(crate) backend_time: Duration,
}

/// Runs a call through all stages.
pub(crate) async fn run(engine: &Engine, request: CallRequest) -> CallReport {
    let settings = engine.settings();
    let mut state = Progressing {
        call_id: engine.next_call_id(),
        started: Instant::now(),
        door: request.door,
        name: request.name.chars().take(128).collect(),
        tool: None,
        repairs: Vec::new(),
        result_bytes: 0,
        backend_time: Duration::ZERO,
    };
    // Nothing a stage does may leave the caller without an answer or the call without a record.
    let ended = AssertUnwindSafe(stages(engine, &settings, request, &mut state)).catch_unwind().await;
    let ended = ended.unwrap_or_else(|_| {
        tracing::error!(call_id = state.call_id, "a stage of the call path panicked");
        let text = format!("The call failed inside the gateway (number {} in its log).", state.call_id);
        Err(Stop::told(Outcome::Unknown, text).because("a stage panicked"))
    });
    let (outcome, reply, reason) = match ended {
        Ok(result) => {
            let outcome = if result.is_error() { Outcome::ToolError } else { Outcome::Ok };
            (outcome, CallReply::Result(result), None)
        }
        Err(stop) => (stop.outcome, stop.reply, stop.reason),
    };
    record::record(engine, &state, outcome, reason);
    CallReport { reply, outcome, tool: state.tool.map(|tool| tool.id().clone()), repairs: state.repairs }
}

async fn stages(
    engine: &Engine,
    settings: &EngineSettings,
    request: CallRequest,
    state: &mut Progressing,
) -> Result<ToolResult, Stop> {
    let view: Arc<View> = engine
        .view(&request.scope)
        .map_err(|error| Stop::told(Outcome::Denied, format!("No tool can be called: {error}.")))?;
    let target = match resolve::resolve(engine, &view, &request, state).await? {
        resolve::Resolved::Answer(result) => return Ok(shape::shape(engine, settings, &request.scope, result).await),
        resolve::Resolved::Tool(target) => target,
    };
    state.tool = Some(target.tool.clone());
    let arguments = repair::repair(engine, &target, state)?;
    let arguments = validate::validate(engine, &target, arguments)?;
    authorize::authorize(settings, &target)?;
    let result = invoke::invoke(engine, settings, &request, &target, &arguments, state).await?;
    // What was asked for slice by slice is bounded already, and cutting it again would loop.
    if target.tool.name() == crate::results::READ_TOOL && *target.tool.source() == Source::Builtin {
        return Ok(result);
    }
    Ok(shape::shape(engine, settings, &request.scope, result).await)
}

/// The stop that stands for an invocation's failure.
impl Stop {
    pub(crate) fn from_invoke(tool: &Tool, error: InvokeError) -> Self {
        let group = tool.source().group();
        let reason: String = error.to_string().chars().take(500).collect();
        let stop = match error {
            InvokeError::Refused { code, message, data } => {
                let (message, data) = within_bounds(message, data);
                Self { outcome: Outcome::ToolError, reply: CallReply::Protocol { code, message, data }, reason: None }
            }
            InvokeError::Unavailable(cause) => Self::told(
                Outcome::Unavailable,
                format!(
                    "{group} is not available at the moment, so nothing was run: {cause}. Try again later, or go on without it."
                ),
            ),
            InvokeError::TimedOut(limit) => Self::told(
                Outcome::TimedOut,
                format!(
                    "{group} did not answer within {} ms. The call may or may not have taken effect: check before repeating it.",
                    limit.as_millis()
                ),
            ),
            InvokeError::Cancelled => Self::told(
                Outcome::Cancelled,
                "The call was cancelled. Work that had already begun may have taken effect.",
            ),
            InvokeError::Unknown(cause) => Self::told(
                Outcome::Unknown,
                format!(
                    "The connection to {group} was lost during the call ({cause}). It may or may not have taken effect: check before repeating it."
                ),
            ),
            InvokeError::Broken(number) => Self::told(
                Outcome::Unknown,
                format!(
                    "Running the tool failed inside the gateway (number {number} in its log). It may or may not have taken effect: check before repeating it."
                ),
            ),
            InvokeError::BadAnswer(cause) => Self::told(
                Outcome::Unknown,
                format!(
                    "{group} ran the call but its answer cannot be used: {cause}. Check what happened before repeating it."
                ),
            ),
        };
        stop.because(reason)
    }
}

/// Longest message of an upstream's error, in characters.
const MAX_ERROR_CHARS: usize = 4_000;
/// Largest data of an upstream's error, in bytes of JSON.
const MAX_ERROR_DATA: usize = 64 * 1024;

/// An upstream's error within the bounds that results have too: cut, and saying so.
fn within_bounds(message: String, data: Option<Value>) -> (String, Option<Value>) {
    let message = match message.char_indices().nth(MAX_ERROR_CHARS) {
        Some((at, _)) => format!("{}… [cut from {} characters]", &message[..at], message.chars().count()),
        None => message,
    };
    let data = data.map(|data| {
        let bytes = toolcrib_core::ingest::json_len(&data);
        if bytes > MAX_ERROR_DATA { Value::from(format!("[{bytes} bytes left out]")) } else { data }
    });
    (message, data)
}
