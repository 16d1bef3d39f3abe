//! Vectors of queries: those asked for last, and how others are got without holding searches up.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::Mutex;
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout_at},
};
use toolcrib_core::{
    breaker::{Breaker, BreakerPolicy, Permit, Settlement},
    search::{QueryVectors, Vector},
};

use super::{
    Shared,
    ask::{Kind, ask, ask_at_once},
};
use crate::{clock::now_ms, engine::InForce};

/// Texts whose vectors are held. With 4,096 numbers each that is 8 MB.
const MAX_TEXTS: usize = 2_048;
/// Requests under way at a time; searches beyond do not ask.
const MAX_REQUESTS: usize = 4;
/// When to stop asking, and for how long: a search that waits in vain is worse than one that goes by the table.
const BREAKER: BreakerPolicy = BreakerPolicy { failures: 3, window_ms: 60_000, open_ms: 30_000, successes: 1 };

/// What is known of queries.
pub(super) struct Queries {
    known: Mutex<Known>,
    breaker: Mutex<Breaker>,
    requests: Arc<Semaphore>,
}

#[derive(Default)]
struct Known {
    vectors: HashMap<String, (Arc<Vector>, u64)>,
    // When each was used, the longest ago first; a text that was used again since has a later entry too.
    used: VecDeque<(String, u64)>,
    clock: u64,
}

impl Default for Queries {
    fn default() -> Self {
        Self {
            known: Mutex::default(),
            breaker: Mutex::new(Breaker::new(BREAKER)),
            requests: Arc::new(Semaphore::new(MAX_REQUESTS)),
        }
    }
}

impl Known {
    fn get(&mut self, text: &str) -> Option<Arc<Vector>> {
        self.clock += 1;
        let now = self.clock;
        let (vector, used) = self.vectors.get_mut(text)?;
        *used = now;
        let vector = vector.clone();
        self.used.push_back((text.to_owned(), now));
        self.trim();
        Some(vector)
    }

    fn insert(&mut self, text: String, vector: Vector) {
        self.clock += 1;
        self.vectors.insert(text.clone(), (Arc::new(vector), self.clock));
        self.used.push_back((text, self.clock));
        self.trim();
    }

    fn trim(&mut self) {
        while self.vectors.len() > MAX_TEXTS || self.used.len() > 4 * MAX_TEXTS {
            let Some((text, at)) = self.used.pop_front() else { return };
            if self.vectors.get(&text).is_some_and(|(_, used)| *used == at) {
                self.vectors.remove(&text);
            }
        }
    }
}

/// What one search asks for. Texts that are missing are noted.
pub(super) struct Lookup {
    shared: Arc<Shared>,
    in_force: Arc<InForce>,
    // Of the vectors that the tools have.
    width: usize,
    missing: Mutex<Vec<String>>,
}

/// Why a search has no vector of its query, as the searcher is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Absent {
    /// Not within the time that a search waits.
    Late,
    /// The encoder failed.
    Failed,
    /// It failed lately, and is not asked for a while.
    Resting,
    /// Too much is asked already.
    Busy,
    /// It answered, but the search needed more and more of it.
    Insatiable,
}

impl Lookup {
    pub(super) fn new(shared: Arc<Shared>, in_force: Arc<InForce>, width: usize) -> Self {
        Self { shared, in_force, width, missing: Mutex::default() }
    }

    /// What was asked for and is not there.
    pub(super) fn into_missing(self) -> Vec<String> {
        self.missing.into_inner()
    }
}

impl QueryVectors for Lookup {
    fn vector(&self, text: &str) -> Option<Arc<Vector>> {
        let Shared { encoder, queries, .. } = &*self.shared;
        // What does not leave the machine need not be masked, and says more as it is.
        let text = if encoder.is_remote() { self.in_force.mask_text(text) } else { text.into() };
        // One of another width is of the model that was there before.
        let fits = |vector: &Vector| vector.dimensions() == self.width;
        if let Some(known) = queries.known.lock().get(&text).filter(|known| fits(known)) {
            return Some(known);
        }
        if let Some(vector) = ask_at_once(&**encoder, &text).filter(fits) {
            queries.known.lock().insert(text.clone().into_owned(), vector);
            return queries.known.lock().get(&text);
        }
        let mut missing = self.missing.lock();
        if !missing.iter().any(|known| *known == *text) {
            missing.push(text.into_owned());
        }
        None
    }
}

/// Gets the vectors of some texts, of `width` numbers each, if that can be done by `deadline`. What comes later is there for
/// the next search.
pub(super) async fn fetch(
    shared: &Arc<Shared>,
    texts: Vec<String>,
    width: usize,
    deadline: Instant,
) -> Result<(), Absent> {
    let queries = &shared.queries;
    let Ok(place) = queries.requests.clone().try_acquire_owned() else { return Err(Absent::Busy) };
    let permit = queries.breaker.lock().admit(now_ms()).map_err(|_| Absent::Resting)?;
    let ticket = Arc::new(Ticket { shared: shared.clone(), permit, settled: AtomicBool::new(false) });
    let waits = deadline > Instant::now();
    let (own, settled) = (shared.clone(), ticket.clone());
    let request = tokio::spawn(async move {
        let encoded = encode(&own, texts, width).await;
        drop(place);
        settled.settle(encoded.as_ref().map_or_else(Settlement::fault, |()| Settlement::Success));
        encoded
    });
    match timeout_at(deadline, request).await {
        Ok(Ok(Ok(()))) => Ok(()),
        Ok(_) => Err(Absent::Failed),
        Err(_) => {
            // Whoever does not wait cannot tell: how that request ends is what counts.
            if waits {
                ticket.settle(Settlement::fault("no answer in time"));
            }
            Err(Absent::Late)
        }
    }
}

/// Tells the breaker how a request ended: whoever knows first.
struct Ticket {
    shared: Arc<Shared>,
    permit: Permit,
    settled: AtomicBool,
}

impl Ticket {
    fn settle(&self, settlement: Settlement) {
        if !self.settled.swap(true, Ordering::Relaxed) {
            self.shared.queries.breaker.lock().settle(self.permit, settlement, now_ms());
        }
    }
}

async fn encode(shared: &Shared, texts: Vec<String>, width: usize) -> Result<(), String> {
    for batch in texts.chunks(shared.encoder.batch().max(1)) {
        let cause = match ask(&shared.encoder, Kind::Queries, batch.to_vec()).await {
            Ok(vectors) => match vectors.first().map(Vector::dimensions).filter(|own| *own != width) {
                None => {
                    let mut known = shared.queries.known.lock();
                    batch.iter().cloned().zip(vectors).for_each(|(text, vector)| known.insert(text, vector));
                    continue;
                }
                Some(own) => {
                    shared.width.of_query(own);
                    format!("a vector of {own} numbers came; those of tools have {width}")
                }
            },
            Err(error) => error.to_string(),
        };
        tracing::debug!(cause, encoder = shared.encoder.name(), "a query was not encoded");
        return Err(cause);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
