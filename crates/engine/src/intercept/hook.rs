//! What an interceptor is asked and what it may answer.

use std::{error::Error, sync::Arc, time::Duration};

use serde_json::value::RawValue;
use toolcrib_core::{Tool, ToolResult};

use super::Intercepted;
use crate::{backend::BoxFuture, event::Outcome};

/// What an interceptor may do. The order of the variants is the order in which stages run before a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// May only let a call pass or deny it. One that fails, panics or takes too long denies (openclaw case 117).
    Guard,
    /// May replace arguments and results, answer in the tool's place, deny, and recover from failures.
    Transform,
    /// Sees everything and changes nothing. One that fails is reported and skipped.
    Observe,
    /// Brings results into form, outside of all transforms. Has no say before the tool runs.
    Normalise,
}

impl Stage {
    /// How long a hook of this stage may wait, unless it says otherwise: 15 s, observers 2 s.
    pub fn time_limit(self) -> Duration {
        match self {
            Self::Observe => Duration::from_secs(2),
            Self::Guard | Self::Transform | Self::Normalise => Duration::from_secs(15),
        }
    }
}

/// Runs around calls. Name, stage and priority are read once, when it is attached.
pub trait Interceptor: Send + Sync + 'static {
    /// Its name, unique in a registry and part of logs and refusals.
    fn name(&self) -> &str;
    /// What it may do.
    fn stage(&self) -> Stage;
    /// Lower runs earlier before a tool and later after it. Default 100.
    fn priority(&self) -> i32 {
        100
    }
    /// How long each of its hooks may wait.
    fn time_limit(&self) -> Duration {
        self.stage().time_limit()
    }
    /// Whether it has to do with this tool at all. Default: with every tool.
    fn applies(&self, _tool: &Tool) -> bool {
        true
    }
    /// Before the tool runs. Not called for normalisers.
    fn before<'a>(&'a self, _call: &'a Intercepted<'a>) -> BoxFuture<'a, Result<Before, HookError>> {
        Box::pin(std::future::ready(Ok(Before::Continue)))
    }
    /// When there is a result, also one with `isError`. Not called for guards.
    fn after<'a>(
        &'a self,
        _call: &'a Intercepted<'a>,
        _result: &'a ToolResult,
    ) -> BoxFuture<'a, Result<After, HookError>> {
        Box::pin(std::future::ready(Ok(After::Keep)))
    }
    /// When there is none. Not called for guards, nor for a call that was denied.
    fn on_error<'a>(
        &'a self,
        _call: &'a Intercepted<'a>,
        _failure: &'a Failure,
    ) -> BoxFuture<'a, Result<OnError, HookError>> {
        Box::pin(std::future::ready(Ok(OnError::Pass)))
    }
    /// It is in the registry now.
    fn attached(&self) {}
    /// It was taken out, or another took its name. Calls under way may still use it.
    fn detached(&self) {}
}

/// An answer before the tool runs.
#[derive(Clone, Debug)]
pub enum Before {
    /// Go on.
    Continue,
    /// Go on with these arguments, a JSON object. Transforms only.
    Replace(Box<RawValue>),
    /// Do not run the tool; this is its result. Transforms only.
    ShortCircuit(ToolResult),
    /// Do not run the tool, for this reason. Guards and transforms.
    Deny(String),
}

/// An answer to a result.
#[derive(Clone, Debug)]
pub enum After {
    /// Leave it.
    Keep,
    /// Put this in its place. Transforms and normalisers.
    Replace(ToolResult),
}

/// An answer to a failure.
#[derive(Clone, Debug)]
pub enum OnError {
    /// Leave it to the next.
    Pass,
    /// Give the caller this result. For records, breakers and figures the call stays a failure.
    Recover(ToolResult),
    /// Tell the model this instead; the original stays as the source.
    Replace(String),
}

/// A hook that could not do its work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HookError(pub String);

impl From<&str> for HookError {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for HookError {
    fn from(text: String) -> Self {
        Self(text)
    }
}

/// A call without a result.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{text}")]
pub struct Failure {
    /// How it ended. No hook changes that.
    pub outcome: Outcome,
    /// What the model is told.
    pub text: String,
    /// What is behind it; for a reworded failure the [`Failure`] before (case 30, ours).
    pub source: Option<Arc<dyn Error + Send + Sync>>,
}

impl Failure {
    /// A failure with nothing behind it.
    pub fn new(outcome: Outcome, text: impl Into<String>) -> Self {
        Self { outcome, text: text.into(), source: None }
    }

    /// The same with its cause.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Error + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(cause));
        self
    }

    /// The failure as a hook words it, this one kept as its source.
    pub(super) fn reworded(self, text: String) -> Self {
        Self { outcome: self.outcome, text, source: Some(Arc::new(self)) }
    }
}
