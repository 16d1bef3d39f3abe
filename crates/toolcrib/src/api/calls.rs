//! Calls, and how their ends are told to programs.

use std::{sync::Arc, time::Duration};

use toolcrib_core::ToolResult;
use toolcrib_engine::{CallReply, CallReport, CallRequest, Cause, Door, Identity, Outcome, pending::Suspender};
use toolcrib_gateway::api::{
    ApiCall, ApiCaller, Code,
    wire::{CallOutcome, Ended, Number, OutcomeWord, ProtocolError, RepairMade, TimingsUs, Word},
};

use super::{Api, scope::Asking};

pub(super) async fn call(api: &Api, caller: &ApiCaller, call: ApiCall) -> Ended {
    let principal = caller.principal.as_deref();
    let ApiCall { call, idempotency_key, trace, progress, cancel } = call;
    let asking = match Asking::of(api, principal, &call.scope) {
        Ok(asking) => asking,
        Err(problem) => return refused(api, &problem),
    };
    let mut request = CallRequest::new(call.name.into_inner(), call.arguments, asking.scope, Door::Http);
    request.identity = Arc::new(Identity {
        agent: asking.agent,
        session: call.session.map(Word::into_inner),
        roles: api.world.callers.roles(principal),
        trace,
        ..Identity::default()
    });
    request.idempotency_key = idempotency_key;
    request.timeout = call.timeout_ms.map(Number::get).map(Duration::from_millis);
    request.suspender = Suspender::accepting();
    request.progress = progress;
    request.cancel = cancel;
    // The path refuses it as well, and records that; why is for programs.
    let unservable = api.world.engine.view(&request.scope).is_err();
    let mut ended = ended(api, api.world.engine.call_report(request).await);
    if unservable && ended.code == Some(Code::Denied) {
        ended.code = Some(Code::ScopeRefused);
    }
    ended
}

/// A call of a scope that cannot be served.
fn refused(api: &Api, problem: &toolcrib_gateway::api::Problem) -> Ended {
    let call = CallOutcome {
        outcome: OutcomeWord::Denied,
        result: ToolResult::error(problem.detail()).raw().to_owned(),
        error: None,
        tool: None,
        call_id: 0,
        run: api.world.engine.run().to_owned(),
        attempts: 0,
        replayed: false,
        approval: None,
        pending: None,
        repairs: Vec::new(),
        timings_us: TimingsUs::default(),
    };
    Ended { status: problem.code().status(), code: Some(problem.code()), retry_after: None, call }
}

fn ended(api: &Api, report: CallReport) -> Ended {
    let code = code(&report);
    let retry_after = match (&report.cause, code) {
        (Some(Cause::NotLetIn { retry_ms }), _) => Some(retry_ms.map_or(1, |ms| ms.div_ceil(1_000).max(1))),
        (Some(Cause::StillRunning), _) => Some(1),
        _ => None,
    };
    let approval = match &report.cause {
        Some(Cause::Approval { request }) => Some(request.clone()),
        _ => None,
    };
    let replayed = report.cause == Some(Cause::Earlier);
    let error = match &report.reply {
        CallReply::Protocol { code, message, data } => {
            Some(ProtocolError { code: *code, message: message.clone(), data: data.clone() })
        }
        CallReply::Result(_) | CallReply::Question(_) => None,
    };
    // The result's own text, so that big numbers and images reach the caller as the tool wrote them.
    let result = ToolResult::from(report.reply).raw().to_owned();
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let call = CallOutcome {
        outcome: word(report.outcome),
        result,
        error,
        tool: report.tool.map(|tool| tool.to_string()),
        call_id: report.call_id,
        run: api.world.engine.run().to_owned(),
        attempts: report.attempts,
        replayed,
        approval,
        pending: report.pending,
        repairs: report
            .repairs
            .into_iter()
            .map(|repair| RepairMade { path: repair.path, from: repair.from, to: repair.to })
            .collect(),
        timings_us: TimingsUs {
            total: micros(report.timings.total),
            asking: micros(report.timings.asking),
            backend: micros(report.timings.backend),
        },
    };
    Ended { status: code.map_or(200, Code::status), code, retry_after, call }
}

/// The problem that a call's end is, if it is one: the tool did not run, or whether it did is not known.
fn code(report: &CallReport) -> Option<Code> {
    match (&report.cause, report.outcome) {
        (Some(Cause::UnknownTool), _) => Some(Code::UnknownTool),
        (Some(Cause::Approval { .. }), _) => Some(Code::ApprovalNeeded),
        (Some(Cause::KeyTaken), _) => Some(Code::KeyReused),
        (Some(Cause::StillRunning), _) => Some(Code::StillRunning),
        (Some(Cause::NotLetIn { .. }), Outcome::Denied) => Some(Code::TooFast),
        (_, Outcome::Ok | Outcome::ToolError) => None,
        (_, Outcome::Denied) => Some(Code::Denied),
        (_, Outcome::Invalid) => Some(Code::InvalidArguments),
        (_, Outcome::TimedOut) => Some(Code::TimedOut),
        (_, Outcome::Cancelled) => Some(Code::Cancelled),
        (_, Outcome::Unavailable) => Some(Code::Unavailable),
        (_, Outcome::Unknown) => Some(Code::UnknownOutcome),
    }
}

fn word(outcome: Outcome) -> OutcomeWord {
    match outcome {
        Outcome::Ok => OutcomeWord::Ok,
        Outcome::ToolError => OutcomeWord::ToolError,
        Outcome::Denied => OutcomeWord::Denied,
        Outcome::Invalid => OutcomeWord::Invalid,
        Outcome::TimedOut => OutcomeWord::TimedOut,
        Outcome::Cancelled => OutcomeWord::Cancelled,
        Outcome::Unavailable => OutcomeWord::Unavailable,
        Outcome::Unknown => OutcomeWord::Unknown,
    }
}
