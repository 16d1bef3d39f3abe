//! Routes, bodies, and who may use what.

use std::sync::Arc;

use axum::{
    Extension, Router,
    body::{Body, Bytes, to_bytes},
    extract::{Path, Query, Request, State, rejection::QueryRejection},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{delete, get, post},
};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use tokio_util::sync::CancellationToken;

use super::{
    ApiCall, ApiCaller, ApiReply, ApiRequest, ApiService, MAX_WAIT_MS,
    waiters::{MAX_WAITERS, Waiters},
};
use crate::{
    guard::{Operator, Principal, single},
    settings::GatewaySettings,
};

/// Longest idempotency key, trace id, session and agent name, in bytes.
const MAX_WORD: usize = 256;

struct Api {
    service: Arc<dyn ApiService>,
    settings: Arc<GatewaySettings>,
    waiters: Waiters,
    shutdown: CancellationToken,
}

type Shared = State<Arc<Api>>;
type Who = (Extension<Principal>, Extension<Operator>);

/// The routes of the API. What only waits ends when `shutdown` fires.
pub(crate) fn routes(
    service: Arc<dyn ApiService>,
    settings: Arc<GatewaySettings>,
    shutdown: CancellationToken,
) -> Router {
    let api = Arc::new(Api { service, settings, waiters: Waiters::default(), shutdown });
    Router::new()
        .route("/v1/tools", get(tools))
        .route("/v1/search", post(search))
        .route("/v1/describe", post(describe))
        .route("/v1/assemble", post(assemble))
        .route("/v1/call", post(call))
        .route("/v1/pending", get(pending))
        .route("/v1/pending/{handle}", delete(cancel))
        .route("/v1/deliveries", get(deliveries))
        .route("/metrics", get(metrics))
        .merge(operators())
        .with_state(api)
}

/// What only operators may do: a model that can call tools must not be able to answer for a person. Checked before anything
/// of a request is read.
fn operators() -> Router<Arc<Api>> {
    Router::new()
        .route("/v1/approvals", get(approvals))
        .route("/v1/approvals/{id}", post(answer))
        .route("/v1/grants", get(grants))
        .route("/v1/grants/{id}", delete(revoke))
        .route("/v1/resume/{correlation}", post(resume))
        .route("/v1/stats", get(stats))
        .route("/v1/audit", get(audit))
        .route("/v1/breakers", get(breakers))
        .route("/v1/breakers/reset", post(reset))
        .route_layer(middleware::from_fn(operators_only))
}

async fn operators_only(Extension(Operator(operator)): Extension<Operator>, request: Request, next: Next) -> Response {
    if operator { next.run(request).await } else { no_operator() }
}

impl Api {
    async fn ask(&self, who: &Who, request: ApiRequest) -> Response {
        let caller = ApiCaller { principal: who.0.0.0.as_ref().map(ToString::to_string), operator: who.1.0.0 };
        let metrics = matches!(request, ApiRequest::Metrics);
        let reply = self.service.answer(&caller, request).await;
        let kind = if metrics { "text/plain; version=0.0.4; charset=utf-8" } else { "application/json" };
        let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        (status, [(header::CONTENT_TYPE, HeaderValue::from_static(kind))], Body::from(reply.body)).into_response()
    }

    /// Results of the caller, once there are some; what is there by then when the gateway shuts down.
    async fn wait(&self, who: &Who, wait_ms: u64, session: Option<String>) -> Response {
        let deliveries = |wait_ms, session| self.ask(who, ApiRequest::Deliveries { wait_ms, session });
        if wait_ms == 0 {
            return deliveries(0, session).await;
        }
        let Some(_place) = self.waiters.enter(who.0.0.0.as_ref()) else {
            let text = format!("{MAX_WAITERS} requests with this key wait already; use the answers of those");
            return refuse(ApiReply::error(429, "too_many_waiting", text));
        };
        match self.shutdown.run_until_cancelled(deliveries(wait_ms, session.clone())).await {
            Some(answer) => answer,
            None => deliveries(0, session).await,
        }
    }

