//! A bucket of calls that fills up again evenly.

use super::{Idle, RetryAfterMs};
use crate::elapsed::{Elapsed, age};

/// Up to `capacity` calls at once, and `refill` more every `per_ms` milliseconds, evenly spread.
///
/// A fixed few bytes whatever the rate. In whole numbers, so nothing drifts: the level is in units of one `per_ms`-th of
/// a token.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    full: u64,
    refill: u64,
    per_ms: u64,
    clock: Elapsed,
    level: u64,
    filled_at: u64,
}

impl TokenBucket {
    /// A full bucket. Zeros are taken as one; `per_ms` is at most `u32::MAX` (49 days).
    pub fn new(capacity: u32, refill: u32, per_ms: u64) -> Self {
        let per_ms = per_ms.clamp(1, u64::from(u32::MAX));
        let full = u64::from(capacity.max(1)) * per_ms;
        Self { full, refill: u64::from(refill.max(1)), per_ms, clock: Elapsed::default(), level: full, filled_at: 0 }
    }

    /// Takes a token, or tells after how long there is one.
    pub fn try_take(&mut self, now_ms: u64) -> Result<(), RetryAfterMs> {
        self.level = self.level_at(now_ms);
        self.filled_at = self.clock.advance(now_ms);
        match self.level.checked_sub(self.per_ms) {
            Some(rest) => {
                self.level = rest;
                Ok(())
            }
            None => Err(RetryAfterMs((self.per_ms - self.level).div_ceil(self.refill))),
        }
    }

    /// Puts a token back that was not used.
    pub fn refund(&mut self) {
        self.level = self.level.saturating_add(self.per_ms).min(self.full);
    }

    /// Whole tokens at `now_ms`.
    pub fn remaining(&self, now_ms: u64) -> u32 {
        u32::try_from(self.level_at(now_ms) / self.per_ms).unwrap_or(u32::MAX)
    }

    fn level_at(&self, now_ms: u64) -> u64 {
        let gained = age(self.clock.at(now_ms), self.filled_at).saturating_mul(self.refill);
        self.level.saturating_add(gained).min(self.full)
    }
}

/// Full: as good as a new one.
impl Idle for TokenBucket {
    fn is_idle(&self, now_ms: u64) -> bool {
        self.level_at(now_ms) == self.full
    }
}
