//! Background: a tool that does not block answers with a handle once nothing stands against the call; the call itself goes
//! its whole way behind it, and what comes of it is delivered as a follow-up.
//!
//! Guards and policies judge twice: here, so that a refusal is told to the caller at once, and again when the call begins.

use std::{sync::Arc, time::Duration};

use toolcrib_core::{Source, Tool, ToolResult, args::canonical, permission::Effect};

use super::{CallRequest, Progressing, Stop, approve::Leave, resolve::Target};
use crate::{
    backend::BoxFuture,
    engine::{Engine, InForce},
    event::{Door, Outcome},
    identity::Principal,
    intercept::{Intercepted, Pipeline},
    pending::{Finished, Origin, Suspension},
    permission::Decision,
};

/// Whether the tool runs in the background: local configuration says so, or a tool that is believed does.
pub(super) fn applies(in_force: &Arc<InForce>, target: &Target, request: &CallRequest) -> bool {
    // A command ends with its call; nobody would be there when the result comes.
    if request.door == Door::Cli {
        return false;
    }
    let tool = &target.tool;
    let groups = &in_force.settings.permissions.groups;
    says_so(tool)
        || in_force.settings.limits.background.iter().any(|selector| selector.matches(tool, &target.exposed, groups))
}

fn says_so(tool: &Tool) -> bool {
    matches!(tool.source(), Source::Builtin | Source::Plugin(_)) && tool.definition()["blocking"] == false
}

/// Judges the call before it goes to the background. Whatever stands against it ends it here, in the caller's own call; so
/// does a question that only this call can put, or that nobody can be asked.
async fn judge(
    leave: &Leave<'_>,
    pipeline: &Pipeline,
    call: &Intercepted<'_>,
    state: &mut Progressing,
) -> Result<(), Stop> {
    let target = leave.target;
    if let Err(refused) = pipeline.guards(call).await {
        state.evidence.authority = Some(format!("interceptor {}", refused.hook));
        return Err(Stop::denied(&target.exposed, &refused.reason).because(refused.reason));
    }
    let assessment = &leave.standing.assessment;
    state.mutating = assessment.effect != Effect::ReadOnly;
    let decision = leave.in_force.chain.decide_by(leave.standing, &leave.question(assessment, state)).await;
    let asker = leave.request.asker.as_ref().or(leave.engine.asker());
    if matches!(decision, Decision::Ask { .. }) && asker.is_some_and(|asker| asker.outlives_call()) {
        // The person is asked while nobody waits.
        return Ok(());
    }
    let digest = canonical::digest(&leave.arguments.raw);
    state.evidence.definition = Some(target.tool.hash());
    state.evidence.arguments = Some(digest);
    leave.allowed(&decision, assessment, digest, state).await.map(drop)
}

/// Judges the call and puts it in the background; the result is the placeholder.
pub(super) async fn start(
    leave: &Leave<'_>,
    pipeline: &Pipeline,
    call: &Intercepted<'_>,
    state: &mut Progressing,
) -> Result<ToolResult, Stop> {
    judge(leave, pipeline, call, state).await?;
    let Leave { engine, request, target, .. } = *leave;
    let Some(pending) = engine.pending() else {
        return Err(Stop::told(
            Outcome::Unavailable,
            format!("{} runs in the background only, and nothing here can hold its result.", target.exposed),
        ));
    };
    // The same words go the whole way again: what they were repaired and chosen to is not what they said.
    let mut inner = request.clone();
    inner.in_background = Some(state.call_id);
    // The caller's call ends now; what it gives up later is the placeholder, not the work.
    inner.cancel = tokio_util::sync::CancellationToken::new();
    inner.progress = None;
    inner.asker = inner.asker.filter(|asker| asker.outlives_call());
    let origin = origin(engine, request, &target.tool, &target.exposed, state);
    let cancel = inner.cancel.clone();
    let work = whole(engine.clone(), inner);
    // The call keeps its own time, which begins when it runs: waiting for a person does not use it up.
    match pending.start(origin, cancel, Some(Duration::ZERO), work).await {
        Ok(started) => {
            state.pending = Some(started.pending.handle);
            state.goes_on = true;
            Ok(started.placeholder)
        }
        Err(error) => Err(Stop::told(Outcome::Unavailable, format!("{} was not run: {error}.", target.exposed))
            .because(error.to_string())),
    }
}

/// The whole way of a call, to its result.
fn whole(engine: Engine, request: CallRequest) -> BoxFuture<'static, Finished> {
    Box::pin(async move {
        let report = super::run(&engine, request).await;
        Finished { result: report.reply.into(), outcome: report.outcome }
    })
}

fn origin(engine: &Engine, request: &CallRequest, tool: &Tool, exposed: &str, state: &Progressing) -> Origin {
    Origin {
        principal: Principal::of(&request.scope, &request.identity),
        run: engine.run().to_owned(),
        call: state.call_id,
        tool: tool.id().to_string(),
        exposed: exposed.to_owned(),
    }
}

/// Keeps a call whose tool said that it waits for something outside, until it is resumed. The result goes to the caller
/// now; a call that cannot be kept says so instead, because nothing would ever come.
pub(super) async fn suspended(
    engine: &Engine,
    request: &CallRequest,
    tool: &Tool,
    result: ToolResult,
    suspension: Suspension,
    state: &mut Progressing,
) -> ToolResult {
    let Some(pending) = engine.pending() else {
        return ToolResult::error(
            "The tool waits for an answer from outside, and nothing here can hold the call until then.",
        );
    };
    let origin = origin(engine, request, tool, &state.name, state);
    match pending.suspend(origin, suspension).await {
        Ok(piece) => {
            let note = format!(
                "The call waits for an answer from outside. What comes of it is read with {} and the handle {}.",
                crate::results::READ_TOOL,
                piece.handle
            );
            state.pending = Some(piece.handle);
            toolcrib_core::shape::append_note(&result, &note)
        }
        Err(error) => ToolResult::error(format!(
            "The tool waits for an answer from outside, but the call cannot be held: {error}."
        )),
    }
}
