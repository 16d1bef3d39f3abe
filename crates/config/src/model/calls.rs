//! How calls are let in, and what is recorded of them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::clamp;
use crate::Diagnostic;

/// How calls are let in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CallsConfig {
    /// Milliseconds for a call whose server sets none, 100 to 600000.
    #[schemars(range(min = 100, max = 600_000))]
    pub timeout_ms: u64,
    /// Times for single tools; the first that fits counts, before the server's.
    pub timeouts: Vec<TimeoutConfig>,
    /// Takes a tool that fails again and again out of the way.
    pub breaker: BreakerConfig,
    /// The same for a whole source.
    pub source_breaker: BreakerConfig,
    /// Other circuit breakers for single tools or sources; the first that fits counts.
    pub breakers: Vec<BreakerRuleConfig>,
    /// How many calls run at once.
    pub concurrency: ConcurrencyConfig,
    /// How often calls may be made.
    pub rates: Vec<RateConfig>,
    /// Selectors of tools that must not run beside others of their source, unless both only read.
    pub exclusive: Vec<String>,
    /// Against models that go in circles.
    pub repeat: RepeatConfig,
    /// Milliseconds in which a call of a tool that may destroy something is not run a second time with the same arguments,
    /// unless a person approved it once more, 0 to 3600000; 0 = off.
    #[schemars(range(min = 0, max = 3_600_000))]
    pub duplicates_ms: u64,
    /// Selectors of tools that answer with a handle at once and run in the background.
    pub background: Vec<String>,
    /// Selectors of tools that may safely run twice: a call that was lost on the way is tried once more.
    pub idempotent: Vec<String>,
}

impl Default for CallsConfig {
    fn default() -> Self {
        Self {
            timeout_ms: 60_000,
            timeouts: Vec::new(),
            breaker: BreakerConfig::default(),
            source_breaker: BreakerConfig { failures: 10, ..BreakerConfig::default() },
            breakers: Vec::new(),
            concurrency: ConcurrencyConfig::default(),
            rates: Vec::new(),
            exclusive: Vec::new(),
            repeat: RepeatConfig::default(),
            duplicates_ms: 60_000,
            background: Vec::new(),
            idempotent: Vec::new(),
        }
    }
}

/// How long calls of some tools may take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimeoutConfig {
    /// Which tools, as a selector.
    pub tool: String,
    /// Milliseconds, 100 to 600000.
    #[schemars(range(min = 100, max = 600_000))]
    pub ms: u64,
}

/// A circuit breaker. Only faults count: no connection, no answer in time, an answer that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BreakerConfig {
    /// Whether there is one.
    pub enabled: bool,
    /// Faults that open it, 1 to 1000. Default 3 for a tool, 10 for a source.
    #[schemars(range(min = 1, max = 1_000))]
    pub failures: u64,
    /// Milliseconds in which they must happen, 1000 to 86400000.
    #[schemars(range(min = 1_000, max = 86_400_000))]
    pub window_ms: u64,
    /// Milliseconds until a call is let through to see, 100 to 86400000.
    #[schemars(range(min = 100, max = 86_400_000))]
    pub open_ms: u64,
    /// Good calls that close it again, 1 to 100.
    #[schemars(range(min = 1, max = 100))]
    pub successes: u64,
}

impl Default for BreakerConfig {
    fn default() -> Self {
        Self { enabled: true, failures: 3, window_ms: 300_000, open_ms: 60_000, successes: 2 }
    }
}

impl BreakerConfig {
    fn settle(&mut self, key: &str, findings: &mut Vec<Diagnostic>) {
        clamp(&mut self.failures, 1, 1_000, &format!("{key}.failures"), findings);
        clamp(&mut self.window_ms, 1_000, 86_400_000, &format!("{key}.window_ms"), findings);
        clamp(&mut self.open_ms, 100, 86_400_000, &format!("{key}.open_ms"), findings);
        clamp(&mut self.successes, 1, 100, &format!("{key}.successes"), findings);
    }
}

