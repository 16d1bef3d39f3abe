//! A connection over streamable HTTP, in both eras.
//!
//! Owns requests and their answers; `stream` follows event streams, `answer` reads statuses and bodies, `target` holds
//! what every request has in common.

mod answer;
mod stream;
mod target;

use std::{sync::Arc, time::Duration};

use reqwest::{
    Method, RequestBuilder, Response,
    header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue},
};
use serde_json::{
    json,
    value::{RawValue, to_raw_value},
};
use tokio::{
    sync::{Semaphore, oneshot},
    time::timeout,
};
use tokio_util::task::TaskTracker;

pub(super) use self::target::Target;
use super::{
    header,
    inbox::{Answer, Inbox, Place, Sent},
    link::{Failure, Ids, Outgoing, cancelled},
    settings::Era,
};
use crate::wire::{self, Id, Message};

const BOTH: &str = "application/json, text/event-stream";
// Cancellations, replies and the like under way at once; more are dropped.
const BACKGROUND: usize = 16;
const BACKGROUND_PATIENCE: Duration = Duration::from_secs(5);
const LONGEST_SESSION_ID: usize = 1024;

/// A connection over HTTP: for a modern server merely its address, for a legacy one a session.
pub(super) struct HttpLink {
    target: Target,
    inbox: Arc<Inbox>,
    ids: Ids,
    message_bytes: usize,
    state: parking_lot::Mutex<State>,
    background: Arc<Semaphore>,
    tracker: TaskTracker,
}

/// What the headers of the protocol say.
#[derive(Clone)]
struct State {
    era: Era,
    version: Option<HeaderValue>,
    session: Option<HeaderValue>,
}

impl HttpLink {
    pub(super) fn new(
        target: Target,
        inbox: Arc<Inbox>,
        ids: Ids,
        message_bytes: usize,
        tracker: TaskTracker,
    ) -> Arc<Self> {
        Arc::new(Self {
            target,
            inbox,
            ids,
            message_bytes,
            state: parking_lot::Mutex::new(State { era: Era::Legacy, version: None, session: None }),
            background: Arc::new(Semaphore::new(BACKGROUND)),
            tracker,
        })
    }

    pub(super) fn inbox(&self) -> &Arc<Inbox> {
        &self.inbox
    }

    pub(super) fn ids(&self) -> &Ids {
        &self.ids
    }

    /// From now on speaks `version` of `era`.
    pub(super) fn speak(&self, era: Era, version: &str) {
        let mut state = self.state.lock();
        state.era = era;
        state.version = HeaderValue::from_str(version).ok();
    }

    /// Before `initialize` nothing is agreed on.
    pub(super) fn speak_nothing(&self) {
        *self.state.lock() = State { era: Era::Legacy, version: None, session: None };
    }

