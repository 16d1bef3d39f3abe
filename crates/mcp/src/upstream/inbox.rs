//! What arrives from a server, whatever the transport: answers go to who waits for them, the rest is handled or counted.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};
use tokio::{
    sync::{Notify, oneshot},
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use toolcrib_engine::{Progress, ProgressSink};

use super::{
    link::Failure,
    mask::{Mask, one_line},
    report::{Facts, count},
};
use crate::wire::{self, Id, Message, RpcError, WireError, code};

// The 2025-03-26 revision knew batches; no server is known to send large ones.
const MAX_BATCH: usize = 1_000;
// Shown of a stray line, in debug logs only.
const STRAY_CHARS: usize = 120;
// Masked before that is cut out, so that no part of a secret is left at the end.
const STRAY_BYTES: usize = 8 * 1024;

// Requests whose answers are only taken note of; the oldest go when there are more.
const MAX_GIVEN_UP: usize = 256;

/// How a request ended, as its waiter gets to know it.
pub(super) type Answer = Result<Box<RawValue>, Failure>;

/// Whether a request may have reached the server: decided once, by whoever comes first.
#[derive(Clone, Default)]
pub(super) struct Sent(Arc<AtomicU8>);

const WAITING: u8 = 0;
const LEFT: u8 = 1;
const WITHDRAWN: u8 = 2;

impl Sent {
    /// The request is about to leave; false when it was withdrawn and must not.
    pub(super) fn leave(&self) -> bool {
        self.0.compare_exchange(WAITING, LEFT, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Takes the request back; false when it may have reached the server already.
    pub(super) fn withdraw(&self) -> bool {
        let before = self.0.compare_exchange(WAITING, WITHDRAWN, Ordering::AcqRel, Ordering::Acquire);
        before.is_ok() || before == Err(WITHDRAWN)
    }
}

struct Waiter {
    answer: oneshot::Sender<Answer>,
    progress: Option<ProgressSink>,
    sent: Sent,
}

/// Who is to get an answer.
#[derive(Default)]
struct Places {
    waiting: HashMap<u64, Waiter>,
    /// Of requests that were given up, oldest first.
    given_up: VecDeque<(u64, oneshot::Sender<Answer>)>,
}

impl Places {
    /// Who waits for the answer to `id`, or else who gets it when nobody does.
    fn of_answer(&mut self, id: u64) -> (Option<Waiter>, Option<oneshot::Sender<Answer>>) {
        if let Some(waiter) = self.waiting.remove(&id) {
            return (Some(waiter), None);
        }
        let place = self.given_up.iter().position(|(given_up, _)| *given_up == id);
        (None, place.and_then(|place| self.given_up.remove(place)).map(|(_, late)| late))
    }
}

/// The incoming side of one connection.
pub(super) struct Inbox {
    source: String,
    mask: Mask,
    facts: Arc<Facts>,
    places: Mutex<Places>,
    max_waiting: usize,
    /// Woken when the server says that its tools changed; one pending wake is kept (F9).
    pub(super) list_changed: Notify,
    closed: CancellationToken,
    reason: Mutex<Option<Closing>>,
    stray: Throttle,
    log: Throttle,
}

/// Why a connection ended.
#[derive(Clone, Debug)]
pub(super) struct Closing {
    pub(super) reason: String,
    pub(super) kind: ClosingKind,
}

/// What follows from the end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClosingKind {
    /// Try again after a wait.
    Lost,
    /// Connect again at once: the server forgot the session but is there.
    SessionExpired,
    /// Trying again is pointless until somebody acts.
    Permanent,
    /// We ended it.
    Ours,
}

/// A place in the list of waiters; leaves it when dropped.
pub(super) struct Place {
    inbox: Arc<Inbox>,
    id: u64,
    pub(super) answer: oneshot::Receiver<Answer>,
}

impl Place {
    /// Gives up a request that has left: nobody waits for its answer, but should one come, the receiver gets it.
    pub(super) fn give_up(&mut self) -> oneshot::Receiver<Answer> {
        let (_, nothing) = oneshot::channel();
        let answer = std::mem::replace(&mut self.answer, nothing);
        let mut places = self.inbox.places.lock();
        // Otherwise the answer came this moment and is in the receiver.
        if let Some(waiter) = places.waiting.remove(&self.id) {
            places.given_up.retain(|(_, late)| !late.is_closed());
            if places.given_up.len() >= MAX_GIVEN_UP {
                places.given_up.pop_front();
            }
            places.given_up.push_back((self.id, waiter.answer));
        }
        answer
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.inbox.places.lock().waiting.remove(&self.id);
    }
}

impl Inbox {
    pub(super) fn new(source: String, mask: Mask, facts: Arc<Facts>, max_waiting: usize) -> Arc<Self> {
        Arc::new(Self {
            source,
            mask,
            facts,
            places: Mutex::default(),
            max_waiting,
            list_changed: Notify::new(),
            closed: CancellationToken::new(),
            reason: Mutex::default(),
            stray: Throttle::new(1, Duration::from_mins(1)),
            log: Throttle::new(20, Duration::from_secs(1)),
        })
    }

    /// Takes a place for the answer to `id`.
    pub(super) fn expect(
        self: &Arc<Self>,
        id: u64,
        progress: Option<ProgressSink>,
        sent: Sent,
    ) -> Result<Place, Failure> {
        let (sender, answer) = oneshot::channel();
        let waiting = &mut self.places.lock().waiting;
        if let Some(closing) = self.closing() {
            return Err(Failure::NotSent(closing.reason));
        }
        if waiting.len() >= self.max_waiting {
            return Err(Failure::NotSent(format!(
                "{} requests are waiting for this server already; try again when some are done",
                self.max_waiting
            )));
        }
        waiting.insert(id, Waiter { answer: sender, progress, sent });
        Ok(Place { inbox: self.clone(), id, answer })
    }

    /// Marks the connection as ended and fails everyone who waits (F1). Only the first reason counts.
    pub(super) fn close(&self, reason: impl Into<String>, kind: ClosingKind) {
        let reason = reason.into();
        {
            let mut slot = self.reason.lock();
            if slot.is_some() {
                return;
            }
            *slot = Some(Closing { reason: reason.clone(), kind });
        }
        self.closed.cancel();
        let Places { waiting, given_up } = std::mem::take(&mut *self.places.lock());
        drop(given_up);
        for waiter in waiting.into_values() {
            let failure =
                if waiter.sent.withdraw() { Failure::NotSent(reason.clone()) } else { Failure::Lost(reason.clone()) };
            let _ = waiter.answer.send(Err(failure));
        }
    }

    /// Cancelled once the connection has ended.
    pub(super) fn closed(&self) -> &CancellationToken {
        &self.closed
    }

    /// Why the connection ended, if it has.
    pub(super) fn closing(&self) -> Option<Closing> {
        self.reason.lock().clone()
    }

    /// Takes one frame; gives what has to be sent back, if anything.
    pub(super) fn frame(&self, bytes: &[u8]) -> Vec<Message> {
        match wire::parse(bytes) {
            Ok(message) => self.message(message).into_iter().collect(),
            Err(WireError::Batch) => {
                let Some(items) = wire::split_batch(bytes, MAX_BATCH) else {
                    self.stray("a batch that is empty or too large", bytes);
                    return Vec::new();
                };
                let messages = items.iter().filter_map(|item| match wire::parse(item.get().as_bytes()) {
                    Ok(message) => self.message(message),
                    Err(error) => {
                        self.unusable(&error, item.get().as_bytes());
                        None
                    }
                });
                messages.collect()
            }
            Err(error) => {
                self.unusable(&error, bytes);
                Vec::new()
            }
        }
    }

    /// Counts something that is no message. Said once a minute at most (F5); its text only in debug logs.
    pub(super) fn stray(&self, what: &str, bytes: &[u8]) {
        count(&self.facts.stray_lines);
        if self.stray.allows() {
            tracing::warn!(source = %self.source, "{what} on the protocol stream; ignored");
        }
        if tracing::enabled!(tracing::Level::TRACE) {
            let head = String::from_utf8_lossy(&bytes[..bytes.len().min(STRAY_BYTES)]);
            tracing::trace!(source = %self.source, text = %self.shown(&head, STRAY_CHARS), "ignored");
        }
    }

    /// A text of the server as it may be logged.
    fn shown(&self, text: &str, max: usize) -> String {
        one_line(&self.mask.apply(text), max)
    }

    fn unusable(&self, error: &WireError, bytes: &[u8]) {
        self.stray("text that is no message", bytes);
        // A broken answer is an answer still: its waiter must not wait for the deadline.
        if let Some(id) = error.id().and_then(Id::as_u64) {
            self.fail(id, Failure::Unusable(format!("the answer cannot be used: {error}")));
        }
    }

    /// Fails one waiter, if it is there.
    pub(super) fn fail(&self, id: u64, failure: Failure) {
        let waiter = self.places.lock().waiting.remove(&id);
        if let Some(waiter) = waiter {
            let _ = waiter.answer.send(Err(failure));
        }
    }

    /// Takes one message; gives the reply to a server's request.
    pub(super) fn message(&self, message: Message) -> Option<Message> {
        match message {
            Message::Response { id, result } => self.answer(&id, Ok(result)),
            Message::Error { id: Some(id), error } => self.answer(&id, Err(Failure::Rpc(error))),
            Message::Error { id: None, error } => {
                count(&self.facts.dropped_replies);
                tracing::debug!(source = %self.source, code = error.code, "error without an id");
            }
            Message::Request { id, method, .. } => return Some(reply(id, &method)),
            Message::Notification { method, params } => self.notification(&method, params.as_deref()),
        }
        None
    }

    fn answer(&self, id: &Id, answer: Answer) {
        let (waiter, late) = id.as_u64().map(|id| self.places.lock().of_answer(id)).unwrap_or_default();
        // The first answer wins; what nobody waits for is counted (F11), also what is taken note of (F2).
        let answer = match waiter {
            Some(waiter) => match waiter.answer.send(answer) {
                Ok(()) => return,
                Err(answer) => answer,
            },
            None => answer,
        };
        count(&self.facts.dropped_replies);
        if let Some(late) = late {
            let _ = late.send(answer);
        }
    }

    fn notification(&self, method: &str, params: Option<&RawValue>) {
        match method {
            "notifications/tools/list_changed" => self.list_changed.notify_one(),
            "notifications/progress" => self.progress(params),
            "notifications/cancelled" => self.cancelled(params),
            "notifications/message" if tracing::enabled!(tracing::Level::DEBUG) && self.log.allows() => {
                let text = params.map(|raw| self.shown(raw.get(), 500)).unwrap_or_default();
                tracing::debug!(source = %self.source, %text, "log message of the server");
            }
            _ => {}
        }
    }

    fn progress(&self, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        struct Token {
            #[serde(rename = "progressToken")]
            token: Id,
        }
        let Some(raw) = params else { return };
        let Ok(Token { token }) = serde_json::from_str(raw.get()) else { return };
        let sink = token
            .as_u64()
            .and_then(|id| self.places.lock().waiting.get(&id).and_then(|waiter| waiter.progress.clone()));
        let Some(sink) = sink else { return };
        if let Ok(Value::Object(mut params)) = serde_json::from_str(raw.get()) {
            // The token is ours, the caller has its own. `shift_remove` keeps the order of the others.
            params.shift_remove("progressToken");
            sink(Progress { params: Value::Object(params) });
        }
    }

    /// A server ends a subscription this way (2026-07-28, stdio).
    fn cancelled(&self, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        struct Cancelled {
            #[serde(rename = "requestId")]
            id: Id,
        }
        if let Some(Cancelled { id }) = params.and_then(|raw| serde_json::from_str(raw.get()).ok())
            && let Some(id) = id.as_u64()
        {
            self.fail(id, Failure::Lost("the server cancelled the request".to_owned()));
        }
    }
}

/// We declare no capabilities, so all a server may ask is whether we are there.
fn reply(id: Id, method: &str) -> Message {
    match method {
        "ping" => match to_raw_value(&Value::Object(serde_json::Map::new())) {
            Ok(result) => Message::Response { id, result },
            Err(_) => refusal(id, method),
        },
        _ => refusal(id, method),
    }
}

fn refusal(id: Id, method: &str) -> Message {
    let method = one_line(method, 80);
    Message::Error {
        id: Some(id),
        error: RpcError::new(code::METHOD_NOT_FOUND, format!("'{method}' is not supported")),
    }
}

/// At most so many per window.
struct Throttle {
    most: u64,
    window: Duration,
    since: Mutex<Option<Instant>>,
    seen: AtomicU64,
}

impl Throttle {
    fn new(most: u64, window: Duration) -> Self {
        Self { most, window, since: Mutex::default(), seen: AtomicU64::new(0) }
    }

    fn allows(&self) -> bool {
        let now = Instant::now();
        let mut since = self.since.lock();
        if since.is_none_or(|since| now.duration_since(since) >= self.window) {
            *since = Some(now);
            self.seen.store(0, Ordering::Relaxed);
        }
        self.seen.fetch_add(1, Ordering::Relaxed) < self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upstream::settings::{Transport, UpstreamSettings};

    fn inbox() -> Arc<Inbox> {
        let stdio = Transport::Stdio { command: "x".into(), args: vec![], env: [].into(), cwd: None };
        let mask = Mask::new(&UpstreamSettings::new("s", stdio));
        Inbox::new("mcp:s".to_owned(), mask, Arc::default(), 10_000)
    }

    #[test]
    fn of_requests_given_up_the_last_256_are_listened_for() {
        let inbox = inbox();
        let place = |id| inbox.expect(id, None, Sent::default()).unwrap();
        let mut late: Vec<_> = (0..258).map(|id| place(id).give_up()).collect();
        let mut came: Vec<&str> = Vec::new();
        let answer = |id: u64| inbox.frame(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#).as_bytes());
        for id in [1, 2, 257, 2, 300] {
            answer(id);
        }
        assert_eq!(inbox.facts.dropped_replies.load(Ordering::Relaxed), 5);
        for id in [1, 2, 3, 257] {
            came.push(match late[id].try_recv() {
                Ok(Ok(_)) => "answered",
                Ok(Err(_)) => "failed",
                Err(oneshot::error::TryRecvError::Empty) => "waits",
                Err(oneshot::error::TryRecvError::Closed) => "forgotten",
            });
        }
        assert_eq!(came, ["forgotten", "answered", "waits", "answered"]);
        // Who does not want to know any more makes room.
        drop(late.split_off(10));
        drop(place(400).give_up());
        assert_eq!(inbox.places.lock().given_up.len(), 8);
        // An answer that came a moment before is not lost.
        let mut just = place(401);
        answer(401);
        assert!(matches!(just.give_up().try_recv(), Ok(Ok(_))));
        inbox.close("over", ClosingKind::Lost);
        assert!(matches!(late[3].try_recv(), Err(oneshot::error::TryRecvError::Closed)));
    }

    #[test]
    fn logged_texts_of_a_server_hold_no_secret() {
        let env = [("API_KEY".to_owned(), "hunter2-secret".to_owned())].into();
        let stdio = Transport::Stdio { command: "x".into(), args: vec![], env, cwd: None };
        let mask = Mask::new(&UpstreamSettings::new("s", stdio));
        let inbox = Inbox::new("mcp:s".to_owned(), mask, Arc::default(), 1);
        assert_eq!(inbox.shown("key is\nhunter2-secret.", 120), "key is ***.");
        // Not even the part that the cut would leave.
        assert_eq!(inbox.shown("key is hunter2-secret", 10), "key is ***");
    }
}
