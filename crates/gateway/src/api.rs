//! The JSON API: the same tools and the same call path for programs that do not speak MCP, and what an operator needs.
//!
//! Owns routes, bodies, problems, and which key opens what; and the OpenAPI document, which is made from the same table of
//! operations ([`operations`]) and the same types ([`wire`]). What a request means is the [`ApiService`]'s.

mod calls;
mod intake;
mod openapi;
mod operation;
mod operations;
mod problem;
mod stream;
mod turns;
mod waiters;
pub mod wire;

use std::sync::Arc;

use axum::{Router, response::IntoResponse, response::Response};
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;
use toolcrib_mcp::server::Admission;
pub use toolcrib_mcp::server::{BoxFuture, Progress, ProgressSink};

pub use openapi::document as openapi;
pub use problem::{Code, Fault, Problem};
pub use turns::AskedCalls;

use self::{
    waiters::Waiters,
    wire::{
        Answered, ApprovalsQuery, Assemble, Assembled, AuditQuery, Breakers, Call, Cancelled, CatalogPage,
        CatalogQuery, Deliveries, Describe, Described, Ended, Explain, Explained, Found, Grants, Health, PendingList,
        Records, Relabel, Relabelled, Requests, Reset, ResetDone, Resumed, Revoked, ScopeWish, Search, Stats, Tools,
        Turn, Verdict,
    },
};
use crate::settings::{GatewaySettings, KeyScopes};

/// What a request comes to.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, Problem>>;

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiCaller {
    /// The name of the key that was shown, if keys are configured.
    pub principal: Option<String>,
    /// What the key opens. Requests beyond it do not get here.
    pub scopes: KeyScopes,
}

/// One call, with everything that came around its body.
pub struct ApiCall {
    /// The call.
    pub call: Call,
    /// From the `Idempotency-Key` header or the body.
    pub idempotency_key: Option<String>,
    /// From the `traceparent` header.
    pub trace: Option<String>,
    /// Where progress goes.
    pub progress: Option<ProgressSink>,
    /// Fires when the client is gone.
    pub cancel: CancellationToken,
}

/// Answers requests of the JSON API, one method an operation. Nothing here may outlive its request, except calls, which end
/// soon after their cancellation. What a service does not answer is switched off.
#[expect(missing_docs, reason = "each is documented with its operation")]
pub trait ApiService: Send + Sync + 'static {
    fn health<'a>(&'a self, _: &'a ApiCaller) -> Answer<'a, Health> {
        off()
    }
    fn tools<'a>(&'a self, _: &'a ApiCaller, _: ScopeWish) -> Answer<'a, Tools> {
        off()
    }
    fn search<'a>(&'a self, _: &'a ApiCaller, _: Search) -> Answer<'a, Found> {
        off()
    }
    fn describe<'a>(&'a self, _: &'a ApiCaller, _: Describe) -> Answer<'a, Described> {
        off()
    }
    fn assemble<'a>(&'a self, _: &'a ApiCaller, _: Assemble) -> Answer<'a, Assembled> {
        off()
    }
    fn explain<'a>(&'a self, _: &'a ApiCaller, _: Explain) -> Answer<'a, Explained> {
        off()
    }
    fn catalog<'a>(&'a self, _: &'a ApiCaller, _: CatalogQuery) -> Answer<'a, CatalogPage> {
        off()
    }
    /// Of the tool with this identity.
    fn relabel<'a>(&'a self, _: &'a ApiCaller, _: String, _: Relabel) -> Answer<'a, Relabelled> {
        off()
    }
    fn call<'a>(&'a self, caller: &'a ApiCaller, call: ApiCall) -> BoxFuture<'a, Ended>;
    /// Reads the calls in a provider's response; what they are answered with comes later.
    fn turn<'a>(&'a self, _: &'a ApiCaller, _: Turn) -> Answer<'a, AskedCalls> {
        off()
    }
    fn pending<'a>(&'a self, _: &'a ApiCaller) -> Answer<'a, PendingList> {
        off()
    }
    fn cancel<'a>(&'a self, _: &'a ApiCaller, _: String) -> Answer<'a, Cancelled> {
        off()
    }
    /// `wait_ms` is at most [`MAX_WAIT_MS`].
    fn deliveries<'a>(&'a self, _: &'a ApiCaller, _: u64, _: Option<String>) -> Answer<'a, Deliveries> {
        off()
    }
    fn approvals<'a>(&'a self, _: &'a ApiCaller, _: ApprovalsQuery) -> Answer<'a, Requests> {
        off()
    }
    fn answer<'a>(&'a self, _: &'a ApiCaller, _: String, _: Verdict) -> Answer<'a, Answered> {
        off()
    }
    fn grants<'a>(&'a self, _: &'a ApiCaller) -> Answer<'a, Grants> {
        off()
    }
    fn revoke<'a>(&'a self, _: &'a ApiCaller, _: String) -> Answer<'a, Revoked> {
        off()
    }
    /// `payload` is the exact text of the result: a text, a tool result, or any other value.
    fn resume<'a>(&'a self, _: &'a ApiCaller, _: String, _: Box<RawValue>) -> Answer<'a, Resumed> {
        off()
    }
    fn audit<'a>(&'a self, _: &'a ApiCaller, _: AuditQuery) -> Answer<'a, Records> {
        off()
    }
    fn stats<'a>(&'a self, _: &'a ApiCaller) -> Answer<'a, Stats> {
        off()
    }
    fn breakers<'a>(&'a self, _: &'a ApiCaller) -> Answer<'a, Breakers> {
        off()
    }
    fn reset<'a>(&'a self, _: &'a ApiCaller, _: Reset) -> Answer<'a, ResetDone> {
        off()
    }
    /// Text in Prometheus' format.
    fn metrics<'a>(&'a self, _: &'a ApiCaller) -> Answer<'a, String> {
        off()
    }
}

fn off<'a, T: Send + 'a>() -> Answer<'a, T> {
    Box::pin(async { Err(Problem::new(Code::SwitchedOff, "this is not offered here")) })
}

/// What all requests share.
pub(crate) struct Api {
    service: Arc<dyn ApiService>,
    settings: Arc<GatewaySettings>,
    waiters: Waiters,
    admission: Arc<Admission>,
    shutdown: CancellationToken,
}

/// The routes of the API. What only waits ends when `shutdown` fires.
pub(crate) fn routes(
    service: Arc<dyn ApiService>,
    settings: Arc<GatewaySettings>,
    shutdown: CancellationToken,
) -> Router {
    let admission = Admission::new(settings.running, settings.waiting);
    let api = Arc::new(Api { service, settings, waiters: Waiters::default(), admission, shutdown });
    let mut router = Router::new();
    for operation in operations::all() {
        router = operation.mount(router);
    }
    router.method_not_allowed_fallback(no_method).with_state(api)
}

/// The answer to a path that leads nowhere.
pub(crate) async fn no_route() -> Response {
    Problem::new(Code::NotFound, "there is no such route; /v1/openapi.json lists all").into_response()
}

/// The answer to a method that a route does not have. `Allow` is added by the router.
pub(crate) async fn no_method() -> Response {
    Problem::new(Code::MethodNotAllowed, "the route takes other methods; see the Allow header").into_response()
}
