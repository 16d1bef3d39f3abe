//! Background: a tool that does not block answers with a handle at once; the call itself goes its whole way behind it, and
//! what comes of it is delivered as a follow-up.

use std::sync::Arc;

use toolcrib_core::{Source, Tool, ToolResult, args::Arguments};

use super::{CallRequest, Progressing, Stop, resolve::Target};
use crate::{
    backend::BoxFuture,
    engine::{Engine, InForce},
    event::{Door, Outcome},
    identity::Principal,
    pending::{Finished, Origin},
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

pub(super) async fn start(
    engine: &Engine,
    request: &CallRequest,
    target: &Target,
    arguments: &Arguments,
    state: &mut Progressing,
) -> Result<ToolResult, Stop> {
    let Some(pending) = engine.pending() else {
        return Err(Stop::told(
            Outcome::Unavailable,
            format!("{} runs in the background only, and nothing here can hold its result.", target.exposed),
        ));
    };
    let mut inner = request.clone();
    inner.name.clone_from(&target.exposed);
    inner.arguments = Some(arguments.raw.clone());
    inner.in_background = Some(state.call_id);
    inner.door = state.door;
    // The caller's call ends now; what it gives up later is the placeholder, not the work.
    inner.cancel = tokio_util::sync::CancellationToken::new();
    inner.progress = None;
    let origin = origin(engine, request, &target.tool, &target.exposed, state);
    let (cancel, timeout) = (inner.cancel.clone(), inner.timeout);
    let work = whole(engine.clone(), inner);
    match pending.start(origin, cancel, timeout, work).await {
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
    state: &mut Progressing,
) -> ToolResult {
    let Some(suspension) = request.suspender.take_of(state.call_id) else { return result };
    let Some(pending) = engine.pending() else {
        return ToolResult::error(
            "The tool waits for an answer from outside, and nothing here can hold the call until then.",
        );
    };
    let origin = origin(engine, request, tool, &state.name, state);
    match pending.suspend(origin, suspension).await {
        Ok(piece) => {
            state.pending = Some(piece.handle);
            result
        }
        Err(error) => ToolResult::error(format!(
            "The tool waits for an answer from outside, but the call cannot be held: {error}."
        )),
    }
}