/// The circuit breaker of some tools or of one source. What is left out is as in `calls.breaker` or `calls.source_breaker`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BreakerRuleConfig {
    /// Which tools, as a selector; each has its own.
    pub tool: Option<String>,
    /// Which source instead (`mcp:github`): the one for all its tools together.
    pub source: Option<String>,
    /// Whether there is one.
    pub enabled: Option<bool>,
    /// Faults that open it, 1 to 1000.
    #[schemars(range(min = 1, max = 1_000))]
    pub failures: Option<u64>,
    /// Milliseconds in which they must happen, 1000 to 86400000.
    #[schemars(range(min = 1_000, max = 86_400_000))]
    pub window_ms: Option<u64>,
    /// Milliseconds until a call is let through to see, 100 to 86400000.
    #[schemars(range(min = 100, max = 86_400_000))]
    pub open_ms: Option<u64>,
    /// Good calls that close it again, 1 to 100.
    #[schemars(range(min = 1, max = 100))]
    pub successes: Option<u64>,
}

impl BreakerRuleConfig {
    /// The whole breaker, over what holds otherwise.
    pub fn over(&self, otherwise: BreakerConfig) -> BreakerConfig {
        BreakerConfig {
            enabled: self.enabled.unwrap_or(otherwise.enabled),
            failures: self.failures.unwrap_or(otherwise.failures),
            window_ms: self.window_ms.unwrap_or(otherwise.window_ms),
            open_ms: self.open_ms.unwrap_or(otherwise.open_ms),
            successes: self.successes.unwrap_or(otherwise.successes),
        }
    }

    fn settle(&mut self, key: &str, findings: &mut Vec<Diagnostic>) {
        let bounds = [
            (&mut self.failures, 1, 1_000, "failures"),
            (&mut self.window_ms, 1_000, 86_400_000, "window_ms"),
            (&mut self.open_ms, 100, 86_400_000, "open_ms"),
            (&mut self.successes, 1, 100, "successes"),
        ];
        for (value, least, most, name) in bounds {
            if let Some(value) = value {
                clamp(value, least, most, &format!("{key}.{name}"), findings);
            }
        }
    }
}

/// How many calls of some tools, each, run at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolConcurrencyConfig {
    /// Which tools, as a selector.
    pub tool: String,
    /// How many, 1 to 10000.
    #[schemars(range(min = 1, max = 10_000))]
    pub limit: u64,
}

/// How many calls run at once; further ones wait for their turn within their time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ConcurrencyConfig {
    /// Of one tool, 1 to 10000.
    #[schemars(range(min = 1, max = 10_000))]
    pub tool: Option<u64>,
    /// Of one source, 1 to 10000.
    #[schemars(range(min = 1, max = 10_000))]
    pub source: u64,
    /// Of one user, 1 to 10000.
    #[schemars(range(min = 1, max = 10_000))]
    pub user: Option<u64>,
    /// Of one tenant, 1 to 10000.
    #[schemars(range(min = 1, max = 10_000))]
    pub tenant: Option<u64>,
    /// Other limits for single tools; the first that fits counts.
    pub tools: Vec<ToolConcurrencyConfig>,
    /// Other limits for single sources, by their names (`mcp:github`), 1 to 10000.
    pub sources: BTreeMap<String, u64>,
}

impl Default for ConcurrencyConfig {
    fn default() -> Self {
        Self { tool: None, source: 64, user: None, tenant: None, tools: Vec::new(), sources: BTreeMap::new() }
    }
}

/// Whose calls a rate counts together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// Of a session and tool.
    Session,
}

/// How often calls may be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RateConfig {
    /// Which tools, as a selector.
    pub tool: String,
    /// Whose calls are counted together.
    #[serde(default)]
    pub per: RatePer,
    /// Most calls in the window, 1 to 100000.
    #[schemars(range(min = 1, max = 100_000))]
    pub limit: u64,
    /// The window in milliseconds, 100 to 86400000.
    #[schemars(range(min = 100, max = 86_400_000))]
    pub window_ms: u64,
}

