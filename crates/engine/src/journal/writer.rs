//! The writing side of the journal.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::future::{Either, ready};
use parking_lot::Mutex;
use tokio::{
    sync::{
        mpsc::{self, error::TrySendError},
        oneshot,
    },
    task::JoinHandle,
    time::Instant,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    carried::Carried,
    guarded::guarded,
    health::{Health, JournalStatus, closed},
    owed::Owed,
    queue::{self, Item, Shared},
    record::{JournalRecord, Kind},
    recover::recover,
    settings::JournalSettings,
    sink::{EvidenceSink, Sinks},
    store::{Begun, Claim, ClaimResult, Earlier, JournalStore},
    unsettled::Unsettled,
};
use crate::{backend::BoxFuture, clock::now_ms, handle, store::StoreError};

/// Most pieces of background work watched at a time.
const MAX_WORK: usize = 4_096;

/// Records that a closing journal could not write in the time it had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{records} journal records could not be written before the end; see the log for what the store said")]
pub struct Unwritten {
    /// How many.
    pub records: usize,
}

/// Whether a call may leave.
#[must_use = "dropping it records the call's outcome as unknown"]
#[allow(clippy::large_enum_variant, reason = "looked at once, where it was made; a box would cost every call")]
pub enum Opening {
    /// Its intent is durable: it may, and must be finished through this.
    Started(Unsettled),
    /// The key was used before; nothing was written and nothing may run.
    Duplicate(Earlier),
}

