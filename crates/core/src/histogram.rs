//! Latencies in a fixed space: counts per range, the ranges being an eighth of a power of two wide.
//!
//! Owns the ranges and what is derived from them. Holds no lock and no clock.

#[cfg(test)]
mod tests;

use std::fmt;

/// log2 of the ranges per power of two.
const SUB_BITS: u32 = 3;
const SUBS: u64 = 1 << SUB_BITS;
/// Durations of 2^32 µs (71.6 minutes) and more share the last range.
const TOP_BITS: u32 = 32;
const RANGES: usize = (((TOP_BITS - SUB_BITS) as usize) + 1) << SUB_BITS;
const BEYOND: usize = RANGES;

const _: () = assert!(size_of::<Histogram>() <= 1_536);

/// A histogram of durations in microseconds, about 1 kB each.
///
/// A duration it gives back differs by at most 6.25 % (a 16th) from one that was recorded, up to 71.6 minutes. Longer
/// ones are all reported as the longest. A range stops counting at 2^32 - 1; count, sum and maximum go on.
#[derive(Clone)]
pub struct Histogram {
    ranges: [u32; RANGES + 1],
    count: u64,
    sum: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.count)
            .field("sum", &self.sum)
            .field("max", &self.max)
            .finish_non_exhaustive()
    }
}

impl Histogram {
    /// Without any duration.
    pub const fn new() -> Self {
        Self { ranges: [0; RANGES + 1], count: 0, sum: 0, max: 0 }
    }

    /// Adds a duration in microseconds.
    pub fn record(&mut self, us: u64) {
        let range = &mut self.ranges[range_of(us)];
        *range = range.saturating_add(1);
        self.count = self.count.saturating_add(1);
        self.sum = self.sum.saturating_add(us);
        self.max = self.max.max(us);
    }

    /// Adds all durations of another histogram.
    pub fn merge(&mut self, other: &Self) {
        for (range, more) in self.ranges.iter_mut().zip(other.ranges) {
            *range = range.saturating_add(more);
        }
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
        self.max = self.max.max(other.max);
    }

    /// Number of durations; exact.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Microseconds altogether; exact until it stops at `u64::MAX`.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// The longest duration in microseconds, zero if there is none; exact.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The duration in microseconds that a share `q` of all durations does not exceed (nearest rank), within 6.25 %.
    /// `q` is clamped to 0..=1; 1 and not-a-number give the exact maximum. `None` if nothing was recorded.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        if q.is_nan() || q >= 1.0 {
            return Some(self.max);
        }
        // Of what the ranges hold, which is less than the count once a range has stopped counting.
        let held: u64 = self.ranges.iter().map(|&count| u64::from(count)).sum();
        let rank = ((q.max(0.0) * held as f64).ceil() as u64).clamp(1, held);
        let mut seen = 0;
        for (index, &count) in self.ranges[..BEYOND].iter().enumerate() {
            seen += u64::from(count);
            if seen >= rank {
                return Some(middle_of(index).min(self.max));
            }
        }
        Some(self.max)
    }

    /// For each bound in microseconds, how many durations do not exceed it, as Prometheus wants it in `le` buckets.
    ///
    /// A range is counted as a whole, by its middle: a duration within 6.25 % of a bound may be on either side of it.
    /// `u64::MAX` stands for no bound and has the exact [count](Self::count); below it, durations of 71.6 minutes and
    /// more are in no bucket. Bounds may be in any order. The count of a bound never falls from one scrape to the next,
    /// nor from one bound to a larger one.
    pub fn cumulative(&self, bounds_us: &[u64]) -> Vec<u64> {
        bounds_us.iter().map(|&bound| self.up_to(bound)).collect()
    }

    fn up_to(&self, bound_us: u64) -> u64 {
        if bound_us == u64::MAX {
            return self.count;
        }
        let within = (0..BEYOND).take_while(|&index| middle_of(index) <= bound_us);
        within.map(|index| u64::from(self.ranges[index])).sum()
    }
}

fn range_of(us: u64) -> usize {
    if us < SUBS {
        return us as usize;
    }
    let top = u64::BITS - 1 - us.leading_zeros();
    if top >= TOP_BITS {
        return BEYOND;
    }
    let sub = (us >> (top - SUB_BITS)) & (SUBS - 1);
    (((top - SUB_BITS + 1) as usize) << SUB_BITS) + sub as usize
}

/// The middle of a range below [`BEYOND`].
fn middle_of(index: usize) -> u64 {
    let (row, sub) = (index as u64 >> SUB_BITS, index as u64 & (SUBS - 1));
    if row == 0 {
        return sub;
    }
    let shift = row - 1;
    let (lowest, width) = ((SUBS + sub) << shift, 1_u64 << shift);
    lowest + (width - 1) / 2
}
