//! Admission: whether a call that may run should run now. Keeps failing tools and sources out of the way, limits how
//! often and how many at once, and stops models that go in circles.
//!
//! Owns the limits' state, bounded whatever callers do. The arithmetic is `toolcrib_core`'s; what is allowed at all is
//! for the permissions to say.

mod charge;
mod circuits;
mod plan;
mod refused;
mod repeat;
mod report;
mod settings;
mod slots;
mod ticket;

use std::sync::Arc;

use arc_swap::ArcSwap;
use serde_json::value::RawValue;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolcrib_core::{ContentHash, Tool, args, breaker::BreakerPolicy, permission::Effect};

pub use refused::Refused;
pub use report::{BreakerChange, BreakerKey, BreakerReport, Guarded};
pub use settings::{AdmissionSettings, BreakerRule, Concurrency, ConcurrencyRule, RatePer, RateRule, RepeatSettings};
pub use ticket::{Settled, Ticket};

use crate::{clock::now_ms, event::Door, identity::Principal};
use charge::Charge;
use circuits::Circuits;
use plan::{Plan, Plans};
use repeat::Repeats;
use slots::{Entered, Slots, Wants};

/// Where the limits take the time from: milliseconds since the Unix epoch.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// A call that asks to be let in.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// The tool.
    pub tool: &'a Tool,
    /// The name it was called by; what selectors in the settings may speak of.
    pub exposed: &'a str,
    /// The door it came through: over the JSON API callers name sessions as they like.
    pub door: Door,
    /// Whose call.
    pub principal: &'a Principal,
    /// The class of credentials it is made with, where calls of one source are made with several: they do not share
    /// circuits (F26). An id, never the credential.
    pub credentials: Option<&'a str>,
    /// Digest of the arguments without what varies from call to call ([`Admission::digest`]).
    pub digest: ContentHash,
    /// What the call does to the world.
    pub effect: Effect,
    /// When the call must have ended; it does not wait for its turn any longer than that.
    pub deadline: Instant,
    /// Ends the waiting.
    pub cancel: &'a CancellationToken,
}

/// Lets calls in. Cheap to clone.
#[derive(Clone)]
pub struct Admission {
    inner: Arc<Inner>,
}

struct Inner {
    clock: Clock,
    plans: ArcSwap<Plans>,
    repeats: Repeats,
    circuits: Arc<Circuits>,
    slots: Arc<Slots>,
}

impl Admission {
    /// Without any history.
    pub fn new(settings: AdmissionSettings) -> Self {
        Self::with_clock(settings, Arc::new(now_ms))
    }

    /// The same with another clock, for tests.
    pub fn with_clock(settings: AdmissionSettings, clock: Clock) -> Self {
        Self {
            inner: Arc::new(Inner {
                plans: ArcSwap::from_pointee(Plans::new(settings, None)),
                repeats: Repeats::default(),
                circuits: Arc::new(Circuits::new(clock.clone())),
                slots: Arc::default(),
                clock,
            }),
        }
    }

    /// Replaces the settings whole. Circuits keep their state unless their policy changed; rates keep their counts
    /// unless the rule changed; calls under way and waiting ones keep what they began with.
    pub fn replace_settings(&self, settings: AdmissionSettings) {
        let before = self.inner.plans.load_full();
        self.inner.plans.store(Arc::new(Plans::new(settings, Some(&before))));
    }

    /// What [`Asked::digest`] is to be: of what the arguments mean, so that no other spelling of a number makes another
    /// call, and without those that the settings say make no difference. `plain` is the digest of their text.
    pub fn digest(&self, arguments: &RawValue, plain: ContentHash) -> ContentHash {
        let plans = self.inner.plans.load();
        let volatile = &plans.settings().repeat.volatile;
        if volatile.is_empty() {
            args::canonical::equivalent_digest_from(arguments, plain)
        } else {
            args::canonical::equivalent_digest_without(arguments, volatile)
        }
    }

    /// Lets a call in, in this order: guard against repetition, rates, circuit of the source, circuit of the tool,
    /// concurrency. Waits only for the last, first come first served, until its deadline or the longest wait; a call that
    /// waited asks the circuits again, because they may have opened meanwhile. A refused call does not count in rates.
    ///
    /// # Errors
    /// With what to tell the model and the operator.
    pub async fn admit(&self, asked: Asked<'_>) -> Result<Ticket, Refused> {
        let inner = &self.inner;
        let plan: Arc<Plan> = inner.plans.load().plan(asked.tool, asked.exposed);
        let mut now = (inner.clock)();
        let repeat = inner.repeats.look(&plan, &asked, now)?;
        let charge = Charge::take(&plan.rates, &asked, now)?;
        let path = plan.path(asked.credentials);
        let mut waited = std::time::Duration::ZERO;
        let held = match inner.slots.enter(Wants::of(&plan, &asked)) {
            Entered::Held(held) => held,
            Entered::Queued(queued) => {
                inner.circuits.check(&path)?;
                let started = Instant::now();
                let held = Box::pin(queued.wait(asked.deadline, plan.wait, asked.cancel)).await?;
                waited = started.elapsed();
                now = (inner.clock)();
                held
            }
            Entered::Full(refused) => {
                inner.circuits.check(&path)?;
                return Err(refused);
            }
        };
        let pass = inner.circuits.enter_at(path, now)?;
        charge.keep();
        Ok(Ticket::new(inner.clone(), pass, held, repeat, waited))
    }

    /// Every circuit that was used lately, those that are not closed first.
    pub fn breakers(&self) -> Vec<BreakerReport> {
        self.inner.circuits.reports()
    }

    /// Closes the circuits of a source or tool, whatever the credentials, and zeroes their counters; returns how many
    /// there were. Those of a source's tools are not touched.
    pub fn reset(&self, guarded: &Guarded) -> usize {
        self.inner.circuits.reset(guarded)
    }

    /// Puts another policy in force for a source or tool until the process ends, whatever the settings say, and resets
    /// its circuits; `None` takes that back. False when 1,024 others have one already.
    pub fn configure(&self, guarded: &Guarded, policy: Option<BreakerPolicy>) -> bool {
        self.inner.circuits.configure(guarded, policy)
    }

    /// Changes of circuits since the last time, oldest first, for the journal. At most 1,024 are kept. Costs one atomic
    /// read when there are none.
    pub fn take_changes(&self) -> Vec<BreakerChange> {
        self.inner.circuits.take_changes()
    }

    /// Whether [`Self::take_changes`] has any to give; one atomic read.
    pub fn has_changes(&self) -> bool {
        self.inner.circuits.has_changes()
    }

    /// Calls that run and calls that wait for their turn, as far as they are counted by any limit.
    pub fn occupancy(&self) -> (usize, usize) {
        self.inner.slots.occupancy()
    }
}
