//! A call that ends before or instead of a plain result, and what is said then: to the model in the reply, to the operator in
//! the reason.

use std::borrow::Cow;

use serde_json::Value;
use toolcrib_core::{Tool, ToolResult};

use super::{CallReply, Cause};
use crate::{backend::InvokeError, engine::InForce, event::Outcome};

/// A call that ends before or instead of a plain result.
pub(crate) struct Stop {
    pub(crate) outcome: Outcome,
    pub(crate) reply: CallReply,
    /// For the record only.
    pub(crate) reason: Option<String>,
    /// For programs.
    pub(crate) cause: Option<Cause>,
}

impl Stop {
    /// Ends the call with a text the model can act on.
    pub(crate) fn told(outcome: Outcome, text: impl Into<String>) -> Self {
        Self { outcome, reply: CallReply::Result(ToolResult::error(text)), reason: None, cause: None }
    }

    /// Ends the call because policy says so. The model is told not to look for a way around.
    pub(crate) fn denied(exposed: &str, why: &str) -> Self {
        let why = why.trim_end_matches('.');
        Self::told(Outcome::Denied, format!("{exposed} was not run: {why}. Do not retry or work around this."))
    }

    /// Without the secrets that an upstream's error may repeat.
    pub(crate) fn masked(mut self, in_force: &InForce) -> Self {
        match &mut self.reply {
            CallReply::Result(result) => {
                if let Cow::Owned(text) = in_force.mask_text(&result.to_text()) {
                    *result = ToolResult::error(text);
                }
            }
            CallReply::Protocol { message, data, .. } => {
                if let Cow::Owned(text) = in_force.mask_text(message) {
                    *message = text;
                }
                if let Some(data) = data {
                    *data = in_force.mask_arguments(data, &Value::Null);
                }
            }
            CallReply::Question(_) => {}
        }
        if let Some(reason) = &mut self.reason
            && let Cow::Owned(text) = in_force.mask_text(reason)
        {
            *reason = text;
        }
        self
    }

    /// The text of the reply.
    pub(crate) fn text(&self) -> String {
        match &self.reply {
            CallReply::Result(result) => result.to_text(),
            CallReply::Protocol { message, .. } => message.clone(),
            CallReply::Question(request) => request.description.clone(),
        }
    }

    pub(crate) fn for_programs(mut self, cause: Cause) -> Self {
        self.cause = Some(cause);
        self
    }

    pub(crate) fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }
}

/// The stop that stands for an invocation's failure.
impl Stop {
    pub(crate) fn from_invoke(tool: &Tool, error: InvokeError) -> Self {
        let group = tool.source().group();
        let reason: String = error.to_string().chars().take(500).collect();
        let stop = match error {
            InvokeError::Refused { code, message, data } => {
                let (message, data) = within_bounds(message, data);
                Self {
                    outcome: Outcome::ToolError,
                    reply: CallReply::Protocol { code, message, data },
                    reason: None,
                    cause: None,
                }
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
