//! One client's side of the conversation: a stdio process, a legacy HTTP session, or one modern HTTP request.

use std::{
    collections::{HashMap, hash_map::Entry},
    panic::AssertUnwindSafe,
    sync::Arc,
    time::Duration,
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::{Notify, mpsc};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Admission, Caller, Frame, FrameKind, Outbox, Protocol, Server, call, error_frame,
    frame::notification_frame,
    legacy, modern,
    params::Params,
    protocol::META_VERSION,
    questions::{Questions, refusal},
    subscription,
};
use crate::wire::{self, Id, Message, RpcError, WireError, code};

/// Most messages of one batch (2025-03-26).
const MAX_BATCH: usize = 64;

/// Which eras a connection may speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Either, told apart request by request: stdio.
    Any,
    /// Only revisions with a handshake: an HTTP session.
    Legacy,
    /// Only stateless revisions: one HTTP request.
    Modern,
}

/// What the way back to the client carries while a request runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WayBack {
    /// Questions too: a pipe, or a stream of events.
    Questions,
    /// The answer alone: one JSON object.
    AnswerAlone,
}

/// A connection. Keep it in an [`Arc`]; running calls hold on to it.
pub struct Connection {
    pub(super) server: Arc<Server>,
    framing: Framing,
    state: Mutex<State>,
    in_flight: Mutex<HashMap<Id, CancellationToken>>,
    admission: Arc<Admission>,
    // Where notifications go that belong to no request.
    events: Mutex<Option<Outbox>>,
    // Woken when the client may have to be told of its list for another reason than a change of it.
    retell: Notify,
    // What the client was asked and has not answered.
    pub(super) questions: Arc<Questions>,
    tasks: TaskTracker,
    // Fires when the connection ends in good order: subscriptions close, calls go on.
    closing: CancellationToken,
    // Fires when nobody will read anything any more: calls are cancelled.
    gone: CancellationToken,
}

#[derive(Clone)]
struct State {
    caller: Caller,
    // Set by `initialize`.
    legacy: Option<Protocol>,
    // The list this client last saw.
    seen_list: Option<String>,
    // The list it was told of since, without having looked.
    told_list: Option<String>,
    subscriptions: usize,
}

impl Connection {
    /// A connection for `caller`; `events` takes the notifications that belong to no request. Unless it is for a single
    /// modern request, the connection gets a name of its own: [`Caller::session`].
    pub fn open(
        server: &Arc<Server>,
        framing: Framing,
        mut caller: Caller,
        admission: Arc<Admission>,
        events: Option<Outbox>,
    ) -> Arc<Self> {
        let name = random_name();
        let questions = Questions::new(name.as_deref().unwrap_or_default(), server.options.questions);
        caller.session = match framing {
            Framing::Any | Framing::Legacy => random_name(),
            Framing::Modern => None,
        };
        Arc::new(Self {
            server: server.clone(),
            framing,
            state: Mutex::new(State { caller, legacy: None, seen_list: None, told_list: None, subscriptions: 0 }),
            in_flight: Mutex::new(HashMap::new()),
            admission,
            events: Mutex::new(events),
            retell: Notify::new(),
            questions,
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
            gone: CancellationToken::new(),
        })
    }

    /// The revision agreed on by `initialize`.
    pub fn legacy_protocol(&self) -> Option<Protocol> {
        self.state.lock().legacy
    }

    /// Calls and subscriptions that have not ended.
    pub fn in_flight(&self) -> usize {
        self.in_flight.lock().len()
    }

    /// Questions to the client that are open.
    pub fn open_questions(&self) -> usize {
        self.questions.len()
    }

    /// How many answers came that belonged to no open question: late ones, second ones, strange ones.
    pub fn stray_answers(&self) -> u64 {
        self.questions.strays()
    }

