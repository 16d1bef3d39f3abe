//! The circuit breaker: after repeated faults of one upstream, refuse at once instead of waiting for the next fault, and
//! find out with single probes when the upstream is back (oneringai.md §2.3, cases 36-45; reliability F26).
//!
//! Owns the state machine only. The caller decides what a fault is (transport, time-out, 5xx; never a tool's own error
//! answer, an authorisation error or a cancelled call), holds the lock, and passes the time.

mod policy;
mod snapshot;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use serde::Serialize;

pub use policy::BreakerPolicy;
pub use snapshot::{BreakerSnapshot, BreakerTotals};

use crate::elapsed::{Elapsed, age};

/// Characters kept of a fault's text.
const ERROR_CHARS: usize = 200;

/// While a probe is out, others are told to come back after this many milliseconds (or when the probe counts as lost,
/// if that is sooner): the probe is likely to be back long before.
const PROBE_HINT_MS: u64 = 1_000;

/// State of a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BreakerState {
    /// Calls pass.
    Closed,
    /// Calls are refused.
    Open,
    /// One probe at a time passes.
    HalfOpen,
}

impl BreakerState {
    /// The word used in output; the same as when serialised.
    pub fn word(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half-open",
        }
    }
}

/// Leave to make one call. Settle it exactly once, also when the call is cancelled ([`Settlement::Neutral`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permit {
    generation: u64,
    /// Number of the probe; zero is an ordinary call.
    probe: u64,
}

impl Permit {
    /// Counts changes of state; a permit of an earlier generation cannot change the state any more.
    pub fn generation(self) -> u64 {
        self.generation
    }

    /// Whether the call decides if the circuit closes.
    pub fn is_probe(self) -> bool {
        self.probe != 0
    }
}

/// Why a call was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("circuit is {} after {failures} recent failures; retry at {retry_at_ms}", .state.word())]
pub struct Rejection {
    /// [`BreakerState::Open`], or [`BreakerState::HalfOpen`] while another call is the probe.
    pub state: BreakerState,
    /// When to try again, in Unix milliseconds; always after the time of asking.
    pub retry_at_ms: u64,
    /// Faults that were within the window when the circuit opened.
    pub failures: u32,
    /// Text of the last fault.
    pub last_error: Option<String>,
}

/// How a permitted call ended, as far as the circuit is concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// The upstream answered, be it with a tool's error.
    Success,
    /// The upstream did not answer. The text must be free of secrets; 200 characters of it are kept.
    Fault(String),
    /// Says nothing about the upstream, such as a call cancelled by the client.
    Neutral,
}

impl Settlement {
    /// A fault with at most 200 characters of `text`.
    pub fn fault(text: impl AsRef<str>) -> Self {
        Self::Fault(bounded(text.as_ref()).to_owned())
    }
}

/// A change of state worth an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transition {
    /// Too many faults, or a probe failed.
    Opened,
    /// The wait is over; the next call is a probe.
    HalfOpened,
    /// Enough probes succeeded, or the breaker was reset.
    Closed,
}

/// Times are milliseconds as counted by [`Elapsed`].
#[derive(Clone, Copy, Debug)]
enum Phase {
    Closed,
    Open { since: u64 },
    HalfOpen { streak: u32, probe: Option<Probe> },
}

#[derive(Clone, Copy, Debug)]
struct Probe {
    number: u64,
    since: u64,
}

/// One circuit, to be kept per upstream and class of credentials.
///
/// Successes do not take faults back: what counts is how many faults the window holds.
#[derive(Clone, Debug)]
pub struct Breaker {
    policy: BreakerPolicy,
    clock: Elapsed,
    phase: Phase,
    generation: u64,
    /// Generation of the last reset; older permits do not even count.
    first_generation: u64,
    probes: u64,
    /// Remembered faults, oldest first.
    failures: VecDeque<u64>,
    /// Faults within the window when the circuit opened.
    tripped_by: u32,
    totals: BreakerTotals,
    last_error: Option<String>,
    opened_at_ms: Option<u64>,
    last_failure_at_ms: Option<u64>,
    last_success_at_ms: Option<u64>,
}

