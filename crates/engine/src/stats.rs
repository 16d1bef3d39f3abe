//! Statistics of calls: per tool how many ended how, how long they took, when the last one was.
//!
//! Owns the counters and what is derived from them: [`StatsSnapshot`] for reports and [`Statistics::prometheus`] for
//! scrapers. Bounded whatever is called: 4,096 tools, the rest together.

mod prometheus;
mod snapshot;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use parking_lot::{Mutex, RwLock};
use toolcrib_core::{Source, ToolId, histogram::Histogram};

pub use snapshot::{Latency, NamedStats, StatsSnapshot, ToolStats};

use crate::{
    clock::now_ms,
    event::{CallEvent, EventSink, Outcome},
    journal::{JournalRecord, Kind},
};

/// Tools counted apart.
const MAX_TOOLS: usize = 4_096;

/// All outcomes, in the order in which they are shown.
pub(crate) const OUTCOMES: [Outcome; 8] = [
    Outcome::Ok,
    Outcome::ToolError,
    Outcome::Denied,
    Outcome::Invalid,
    Outcome::TimedOut,
    Outcome::Cancelled,
    Outcome::Unavailable,
    Outcome::Unknown,
];

/// What is known of one tool, or of several together.
#[derive(Clone, Default)]
struct Counters {
    outcomes: [u64; OUTCOMES.len()],
    total: Histogram,
    /// Of the calls that reached a backend.
    backend: Histogram,
    result_bytes: u64,
    last_ms: u64,
}

/// One call as it is counted.
#[derive(Clone, Copy)]
struct Call {
    outcome: Outcome,
    total_us: u64,
    backend_us: u64,
    result_bytes: u64,
    at_ms: u64,
}

impl Counters {
    fn count(&mut self, call: Call) {
        let place = OUTCOMES.iter().position(|outcome| *outcome == call.outcome).unwrap_or(OUTCOMES.len() - 1);
        self.outcomes[place] += 1;
        self.total.record(call.total_us);
        if call.backend_us > 0 {
            self.backend.record(call.backend_us);
        }
        self.result_bytes = self.result_bytes.saturating_add(call.result_bytes);
        self.last_ms = self.last_ms.max(call.at_ms);
    }

    fn merge(&mut self, other: &Self) {
        for (mine, more) in self.outcomes.iter_mut().zip(other.outcomes) {
            *mine += more;
        }
        self.total.merge(&other.total);
        self.backend.merge(&other.backend);
        self.result_bytes = self.result_bytes.saturating_add(other.result_bytes);
        self.last_ms = self.last_ms.max(other.last_ms);
    }

    fn calls(&self) -> u64 {
        self.outcomes.iter().sum()
    }
}

/// Counts calls. Attach it to the engine as an observer; one lock per tool, held for some tens of nanoseconds.
pub struct Statistics {
    since_ms: u64,
    tools: RwLock<HashMap<ToolId, Arc<Mutex<Counters>>>>,
    /// Tools beyond the bound.
    other: Mutex<Counters>,
    /// Calls whose name led to no tool.
    unresolved: Mutex<Counters>,
    /// Which tools and sources have series of their own: once given, never taken, so that no counter falls.
    labelled: Mutex<Labelled>,
}

#[derive(Default)]
struct Labelled {
    tools: BTreeSet<ToolId>,
    sources: BTreeSet<Source>,
}

impl Default for Statistics {
    fn default() -> Self {
        Self::since(now_ms())
    }
}

impl Statistics {
    fn since(since_ms: u64) -> Self {
        Self {
            since_ms,
            tools: RwLock::default(),
            other: Mutex::default(),
            unresolved: Mutex::default(),
            labelled: Mutex::default(),
        }
    }

    fn count(&self, tool: Option<&ToolId>, call: Call) {
        let Some(tool) = tool else {
            self.unresolved.lock().count(call);
            return;
        };
        if let Some(counters) = self.tools.read().get(tool) {
            counters.lock().count(call);
            return;
        }
        let mut tools = self.tools.write();
        if tools.len() >= MAX_TOOLS && !tools.contains_key(tool) {
            drop(tools);
            self.other.lock().count(call);
            return;
        }
        tools.entry(tool.clone()).or_default().lock().count(call);
    }

    /// Everything so far.
    pub fn snapshot(&self) -> StatsSnapshot {
        let (tools, other, unresolved) = (self.read(), self.other.lock().clone(), self.unresolved.lock().clone());
        snapshot::of(self.since_ms, tools, &other, &unresolved)
    }

    /// The same from a journal, for processes that did not see the calls themselves: outcomes, and calls that a dead
    /// process left open, which count as `unknown`.
    pub fn from_records(records: impl IntoIterator<Item = JournalRecord>) -> StatsSnapshot {
        let mut statistics = Self::of_a_journal();
        for record in records {
            statistics.add(&record);
        }
        statistics.snapshot()
    }

    /// Nothing so far, to be [fed](Self::add) with a journal page by page.
    pub fn of_a_journal() -> Self {
        Self::since(0)
    }

    /// Counts a record of a journal, if it is one that ended a call: an outcome, or what was recovered of a dead process.
    pub fn add(&mut self, record: &JournalRecord) {
        if let (Kind::Outcome | Kind::Recovered, Some(outcome)) = (record.kind, record.outcome) {
            if self.since_ms == 0 {
                self.since_ms = record.at_ms;
            }
            let tool = record.tool.as_deref().and_then(|tool| tool.parse().ok());
            let call = Call {
                outcome,
                total_us: record.total_us,
                backend_us: record.backend_us,
                result_bytes: record.result_bytes,
                at_ms: record.at_ms,
            };
            self.count(tool.as_ref(), call);
        }
    }

    fn read(&self) -> Vec<(ToolId, Counters)> {
        // The map is not locked while counters are copied: calls go on.
        let tools: Vec<_> = self.tools.read().iter().map(|(tool, counters)| (tool.clone(), counters.clone())).collect();
        tools.into_iter().map(|(tool, counters)| (tool, counters.lock().clone())).collect()
    }
}

impl EventSink for Statistics {
    fn record(&self, event: &CallEvent) {
        let us = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let call = Call {
            outcome: event.outcome,
            total_us: us(event.total_time),
            // Less than a microsecond is still a call.
            backend_us: if event.backend_time.is_zero() { 0 } else { us(event.backend_time).max(1) },
            result_bytes: event.result_bytes as u64,
            at_ms: now_ms(),
        };
        self.count(event.tool.as_ref(), call);
    }
}
