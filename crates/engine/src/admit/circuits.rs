//! The circuits of tools and sources, and passes through them that are always given back.

#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use parking_lot::Mutex;
use toolcrib_core::{
    breaker::{Breaker, BreakerPolicy, BreakerState, Permit, Rejection, Settlement, Transition},
    rate::Keyed,
};

use super::{
    Clock,
    refused::Refused,
    report::{BreakerChange, BreakerKey, BreakerReport, Guarded},
};

/// Circuits kept; closed ones without faults make room first.
const MAX_CIRCUITS: usize = 8_192;
/// Policies put in force at run time.
const MAX_CONFIGURED: usize = 1_024;
/// Changes kept until somebody takes them.
const MAX_CHANGES: usize = 1_024;

/// A lock that is only ever held for a closure. Lets the checker of interleavings put its own in place.
pub(super) trait Lock<T> {
    fn around(value: T) -> Self;
    fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R;
}

impl<T> Lock<T> for Mutex<T> {
    fn around(value: T) -> Self {
        Self::new(value)
    }

    fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        work(&mut self.lock())
    }
}

/// The circuits a call has to pass, with their policies.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    pub(super) source: Option<(BreakerKey, BreakerPolicy)>,
    pub(super) tool: Option<(BreakerKey, BreakerPolicy)>,
}

pub(super) struct Table {
    circuits: Keyed<BreakerKey, Breaker>,
    configured: HashMap<Guarded, BreakerPolicy>,
    changes: VecDeque<BreakerChange>,
}

pub(super) struct Circuits<L = Mutex<Table>> {
    clock: Clock,
    table: L,
    /// Length of `changes`, readable without the lock.
    changed: AtomicUsize,
}

impl<L: Lock<Table>> Circuits<L> {
    pub(super) fn new(clock: Clock) -> Self {
        let table = Table { circuits: Keyed::new(MAX_CIRCUITS), configured: HashMap::new(), changes: VecDeque::new() };
        Self { clock, table: L::around(table), changed: AtomicUsize::new(0) }
    }

    fn with<R>(&self, work: impl FnOnce(&mut Table, u64) -> R) -> R {
        self.with_at((self.clock)(), work)
    }

    fn with_at<R>(&self, now: u64, work: impl FnOnce(&mut Table, u64) -> R) -> R {
        self.table.with(|table| {
            let result = work(table, now);
            self.changed.store(table.changes.len(), Ordering::Release);
            result
        })
    }

    #[cfg(test)]
    fn enter(self: &Arc<Self>, path: Arc<Path>) -> Result<Pass<L>, Refused> {
        self.enter_at(path, (self.clock)())
    }

    /// Through the source's circuit, then the tool's.
    pub(super) fn enter_at(self: &Arc<Self>, path: Arc<Path>, now: u64) -> Result<Pass<L>, Refused> {
        if path.source.is_none() && path.tool.is_none() {
            return Ok(Pass { circuits: self.clone(), path, source: None, tool: None });
        }
        let permits = self.with_at(now, |table, now| {
            let source = path.source.as_ref().map(|circuit| table.knock(circuit, now)).transpose()?;
            match path.tool.as_ref().map(|circuit| table.knock(circuit, now)).transpose() {
                Ok(tool) => Ok((source, tool)),
                Err(refused) => {
                    // A probe of the source's that was not made must not keep others from being one.
                    table.settle(path.source.as_ref(), source, Settlement::Neutral, now);
                    Err(refused)
                }
            }
        });
        let (source, tool) = permits?;
        Ok(Pass { circuits: self.clone(), path, source, tool })
    }

    /// Whether [`Self::enter`] would fail now; takes nothing.
    pub(super) fn check(&self, path: &Path) -> Result<(), Refused> {
        self.with(|table, now| {
            for circuit in [&path.source, &path.tool].into_iter().flatten() {
                let refuses =
                    table.circuits.get_mut(&circuit.0).is_some_and(|known| known.snapshot(now).retry_at_ms.is_some());
                if refuses {
                    let permit = table.knock(circuit, now)?;
                    table.settle(Some(circuit), Some(permit), Settlement::Neutral, now);
                }
            }
            Ok(())
        })
    }

    pub(super) fn reports(&self) -> Vec<BreakerReport> {
        let mut reports = self.with(|table, now| {
            table
                .circuits
                .iter()
                .map(|(key, circuit)| BreakerReport {
                    key: key.clone(),
                    policy: circuit.policy(),
                    snapshot: circuit.snapshot(now),
                })
                .collect::<Vec<_>>()
        });
        let rank = |state| match state {
            BreakerState::Open => 0,
            BreakerState::HalfOpen => 1,
            BreakerState::Closed => 2,
        };
        reports.sort_by(|a, b| (rank(a.snapshot.state), &a.key).cmp(&(rank(b.snapshot.state), &b.key)));
        reports
    }

