//! Waiting between attempts: exponential, capped, with jitter. Owns the arithmetic only; the caller brings the chance.

use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

/// Doubles from `min` to `max`; each wait is drawn from the upper half, so that servers that fell together do not
/// come back together.
#[derive(Debug)]
pub struct Backoff<S = RandomState> {
    min: Duration,
    max: Duration,
    next: Duration,
    // Random without a generator: the keys of the usual hasher are.
    chance: S,
    draws: u64,
}

impl<S: BuildHasher> Backoff<S> {
    /// Waits from `min` to `max`, with the jitter that `chance` gives: `RandomState::new()`, or in tests something fixed.
    pub fn new(min: Duration, max: Duration, chance: S) -> Self {
        Self { min, max, next: min, chance, draws: 0 }
    }

    /// The wait before the next attempt.
    pub fn wait(&mut self) -> Duration {
        let whole = self.next.min(self.max);
        self.next = (whole * 2).min(self.max);
        self.draws += 1;
        let share = (self.chance.hash_one(self.draws) % 1000) as u32;
        whole / 2 + whole / 2000 * share
    }

    /// Starts over after something worked.
    pub fn reset(&mut self) {
        self.next = self.min;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_cap_with_jitter_and_start_over() {
        let (min, max) = (Duration::from_millis(200), Duration::from_secs(30));
        let mut backoff = Backoff::new(min, max, RandomState::new());
        let mut whole = min;
        for _ in 0..12 {
            let wait = backoff.wait();
            assert!(wait >= whole / 2 && wait <= whole, "{wait:?} of {whole:?}");
            whole = (whole * 2).min(max);
        }
        backoff.reset();
        assert!(backoff.wait() <= min);
    }

    #[test]
    fn what_fell_together_does_not_come_back_together() {
        let waits: std::collections::BTreeSet<Duration> = (0..50)
            .map(|_| Backoff::new(Duration::from_secs(10), Duration::from_secs(10), RandomState::new()).wait())
            .collect();
        assert!(waits.len() > 10, "{waits:?}");
    }
}
