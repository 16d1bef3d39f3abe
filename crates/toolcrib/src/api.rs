//! What requests of the JSON API mean: the same engine, the same call path. One file a group of operations.

mod approvals;
mod calls;
mod explain;
mod health;
mod later;
mod lookup;
mod records;
mod scope;
mod turns;

use std::sync::Arc;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use toolcrib_engine::{
    BoxFuture, StoreError,
    approval::{Approvals, Responder},
    pending::PendingWork,
};
use toolcrib_gateway::api::{Answer, ApiCall, ApiCaller, ApiService, AskedCalls, Code, Problem, wire};

use crate::world::World;

/// Most records, requests and grants in one answer.
const LIMIT: usize = 1_000;
/// Longest name of a session or agent, bytes.
const MAX_WORD: usize = 256;

/// Answers the JSON API for a world.
pub(crate) struct Api {
    world: Arc<World>,
}

impl Api {
    /// For this world.
    pub(crate) fn new(world: Arc<World>) -> Arc<Self> {
        Arc::new(Self { world })
    }

    fn open_approvals(&self) -> Result<&Arc<Approvals>, Problem> {
        self.world.engine.approvals().ok_or_else(|| switched_off("approvals are"))
    }

    fn open_pending(&self) -> Result<&PendingWork, Problem> {
        self.world.engine.pending().ok_or_else(|| switched_off("background work is"))
    }

<<<<<<< HEAD
    /// Who answers: somebody of the key's tenant, or the machine's owner where the key has none.
    fn responder(&self, caller: &ApiCaller) -> Responder {
        let by = format!("http:{}", caller.principal.as_deref().unwrap_or_default());
        match self.world.callers.tenant(caller.principal.as_deref()) {
            Some(tenant) => Responder::of_tenant(by, tenant),
            None => Responder::owner(by),
=======
    async fn reply(&self, caller: &ApiCaller, request: ApiRequest) -> Result<ApiReply, ApiReply> {
        let engine = &self.world.engine;
        let scope = self.world.callers.scope(caller.principal.as_deref(), None);
        match request {
            ApiRequest::Tools => {
                let view = engine.view(&scope).map_err(|error| ApiReply::error(403, "scope", error.to_string()))?;
                Ok(ApiReply::json(200, &commands::tools::listing(&view, &engine.hub().catalog())))
            }
            ApiRequest::Search(arguments) => {
                // The session ties a search to the calls that come of it.
                let word = |key: &str| arguments[key].as_str().filter(|word| word.len() <= MAX_WORD).map(str::to_owned);
                let identity = Identity { session: word("session"), agent: word("agent"), ..Identity::default() };
                let found = engine.search_as(&scope, &identity, Door::Http, &arguments).await;
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
>>>>>>> cb7fe27 (Query forms, filters, paging and steps of tool_search; eval of sets, traffic and learning from use)
        }
    }

    /// Refuses a key that is bound to a tenant: what is asked for is of all tenants.
    fn of_all_tenants(&self, caller: &ApiCaller) -> Result<(), Problem> {
        match self.world.callers.tenant(caller.principal.as_deref()) {
            None => Ok(()),
            Some(tenant) => Err(Problem::new(
                Code::ScopeNeeded,
                format!("this is of all tenants, and the key belongs to {tenant}; use a key without a tenant"),
            )),
        }
    }
}

impl ApiService for Api {
    fn health<'a>(&'a self, caller: &'a ApiCaller) -> Answer<'a, wire::Health> {
        Box::pin(async move { health::health(self, caller) })
    }

    fn tools<'a>(&'a self, caller: &'a ApiCaller, scope: wire::ScopeWish) -> Answer<'a, wire::Tools> {
        Box::pin(async move { lookup::tools(self, caller, &scope) })
    }

    fn search<'a>(&'a self, caller: &'a ApiCaller, search: wire::Search) -> Answer<'a, wire::Found> {
        Box::pin(lookup::search(self, caller, search))
    }

    fn describe<'a>(&'a self, caller: &'a ApiCaller, describe: wire::Describe) -> Answer<'a, wire::Described> {
        Box::pin(async move { lookup::describe(self, caller, &describe) })
    }

    fn assemble<'a>(&'a self, caller: &'a ApiCaller, assemble: wire::Assemble) -> Answer<'a, wire::Assembled> {
        Box::pin(async move { lookup::assemble(self, caller, &assemble) })
    }

    fn explain<'a>(&'a self, caller: &'a ApiCaller, explain: wire::Explain) -> Answer<'a, wire::Explained> {
        Box::pin(explain::explain(self, caller, explain))
    }

    fn call<'a>(&'a self, caller: &'a ApiCaller, call: ApiCall) -> BoxFuture<'a, wire::Ended> {
        Box::pin(calls::call(self, caller, call))
    }

    fn turn<'a>(&'a self, caller: &'a ApiCaller, turn: wire::Turn) -> Answer<'a, AskedCalls> {
        Box::pin(async move { turns::read(self, caller, &turn) })
    }

    fn pending<'a>(&'a self, caller: &'a ApiCaller) -> Answer<'a, wire::PendingList> {
        Box::pin(later::pending(self, caller))
    }

    fn cancel<'a>(&'a self, caller: &'a ApiCaller, handle: String) -> Answer<'a, wire::Cancelled> {
        Box::pin(later::cancel(self, caller, handle))
    }

    fn deliveries<'a>(
        &'a self,
        caller: &'a ApiCaller,
        wait_ms: u64,
        session: Option<String>,
    ) -> Answer<'a, wire::Deliveries> {
        Box::pin(later::deliveries(self, caller, wait_ms, session))
    }

    fn approvals<'a>(&'a self, caller: &'a ApiCaller, query: wire::ApprovalsQuery) -> Answer<'a, wire::Requests> {
        Box::pin(approvals::list(self, caller, query))
    }

    fn answer<'a>(&'a self, caller: &'a ApiCaller, id: String, verdict: wire::Verdict) -> Answer<'a, wire::Answered> {
        Box::pin(approvals::answer(self, caller, id, verdict))
    }

    fn grants<'a>(&'a self, caller: &'a ApiCaller) -> Answer<'a, wire::Grants> {
        Box::pin(approvals::grants(self, caller))
    }

    fn revoke<'a>(&'a self, caller: &'a ApiCaller, id: String) -> Answer<'a, wire::Revoked> {
        Box::pin(approvals::revoke(self, caller, id))
    }

    fn resume<'a>(
        &'a self,
        caller: &'a ApiCaller,
        correlation: String,
        payload: Box<RawValue>,
    ) -> Answer<'a, wire::Resumed> {
        Box::pin(later::resume(self, caller, correlation, payload))
    }

    fn audit<'a>(&'a self, caller: &'a ApiCaller, query: wire::AuditQuery) -> Answer<'a, wire::Records> {
        Box::pin(records::audit(self, caller, query))
    }

    fn stats<'a>(&'a self, caller: &'a ApiCaller) -> Answer<'a, wire::Stats> {
        Box::pin(async move { records::stats(self, caller) })
    }

    fn breakers<'a>(&'a self, caller: &'a ApiCaller) -> Answer<'a, wire::Breakers> {
        Box::pin(async move { records::breakers(self, caller) })
    }

    fn reset<'a>(&'a self, caller: &'a ApiCaller, reset: wire::Reset) -> Answer<'a, wire::ResetDone> {
        Box::pin(async move { records::reset(self, caller, &reset) })
    }

    fn metrics<'a>(&'a self, caller: &'a ApiCaller) -> Answer<'a, String> {
        Box::pin(async move { records::metrics(self, caller) })
    }
}

/// What the engine tells, in the wire's form. The wire's types name the members that clients may rely on and carry the
/// others along.
fn as_wire<W: DeserializeOwned>(told: &impl Serialize) -> Result<W, Problem> {
    let broken = |error: serde_json::Error| {
        tracing::error!(%error, "an answer of the API does not have the form that its description promises");
        Problem::new(Code::Broken, "the answer could not be written; the log says why")
    };
    serde_json::to_value(told).and_then(serde_json::from_value).map_err(broken)
}

fn switched_off(what: &str) -> Problem {
    Problem::new(Code::SwitchedOff, format!("{what} switched off here"))
}

fn unknown(what: &str) -> Problem {
    Problem::new(Code::Unknown, format!("there is no such {what}"))
}

#[expect(clippy::needless_pass_by_value, reason = "as map_err gives it")]
fn store(error: StoreError) -> Problem {
    Problem::new(Code::StoreUnavailable, error.to_string()).retry_after(Some(1))
}