impl Breaker {
    /// A closed circuit under the [normalised](BreakerPolicy::normalised) policy.
    pub fn new(policy: BreakerPolicy) -> Self {
        Self {
            policy: policy.normalised(),
            clock: Elapsed::default(),
            phase: Phase::Closed,
            generation: 0,
            first_generation: 0,
            probes: 0,
            failures: VecDeque::new(),
            tripped_by: 0,
            totals: BreakerTotals::default(),
            last_error: None,
            opened_at_ms: None,
            last_failure_at_ms: None,
            last_success_at_ms: None,
        }
    }

    /// The normalised policy.
    pub fn policy(&self) -> BreakerPolicy {
        self.policy
    }

    /// State at `now_ms`; an open circuit whose wait is over is half-open.
    pub fn state(&self, now_ms: u64) -> BreakerState {
        match self.phase {
            Phase::Closed => BreakerState::Closed,
            Phase::Open { since } if age(self.clock.at(now_ms), since) < self.policy.open_ms => BreakerState::Open,
            Phase::Open { .. } | Phase::HalfOpen { .. } => BreakerState::HalfOpen,
        }
    }

    /// Turns an open circuit half-open if its wait is over. [`Self::admit`] does so by itself; who wants to report
    /// [`Transition::HalfOpened`] calls this first, under the same lock.
    pub fn advance(&mut self, now_ms: u64) -> Option<Transition> {
        let half_open = self.state(now_ms) == BreakerState::HalfOpen;
        self.clock.advance(now_ms);
        if !half_open || !matches!(self.phase, Phase::Open { .. }) {
            return None;
        }
        self.enter(Phase::HalfOpen { streak: 0, probe: None });
        Some(Transition::HalfOpened)
    }

    /// Lets a call through, or tells when to come back (cases 40, 45).
    ///
    /// A probe that was not settled within `open_ms` counts as lost and the next call becomes a probe. Should it come
    /// back all the same, it still has its say: an upstream slower than `open_ms` must be able to close its circuit.
    pub fn admit(&mut self, now_ms: u64) -> Result<Permit, Rejection> {
        self.advance(now_ms);
        let at = self.clock.at(now_ms);
        if let Some((state, wait)) = self.wait(at) {
            self.totals.rejected = self.totals.rejected.saturating_add(1);
            return Err(Rejection {
                state,
                retry_at_ms: now_ms.saturating_add(wait),
                failures: self.tripped_by,
                last_error: self.last_error.clone(),
            });
        }
        let mut permit = Permit { generation: self.generation, probe: 0 };
        if let Phase::HalfOpen { probe, .. } = &mut self.phase {
            self.probes = self.probes.saturating_add(1);
            permit.probe = self.probes;
            *probe = Some(Probe { number: self.probes, since: at });
        }
        self.totals.admitted = self.totals.admitted.saturating_add(1);
        Ok(permit)
    }

    /// Takes note of how a permitted call ended (cases 36, 38, 42, 44).
    ///
    /// A permit of an earlier generation is counted in the totals and changes nothing else: a call that began before
    /// the circuit opened proves nothing about what happened since.
    pub fn settle(&mut self, permit: Permit, settlement: Settlement, now_ms: u64) -> Option<Transition> {
        let at = self.clock.advance(now_ms);
        if permit.generation < self.first_generation {
            return None;
        }
        self.count(&settlement, now_ms);
        if permit.generation != self.generation {
            return None;
        }
        if let Phase::HalfOpen { probe, .. } = &mut self.phase
            && probe.is_some_and(|out| out.number == permit.probe)
        {
            *probe = None;
        }
        match (&mut self.phase, settlement) {
            (Phase::Closed, Settlement::Fault(_)) => {
                self.remember(at);
                (self.failures.len() >= self.policy.failures as usize).then(|| self.open(at, now_ms))
            }
            (Phase::HalfOpen { .. }, Settlement::Fault(_)) => {
                self.remember(at);
                Some(self.open(at, now_ms))
            }
            (Phase::HalfOpen { streak, .. }, Settlement::Success) => {
                *streak = streak.saturating_add(1);
                (*streak >= self.policy.successes).then(|| self.close())
            }
            // No permit has the generation of an open circuit.
            (Phase::Open { .. }, _) | (_, Settlement::Neutral) | (Phase::Closed, Settlement::Success) => None,
        }
    }

