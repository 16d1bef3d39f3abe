//! Time that passed, told by a clock that can be set back.
//!
//! Callers pass the wall clock (`now_ms`). Two callers may read it in one order and arrive in the other, and an operator
//! may set it back by hours. Waiting until the clock catches up again would keep a circuit open, or a limit used up,
//! for those hours; so limits count the milliseconds that passed, not the wall clock.

/// Steps back up to this many milliseconds are taken for calls that overtook each other: no time passes until the clock
/// is past its highest reading again. Larger ones are a clock that was set back: counting goes on from the new reading.
const OVERTAKING_MS: u64 = 2_000;

/// Counts milliseconds that passed since the first reading.
///
/// Arithmetic wraps, so no reading can panic or get it stuck; compare readings by [`age`] only.
#[derive(Clone, Debug, Default)]
pub(crate) struct Elapsed {
    seen: Option<u64>,
    passed: u64,
}

impl Elapsed {
    /// What [`Self::advance`] would give, without remembering the reading.
    pub(crate) fn at(&self, now_ms: u64) -> u64 {
        self.passed.wrapping_add(now_ms.saturating_sub(self.seen.unwrap_or(now_ms)))
    }

    /// Takes a reading and gives the milliseconds passed since the first one.
    pub(crate) fn advance(&mut self, now_ms: u64) -> u64 {
        self.passed = self.at(now_ms);
        self.seen = match self.seen {
            Some(seen) if now_ms < seen && seen - now_ms <= OVERTAKING_MS => Some(seen),
            _ => Some(now_ms),
        };
        self.passed
    }
}

/// Milliseconds between two results of [`Elapsed`], `then` being the earlier one.
pub(crate) fn age(at: u64, then: u64) -> u64 {
    at.wrapping_sub(then)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_steps_forward_count() {
        #[track_caller]
        fn check(readings: &[u64], want: u64) {
            let mut clock = Elapsed::default();
            let got = readings.iter().map(|&now| clock.advance(now)).last();
            assert_eq!(got, Some(want), "{readings:?}");
        }
        check(&[1_000], 0);
        check(&[1_000, 1_000, 1_250], 250);
        // Overtaken calls do not make time run twice.
        check(&[1_000, 999, 1_000, 999, 1_000], 0);
        check(&[5_000, 3_000, 5_001], 1);
        // A clock set back by an hour neither stops nor turns time.
        check(&[4_000_000, 400_000, 400_700], 700);
        check(&[4_000_000, 400_000, 4_000_000], 3_600_000);
        check(&[0, u64::MAX, 0, u64::MAX, 0, 2], u64::MAX.wrapping_mul(2).wrapping_add(2));
    }

    #[test]
    fn looking_is_not_reading() {
        let mut clock = Elapsed::default();
        assert_eq!(clock.at(77), 0);
        clock.advance(10);
        assert_eq!((clock.at(25), clock.at(25), clock.at(3)), (15, 15, 0));
        assert_eq!(age(clock.advance(30), clock.at(10)), 0);
    }
}
