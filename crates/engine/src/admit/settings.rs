//! What admission goes by: circuits, rates, places and the guard against repetition.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};
use toolcrib_core::{
    Source,
    breaker::BreakerPolicy,
    selector::{Groups, Selector},
};

/// How calls are let in.
#[derive(Clone, Debug)]
pub struct AdmissionSettings {
    /// Circuit breaker of every tool; `None` = none. Default: open after 3 faults in 300 s, for 60 s, closed again
    /// after 2 good probes (oneringai §2.3).
    pub breaker: Option<BreakerPolicy>,
    /// Circuit breaker of every source; `None` = none. Default: as of a tool, but 10 faults.
    pub source_breaker: Option<BreakerPolicy>,
    /// Other policies for single tools; the first that fits counts.
    pub breakers: Vec<BreakerRule>,
    /// Other policies for single sources.
    pub source_breakers: BTreeMap<Source, Option<BreakerPolicy>>,
    /// How often calls may be made; all that fit apply. Default: none.
    pub rates: Vec<RateRule>,
    /// How many calls run at once.
    pub concurrency: Concurrency,
    /// Tools that must not run beside others of their source, unless both only read. Default: none.
    pub exclusive: Vec<Selector>,
    /// Against models that go in circles.
    pub repeat: RepeatSettings,
    /// Groups that selectors may name.
    pub groups: Groups,
}

impl Default for AdmissionSettings {
    fn default() -> Self {
        Self {
            breaker: Some(BreakerPolicy::default()),
            source_breaker: Some(BreakerPolicy { failures: 10, ..BreakerPolicy::default() }),
            breakers: Vec::new(),
            source_breakers: BTreeMap::new(),
            rates: Vec::new(),
            concurrency: Concurrency::default(),
            exclusive: Vec::new(),
            repeat: RepeatSettings::default(),
            groups: Groups::default(),
        }
    }
}

/// A breaker policy for some tools. May loosen, so selectors are held against what local configuration knows
/// ([`Selector::grants`]).
#[derive(Clone, Debug)]
pub struct BreakerRule {
    /// Which tools.
    pub pattern: Vec<Selector>,
    /// The policy; `None` = no breaker.
    pub policy: Option<BreakerPolicy>,
}

/// Whose calls a rate counts together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RatePer {
    /// Of a tool, whoever calls.
    #[default]
    Tool,
    /// Of a source.
    Source,
    /// Of a user and tool.
    User,
    /// Of a tenant and tool.
    Tenant,
    /// Of a session and tool; calls without a session count by user and agent.
    Session,
}

impl RatePer {
    /// The word of the configuration.
    pub fn word(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Source => "source",
            Self::User => "user",
            Self::Tenant => "tenant",
            Self::Session => "session",
        }
    }
}

/// How often calls may be made.
#[derive(Clone, Debug)]
pub struct RateRule {
    /// Which tools.
    pub pattern: Vec<Selector>,
    /// Whose calls are counted together.
    pub per: RatePer,
    /// Most calls in the window. Up to 1,000 in any window, exactly; above, as a bucket of that many that fills up again
    /// in one window.
    pub limit: u32,
    /// The window, milliseconds.
    pub window_ms: u64,
}

impl RateRule {
    /// The rule in words.
    pub fn text(&self) -> String {
        let pattern: Vec<_> = self.pattern.iter().map(Selector::as_str).collect();
        format!("{} calls of {} per {} ms and {}", self.limit, pattern.join(", "), self.window_ms, self.per.word())
    }

    pub(super) fn same(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

/// How many calls run at once; further ones wait for their turn.
#[derive(Clone, Debug)]
pub struct Concurrency {
    /// Of one tool. Default: no limit.
    pub tool: Option<u32>,
    /// Of one source. Default 64.
    pub source: Option<u32>,
    /// Of one user. Default: no limit.
    pub user: Option<u32>,
    /// Of one tenant. Default: no limit.
    pub tenant: Option<u32>,
    /// Other limits for single tools; the first that fits counts.
    pub tools: Vec<ConcurrencyRule>,
    /// Other limits for single sources.
    pub sources: BTreeMap<Source, Option<u32>>,
    /// Most calls of one source that wait. Default 256; 1,024 of all sources together.
    pub queue: u32,
    /// Longest wait, if the call's deadline is not sooner. Default 30 s.
    pub wait: Duration,
}

impl Default for Concurrency {
    fn default() -> Self {
        Self {
            tool: None,
            source: Some(64),
            user: None,
            tenant: None,
            tools: Vec::new(),
            sources: BTreeMap::new(),
            queue: 256,
            wait: Duration::from_secs(30),
        }
    }
}

/// How many calls of some tools, each, run at once. May loosen, as a [`BreakerRule`].
#[derive(Clone, Debug)]
pub struct ConcurrencyRule {
    /// Which tools.
    pub pattern: Vec<Selector>,
    /// How many; `None` = no limit.
    pub limit: Option<u32>,
}

/// Against models that go in circles: calls in a row with the same arguments *and* the same result, so that whoever
/// waits for something to change may ask again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepeatSettings {
    /// The result says so from this many in a row on; 0 = never. Default 10.
    pub warn_after: u32,
    /// Refused from this many in a row on; 0 = never, 1 counts as 2. Default 30.
    pub refuse_after: u32,
    /// Arguments that do not make a difference (top-level names).
    pub volatile: Vec<String>,
    /// A pause of this many milliseconds starts the count anew. Default 600,000.
    pub idle_ms: u64,
}

impl Default for RepeatSettings {
    fn default() -> Self {
        Self { warn_after: 10, refuse_after: 30, volatile: Vec::new(), idle_ms: 600_000 }
    }
}
