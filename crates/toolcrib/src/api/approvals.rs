//! Questions to a person, answers over HTTP, and what they leave behind.

use serde_json::json;
use toolcrib_engine::approval::{Answer, AnswerError, AnswerOutcome, RequestFilter, RequestState};
use toolcrib_gateway::api::{
    ApiCaller, Code, Problem,
    wire::{self, Answered, ApprovalsQuery, Grants, Requests, Revoked, Verdict},
};

use super::{Api, LIMIT, as_wire, store, unknown};
use crate::{callers::now_ms, evidence};

pub(super) async fn list(api: &Api, caller: &ApiCaller, query: ApprovalsQuery) -> Result<Requests, Problem> {
    let state = match query.state {
        None | Some(wire::RequestState::Pending) => Some(RequestState::Pending),
        Some(wire::RequestState::Approved) => Some(RequestState::Approved),
        Some(wire::RequestState::Denied) => Some(RequestState::Denied),
        Some(wire::RequestState::Expired) => Some(RequestState::Expired),
        Some(wire::RequestState::All) => None,
    };
    let limit = query.limit.map_or(LIMIT, |limit| usize::try_from(limit.get()).unwrap_or(LIMIT));
    let filter = RequestFilter { tenant: api.responder(caller).tenant, state, limit };
    let found = api.open_approvals()?.list(filter, now_ms()).await.map_err(store)?;
    Ok(Requests { approvals: as_wire(&found)? })
}

pub(super) async fn answer(api: &Api, caller: &ApiCaller, id: String, verdict: Verdict) -> Result<Answered, Problem> {
    let answer: Answer = as_wire(&verdict)?;
    let (by, approvals) = (api.responder(caller), api.open_approvals()?);
    let request = approvals.request(&id, by.tenant.as_deref(), now_ms()).await.map_err(store)?;
    let engine = &api.world.engine;
    let record =
        request.and_then(|stored| evidence::of_run(engine, evidence::answered(&stored.request, &answer, &by.by)));
    let answered = approvals.answer_on_record(&id, &answer, &by, record.clone(), now_ms()).await;
    if answered.as_ref().is_ok_and(|answered| answered.outcome == AnswerOutcome::Recorded) {
        evidence::tell(engine, record.as_ref());
    }
    match answered {
        Ok(answered) => match answered.outcome {
            AnswerOutcome::Recorded => Ok(Answered { recorded: true, grant: as_wire(&answered.grant)? }),
            AnswerOutcome::Settled(state) => {
                let state = json!(state);
                let word = state.as_str().unwrap_or_default();
                let text = format!("it was answered before, or has expired: it is {word}");
                Err(Problem::new(Code::Settled, text))
            }
            AnswerOutcome::Unknown => Err(unknown("request")),
        },
        Err(AnswerError::Store(error)) => Err(store(error)),
        Err(error @ AnswerError::OwnCall { .. }) => Err(own_call(error)),
        Err(error) => Err(Problem::new(Code::NotOffered, error.to_string())),
    }
}

pub(super) async fn grants(api: &Api, caller: &ApiCaller) -> Result<Grants, Problem> {
    let tenant = api.responder(caller).tenant;
    let found = api.open_approvals()?.grants(tenant.as_deref(), LIMIT, now_ms()).await.map_err(store)?;
    Ok(Grants { grants: as_wire(&found)? })
}

pub(super) async fn revoke(api: &Api, caller: &ApiCaller, id: String) -> Result<Revoked, Problem> {
    let (engine, by, approvals) = (&api.world.engine, api.responder(caller), api.open_approvals()?);
    let grant = approvals.grant(&id, by.tenant.as_deref(), now_ms()).await.map_err(store)?;
    if let Some(refusal) = grant.as_ref().filter(|grant| !grant.allow) {
        approvals.not_their_own(&by, &refusal.principal).map_err(own_call)?;
    }
    let record = grant.and_then(|grant| evidence::of_run(engine, evidence::revoked(&grant, &by.by)));
    if !approvals.revoke_on_record(&id, &by, record.clone(), now_ms()).await.map_err(store)? {
        return Err(unknown("grant"));
    }
    evidence::tell(engine, record.as_ref());
    Ok(Revoked { revoked: true })
}

#[expect(clippy::needless_pass_by_value, reason = "as map_err gives it")]
fn own_call(error: AnswerError) -> Problem {
    Problem::new(Code::OwnCall, error.to_string())
}