    async fn body(&self, request: Request) -> Result<Bytes, ApiReply> {
        let json = single(request.headers(), &header::CONTENT_TYPE).ok().flatten().is_some_and(|kind| {
            kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
        });
        if !json {
            return Err(ApiReply::error(415, "not_json", "send JSON, with Content-Type: application/json"));
        }
        let limit = self.settings.max_body;
        let reading = to_bytes(request.into_body(), limit);
        match tokio::time::timeout(self.settings.body_timeout, reading).await {
            Ok(Ok(bytes)) => Ok(bytes),
            Ok(Err(_)) => {
                Err(ApiReply::error(413, "too_large", format!("the body is larger than {limit} bytes or broke off")))
            }
            Err(_) => Err(ApiReply::error(408, "too_slow", "the body did not arrive in time")),
        }
    }

    async fn value(&self, request: Request) -> Result<Value, ApiReply> {
        let bytes = self.body(request).await?;
        serde_json::from_slice(&bytes).map_err(|error| not_read(&error))
    }

    /// The body as it was written.
    async fn raw(&self, request: Request) -> Result<Box<RawValue>, ApiReply> {
        let bytes = self.body(request).await?;
        serde_json::from_slice(&bytes).map_err(|error| not_read(&error))
    }
}

fn no_operator() -> Response {
    refuse(ApiReply::error(
        403,
        "operator_key_needed",
        "this needs an operator's key; configure gateway.operator_keys and send one as Authorization: Bearer KEY",
    ))
}

fn not_read(error: &serde_json::Error) -> ApiReply {
    ApiReply::error(400, "not_read", format!("the body cannot be read: {error}"))
}

fn refuse(reply: ApiReply) -> Response {
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::BAD_REQUEST);
    (status, [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], reply.body).into_response()
}

async fn tools(State(api): Shared, who: Who) -> Response {
    api.ask(&who, ApiRequest::Tools).await
}

async fn search(State(api): Shared, who: Who, request: Request) -> Response {
    match api.value(request).await {
        Ok(value) => api.ask(&who, ApiRequest::Search(value)).await,
        Err(reply) => refuse(reply),
    }
}

async fn describe(State(api): Shared, who: Who, request: Request) -> Response {
    match api.value(request).await {
        Ok(value) => api.ask(&who, ApiRequest::Describe(value)).await,
        Err(reply) => refuse(reply),
    }
}

