//! The one path every call takes, whatever door it came through. One file per stage, in this order:
//! [`resolve`] (name map, bridge, suggestions; with the scope check) → [`repair`] → [`validate`] → [`authorize`] (guards,
//! policies, transforms) → [`approve`] → [`admit`] → [`journal`] (intent) → [`invoke`] → after and error hooks →
//! [`shape`] → [`journal`] (outcome) → [`record`].
//!
//! Transforms run before anybody is asked, and what they changed is validated and judged again: a person's answer means
//! exactly what runs.

mod admit;
mod anew;
mod approve;
mod authorize;
mod background;
mod invoke;
mod journal;
mod record;
mod repair;
mod report;
mod request;
mod resolve;
mod shape;
mod stop;
mod validate;

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt;
use toolcrib_core::{Source, ToolResult};
use tracing::Instrument as _;

pub use report::{CallReply, CallReport, Cause, Evidence, Timings};
pub use request::CallRequest;

pub(crate) use self::{report::Progressing, stop::Stop};
use crate::{
    engine::{Engine, InForce},
    event::Outcome,
    identity::Principal,
    intercept::{Failure, Intercepted, Recovery},
    permission::Decision,
    view::View,
};

/// Runs a call through all stages.
pub(crate) async fn run(engine: &Engine, mut request: CallRequest) -> CallReport {
    let in_force = engine.in_force();
    if in_force.book().is_some() {
        request.scope = engine.in_session(request.scope, request.identity.session.as_deref());
    }
    // What runs in the background is the same call still.
    let call_id = request.in_background.unwrap_or_else(|| engine.next_call_id());
    let mut state = Progressing::new(call_id, &request);
    // Nothing a stage does may leave the caller without an answer or the call without a record.
    let span = tracing::debug_span!(target: "toolcrib::call", "call", call_id = state.call_id, run = engine.run(), name = state.name);
    // On the heap: what is large is moved from hand to hand otherwise.
    let stages = Box::pin(stages(engine, &in_force, &request, &mut state));
    let ended = AssertUnwindSafe(stages).catch_unwind().instrument(span).await;
    let ended = ended.unwrap_or_else(|_| {
        tracing::error!(call_id = state.call_id, "a stage of the call path panicked");
        let text = format!("The call failed inside the gateway (number {} in its log).", state.call_id);
        Err(Stop::told(Outcome::Unknown, text).because("a stage panicked"))
    });
    let (outcome, reply, reason, cause) = match ended {
        Ok(End { result, outcome, reason, cause }) => (outcome, CallReply::Result(result), reason, cause),
        Err(stop) => (stop.outcome, stop.reply, stop.reason, stop.cause),
    };
    // A question is no end: the call comes again with the answer, and is recorded then.
    state.timings.total = state.started.elapsed();
    let tool = match reply {
        CallReply::Question(_) => state.tool.as_ref().map(|tool| tool.id().clone()),
        _ => record::record(engine, &in_force, &request, &mut state, outcome, reason).await,
    };
    record::late(engine, &request, &mut state);
    state.report(reply, outcome, cause, tool)
}

/// A call that ends with a result. The outcome is that of the call, also where a hook made up for a failure.
struct End {
    result: ToolResult,
    outcome: Outcome,
    reason: Option<String>,
    cause: Option<Cause>,
}

impl End {
    fn of(result: ToolResult) -> Self {
        let outcome = if result.is_error() { Outcome::ToolError } else { Outcome::Ok };
        Self { result, outcome, reason: None, cause: None }
    }

    /// The result of a call that ran before.
    fn earlier(result: ToolResult) -> Self {
        Self {
            reason: Some("answered from the record of an earlier call".to_owned()),
            cause: Some(Cause::Earlier),
            ..Self::of(result)
        }
    }
}

