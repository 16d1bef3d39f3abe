//! The thread that owns the writing connection: takes queued writes and commits them in groups.
//!
//! A group is one IMMEDIATE transaction, each write in a savepoint of its own, so that one that fails takes nothing
//! with it. Nobody is answered before the commit. If the commit fails (disk full, for instance) every write of the
//! group gets a second chance alone: a small one may still fit where a big one did not.

use std::{
    thread::{self, JoinHandle},
    time::Duration,
};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};
use toolcrib_engine::StoreError;

use super::{
    SqliteSettings,
    failure::{Identity, Refusal, Suspect, is_busy},
};

/// The way to the writing thread. Dropping it ends the thread after the queued writes.
pub(crate) struct Writer {
    queue: Option<mpsc::Sender<Box<dyn Write>>>,
    thread: Option<JoinHandle<()>>,
    patience: Duration,
}

/// One queued write. May be run more than once; only the last run counts.
trait Write: Send {
    fn run(&mut self, connection: &Connection) -> Result<(), ()>;
    /// Answers: with the last run's outcome, or with `failure` if what it did was not committed.
    fn answer(self: Box<Self>, failure: Option<&rusqlite::Error>, suspect: &Suspect);
}

struct Job<T, F> {
    operation: &'static str,
    work: F,
    outcome: Option<Result<T, Refusal>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Write for Job<T, F>
where
    T: Send,
    F: FnMut(&Connection) -> Result<T, Refusal> + Send,
{
    fn run(&mut self, connection: &Connection) -> Result<(), ()> {
        let outcome = (self.work)(connection);
        let done = outcome.is_ok();
        self.outcome = Some(outcome);
        if done { Ok(()) } else { Err(()) }
    }

    fn answer(self: Box<Self>, failure: Option<&rusqlite::Error>, suspect: &Suspect) {
        let Self { operation, outcome, reply, .. } = *self;
        let answer = match (failure, outcome) {
            // A refusal of its own says more than the end of the transaction it was in.
            (_, Some(Err(refusal))) => Err(refusal.explain(operation, suspect)),
            (None, Some(Ok(value))) => Ok(value),
            (Some(error), _) => Err(Refusal::Sql(copy(error)).explain(operation, suspect)),
            (None, None) => Err(stopped(operation)),
        };
        // The caller may have gone; the write stands all the same.
        let _ = reply.send(answer);
    }
}

impl Writer {
    pub(crate) fn start(
        connection: Connection,
        settings: &SqliteSettings,
        identity: Identity,
        suspect: Suspect,
    ) -> Result<Self, StoreError> {
        let (queue, jobs) = mpsc::channel(settings.queue.max(1));
        let batch = settings.batch.max(1);
        let thread = thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || write_until_closed(connection, jobs, batch, &identity, &suspect))
            .map_err(|error| StoreError::Failed { operation: "open", cause: format!("no thread: {error}") })?;
        Ok(Self { queue: Some(queue), thread: Some(thread), patience: settings.busy_timeout * 2 })
    }

    /// Queues a write and waits until it is committed. If the future is dropped after queueing, the write still runs.
    pub(crate) async fn submit<T: Send + 'static>(
        &self,
        operation: &'static str,
        work: impl FnMut(&Connection) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, StoreError> {
        let queue = self.queue.as_ref().ok_or_else(|| stopped(operation))?;
        // Waiting for a place is the back-pressure; it has an end so that a stuck disk cannot pile callers up.
        let place = match tokio::time::timeout(self.patience, queue.reserve()).await {
            Ok(Ok(place)) => place,
            Ok(Err(_)) => return Err(stopped(operation)),
            Err(_) => {
                return Err(StoreError::Failed {
                    operation,
                    cause: "too many writes are waiting; try again".to_owned(),
                });
            }
        };
        let (reply, answer) = oneshot::channel();
        place.send(Box::new(Job { operation, work, outcome: None, reply }));
        answer.await.unwrap_or_else(|_| Err(stopped(operation)))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the store's writer ended by a panic");
        }
    }
}

fn stopped(operation: &'static str) -> StoreError {
    StoreError::Failed { operation, cause: "the store's writer has stopped; restart toolcrib".to_owned() }
}

fn write_until_closed(
    mut connection: Connection,
    mut jobs: mpsc::Receiver<Box<dyn Write>>,
    batch: usize,
    identity: &Identity,
    suspect: &Suspect,
) {
    while let Some(first) = jobs.blocking_recv() {
        let mut group = vec![first];
        while group.len() < batch
            && let Ok(next) = jobs.try_recv()
        {
            group.push(next);
        }
        match identity.check() {
            Ok(()) => commit_group(&mut connection, group, suspect),
            Err(moved) => answer_all(group, Some(&moved), suspect),
        }
    }
}

fn commit_group(connection: &mut Connection, mut group: Vec<Box<dyn Write>>, suspect: &Suspect) {
    match run_group(connection, &mut group) {
        Ok(()) => answer_all(group, None, suspect),
        // Waiting for the lock again, once for each, would only multiply the wait.
        Err(error) if group.len() == 1 || is_busy(&error) => {
            answer_all(group, Some(&error), suspect);
        }
        Err(_) => {
            for write in group {
                let mut alone = vec![write];
                let failure = run_group(connection, &mut alone).err();
                answer_all(alone, failure.as_ref(), suspect);
            }
        }
    }
}

fn answer_all(group: Vec<Box<dyn Write>>, failure: Option<&rusqlite::Error>, suspect: &Suspect) {
    for write in group {
        write.answer(failure, suspect);
    }
}

fn run_group(connection: &mut Connection, group: &mut [Box<dyn Write>]) -> Result<(), rusqlite::Error> {
    let mut transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    match group {
        // Nothing else to save: what one write leaves when it fails goes back with all of it.
        [alone] => {
            if alone.run(&transaction).is_err() {
                return transaction.rollback();
            }
        }
        group => {
            for write in group {
                run_in_savepoint(&mut transaction, write.as_mut())?;
            }
        }
    }
    transaction.commit()
}

fn run_in_savepoint(transaction: &mut Transaction<'_>, write: &mut dyn Write) -> Result<(), rusqlite::Error> {
    let mut savepoint = transaction.savepoint()?;
    if write.run(&savepoint).is_err() {
        // Some failures (a full disk, an I/O error) make SQLite roll the whole transaction back; going back to the
        // savepoint then fails, which ends the group.
        savepoint.rollback()?;
    }
    savepoint.commit()
}

fn copy(error: &rusqlite::Error) -> rusqlite::Error {
    match error {
        rusqlite::Error::SqliteFailure(code, text) => rusqlite::Error::SqliteFailure(*code, text.clone()),
        other => rusqlite::Error::SqliteFailure(
            rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_ERROR),
            Some(other.to_string()),
        ),
    }
}
