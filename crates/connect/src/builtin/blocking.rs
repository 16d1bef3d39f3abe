//! File work: on threads that may block, a few at a time, stoppable.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolcrib_engine::CallContext;

use super::{Shared, failure::Failure};

/// Asked by long work whether anybody still waits for it.
pub(crate) struct Stop {
    cancel: CancellationToken,
    deadline: Instant,
}

impl Stop {
    /// Fails once the call was cancelled or its time is up. The text is never seen: the call has been answered by then.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.cancel.is_cancelled() || Instant::now() >= self.deadline {
            return Err(Failure::new("stopped"));
        }
        Ok(())
    }

    /// Waits for a lock no longer than the call may last.
    pub(crate) fn lock<'a, T>(&self, mutex: &'a Mutex<T>) -> Result<MutexGuard<'a, T>, Failure> {
        let turn = mutex.try_lock_until(self.deadline.into_std());
        let turn = turn.ok_or_else(|| Failure::new("another write takes too long; try again"))?;
        self.check()?;
        Ok(turn)
    }
}

/// Runs `work` on a blocking thread. Dropping the future tells the work to stop at its next check.
pub(crate) async fn run<T: Send + 'static>(
    shared: &Arc<Shared>,
    context: &CallContext,
    work: impl FnOnce(&Shared, &Stop) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let closed = |_| Failure::new("toolcrib is shutting down");
    let permit = shared.file_jobs.clone().acquire_owned().await.map_err(closed)?;
    // Cancelled when this future is dropped, and with the call's own token.
    let cancel = context.cancel.child_token();
    let _guard = cancel.clone().drop_guard();
    let stop = Stop { cancel, deadline: context.deadline };
    let shared = shared.clone();
    let task = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        stop.check()?;
        work(&shared, &stop)
    });
    match task.await {
        Ok(outcome) => outcome,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(Failure::new("toolcrib is shutting down")),
    }
}
