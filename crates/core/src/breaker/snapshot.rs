//! A circuit's state and counters at one moment.

use serde::Serialize;

use super::BreakerState;

/// Counters since the breaker was made or reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BreakerTotals {
    /// Calls let through, probes included.
    pub admitted: u64,
    /// Calls settled as success.
    pub succeeded: u64,
    /// Calls settled as fault, those of an earlier generation included.
    pub failed: u64,
    /// Calls settled without a verdict.
    pub neutral: u64,
    /// Calls refused.
    pub rejected: u64,
}

/// What a status page shows of a breaker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BreakerSnapshot {
    /// State at the time of asking; an open circuit whose wait is over shows as half-open.
    pub state: BreakerState,
    /// Counters since the last reset.
    pub totals: BreakerTotals,
    /// Faults that are still within the window.
    pub recent_failures: usize,
    /// Probes in a row that succeeded; zero unless half-open.
    pub streak: u32,
    /// When the circuit opened last, in Unix milliseconds; absent while closed.
    pub opened_at_ms: Option<u64>,
    /// When to try again, in Unix milliseconds; absent if a call would be let through now.
    pub retry_at_ms: Option<u64>,
    /// Text of the last fault.
    pub last_error: Option<String>,
    /// When the last fault was settled, in Unix milliseconds.
    pub last_failure_at_ms: Option<u64>,
    /// When the last success was settled, in Unix milliseconds.
    pub last_success_at_ms: Option<u64>,
}
