//! `/mcp`: streamable HTTP of both eras on one path.

use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Extension, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    middleware,
    response::{IntoResponse, Response},
    routing::post,
};
use futures_util::future::join_all;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use toolcrib_mcp::{
    server::{Admission, Caller, Connection, Peek, Protocol, Server},
    wire::{self, Message, WireError, code},
};

use crate::{
    guard::{self, Principal, single},
    mirror::{self, MirrorCache},
    reply::{Accepts, refuse},
    sessions::Sessions,
    settings::GatewaySettings,
};

mod legacy;
mod modern;

pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
// Messages of one request that may wait for the client to read.
const QUEUE: usize = 64;

/// What all requests share.
pub(crate) struct Endpoint {
    server: Arc<Server>,
    settings: Arc<GatewaySettings>,
    sessions: Sessions,
    // Of all modern clients together: they have no connection that could be counted.
    admission: Arc<Admission>,
    streams: Arc<Semaphore>,
    mirrors: MirrorCache,
    closing: CancellationToken,
    // Subscriptions of modern clients, so that closing reaches them.
    open: Mutex<Vec<Weak<Connection>>>,
}

/// The routes.
pub(crate) fn routes(endpoint: Arc<Endpoint>) -> Router {
    let method = post(take).get(legacy::stream).delete(legacy::end);
    let method = method.route_layer(middleware::from_fn(guard::callers_only));
    Router::new().route("/mcp", method).with_state(endpoint)
}

impl Endpoint {
    pub(crate) fn new(server: Arc<Server>, settings: Arc<GatewaySettings>) -> Arc<Self> {
        Arc::new(Self {
            sessions: Sessions::new(settings.max_sessions, settings.session_idle),
            admission: Admission::new(settings.running, settings.waiting),
            streams: Arc::new(Semaphore::new(settings.max_streams)),
            mirrors: MirrorCache::default(),
            closing: CancellationToken::new(),
            open: Mutex::new(Vec::new()),
            server,
            settings,
        })
    }

    fn caller(&self, principal: &Principal) -> Caller {
        Caller {
            principal: principal.0.as_deref().map(str::to_owned),
            profile: self.settings.profile.clone(),
            ..Caller::default()
        }
    }

    /// Ends idle sessions from time to time, for ever.
    pub(crate) async fn sweep(self: Arc<Self>) {
        let pause = (self.settings.session_idle / 10).clamp(Duration::from_millis(10), Duration::from_mins(1));
        loop {
            tokio::time::sleep(pause).await;
            self.sessions.sweep(Instant::now());
        }
    }

    /// Ends streams in good order.
    pub(crate) fn close(&self) {
        self.closing.cancel();
        for connection in self.sessions.connections() {
            connection.close();
        }
        for connection in self.open.lock().drain(..).filter_map(|connection| connection.upgrade()) {
            connection.close();
        }
    }

    /// Waits for calls that go on without a client, within the drain limit.
    pub(crate) async fn drain(&self) {
        self.close();
        let connections = self.sessions.connections();
        join_all(connections.iter().map(|connection| connection.drain(self.settings.drain))).await;
    }
}

async fn take(
    State(endpoint): State<Arc<Endpoint>>,
    Extension(principal): Extension<Principal>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let headers = parts.headers;
    if !is_json(&headers) {
        let message = "Content-Type must be application/json";
        return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, None, code::INVALID_REQUEST, message);
    }
    let accepts = Accepts::of(&headers);
    if !accepts.json && !accepts.events {
        let message = "Accept must allow application/json and text/event-stream";
        return refuse(StatusCode::NOT_ACCEPTABLE, None, code::INVALID_REQUEST, message);
    }
    let bytes = match read_body(body, &headers, &endpoint.settings).await {
        Ok(bytes) => bytes,
        Err(response) => return *response,
    };
    let Ok(version) = single(&headers, &VERSION) else {
        let message = format!("header {VERSION} is given twice or is not plain text");
        return refuse(StatusCode::BAD_REQUEST, None, code::HEADER_MISMATCH, message);
    };
    let exchange = Exchange { endpoint, principal, accepts, version: version.map(str::to_owned), headers };
    exchange.take(&bytes).await
}

