//! Room for calls of the API: how many run at once, and how many wait for their turn.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The room.
pub(super) struct Places {
    // Running and waiting ones together.
    line: Arc<Semaphore>,
    running: Arc<Semaphore>,
}

impl Places {
    pub(super) fn new(running: usize, waiting: usize) -> Self {
        let running = running.clamp(1, 1 << 20);
        let line = running + waiting.min(1 << 20);
        Self { line: Arc::new(Semaphore::new(line)), running: Arc::new(Semaphore::new(running)) }
    }

    /// Places in the line for this many calls, or none when there is no room for all of them.
    pub(super) fn enter(&self, calls: usize) -> Option<OwnedSemaphorePermit> {
        self.line.clone().try_acquire_many_owned(u32::try_from(calls).ok()?).ok()
    }

    /// Waits for a turn, first come first served. The semaphore is never closed.
    pub(super) async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        self.running.clone().acquire_owned().await.ok()
    }
}
