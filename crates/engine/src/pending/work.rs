//! Starting, cancelling and ending work that outlives its call.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use toolcrib_core::ToolResult;

use super::{
    Pending, PendingFilter, PendingKind, PendingSettings, PendingState, PendingStore, ResumeAs, SuspensionError,
    settings::millis,
    supervise::{GRACE, supervise},
};
use crate::{backend::BoxFuture, event::Outcome, handle, identity::Principal, store::StoreError};

/// The call that work comes from.
#[derive(Clone, Debug)]
pub struct Origin {
    /// Whose it is.
    pub principal: Principal,
    /// The run, so that a later process can tell whether it still lives.
    pub run: String,
    /// The call's number.
    pub call: u64,
    /// The tool's identity as text.
    pub tool: String,
    /// The name it was called by.
    pub exposed: String,
}

/// How background work ended. Results should be shaped by now; what is kept is kept as it is.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The result; for any outcome but `ok` it is given on as a failure.
    pub result: ToolResult,
    /// The outcome.
    pub outcome: Outcome,
}

/// A background call under way.
#[derive(Debug)]
pub struct Started {
    /// What is kept of it.
    pub pending: Pending,
    /// What the call returns now (oneringai case 123).
    pub placeholder: ToolResult,
}

/// Why work could not be taken on. Nothing ran.
#[derive(Debug, thiserror::Error)]
pub enum PendingError {
    /// The store refused: its quota (too many unfinished pieces of one owner), or a failure.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Too many in this process.
    #[error("{0} background calls are running already; wait for some to end")]
    Full(usize),
    /// The process is ending.
    #[error("the gateway is shutting down and starts no more background calls")]
    Closed,
    /// A tool asked to be suspended in a way that cannot be.
    #[error(transparent)]
    Suspension(#[from] SuspensionError),
}

/// Milliseconds since the Unix epoch.
type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Runs and remembers work that outlives its call. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct PendingWork {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) store: Arc<dyn PendingStore>,
    pub(super) settings: ArcSwap<PendingSettings>,
    clock: Clock,
    running: Mutex<HashMap<String, Running>>,
    // How many are running; wakes those who wait for the end.
    count: watch::Sender<usize>,
    closed: AtomicBool,
    // One entry per owner that somebody listens for; removed with the last listener.
    pub(super) listeners: Mutex<HashMap<Owner, Listening>>,
}

/// Those who listen for one owner.
#[derive(Default)]
pub(super) struct Listening {
    pub(super) changes: watch::Sender<u64>,
    pub(super) who: Vec<Principal>,
}

struct Running {
    principal: Principal,
    cancel: CancellationToken,
}

/// Tenant and user.
pub(super) type Owner = (String, Option<String>);

pub(super) fn owner_of(principal: &Principal) -> Owner {
    (principal.tenant.clone(), principal.user.clone())
}

