//! What becomes of a call.

use std::{sync::Arc, time::Duration};

use serde_json::Value;
use tokio::time::Instant;
use toolcrib_core::{ContentHash, Tool, ToolId, ToolResult, args::Repair};

use super::CallRequest;
use crate::{
    approval::ApprovalRequest,
    backend::Late,
    event::{Door, Outcome},
};

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
    /// Nothing ran yet: a person has to be asked, and the answer comes with the same call sent again.
    Question(Box<ApprovalRequest>),
}

/// What a program can act on, beyond the outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The name leads to no tool of the caller's.
    UnknownTool,
    /// A person has to approve it first; the same call runs once afterwards.
    Approval {
        /// The request's handle.
        request: String,
    },
    /// It was not let in: a rate is used up, too many calls run, or what it needs keeps failing.
    NotLetIn {
        /// After how many milliseconds it may be, where that is known.
        retry_ms: Option<u64>,
    },
    /// The same call ran before, and this is what came of it then.
    Earlier,
    /// The same call is still running.
    StillRunning,
    /// Its idempotency key was used for another call.
    KeyTaken,
}

/// A call with its outcome.
#[derive(Debug)]
pub struct CallReport {
    /// The call's number in this process; with the run it names the call in the journal.
    pub call_id: u64,
    /// What the caller gets.
    pub reply: CallReply,
    /// How it ended. A failure stays one here also where an error hook gave a result in its place.
    pub outcome: Outcome,
    /// What a program can act on, where there is more to say than the outcome.
    pub cause: Option<Cause>,
    /// The tool, where the name led to one.
    pub tool: Option<ToolId>,
    /// What was repaired in the arguments.
    pub repairs: Vec<Repair>,
    /// How often the tool was run: 0 when nothing left, more than 1 only for tools that are declared idempotent.
    pub attempts: u32,
    /// Where the time went.
    pub timings: Timings,
    /// What can be shown of it afterwards.
    pub evidence: Evidence,
    /// The handle under which the result of background work, or of a suspended call, is found.
    pub pending: Option<String>,
}

/// Where the time of a call went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timings {
    /// From the door to the reply.
    pub total: Duration,
    /// Waiting for a person.
    pub asking: Duration,
    /// Inside the backend, all attempts together.
    pub backend: Duration,
}

/// What can be shown of a call afterwards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Hash of the tool's definition.
    pub definition: Option<ContentHash>,
    /// Digest of the canonical arguments that ran.
    pub arguments: Option<ContentHash>,
    /// Digest of the result as the tool gave it.
    pub output: Option<ContentHash>,
    /// The rule or approval that let the call through or stopped it.
    pub authority: Option<String>,
    /// Whether the intent was in the journal before the call left.
    pub journaled: bool,
}

/// What the stages share about one call. Each stage fills its part; by whose authority is for the last one that decided.
pub(crate) struct Progressing {
    pub(crate) call_id: u64,
    pub(crate) started: Instant,
    pub(crate) door: Door,
    pub(crate) name: String,
    pub(crate) tool: Option<Arc<Tool>>,
    pub(crate) repairs: Vec<Repair>,
    pub(crate) result_bytes: usize,
    pub(crate) attempts: u32,
    pub(crate) timings: Timings,
    pub(crate) evidence: Evidence,
    /// Whether the call may change something, once that is known.
    pub(crate) mutating: bool,
    /// Whether a person approved exactly this one call.
    pub(crate) approved_once: bool,
    /// Whether the journal has the call's outcome already.
    pub(crate) closed: bool,
    /// Whether the call goes on in the background: it is told of and recorded when it has ended.
    pub(crate) goes_on: bool,
    /// To be said to the model with the result.
    pub(crate) note: Option<String>,
    pub(crate) pending: Option<String>,
    /// What the backend goes on waiting for after it gave up.
    pub(crate) late: Late,
}

impl Progressing {
    pub(crate) fn new(call_id: u64, request: &CallRequest) -> Self {
        Self {
            call_id,
            started: Instant::now(),
            door: request.door,
            name: request.name.chars().take(128).collect(),
            tool: None,
            repairs: Vec::new(),
            result_bytes: 0,
            attempts: 0,
            timings: Timings::default(),
            evidence: Evidence::default(),
            mutating: false,
            approved_once: false,
            closed: false,
            goes_on: false,
            note: None,
            pending: None,
            late: Late::default(),
        }
    }

    /// Says something to the model with the result.
    pub(crate) fn say(&mut self, text: &str) {
        match &mut self.note {
            Some(note) => {
                note.push(' ');
                note.push_str(text);
            }
            None => self.note = Some(text.to_owned()),
        }
    }

    pub(crate) fn report(
        self,
        reply: CallReply,
        outcome: Outcome,
        cause: Option<Cause>,
        tool: Option<ToolId>,
    ) -> CallReport {
        CallReport {
            call_id: self.call_id,
            reply,
            outcome,
            cause,
            tool,
            repairs: self.repairs,
            attempts: self.attempts,
            timings: self.timings,
            evidence: self.evidence,
            pending: self.pending,
        }
    }
}
