//! Sessions (2025-03-26 to 2025-11-25).

use std::{sync::Arc, time::Instant};

use axum::{
    body::Bytes,
    extract::{Extension, State},
    http::{HeaderMap, HeaderValue, StatusCode},
    response::{IntoResponse, Response},
};
use tokio::sync::mpsc;
use toolcrib_mcp::{
    server::{BUSY, Connection, FrameKind, Framing, Protocol, WayBack},
    wire::{Id, Message, WireError, code},
};

use super::{Endpoint, Exchange, QUEUE, SESSION, VERSION, not_offered};
use crate::{
    guard::{Principal, single},
    reply::{self, Accepts, Statuses, refuse},
    sessions::InUse,
};

impl Exchange {
    pub(super) async fn legacy(self, message: Message) -> Response {
        if let Some(refusal) = self.refuse_selectors(Some(&message)) {
            return refusal;
        }
        let id = match &message {
            Message::Request { id, method, .. } if method == "initialize" => {
                return self.initialize(id.clone(), message).await;
            }
            Message::Request { id, .. } => Some(id.clone()),
            Message::Notification { .. } | Message::Response { .. } | Message::Error { .. } => None,
        };
        let session = match self.endpoint.session(&self.headers, &self.principal, id.as_ref()) {
            Ok(session) => session,
            Err(refusal) => return *refusal,
        };
        let (out, frames) = mpsc::channel(QUEUE);
        // A lost connection is not a cancellation in these revisions: the call goes on.
        // A question to the user needs a stream to go out on; the reply comes as a POST of its own.
        let way = if self.accepts.events { WayBack::Questions } else { WayBack::AnswerAlone };
        session.connection().take(message, &out, way).await;
        drop(out);
        if id.is_none() {
            return StatusCode::ACCEPTED.into_response();
        }
        reply::answer(frames, self.accepts, Statuses::Legacy, &self.endpoint.settings, session).await
    }

    pub(super) async fn legacy_batch(self, bytes: &Bytes) -> Response {
        if let Some(refusal) = self.refuse_selectors(None) {
            return refusal;
        }
        let session = match self.endpoint.session(&self.headers, &self.principal, None) {
            Ok(session) => session,
            Err(refusal) => return *refusal,
        };
        if session.connection().legacy_protocol() != Some(Protocol::V2025_03_26) {
            let message = "a JSON-RPC batch; send one message at a time";
            return refuse(StatusCode::BAD_REQUEST, None, code::INVALID_REQUEST, message);
        }
        let (out, frames) = mpsc::channel(QUEUE);
        session.connection().take_bytes(bytes, &out).await;
        drop(out);
        // A batch without requests gets no answer.
        let accepts = Accepts { json: true, events: false };
        reply::answer(frames, accepts, Statuses::Legacy, &self.endpoint.settings, session).await
    }

    /// What is no message may still have been meant for an answer to a question, for which a call waits.
    pub(super) async fn tell_of_spoilt(&self, error: &WireError, bytes: &Bytes) {
        if error.id().is_none() || self.claims_modern() || !self.headers.contains_key(&SESSION) {
            return;
        }
        if let Ok(session) = self.endpoint.session(&self.headers, &self.principal, None) {
            // The answer to the client is the transport's.
            let (out, _frames) = mpsc::channel(1);
            session.connection().take_bytes(bytes, &out).await;
        }
    }