impl PendingWork {
    /// Work kept in this store.
    pub fn new(store: Arc<dyn PendingStore>, settings: PendingSettings) -> Self {
        Self::with_clock(store, settings, || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, millis))
    }

    /// The same with another source of the time, in milliseconds since the Unix epoch.
    pub fn with_clock(
        store: Arc<dyn PendingStore>,
        settings: PendingSettings,
        clock: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Self {
        let inner = Inner {
            store,
            settings: ArcSwap::from_pointee(settings),
            clock: Arc::new(clock),
            running: Mutex::default(),
            count: watch::Sender::new(0),
            closed: AtomicBool::new(false),
            listeners: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Other limits, for what begins from now on.
    pub fn configure(&self, settings: PendingSettings) {
        self.inner.settings.store(Arc::new(settings));
    }

    /// Whether a text has the form of a handle of this module, as opposed to that of a kept result.
    pub fn is_handle(text: &str) -> bool {
        text.starts_with(HANDLE_PREFIX)
    }

    /// Runs `work` in the background. It has not begun when this fails.
    ///
    /// `cancel` must be the token that the work itself goes by. `timeout` is the tool's own time limit, zero for none;
    /// `None` takes the configured one.
    pub async fn start(
        &self,
        origin: Origin,
        cancel: CancellationToken,
        timeout: Option<Duration>,
        work: BoxFuture<'static, Finished>,
    ) -> Result<Started, PendingError> {
        let settings = self.inner.settings.load_full();
        let limit = match timeout.unwrap_or(settings.timeout) {
            Duration::ZERO => settings.suspension_ttl,
            limit => limit.min(settings.suspension_ttl),
        };
        let now = self.inner.now();
        let handle = new_handle()?;
        let place = self.inner.reserve(&handle, &origin.principal, &cancel, settings.most_running)?;
        // The result can be read for its whole life even if it comes at the last moment.
        let expires_at_ms = now.saturating_add(millis(limit + GRACE)).saturating_add(millis(settings.result_ttl));
        let pending = Pending {
            handle,
            kind: PendingKind::Background,
            principal: origin.principal,
            run: origin.run,
            call: origin.call,
            tool: origin.tool,
            exposed: origin.exposed,
            correlation: None,
            resume_as: ResumeAs::UserMessage,
            state: PendingState::Waiting,
            result: None,
            created_at_ms: now,
            expires_at_ms,
            metadata: Value::Null,
        };
        let mut unbegun = Unbegun { inner: &self.inner, piece: Some(pending.clone()) };
        let opened = self.inner.store.open(pending.clone(), settings.most, now).await;
        unbegun.piece = None;
        opened?;
        let placeholder = ToolResult::text(self.inner.placeholder(&pending));
        let (inner, started) = (self.inner.clone(), pending.clone());
        tokio::spawn(async move {
            let finished = supervise(&started.exposed, work, &cancel, limit).await;
            inner.settle(&started, finished, settings.result_bytes).await;
            // Only now is it over, for those who wait for the last one.
            drop(place);
        });
        Ok(Started { pending, placeholder })
    }

    /// Cancels a piece that is this principal's (tenant and user): background work of this process is stopped and its
    /// cancellation delivered; a suspended call cannot be resumed any more. False when there is nothing to cancel.
    pub async fn cancel(&self, handle: &str, principal: &Principal) -> Result<bool, StoreError> {
        let running = {
            let running = self.inner.running.lock();
            let mine = running.get(handle).filter(|one| owner_of(&one.principal) == owner_of(principal));
            mine.map(|one| one.cancel.clone())
        };
        if let Some(cancel) = running {
            cancel.cancel();
            return Ok(true);
        }
        let now = self.inner.now();
        let Some(piece) = self.inner.store.pending(handle, now).await? else { return Ok(false) };
        let waits = piece.kind == PendingKind::Suspended && piece.state == PendingState::Waiting;
        if !waits || owner_of(&piece.principal) != owner_of(principal) {
            return Ok(false);
        }
        let text = ToolResult::error(format!("{} was cancelled while it waited.", piece.exposed));
        let settled = self.inner.store.settle(handle, text.raw().get().to_owned(), now).await?;
        if settled {
            self.inner.store.deliver(handle, now).await?;
        }
        Ok(settled)
    }

    /// The unfinished pieces of a tenant and user, oldest first, at most 1,000.
    pub async fn list(&self, principal: &Principal) -> Result<Vec<Pending>, StoreError> {
        let filter = PendingFilter {
            owner: Some(owner_of(principal)),
            state: Some(PendingState::Waiting),
            kind: None,
            limit: 1_000,
        };
        self.inner.store.list_pending(filter, self.inner.now()).await
    }

    /// How many listen for results.
    pub fn listeners(&self) -> usize {
        self.inner.listeners.lock().values().map(|listening| listening.who.len()).sum()
    }

    /// How long a background call may run.
    pub(crate) fn time(&self) -> Duration {
        match self.inner.settings.load().timeout {
            Duration::ZERO => Duration::MAX,
            time => time,
        }
    }

    /// To be called at start: background work of processes that are gone is marked as lost, and delivered as such to
    /// whoever listens for its owner. Returns the lost pieces.
    pub async fn recover(&self) -> Result<Vec<Pending>, StoreError> {
        let lost = self.inner.store.lose_dead(self.inner.now()).await?;
        for piece in &lost {
            tracing::warn!(tool = piece.tool, call = piece.call, "background work was lost when its process ended");
            self.inner.changed(&owner_of(&piece.principal));
        }
        Ok(lost)
    }

    /// Drops what was finished or given up longer ago than results are kept. Returns how many.
    pub async fn prune(&self) -> Result<u64, StoreError> {
        let keep = millis(self.inner.settings.load().result_ttl);
        self.inner.store.prune_pending(self.inner.now().saturating_sub(keep)).await
    }

    /// How many background calls this process runs.
    pub fn running(&self) -> usize {
        *self.inner.count.borrow()
    }

    /// Waits until no background call runs. False when that takes longer than `limit`.
    pub async fn wait(&self, limit: Duration) -> bool {
        let mut count = self.inner.count.subscribe();
        tokio::time::timeout(limit, count.wait_for(|count| *count == 0)).await.is_ok()
    }

    /// Starts nothing any more, gives what runs `limit` to end, and cancels the rest, which is recorded as cancelled.
    /// Returns how many had to be cancelled. Takes at most four seconds more than `limit`.
    pub async fn shutdown(&self, limit: Duration) -> usize {
        self.inner.closed.store(true, Ordering::SeqCst);
        if self.wait(limit).await {
            return 0;
        }
        let rest: Vec<CancellationToken> = self.inner.running.lock().values().map(|one| one.cancel.clone()).collect();
        for cancel in &rest {
            cancel.cancel();
        }
        self.wait(GRACE + Duration::from_secs(2)).await;
        rest.len()
    }
}

impl Inner {
    pub(super) fn now(&self) -> u64 {
        (self.clock)()
    }

    fn reserve(
        self: &Arc<Self>,
        handle: &str,
        principal: &Principal,
        cancel: &CancellationToken,
        most: usize,
    ) -> Result<Place, PendingError> {
        let mut running = self.running.lock();
        // Under the lock, so that a shutdown either sees the place or prevents it.
        if self.closed.load(Ordering::SeqCst) {
            return Err(PendingError::Closed);
        }
        if running.len() >= most {
            return Err(PendingError::Full(running.len()));
        }
        running.insert(handle.to_owned(), Running { principal: principal.clone(), cancel: cancel.clone() });
        self.count.send_replace(running.len());
        Ok(Place { inner: self.clone(), handle: handle.to_owned(), owner: owner_of(principal) })
    }

    /// How many running calls a listener waits for.
    pub(super) fn running_for(&self, listener: &Principal) -> usize {
        self.running.lock().values().filter(|one| super::deliver::is_for(listener, &one.principal)).count()
    }

    /// Wakes the listeners of an owner.
    pub(super) fn changed(&self, owner: &Owner) {
        if let Some(listening) = self.listeners.lock().get(owner) {
            listening.changes.send_modify(|change| *change = change.wrapping_add(1));
        }
    }

    /// What the call returns now. That the result comes by itself is said only where somebody is there to bring it.
    fn placeholder(&self, piece: &Pending) -> String {
        let listened = self
            .listeners
            .lock()
            .get(&owner_of(&piece.principal))
            .is_some_and(|listening| listening.who.iter().any(|who| super::deliver::is_for(who, &piece.principal)));
        let (exposed, reader, handle) = (&piece.exposed, crate::results::READ_TOOL, &piece.handle);
        if listened {
            format!(
                "{exposed} has started and runs in the background. Its result will come by itself in a later message; until then, do not call it again for the same purpose. It can also be read with {reader} and the handle {handle}."
            )
        } else {
            format!(
                "{exposed} has started and runs in the background. Read its result with {reader} and the handle {handle}; do not call it again for the same purpose."
            )
        }
    }

    /// Keeps a result. A store that is briefly locked is tried again; after that the piece stays unfinished, and a later
    /// process finds it lost: better than a result that was never written.
    async fn settle(&self, piece: &Pending, finished: Finished, most_bytes: usize) {
        let outcome = finished.outcome;
        let mut text = as_kept(piece, finished, most_bytes);
        let mut replaced = false;
        let mut pause = Duration::from_millis(50);
        for attempt in 1..=ATTEMPTS {
            let (tool, call) = (&piece.tool, piece.call);
            match self.store.settle(&piece.handle, text.clone(), self.now()).await {
                Ok(true) => return,
                Ok(false) => {
                    tracing::warn!(tool, call, "a background result came for work that had been given up");
                    return;
                }
                // It will not take this one at any time.
                Err(StoreError::Quota(_)) if !replaced => {
                    too_large(piece, outcome, text.len()).raw().get().clone_into(&mut text);
                    replaced = true;
                    continue;
                }
                Err(error) => tracing::warn!(tool, call, attempt, %error, "a background result cannot be kept"),
            }
            if attempt < ATTEMPTS {
                tokio::time::sleep(pause).await;
                pause *= 3;
            }
        }
    }
}

/// How often a result is tried to be kept.
const ATTEMPTS: u32 = 4;

fn as_kept(piece: &Pending, finished: Finished, most_bytes: usize) -> String {
    let Finished { result, outcome } = finished;
    let bytes = result.raw().get().len();
    let result = if bytes > most_bytes {
        too_large(piece, outcome, bytes)
    } else if outcome != Outcome::Ok && !result.is_error() {
        let mut value = result.to_value();
        value["isError"] = true.into();
        ToolResult::from_value(&value)
    } else {
        result
    };
    result.raw().get().to_owned()
}

fn too_large(piece: &Pending, outcome: Outcome, bytes: usize) -> ToolResult {
    ToolResult::error(format!(
        "{} ended ({}), but its result of {bytes} bytes is too large to keep. It did run; ask for less.",
        piece.exposed,
        outcome.word()
    ))
}

/// A piece that is being kept and whose work has not begun. If its caller is gone by then it never will: the piece is
/// closed, or it would stand as unfinished for as long as the process lives, and count as such.
struct Unbegun<'a> {
    inner: &'a Arc<Inner>,
    piece: Option<Pending>,
}

impl Drop for Unbegun<'_> {
    fn drop(&mut self) {
        let (Some(piece), Ok(runtime)) = (self.piece.take(), tokio::runtime::Handle::try_current()) else { return };
        let inner = self.inner.clone();
        runtime.spawn(async move {
            let text = ToolResult::error(format!("{} was not run: its caller was gone before it began.", piece.exposed));
            let closed = match inner.store.settle(&piece.handle, text.raw().get().to_owned(), inner.now()).await {
                Ok(true) => inner.store.deliver(&piece.handle, inner.now()).await,
                other => other,
            };
            if let Err(error) = closed {
                tracing::warn!(tool = piece.tool, call = piece.call, %error, "background work that never began cannot be closed");
            }
        });
    }
}

/// A running call's place, until it is over in every way.
struct Place {
    inner: Arc<Inner>,
    handle: String,
    owner: Owner,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut running = self.inner.running.lock();
        running.remove(&self.handle);
        self.inner.count.send_replace(running.len());
        drop(running);
        self.inner.changed(&self.owner);
    }
}

const HANDLE_PREFIX: &str = "work-";

/// A name nobody can guess: 128 random bits of the operating system.
pub(super) fn new_handle() -> Result<String, StoreError> {
    Ok(format!("{HANDLE_PREFIX}{}", handle::fresh()?))
}
