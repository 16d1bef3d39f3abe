//! What requests of the JSON API mean: the same engine, the same call path. One file a group of operations.

mod approvals;
mod calls;
mod catalog;
mod conversation;
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

    /// Who answers: somebody of the key's tenant, or the machine's owner where the key has none.
    fn responder(&self, caller: &ApiCaller) -> Responder {
        let by = format!("http:{}", caller.principal.as_deref().unwrap_or_default());
        let responder = match self.world.callers.tenant(caller.principal.as_deref()) {
            Some(tenant) => Responder::of_tenant(by, tenant),
            None => Responder::owner(by),
        };
        responder.named(caller.principal.clone())
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
        Box::pin(async move { lookup::describe(self, caller, &describe).await })
    }

    fn assemble<'a>(&'a self, caller: &'a ApiCaller, assemble: wire::Assemble) -> Answer<'a, wire::Assembled> {
        Box::pin(lookup::assemble(self, caller, assemble))
    }

    fn explain<'a>(&'a self, caller: &'a ApiCaller, explain: wire::Explain) -> Answer<'a, wire::Explained> {
        Box::pin(explain::explain(self, caller, explain))
    }

    fn catalog<'a>(&'a self, caller: &'a ApiCaller, query: wire::CatalogQuery) -> Answer<'a, wire::CatalogPage> {
        Box::pin(async move { catalog::list(self, caller, query) })
    }

    fn relabel<'a>(
        &'a self,
        caller: &'a ApiCaller,
        id: String,
        relabel: wire::Relabel,
    ) -> Answer<'a, wire::Relabelled> {
        Box::pin(catalog::relabel(self, caller, id, relabel))
    }

    fn call<'a>(&'a self, caller: &'a ApiCaller, call: ApiCall) -> BoxFuture<'a, wire::Ended> {
        Box::pin(calls::call(self, caller, call))
    }

    fn turn<'a>(&'a self, caller: &'a ApiCaller, turn: wire::Turn) -> Answer<'a, AskedCalls> {
        Box::pin(turns::read(self, caller, turn))
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
