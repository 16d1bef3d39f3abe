//! How many calls run at once: by tool, source, user and tenant together, and which of them may run side by side.
//!
//! A call takes all its places at once or none, so a call that waits holds nothing that others could use. Who has waited
//! longest goes first among those that can.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{sync::oneshot, time::Instant};
use tokio_util::sync::CancellationToken;
use toolcrib_core::{Source, ToolId, permission::Effect};

use super::{Asked, plan::Plan, refused::Refused};

/// Calls that wait, of all sources together.
const MAX_WAITING: usize = 1_024;

/// What is limited.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Tool(Arc<ToolId>),
    Source(Arc<Source>),
    User(String, String),
    Tenant(String),
}

impl Key {
    fn text(&self) -> String {
        match self {
            Self::Tool(tool) => tool.to_string(),
            Self::Source(source) => source.to_string(),
            Self::User(_, user) => format!("user {user}"),
            Self::Tenant(tenant) => format!("tenant {tenant}"),
        }
    }
}

/// How a call bears others of its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Only looks; not declared exclusive.
    Looks,
    /// May change something; not declared exclusive.
    Changes,
    /// Only looks, declared exclusive: beside others that only look.
    LooksApart,
    /// May change something, declared exclusive: alone.
    Alone,
}

impl Mode {
    fn beside(self, other: Self) -> bool {
        let looks = |mode| matches!(mode, Self::Looks | Self::LooksApart);
        let apart = |mode| matches!(mode, Self::LooksApart | Self::Alone);
        (looks(self) && looks(other)) || (!apart(self) && !apart(other))
    }
}

/// What a call needs.
pub(super) struct Wants {
    places: Vec<(Key, u32)>,
    mode: Mode,
    queue: u32,
}

impl Wants {
    pub(super) fn of(plan: &Plan, asked: &Asked<'_>) -> Self {
        let mode = match (plan.exclusive, asked.effect == Effect::ReadOnly) {
            (false, true) => Mode::Looks,
            (false, false) => Mode::Changes,
            (true, true) => Mode::LooksApart,
            (true, false) => Mode::Alone,
        };
        let principal = asked.principal;
        let mut places = Vec::with_capacity(2);
        // The source first: what the queue of a source holds goes by it.
        if plan.apart || plan.source_limit.is_some() {
            places.push((Key::Source(plan.source.clone()), plan.source_limit.unwrap_or(u32::MAX)));
        }
        if let Some(limit) = plan.tool_limit {
            places.push((Key::Tool(plan.tool.clone()), limit));
        }
        if let (Some(limit), Some(user)) = (plan.user_limit, &principal.user) {
            places.push((Key::User(principal.tenant.clone(), user.clone()), limit));
        }
        if let Some(limit) = plan.tenant_limit {
            places.push((Key::Tenant(principal.tenant.clone()), limit));
        }
        Self { places, mode, queue: plan.queue }
    }
}

#[derive(Default)]
struct Slot {
    running: u32,
    waiting: u32,
    /// Of the running ones, by [`Mode`].
    modes: [u32; 4],
}

const MODES: [Mode; 4] = [Mode::Looks, Mode::Changes, Mode::LooksApart, Mode::Alone];

impl Slot {
    fn bears(&self, mode: Mode) -> bool {
        MODES.iter().zip(self.modes).all(|(other, running)| running == 0 || mode.beside(*other))
    }
}

struct Waiter {
    number: u64,
    wants: Arc<Wants>,
    turn: oneshot::Sender<()>,
}

#[derive(Default)]
struct State {
    slots: HashMap<Key, Slot>,
    waiting: VecDeque<Waiter>,
    running: usize,
    next: u64,
}

impl State {
    /// What keeps the call from running: the first place that is taken.
    fn obstacle<'a>(&self, wants: &'a Wants) -> Option<&'a (Key, u32)> {
        wants.places.iter().find(|(key, limit)| {
            self.slots.get(key).is_some_and(|slot| {
                slot.running >= *limit || (matches!(key, Key::Source(_)) && !slot.bears(wants.mode))
            })
        })
    }

    fn start(&mut self, wants: &Wants) {
        self.running += 1;
        for (key, _) in &wants.places {
            let slot = self.slots.entry(key.clone()).or_default();
            slot.running += 1;
            slot.modes[wants.mode as usize] += 1;
        }
    }

    fn end(&mut self, wants: &Wants) {
        self.running -= 1;
        for (key, _) in &wants.places {
            self.leave(key, |slot| {
                slot.running -= 1;
                slot.modes[wants.mode as usize] -= 1;
            });
        }
    }

    fn wait(&mut self, wants: &Wants, more: bool) {
        for (key, _) in &wants.places {
            if more {
                self.slots.entry(key.clone()).or_default().waiting += 1;
            } else {
                self.leave(key, |slot| slot.waiting -= 1);
            }
        }
    }

    /// A place nobody runs in or waits for is forgotten: there are never more than calls under way need.
    fn leave(&mut self, key: &Key, change: impl FnOnce(&mut Slot)) {
        if let Some(slot) = self.slots.get_mut(key) {
            change(slot);
            if slot.running == 0 && slot.waiting == 0 {
                self.slots.remove(key);
            }
        }
    }

    /// Lets run who can, the longest wait first.
    fn turn(&mut self) {
        // Sources that a call waits to have for itself: those behind it do not get in its way for ever.
        let mut kept_free: Vec<Arc<Source>> = Vec::new();
        // Places found taken: while turns are given they only fill up, so nobody behind needs to look again.
        let mut taken: Vec<Key> = Vec::new();
        let mut at = 0;
        while let Some(waiter) = self.waiting.get(at) {
            if waiter.wants.places.iter().any(|(key, _)| taken.contains(key)) {
                at += 1;
                continue;
            }
            let wants = waiter.wants.clone();
            let source = wants.places.iter().find_map(|(key, _)| match key {
                Key::Source(source) => Some(source),
                Key::Tool(_) | Key::User(..) | Key::Tenant(_) => None,
            });
            let obstacle = self.obstacle(&wants);
            if obstacle.is_none() && source.is_none_or(|source| !kept_free.contains(source)) {
                if let Some(waiter) = self.waiting.remove(at) {
                    self.wait(&wants, false);
                    self.start(&wants);
                    // Whoever is gone gives the place back in its own drop.
                    let _ = waiter.turn.send(());
                }
                continue;
            }
            if let Some((key, limit)) = obstacle {
                if self.slots.get(key).is_some_and(|slot| slot.running >= *limit) {
                    taken.push(key.clone());
                } else if let Key::Source(source) = key {
                    kept_free.push(source.clone());
                }
            }
            at += 1;
        }
    }
}

