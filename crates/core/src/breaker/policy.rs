//! The thresholds and times of a circuit.

use serde::{Deserialize, Serialize};

/// When a circuit opens and how it closes again (oneringai.md §2.3 with the tool manager's values).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BreakerPolicy {
    /// Faults within the window that open the circuit. Default 3.
    pub failures: u32,
    /// Milliseconds for which a fault is remembered. Default 300 000.
    pub window_ms: u64,
    /// Milliseconds for which an open circuit refuses before it lets a probe through. Default 60 000.
    pub open_ms: u64,
    /// Probes in a row that must succeed to close the circuit. Default 2.
    pub successes: u32,
}

impl Default for BreakerPolicy {
    fn default() -> Self {
        Self { failures: 3, window_ms: 300_000, open_ms: 60_000, successes: 2 }
    }
}

impl BreakerPolicy {
    /// The most that `failures` and `successes` may be; it bounds what a breaker remembers.
    pub const MAX_COUNT: u32 = 1_000;

    /// The policy a breaker works with: zero means the default of that field, counts are at most [`Self::MAX_COUNT`].
    #[must_use]
    pub fn normalised(self) -> Self {
        let default = Self::default();
        let count = |value: u32, default: u32| if value == 0 { default } else { value.min(Self::MAX_COUNT) };
        let span = |value: u64, default: u64| if value == 0 { default } else { value };
        Self {
            failures: count(self.failures, default.failures),
            window_ms: span(self.window_ms, default.window_ms),
            open_ms: span(self.open_ms, default.open_ms),
            successes: count(self.successes, default.successes),
        }
    }

    /// How many faults are remembered at most: twice the threshold, and no fewer than 20.
    pub(super) fn remembered(&self) -> usize {
        (self.failures as usize).saturating_mul(2).max(20)
    }
}
