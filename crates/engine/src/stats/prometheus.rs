//! The text format 0.0.4 of Prometheus. Labels hold tool and source ids only, of a bounded number.

use std::{collections::BTreeMap, fmt::Write};

use toolcrib_core::{Source, ToolId, breaker::BreakerState, histogram::Histogram};

use super::{Counters, OUTCOMES, Statistics};
use crate::{
    admit::{BreakerReport, Guarded},
    journal::JournalStatus,
};

/// Tools with series of their own.
const MAX_TOOLS: usize = 200;
/// Sources with series of their own.
const MAX_SOURCES: usize = 100;
/// Circuits that are listed one by one.
const MAX_BREAKERS: usize = 200;
/// Characters of a label.
const MAX_LABEL: usize = 200;
/// Where the rest is counted.
const OTHER: &str = "other";

/// Bounds of the duration histogram, microseconds. The one above 60 s is for calls that ran into that time limit.
const BOUNDS_US: [u64; 15] = [
    100,
    500,
    1_000,
    5_000,
    10_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    75_000_000,
    600_000_000,
];

impl Statistics {
    /// The counters as Prometheus reads them (`text/plain; version=0.0.4`).
    ///
    /// 200 tools and 100 sources have series of their own, those called most when there was still room; the others
    /// are counted as `other`. A series once begun goes on, so that no counter falls.
    pub fn prometheus(&self, breakers: &[BreakerReport], journal: Option<&JournalStatus>) -> String {
        let mut out = String::with_capacity(16 * 1024);
        self.calls(&mut out);
        circuits(&mut out, breakers);
        if let Some(journal) = journal {
            journal_gauges(&mut out, journal);
        }
        out
    }

    fn calls(&self, out: &mut String) {
        let mut tools = self.read();
        tools.sort_by(|a, b| b.1.calls().cmp(&a.1.calls()).then_with(|| a.0.cmp(&b.0)));
        let mut by_tool = BTreeMap::<&ToolId, &Counters>::new();
        let mut by_source = BTreeMap::<&Source, Histogram>::new();
        let mut other = self.other.lock().clone();
        other.merge(&self.unresolved.lock());
        let mut other_source = other.total.clone();
        {
            let mut labelled = self.labelled.lock();
            for (tool, counters) in &tools {
                if labelled.tools.contains(tool) || labelled.tools.len() < MAX_TOOLS {
                    labelled.tools.insert(tool.clone());
                    by_tool.insert(tool, counters);
                } else {
                    other.merge(counters);
                }
                if labelled.sources.contains(&tool.source) || labelled.sources.len() < MAX_SOURCES {
                    labelled.sources.insert(tool.source.clone());
                    by_source.entry(&tool.source).or_default().merge(&counters.total);
                } else {
                    other_source.merge(&counters.total);
                }
            }
        }
        head(out, "toolcrib_calls_total", "counter", "Calls that ended, by tool and outcome.");
        let mut series = |tool: &str, source: &str, counters: &Counters| {
            for (outcome, count) in OUTCOMES.iter().zip(counters.outcomes).filter(|(_, count)| *count > 0) {
                let _ = writeln!(
                    out,
                    "toolcrib_calls_total{{tool=\"{tool}\",source=\"{source}\",outcome=\"{}\"}} {count}",
                    outcome.word()
                );
            }
        };
        for (tool, counters) in by_tool {
            series(&label(&tool.to_string()), &label(&tool.source.to_string()), counters);
        }
        series(OTHER, OTHER, &other);
        head(out, "toolcrib_call_duration_seconds", "histogram", "Time from the door to the reply, by source.");
        for (source, histogram) in by_source {
            durations(out, &label(&source.to_string()), &histogram);
        }
        durations(out, OTHER, &other_source);
    }
}