    /// Takes the bytes of one message, or of a batch where the revision allows one. Answers go to `out`; when nothing of
    /// the message is pending any more, no clone of `out` is held.
    pub async fn take_bytes(self: &Arc<Self>, bytes: &[u8], out: &Outbox) {
        match wire::parse(bytes) {
            Ok(message) => self.take(message, out, WayBack::Questions).await,
            // A spoilt answer to a question of ours: whoever waits for it should know.
            Err(WireError::Invalid { reason, id: Some(id) }) if self.questions.is_open(&id) => {
                self.questions.hear(&id, Err(format!("not a JSON-RPC 2.0 message: {reason}")));
            }
            Err(WireError::Batch) if self.legacy_protocol() == Some(Protocol::V2025_03_26) => {
                self.take_batch(bytes, out).await;
            }
            Err(error) => send(out, error_frame(error.id(), &error.to_rpc_error())).await,
        }
    }

    /// Takes one message. Answers go to `out`, and so do the questions of a call if that can carry them.
    pub async fn take(self: &Arc<Self>, message: Message, out: &Outbox, way: WayBack) {
        match message {
            Message::Request { id, method, params } => self.request(id, &method, params.as_deref(), out, way).await,
            Message::Notification { method, params } => self.notification(&method, params.as_deref()),
            Message::Response { id, result } => {
                self.questions.hear(&id, Ok(result));
            }
            Message::Error { id: Some(id), error } => {
                self.questions.hear(&id, Err(refusal(&error)));
            }
            Message::Error { id: None, .. } => self.questions.stray(),
        }
    }

    async fn take_batch(self: &Arc<Self>, bytes: &[u8], out: &Outbox) {
        let Some(items) = wire::split_batch(bytes, MAX_BATCH) else {
            let error = RpcError::new(code::INVALID_REQUEST, format!("a batch has 1 to {MAX_BATCH} messages"));
            return send(out, error_frame(None, &error)).await;
        };
        let (sender, receiver) = mpsc::channel(MAX_BATCH);
        let collector = self.tasks.spawn(collect_batch(receiver, out.clone()));
        for item in items {
            match wire::parse(item.get().as_bytes()) {
                Ok(Message::Request { id, method, .. }) if method == "initialize" => {
                    let error = RpcError::new(code::INVALID_REQUEST, "initialize cannot be part of a batch");
                    send(&sender, error_frame(Some(&id), &error)).await;
                }
                Ok(message) => self.take(message, &sender, WayBack::AnswerAlone).await,
                Err(error) => send(&sender, error_frame(error.id(), &error.to_rpc_error())).await,
            }
        }
        drop((sender, collector));
    }

    async fn request(self: &Arc<Self>, id: Id, method: &str, params: Option<&RawValue>, out: &Outbox, way: WayBack) {
        let dispatch = || {
            if self.in_flight.lock().contains_key(&id) {
                return Err(id_in_use(&id));
            }
            let params = Params::read(params)?;
            if self.is_modern(method, &params) {
                modern::request(self, &id, method, &params, out, way)
            } else {
                legacy::request(self, &id, method, &params, out, way)
            }
        };
        // A panic in the service must cost this request alone.
        let answered = std::panic::catch_unwind(AssertUnwindSafe(dispatch)).unwrap_or_else(|_| Err(broken()));
        match answered {
            Ok(Dispatched::Now(frame)) => send(out, frame).await,
            Ok(Dispatched::List(frame, hash)) => {
                send(out, frame).await;
                self.saw_list(hash);
            }
            Ok(Dispatched::Later) => {}
            Err(error) => send(out, error_frame(Some(&id), &error)).await,
        }
    }

    // A dual-era server goes by how the client opens: modern `_meta` or a handshake (MCP 2026-07-28, versioning).
    fn is_modern(&self, method: &str, params: &Params) -> bool {
        match self.framing {
            Framing::Modern => true,
            Framing::Legacy => false,
            Framing::Any => {
                method == "server/discover" || params.meta().is_some_and(|meta| meta.contains_key(META_VERSION))
            }
        }
    }

    fn notification(&self, method: &str, params: Option<&RawValue>) {
        match method {
            "notifications/cancelled" => {
                let id = Params::read(params)
                    .ok()
                    .and_then(|params| params.get("requestId").and_then(|raw| Id::from_json(raw.get())));
                if let Some(token) = id.and_then(|id| self.in_flight.lock().get(&id).cloned()) {
                    token.cancel();
                }
            }
            "notifications/initialized" | "notifications/roots/list_changed" | "notifications/progress" => {}
            other => tracing::debug!(method = other, "ignoring an unknown notification"),
        }
    }

