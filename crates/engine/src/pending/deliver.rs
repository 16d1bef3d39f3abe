//! Giving finished work to whoever continues the conversation: in batches, each result exactly once.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use serde_json::{Value, value::RawValue};
use tokio::{sync::watch, time::Instant};
use toolcrib_core::ToolResult;

use super::{
    Pending, PendingFilter, PendingKind, PendingState, PendingWork, ResumeAs,
    work::{Inner, owner_of},
};
use crate::{identity::Principal, store::StoreError};

/// A result that comes after its call.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The piece's handle.
    pub handle: String,
    /// What was waited for.
    pub kind: PendingKind,
    /// Whose it is.
    pub principal: Principal,
    /// The call that began it.
    pub call: u64,
    /// The tool's identity as text.
    pub tool: String,
    /// The name it was called by.
    pub exposed: String,
    /// The result.
    pub result: ToolResult,
    /// How it is given to the model.
    pub resume_as: ResumeAs,
    /// Whether it tells of a failure: of the tool's own, of a time limit, a cancellation or a lost process.
    pub failed: bool,
    /// What a suspended call is known by outside.
    pub correlation: Option<String>,
    /// The tool's own notes.
    pub metadata: Value,
}

impl Delivery {
    pub(super) fn of(piece: Pending) -> Self {
        let result = match piece.result {
            Some(text) => RawValue::from_string(text)
                .ok()
                .and_then(|raw| ToolResult::from_raw(raw).ok())
                .unwrap_or_else(|| ToolResult::error(format!("The kept result of {} cannot be read.", piece.exposed))),
            None => ToolResult::error(format!(
                "{} was running in the background when the process that ran it ended, so its result is lost. It may or may not have taken effect: check before repeating it.",
                piece.exposed
            )),
        };
        Self {
            failed: result.is_error(),
            handle: piece.handle,
            kind: piece.kind,
            principal: piece.principal,
            call: piece.call,
            tool: piece.tool,
            exposed: piece.exposed,
            result,
            resume_as: piece.resume_as,
            correlation: piece.correlation,
            metadata: piece.metadata,
        }
    }

    /// The delivery as a message of the user's, for [`ResumeAs::UserMessage`].
    pub fn message(&self) -> String {
        let verb = if self.failed { "failed" } else { "has finished" };
        format!("[{} {verb}; its handle is {}]\n{}", self.exposed, self.handle, self.result.to_text())
    }
}

/// Whether what belongs to `piece` goes to `listener`: same tenant and user, and the listener's agent and session where
/// it has them. Another session's results would make no sense to a model.
pub(super) fn is_for(listener: &Principal, piece: &Principal) -> bool {
    let same = |wanted: &Option<String>, found: &Option<String>| wanted.is_none() || wanted == found;
    listener.tenant == piece.tenant
        && listener.user == piece.user
        && same(&listener.agent, &piece.agent)
        && same(&listener.session, &piece.session)
}

/// The results of background calls for one listener, as they come. Results that nobody listened for are kept and come
/// first. Several listeners for the same principal share: each result goes to one of them.
///
/// Results of background calls in another process come with the next change in this one, or with the next
/// [`Deliveries::within`].
///
/// A result counts as delivered when it is taken out of the store. It can be read by its handle after that too, for as
/// long as it is kept, so one that was taken and then lost on its way is not gone.
pub struct Deliveries {
    inner: Arc<Inner>,
    listener: Principal,
    // Also what came back for suspended calls and was left for their callers.
    replies: bool,
    changes: watch::Receiver<u64>,
    // What was taken from the store and not yet given out, also by a `next` that was dropped half-way.
    taken: Arc<Mutex<Vec<Delivery>>>,
}

impl PendingWork {
    /// Listens for a principal: everything of its tenant and user, narrowed by agent and session where it has them.
    pub fn deliveries(&self, listener: Principal) -> Deliveries {
        let mut listeners = self.inner.listeners.lock();
        let listening = listeners.entry(owner_of(&listener)).or_default();
        listening.who.push(listener.clone());
        let changes = listening.changes.subscribe();
        drop(listeners);
        Deliveries { inner: self.inner.clone(), listener, replies: false, changes, taken: Arc::default() }
    }
}

/// How often [`Deliveries::within`] looks for what other processes finished.
const OTHERS: Duration = Duration::from_secs(1);
/// What is given out at once, bytes of results; one result always is.
const MAX_BATCH: usize = 8 * 1024 * 1024;

impl Deliveries {
    /// The same, with what came back for suspended calls by [`PendingWork::reply`].
    #[must_use]
    pub fn with_replies(mut self) -> Self {
        self.replies = true;
        self
    }

