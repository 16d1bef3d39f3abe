//! The best few of many scores, without sorting them all.

use std::{cmp::Ordering, collections::BinaryHeap};

/// A document and its score. Greater means worse, so that a max-heap keeps the worst on top.
struct Entry {
    score: f64,
    document: u32,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then(self.document.cmp(&other.document))
    }
}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Entry {}

/// Collects the `limit` highest scores; of equal scores, the lower document numbers.
pub(super) struct TopK {
    heap: BinaryHeap<Entry>,
    limit: usize,
}

impl TopK {
    /// `expected` bounds what is reserved ahead when the limit is huge.
    pub(super) fn new(limit: usize, expected: usize) -> Self {
        Self { heap: BinaryHeap::with_capacity(limit.min(expected)), limit }
    }

    /// The score below which nothing is taken any more.
    pub(super) fn floor(&self) -> f64 {
        if self.heap.len() < self.limit {
            f64::NEG_INFINITY
        } else {
            self.heap.peek().map_or(f64::INFINITY, |e| e.score)
        }
    }

    pub(super) fn push(&mut self, document: u32, score: f64) {
        let entry = Entry { score, document };
        if self.heap.len() < self.limit {
            self.heap.push(entry);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && entry < *worst
        {
            *worst = entry;
        }
    }

    /// Best first.
    pub(super) fn into_sorted(self) -> Vec<(u32, f64)> {
        self.heap.into_sorted_vec().into_iter().map(|entry| (entry.document, entry.score)).collect()
    }
}