    /// Stops subscriptions and change notifications; running calls go on, and their answers still go out. From the client
    /// nothing more is expected: questions to it are lost.
    pub fn close(&self) {
        self.closing.cancel();
        self.questions.close();
        self.events.lock().take();
    }

    /// Gives up: cancels everything, as when the client is gone.
    pub fn abandon(&self) {
        self.close();
        self.gone.cancel();
    }

    /// Closes, waits up to `limit` for the calls that still run, then abandons the rest. Whether all ended in time.
    pub async fn drain(&self, limit: Duration) -> bool {
        self.close();
        self.tasks.close();
        let done = tokio::time::timeout(limit, self.tasks.wait()).await.is_ok();
        self.abandon();
        done
    }

    /// Sends notifications that belong to no request to `events` from now on, ending the stream they went to before. What
    /// was missed in between is made up for.
    pub fn attach_events(&self, events: Outbox) {
        if self.closing.is_cancelled() {
            return;
        }
        *self.events.lock() = Some(events);
        // What the stream before did not deliver is lost.
        self.state.lock().told_list = None;
        self.retell.notify_one();
    }

    // ---- for the eras ----

    pub(super) fn caller(&self) -> Caller {
        self.state.lock().caller.clone()
    }

    /// Takes the outcome of `initialize`; `false` when there was one before.
    pub(super) fn initialized(self: &Arc<Self>, protocol: Protocol, caller: Caller) -> bool {
        {
            let mut state = self.state.lock();
            if state.legacy.is_some() {
                return false;
            }
            state.legacy = Some(protocol);
            state.caller = caller;
        }
        let (connection, closing) = (self.clone(), self.closing.clone());
        let mut changes = self.server.service.changes();
        // Not tracked: it ends with `closing`, which comes before every wait.
        tokio::spawn(async move {
            let tell = async {
                loop {
                    tokio::select! {
                        changed = changes.changed() => if changed.is_err() { return },
                        () = connection.retell.notified() => {}
                    }
                    connection.announce_list().await;
                }
            };
            closing.run_until_cancelled(tell).await;
        });
        true
    }

    // Called when the list is on its way to the client: whatever it was told before may have been about an older one, and
    // what changed since the list was made has to be told after it.
    fn saw_list(&self, hash: String) {
        let mut state = self.state.lock();
        state.seen_list = Some(hash);
        state.told_list = None;
        drop(state);
        self.retell.notify_one();
    }

    // Tells a legacy client of a list that differs from the one it knows. A client that never listed knows none. Waits
    // for a free place: what changes meanwhile becomes one more notification, not many (F14).
    async fn announce_list(&self) {
        while let Some((seen, _)) = self.news() {
            let Some(events) = self.events.lock().clone() else { return };
            let place = tokio::select! {
                biased;
                // Another stream, or another list that the client knows.
                () = self.retell.notified() => continue,
                place = events.reserve() => place,
            };
            // Nobody reads: the client stays marked as not knowing.
            let Ok(place) = place else { return };
            let Some((still_seen, hash)) = self.news() else { return };
            let mut state = self.state.lock();
            let current = self.events.lock();
            let same_stream = current.as_ref().is_some_and(|current| current.same_channel(&events));
            if seen == still_seen && state.seen_list.as_ref() == Some(&seen) && same_stream {
                place.send(notification_frame("notifications/tools/list_changed", None));
                state.told_list = Some(hash);
                return;
            }
        }
    }

    // The list the client saw last, and the present one if the client does not know of it.
    fn news(&self) -> Option<(String, String)> {
        let (caller, seen, told) = {
            let state = self.state.lock();
            state.legacy?;
            (state.caller.clone(), state.seen_list.clone()?, state.told_list.clone())
        };
        let hash = self.server.service.list(&caller).hash;
        (told.as_ref().unwrap_or(&seen) != &hash).then_some((seen, hash))
    }