    pub(super) async fn request(self: &Arc<Self>, mut outgoing: Outgoing<'_>) -> Result<Box<RawValue>, Failure> {
        let sent = Sent::default();
        let mut place = self.inbox.expect(outgoing.id, outgoing.progress.clone(), sent.clone())?;
        let legacy = self.state.lock().era == Era::Legacy;
        // The stream ends with the request. Only a legacy server has another, the standing one, to answer on all the same.
        let keep_late = |outgoing: &mut Outgoing<'_>, place: &mut Place| {
            if legacy
                && !sent.withdraw()
                && let Some(late) = outgoing.late.as_mut()
            {
                **late = Some(place.give_up());
            }
        };
        // A modern server understands the end of the stream; a legacy one has to be told.
        let mut farewell = Farewell {
            link: self,
            id: outgoing.id,
            sent: sent.clone(),
            armed: legacy && outgoing.tell_cancel,
            reason: "no longer needed",
        };
        tokio::select! {
            biased;
            answer = self.exchange(&outgoing, &sent, &mut place.answer) => {
                farewell.armed = false;
                answer
            }
            () = cancelled(outgoing.cancel) => {
                farewell.reason = "cancelled by the caller";
                keep_late(&mut outgoing, &mut place);
                Err(Failure::Cancelled)
            }
            () = tokio::time::sleep_until(outgoing.deadline) => {
                farewell.reason = "no answer in time";
                keep_late(&mut outgoing, &mut place);
                Err(Failure::TimedOut)
            }
            () = self.inbox.closed().cancelled() => {
                let reason = self.inbox.closing().map(|closing| closing.reason).unwrap_or_default();
                Err(if sent.withdraw() { Failure::NotSent(reason) } else { Failure::Lost(reason) })
            }
        }
    }

    async fn exchange(
        self: &Arc<Self>,
        outgoing: &Outgoing<'_>,
        sent: &Sent,
        elsewhere: &mut oneshot::Receiver<Answer>,
    ) -> Result<Box<RawValue>, Failure> {
        let message = Message::Request {
            id: Id::from(outgoing.id),
            method: outgoing.method.to_owned(),
            params: Some(outgoing.params.clone()),
        };
        let mut request = self.post(&message);
        if self.state.lock().era == Era::Modern {
            request = request.header("Mcp-Method", outgoing.method);
            if let Some(name) = outgoing.name {
                request = request.header("Mcp-Name", header::encode(name));
            }
            for (name, value) in &outgoing.headers {
                let name = HeaderName::try_from(name.as_str());
                let value = HeaderValue::try_from(value.as_str());
                let (Ok(name), Ok(value)) = (name, value) else {
                    return Err(Failure::NotSent(format!("an argument of '{}' fits no header", outgoing.method)));
                };
                request = request.header(name, value);
            }
        }
        if !sent.leave() {
            return Err(Failure::NotSent("withdrawn".to_owned()));
        }
        let response = request.send().await.map_err(|error| answer::broken(&error))?;
        let response = self.checked(response).await?;
        if outgoing.method == "initialize" {
            self.keep_session(&response)?;
        }
        match answer::content(&response)? {
            answer::Content::Json => {
                let body = answer::body(response, self.message_bytes).await?;
                self.pick(&body, outgoing.id)
            }
            answer::Content::Events => self.follow(response, outgoing.id, elsewhere).await,
        }
    }

    /// Any answer but a good one is a failure.
    async fn checked(&self, response: Response) -> Result<Response, Failure> {
        if response.status().is_success() {
            return Ok(response);
        }
        let session = self.state.lock().session.is_some();
        Err(answer::refusal(response, session).await)
    }

    fn keep_session(&self, response: &Response) -> Result<(), Failure> {
        let Some(session) = response.headers().get("mcp-session-id") else { return Ok(()) };
        let visible = session.as_bytes().iter().all(|byte| (b'!'..=b'~').contains(byte));
        if !visible || session.len() > LONGEST_SESSION_ID {
            return Err(Failure::Unusable("the server's session id is not printable or too long".to_owned()));
        }
        self.state.lock().session = Some(session.clone());
        Ok(())
    }

    /// The answer to `id` out of a body; whatever else is in it goes the usual way.
    fn pick(self: &Arc<Self>, body: &[u8], id: u64) -> Result<Box<RawValue>, Failure> {
        let items = match wire::parse(body) {
            Ok(message) => vec![message],
            Err(wire::WireError::Batch) => {
                let items = wire::split_batch(body, 1_000).unwrap_or_default();
                items.iter().filter_map(|item| wire::parse(item.get().as_bytes()).ok()).collect()
            }
            Err(error) => return Err(Failure::Unusable(format!("the answer cannot be used: {error}"))),
        };
        let mut answer = None;
        for item in items {
            match own(item, id) {
                Ok(own) => answer = answer.or(Some(own)),
                Err(other) => self.take(other),
            }
        }
        answer.unwrap_or_else(|| Err(Failure::Unusable("the server answered another request".to_owned())))
    }

    /// Handles a message that is no awaited answer.
    fn take(self: &Arc<Self>, message: Message) {
        if let Some(reply) = self.inbox.message(message) {
            self.send_aside(&reply);
        }
    }

    fn post(&self, message: &Message) -> RequestBuilder {
        let request = self.target.request(Method::POST).header(CONTENT_TYPE, "application/json").header(ACCEPT, BOTH);
        self.with_state(request).body(wire::write(message))
    }

    fn with_state(&self, mut request: RequestBuilder) -> RequestBuilder {
        let State { version, session, .. } = self.state.lock().clone();
        if let Some(version) = version {
            request = request.header("MCP-Protocol-Version", version);
        }
        if let Some(session) = session {
            request = request.header("Mcp-Session-Id", session);
        }
        request
    }

    pub(super) async fn notify(&self, method: &str, params: Option<Box<RawValue>>) -> bool {
        let request = self.post(&Message::Notification { method: method.to_owned(), params });
        let answer = timeout(BACKGROUND_PATIENCE, request.send()).await;
        answer.is_ok_and(|answer| answer.is_ok_and(|answer| answer.status().is_success()))
    }

    /// Sends something nobody waits for. Dropped when too much of it is under way.
    fn send_aside(self: &Arc<Self>, message: &Message) {
        let Ok(permit) = self.background.clone().try_acquire_owned() else { return };
        let request = self.post(message);
        let work = async move {
            let _ = timeout(BACKGROUND_PATIENCE, request.send()).await;
            drop(permit);
        };
        // A request may be dropped while the runtime itself is going away.
        if tokio::runtime::Handle::try_current().is_ok() {
            self.tracker.spawn(work);
        }
    }

    /// Ends a legacy session, politely and briefly.
    pub(super) async fn finish(&self, patience: Duration) {
        if self.state.lock().session.is_some() {
            let request = self.with_state(self.target.request(Method::DELETE));
            let _ = timeout(patience, request.send()).await;
        }
    }
}

struct Farewell<'a> {
    link: &'a Arc<HttpLink>,
    id: u64,
    sent: Sent,
    armed: bool,
    reason: &'static str,
}

impl Drop for Farewell<'_> {
    fn drop(&mut self) {
        if !self.sent.withdraw() && self.armed {
            let params = to_raw_value(&json!({"requestId": self.id, "reason": self.reason})).ok();
            self.link.send_aside(&Message::Notification { method: "notifications/cancelled".to_owned(), params });
        }
    }
}

/// The answer in a message, if it answers `id`; else the message again.
fn own(message: Message, id: u64) -> Result<Answer, Message> {
    match message {
        Message::Response { id: ref given, .. } if given.as_u64() != Some(id) => Err(message),
        Message::Response { result, .. } => Ok(Ok(result)),
        Message::Error { id: Some(ref given), .. } if given.as_u64() != Some(id) => Err(message),
        // In an answer of its own an error without id can only mean this request.
        Message::Error { error, .. } => Ok(Err(Failure::Rpc(error))),
        Message::Request { .. } | Message::Notification { .. } => Err(message),
    }
}
