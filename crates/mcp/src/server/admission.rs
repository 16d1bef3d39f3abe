//! Admission: how many calls run, how many wait, and that one more is refused at once (F25).

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Room for calls. Shared by all that draw on the same room.
#[derive(Debug)]
pub struct Admission {
    // Places for running and waiting calls together.
    entrance: Arc<Semaphore>,
    running: Arc<Semaphore>,
    limits: (usize, usize),
}

/// A place inside; [`Ticket::run`] waits for the turn.
pub(super) struct Ticket {
    entrance: OwnedSemaphorePermit,
    running: Arc<Semaphore>,
}

/// The right to run; given back when dropped.
pub(super) struct Turn {
    _entrance: OwnedSemaphorePermit,
    _running: Option<OwnedSemaphorePermit>,
}

impl Admission {
    /// Room for `running` calls at once and `waiting` more in line.
    pub fn new(running: usize, waiting: usize) -> Arc<Self> {
        let running = running.clamp(1, 1 << 20);
        let waiting = waiting.min(1 << 20);
        Arc::new(Self {
            entrance: Arc::new(Semaphore::new(running + waiting)),
            running: Arc::new(Semaphore::new(running)),
            limits: (running, waiting),
        })
    }

    /// How many may run and wait.
    pub fn limits(&self) -> (usize, usize) {
        self.limits
    }

    pub(super) fn enter(&self) -> Option<Ticket> {
        let entrance = self.entrance.clone().try_acquire_owned().ok()?;
        Some(Ticket { entrance, running: self.running.clone() })
    }
}

impl Ticket {
    /// Waits for the turn, first come first served.
    pub(super) async fn run(self) -> Turn {
        // The semaphore is never closed.
        let running = self.running.acquire_owned().await.ok();
        Turn { _entrance: self.entrance, _running: running }
    }
}
