//! Limits of work that outlives its call.

use std::time::Duration;

/// How long, how many, how large.
#[derive(Clone, Debug)]
pub struct PendingSettings {
    /// How long a background call may run, unless it has a limit of its own; zero is no limit. Default 300 s. Time spent
    /// waiting for a person does not count, and no call of an engine gets more than its `max_timeout`. Whatever is set,
    /// work is ended when its record expires (see [`PendingSettings::suspension_ttl`]).
    pub timeout: Duration,
    /// How long finished results wait for others that still run, to be delivered together. Default 500 ms.
    pub batch_window: Duration,
    /// Most unfinished pieces of one tenant and user. Default 100.
    pub most: usize,
    /// Most background calls of one process. Default 1,000.
    pub most_running: usize,
    /// How long a suspended call can be resumed, unless it says otherwise, and the longest it may say; also how long
    /// background work without a time limit may run. Default 7 days.
    pub suspension_ttl: Duration,
    /// How long a result that nobody took is kept. Default 24 h.
    pub result_ttl: Duration,
    /// Largest result that is kept, in bytes of JSON. Default 4 MiB; a larger one becomes an error that says so.
    pub result_bytes: usize,
}

impl Default for PendingSettings {
    fn default() -> Self {
        Self {
            timeout: Duration::from_mins(5),
            batch_window: Duration::from_millis(500),
            most: 100,
            most_running: 1_000,
            suspension_ttl: Duration::from_hours(7 * 24),
            result_ttl: Duration::from_hours(24),
            result_bytes: 4 * 1024 * 1024,
        }
    }
}

/// A duration in whole milliseconds.
pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
