//! What requests of the JSON API mean: the same engine, the same call path.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json, value::RawValue};
use toolcrib_core::{
    ToolResult,
    bridge::{BridgeError, describe_reply, read_describe},
    render::Target,
};
use toolcrib_engine::{
    BoxFuture, CallReply, CallRequest, Door, Identity, Outcome,
    approval::{Answer, AnswerError, AnswerOutcome, Approvals, RequestFilter, RequestState, Responder},
    journal::JournalFilter,
    pending::{PendingWork, ResumeError, Suspender},
};
use toolcrib_gateway::api::{ApiCall, ApiCaller, ApiReply, ApiRequest, ApiService};

use crate::{callers::now_ms, commands, deliveries, evidence, world::World};

/// Most records, requests and grants in one answer.
const LIMIT: usize = 1_000;

/// Answers the JSON API for a world.
pub(crate) struct Api {
    world: Arc<World>,
}

impl Api {
    /// For this world.
    pub(crate) fn new(world: Arc<World>) -> Arc<Self> {
        Arc::new(Self { world })
    }

    fn approvals(&self) -> Result<&Arc<Approvals>, ApiReply> {
        self.world.engine.approvals().ok_or_else(|| missing("approvals"))
    }

    fn pending(&self) -> Result<&PendingWork, ApiReply> {
        self.world.engine.pending().ok_or_else(|| missing("background work"))
    }

    async fn reply(&self, caller: &ApiCaller, request: ApiRequest) -> Result<ApiReply, ApiReply> {
        let engine = &self.world.engine;
        let scope = self.world.callers.scope(caller.principal.as_deref(), None);
        match request {
            ApiRequest::Tools => {
                let view = engine.view(&scope).map_err(|error| ApiReply::error(403, "scope", error.to_string()))?;
                Ok(ApiReply::json(200, &commands::tools::listing(&view, &engine.hub().catalog())))
            }
            ApiRequest::Search(arguments) => {
                let found = engine.search(&scope, &arguments).await;
                match found.map_err(|error| ApiReply::error(403, "scope", error.to_string()))? {
                    Ok(value) => Ok(ApiReply::json(200, &value)),
                    Err(error) => Ok(ApiReply::json(400, &json!({"error": error.to_value()}))),
                }
            }
            ApiRequest::Describe(arguments) => {
                let view = engine.view(&scope).map_err(|error| ApiReply::error(403, "scope", error.to_string()))?;
                let request = read_describe(&arguments)
                    .map_err(|error| ApiReply::json(400, &json!({"error": error.to_value()})))?;
                let reply = describe_reply(&request, &view.set);
                Ok(ApiReply::json(if reply.nothing_found { 404 } else { 200 }, &reply.value))
            }
            ApiRequest::Assemble(wish) => self.assemble(scope, &wish),
            ApiRequest::Call(call) => Ok(self.call(caller, call).await),
            ApiRequest::Pending => {
                let principal = toolcrib_engine::Principal::of(&scope, &Identity::default());
                Ok(found(&self.pending()?.list(&principal).await.map_err(store)?))
            }
            ApiRequest::Deliveries { wait_ms, session } => {
                let identity = Identity { session, ..Identity::default() };
                let listener = toolcrib_engine::Principal::of(&scope, &identity);
                deliveries::next(self.pending()?, listener, Duration::from_millis(wait_ms)).await.map_err(store)
            }
            ApiRequest::Cancel { handle } => {
                let principal = toolcrib_engine::Principal::of(&scope, &Identity::default());
                if self.pending()?.cancel(&handle, &principal).await.map_err(store)? {
                    Ok(ApiReply::json(200, &json!({"cancelled": true})))
                } else {
                    Err(gone("unfinished work"))
                }
            }
            ApiRequest::Resume { correlation, payload } => self.resume(&scope.tenant, &correlation, payload).await,
            ApiRequest::Approvals { state, limit } => {
                let state = match state.as_deref() {
                    None | Some("pending") => Some(RequestState::Pending),
                    Some("all") => None,
                    Some(other) => Some(serde_json::from_value::<RequestState>(other.into()).map_err(|_| {
                        ApiReply::error(400, "not_read", "state is one of pending, approved, denied, expired, all")
                    })?),
                };
                let limit = limit.unwrap_or(LIMIT).min(LIMIT);
                let filter = RequestFilter { state, limit, ..RequestFilter::default() };
                Ok(found(&self.approvals()?.list(filter, now_ms()).await.map_err(store)?))
            }
            ApiRequest::Answer { id, answer } => self.answer(caller, &id, answer).await,
            ApiRequest::Grants => Ok(found(&self.approvals()?.grants(None, LIMIT, now_ms()).await.map_err(store)?)),
            ApiRequest::Revoke { id } => {
                let (by, approvals) = (responder(caller), self.approvals()?);
                let grants = approvals.grants(by.tenant.as_deref(), usize::MAX, now_ms()).await.map_err(store)?;
                let grant = grants.iter().find(|grant| grant.id == id);
                let record = grant.and_then(|grant| evidence::of_run(engine, evidence::revoked(grant, &by.by)));
                let ended = approvals.revoke_on_record(&id, &by, record.clone(), now_ms()).await.map_err(store)?;
                if ended {
                    evidence::tell(engine, record.as_ref());
                }
                if ended { Ok(ApiReply::json(200, &json!({"revoked": true}))) } else { Err(gone("grant")) }
            }
            ApiRequest::Stats => Ok(found(&self.world.statistics.snapshot())),
            ApiRequest::Audit(query) => self.audit(query).await,
            ApiRequest::Breakers => Ok(found(&engine.admission().breakers())),
            ApiRequest::ResetBreaker(value) => {
                let key = value["key"].as_str().and_then(|key| key.parse().ok()).ok_or_else(|| {
                    ApiReply::error(
                        400,
                        "not_read",
                        "key is a source or a tool, such as mcp:github or mcp:github/create_issue",
                    )
                })?;
                Ok(ApiReply::json(200, &json!({"reset": engine.admission().reset(&key)})))
            }
            ApiRequest::Metrics => {
                let status = engine.journal().map(toolcrib_engine::journal::Journal::status);
                let body = self.world.statistics.prometheus(&engine.admission().breakers(), status.as_ref());
                Ok(ApiReply { status: 200, body })
            }
        }
    }

