//! A window that slides over the times of calls.

use std::collections::VecDeque;

use super::{Idle, RetryAfterMs};
use crate::elapsed::{Elapsed, age};

/// At most `limit` calls in any `window_ms` milliseconds, counted exactly (oneringai.md §2.7, case 104).
///
/// Remembers the time of each call in the window: 8 bytes times the limit, once that many were made.
#[derive(Clone, Debug)]
pub struct SlidingWindow {
    limit: u32,
    window_ms: u64,
    clock: Elapsed,
    /// When the calls were made, oldest first.
    taken: VecDeque<u64>,
}

/// A call that was counted, to [give back](SlidingWindow::refund) if it was not made after all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken(u64);

impl SlidingWindow {
    /// The largest limit; larger ones are lowered to it. It bounds the memory of one window to 80 kB; use a
    /// [`TokenBucket`](super::TokenBucket) for more.
    pub const MAX_LIMIT: u32 = 10_000;

    /// A limit of zero lets nothing through. A window of zero is taken as one millisecond.
    pub fn new(limit: u32, window_ms: u64) -> Self {
        Self {
            limit: limit.min(Self::MAX_LIMIT),
            window_ms: window_ms.max(1),
            clock: Elapsed::default(),
            taken: VecDeque::new(),
        }
    }

    /// Calls allowed per window.
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// Length of the window in milliseconds.
    pub fn window_ms(&self) -> u64 {
        self.window_ms
    }

    /// Counts a call, or tells after how long there is room for one. A refused call is not counted.
    ///
    /// A limit of zero always answers with the length of the window.
    pub fn try_take(&mut self, now_ms: u64) -> Result<Taken, RetryAfterMs> {
        let at = self.clock.advance(now_ms);
        while self.taken.front().is_some_and(|&then| age(at, then) >= self.window_ms) {
            self.taken.pop_front();
        }
        if self.taken.len() < self.limit as usize {
            self.taken.push_back(at);
            return Ok(Taken(at));
        }
        let oldest = self.taken.front().map_or(0, |&then| age(at, then));
        Err(RetryAfterMs(self.window_ms - oldest))
    }

    /// Takes a call back that was not made. Without effect if it has left the window.
    pub fn refund(&mut self, taken: Taken) {
        if let Some(position) = self.taken.iter().rposition(|&then| then == taken.0) {
            self.taken.remove(position);
        }
    }

    /// Calls there is room for at `now_ms`.
    pub fn remaining(&self, now_ms: u64) -> u32 {
        self.limit.saturating_sub(u32::try_from(self.recent(now_ms)).unwrap_or(u32::MAX))
    }

    fn recent(&self, now_ms: u64) -> usize {
        let at = self.clock.at(now_ms);
        self.taken.iter().rev().take_while(|&&then| age(at, then) < self.window_ms).count()
    }
}

/// Nothing in the window: as good as a new one.
impl Idle for SlidingWindow {
    fn is_idle(&self, now_ms: u64) -> bool {
        self.taken.back().is_none_or(|&then| age(self.clock.at(now_ms), then) >= self.window_ms)
    }
}