async fn stages(
    engine: &Engine,
    in_force: &Arc<InForce>,
    request: &CallRequest,
    state: &mut Progressing,
) -> Result<End, Stop> {
    let look = || {
        let unservable = |error| Stop::told(Outcome::Denied, format!("No tool can be called: {error}."));
        engine.view(&request.scope).map_err(unservable)
    };
    let mut view: Arc<View> = look()?;
    let mut resolved = resolve::resolve(&view, request, state);
    // Nothing is checked, described or asked about by a definition that its source has still to give.
    if engine.learn(&resolved.named(&view, request), &request.cancel).await {
        view = look()?;
        resolved = resolve::resolve(&view, request, state);
    }
    let target = match resolved {
        resolve::Resolved::Tool(target) => target,
        resolve::Resolved::Other(other) => {
            let result = Box::pin(other.answer(engine, &view, request, state.door)).await?;
            return Ok(End::of(shape::fit(engine, in_force, request, result).await));
        }
    };
    state.tool = Some(target.tool.clone());
    if in_force.book().is_some() {
        engine.note_used(request, &target.tool, &target.exposed);
    }
    journal::promised(engine, request, &target)?;
    let (arguments, valid) = repair::repair(engine, &target, state)?;
    let arguments = if valid { arguments } else { validate::validate(engine, &target, arguments)? };
    validate::guessed(&target, &arguments)?;
    validate::readable(engine, in_force, &target, &arguments, &request.scope)?;
    let tool = target.tool.clone();
    let standing = in_force.chain.standing(&tool, &target.exposed);
    let pipeline = engine.interceptors().snapshot();
    let principal = Principal::of(&request.scope, &request.identity);
    let mut call = Intercepted::new(
        state.call_id,
        state.door,
        &tool,
        &target.exposed,
        &arguments.raw,
        &request.scope,
        &request.identity,
    );
    if request.in_background.is_none() && background::applies(in_force, &target, request) {
        let leave = approve::Leave {
            engine,
            in_force,
            request,
            target: &target,
            arguments: &arguments,
            principal: &principal,
            standing: &standing,
        };
        // A key that is known is answered here: what the work behind a handle finds out later is no answer to the caller.
        if let Some(result) = Box::pin(journal::earlier(engine, request, &target, &arguments.raw)).await? {
            return Ok(End::earlier(result));
        }
        return Box::pin(background::start(&leave, &pipeline, &call, state)).await.map(End::of);
    }
    let gate =
        authorize::authorize(engine, in_force, &pipeline, request, &target, &standing, &arguments, &mut call, state)
            .await?;
    let arguments = gate.changed.as_ref().unwrap_or(&arguments);
    if let Some(result) = gate.answered {
        // Nothing ran: no approval is used up and no breaker hears of it.
        let result = if gate.recovered { result } else { Box::pin(pipeline.after(&call, result)).await };
        return Ok(End::of(shape::shape(engine, in_force, request, &target, result).await));
    }

    if matches!(gate.decision, Decision::Ask { .. })
        && let Some(result) = Box::pin(journal::earlier(engine, request, &target, &arguments.raw)).await?
    {
        return Ok(End::earlier(result));
    }
    let leave = approve::Leave {
        engine,
        in_force,
        request,
        target: &target,
        arguments,
        principal: &principal,
        standing: &standing,
    };
    let (ticket, admitted) = leave.obtain(gate.decision, state).await?;
    let opened = match journal::open(engine, in_force, request, &admitted, state).await? {
        journal::Opened::Go(opened) => opened,
        journal::Opened::Earlier(result) => return Ok(End::earlier(result)),
    };
    if !pipeline.is_empty() {
        Box::pin(pipeline.observe_before(&call)).await;
    }
    let ran = invoke::invoke(engine, in_force, request, &target, arguments, admitted.deadline, state).await;
    admit::settle(engine, in_force, ticket, &admitted, &ran, state).await;
    let ended = match ran {
        Ok(result) => {
            let result = match request.suspender.take_of(state.call_id) {
                Some(suspension) => {
                    Box::pin(background::suspended(engine, request, &tool, result, suspension, state)).await
                }
                None => result,
            };
            let result = if pipeline.is_empty() { result } else { Box::pin(pipeline.after(&call, result)).await };
            // What was asked for slice by slice is bounded already, and cutting it again would loop.
            let own = tool.name() == crate::results::READ_TOOL && *tool.source() == Source::Builtin;
            let mut result = if own { result } else { shape::shape(engine, in_force, request, &target, result).await };
            if let Some(note) = state.note.take() {
                result = toolcrib_core::shape::append_note(&result, &note);
            }
            Ok(End::of(result))
        }
        Err(error) => {
            match Box::pin(recovered(&pipeline, &call, Stop::from_invoke(&tool, error).masked(in_force))).await {
                // What a hook gives in the tool's place is a result like others.
                Ok(end) => {
                    Ok(End { result: shape::shape(engine, in_force, request, &target, end.result).await, ..end })
                }
                stopped => stopped,
            }
        }
    };
    let (outcome, reason, result) = match &ended {
        Ok(end) => (end.outcome, end.reason.as_deref(), Some(&end.result)),
        Err(stop) => (stop.outcome, stop.reason.as_deref(), None),
    };
    journal::close(opened, state, outcome, reason, result).await;
    ended
}

/// A failure, after error hooks had their say. Whatever they make of it, the call stays a failure.
async fn recovered(pipeline: &crate::intercept::Pipeline, call: &Intercepted<'_>, stop: Stop) -> Result<End, Stop> {
    if pipeline.is_empty() {
        return Err(stop);
    }
    let outcome = stop.outcome;
    let reason = stop.reason.clone();
    match pipeline.on_error(call, Failure::new(outcome, stop.text())).await {
        Recovery::None(_) => Err(stop),
        Recovery::Recovered { result, hook, .. } => {
            let reason = format!("{}; {hook} gave a result in its place", reason.unwrap_or_default());
            Ok(End { result, outcome, reason: Some(reason), cause: None })
        }
        Recovery::Replaced(failure) => {
            Err(Stop { reply: CallReply::Result(ToolResult::error(failure.text)), outcome, reason, cause: None })
        }
    }
}
