//! Invoke: the backend runs the tool, under a deadline and a cancellation token, and cannot take anything else down.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures_util::FutureExt;
use tokio::time::Instant;
use toolcrib_core::{ToolResult, args::Arguments};

use super::{CallRequest, Progressing, Stop, resolve::Target};
use crate::{
    backend::{CallContext, Invocation, InvokeError},
    engine::Engine,
    settings::EngineSettings,
};

/// How long a backend may take to notice a deadline or a cancellation before the call is ended over its head.
const GRACE: Duration = Duration::from_millis(500);

pub(super) async fn invoke(
    engine: &Engine,
    settings: &EngineSettings,
    request: &CallRequest,
    target: &Target,
    arguments: &Arguments,
    state: &mut Progressing,
) -> Result<ToolResult, Stop> {
    let tool = &target.tool;
    let stop = |error| Stop::from_invoke(tool, error);
    let backend = engine
        .hub()
        .backend(tool.source())
        .ok_or_else(|| stop(InvokeError::Unavailable("it was removed from the configuration".to_owned())))?;
    let limits = &settings.limits;
    let timeout = request
        .timeout
        .or_else(|| limits.source_timeouts.get(tool.source()).copied())
        .unwrap_or(limits.default_timeout)
        .min(limits.max_timeout);
    let started = Instant::now();
    let context = CallContext {
        call_id: state.call_id,
        deadline: started + timeout,
        cancel: request.cancel.clone(),
        progress: request.progress.clone(),
        meta: request.meta.clone(),
        scope: request.scope.clone(),
    };
    // The call itself is inside the barrier too: a backend may fail before it has a future to give.
    let running = async { backend.invoke(Invocation { tool, arguments: &arguments.raw, context: &context }).await };
    let guarded = AssertUnwindSafe(running).catch_unwind();
    let overrun = async {
        tokio::select! {
            () = tokio::time::sleep_until(context.deadline) => {
                tokio::time::sleep(GRACE).await;
                InvokeError::TimedOut(timeout)
            }
            () = context.cancel.cancelled() => {
                tokio::time::sleep(GRACE).await;
                InvokeError::Cancelled
            }
        }
    };
    let ended = tokio::select! {
        biased;
        ended = guarded => ended.unwrap_or_else(|_| {
            tracing::error!(tool = %tool.id(), call_id = state.call_id, "the code that runs this tool panicked");
            Err(InvokeError::Broken(state.call_id))
        }),
        error = overrun => Err(error),
    };
    state.backend_time = started.elapsed();
    let result = ended.map_err(stop)?;
    state.result_bytes = result.raw().get().len();
    Ok(result)
}
