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

/// Places inside for some calls, given back when dropped; [`Ticket::turn`] waits for the turn of one of them.
#[derive(Debug)]
pub struct Ticket {
    _entrance: OwnedSemaphorePermit,
    running: Arc<Semaphore>,
}

/// The right of one call to run; given back when dropped.
#[derive(Debug)]
pub struct Turn {
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

    /// Places for this many calls, or none when there is no room for all of them.
    pub fn enter(&self, calls: usize) -> Option<Ticket> {
        let entrance = self.entrance.clone().try_acquire_many_owned(u32::try_from(calls).ok()?).ok()?;
        Some(Ticket { _entrance: entrance, running: self.running.clone() })
    }
}

impl Ticket {
    /// Waits for the turn, first come first served.
    pub async fn turn(&self) -> Turn {
        // The semaphore is never closed.
        Turn { _running: self.running.clone().acquire_owned().await.ok() }
    }
}