    fn assemble(&self, mut scope: toolcrib_core::Scope, wish: &Value) -> Result<ApiReply, ApiReply> {
        let known = |key: &String| ["target", "context_length"].contains(&key.as_str());
        if !wish.as_object().is_some_and(|wish| wish.keys().all(known)) {
            let text = "the body is an object with 'target' and, if known, 'context_length'";
            return Err(ApiReply::error(400, "not_read", text));
        }
        let target: Target = wish["target"].as_str().unwrap_or("mcp").parse().map_err(
            |error: toolcrib_core::render::UnknownTarget| ApiReply::error(400, "not_read", error.to_string()),
        )?;
        scope.context_length = wish["context_length"].as_u64();
        let view = self.world.engine.view(&scope).map_err(|error| ApiReply::error(403, "scope", error.to_string()))?;
        let payload = commands::assemble::payload(&view, target);
        Ok(ApiReply::json(200, &payload.map_err(|error| ApiReply::error(500, "broken", error.to_string()))?))
    }

    async fn call(&self, caller: &ApiCaller, call: ApiCall) -> ApiReply {
        let callers = &self.world.callers;
        let scope = callers.scope(caller.principal.as_deref(), None);
        let mut request = CallRequest::new(call.name, call.arguments, scope, Door::Http);
        request.identity = Arc::new(Identity {
            agent: call.agent,
            session: call.session,
            roles: callers.roles(caller.principal.as_deref()),
            trace: call.trace,
            ..Identity::default()
        });
        request.idempotency_key = call.idempotency_key;
        request.timeout = call.timeout_ms.map(Duration::from_millis);
        request.suspender = Suspender::accepting();
        request.cancel = call.cancel;
        let report = self.world.engine.call_report(request).await;
        let unknown = report.tool.is_none() && report.outcome == Outcome::Invalid && names_no_tool(&report.reply);
        let status = match report.outcome {
            Outcome::Ok | Outcome::ToolError => 200,
            Outcome::Invalid if unknown => 404,
            Outcome::Invalid => 422,
            Outcome::Denied => 403,
            Outcome::TimedOut => 504,
            Outcome::Cancelled => 499,
            Outcome::Unavailable => 503,
            Outcome::Unknown => 502,
        };
        let mut body = json!({
            "outcome": report.outcome.word(),
            "call_id": report.call_id,
            "run": self.world.engine.run(),
            "attempts": report.attempts,
            "repairs": report.repairs,
            "timings_us": {
                "total": report.timings.total.as_micros() as u64,
                "asking": report.timings.asking.as_micros() as u64,
                "backend": report.timings.backend.as_micros() as u64,
            },
            "pending": report.pending,
        });
        // The result's own text, so that big numbers and images reach the caller as the tool wrote them.
        let result = match report.reply {
            CallReply::Result(result) => result.raw().get().to_owned(),
            CallReply::Protocol { code, message, data } => {
                body["error"] = json!({"code": code, "message": message, "data": data});
                return ApiReply::json(status, &body);
            }
            CallReply::Question(request) => ToolResult::from(CallReply::Question(request)).raw().get().to_owned(),
        };
        let mut text = body.to_string();
        text.pop();
        text.push_str(",\"result\":");
        text.push_str(&result);
        text.push('}');
        ApiReply { status, body: text }
    }

