//! One hook run so that it can neither take the call down nor hold it up.

use std::{future::Future, panic::AssertUnwindSafe, time::Duration};

use futures_util::FutureExt;

use super::HookError;

/// How a hook failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error("failed: {0}")]
    Error(HookError),
    #[error("panicked")]
    Panic,
    #[error("did not answer within {} ms", .0.as_millis())]
    TimedOut(Duration),
    #[error("{0}")]
    Misbehaved(&'static str),
}

/// Runs a hook under a time limit. `run` makes the future itself: a hook may fail before it has one to give.
pub(super) async fn guarded<T>(limit: Duration, run: impl Future<Output = Result<T, HookError>>) -> Result<T, Fault> {
    match tokio::time::timeout(limit, AssertUnwindSafe(run).catch_unwind()).await {
        Ok(Ok(Ok(answer))) => Ok(answer),
        Ok(Ok(Err(error))) => Err(Fault::Error(error)),
        Ok(Err(_)) => Err(Fault::Panic),
        Err(_) => Err(Fault::TimedOut(limit)),
    }
}

/// Runs what cannot wait, and survives its panic.
pub(super) fn caught<T>(run: impl FnOnce() -> T) -> Result<T, Fault> {
    std::panic::catch_unwind(AssertUnwindSafe(run)).map_err(|_| Fault::Panic)
}
