//! Rates: what a call is charged, given back unless it is made.

use std::sync::Arc;

use parking_lot::Mutex;
use toolcrib_core::{
    ContentHash,
    rate::{Idle, Keyed, RetryAfterMs, SlidingWindow, Taken, TokenBucket},
};

use super::{
    Asked,
    refused::Refused,
    settings::{RatePer, RateRule},
};
use crate::event::Door;

/// Callers counted apart by one rule.
const MAX_COUNTED: usize = 4_096;
/// Sessions of one user counted apart within a window, where the caller names them. Further ones are counted together.
const MAX_SESSIONS: usize = 64;
/// Largest limit that is counted exactly; it takes 8 bytes a call.
const MAX_EXACT: u32 = 1_000;

enum Meter {
    Window(SlidingWindow),
    Bucket(TokenBucket),
}

impl Idle for Meter {
    fn is_idle(&self, now_ms: u64) -> bool {
        match self {
            Self::Window(window) => window.is_idle(now_ms),
            Self::Bucket(bucket) => bucket.is_idle(now_ms),
        }
    }
}

/// The sessions of one user that were counted apart within the window, and when they last were.
struct Sessions {
    seen: Vec<(ContentHash, u64)>,
    window_ms: u64,
}

impl Sessions {
    /// Whether the session is counted by itself.
    fn apart(&mut self, session: ContentHash, now: u64) -> bool {
        self.seen.retain(|(_, at)| now.saturating_sub(*at) <= self.window_ms);
        if let Some((_, at)) = self.seen.iter_mut().find(|(seen, _)| *seen == session) {
            *at = now;
            return true;
        }
        let room = self.seen.len() < MAX_SESSIONS;
        if room {
            self.seen.push((session, now));
        }
        room
    }
}

impl Idle for Sessions {
    fn is_idle(&self, now_ms: u64) -> bool {
        self.seen.iter().all(|(_, at)| now_ms.saturating_sub(*at) > self.window_ms)
    }
}

/// A rule with what it has counted.
pub(super) struct Rate {
    pub(super) rule: RateRule,
    meters: Mutex<Keyed<String, Meter>>,
    /// By user and tool; only where callers name their sessions.
    sessions: Mutex<Keyed<String, Sessions>>,
}

impl Rate {
    pub(super) fn new(rule: RateRule) -> Self {
        Self { rule, meters: Mutex::new(Keyed::new(MAX_COUNTED)), sessions: Mutex::new(Keyed::new(MAX_COUNTED)) }
    }

    fn meter(&self) -> Meter {
        let RateRule { limit, window_ms, .. } = self.rule;
        if limit > MAX_EXACT {
            Meter::Bucket(TokenBucket::new(limit, limit, window_ms))
        } else {
            Meter::Window(SlidingWindow::new(limit, window_ms))
        }
    }

    /// Under which key a call is counted. A caller that makes up a session for every call gets no more by it than 64
    /// sessions have: whatever comes beyond them in a window counts together, by user.
    fn key(&self, asked: &Asked<'_>, now: u64) -> String {
        let key = counted(self.rule.per, asked);
        if self.rule.per != RatePer::Session || asked.door != Door::Http {
            return key;
        }
        let user = counted(RatePer::User, asked);
        let window_ms = self.rule.window_ms;
        let apart = self
            .sessions
            .lock()
            .entry(&user, now, || Sessions { seen: Vec::new(), window_ms })
            .apart(ContentHash::of_bytes(key.as_bytes()), now);
        if apart { key } else { format!("further:{user}") }
    }

    fn take(&self, key: &str, now: u64) -> Result<Option<Taken>, RetryAfterMs> {
        match self.meters.lock().entry(key, now, || self.meter()) {
            Meter::Window(window) => window.try_take(now).map(Some),
            Meter::Bucket(bucket) => bucket.try_take(now).map(|()| None),
        }
    }

    fn refund(&self, key: &str, taken: Option<Taken>) {
        match (self.meters.lock().get_mut(key), taken) {
            (Some(Meter::Window(window)), Some(taken)) => window.refund(taken),
            (Some(Meter::Bucket(bucket)), _) => bucket.refund(),
            (Some(Meter::Window(_)), None) | (None, _) => {}
        }
    }
}

/// What a call was charged. Given back when dropped.
#[derive(Default)]
pub(super) struct Charge(Vec<(Arc<Rate>, String, Option<Taken>)>);

impl Charge {
    /// Charges every rate, or none.
    pub(super) fn take(rates: &[Arc<Rate>], asked: &Asked<'_>, now: u64) -> Result<Self, Refused> {
        let mut charge = Self::default();
        for rate in rates {
            let key = rate.key(asked, now);
            match rate.take(&key, now) {
                Ok(taken) => charge.0.push((rate.clone(), key, taken)),
                Err(RetryAfterMs(retry_ms)) => {
                    let RateRule { limit, window_ms, .. } = rate.rule;
                    return Err(Refused::TooFast { rule: rate.rule.text(), limit, window_ms, retry_ms });
                }
            }
        }
        Ok(charge)
    }

    /// The call is made.
    pub(super) fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        for (rate, key, taken) in self.0.drain(..) {
            rate.refund(&key, taken);
        }
    }
}

/// Whose calls are counted together. With lengths in front, no text can run into the next.
fn counted(per: RatePer, asked: &Asked<'_>) -> String {
    let (tool, principal) = (asked.tool.id(), asked.principal);
    let part = |text: &str| format!("{}:{text}", text.len());
    let or_none = |text: &Option<String>| text.as_deref().map_or_else(|| "-".to_owned(), part);
    match per {
        RatePer::Tool => tool.to_string(),
        RatePer::Source => tool.source.to_string(),
        RatePer::User => format!("{}{}{tool}", part(&principal.tenant), or_none(&principal.user)),
        RatePer::Tenant => format!("{}{tool}", part(&principal.tenant)),
        RatePer::Session => format!(
            "{}{}{}{}{tool}",
            part(&principal.tenant),
            or_none(&principal.user),
            or_none(&principal.agent),
            or_none(&principal.session)
        ),
    }
}