/// Against models that go in circles: calls in a row with the same arguments and the same result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RepeatConfig {
    /// The result says so from this many on, 0 to 10000; 0 = never.
    #[schemars(range(min = 0, max = 10_000))]
    pub warn_after: u64,
    /// Refused from this many on, 0 to 10000; 0 = never.
    #[schemars(range(min = 0, max = 10_000))]
    pub refuse_after: u64,
    /// Arguments that do not make a difference (top-level names).
    pub volatile: Vec<String>,
}

impl Default for RepeatConfig {
    fn default() -> Self {
        Self { warn_after: 10, refuse_after: 30, volatile: Vec::new() }
    }
}

impl CallsConfig {
    pub(crate) fn settle(&mut self, findings: &mut Vec<Diagnostic>) {
        clamp(&mut self.timeout_ms, 100, 600_000, "calls.timeout_ms", findings);
        for (index, timeout) in self.timeouts.iter_mut().enumerate() {
            clamp(&mut timeout.ms, 100, 600_000, &format!("calls.timeouts[{index}].ms"), findings);
        }
        self.breaker.settle("calls.breaker", findings);
        self.source_breaker.settle("calls.source_breaker", findings);
        for (index, rule) in self.breakers.iter_mut().enumerate() {
            rule.settle(&format!("calls.breakers[{index}]"), findings);
        }
        let ConcurrencyConfig { tool, source, user, tenant, tools, sources } = &mut self.concurrency;
        for (index, rule) in tools.iter_mut().enumerate() {
            clamp(&mut rule.limit, 1, 10_000, &format!("calls.concurrency.tools[{index}].limit"), findings);
        }
        for (name, limit) in sources {
            clamp(limit, 1, 10_000, &format!("calls.concurrency.sources.{name}"), findings);
        }
        clamp(source, 1, 10_000, "calls.concurrency.source", findings);
        for (limit, key) in [(tool, "tool"), (user, "user"), (tenant, "tenant")] {
            if let Some(limit) = limit {
                clamp(limit, 1, 10_000, &format!("calls.concurrency.{key}"), findings);
            }
        }
        for (index, rate) in self.rates.iter_mut().enumerate() {
            clamp(&mut rate.limit, 1, 100_000, &format!("calls.rates[{index}].limit"), findings);
            clamp(&mut rate.window_ms, 100, 86_400_000, &format!("calls.rates[{index}].window_ms"), findings);
        }
        clamp(&mut self.repeat.warn_after, 0, 10_000, "calls.repeat.warn_after", findings);
        clamp(&mut self.repeat.refuse_after, 0, 10_000, "calls.repeat.refuse_after", findings);
        clamp(&mut self.duplicates_ms, 0, 3_600_000, "calls.duplicates_ms", findings);
    }
}

/// What is recorded of calls. Arguments and results are kept as digests only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AuditConfig {
    /// Whether there is a journal. Without it nothing is known of calls that were under way when the process died.
    pub enabled: bool,
    /// Also record calls that change nothing.
    pub read_only: bool,
    /// Also record what was searched for: queries with secrets masked, and the first tools found. `toolcrib eval
    /// --from-traffic` measures search on them.
    pub searches: bool,
    /// Days that records are kept, 1 to 3650.
    #[schemars(range(min = 1, max = 3_650))]
    pub days: u64,
}

impl Default for AuditConfig {
    fn default() -> Self {
        Self { enabled: true, read_only: true, searches: true, days: 90 }
    }
}

impl AuditConfig {
    pub(crate) fn settle(&mut self, findings: &mut Vec<Diagnostic>) {
        clamp(&mut self.days, 1, 3_650, "audit.days", findings);
    }
}
