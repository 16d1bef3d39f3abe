//! The seam between the call path and whatever runs a tool.

mod late;

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use serde_json::{Value, value::RawValue};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolcrib_core::{Scope, Tool, ToolResult, schema::Violation};

pub use self::late::Late;
use crate::{identity::Identity, pending::Suspender};

/// A boxed future, for traits that registries hold as `dyn`.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A step of progress a running tool reports.
#[derive(Clone, Debug)]
pub struct Progress {
    /// The notification's parameters as sent (`progress`, `total`, `message`, …) without the token, which is ours.
    pub params: Value,
}

/// Where progress goes. Must not block; a full queue drops the step (progress is a hint, the reply is what counts).
pub type ProgressSink = Arc<dyn Fn(Progress) + Send + Sync>;

/// What accompanies one call: limits, cancellation, where progress goes.
#[derive(Clone)]
pub struct CallContext {
    /// Unique per call; in events and logs.
    pub call_id: u64,
    /// When the call must have ended, progress or not.
    pub deadline: Instant,
    /// Cancelled when nobody waits for the answer any more. Backends must pass it on to the child or socket.
    pub cancel: CancellationToken,
    /// Where to report progress, if the caller asked for it.
    pub progress: Option<ProgressSink>,
    /// The caller's `_meta` of this call, less reserved keys; forwarded to upstreams.
    pub meta: Option<Value>,
    /// Who sees it; what a backend keeps must be kept apart by tenant and user.
    pub scope: Scope,
    /// Who asks, as it was when the call came in.
    pub identity: Arc<Identity>,
    /// Where a tool signals that it waits for something outside; refuses unless the caller can resume calls.
    pub suspender: Suspender,
    /// Where a backend that gives up leaves what may still come.
    pub late: Late,
}

impl CallContext {
    /// A context with a deadline from now and nothing else.
    pub fn new(call_id: u64, timeout: Duration) -> Self {
        Self {
            call_id,
            deadline: Instant::now() + timeout,
            cancel: CancellationToken::new(),
            progress: None,
            meta: None,
            scope: Scope::default(),
            identity: Arc::default(),
            suspender: Suspender::default(),
            late: Late::default(),
        }
    }

    /// Time left until the deadline.
    pub fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}

/// One tool to run with arguments that validation has accepted.
pub struct Invocation<'a> {
    /// The tool; `tool.name()` is the name its source knows.
    pub tool: &'a Tool,
    /// The arguments, always a JSON object, as the exact text that was validated.
    pub arguments: &'a RawValue,
    /// Limits and cancellation.
    pub context: &'a CallContext,
}

/// Runs the tools of one source.
///
/// Must honour `context.deadline` and `context.cancel`; the engine enforces both around it as well, so a backend that
/// does not only wastes its own resources. A panic is caught by the engine.
pub trait Backend: Send + Sync + 'static {
    /// Runs a tool once. Never retries after the request left.
    fn invoke<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolResult, InvokeError>>;

    /// Where the source has not said yet what this tool's definition is: waits until it has, or cannot, and published it.
    /// Asked before anybody goes by the definition (a call that is checked against it, a description); may start what runs
    /// the tool, because the caller sees it. Must end by itself within a bounded time. Default, `None`: the definition stands.
    fn learn<'a>(&'a self, _tool: &'a Tool, _cancel: &'a CancellationToken) -> Option<BoxFuture<'a, ()>> {
        None
    }

    /// Looks at arguments that the schema accepts, before anything is decided about the call and anybody asked: what the tool
    /// itself would not take is as invalid as what the schema refuses. Must be quick. Default: everything is taken.
    fn check(&self, _tool: &Tool, _arguments: &RawValue, _scope: &Scope) -> Result<(), Violation> {
        Ok(())
    }

    /// What a call will do, in one sentence for the person who is asked about it; shown beside the arguments and cut; of
    /// secrets only those that can be told by their form are masked. Must be quick. Default: nothing is said.
    fn describe_call(&self, _tool: &Tool, _arguments: &RawValue, _scope: &Scope) -> Option<String> {
        None
    }
}

/// Why there is no result. Which variant decides what may be said about side effects: only [`InvokeError::Unavailable`]
/// and [`InvokeError::Refused`] promise that nothing ran.
#[derive(Clone, Debug, thiserror::Error)]
pub enum InvokeError {
    /// The source cannot be reached; the request never left, so it may be tried again.
    #[error("{0}")]
    Unavailable(String),
    /// The upstream answered with a JSON-RPC error; passed on as it is.
    #[error("{message} (code {code})")]
    Refused {
        /// JSON-RPC error code.
        code: i64,
        /// The upstream's text.
        message: String,
        /// The upstream's data.
        data: Option<Value>,
    },
    /// The deadline passed. Whether the tool ran is not known.
    #[error("no answer within {} ms", .0.as_millis())]
    TimedOut(Duration),
    /// The caller gave up.
    #[error("cancelled by the caller")]
    Cancelled,
    /// The connection broke after the request was sent: the tool may or may not have run.
    #[error("{0}")]
    Unknown(String),
    /// The code that runs the tool failed; the number finds it in the log.
    #[error("internal failure, number {0} in the log")]
    Broken(u64),
    /// The upstream's answer cannot be used (not an object, over the size limit, …); the tool did run.
    #[error("{0}")]
    BadAnswer(String),
}