/// Writes the journal of one process. Cheap to clone. Needs a tokio runtime.
///
/// Calls that may change something go through [`begin`](Self::begin) and [`finish`](Self::finish), which return when the
/// record is durable. Everything else goes through [`note`](Self::note), which only makes callers wait when more than
/// [`JournalSettings::queue`] records have gathered. While the store fails, `begin` fails, so nothing that may change
/// anything runs; `note` accepts what there is room for, says that it is not written, and counts what it has to give
/// up; the gap is recorded when the store is back.
#[derive(Clone)]
pub struct Journal {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<Shared>,
    queue: mpsc::Sender<Item>,
    recovered: u64,
    /// Writes under way and work that outlives its call.
    work: TaskTracker,
    closed: AtomicBool,
    stop: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Journal {
    /// Announces a new run and closes what dead runs left unfinished, as `unknown`.
    ///
    /// # Errors
    /// If the store fails, or the operating system gives no random bytes.
    pub async fn open(store: Arc<dyn JournalStore>, settings: JournalSettings) -> Result<Self, StoreError> {
        let run = handle::fresh()?;
        store.open_run(&run).await?;
        let recovered = recover(store.as_ref(), &run).await?;
        let (sender, receiver) = mpsc::channel(settings.queue.max(1));
        let trouble = store.trouble();
        let shared = Arc::new(Shared {
            store,
            run,
            health: Health::new(trouble),
            owed: Owed::new(settings.owed),
            sinks: Sinks::default(),
            settings,
        });
        let stop = CancellationToken::new();
        let task = tokio::spawn(queue::run(shared.clone(), receiver, stop.clone()));
        Ok(Self {
            inner: Arc::new(Inner {
                shared,
                queue: sender,
                recovered,
                work: TaskTracker::new(),
                closed: AtomicBool::new(false),
                stop,
                task: Mutex::new(Some(task)),
            }),
        })
    }

    /// This process's run: 26 characters, unguessable.
    pub fn run(&self) -> &str {
        &self.inner.shared.run
    }

    /// Where the records are.
    pub fn store(&self) -> &Arc<dyn JournalStore> {
        &self.inner.shared.store
    }

    /// A record of this run, now.
    pub fn record(&self, kind: Kind) -> JournalRecord {
        JournalRecord::new(kind, now_ms(), self.run())
    }

    /// A claim on a key that is remembered for [`JournalSettings::claim_ttl`].
    pub fn claim(&self, owner: impl Into<String>, key: impl Into<String>, digest: impl Into<String>) -> Claim {
        let ttl = u64::try_from(self.inner.shared.settings.claim_ttl.as_millis()).unwrap_or(u64::MAX);
        let expires_at_ms = now_ms().saturating_add(ttl);
        Claim { owner: owner.into(), key: key.into(), digest: digest.into(), expires_at_ms }
    }

    /// Writes an intent durably. Only on [`Opening::Started`] may the call leave. If the caller is dropped before it has
    /// that in its hands, the call is recorded as cancelled before it left, and its key is free again.
    ///
    /// # Errors
    /// If the store fails or the journal was shut down: the call must not leave.
    pub fn begin(
        &self,
        intent: JournalRecord,
        claim: Option<Claim>,
    ) -> impl Future<Output = Result<Opening, StoreError>> + Send + use<> {
        let open = !self.inner.closed.load(Ordering::SeqCst);
        let writing =
            open.then(|| Carried::new(&self.inner.work, false, self.clone().write_intent(intent, claim), unwanted));
        async move {
            let writing = writing.ok_or_else(closed)?;
            Ok(match writing.await? {
                Opening::Started(unsettled) => Opening::Started(unsettled.taken_over()),
                duplicate @ Opening::Duplicate(_) => duplicate,
            })
        }
    }

    fn write_intent(
        self,
        intent: JournalRecord,
        claim: Option<Claim>,
    ) -> impl Future<Output = Result<Opening, StoreError>> + Send + use<> {
        let journal = self;
        let key = claim.as_ref().map(|claim| (claim.owner.clone(), claim.key.clone()));
        let intent = Arc::new(intent);
        async move {
            let shared = &journal.inner.shared;
            let writing = async { shared.store.begin(intent.clone(), claim, now_ms()).await };
            let begun = guarded("write an intent", writing).await;
            shared.health.judge(&begun);
            begun.map(|begun| match begun {
                Begun::Started => {
                    shared.sinks.offer(&intent);
                    Opening::Started(Unsettled::new(journal.clone(), intent, key))
                }
                Begun::Duplicate(earlier) => Opening::Duplicate(earlier),
            })
        }
    }

    /// Writes an outcome durably. The write goes on if the returned future is dropped.
    ///
    /// # Errors
    /// If the store fails. The outcome is then kept and written when the store is back, as long as there is room
    /// ([`JournalSettings::owed`]): the caller gives the reply all the same, with a note.
    pub fn finish(
        &self,
        outcome: JournalRecord,
        claim: Option<ClaimResult>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send + use<> {
        let shared = self.inner.shared.clone();
        let writing = async move { finish(&shared, Arc::new(outcome), claim).await.map_or(Ok(()), Err) };
        Carried::new(&self.inner.work, true, writing, |_| Box::pin(std::future::ready(())))
    }

    /// Queues the outcome of a call; owed if there is no room.
    pub(super) fn note_or_owe(&self, outcome: JournalRecord) {
        let shared = &self.inner.shared;
        let outcome = Arc::new(outcome);
        shared.sinks.offer(&outcome);
        let queued = &shared.health.queued;
        queued.fetch_add(1, Ordering::Relaxed);
        match self.inner.queue.try_send(Item::Record(outcome)) {
            Ok(()) => {}
            Err(TrySendError::Full(item) | TrySendError::Closed(item)) => {
                queued.fetch_sub(1, Ordering::Relaxed);
                if let Item::Record(record) = item {
                    self.owe(record, None);
                }
            }
        }
    }

    /// Queues a record that nobody depends on: of a call that changes nothing, or of an event.
    ///
    /// # Errors
    /// If the store fails at the moment: the record is written later, or was given up if there was no room. The caller
    /// goes on and says so.
    pub fn note(&self, record: JournalRecord) -> impl Future<Output = Result<(), StoreError>> + Send + '_ {
        let shared = &self.inner.shared;
        let record = Arc::new(record);
        shared.sinks.offer(&record);
        let accepted = Accepted::count(&shared.health);
        let item = match self.inner.queue.try_send(Item::Record(record)) {
            Ok(()) => return Either::Left(ready(accepted.queued())),
            Err(TrySendError::Closed(_)) => return Either::Left(ready(Err(closed()))),
            Err(TrySendError::Full(item)) => item,
        };
        Either::Right(Box::pin(async move {
            tokio::select! {
                biased;
                room = self.inner.queue.reserve() => match room {
                    Ok(room) => {
                        room.send(item);
                        accepted.queued()
                    }
                    Err(_) => Err(closed()),
                },
                error = shared.health.failing() => Err(error),
            }
        }))
    }

    /// Waits until everything accepted so far is written, at most [`JournalSettings::patience`].
    ///
    /// # Errors
    /// If it is not written by then.
    pub async fn flush(&self) -> Result<(), StoreError> {
        let (done, written) = oneshot::channel();
        let waiting = async {
            self.inner.queue.send(Item::Flush(done)).await.map_err(|_| closed())?;
            written.await.map_err(|_| closed())
        };
        let patience = self.inner.shared.settings.patience;
        tokio::time::timeout(patience, waiting).await.unwrap_or_else(|_| {
            self.health()?;
            let cause = format!("not done within {} ms", patience.as_millis());
            Err(StoreError::Failed { operation: "flush the journal", cause })
        })
    }

    /// Whether the store takes what it is given.
    ///
    /// # Errors
    /// What it said last, while it does not.
    pub fn health(&self) -> Result<(), StoreError> {
        self.inner.shared.health.state()
    }

    /// How the journal is doing.
    pub fn status(&self) -> JournalStatus {
        let shared = &self.inner.shared;
        JournalStatus {
            queued: shared.health.queued.load(Ordering::Relaxed),
            capacity: shared.settings.queue.max(1),
            owed: shared.owed.len(),
            lost: shared.health.lost.load(Ordering::Relaxed),
            error: self.health().err().map(|error| error.to_string()),
            recovered: self.inner.recovered,
            sinks: shared.sinks.reports(),
        }
    }

    /// Shows observers a record of this run that a store appended together with something else, such as a person's answer.
    pub fn tell(&self, record: &JournalRecord) {
        self.inner.shared.sinks.offer(&Arc::new(record.clone()));
    }

    /// Attaches an observer; false when there are 16 already.
    pub fn attach(&self, sink: Arc<dyn EvidenceSink>) -> bool {
        self.inner.shared.sinks.attach(sink)
    }

    /// Runs work that outlives its call, such as waiting for a late result; [`Self::shutdown`] waits for it. False, and
    /// nothing runs, when 4,096 pieces are under way or the journal was shut down.
    pub fn observe_work(&self, work: impl Future<Output = ()> + Send + 'static) -> bool {
        if self.inner.closed.load(Ordering::SeqCst) || self.inner.work.len() >= MAX_WORK {
            return false;
        }
        self.inner.work.spawn(work);
        true
    }

    /// Ends within `limit`: no call begins any more, background work and everything accepted are brought to an end.
    /// Further calls of this do nothing.
    ///
    /// # Errors
    /// If records are left that could not be written.
    pub async fn shutdown(&self, limit: Duration) -> Result<(), Unwritten> {
        let deadline = Instant::now() + limit;
        let inner = &self.inner;
        inner.closed.store(true, Ordering::SeqCst);
        inner.work.close();
        // Half of the time at most, so that what is queued has a chance beside work that does not end.
        if tokio::time::timeout(limit / 2, inner.work.wait()).await.is_err() {
            tracing::warn!(pieces = inner.work.len(), "background work did not end in time");
        }
        inner.stop.cancel();
        let task = inner.task.lock().take();
        if let Some(mut task) = task
            && tokio::time::timeout_at(deadline, &mut task).await.is_err()
        {
            task.abort();
        }
        inner.shared.sinks.close(deadline).await;
        match inner.shared.health.queued.load(Ordering::Relaxed) + inner.shared.owed.len() {
            0 => Ok(()),
            records => Err(Unwritten { records }),
        }
    }

    pub(super) fn late_limit(&self) -> Duration {
        self.inner.shared.settings.late
    }

    pub(super) fn owe(&self, record: Arc<JournalRecord>, claim: Option<ClaimResult>) {
        self.inner.shared.owe(record, claim);
    }
}

/// An intent that is written when nobody waits for it any more: what could not even be handed over need not wait for room
/// among what is owed.
fn unwanted(opening: Result<Opening, StoreError>) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        if let Ok(Opening::Started(unsettled)) = opening {
            unsettled.close().await;
        }
    })
}

