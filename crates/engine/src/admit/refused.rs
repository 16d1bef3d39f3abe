//! Calls that are not let in.

use toolcrib_core::breaker::Rejection;

use super::report::{BreakerKey, Guarded};
use crate::event::Outcome;

/// Why a call was not let in; nothing was run. [`Display`](std::fmt::Display) is for the operator, [`Self::told`] for the
/// model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The tool, or its whole source, has failed too often lately.
    #[error("circuit of {key} is {} after {} faults, next try in {retry_ms} ms", .rejection.state.word(), .rejection.failures)]
    BreakerOpen {
        /// Which circuit.
        key: BreakerKey,
        /// Milliseconds until the next try.
        retry_ms: u64,
        /// What the circuit said.
        rejection: Rejection,
    },
    /// A rate is used up.
    #[error("rate used up: {rule}; next call in {retry_ms} ms")]
    TooFast {
        /// The rule in words.
        rule: String,
        /// Most calls in the window.
        limit: u32,
        /// The window, milliseconds.
        window_ms: u64,
        /// Milliseconds until there is room for a call.
        retry_ms: u64,
    },
    /// Too many calls run, and too many wait already, or waiting took too long.
    #[error("{what} is at its limit ({limit}); {}", if *queue_full { "the queue is full".to_owned() } else { format!("waited {waited_ms} ms") })]
    TooMany {
        /// What is at its limit.
        what: String,
        /// The limit in words.
        limit: String,
        /// How long the call waited.
        waited_ms: u64,
        /// Whether it did not even wait, because too many do.
        queue_full: bool,
    },
    /// The same call gave the same result again and again.
    #[error("the same call gave the same result {count} times in a row")]
    Repeated {
        /// How often it ran in a row.
        count: u32,
    },
    /// The caller gave up while the call waited for its turn.
    #[error("cancelled while it waited for its turn")]
    Cancelled,
}

impl Refused {
    /// How the call ends.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::BreakerOpen { .. } | Self::TooMany { .. } => Outcome::Unavailable,
            // Hard: no approval changes it (oneringai case 104).
            Self::TooFast { .. } | Self::Repeated { .. } => Outcome::Denied,
            Self::Cancelled => Outcome::Cancelled,
        }
    }

    /// After how many milliseconds the call may be let in, where that is known.
    pub fn retry_ms(&self) -> Option<u64> {
        match self {
            Self::BreakerOpen { retry_ms, .. } | Self::TooFast { retry_ms, .. } => Some(*retry_ms),
            Self::TooMany { .. } | Self::Repeated { .. } | Self::Cancelled => None,
        }
    }

    /// What the model is told about its call of `exposed`.
    pub fn told(&self, exposed: &str) -> String {
        match self {
            Self::BreakerOpen { key, retry_ms, rejection } => {
                let failing = match &key.guarded {
                    Guarded::Tool(_) => exposed.to_owned(),
                    Guarded::Source(source) => format!("{}, where {exposed} comes from,", source.group()),
                };
                let last = match &rejection.last_error {
                    Some(error) => format!(" The last failure was: {error}."),
                    None => String::new(),
                };
                format!(
                    "{failing} keeps failing and is left alone for the moment, so nothing was run. Try again in {} s, or go on without it.{last}",
                    seconds(*retry_ms)
                )
            }
            Self::TooFast { limit, window_ms, retry_ms, .. } => format!(
                "{exposed} was not run: no more than {limit} such calls are allowed in {} s. Try again in {} s.",
                seconds(*window_ms),
                seconds(*retry_ms)
            ),
            Self::TooMany { .. } => format!(
                "{exposed} was not run: too many calls are running at the moment. Make fewer calls at once, and try again in a few seconds."
            ),
            Self::Repeated { count } => format!(
                "{exposed} was not run: the same call has given the same result {count} times in a row. Use the result you have, change the arguments, or take another way."
            ),
            Self::Cancelled => format!("{exposed} was not run: the call was cancelled while it waited for its turn."),
        }
    }
}

/// Whole seconds, rounded up.
fn seconds(ms: u64) -> u64 {
    ms.div_ceil(1_000)
}