/// The places of all calls.
#[derive(Default)]
pub(super) struct Slots(Mutex<State>);

/// What became of a call that wants to run.
pub(super) enum Entered {
    /// It may run.
    Held(Held),
    /// It waits for its turn.
    Queued(Queued),
    /// Too many wait.
    Full(Refused),
}

impl Slots {
    pub(super) fn enter(self: &Arc<Self>, wants: Wants) -> Entered {
        let mut state = self.0.lock();
        let others_wait = wants.places.iter().any(|(key, _)| state.slots.get(key).is_some_and(|slot| slot.waiting > 0));
        if !others_wait && state.obstacle(&wants).is_none() {
            state.start(&wants);
            return Entered::Held(Held { slots: self.clone(), wants: Arc::new(wants) });
        }
        let wants = Arc::new(wants);
        let (turn, my_turn) = oneshot::channel();
        let number = state.next;
        state.next += 1;
        state.wait(&wants, true);
        state.waiting.push_back(Waiter { number, wants: wants.clone(), turn });
        // Others may wait for something else.
        state.turn();
        let waits = state.waiting.back().is_some_and(|waiter| waiter.number == number);
        let before = wants.places.first().and_then(|(key, _)| state.slots.get(key)).map_or(0, |slot| slot.waiting);
        if waits && (before > wants.queue || state.waiting.len() > MAX_WAITING) {
            state.waiting.pop_back();
            state.wait(&wants, false);
            return Entered::Full(too_many(&state, &wants, Duration::ZERO, true));
        }
        drop(state);
        Entered::Queued(Queued { slots: self.clone(), wants, number, my_turn, taken: false })
    }

    pub(super) fn occupancy(&self) -> (usize, usize) {
        let state = self.0.lock();
        (state.running, state.waiting.len())
    }
}

fn too_many(state: &State, wants: &Wants, waited: Duration, queue_full: bool) -> Refused {
    let (what, limit) = match state.obstacle(wants).or(wants.places.first()) {
        Some((key, limit)) => {
            let full = state.slots.get(key).is_none_or(|slot| slot.running >= *limit);
            let limit = if full { format!("{limit} at once") } else { "not beside others".to_owned() };
            (key.text(), limit)
        }
        None => ("the gateway".to_owned(), format!("{MAX_WAITING} waiting")),
    };
    Refused::TooMany { what, limit, waited_ms: u64::try_from(waited.as_millis()).unwrap_or(u64::MAX), queue_full }
}

/// A call's places, given back when dropped.
pub(super) struct Held {
    slots: Arc<Slots>,
    wants: Arc<Wants>,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut state = self.slots.0.lock();
        state.end(&self.wants);
        state.turn();
    }
}

/// A call that waits for its turn. Dropped, it leaves the queue, or gives back what it was just given.
pub(super) struct Queued {
    slots: Arc<Slots>,
    wants: Arc<Wants>,
    number: u64,
    my_turn: oneshot::Receiver<()>,
    /// What it was given is somebody else's to give back.
    taken: bool,
}

impl Queued {
    /// Waits until `deadline`, at most `limit`.
    pub(super) async fn wait(
        mut self,
        deadline: Instant,
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<Held, Refused> {
        let started = Instant::now();
        let until = deadline.min(started + limit);
        tokio::select! {
            biased;
            // The other end is only dropped after it was used.
            _ = &mut self.my_turn => {
                self.taken = true;
                Ok(Held { slots: self.slots.clone(), wants: self.wants.clone() })
            }
            () = cancel.cancelled() => Err(Refused::Cancelled),
            () = tokio::time::sleep_until(until) => {
                Err(too_many(&self.slots.0.lock(), &self.wants, started.elapsed(), false))
            }
        }
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        if self.taken {
            return;
        }
        let mut state = self.slots.0.lock();
        match state.waiting.iter().position(|waiter| waiter.number == self.number) {
            Some(at) => {
                state.waiting.remove(at);
                state.wait(&self.wants, false);
            }
            None => state.end(&self.wants),
        }
        // Others may have waited behind it.
        state.turn();
    }
}
