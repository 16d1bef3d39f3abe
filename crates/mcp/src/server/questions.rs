//! Questions that are open on one connection, and the way to ask one while a call waits (up to 2025-11-25).
//!
//! An id is never used twice, and carries randomness of its connection: an answer that reaches another connection, comes
//! twice or comes too late belongs to no question and is only counted (T7).

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use toolcrib_core::shape::sanitize_text;

use super::{
    BoxFuture, Outbox, Protocol,
    elicit::{self, ElicitError, Elicitor, Question, Reply},
    frame::{notification_frame, request_frame},
};
use crate::wire::{Id, RpcError};

/// Longest text of a client that is passed on in a refusal, in characters.
const MAX_REASON: usize = 200;

// The result of `elicitation/create`, or why there is none.
type Heard = Result<Box<RawValue>, String>;

/// The open questions of one connection.
pub(super) struct Questions {
    table: Mutex<Table>,
    prefix: String,
    limit: usize,
    strays: AtomicU64,
}

struct Table {
    // Without a sender: lost, and only waits for its asker to notice.
    open: HashMap<Id, Option<oneshot::Sender<Heard>>>,
    asked: u64,
    closed: bool,
}

impl Questions {
    /// An empty table with room for `limit` questions. `nonce` makes the ids this connection's own.
    pub(super) fn new(nonce: &str, limit: usize) -> Arc<Self> {
        Arc::new(Self {
            table: Mutex::new(Table { open: HashMap::new(), asked: 0, closed: false }),
            prefix: format!("ask-{nonce}-"),
            limit,
            strays: AtomicU64::new(0),
        })
    }

    /// Takes the client's answer to a request of ours; `false` when none with this id is open.
    pub(super) fn hear(&self, id: &Id, heard: Heard) -> bool {
        let waiting = self.table.lock().open.remove(id).flatten();
        if waiting.is_some_and(|waiting| waiting.send(heard).is_ok()) {
            return true;
        }
        self.strays.fetch_add(1, Ordering::Relaxed);
        tracing::debug!("ignoring an answer nobody asked for");
        false
    }

    /// Whether a question with this id is open.
    pub(super) fn is_open(&self, id: &Id) -> bool {
        self.table.lock().open.contains_key(id)
    }

    /// Counts an answer that names no request.
    pub(super) fn stray(&self) {
        self.strays.fetch_add(1, Ordering::Relaxed);
    }

    /// Answers that belonged to no open question.
    pub(super) fn strays(&self) -> u64 {
        self.strays.load(Ordering::Relaxed)
    }

    /// Questions that are open.
    pub(super) fn len(&self) -> usize {
        self.table.lock().open.len()
    }

    /// No answer will come any more: what is open is lost, and nothing more can be asked.
    pub(super) fn close(&self) {
        let mut table = self.table.lock();
        table.closed = true;
        for waiting in table.open.values_mut() {
            waiting.take();
        }
    }

    fn open(self: &Arc<Self>, out: Outbox) -> Result<Open, ElicitError> {
        let mut table = self.table.lock();
        if table.closed {
            return Err(ElicitError::Lost);
        }
        if table.open.len() >= self.limit {
            return Err(ElicitError::Busy(self.limit));
        }
        table.asked += 1;
        let id = Id::from(format!("{}{}", self.prefix, table.asked).as_str());
        let (sender, answer) = oneshot::channel();
        table.open.insert(id.clone(), Some(sender));
        drop(table);
        Ok(Open { questions: self.clone(), id, answer, out, sent: false })
    }
}

/// The words of a client's refusal.
pub(super) fn refusal(error: &RpcError) -> String {
    let shown: String = sanitize_text(&error.message).chars().take(MAX_REASON).collect();
    format!("error {} {shown:?}", error.code)
}

/// A question in the table; leaves it when dropped. The client is told if it still has the question before it.
struct Open {
    questions: Arc<Questions>,
    id: Id,
    answer: oneshot::Receiver<Heard>,
    out: Outbox,
    sent: bool,
}

impl Open {
    async fn ask(&mut self, params: &str) -> Result<Heard, ElicitError> {
        let frame = request_frame(&self.id, "elicitation/create", params);
        self.out.send(frame).await.map_err(|_| ElicitError::Lost)?;
        self.sent = true;
        tokio::select! {
            biased;
            heard = &mut self.answer => heard.map_err(|_| ElicitError::Lost),
            () = self.out.closed() => Err(ElicitError::Lost),
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let unanswered = self.questions.table.lock().open.remove(&self.id).is_some();
        if unanswered && self.sent {
            let params = format!(r#"{{"requestId":{},"reason":"the answer is no longer needed"}}"#, self.id.to_json());
            // Full: the client is slow, and its answer will be ignored anyway.
            let _ = self.out.try_send(notification_frame("notifications/cancelled", Some(&params)));
        }
    }
}

/// Asks on behalf of one call, on that call's way back.
struct Asker {
    questions: Arc<Questions>,
    protocol: Protocol,
    // Taken away when the call ends: nothing may be asked after it.
    out: Mutex<Option<Outbox>>,
    ended: CancellationToken,
}

impl Asker {
    async fn ask(&self, question: &Question) -> Result<Reply, ElicitError> {
        let out = self.out.lock().clone().ok_or(ElicitError::Lost)?;
        let mut open = self.questions.open(out)?;
        let params = question.params(self.protocol);
        let heard = tokio::select! {
            biased;
            () = self.ended.cancelled() => return Err(ElicitError::Lost),
            heard = open.ask(&params) => heard?,
        };
        drop(open);
        let result = heard.map_err(ElicitError::Refused)?;
        let reply = elicit::reply(&result).map_err(ElicitError::Refused)?;
        if let Reply::Accept(content) = &reply {
            question.check(content).map_err(ElicitError::Refused)?;
        }
        Ok(reply)
    }
}

impl Elicitor for Asker {
    fn elicit<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Result<Reply, ElicitError>> {
        Box::pin(self.ask(question))
    }
}

/// Lets a call ask until dropped.
pub(super) struct MayAsk(Arc<Asker>);

impl MayAsk {
    /// For a call that answers to `out` and that `cancel` cancels.
    pub(super) fn new(
        questions: &Arc<Questions>,
        protocol: Protocol,
        out: &Outbox,
        cancel: &CancellationToken,
    ) -> Self {
        let asker = Asker {
            questions: questions.clone(),
            protocol,
            out: Mutex::new(Some(out.clone())),
            ended: cancel.child_token(),
        };
        Self(Arc::new(asker))
    }

    /// The way to ask.
    pub(super) fn elicitor(&self) -> Arc<dyn Elicitor> {
        self.0.clone()
    }
}

impl Drop for MayAsk {
    fn drop(&mut self) {
        self.0.ended.cancel();
        self.0.out.lock().take();
    }
}