    pub(super) fn reset(&self, guarded: &Guarded) -> usize {
        self.with(|table, now| {
            let keys = table.of(guarded);
            for key in &keys {
                table.change(key, now, Breaker::reset);
            }
            keys.len()
        })
    }

    pub(super) fn configure(&self, guarded: &Guarded, policy: Option<BreakerPolicy>) -> bool {
        self.with(|table, now| {
            match policy {
                None => {
                    table.configured.remove(guarded);
                }
                Some(_) if table.configured.len() >= MAX_CONFIGURED && !table.configured.contains_key(guarded) => {
                    return false;
                }
                Some(policy) => {
                    table.configured.insert(guarded.clone(), policy);
                    for key in table.of(guarded) {
                        table.change(&key, now, |circuit| circuit.reconfigure(policy));
                    }
                }
            }
            true
        })
    }

    pub(super) fn has_changes(&self) -> bool {
        self.changed.load(Ordering::Acquire) > 0
    }

    pub(super) fn take_changes(&self) -> Vec<BreakerChange> {
        if self.changed.load(Ordering::Acquire) == 0 {
            return Vec::new();
        }
        self.with(|table, _| table.changes.drain(..).collect())
    }
}

impl Table {
    /// A permit, with the place of the circuit.
    fn knock(&mut self, (key, policy): &(BreakerKey, BreakerPolicy), now: u64) -> Result<(Permit, usize), Refused> {
        let policy = self.configured.get(&key.guarded).unwrap_or(policy).normalised();
        let (place, circuit) = self.circuits.entry_place(key, now, || Breaker::new(policy));
        // Another policy after a reload: what was counted under the old one says nothing.
        let closed = if circuit.policy() == policy { None } else { circuit.reconfigure(policy) };
        let opening = circuit.advance(now);
        let admitted = circuit.admit(now);
        for transition in [closed, opening].into_iter().flatten() {
            self.note(key, transition, now);
        }
        admitted.map(|permit| (permit, place)).map_err(|rejection: Rejection| Refused::BreakerOpen {
            key: key.clone(),
            retry_ms: rejection.retry_at_ms.saturating_sub(now),
            rejection,
        })
    }

    fn settle(
        &mut self,
        circuit: Option<&(BreakerKey, BreakerPolicy)>,
        permit: Option<(Permit, usize)>,
        settlement: Settlement,
        now: u64,
    ) {
        if let (Some((key, _)), Some((permit, place))) = (circuit, permit)
            && let Some(circuit) = self.circuits.get_near(key, place)
            && let Some(transition) = circuit.settle(permit, settlement, now)
        {
            self.note(key, transition, now);
        }
    }

    fn change(&mut self, key: &BreakerKey, now: u64, work: impl FnOnce(&mut Breaker) -> Option<Transition>) {
        if let Some(transition) = self.circuits.get_mut(key).and_then(work) {
            self.note(key, transition, now);
        }
    }

    fn note(&mut self, key: &BreakerKey, transition: Transition, now: u64) {
        let last_error = self.circuits.get_mut(key).and_then(|circuit| circuit.snapshot(now).last_error);
        match transition {
            Transition::Opened => tracing::warn!(%key, last_error, "circuit opened"),
            Transition::HalfOpened => tracing::info!(%key, "circuit half-open: one call is let through to see"),
            Transition::Closed => tracing::info!(%key, "circuit closed"),
        }
        if self.changes.len() >= MAX_CHANGES {
            self.changes.pop_front();
        }
        self.changes.push_back(BreakerChange { at_ms: now, key: key.clone(), transition, last_error });
    }

    fn of(&self, guarded: &Guarded) -> Vec<BreakerKey> {
        self.circuits.iter().map(|(key, _)| key).filter(|key| key.guarded == *guarded).cloned().collect()
    }
}

/// Leave to make one call. Dropped without a verdict, it says nothing about the upstream.
pub(super) struct Pass<L: Lock<Table> = Mutex<Table>> {
    circuits: Arc<Circuits<L>>,
    path: Arc<Path>,
    source: Option<(Permit, usize)>,
    tool: Option<(Permit, usize)>,
}

impl<L: Lock<Table>> Pass<L> {
    /// What the call says about the source and about the tool.
    pub(super) fn settle(mut self, of_source: Settlement, of_tool: Settlement) {
        self.give_back(of_source, of_tool);
    }

    pub(super) fn is_probe(&self) -> bool {
        [self.source, self.tool].into_iter().flatten().any(|(permit, _)| permit.is_probe())
    }

    fn give_back(&mut self, of_source: Settlement, of_tool: Settlement) {
        let (source, tool) = (self.source.take(), self.tool.take());
        if source.is_some() || tool.is_some() {
            self.circuits.with(|table, now| {
                table.settle(self.path.source.as_ref(), source, of_source, now);
                table.settle(self.path.tool.as_ref(), tool, of_tool, now);
            });
        }
    }
}

impl<L: Lock<Table>> Drop for Pass<L> {
    fn drop(&mut self) {
        self.give_back(Settlement::Neutral, Settlement::Neutral);
    }
}
