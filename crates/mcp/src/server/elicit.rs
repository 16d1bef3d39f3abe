//! Asking the person behind a client something in the middle of a call (MCP elicitation, form mode).
//!
//! Owns what a service sees of it: whether and how it may ask, the question, the reply. How a question travels is the
//! eras' business: up to 2025-11-25 as a request of ours while the call waits ([`super::questions`]), since 2026-07-28 as
//! the end of the call, which the client then sends again together with the reply.

use std::{collections::BTreeMap, fmt, sync::Arc};

use serde_json::{Map, Value};
use toolcrib_core::{ToolResult, schema::Validator};

use super::{BoxFuture, Protocol, frame::quoted};

mod reading;

pub(super) use reading::{can_show_forms, reply, resumed};

/// Longest `requestState`, in bytes: what is given out and what is taken back. 8 KiB.
pub const MAX_STATE: usize = 8 << 10;

/// How the person behind a client can be asked during this call.
#[derive(Clone)]
pub enum Asking {
    /// Not at all: the client cannot show questions, or the way back to it carries the answer alone.
    Unable,
    /// The question goes out while the call waits (2025-06-18 and 2025-11-25).
    Direct(Arc<dyn Elicitor>),
    /// The call ends with [`Answer::InputRequired`], and the client sends it again with the reply (since 2026-07-28).
    ByResending,
}

impl fmt::Debug for Asking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unable => "Unable",
            Self::Direct(_) => "Direct",
            Self::ByResending => "ByResending",
        })
    }
}

/// Puts questions to the person while a call waits. Good for one call: once that has ended, every question is
/// [`ElicitError::Lost`].
pub trait Elicitor: Send + Sync {
    /// Asks and waits for the reply, for ever: a limit is the caller's to set. Dropping the future takes the question
    /// back. An accepted reply fits the question's schema.
    fn elicit<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Result<Reply, ElicitError>>;
}

/// A form to be filled in. Never to ask for secrets with: what is answered passes through the client.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// What the person reads.
    pub message: String,
    /// The fields: the schema of a flat object of texts, numbers, booleans and choices (MCP, elicitation). Fields
    /// that it does not name are refused.
    pub schema: Value,
}

impl Question {
    /// Whether an accepted reply is one to this question. Replies that come by [`Asking::Direct`] were checked already;
    /// those in [`Resumed`] were not, because the protocol does not know what was asked.
    ///
    /// # Errors
    /// Says which field does not fit, without its value.
    pub fn check(&self, content: &Map<String, Value>) -> Result<(), String> {
        let known = self.schema.get("properties").and_then(Value::as_object);
        if let Some(stray) = content.keys().find(|name| known.is_none_or(|known| !known.contains_key(*name))) {
            let shown: String = stray.chars().take(64).collect();
            return Err(format!("the field {shown:?} was not asked for"));
        }
        let validator = Validator::compile(&self.schema)
            .map_err(|problem| format!("the question's schema is unusable: {problem}"))?;
        let Err(violations) = validator.validate(&Value::Object(content.clone())) else { return Ok(()) };
        Err(match violations.first() {
            Some(first) if first.missing.is_some() => {
                format!("the field {:?} is missing", first.missing.as_deref().unwrap_or_default())
            }
            Some(first) => format!("{} does not fit {:?} of the question's schema", first.path, first.keyword),
            None => "it does not fit the question's schema".to_owned(),
        })
    }

    /// The parameters of `elicitation/create`.
    pub(super) fn params(&self, protocol: Protocol) -> String {
        // Modes came with 2025-11-25; before, a form was all there was.
        let mode = if protocol >= Protocol::V2025_11_25 { r#""mode":"form","# } else { "" };
        format!(r#"{{{mode}"message":{},"requestedSchema":{}}}"#, quoted(&self.message), self.schema)
    }
}

/// What the person did with a question.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// Filled in the form. At most 64 fields, each a text, a number, a boolean or a list of texts.
    Accept(Map<String, Value>),
    /// Said no.
    Decline,
    /// Closed the form without a choice.
    Cancel,
}

/// Why a question got no reply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ElicitError {
    /// The way to the client is gone, or the call has ended or was cancelled.
    #[error("the question was lost with its call or connection; call the tool again")]
    Lost,
    /// The client answered with an error, or with what is no answer to the question. Text of the client in it is
    /// cleaned and cut.
    #[error("the client did not answer the question: {0}")]
    Refused(String),
    /// Too many questions are open on the connection.
    #[error("{0} questions to this client are open already; wait until one of them is answered")]
    Busy(usize),
}

/// What a client sent along when it sent a call again.
#[derive(Clone, Debug, PartialEq)]
pub struct Resumed {
    /// `requestState` as sent back. To be believed as little as any other input (T7).
    pub state: String,
    /// Replies by the key their question was asked under, at most 16. Not checked against their questions: see
    /// [`Question::check`].
    pub replies: BTreeMap<String, Reply>,
}

/// What a call ends with.
#[derive(Clone, Debug)]
pub enum Answer {
    /// The tool's result.
    Result(ToolResult),
    /// A question; only where asking is [`Asking::ByResending`], an internal error anywhere else.
    InputRequired {
        /// The name the reply comes back under.
        key: String,
        /// The question.
        question: Question,
        /// Comes back as it is: whatever the service needs to go on, sealed. At most [`MAX_STATE`] bytes.
        state: String,
    },
}

impl From<ToolResult> for Answer {
    fn from(result: ToolResult) -> Self {
        Self::Result(result)
    }
}

#[cfg(test)]
mod tests;