/// One POST.
struct Exchange {
    endpoint: Arc<Endpoint>,
    principal: Principal,
    headers: HeaderMap,
    accepts: Accepts,
    // `MCP-Protocol-Version`.
    version: Option<String>,
}

impl Exchange {
    async fn take(self, bytes: &Bytes) -> Response {
        let message = match wire::parse(bytes) {
            Ok(message) => message,
            Err(WireError::Batch) if !self.claims_modern() && self.headers.contains_key(&SESSION) => {
                return self.legacy_batch(bytes).await;
            }
            Err(error) => {
                self.tell_of_spoilt(&error, bytes).await;
                let answer = error.to_rpc_error();
                return refuse(StatusCode::BAD_REQUEST, error.id(), answer.code, answer.message);
            }
        };
        let peek = match &message {
            Message::Request { params, .. } => Peek::at(params.as_deref()),
            Message::Notification { .. } | Message::Response { .. } | Message::Error { .. } => Peek::default(),
        };
        let is_discover = matches!(&message, Message::Request { method, .. } if method == "server/discover");
        if self.claims_modern() || peek.version.is_some() || is_discover {
            self.modern(message, peek).await
        } else {
            self.legacy(message).await
        }
    }

    // Whether the version header names a modern revision, or one that nobody knows.
    fn claims_modern(&self) -> bool {
        self.version.as_deref().is_some_and(|version| Protocol::from_date(version).is_none_or(Protocol::is_modern))
    }

    // Older revisions have no mirrored headers. Clients that send them all the same (the conformance suite does) may, as long
    // as they tell the truth: what is never compared with the body must not steer anyone on the way here (T20).
    fn refuse_selectors(&self, message: Option<&Message>) -> Option<Response> {
        let headers = &self.headers;
        let (id, method, name) = match message {
            Some(Message::Request { id, method, params }) => {
                (Some(id), Some(method.as_str()), Peek::at(params.as_deref()).name)
            }
            Some(Message::Notification { method, .. }) => (None, Some(method.as_str()), None),
            Some(Message::Response { .. } | Message::Error { .. }) | None => (None, None, None),
        };
        let truthful = |header: &HeaderName, wants: Option<&str>| {
            !headers.contains_key(header) || wants.is_some_and(|wants| mirror::check(headers, header, wants).is_ok())
        };
        if truthful(&METHOD, method) && truthful(&NAME, name.as_deref()) && !mirror::has_params(headers) {
            return None;
        }
        let message = "Mcp-Method, Mcp-Name or Mcp-Param-* do not mirror the body; they belong to protocol version \
                       2026-07-28 and later";
        Some(refuse(StatusCode::BAD_REQUEST, id, code::HEADER_MISMATCH, message))
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let Ok(Some(value)) = single(headers, &header::CONTENT_TYPE) else { return false };
    value.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}

async fn read_body(body: Body, headers: &HeaderMap, settings: &GatewaySettings) -> Result<Bytes, Box<Response>> {
    let too_large = || {
        let message = format!("the body is over the limit of {} bytes", settings.max_body);
        Box::new(ending(refuse(StatusCode::PAYLOAD_TOO_LARGE, None, code::INVALID_REQUEST, message)))
    };
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > settings.max_body as u64) {
        return Err(too_large());
    }
    let broken = |status, message: String| Err(Box::new(ending(refuse(status, None, code::INVALID_REQUEST, message))));
    match tokio::time::timeout(settings.body_timeout, Limited::new(body, settings.max_body).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => broken(StatusCode::BAD_REQUEST, "the body could not be read".to_owned()),
        Err(_) => {
            broken(StatusCode::REQUEST_TIMEOUT, format!("the body did not arrive within {:?}", settings.body_timeout))
        }
    }
}

// The rest of a body that was not read must not be taken for the next request.
fn ending(mut response: Response) -> Response {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

fn not_offered() -> Response {
    (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, HeaderValue::from_static("POST"))]).into_response()
}
