//! Observers that users attach to the journal (oneringai §2.13; what is not public there is our own).

use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use futures_util::FutureExt;
use parking_lot::Mutex;
use serde::Serialize;
use tokio::{sync::mpsc, task::JoinHandle, time::Instant};

use super::record::JournalRecord;
use crate::backend::BoxFuture;

/// Records that may wait for one sink.
const QUEUE: usize = 1_024;
/// How long a sink may take over one record.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most sinks of one journal.
const MAX_SINKS: usize = 16;

/// What became of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The sink has it.
    Kept,
    /// It does not, and why; no secrets.
    Failed(String),
}

/// Receives every record of this process, in order, beside the journal's own store.
///
/// Outcomes are told apart as [`Outcome`](crate::Outcome) does, not merely as success and failure; a record without
/// `output` had no result, which is something else than an empty one; results that arrived too late come as
/// [`Kind::Late`](super::Kind::Late).
///
/// A sink never stops a call: failures, panics and records that take longer than 10 s are counted and logged. Up to
/// 1,024 records wait for a slow sink; further ones are not given to it, and counted. Intents and outcomes of calls that
/// may change something arrive after they are durable, others when they are queued for writing.
pub trait EvidenceSink: Send + Sync + 'static {
    /// Its name, for reports.
    fn name(&self) -> &str;
    /// Takes one record.
    fn record<'a>(&'a self, record: &'a JournalRecord) -> BoxFuture<'a, Delivery>;
}

/// How a sink is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SinkReport {
    /// Its name.
    pub name: String,
    /// Records it has.
    pub kept: u64,
    /// Records it failed to take.
    pub failed: u64,
    /// Records it was not given because it was too slow.
    pub dropped: u64,
}

#[derive(Default)]
struct Counts {
    kept: AtomicU64,
    failed: AtomicU64,
    dropped: AtomicU64,
}

struct Feed {
    name: String,
    queue: mpsc::Sender<Arc<JournalRecord>>,
    counts: Arc<Counts>,
    task: Mutex<Option<JoinHandle<()>>>,
}

/// The attached sinks. Costs nothing while there are none.
#[derive(Default)]
pub(super) struct Sinks {
    feeds: ArcSwap<Vec<Arc<Feed>>>,
}

impl Sinks {
    /// False when there are too many already.
    pub(super) fn attach(&self, sink: Arc<dyn EvidenceSink>) -> bool {
        if self.feeds.load().len() >= MAX_SINKS {
            return false;
        }
        let (queue, records) = mpsc::channel(QUEUE);
        let counts = Arc::new(Counts::default());
        let feed = Arc::new(Feed {
            name: sink.name().to_owned(),
            queue,
            counts: counts.clone(),
            task: Mutex::new(Some(tokio::spawn(deliver(sink, records, counts)))),
        });
        self.feeds.rcu(|feeds| feeds.iter().cloned().chain([feed.clone()]).collect::<Vec<_>>());
        true
    }

    pub(super) fn offer(&self, record: &Arc<JournalRecord>) {
        let feeds = self.feeds.load();
        if feeds.is_empty() {
            return;
        }
        for feed in feeds.iter() {
            if feed.queue.try_send(record.clone()).is_err() && feed.counts.dropped.fetch_add(1, Ordering::Relaxed) == 0
            {
                tracing::warn!(sink = feed.name, "an evidence sink is too slow: records are not given to it");
            }
        }
    }

    pub(super) fn reports(&self) -> Vec<SinkReport> {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        self.feeds
            .load()
            .iter()
            .map(|feed| SinkReport {
                name: feed.name.clone(),
                kept: read(&feed.counts.kept),
                failed: read(&feed.counts.failed),
                dropped: read(&feed.counts.dropped),
            })
            .collect()
    }

    /// Lets every sink take what waits for it, until `deadline`. Nothing is given to any after this.
    pub(super) async fn close(&self, deadline: Instant) {
        let feeds = self.feeds.swap(Arc::default());
        let tasks: Vec<_> = feeds.iter().filter_map(|feed| feed.task.lock().take()).collect();
        // With the last holder of a feed goes the sender, which ends its task once the queue is empty.
        drop(feeds);
        for mut task in tasks {
            if tokio::time::timeout_at(deadline, &mut task).await.is_err() {
                task.abort();
            }
        }
    }
}

async fn deliver(sink: Arc<dyn EvidenceSink>, mut records: mpsc::Receiver<Arc<JournalRecord>>, counts: Arc<Counts>) {
    while let Some(record) = records.recv().await {
        let taking = AssertUnwindSafe(async { sink.record(&record).await }).catch_unwind();
        let failure = match tokio::time::timeout(PATIENCE, taking).await {
            Ok(Ok(Delivery::Kept)) => {
                counts.kept.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            Ok(Ok(Delivery::Failed(reason))) => reason,
            Ok(Err(_)) => "it panicked".to_owned(),
            Err(_) => format!("it took longer than {} s", PATIENCE.as_secs()),
        };
        counts.failed.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(sink = sink.name(), run = record.run, call = record.call, failure, "an evidence sink failed");
    }
}
