//! Limits and times of the journal.

use std::time::Duration;

/// How a journal writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalSettings {
    /// Records that may wait to be written; more make callers wait. Default 4,096.
    pub queue: usize,
    /// How long queued records wait for others to be written with them. What was promised durable does not wait. Default
    /// 20 ms.
    pub linger: Duration,
    /// Most records written in one step. Default 256.
    pub batch: usize,
    /// Outcomes of calls that ran and that the store did not take, kept until it does. Default 1,024.
    pub owed: usize,
    /// Time between two attempts on a store that fails. Default 250 ms.
    pub retry_every: Duration,
    /// How long the store may take to write before the journal counts as failing, and how long
    /// [`flush`](super::Journal::flush) waits. Default 5 s.
    pub patience: Duration,
    /// How long records are kept; `None` = for ever. Default 90 days. The rule runs when the journal is opened and once
    /// a day.
    pub keep: Option<Duration>,
    /// How long an idempotency key is remembered ([`Journal::claim`](super::Journal::claim)). Default 24 h.
    pub claim_ttl: Duration,
    /// How long a result is waited for whose caller was told that there is none
    /// ([`Journal::await_late`](super::Journal::await_late)). Default 10 min.
    pub late: Duration,
}

impl Default for JournalSettings {
    fn default() -> Self {
        Self {
            queue: 4_096,
            linger: Duration::from_millis(20),
            batch: 256,
            owed: 1_024,
            retry_every: Duration::from_millis(250),
            patience: Duration::from_secs(5),
            keep: Some(Duration::from_hours(90 * 24)),
            claim_ttl: Duration::from_hours(24),
            late: Duration::from_mins(10),
        }
    }
}
