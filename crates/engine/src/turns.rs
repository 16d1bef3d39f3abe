//! How much of results one turn of a model may show. A turn is told by time: calls of one conversation with less than a
//! second between them belong together, for ten seconds at most. Callers that name no session have no turns: their calls
//! may be those of many conversations, and one of them must not use up what another may show.

use parking_lot::Mutex;
use toolcrib_core::{
    Scope,
    rate::{Idle, Keyed},
    shape::TurnBudget,
};

use crate::{
    clock::now_ms,
    engine::InForce,
    identity::{Identity, Principal},
};

/// A pause of this many milliseconds begins a new turn.
const PAUSE_MS: u64 = 1_000;
/// However close calls come, a turn ends this many milliseconds after its first one.
const LONGEST_MS: u64 = 10_000;
/// Most conversations that are counted.
const MOST: usize = 4_096;

struct Turn {
    budget: TurnBudget,
    first_ms: u64,
    last_ms: u64,
}

impl Idle for Turn {
    fn is_idle(&self, now_ms: u64) -> bool {
        now_ms.saturating_sub(self.last_ms) >= PAUSE_MS || now_ms.saturating_sub(self.first_ms) >= LONGEST_MS
    }
}

/// The turns under way.
pub(crate) struct Turns(Mutex<Keyed<Principal, Turn>>);

impl Default for Turns {
    fn default() -> Self {
        Self(Mutex::new(Keyed::new(MOST)))
    }
}

impl Turns {
    /// Counts characters. `None`: all of them may be shown; else how many are left.
    pub(crate) fn allow(&self, scope: &Scope, identity: &Identity, in_force: &InForce, chars: usize) -> Option<usize> {
        self.allow_at(scope, identity, in_force, chars, now_ms())
    }

    fn allow_at(
        &self,
        scope: &Scope,
        identity: &Identity,
        in_force: &InForce,
        chars: usize,
        now: u64,
    ) -> Option<usize> {
        identity.session.as_ref()?;
        let limits = &in_force.settings.limits;
        let budget = || {
            let by_context = scope.context_length.map_or_else(TurnBudget::default, TurnBudget::for_context);
            by_context.capped(limits.turn_chars.unwrap_or(limits.shape.max_chars.saturating_mul(2)))
        };
        let mut turns = self.0.lock();
        let key = Principal::of(scope, identity);
        let turn = turns.entry(&key, now, || Turn { budget: budget(), first_ms: now, last_ms: now });
        if turn.is_idle(now) {
            *turn = Turn { budget: budget(), first_ms: now, last_ms: now };
        }
        turn.last_ms = now;
        turn.budget.allow(chars)
    }
}

#[cfg(test)]
mod tests;