    /// Runs a call in the background and answers when it ends.
    pub(super) fn start_call(
        self: &Arc<Self>,
        id: &Id,
        plan: call::Plan,
        out: &Outbox,
    ) -> Result<Dispatched, RpcError> {
        let Some(ticket) = self.admission.enter(1) else {
            let (running, waiting) = self.admission.limits();
            let message = format!("busy: {running} calls run and {waiting} wait; try again in a moment");
            let data = RawValue::from_string(r#"{"retryAfterMs":1000}"#.to_owned()).ok();
            return Err(RpcError { code: super::BUSY, message, data });
        };
        let entry = self.enter_in_flight(id)?;
        self.tasks.spawn(call::run(self.server.clone(), entry, ticket, plan, out.clone()));
        Ok(Dispatched::Later)
    }

    /// Holds a modern client's stream of change notifications open.
    pub(super) fn start_subscription(
        self: &Arc<Self>,
        id: &Id,
        caller: Caller,
        filter: subscription::Filter,
        out: &Outbox,
    ) -> Result<Dispatched, RpcError> {
        let limit = self.server.options.subscriptions;
        let entry = self.enter_in_flight(id)?;
        {
            let mut state = self.state.lock();
            if state.subscriptions >= limit {
                let message = format!("busy: {limit} subscriptions are open on this connection; end one first");
                return Err(RpcError::new(super::BUSY, message));
            }
            state.subscriptions += 1;
        }
        let (connection, closing, out) = (self.clone(), self.closing.clone(), out.clone());
        self.tasks.spawn(async move {
            subscription::run(&connection.server, &entry, &closing, &caller, filter, &out).await;
            connection.state.lock().subscriptions -= 1;
        });
        Ok(Dispatched::Later)
    }

    fn enter_in_flight(self: &Arc<Self>, id: &Id) -> Result<InFlight, RpcError> {
        match self.in_flight.lock().entry(id.clone()) {
            Entry::Occupied(_) => Err(id_in_use(id)),
            Entry::Vacant(place) => {
                let cancel = self.gone.child_token();
                place.insert(cancel.clone());
                Ok(InFlight { connection: self.clone(), id: id.clone(), cancel })
            }
        }
    }
}

// A name that nobody can guess; none when the system has no randomness to give.
fn random_name() -> Option<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(URL_SAFE_NO_PAD.encode(bytes))
}

fn id_in_use(id: &Id) -> RpcError {
    RpcError::new(code::INVALID_REQUEST, format!("id {id} belongs to a request that still runs; use a new one"))
}

/// The error for a panic in the service.
pub(super) fn broken() -> RpcError {
    RpcError::new(code::INTERNAL_ERROR, "the request broke inside the server; see its log")
}

/// How a request is answered.
pub(super) enum Dispatched {
    /// With this.
    Now(Frame),
    /// With this, which shows the client the list of this hash.
    List(Frame, String),
    /// By a task that was started.
    Later,
}

/// A request that has not ended; leaves the table when dropped.
pub(super) struct InFlight {
    pub(super) connection: Arc<Connection>,
    pub(super) id: Id,
    pub(super) cancel: CancellationToken,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.connection.in_flight.lock().remove(&self.id);
    }
}

/// Puts an answer into the outbox, waiting for room. A closed outbox means that nobody reads any more.
pub(super) async fn send(out: &Outbox, frame: Frame) {
    if out.send(frame).await.is_err() {
        tracing::debug!("an answer found no reader");
    }
}

async fn collect_batch(mut receiver: mpsc::Receiver<Frame>, out: Outbox) {
    let mut answers = Vec::new();
    while let Some(frame) = receiver.recv().await {
        match frame.kind {
            FrameKind::Notification | FrameKind::Request => {
                // A hint; dropped when the client is slow.
                let _ = out.try_send(frame);
            }
            FrameKind::Result | FrameKind::Error(_) => answers.push(frame.json),
        }
    }
    if answers.is_empty() {
        return;
    }
    let mut json = vec![b'['];
    for (index, answer) in answers.iter().enumerate() {
        if index > 0 {
            json.push(b',');
        }
        json.extend_from_slice(answer);
    }
    json.push(b']');
    send(&out, Frame { json: json.into(), kind: FrameKind::Result }).await;
}