fn durations(out: &mut String, source: &str, histogram: &Histogram) {
    if histogram.count() == 0 {
        return;
    }
    let name = "toolcrib_call_duration_seconds";
    for (bound, count) in BOUNDS_US.iter().zip(histogram.cumulative(&BOUNDS_US)) {
        let le = *bound as f64 / 1e6;
        let _ = writeln!(out, "{name}_bucket{{source=\"{source}\",le=\"{le}\"}} {count}");
    }
    let _ = writeln!(out, "{name}_bucket{{source=\"{source}\",le=\"+Inf\"}} {}", histogram.count());
    let _ = writeln!(out, "{name}_sum{{source=\"{source}\"}} {}", histogram.sum() as f64 / 1e6);
    let _ = writeln!(out, "{name}_count{{source=\"{source}\"}} {}", histogram.count());
}

fn circuits(out: &mut String, breakers: &[BreakerReport]) {
    let place = |state| match state {
        BreakerState::Closed => 0,
        BreakerState::HalfOpen => 1,
        BreakerState::Open => 2,
    };
    let mut states = [0_u64; 3];
    // Circuits that differ in credentials only are one series: the worst of them.
    let mut worst = BTreeMap::<&Guarded, usize>::new();
    let mut rejected = 0;
    for report in breakers {
        let state = place(report.snapshot.state);
        states[state] += 1;
        rejected += report.snapshot.totals.rejected;
        let known = worst.len() < MAX_BREAKERS || worst.contains_key(&report.key.guarded);
        if known {
            let worst = worst.entry(&report.key.guarded).or_default();
            *worst = state.max(*worst);
        }
    }
    head(out, "toolcrib_breakers", "gauge", "Circuit breakers by state.");
    for (state, count) in ["closed", "half-open", "open"].iter().zip(states) {
        let _ = writeln!(out, "toolcrib_breakers{{state=\"{state}\"}} {count}");
    }
    head(out, "toolcrib_breaker_state", "gauge", "State of a circuit breaker: 0 closed, 1 half-open, 2 open.");
    for (guarded, state) in worst {
        let source = label(&guarded.source().to_string());
        let tool = match guarded {
            Guarded::Tool(tool) => label(&tool.to_string()),
            Guarded::Source(_) => String::new(),
        };
        let _ = writeln!(out, "toolcrib_breaker_state{{tool=\"{tool}\",source=\"{source}\"}} {state}");
    }
    head(out, "toolcrib_breaker_rejected", "gauge", "Calls that circuit breakers refused since each was last reset.");
    let _ = writeln!(out, "toolcrib_breaker_rejected {rejected}");
}

fn journal_gauges(out: &mut String, journal: &JournalStatus) {
    let gauges = [
        (
            "toolcrib_journal_healthy",
            "gauge",
            "1 while the journal can be written.",
            u64::from(journal.error.is_none()),
        ),
        ("toolcrib_journal_queued", "gauge", "Records that wait to be written.", journal.queued as u64),
        ("toolcrib_journal_capacity", "gauge", "Records that may wait to be written.", journal.capacity as u64),
        ("toolcrib_journal_owed", "gauge", "Outcomes that the store has not taken so far.", journal.owed as u64),
        ("toolcrib_journal_lost_total", "counter", "Records given up.", journal.lost),
        (
            "toolcrib_journal_sink_dropped_total",
            "counter",
            "Records that slow evidence sinks were not given.",
            journal.sinks.iter().map(|sink| sink.dropped).sum(),
        ),
        (
            "toolcrib_journal_sink_failed_total",
            "counter",
            "Records that evidence sinks failed to take.",
            journal.sinks.iter().map(|sink| sink.failed).sum(),
        ),
    ];
    for (name, kind, help, value) in gauges {
        head(out, name, kind, help);
        let _ = writeln!(out, "{name} {value}");
    }
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

/// A label's value: bounded, escaped, one line.
pub(super) fn label(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars().take(MAX_LABEL) {
        match char {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            control if control.is_control() => out.push('\u{fffd}'),
            char => out.push(char),
        }
    }
    out
}
