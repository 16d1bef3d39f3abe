//! Limits on how often: an exact sliding window, a token bucket, and a bounded table to keep one of them per key.
//!
//! Owns the arithmetic only. The caller holds the lock and passes the time; a clock that goes back neither panics nor
//! makes anybody wait until it has caught up.

mod bucket;
mod keyed;
#[cfg(test)]
mod tests;
mod window;

pub use bucket::TokenBucket;
pub use keyed::{Idle, Keyed};
pub use window::{SlidingWindow, Taken};

/// A limit is used up; try again after this many milliseconds (at least one).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("rate limit reached; retry in {0} ms")]
pub struct RetryAfterMs(pub u64);
