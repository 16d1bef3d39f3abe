//! One background call from its first step to its last: it ends by itself, by its time limit or by being cancelled, and
//! it really ends.

use std::{panic::AssertUnwindSafe, pin::pin, time::Duration};

use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;
use toolcrib_core::ToolResult;

use super::Finished;
use crate::{backend::BoxFuture, event::Outcome};

/// How long work may take to notice that it is over. Longer than a call gives its backend for the same, so that the call
/// ends by itself, and is recorded as what it was.
pub(super) const GRACE: Duration = Duration::from_secs(2);

enum Over {
    Late,
    Cancelled,
}

/// Runs `work` to its end. After `limit`, or when `cancel` fires, the token is cancelled, the work gets a moment to stop
/// in order, and is dropped then. What it finished within that moment counts.
pub(super) async fn supervise(
    exposed: &str,
    work: BoxFuture<'static, Finished>,
    cancel: &CancellationToken,
    limit: Duration,
) -> Finished {
    let mut work = pin!(AssertUnwindSafe(work).catch_unwind());
    let over = tokio::select! {
        biased;
        ended = &mut work => return ended.unwrap_or_else(|_| broken(exposed)),
        () = cancel.cancelled() => Over::Cancelled,
        () = tokio::time::sleep(limit) => Over::Late,
    };
    cancel.cancel();
    match tokio::time::timeout(GRACE, work).await {
        Ok(Ok(finished)) if matches!(finished.outcome, Outcome::Ok | Outcome::ToolError) => return finished,
        Ok(Err(_)) => tracing::error!(tool = exposed, "background work panicked while it was being stopped"),
        _ => {}
    }
    match over {
        Over::Late => Finished {
            outcome: Outcome::TimedOut,
            result: ToolResult::error(format!(
                "{exposed} ran in the background for {} s, which is its limit, and was stopped. It may or may not have taken effect: check before repeating it.",
                limit.as_secs_f64()
            )),
        },
        Over::Cancelled => Finished {
            outcome: Outcome::Cancelled,
            result: ToolResult::error(format!(
                "{exposed} was cancelled while it ran in the background. What it had begun may have taken effect."
            )),
        },
    }
}

fn broken(exposed: &str) -> Finished {
    tracing::error!(tool = exposed, "background work panicked");
    Finished {
        outcome: Outcome::Unknown,
        result: ToolResult::error(format!(
            "{exposed} failed inside the gateway while it ran in the background. It may or may not have taken effect: check before repeating it."
        )),
    }
}