async fn assemble(State(api): Shared, who: Who, request: Request) -> Response {
    match api.value(request).await {
        Ok(value) => api.ask(&who, ApiRequest::Assemble(value)).await,
        Err(reply) => refuse(reply),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallBody {
    name: String,
    // As written: digits of big numbers and keys given twice are for the call path to judge.
    #[serde(default)]
    arguments: Option<Box<RawValue>>,
    #[serde(default)]
    session: Option<String>,
    #[serde(default)]
    agent: Option<String>,
    #[serde(default)]
    idempotency_key: Option<String>,
    #[serde(default)]
    timeout_ms: Option<u64>,
}

async fn call(State(api): Shared, who: Who, request: Request) -> Response {
    let key = match word(request.headers(), &HeaderName::from_static("idempotency-key")) {
        Ok(key) => key,
        Err(reply) => return refuse(reply),
    };
    let trace = word(request.headers(), &HeaderName::from_static("traceparent")).ok().flatten();
    let bytes = match api.body(request).await {
        Ok(bytes) => bytes,
        Err(reply) => return refuse(reply),
    };
    let body: CallBody = match serde_json::from_slice(&bytes) {
        Ok(body) => body,
        Err(error) => return refuse(not_read(&error)),
    };
    let words = [&body.session, &body.agent, &body.idempotency_key];
    if words.into_iter().flatten().any(|word| word.is_empty() || word.len() > MAX_WORD) {
        let text = format!("session, agent and idempotency_key have 1 to {MAX_WORD} bytes");
        return refuse(ApiReply::error(400, "not_read", text));
    }
    if key.is_some() && body.idempotency_key.is_some() && key != body.idempotency_key {
        let text = "the Idempotency-Key header and idempotency_key in the body differ";
        return refuse(ApiReply::error(400, "not_read", text));
    }
    // Dropped when the client goes: then nobody waits for the answer any more.
    let cancel = CancellationToken::new();
    let gone = cancel.clone().drop_guard();
    let request = ApiRequest::Call(ApiCall {
        name: body.name,
        arguments: body.arguments,
        session: body.session,
        agent: body.agent,
        idempotency_key: key.or(body.idempotency_key),
        timeout_ms: body.timeout_ms,
        trace,
        cancel,
    });
    // On a task of its own: a call whose client went away must still come to its end and into the journal.
    let task = tokio::spawn(async move { api.ask(&who, request).await });
    let answered = task.await;
    gone.disarm();
    answered.unwrap_or_else(|_| refuse(ApiReply::error(500, "broken", "the call failed inside the gateway")))
}

fn word(headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, ApiReply> {
    match single(headers, name) {
        Ok(None) => Ok(None),
        Ok(Some(text)) if !text.is_empty() && text.len() <= MAX_WORD => Ok(Some(text.to_owned())),
        Ok(Some(_)) | Err(()) => Err(ApiReply::error(
            400,
            "not_read",
            format!("{name} must be given once, as 1 to {MAX_WORD} plain characters"),
        )),
    }
}

async fn pending(State(api): Shared, who: Who) -> Response {
    api.ask(&who, ApiRequest::Pending).await
}

async fn cancel(State(api): Shared, who: Who, Path(handle): Path<String>) -> Response {
    api.ask(&who, ApiRequest::Cancel { handle }).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeliveriesQuery {
    #[serde(default)]
    wait_ms: u64,
    session: Option<String>,
}

async fn deliveries(State(api): Shared, who: Who, query: Result<Query<DeliveriesQuery>, QueryRejection>) -> Response {
    match query {
        Ok(Query(DeliveriesQuery { session: Some(session), .. })) if session.is_empty() || session.len() > MAX_WORD => {
            refuse(ApiReply::error(400, "not_read", format!("session has 1 to {MAX_WORD} bytes")))
        }
        Ok(Query(DeliveriesQuery { wait_ms, session })) => api.wait(&who, wait_ms.min(MAX_WAIT_MS), session).await,
        Err(error) => refuse(ApiReply::error(400, "not_read", error.body_text())),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ApprovalsQuery {
    state: Option<String>,
    limit: Option<usize>,
}

async fn approvals(State(api): Shared, who: Who, query: Result<Query<ApprovalsQuery>, QueryRejection>) -> Response {
    match query {
        Ok(Query(ApprovalsQuery { state, limit })) => api.ask(&who, ApiRequest::Approvals { state, limit }).await,
        Err(error) => refuse(ApiReply::error(400, "not_read", error.body_text())),
    }
}

async fn answer(State(api): Shared, who: Who, Path(id): Path<String>, request: Request) -> Response {
    match api.value(request).await {
        Ok(answer) => api.ask(&who, ApiRequest::Answer { id, answer }).await,
        Err(reply) => refuse(reply),
    }
}

async fn grants(State(api): Shared, who: Who) -> Response {
    api.ask(&who, ApiRequest::Grants).await
}

async fn revoke(State(api): Shared, who: Who, Path(id): Path<String>) -> Response {
    api.ask(&who, ApiRequest::Revoke { id }).await
}

async fn resume(State(api): Shared, who: Who, Path(correlation): Path<String>, request: Request) -> Response {
    match api.raw(request).await {
        Ok(payload) => api.ask(&who, ApiRequest::Resume { correlation, payload }).await,
        Err(reply) => refuse(reply),
    }
}

async fn stats(State(api): Shared, who: Who) -> Response {
    api.ask(&who, ApiRequest::Stats).await
}

async fn audit(State(api): Shared, who: Who, query: Result<Query<Vec<(String, String)>>, QueryRejection>) -> Response {
    match query {
        Ok(Query(query)) => api.ask(&who, ApiRequest::Audit(query)).await,
        Err(error) => refuse(ApiReply::error(400, "not_read", error.body_text())),
    }
}

async fn breakers(State(api): Shared, who: Who) -> Response {
    api.ask(&who, ApiRequest::Breakers).await
}

async fn reset(State(api): Shared, who: Who, request: Request) -> Response {
    match api.value(request).await {
        Ok(value) => api.ask(&who, ApiRequest::ResetBreaker(value)).await,
        Err(reply) => refuse(reply),
    }
}

async fn metrics(State(api): Shared, who: Who) -> Response {
    // Counts and tool names: nothing that a caller on this machine could not see anyway.
    if who.0.0.0.is_none() || who.1.0.0 { api.ask(&who, ApiRequest::Metrics).await } else { no_operator() }
}
