//! The table of operations.

use std::sync::Arc;

use axum::{
    Extension,
    extract::{Request, State},
    http::{HeaderValue, Method, header},
    response::{IntoResponse, Response},
    routing::{MethodFilter, get, on},
};

use super::{
    Api, ApiService, Code, Problem, calls, intake, openapi,
    operation::{Content, Operation, Who, answered, caller, schema},
    turns,
    waiters::MAX_WAITERS,
    wire::{Deliveries, DeliveriesQuery, Event, Number, Object, Relabel, Turn, TurnDone, Verdict, Word},
};
use crate::{
    guard::{self, Principal},
    settings::{KeyScope, KeyScopes},
};

/// All operations, in the order of the document.
pub(super) fn all() -> Vec<Operation> {
    let mut all = looking();
    all.extend(calling());
    all.extend(approving());
    all.extend(operating());
    all
}

const POST: (Method, MethodFilter) = (Method::POST, MethodFilter::POST);
const PATCH: (Method, MethodFilter) = (Method::PATCH, MethodFilter::PATCH);

const STORE: &[Code] = &[Code::SwitchedOff, Code::StoreUnavailable];
const ANSWER: &[Code] =
    &[Code::OwnCall, Code::Unknown, Code::Settled, Code::NotOffered, Code::SwitchedOff, Code::StoreUnavailable];

fn looking() -> Vec<Operation> {
    let health =
        Operation::plain("/v1/health", "health", "How the gateway and its sources are doing.", |api, caller| {
            api.health(caller)
        });
    let document = Operation::new(
        Method::GET,
        "/v1/openapi.json",
        "openapi",
        "This document.",
        Content::Json(|_| schemars::json_schema!({"type": "object"})),
        get(async || ([(header::CONTENT_TYPE, "application/json")], openapi::text())),
    );
    let tools = Operation::query(
        "/v1/tools",
        "listTools",
        "The tools that the scope sees.",
        |api: &dyn ApiService, caller, scope| api.tools(caller, scope),
    );
    let search = Operation::body(
        "/v1/search",
        "searchTools",
        "Tools that fit a description, best first.",
        |api: &dyn ApiService, caller, search| api.search(caller, search),
    );
    let describe = Operation::body(
        "/v1/describe",
        "describeTools",
        "Definitions of tools with their original schemas.",
        |api: &dyn ApiService, caller, describe| api.describe(caller, describe),
    );
    let assemble = Operation::body(
        "/v1/assemble",
        "assemble",
        "The tool set for a model, in the shape that its provider takes.",
        |api: &dyn ApiService, caller, assemble| api.assemble(caller, assemble),
    );
    let explain = Operation::body(
        "/v1/explain",
        "explain",
        "Why a tool is shown, deferred, hidden or refused, and what would become of a call.",
        |api: &dyn ApiService, caller, explain| api.explain(caller, explain),
    );
    let mut all = vec![health, document];
    all.extend([tools, search, describe].map(|one| one.needs(KeyScope::Read).problems(&[Code::ScopeRefused])));
    all.push(assemble.needs(KeyScope::Read).problems(&[Code::ScopeRefused, Code::NameTaken]));
    let catalog = Operation::query(
        "/v1/catalog",
        "listCatalog",
        "Tools of every kind, with where they come from and what is said of them. Operators see all of them, others those that \
         they can call.",
        |api: &dyn ApiService, caller, query| api.catalog(caller, query),
    );
    all.push(catalog.needs(KeyScope::Read).problems(&[Code::ScopeRefused, Code::NotUsable]));
    all.push(explain.needs(KeyScope::Read).problems(&[Code::ScopeRefused, Code::UnknownTool, Code::NotUsable]));
    all
}

