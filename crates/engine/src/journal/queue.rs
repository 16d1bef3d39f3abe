//! The one task that writes what nobody waits for: it takes whatever has gathered and appends it in one step.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, MissedTickBehavior, interval},
};
use tokio_util::sync::CancellationToken;

use super::{
    guarded::guarded,
    health::Health,
    owed::Owed,
    record::{JournalRecord, Kind},
    recover::recover,
    settings::JournalSettings,
    sink::Sinks,
    store::{ClaimResult, JournalStore},
};
use crate::{clock::now_ms, store::StoreError};

const DAY: Duration = Duration::from_hours(24);

/// What goes through the queue.
pub(super) enum Item {
    Record(Arc<JournalRecord>),
    /// Answered when everything before it is written.
    Flush(oneshot::Sender<()>),
}

/// What the writing task and the journal's callers share. Holds no end of the queue, so that dropping the last
/// [`Journal`](super::Journal) ends the task.
pub(super) struct Shared {
    pub(super) store: Arc<dyn JournalStore>,
    pub(super) settings: JournalSettings,
    pub(super) run: String,
    pub(super) health: Health,
    pub(super) owed: Owed,
    pub(super) sinks: Sinks,
}

impl Shared {
    /// Keeps an outcome for later, or counts it as lost.
    pub(super) fn owe(&self, record: Arc<JournalRecord>, claim: Option<ClaimResult>) {
        let (run, call) = (self.run.as_str(), record.call);
        if !self.owed.push((record, claim)) {
            self.health.lose(1);
            tracing::error!(run, call, "the outcome of a call was lost: too many are waiting for the store");
        }
    }

    /// Waits for the store, but does not let a store that hangs pass for one that works.
    async fn patiently<T>(&self, operation: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        let mut operation = std::pin::pin!(guarded("write the journal", operation));
        let result = tokio::select! {
            result = &mut operation => result,
            () = tokio::time::sleep(self.settings.patience) => {
                self.health.bad(StoreError::Failed {
                    operation: "write the journal",
                    cause: format!("no answer within {} ms", self.settings.patience.as_millis()),
                });
                operation.await
            }
        };
        self.health.judge(&result);
        result
    }
}

/// Runs until `stop` and until everything accepted is written.
pub(super) async fn run(shared: Arc<Shared>, mut queue: mpsc::Receiver<Item>, stop: CancellationToken) {
    let mut daily = interval(DAY);
    daily.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let batch = shared.settings.batch.max(1);
    let mut items = Vec::with_capacity(batch);
    let mut next_try = Instant::now();
    loop {
        tokio::select! {
            () = stop.cancelled(), if !queue.is_closed() => queue.close(),
            taken = queue.recv_many(&mut items, batch) => {
                if taken == 0 {
                    break;
                }
                if taken < batch {
                    gather(&shared, &mut queue, &mut items, &stop).await;
                }
                write(&shared, &mut items).await;
            }
            () = shared.owed.due(next_try) => next_try = pay(&shared).await,
            _ = daily.tick(), if shared.settings.keep.is_some() => prune(&shared).await,
        }
    }
    while shared.owed.len() > 0 {
        tokio::time::sleep_until(next_try).await;
        next_try = pay(&shared).await;
    }
}

/// Waits a moment for more: one commit for many records costs a small part of one for each.
async fn gather(shared: &Shared, queue: &mut mpsc::Receiver<Item>, items: &mut Vec<Item>, stop: &CancellationToken) {
    let ending = stop.is_cancelled() || items.iter().any(|item| matches!(item, Item::Flush(_)));
    if !ending {
        // Not woken by every record: they wait in the queue, whose bound slows callers all the same.
        let _ = tokio::time::timeout(shared.settings.linger, stop.cancelled()).await;
    }
    let batch = shared.settings.batch.max(1);
    while items.len() < batch
        && let Ok(item) = queue.try_recv()
    {
        items.push(item);
    }
}

