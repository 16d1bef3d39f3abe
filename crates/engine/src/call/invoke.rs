//! Invoke: the backend runs the tool, under a deadline and a cancellation token, and cannot take anything else down.

use std::{future::poll_fn, panic::AssertUnwindSafe, pin::pin, sync::Arc, task::Poll, time::Duration};

use futures_util::FutureExt;
use tokio::time::Instant;
use toolcrib_core::{ContentHash, ToolResult, args::Arguments};

use super::{CallRequest, Progressing, resolve::Target};
use crate::{
    backend::{CallContext, Invocation, InvokeError, Late},
    engine::{Engine, InForce},
};

/// How long a backend may take to notice a deadline or a cancellation before the call is ended over its head.
const GRACE: Duration = Duration::from_millis(500);

pub(super) async fn invoke(
    engine: &Engine,
    in_force: &Arc<InForce>,
    request: &CallRequest,
    target: &Target,
    arguments: &Arguments,
    deadline: Instant,
    state: &mut Progressing,
) -> Result<ToolResult, InvokeError> {
    // Cancelled while it was on its way: nothing leaves any more.
    if request.cancel.is_cancelled() {
        return Err(InvokeError::Cancelled);
    }
    let again = may_repeat(in_force, target);
    let started = Instant::now();
    let mut ended = once(engine, request, target, arguments, (started, deadline), state).await;
    // Twice only what is declared to do the same when done twice, and only while there is time.
    if again
        && matches!(ended, Err(InvokeError::Unknown(_) | InvokeError::Unavailable(_)))
        && Instant::now() < deadline
        && !request.cancel.is_cancelled()
    {
        let second = Box::pin(once(engine, request, target, arguments, (Instant::now(), deadline), state)).await;
        ended = match (ended, second) {
            // That the second never left says nothing about the first.
            (Err(InvokeError::Unknown(cause)), Err(InvokeError::Unavailable(_))) => Err(InvokeError::Unknown(cause)),
            (_, second) => second,
        };
    }
    state.timings.backend = started.elapsed();
    if let Ok(result) = &ended {
        state.result_bytes = result.raw().get().len();
        if engine.journal().is_some() {
            state.evidence.output = Some(ContentHash::of_bytes(result.raw().get().as_bytes()));
        }
    }
    ended
}

/// Whether the tool was declared to be safe to run twice: by local configuration, or by itself where it is believed.
fn may_repeat(in_force: &Arc<InForce>, target: &Target) -> bool {
    let tool = &target.tool;
    let groups = &in_force.settings.permissions.groups;
    let declared = tool.hints_trusted() && tool.annotations().idempotent_hint == Some(true);
    declared
        || in_force.settings.limits.idempotent.iter().any(|selector| selector.grants(tool, &target.exposed, groups))
}

/// Waits for what runs, and little longer than until its deadline or cancellation.
async fn within_time<T>(
    running: impl Future<Output = T>,
    context: &CallContext,
    began: Instant,
) -> Result<T, InvokeError> {
    let overrun = async {
        tokio::select! {
            () = tokio::time::sleep_until(context.deadline) => {
                tokio::time::sleep(GRACE).await;
                InvokeError::TimedOut(context.deadline.saturating_duration_since(began))
            }
            () = context.cancel.cancelled() => {
                tokio::time::sleep(GRACE).await;
                InvokeError::Cancelled
            }
        }
    };
    tokio::select! {
        biased;
        ended = running => Ok(ended),
        error = overrun => Err(error),
    }
}

async fn once(
    engine: &Engine,
    request: &CallRequest,
    target: &Target,
    arguments: &Arguments,
    (began, deadline): (Instant, Instant),
    state: &mut Progressing,
) -> Result<ToolResult, InvokeError> {
    let tool = &target.tool;
    let backend = engine
        .hub()
        .backend(tool.source())
        .ok_or_else(|| InvokeError::Unavailable("it was removed from the configuration".to_owned()))?;
    state.attempts += 1;
    let context = CallContext {
        call_id: state.call_id,
        deadline,
        cancel: request.cancel.clone(),
        progress: request.progress.clone(),
        meta: request.meta.clone(),
        scope: request.scope.clone(),
        identity: request.identity.clone(),
        suspender: request.suspender.of_call(state.call_id),
        late: Late::new(engine.journal().is_some()),
    };
    // The call itself is inside the barrier too: a backend may fail before it has a future to give.
    let running = async { backend.invoke(Invocation { tool, arguments: &arguments.raw, context: &context }).await };
    let ended = {
        let mut guarded = pin!(AssertUnwindSafe(running).catch_unwind());
        // What answers at once needs no clock beside it.
        match poll_fn(|waker| Poll::Ready(guarded.as_mut().poll(waker))).await {
            Poll::Ready(ended) => Ok(ended),
            Poll::Pending => Box::pin(within_time(guarded, &context, began)).await,
        }
    };
    let ended = match ended {
        Ok(Ok(ended)) => ended,
        Ok(Err(_)) => {
            tracing::error!(tool = %tool.id(), call_id = state.call_id, "the code that runs this tool panicked");
            Err(InvokeError::Broken(state.call_id))
        }
        Err(overrun) => Err(overrun),
    };
    if matches!(ended, Err(InvokeError::TimedOut(_) | InvokeError::Cancelled)) {
        state.late = context.late;
    }
    ended
}
