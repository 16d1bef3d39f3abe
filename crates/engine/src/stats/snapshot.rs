//! Statistics as they stand at one moment, for whoever reads them.

use std::collections::BTreeMap;

use serde::Serialize;
use toolcrib_core::{ToolId, histogram::Histogram};

use super::{Counters, OUTCOMES};
use crate::event::Outcome;

/// How long something took, microseconds. Percentiles are within 6.25 %, the rest is exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Latency {
    /// How many were measured.
    pub count: u64,
    /// The mean.
    pub mean_us: u64,
    /// Half took no longer.
    pub p50_us: u64,
    /// Nine of ten took no longer.
    pub p90_us: u64,
    /// 99 of 100 took no longer.
    pub p99_us: u64,
    /// The longest.
    pub max_us: u64,
}

impl Latency {
    fn of(histogram: &Histogram) -> Self {
        let quantile = |share| histogram.quantile(share).unwrap_or_default();
        Self {
            count: histogram.count(),
            mean_us: histogram.sum().checked_div(histogram.count()).unwrap_or_default(),
            p50_us: quantile(0.5),
            p90_us: quantile(0.9),
            p99_us: quantile(0.99),
            max_us: histogram.max(),
        }
    }
}

/// What is known of one tool, or of all together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ToolStats {
    /// Calls that ended, however.
    pub calls: u64,
    /// Calls that ended well.
    pub ok: u64,
    /// Calls that did not, by outcome; outcomes that did not happen are left out.
    pub failed: BTreeMap<&'static str, u64>,
    /// From the door to the reply.
    pub total: Latency,
    /// Inside the backend, of the calls that got there.
    pub backend: Latency,
    /// Bytes of results before they were cut.
    pub result_bytes: u64,
    /// When the last call ended, milliseconds since the Unix epoch; 0 = never.
    pub last_ms: u64,
}

impl ToolStats {
    fn of(counters: &Counters) -> Self {
        let counts = OUTCOMES.iter().zip(counters.outcomes);
        Self {
            calls: counters.calls(),
            ok: counters.outcomes[0],
            failed: counts
                .filter(|(outcome, count)| **outcome != Outcome::Ok && *count > 0)
                .map(|(outcome, count)| (outcome.word(), count))
                .collect(),
            total: Latency::of(&counters.total),
            backend: Latency::of(&counters.backend),
            result_bytes: counters.result_bytes,
            last_ms: counters.last_ms,
        }
    }
}

/// Statistics at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StatsSnapshot {
    /// Since when calls are counted, milliseconds since the Unix epoch.
    pub since_ms: u64,
    /// All calls together.
    pub totals: ToolStats,
    /// The ten tools called most.
    pub top: Vec<ToolId>,
    /// Every tool, those called most first.
    pub tools: Vec<NamedStats>,
    /// Tools beyond the 4,096 that are counted apart.
    pub other: ToolStats,
    /// Calls whose name led to no tool.
    pub unresolved: ToolStats,
}

/// One tool's part of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NamedStats {
    /// The tool.
    pub tool: ToolId,
    /// What is known of it.
    #[serde(flatten)]
    pub stats: ToolStats,
}

pub(super) fn of(
    since_ms: u64,
    tools: Vec<(ToolId, Counters)>,
    other: &Counters,
    unresolved: &Counters,
) -> StatsSnapshot {
    let mut totals = Counters::default();
    for counters in tools.iter().map(|(_, counters)| counters).chain([other, unresolved]) {
        totals.merge(counters);
    }
    let mut tools: Vec<_> =
        tools.into_iter().map(|(tool, counters)| NamedStats { tool, stats: ToolStats::of(&counters) }).collect();
    tools.sort_by(|a, b| b.stats.calls.cmp(&a.stats.calls).then_with(|| a.tool.cmp(&b.tool)));
    StatsSnapshot {
        since_ms,
        totals: ToolStats::of(&totals),
        top: tools.iter().take(10).map(|named| named.tool.clone()).collect(),
        tools,
        other: ToolStats::of(other),
        unresolved: ToolStats::of(unresolved),
    }
}