    /// Closes the circuit and forgets everything; calls under way are not counted any more.
    pub fn reset(&mut self) -> Option<Transition> {
        let was_closed = matches!(self.phase, Phase::Closed);
        let generation = self.generation.saturating_add(1);
        let (clock, probes) = (std::mem::take(&mut self.clock), self.probes);
        *self = Self { clock, probes, generation, first_generation: generation, ..Self::new(self.policy) };
        (!was_closed).then_some(Transition::Closed)
    }

    /// Puts another policy in force and [resets](Self::reset), also if the policy is the same.
    pub fn reconfigure(&mut self, policy: BreakerPolicy) -> Option<Transition> {
        self.policy = policy.normalised();
        self.reset()
    }

    /// What there is to show at `now_ms`.
    pub fn snapshot(&self, now_ms: u64) -> BreakerSnapshot {
        let at = self.clock.at(now_ms);
        BreakerSnapshot {
            state: self.state(now_ms),
            totals: self.totals,
            recent_failures: self.recent(at),
            streak: if let Phase::HalfOpen { streak, .. } = self.phase { streak } else { 0 },
            opened_at_ms: self.opened_at_ms,
            retry_at_ms: self.wait(at).map(|(_, wait)| now_ms.saturating_add(wait)),
            last_error: self.last_error.clone(),
            last_failure_at_ms: self.last_failure_at_ms,
            last_success_at_ms: self.last_success_at_ms,
        }
    }

    /// State and milliseconds to wait if a call would be refused; the wait is at least one.
    fn wait(&self, at: u64) -> Option<(BreakerState, u64)> {
        let left = |since| self.policy.open_ms.saturating_sub(age(at, since));
        match self.phase {
            Phase::Open { since } if left(since) > 0 => Some((BreakerState::Open, left(since))),
            Phase::HalfOpen { probe: Some(probe), .. } if left(probe.since) > 0 => {
                Some((BreakerState::HalfOpen, left(probe.since).min(PROBE_HINT_MS)))
            }
            _ => None,
        }
    }

    fn count(&mut self, settlement: &Settlement, now_ms: u64) {
        let counter = match settlement {
            Settlement::Success => {
                self.last_success_at_ms = Some(now_ms);
                &mut self.totals.succeeded
            }
            Settlement::Fault(text) => {
                self.last_failure_at_ms = Some(now_ms);
                self.last_error = Some(bounded(text).to_owned());
                &mut self.totals.failed
            }
            Settlement::Neutral => &mut self.totals.neutral,
        };
        *counter = counter.saturating_add(1);
    }

    fn remember(&mut self, at: u64) {
        let stale = self.failures.len() - self.recent(at);
        self.failures.drain(..stale);
        if self.failures.len() >= self.policy.remembered() {
            self.failures.pop_front();
        }
        self.failures.push_back(at);
    }

    /// Remembered faults within the window. They are in order, so the recent ones are the last ones.
    fn recent(&self, at: u64) -> usize {
        self.failures.iter().rev().take_while(|&&then| age(at, then) < self.policy.window_ms).count()
    }

    fn open(&mut self, at: u64, now_ms: u64) -> Transition {
        self.tripped_by = u32::try_from(self.failures.len()).unwrap_or(u32::MAX);
        self.opened_at_ms = Some(now_ms);
        self.enter(Phase::Open { since: at });
        Transition::Opened
    }

    fn close(&mut self) -> Transition {
        self.failures.clear();
        self.tripped_by = 0;
        self.opened_at_ms = None;
        self.enter(Phase::Closed);
        Transition::Closed
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.generation = self.generation.saturating_add(1);
    }
}

/// A closed circuit without recent faults. Forgetting one loses its totals, no more.
impl crate::rate::Idle for Breaker {
    fn is_idle(&self, now_ms: u64) -> bool {
        matches!(self.phase, Phase::Closed) && self.recent(self.clock.at(now_ms)) == 0
    }
}

fn bounded(text: &str) -> &str {
    text.char_indices().nth(ERROR_CHARS).map_or(text, |(end, _)| &text[..end])
}
