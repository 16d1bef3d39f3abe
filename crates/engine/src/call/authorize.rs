//! Authorize: guards, then policies, then transforms; what a transform changed is validated and judged again.

use std::sync::Arc;

use toolcrib_core::{
    ToolResult,
    args::{self, Arguments},
    permission::Effect,
};

use super::{CallRequest, Progressing, Stop, resolve::Target, validate};
use crate::{
    clock::now_ms,
    engine::{Engine, InForce},
    event::Outcome,
    intercept::{Denied, Intercepted, Pipeline, Transformed},
    permission::{Decision, Question, Standing},
};

/// What came of it.
pub(super) struct Gate {
    /// The arguments as transforms left them, if one changed them.
    pub(super) changed: Option<Arguments>,
    /// A transform answered in the tool's place.
    pub(super) answered: Option<ToolResult>,
    /// That answer made up for a transform that failed: it went through the hooks already.
    pub(super) recovered: bool,
    /// Allowed, or to be asked about. Never a denial.
    pub(super) decision: Decision,
}

#[expect(clippy::too_many_arguments, reason = "the whole state of a call meets here")]
pub(super) async fn authorize(
    engine: &Engine,
    in_force: &Arc<InForce>,
    pipeline: &Pipeline,
    request: &CallRequest,
    target: &Target,
    standing: &Standing,
    arguments: &Arguments,
    call: &mut Intercepted<'_>,
    state: &mut Progressing,
) -> Result<Gate, Stop> {
    if pipeline.is_empty() {
        let decision = decide(in_force, request, target, standing, arguments, state).await?;
        return Ok(Gate { changed: None, answered: None, recovered: false, decision });
    }
    Box::pin(through(engine, in_force, pipeline, request, target, standing, arguments, call, state)).await
}

/// The same where interceptors are attached.
#[expect(clippy::too_many_arguments, reason = "the whole state of a call meets here")]
async fn through(
    engine: &Engine,
    in_force: &Arc<InForce>,
    pipeline: &Pipeline,
    request: &CallRequest,
    target: &Target,
    standing: &Standing,
    arguments: &Arguments,
    call: &mut Intercepted<'_>,
    state: &mut Progressing,
) -> Result<Gate, Stop> {
    pipeline.guards(call).await.map_err(|denied| refuse(target, &denied, state))?;
    let decision = decide(in_force, request, target, standing, arguments, state).await?;
    match pipeline.transforms(call).await {
        Ok(Transformed::Unchanged) => Ok(Gate { changed: None, answered: None, recovered: false, decision }),
        Ok(Transformed::ShortCircuit(result)) => {
            Ok(Gate { changed: None, answered: Some(result), recovered: false, decision })
        }
        Ok(Transformed::Denied(denied)) => Err(refuse(target, &denied, state)),
        Ok(Transformed::Changed) => {
            let arguments = toolcrib_core::args::parse(Some(call.arguments())).map_err(|error| {
                Stop::told(Outcome::Invalid, format!("{} was not run: {error}.", target.exposed))
                    .because("an interceptor left arguments that cannot be read")
            })?;
            let arguments = validate::validate(engine, target, arguments)?;
            validate::readable(engine, in_force, target, &arguments, &request.scope)?;
            pipeline.guards(call).await.map_err(|denied| refuse(target, &denied, state))?;
            let again = decide(in_force, request, target, standing, &arguments, state).await?;
            // A question about what the caller wanted is not answered by what it was changed to.
            let decision = if matches!(decision, Decision::Ask { .. }) { decision } else { again };
            Ok(Gate { changed: Some(arguments), answered: None, recovered: false, decision })
        }
        Err(failure) => {
            let hook = failure.hook.clone();
            let stop = Stop::told(Outcome::Unavailable, format!("{} was not run: {failure}.", target.exposed))
                .because(format!("the interceptor {hook} failed"));
            match pipeline.on_error(call, failure.failure(Outcome::Unavailable)).await {
                crate::intercept::Recovery::Recovered { result, .. } => {
                    Ok(Gate { changed: None, answered: Some(result), recovered: true, decision })
                }
                crate::intercept::Recovery::Replaced(failure) => {
                    Err(Stop::told(Outcome::Unavailable, failure.text).because(stop.reason.unwrap_or_default()))
                }
                crate::intercept::Recovery::None(_) => Err(stop),
            }
        }
    }
}

fn refuse(target: &Target, denied: &Denied, state: &mut Progressing) -> Stop {
    state.evidence.authority = Some(format!("interceptor {}", denied.hook));
    Stop::denied(&target.exposed, &denied.reason).because(denied.reason.clone())
}

async fn decide(
    in_force: &Arc<InForce>,
    request: &CallRequest,
    target: &Target,
    standing: &Standing,
    arguments: &Arguments,
    state: &mut Progressing,
) -> Result<Decision, Stop> {
    let assessment = &standing.assessment;
    // A refusal too is recorded with what was refused.
    state.mutating = assessment.effect != Effect::ReadOnly;
    state.evidence.definition = Some(target.tool.hash());
    state.evidence.arguments = Some(args::canonical::digest(&arguments.raw));
    let question = Question {
        tool: &target.tool,
        exposed: &target.exposed,
        arguments: &arguments.value,
        raw: &arguments.raw,
        scope: &request.scope,
        identity: &request.identity,
        door: state.door,
        assessment,
        now_ms: now_ms(),
    };
    match in_force.chain.decide_by(standing, &question).await {
        Decision::Deny { authority, reason, .. } => Err(denied(target, authority, reason, state)),
        decision => Ok(decision),
    }
}

/// A policy's denial: the model learns why in the rule's own words, the record also by whose rule.
pub(super) fn denied(target: &Target, authority: String, reason: String, state: &mut Progressing) -> Stop {
    let stop = Stop::denied(&target.exposed, &reason).because(reason);
    state.evidence.authority = Some(authority);
    stop
}