/// Writes a batch, however many attempts it takes.
async fn write(shared: &Shared, items: &mut Vec<Item>) {
    let mut waiting = Vec::new();
    let mut records = Vec::with_capacity(items.len());
    for item in items.drain(..) {
        match item {
            Item::Record(record) => records.push(record),
            Item::Flush(done) => waiting.push(done),
        }
    }
    if !records.is_empty() {
        let accepted = records.len();
        if append(shared, &records).await.is_err() {
            // One of them is not acceptable; the others need not suffer for it.
            let mut refused = (0, String::new());
            for record in records {
                if accepted > 1 && append(shared, std::slice::from_ref(&record)).await.is_ok() {
                    continue;
                }
                if let Err(reason) = append(shared, &[Arc::new(record.shortened())]).await {
                    shared.health.lose(1);
                    refused = (refused.0 + 1, reason);
                }
            }
            let (records, reason) = refused;
            // While the journal is known to fail there is nothing new in it.
            if records > 0 && shared.health.state().is_ok() {
                tracing::warn!(reason, records, "the store refuses journal records");
            }
        }
        shared.health.queued.fetch_sub(accepted, std::sync::atomic::Ordering::Relaxed);
        tell_losses(shared).await;
    }
    if !waiting.is_empty() {
        let mut next_try = pay(shared).await;
        while shared.owed.len() > 0 {
            tokio::time::sleep_until(next_try).await;
            next_try = pay(shared).await;
        }
    }
    for done in waiting {
        // Whoever gave up waiting need not be told.
        let _ = done.send(());
    }
}

/// Appends, however many attempts it takes; the reason when the store will never take these.
async fn append(shared: &Shared, records: &[Arc<JournalRecord>]) -> Result<(), String> {
    loop {
        match shared.patiently(async { shared.store.append(records.to_vec()).await }).await {
            Ok(()) => return Ok(()),
            Err(StoreError::Quota(reason)) => return Err(reason),
            Err(StoreError::Failed { .. }) => tokio::time::sleep(shared.settings.retry_every).await,
        }
    }
}

/// Writes owed outcomes until none is left or one fails; returns when to try again.
async fn pay(shared: &Shared) -> Instant {
    while let Some((record, claim)) = shared.owed.oldest() {
        match shared.patiently(async { shared.store.finish(record.clone(), claim).await }).await {
            Ok(()) => {
                shared.owed.paid();
                shared.sinks.offer(&record);
            }
            Err(StoreError::Quota(reason)) => {
                // It was shortened already, or the store is out of its mind.
                tracing::error!(reason, run = record.run, call = record.call, "the outcome of a call was lost");
                shared.owed.paid();
                shared.health.lose(1);
            }
            Err(StoreError::Failed { .. }) => return Instant::now() + shared.settings.retry_every,
        }
    }
    tell_losses(shared).await;
    Instant::now()
}

/// A gap must show in the journal itself, not only in the log.
async fn tell_losses(shared: &Shared) {
    let lost = shared.health.take_untold();
    if lost == 0 {
        return;
    }
    let mut record = JournalRecord::new(Kind::Gap, now_ms(), shared.run.clone());
    record.detail = Some(format!("{lost} records were lost while the store could not be written"));
    let record = Arc::new(record);
    match shared.patiently(async { shared.store.append(vec![record.clone()]).await }).await {
        Ok(()) => shared.sinks.offer(&record),
        Err(_) => shared.health.untell(lost),
    }
}

async fn prune(shared: &Shared) {
    let Some(keep) = shared.settings.keep else { return };
    let before = now_ms().saturating_sub(u64::try_from(keep.as_millis()).unwrap_or(u64::MAX));
    // An intent stays until it has an outcome, and with it all that follows: one of a process that died beside this one
    // would hold up the rule until the next start.
    match guarded("look for unfinished calls", recover(shared.store.as_ref(), &shared.run)).await {
        Ok(_) => {}
        Err(error) => tracing::warn!(%error, "unfinished calls of dead processes could not be closed"),
    }
    match guarded("drop old journal records", async { shared.store.prune_journal(before).await }).await {
        Ok(0) => {}
        Ok(dropped) => {
            tracing::info!(dropped, before_ms = before, "old journal records were dropped");
            let mut record = JournalRecord::new(Kind::Pruned, now_ms(), shared.run.clone());
            record.detail = Some(format!("{dropped} records from before {before} (Unix ms) were dropped"));
            let record = Arc::new(record);
            match shared.patiently(async { shared.store.append(vec![record.clone()]).await }).await {
                Ok(()) => shared.sinks.offer(&record),
                Err(error) => tracing::warn!(%error, "that old records were dropped could not be recorded"),
            }
        }
        Err(error) => tracing::warn!(%error, "old journal records could not be dropped; tried again tomorrow"),
    }
}