/// A record on its way into the queue. Dropped before it is there, it is lost, and counted as such.
struct Accepted<'a>(Option<&'a Health>);

impl<'a> Accepted<'a> {
    /// Counted before it is queued, because it may be written at once.
    fn count(health: &'a Health) -> Self {
        health.queued.fetch_add(1, Ordering::Relaxed);
        Self(Some(health))
    }

    fn queued(mut self) -> Result<(), StoreError> {
        self.0.take().map_or(Ok(()), Health::state)
    }
}

impl Drop for Accepted<'_> {
    fn drop(&mut self) {
        if let Some(health) = self.0 {
            health.queued.fetch_sub(1, Ordering::Relaxed);
            health.lose(1);
        }
    }
}

/// Writes an outcome or keeps it for later; returns what went wrong.
async fn finish(shared: &Shared, outcome: Arc<JournalRecord>, claim: Option<ClaimResult>) -> Option<StoreError> {
    let writing = async { shared.store.finish(outcome.clone(), claim.clone()).await };
    let result = guarded("write an outcome", writing).await;
    shared.health.judge(&result);
    match result {
        Ok(()) => {
            shared.sinks.offer(&outcome);
            None
        }
        Err(error) => {
            let refused = matches!(error, StoreError::Quota(_));
            shared.owe(if refused { Arc::new(outcome.shortened()) } else { outcome }, claim);
            Some(error)
        }
    }
}
