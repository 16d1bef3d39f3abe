//! Vectors of queries: those asked for last, and how others are got without holding searches up.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout, timeout_at},
};
use toolcrib_core::{
    breaker::{Breaker, BreakerPolicy, Settlement},
    search::{QueryVectors, Vector},
};

use super::Shared;
use crate::{clock::now_ms, engine::InForce};

/// Texts whose vectors are held. With 4,096 numbers each that is 8 MB.
const MAX_TEXTS: usize = 2_048;
/// Requests under way at a time; searches beyond do not ask.
const MAX_REQUESTS: usize = 4;
/// When a request is given up, whoever waits for it.
const REQUEST_TIMEOUT: Duration = Duration::from_mins(1);
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
}

impl Lookup {
    pub(super) fn new(shared: Arc<Shared>, in_force: Arc<InForce>) -> Self {
        Self { shared, in_force, missing: Mutex::default() }
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
        if let Some(known) = queries.known.lock().get(&text) {
            return Some(known);
        }
        if let Some(vector) = encoder.encode_at_once(&text) {
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
    let waits = deadline > Instant::now();
    let own = shared.clone();
    let request = tokio::spawn(async move {
        let encoded = encode(&own, texts, width).await;
        drop(place);
        encoded
    });
    let answer = timeout_at(deadline, request).await;
    let (settlement, outcome) = match answer {
        Ok(Ok(Ok(()))) => (Settlement::Success, Ok(())),
        Ok(Ok(Err(cause))) => (Settlement::fault(cause), Err(Absent::Failed)),
        Ok(Err(_)) => (Settlement::fault("the encoder broke down"), Err(Absent::Failed)),
        // Whoever does not wait cannot tell.
        Err(_) if !waits => (Settlement::Neutral, Err(Absent::Late)),
        Err(_) => (Settlement::fault("no answer in time"), Err(Absent::Late)),
    };
    queries.breaker.lock().settle(permit, settlement, now_ms());
    outcome
}

async fn encode(shared: &Shared, texts: Vec<String>, width: usize) -> Result<(), String> {
    let count = texts.len();
    let answer = timeout(REQUEST_TIMEOUT, shared.encoder.encode_queries(texts.clone())).await;
    let strange = |vectors: &[Vector]| vectors.iter().map(Vector::dimensions).find(|own| *own != width);
    let cause = match answer {
        Ok(Ok(vectors)) if strange(&vectors).is_some() => {
            format!("a vector of {} numbers came; those of tools have {width}", strange(&vectors).unwrap_or_default())
        }
        Ok(Ok(vectors)) if vectors.len() == count => {
            let mut known = shared.queries.known.lock();
            texts.into_iter().zip(vectors).for_each(|(text, vector)| known.insert(text, vector));
            return Ok(());
        }
        Ok(Ok(vectors)) => format!("{} vectors came for {count} texts", vectors.len()),
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no answer within {} s", REQUEST_TIMEOUT.as_secs()),
    };
    tracing::debug!(cause, encoder = shared.encoder.name(), "a query was not encoded");
    Err(cause)
}

#[cfg(test)]
mod tests;
