//! How many numbers an encoder's vectors have. A model that was exchanged behind the same name has others than what is kept.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// How long what a query said is believed no second time: with an encoder whose queries and documents never agree, tools
/// are not to be read over and over.
const PAUSE: Duration = Duration::from_hours(1);

/// What is known of it. Kept vectors of other widths are of no use.
#[derive(Default)]
pub(super) struct Width(Mutex<Known>);

#[derive(Default)]
struct Known {
    now: Option<usize>,
    by_query: Option<Instant>,
}

impl Width {
    /// `None` until the encoder answered.
    pub(super) fn now(&self) -> Option<usize> {
        self.0.lock().now
    }

    /// Documents came with so many numbers.
    pub(super) fn of_documents(&self, width: usize) {
        self.0.lock().now = Some(width);
    }

    /// A query came with so many numbers, and tools have others.
    pub(super) fn of_query(&self, width: usize) {
        let mut known = self.0.lock();
        if known.now != Some(width) && known.by_query.is_none_or(|before| before.elapsed() >= PAUSE) {
            *known = Known { now: Some(width), by_query: Some(Instant::now()) };
        }
    }
}
