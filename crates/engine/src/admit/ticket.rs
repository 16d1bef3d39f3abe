//! Leave to run one call.

use std::{sync::Arc, time::Duration};

use toolcrib_core::{ContentHash, breaker::Settlement};

use super::{Inner, circuits::Pass, repeat::Watched, slots::Held};
use crate::backend::InvokeError;

/// How an admitted call ended, as far as admission is concerned. Only faults count against a circuit: a tool's own error,
/// an upstream's refusal and a cancellation do not (F26).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// The tool ran and reported success.
    Answered {
        /// Digest of the result.
        result_digest: ContentHash,
    },
    /// The tool ran, or the upstream refused the call, and said so.
    ToolError {
        /// Digest of what was said.
        result_digest: ContentHash,
    },
    /// The upstream could not be reached, broke off or did not answer in time: counts for source and tool.
    Fault(String),
    /// The tool failed without an answer that can be used, but its source is there: counts for the tool only.
    ToolFault(String),
    /// Says nothing, such as a cancelled call.
    Neutral,
}

impl Settled {
    /// What a call that brought no result says. Texts are cut to 200 characters and must hold no secrets.
    pub fn of_error(error: &InvokeError) -> Self {
        match error {
            InvokeError::Unavailable(_) | InvokeError::TimedOut(_) | InvokeError::Unknown(_) => {
                Self::Fault(error.to_string())
            }
            InvokeError::Broken(_) | InvokeError::BadAnswer(_) => Self::ToolFault(error.to_string()),
            InvokeError::Refused { .. } => {
                Self::ToolError { result_digest: ContentHash::of_bytes(error.to_string().as_bytes()) }
            }
            InvokeError::Cancelled => Self::Neutral,
        }
    }
}

/// Leave to run one call. Dropping it is [`Settled::Neutral`]: the place among the running calls and a circuit's probe
/// are given back; what rates have counted is not.
#[must_use = "dropping it ends the call's admission"]
pub struct Ticket {
    admission: Arc<Inner>,
    pass: Pass,
    _held: Held,
    watched: Option<Watched>,
    waited: Duration,
}

impl Ticket {
    pub(super) fn new(
        admission: Arc<Inner>,
        pass: Pass,
        held: Held,
        watched: Option<Watched>,
        waited: Duration,
    ) -> Self {
        Self { admission, pass, _held: held, watched, waited }
    }

    /// How long the call waited for its turn.
    pub fn waited(&self) -> Duration {
        self.waited
    }

    /// Whether the call decides if a circuit closes.
    pub fn is_probe(&self) -> bool {
        self.pass.is_probe()
    }

    /// Takes note of how the call ended. Returns what the model should be told beside the result, if it goes in circles.
    /// Changes of circuits are then in [`Admission::take_changes`](super::Admission::take_changes).
    pub fn settle(self, settled: Settled) -> Option<String> {
        let Self { admission, pass, watched, .. } = self;
        let result = match &settled {
            Settled::Answered { result_digest } | Settled::ToolError { result_digest } => Some(*result_digest),
            // Failing in the same way again and again is going in circles too.
            Settled::Fault(text) | Settled::ToolFault(text) => Some(ContentHash::of_bytes(text.as_bytes())),
            Settled::Neutral => None,
        };
        let (of_source, of_tool) = match settled {
            Settled::Answered { .. } | Settled::ToolError { .. } => (Settlement::Success, Settlement::Success),
            Settled::Fault(text) => (Settlement::fault(&text), Settlement::fault(&text)),
            Settled::ToolFault(text) => (Settlement::Neutral, Settlement::fault(&text)),
            Settled::Neutral => (Settlement::Neutral, Settlement::Neutral),
        };
        pass.settle(of_source, of_tool);
        admission.repeats.ended(watched.as_ref()?, result?)
    }
}