    async fn initialize(self, id: Id, message: Message) -> Response {
        if self.headers.contains_key(&SESSION) {
            let message = format!("initialize opens a session; leave {SESSION} out");
            return refuse(StatusCode::BAD_REQUEST, Some(&id), code::INVALID_REQUEST, message);
        }
        let (out, mut frames) = mpsc::channel(QUEUE);
        let server = &self.endpoint.server;
        let caller = self.endpoint.caller(&self.principal);
        let connection = Connection::open(server, Framing::Legacy, caller, server.admission(), None);
        connection.take(message, &out, WayBack::AnswerAlone).await;
        drop(out);
        let Some(frame) = frames.recv().await else {
            return refuse(StatusCode::INTERNAL_SERVER_ERROR, Some(&id), code::INTERNAL_ERROR, "initialize broke");
        };
        if frame.kind != FrameKind::Result {
            return reply::json(Statuses::Legacy.of(frame.kind), frame);
        }
        let name = self.endpoint.sessions.insert(connection.clone(), self.principal.clone(), Instant::now());
        let Some(name) = name.and_then(|name| HeaderValue::from_str(&name).ok()) else {
            connection.abandon();
            let message = "busy: all sessions are in use; try again later";
            return refuse(StatusCode::SERVICE_UNAVAILABLE, Some(&id), BUSY, message);
        };
        let mut response = if self.accepts.json {
            reply::json(StatusCode::OK, frame)
        } else {
            reply::events(frames, Some(frame), self.endpoint.settings.heartbeat, ())
        };
        response.headers_mut().insert(SESSION, name);
        response
    }
}

impl Endpoint {
    // The session a request names.
    fn session(&self, headers: &HeaderMap, principal: &Principal, id: Option<&Id>) -> Result<InUse, Box<Response>> {
        let name = match single(headers, &SESSION) {
            Ok(Some(name)) => name,
            Ok(None) => {
                let message = format!(
                    "{SESSION} is missing: send initialize first, or carry the protocol version in params._meta ({})",
                    Protocol::ALL[0]
                );
                return Err(Box::new(refuse(StatusCode::BAD_REQUEST, id, code::INVALID_REQUEST, message)));
            }
            Err(()) => {
                let message = format!("{SESSION} is given twice or is not plain text");
                return Err(Box::new(refuse(StatusCode::BAD_REQUEST, id, code::INVALID_REQUEST, message)));
            }
        };
        // 404 tells the client to initialize again.
        self.sessions.get(name, principal, Instant::now()).ok_or_else(|| {
            let message = "there is no such session (any more); send initialize again";
            Box::new(refuse(StatusCode::NOT_FOUND, id, code::INVALID_REQUEST, message))
        })
    }
}

fn is_modern(headers: &HeaderMap) -> bool {
    matches!(single(headers, &VERSION), Ok(Some(version)) if Protocol::from_date(version).is_none_or(Protocol::is_modern))
}

/// `GET`: the stream of a session's notifications. A new one takes the place of the old.
pub(super) async fn stream(
    State(endpoint): State<Arc<Endpoint>>,
    Extension(principal): Extension<Principal>,
    headers: HeaderMap,
) -> Response {
    if is_modern(&headers) || !headers.contains_key(&SESSION) {
        return not_offered();
    }
    if !Accepts::of(&headers).events {
        return StatusCode::NOT_ACCEPTABLE.into_response();
    }
    let session = match endpoint.session(&headers, &principal, None) {
        Ok(session) => session,
        Err(refusal) => return *refusal,
    };
    let Ok(place) = endpoint.streams.clone().try_acquire_owned() else {
        return refuse(StatusCode::TOO_MANY_REQUESTS, None, BUSY, "busy: too many streams are open; try again later");
    };
    // Few: a change that finds no room is told with the next one.
    let (out, frames) = mpsc::channel(4);
    session.connection().attach_events(out);
    reply::events(frames, None, endpoint.settings.heartbeat, (session, place))
}

/// `DELETE`: the end of a session. Its calls are cancelled.
pub(super) async fn end(
    State(endpoint): State<Arc<Endpoint>>,
    Extension(principal): Extension<Principal>,
    headers: HeaderMap,
) -> Response {
    if is_modern(&headers) {
        return not_offered();
    }
    match single(&headers, &SESSION) {
        Ok(Some(name)) if endpoint.sessions.remove(name, &principal) => StatusCode::NO_CONTENT.into_response(),
        Ok(Some(_)) => StatusCode::NOT_FOUND.into_response(),
        Ok(None) => not_offered(),
        Err(()) => StatusCode::BAD_REQUEST.into_response(),
    }
}
