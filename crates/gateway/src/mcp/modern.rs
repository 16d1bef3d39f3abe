//! Requests that stand alone (2026-07-28).

use std::sync::Arc;

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use tokio::sync::mpsc;
use toolcrib_mcp::{
    server::{BUSY, Connection, Framing, Peek, Protocol, WayBack, error_frame},
    wire::{Message, code},
};

use super::{Endpoint, Exchange, METHOD, NAME, QUEUE, VERSION};
use crate::{
    mirror,
    reply::{self, Statuses, refuse},
};

impl Exchange {
    pub(super) async fn modern(self, message: Message, peek: Peek) -> Response {
        let (id, method) = match &message {
            Message::Request { id, method, .. } => (id, method),
            // No notification has a meaning here; a disconnect is what cancels.
            Message::Notification { .. } => return StatusCode::ACCEPTED.into_response(),
            Message::Response { .. } | Message::Error { .. } => {
                let message = "nothing was asked, so there is nothing to answer";
                return refuse(StatusCode::BAD_REQUEST, None, code::INVALID_REQUEST, message);
            }
        };
        match &peek.version {
            Some(version) => {
                if let Err(message) = self.check_mirrors(version, method, &peek) {
                    return refuse(StatusCode::BAD_REQUEST, Some(id), code::HEADER_MISMATCH, message);
                }
            }
            // Which the request itself does not name: for a revision that is served, what it lacks is told below.
            None => {
                if let Some(version) = self.version.as_deref().filter(|date| Protocol::from_date(date).is_none()) {
                    let error = self.endpoint.server.unsupported_version(version);
                    return reply::json(StatusCode::BAD_REQUEST, error_frame(Some(id), &error));
                }
            }
        }
        let mut place = None;
        if method == "subscriptions/listen" {
            let Ok(free) = self.endpoint.streams.clone().try_acquire_owned() else {
                let message = "busy: too many streams are open; try again later";
                return refuse(StatusCode::TOO_MANY_REQUESTS, Some(id), BUSY, message);
            };
            place = Some(free);
        }
        let (out, frames) = mpsc::channel(QUEUE);
        let endpoint = &self.endpoint;
        let caller = endpoint.caller(&self.principal);
        let connection = Connection::open(&endpoint.server, Framing::Modern, caller, endpoint.admission.clone(), None);
        if place.is_some() {
            endpoint.remember(&connection);
        }
        // Held by the answer: when the client is gone, so is the reason for the call.
        let gone = AbandonOnDrop(connection.clone());
        // A question to the user would be the end of the call, never part of the way there.
        connection.take(message, &out, WayBack::AnswerAlone).await;
        drop(out);
        reply::answer(frames, self.accepts, Statuses::Modern, &endpoint.settings, (gone, place)).await
    }

    fn check_mirrors(&self, version: &str, method: &str, peek: &Peek) -> Result<(), String> {
        mirror::check(&self.headers, &VERSION, version)?;
        mirror::check(&self.headers, &METHOD, method)?;
        let Some(name) = peek.name.as_deref().filter(|_| matches!(method, "tools/call" | "prompts/get")) else {
            return Ok(());
        };
        mirror::check(&self.headers, &NAME, name)?;
        let endpoint = &self.endpoint;
        let list = endpoint.server.service().list(&endpoint.caller(&self.principal));
        let arguments = peek.arguments.as_ref().map(|raw| raw.get());
        endpoint.mirrors.of(&list).check(name, arguments, &self.headers)
    }
}

struct AbandonOnDrop(Arc<Connection>);

impl Drop for AbandonOnDrop {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

impl Endpoint {
    // Notes an open subscription, for closing. The notes of ended ones go when the table would have to grow.
    fn remember(&self, connection: &Arc<Connection>) {
        if self.closing.is_cancelled() {
            connection.close();
            return;
        }
        let mut open = self.open.lock();
        if open.len() == open.capacity() {
            open.retain(|connection| connection.strong_count() > 0);
        }
        open.push(Arc::downgrade(connection));
    }
}