    async fn answer(&self, caller: &ApiCaller, id: &str, answer: Value) -> Result<ApiReply, ApiReply> {
        let answer: Answer = serde_json::from_value(answer).map_err(|error| {
            ApiReply::error(
                400,
                "not_read",
                format!("{error}; write {{\"answer\": \"approve\", \"reach\": \"once\"}} or {{\"answer\": \"deny\", \"reach\": \"once\"}}"),
            )
        })?;
        let by = responder(caller);
        let request = self.approvals()?.request(id, by.tenant.as_deref(), now_ms()).await.map_err(store)?;
        let engine = &self.world.engine;
        let record =
            request.and_then(|stored| evidence::of_run(engine, evidence::answered(&stored.request, &answer, &by.by)));
        let answered = self.approvals()?.answer_on_record(id, &answer, &by, record.clone(), now_ms()).await;
        if answered.as_ref().is_ok_and(|answered| answered.outcome == AnswerOutcome::Recorded) {
            evidence::tell(engine, record.as_ref());
        }
        match answered {
            Ok(answered) => match answered.outcome {
                AnswerOutcome::Recorded => Ok(ApiReply::json(200, &json!({"recorded": true, "grant": answered.grant}))),
                AnswerOutcome::Settled(state) => Err(ApiReply::json(
                    409,
                    &json!({"error": {"code": "settled", "message": "it was answered before, or has expired", "state": state}}),
                )),
                AnswerOutcome::Unknown => Err(gone("request")),
            },
            Err(AnswerError::Store(error)) => Err(store(error)),
            Err(error) => Err(ApiReply::error(422, "not_offered", error.to_string())),
        }
    }

    async fn resume(&self, tenant: &str, correlation: &str, payload: Box<RawValue>) -> Result<ApiReply, ApiReply> {
        let result = deliveries::payload(payload).map_err(|error| ApiReply::error(400, "not_read", error))?;
        match self.pending()?.reply(tenant, correlation, result).await {
            Ok(piece) => Ok(ApiReply::json(200, &json!({"handle": piece.handle, "tool": piece.tool}))),
            Err(ResumeError::Store(error)) => Err(store(error)),
            Err(error @ ResumeError::Unknown) => Err(ApiReply::error(404, "unknown", error.to_string())),
            Err(error) => Err(ApiReply::error(409, "settled", error.to_string())),
        }
    }

    async fn audit(&self, query: Vec<(String, String)>) -> Result<ApiReply, ApiReply> {
        let journal = self.world.engine.journal().ok_or_else(|| missing("the journal"))?;
        let mut filter = JournalFilter { limit: 100, newest: true, ..JournalFilter::default() };
        let bad = |key: &str| ApiReply::error(400, "not_read", format!("{key} cannot be read"));
        for (key, value) in query {
            match key.as_str() {
                "tool" => filter.tool = Some(value),
                "user" => filter.user = Some(value),
                "run" => filter.run = Some(value),
                "call" => filter.call = Some(value.parse().map_err(|_| bad("call"))?),
                "outcome" => filter.outcome = Some(serde_json::from_value(value.into()).map_err(|_| bad("outcome"))?),
                "since" => filter.since_ms = Some(commands::audit::since(&value).map_err(|_| bad("since"))?),
                "after" => {
                    filter.after = value.parse().map_err(|_| bad("after"))?;
                    filter.newest = false;
                }
                "limit" => filter.limit = value.parse::<usize>().map_err(|_| bad("limit"))?.min(LIMIT),
                other => {
                    let known = "tool, user, run, call, outcome, since, after, limit";
                    return Err(ApiReply::error(400, "not_read", format!("'{other}' is not one of {known}")));
                }
            }
        }
        Ok(found(&journal.store().records(filter).await.map_err(store)?))
    }
}

impl ApiService for Api {
    fn answer<'a>(&'a self, caller: &'a ApiCaller, request: ApiRequest) -> BoxFuture<'a, ApiReply> {
        Box::pin(async move { self.reply(caller, request).await.unwrap_or_else(|refusal| refusal) })
    }
}

/// Whether a call came to nothing because of its name: told directly or by the bridge, whose own arguments may also be
/// what is wrong.
fn names_no_tool(reply: &CallReply) -> bool {
    match reply {
        CallReply::Protocol { .. } => true,
        CallReply::Result(result) => serde_json::from_str::<Value>(&result.to_text())
            .is_ok_and(|told| told["error"] == BridgeError::unknown_tool("", Vec::new()).code()),
        CallReply::Question(_) => false,
    }
}

fn responder(caller: &ApiCaller) -> Responder {
    Responder::owner(format!("http:{}", caller.principal.as_deref().unwrap_or_default()))
}

fn found(value: &impl serde::Serialize) -> ApiReply {
    match serde_json::to_value(value) {
        Ok(value) => ApiReply::json(200, &value),
        Err(error) => ApiReply::error(500, "broken", error.to_string()),
    }
}

fn missing(what: &str) -> ApiReply {
    ApiReply::error(501, "not_here", format!("{what} are switched off here"))
}

fn gone(what: &str) -> ApiReply {
    ApiReply::error(404, "unknown", format!("there is no such {what}"))
}

#[expect(clippy::needless_pass_by_value, reason = "as map_err gives it")]
fn store(error: toolcrib_engine::StoreError) -> ApiReply {
    ApiReply::error(503, "store", error.to_string())
}