fn calling() -> Vec<Operation> {
    let calls = Operation::new(
        Method::POST,
        "/v1/calls",
        "call",
        "Runs one call, or many side by side. With `Accept: text/event-stream` progress and outcomes come as events.",
        Content::JsonOrEvents(calls::answer_schema, schema::<Event>),
        on(MethodFilter::POST, calls::take),
    );
    let calls = Operation {
        body: Some(calls::body_schema),
        headers: &[(
            "Idempotency-Key",
            "Requests with the same key are one: what ran is not run again, and its outcome is given with `replayed`. Of a \
             batch, each call has the key with its place.",
        )],
        ..calls
    };
    let turns = Operation::new(
        Method::POST,
        "/v1/turns",
        "turn",
        "Runs the calls in a provider's response and answers them in the provider's shape.",
        Content::Json(schema::<TurnDone>),
        on(MethodFilter::POST, turns::take),
    );
    let turns = Operation {
        body: Some(schema::<Turn>),
        headers: &[(
            "Idempotency-Key",
            "A turn that is sent again runs nothing again: each call has the key with its own id.",
        )],
        ..turns
    };
    let pending = Operation::plain(
        "/v1/pending",
        "listPending",
        "Own unfinished work that outlives its calls.",
        |api, caller| api.pending(caller),
    );
    let cancel = Operation::part(
        ("/v1/pending/{handle}", "The work's handle."),
        "cancelPending",
        "Gives own work up.",
        |api: &dyn ApiService, caller, handle| api.cancel(caller, handle),
    );
    let deliveries = Operation::new(
        Method::GET,
        "/v1/deliveries",
        "takeDeliveries",
        "Own results that came after their calls, each given once; waits for the first if asked to.",
        Content::Json(schema::<Deliveries>),
        get(deliveries),
    );
    let deliveries = Operation { query: Some(<DeliveriesQuery as schemars::JsonSchema>::json_schema), ..deliveries };
    vec![
        calls.needs(KeyScope::Call).problems(calls::PROBLEMS),
        turns.needs(KeyScope::Call).problems(&[Code::ScopeRefused, Code::BadResponse, Code::TooMany]),
        pending.needs(KeyScope::Call).problems(&[Code::SwitchedOff, Code::StoreUnavailable]),
        cancel.needs(KeyScope::Call).problems(&[Code::Unknown, Code::SwitchedOff, Code::StoreUnavailable]),
        deliveries.needs(KeyScope::Call).problems(&[Code::SwitchedOff, Code::TooMany, Code::StoreUnavailable]),
    ]
}

fn approving() -> Vec<Operation> {
    let approvals = Operation::query(
        "/v1/approvals",
        "listApprovals",
        "Questions to a person.",
        |api: &dyn ApiService, caller, query| api.approvals(caller, query),
    );
    let answer = Operation::part_and_body(
        POST,
        ("/v1/approvals/{id}", "The request's handle."),
        "answerApproval",
        "A person's answer. Of several, the first counts.",
        (schema::<Verdict>, |bytes| intake::json::<Object<Verdict>>(bytes).map(|verdict| verdict.0)),
        |api: &dyn ApiService, caller, id, verdict| api.answer(caller, id, verdict),
    );
    let grants =
        Operation::plain("/v1/grants", "listGrants", "What answers left behind.", |api, caller| api.grants(caller));
    let revoke = Operation::part(
        ("/v1/grants/{id}", "The grant's handle."),
        "revokeGrant",
        "Takes a grant back.",
        |api: &dyn ApiService, caller, id| api.revoke(caller, id),
    );
    vec![
        approvals.needs(KeyScope::Approve).problems(STORE),
        answer.needs(KeyScope::Approve).problems(ANSWER),
        grants.needs(KeyScope::Approve).problems(STORE),
        revoke.needs(KeyScope::Approve).problems(&[
            Code::OwnCall,
            Code::Unknown,
            Code::SwitchedOff,
            Code::StoreUnavailable,
        ]),
    ]
}