    /// The next results, at least one, oldest first. Waits for more that still run, but no longer than the batch window,
    /// and not at all when nothing runs any more. May be dropped and called again; nothing is lost by that.
    pub async fn next(&mut self) -> Result<Vec<Delivery>, StoreError> {
        self.until(None).await
    }

    /// The same within a time: none when nothing came. What is there already is given without any time too.
    pub async fn within(&mut self, wait: Duration) -> Result<Vec<Delivery>, StoreError> {
        self.until(Some(Instant::now() + wait)).await
    }

    async fn until(&mut self, end: Option<Instant>) -> Result<Vec<Delivery>, StoreError> {
        loop {
            self.changes.borrow_and_update();
            if let Some(taken) = self.given() {
                return Ok(taken);
            }
            if !self.finished().await?.is_empty() {
                self.batch(end).await;
                self.take(self.finished().await?).await;
                if let Some(taken) = self.given() {
                    return Ok(taken);
                }
            }
            let now = Instant::now();
            let closed = match end {
                Some(end) if now >= end => return Ok(Vec::new()),
                Some(end) => {
                    matches!(tokio::time::timeout_at(end.min(now + OTHERS), self.changes.changed()).await, Ok(Err(_)))
                }
                None => self.changes.changed().await.is_err(),
            };
            if closed {
                // The listener's entry lives as long as it does.
                std::future::pending::<()>().await;
            }
        }
    }

    fn given(&self) -> Option<Vec<Delivery>> {
        let taken = std::mem::take(&mut *self.taken.lock());
        if taken.is_empty() { None } else { Some(taken) }
    }

    async fn finished(&self) -> Result<Vec<Pending>, StoreError> {
        let mut found = Vec::new();
        for state in [PendingState::Lost, PendingState::Ready] {
            let filter = PendingFilter {
                owner: Some(owner_of(&self.listener)),
                state: Some(state),
                // A suspended call's result goes to whoever resumes it, unless it was left for its caller.
                kind: (!self.replies).then_some(PendingKind::Background),
                limit: 1_000,
            };
            found.extend(self.inner.store.list_pending(filter, self.inner.now()).await?);
        }
        found.retain(|piece| is_for(&self.listener, &piece.principal));
        found.sort_by_key(|piece| piece.created_at_ms);
        let mut room = MAX_BATCH;
        let fits = |piece: &Pending| {
            let bytes = piece.result.as_ref().map_or(0, String::len);
            let fits = bytes <= room || room == MAX_BATCH;
            room = room.saturating_sub(bytes.max(1));
            fits
        };
        let fitting = found.iter().map(fits).take_while(|fits| *fits).count();
        found.truncate(fitting);
        Ok(found)
    }

    async fn batch(&mut self, end: Option<Instant>) {
        let window = Instant::now() + self.inner.settings.load().batch_window;
        let until = end.map_or(window, |end| end.min(window));
        while self.inner.running_for(&self.listener) > 0 {
            tokio::select! {
                () = tokio::time::sleep_until(until) => return,
                changed = self.changes.changed() => if changed.is_err() { return },
            }
        }
    }

    /// Marks pieces as delivered. On a task of its own: if this future is dropped, what was marked is not lost.
    async fn take(&self, pieces: Vec<Pending>) {
        let (inner, taken, owner) = (self.inner.clone(), self.taken.clone(), owner_of(&self.listener));
        let marking = async move {
            for piece in pieces {
                match inner.store.deliver(&piece.handle, inner.now()).await {
                    Ok(true) => taken.lock().push(Delivery::of(piece)),
                    Ok(false) => {}
                    Err(error) => {
                        tracing::warn!(tool = piece.tool, call = piece.call, %error, "a background result cannot be marked as delivered, so it stays for later");
                    }
                }
            }
            inner.changed(&owner);
        };
        match tokio::runtime::Handle::try_current() {
            // It does not panic; if the runtime ends, so does everything.
            Ok(runtime) => drop(runtime.spawn(marking).await),
            Err(_) => marking.await,
        }
    }
}

impl Drop for Deliveries {
    fn drop(&mut self) {
        let mut listeners = self.inner.listeners.lock();
        let owner = owner_of(&self.listener);
        let Some(listening) = listeners.get_mut(&owner) else { return };
        if let Some(at) = listening.who.iter().position(|who| *who == self.listener) {
            listening.who.swap_remove(at);
        }
        if listening.who.is_empty() {
            listeners.remove(&owner);
        }
    }
}
