//! Waiting between attempts: exponential, capped, with jitter.

use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

/// Doubles from `min` to `max`; each wait is drawn from the upper half, so that servers that fell together do not
/// come back together.
#[derive(Debug)]
pub(super) struct Backoff {
    min: Duration,
    max: Duration,
    next: Duration,
    // Random without a generator: the keys of the hasher are.
    seed: RandomState,
    draws: u64,
}

impl Backoff {
    pub(super) fn new(min: Duration, max: Duration) -> Self {
        Self { min, max, next: min, seed: RandomState::new(), draws: 0 }
    }

    /// The wait before the next attempt.
    pub(super) fn wait(&mut self) -> Duration {
        let whole = self.next.min(self.max);
        self.next = (whole * 2).min(self.max);
        self.draws += 1;
        let share = (self.seed.hash_one(self.draws) % 1000) as u32;
        whole / 2 + whole / 2000 * share
    }

    /// Starts over after something worked.
    pub(super) fn reset(&mut self) {
        self.next = self.min;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_cap_with_jitter_and_start_over() {
        let (min, max) = (Duration::from_millis(200), Duration::from_secs(30));
        let mut backoff = Backoff::new(min, max);
        let mut whole = min;
        for _ in 0..12 {
            let wait = backoff.wait();
            assert!(wait >= whole / 2 && wait <= whole, "{wait:?} of {whole:?}");
            whole = (whole * 2).min(max);
        }
        backoff.reset();
        assert!(backoff.wait() <= min);
    }
}