fn operating() -> Vec<Operation> {
    let resume = Operation::part_and_body(
        POST,
        ("/v1/resume/{correlation}", "What the outside knows the suspended call by."),
        "resume",
        "What a suspended tool waits for: a text, a tool result, or any JSON value.",
        (
            |_| schemars::json_schema!({"description": "A text, a tool result (an object with `content`), or any JSON value."}),
            intake::raw,
        ),
        |api: &dyn ApiService, caller, correlation, payload| api.resume(caller, correlation, payload),
    );
    let relabel = Operation::part_and_body(
        PATCH,
        ("/v1/catalog/{id}", "The tool's identity, percent-encoded."),
        "relabelTool",
        "Switches a tool on or off, or says something else of it, for everybody. Lists and rules of the policy stay as they \
         are. Every process that shares the store follows.",
        (schema::<Relabel>, |bytes| intake::json::<Object<Relabel>>(bytes).map(|relabel| relabel.0)),
        |api: &dyn ApiService, caller, id, relabel| api.relabel(caller, id, relabel),
    );
    let audit =
        Operation::query("/v1/audit", "listRecords", "The record of calls.", |api: &dyn ApiService, caller, query| {
            api.audit(caller, query)
        });
    let stats =
        Operation::plain("/v1/stats", "stats", "How calls went since the start.", |api, caller| api.stats(caller));
    let breakers =
        Operation::plain("/v1/breakers", "listBreakers", "Circuit breakers.", |api, caller| api.breakers(caller));
    let reset = Operation::body(
        "/v1/breakers/reset",
        "resetBreaker",
        "Closes the circuits of a source or tool.",
        |api: &dyn ApiService, caller, reset| api.reset(caller, reset),
    );
    let metrics = Operation::new(
        Method::GET,
        "/metrics",
        "metrics",
        "Figures for Prometheus. Where callers' keys are configured, one with the scope `operate` is needed, else none.",
        Content::Text,
        get(metrics),
    );
    vec![
        resume.needs(KeyScope::Operate).problems(&[
            Code::Unknown,
            Code::Settled,
            Code::SwitchedOff,
            Code::StoreUnavailable,
        ]),
        relabel.needs(KeyScope::Operate).problems(&[Code::Unknown, Code::NotUsable, Code::StoreUnavailable]),
        audit.needs(KeyScope::Operate).problems(&[Code::SwitchedOff, Code::StoreUnavailable]),
        stats.needs(KeyScope::Operate),
        breakers.needs(KeyScope::Operate),
        reset.needs(KeyScope::Operate).problems(&[Code::Unknown]),
        metrics.problems(&[Code::ScopeNeeded]),
    ]
}

/// Results of the caller, once there are some; what is there by then when the gateway shuts down.
async fn deliveries(State(api): State<Arc<Api>>, who: Who, request: Request) -> Response {
    let DeliveriesQuery { wait_ms, session } = match intake::query(request.uri()) {
        Ok(query) => query,
        Err(problem) => return problem.into_response(),
    };
    let (caller, session) = (caller(&who), session.map(Word::into_inner));
    let wait_ms = wait_ms.map_or(0, Number::get);
    if wait_ms == 0 {
        return answered(api.service.deliveries(&caller, 0, session).await);
    }
    let Some(_place) = api.waiters.enter(who.0.0.0.as_ref()) else {
        let text = format!("{MAX_WAITERS} requests with this key wait already; use the answers of those");
        return Problem::new(Code::TooMany, text).retry_after(Some(1)).into_response();
    };
    let waiting = api.service.deliveries(&caller, wait_ms, session.clone());
    match api.shutdown.run_until_cancelled(waiting).await {
        Some(answer) => answered(answer),
        None => answered(api.service.deliveries(&caller, 0, session).await),
    }
}

async fn metrics(
    State(api): State<Arc<Api>>,
    Extension(principal): Extension<Principal>,
    Extension(scopes): Extension<KeyScopes>,
) -> Response {
    // Counts and tool names: nothing that a caller on this machine could not see anyway.
    if principal.0.is_some()
        && let Err(problem) = guard::needs(scopes, KeyScope::Operate)
    {
        return problem.into_response();
    }
    let caller = super::ApiCaller { principal: principal.0.as_deref().map(str::to_owned), scopes };
    match api.service.metrics(&caller).await {
        Ok(text) => {
            let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
            ([(header::CONTENT_TYPE, kind)], text).into_response()
        }
        Err(problem) => problem.into_response(),
    }
}
