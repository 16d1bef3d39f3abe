//! Statistics of calls, as reports and as Prometheus reads them.

use std::time::Duration;

use toolcrib_core::{
    Source, ToolId,
    breaker::{BreakerPolicy, BreakerState},
};
use toolcrib_engine::{
    CallEvent, Door, EventSink, Outcome,
    admit::{Admission, AdmissionSettings, BreakerReport},
    journal::{JournalRecord, JournalStatus, Kind, SinkReport},
    stats::{Statistics, StatsSnapshot},
};

fn event(tool: Option<&str>, outcome: Outcome, total_us: u64) -> CallEvent {
    CallEvent {
        call_id: 1,
        door: Door::Direct,
        tool: tool.map(|tool| tool.parse().unwrap()),
        name: "zebra \"as\"\nthe caller wrote it".into(),
        outcome,
        reason: Some("a reason".into()),
        repairs: 0,
        result_bytes: 10,
        backend_time: Duration::from_micros(if outcome == Outcome::Denied { 0 } else { total_us / 2 }),
        total_time: Duration::from_micros(total_us),
    }
}

fn record(tool: Option<&str>, outcome: Outcome, total_us: u64) -> JournalRecord {
    let event = event(tool, outcome, total_us);
    JournalRecord {
        tool: tool.map(str::to_owned),
        outcome: Some(outcome),
        result_bytes: 10,
        total_us,
        backend_us: u64::try_from(event.backend_time.as_micros()).unwrap(),
        ..JournalRecord::new(Kind::Outcome, 1_000, "run")
    }
}

/// Calls that cover every outcome.
fn calls() -> Vec<(Option<&'static str>, Outcome, u64)> {
    let mut calls = vec![
        (Some("mcp:s/b"), Outcome::ToolError, 50),
        (Some("mcp:s/b"), Outcome::TimedOut, 60_000_000),
        (Some("mcp:t/c"), Outcome::Denied, 20),
        (Some("builtin/d"), Outcome::Unknown, 700),
        (Some("builtin/d"), Outcome::Unavailable, 800),
        (Some("builtin/d"), Outcome::Cancelled, 900),
        (None, Outcome::Invalid, 5),
    ];
    calls.extend((1..=100).map(|ms| (Some("mcp:s/a"), Outcome::Ok, ms * 1_000)));
    calls
}

#[track_caller]
fn near(got: u64, want: u64) {
    assert!(got.abs_diff(want) * 16 <= want, "{got} is not within 6.25 % of {want}");
}

fn check_snapshot(snapshot: &StatsSnapshot) {
    assert_eq!(snapshot.totals.calls, 107);
    assert_eq!((snapshot.totals.ok, snapshot.unresolved.calls, snapshot.other.calls), (100, 1, 0));
    let failed: Vec<_> = snapshot.totals.failed.iter().map(|(kind, count)| (*kind, *count)).collect();
    let each = ["cancelled", "denied", "invalid", "timed_out", "tool_error", "unavailable", "unknown"];
    assert_eq!(failed, each.map(|kind| (kind, 1)));
    let order: Vec<_> = snapshot.tools.iter().map(|named| (named.tool.to_string(), named.stats.calls)).collect();
    let want = [("mcp:s/a", 100), ("builtin/d", 3), ("mcp:s/b", 2), ("mcp:t/c", 1)];
    assert_eq!(order, want.map(|(tool, calls)| (tool.to_owned(), calls)));
    assert_eq!(snapshot.top.len(), 4);
    let a = &snapshot.tools[0].stats;
    near(a.total.p50_us, 50_000);
    near(a.total.p90_us, 90_000);
    near(a.total.p99_us, 99_000);
    near(a.backend.p50_us, 25_000);
    assert_eq!((a.total.max_us, a.total.mean_us, a.total.count, a.result_bytes), (100_000, 50_500, 100, 1_000));
    let c = &snapshot.tools[3].stats;
    assert_eq!((c.total.count, c.backend.count), (1, 0), "a denied call never reached a backend");
    assert!(a.last_ms > 0);
}

#[test]
fn calls_are_counted_by_tool_and_outcome() {
    let statistics = Statistics::default();
    for (tool, outcome, us) in calls() {
        statistics.record(&event(tool, outcome, us));
    }
    check_snapshot(&statistics.snapshot());
    let json = serde_json::to_value(statistics.snapshot()).unwrap();
    assert_eq!(json["tools"][0]["tool"], "mcp:s/a");
    assert_eq!(json["tools"][0]["total"]["max_us"], 100_000);
    assert_eq!(json["top"][0], "mcp:s/a");
}

#[test]
fn a_journal_gives_the_same_statistics() {
    let mut records: Vec<_> = calls().into_iter().map(|(tool, outcome, us)| record(tool, outcome, us)).collect();
    // Intents and other kinds are no calls that ended; neither is a result that came late.
    records.push(JournalRecord::new(Kind::Intent, 2_000, "run"));
    records.push(JournalRecord { kind: Kind::Late, ..record(Some("mcp:s/a"), Outcome::Ok, 1) });
    check_snapshot(&Statistics::from_records(records.clone()));
    let mut fed = Statistics::of_a_journal();
    records.chunks(10).flatten().for_each(|record| fed.add(record));
    check_snapshot(&fed.snapshot());
    assert_eq!(fed.snapshot().since_ms, 1_000, "when the first call ended");
    // A call that a dead process left open is one.
    let open = JournalRecord { kind: Kind::Recovered, ..record(Some("mcp:s/a"), Outcome::Unknown, 0) };
    let snapshot = Statistics::from_records([open]);
    assert_eq!((snapshot.totals.calls, snapshot.since_ms), (1, 1_000));
    assert_eq!(Statistics::from_records([]).totals.calls, 0);
}

#[test]
fn more_tools_than_are_kept_apart_are_counted_together() {
    let statistics = Statistics::default();
    for number in 0..5_000 {
        statistics.record(&event(Some(&format!("mcp:s/t{number}")), Outcome::Ok, 10));
    }
    let snapshot = statistics.snapshot();
    assert_eq!((snapshot.tools.len(), snapshot.other.calls, snapshot.totals.calls), (4_096, 904, 5_000));
    assert_eq!(snapshot.top.len(), 10);
}

/// The value of a series.
#[track_caller]
fn value(text: &str, series: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {series} in\n{text}")).parse().unwrap()
}

fn breakers() -> Vec<BreakerReport> {
    let mut report = BreakerReport {
        key: toolcrib_engine::admit::BreakerKey { guarded: "mcp:s/a".parse().unwrap(), credentials: None },
        policy: BreakerPolicy::default(),
        snapshot: toolcrib_core::breaker::Breaker::new(BreakerPolicy::default()).snapshot(0),
    };
    let mut open = report.clone();
    open.key.credentials = Some("ann".into());
    open.snapshot.state = BreakerState::Open;
    open.snapshot.totals.rejected = 4;
    report.snapshot.totals.rejected = 1;
    let mut source = report.clone();
    source.key.guarded = "mcp:s".parse().unwrap();
    vec![open, report, source]
}

#[test]
fn prometheus_reads_counters_durations_circuits_and_the_journal() {
    let statistics = Statistics::default();
    for (tool, outcome, us) in calls() {
        statistics.record(&event(tool, outcome, us));
    }
    let journal = JournalStatus {
        queued: 3,
        capacity: 4_096,
        owed: 1,
        lost: 2,
        error: Some("disk full: /home/ann".into()),
        recovered: 0,
        sinks: vec![SinkReport { name: "mine".into(), kept: 1, failed: 2, dropped: 7 }],
    };
    let text = statistics.prometheus(&breakers(), Some(&journal));
    let want = [
        (r#"toolcrib_calls_total{tool="mcp:s/a",source="mcp:s",outcome="ok"}"#, 100.0),
        (r#"toolcrib_calls_total{tool="mcp:s/b",source="mcp:s",outcome="timed_out"}"#, 1.0),
        (r#"toolcrib_calls_total{tool="other",source="other",outcome="invalid"}"#, 1.0),
        (r#"toolcrib_call_duration_seconds_bucket{source="mcp:s",le="0.0001"}"#, 1.0),
        (r#"toolcrib_call_duration_seconds_bucket{source="mcp:s",le="0.25"}"#, 101.0),
        (r#"toolcrib_call_duration_seconds_bucket{source="mcp:s",le="75"}"#, 102.0),
        (r#"toolcrib_call_duration_seconds_bucket{source="mcp:s",le="+Inf"}"#, 102.0),
        (r#"toolcrib_call_duration_seconds_count{source="mcp:s"}"#, 102.0),
        (r#"toolcrib_call_duration_seconds_sum{source="builtin"}"#, 0.0024),
        (r#"toolcrib_breakers{state="open"}"#, 1.0),
        (r#"toolcrib_breakers{state="closed"}"#, 2.0),
        (r#"toolcrib_breaker_state{tool="mcp:s/a",source="mcp:s"}"#, 2.0),
        (r#"toolcrib_breaker_state{tool="",source="mcp:s"}"#, 0.0),
        ("toolcrib_breaker_rejected", 6.0),
        ("toolcrib_journal_healthy", 0.0),
        ("toolcrib_journal_queued", 3.0),
        ("toolcrib_journal_lost_total", 2.0),
        ("toolcrib_journal_sink_dropped_total", 7.0),
    ];
    for (series, number) in want {
        let got = value(&text, series);
        assert!((got - number).abs() < 1e-9, "{series}: {got}");
    }
    for foreign in ["zebra", "a reason", "ann", "disk full", "mine"] {
        assert!(!text.contains(foreign), "only ids of tools and sources: {foreign}");
    }
    // Every series has its type told once, before it; every line is one or the other.
    let mut told = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            told.push(rest.split(' ').next().unwrap());
        } else if !line.starts_with("# HELP ") {
            let name = line.split(['{', ' ']).next().unwrap();
            let base = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
            assert_eq!(told.last(), Some(&base), "{line}");
            assert!(line.rsplit_once(' ').unwrap().1.parse::<f64>().is_ok(), "{line}");
        }
    }
    told.sort_unstable();
    assert!(told.windows(2).all(|pair| pair[0] != pair[1]), "{told:?}");
    assert!(!statistics.prometheus(&[], None).contains("journal"), "no journal, no gauges");
}

#[test]
fn series_are_bounded_and_never_fall() {
    let statistics = Statistics::default();
    let call = |number: usize, times: usize| {
        for _ in 0..times {
            statistics.record(&event(Some(&format!("mcp:s{number}/t{number}")), Outcome::Ok, 1_000));
        }
    };
    (0..300).for_each(|number| call(number, 300 - number));
    let first = statistics.prometheus(&[], None);
    let series = |text: &str, name: &str| text.lines().filter(|line| line.starts_with(name)).count();
    assert_eq!(series(&first, "toolcrib_calls_total"), 201, "200 tools and the rest");
    assert_eq!(series(&first, "toolcrib_call_duration_seconds_count"), 101, "100 sources and the rest");
    let other = r#"toolcrib_calls_total{tool="other",source="other",outcome="ok"}"#;
    assert!((value(&first, other) - 5_050.0).abs() < 1e-9);
    // A tool of the rest becomes the busiest of all: its calls stay with the rest.
    call(299, 1_000);
    let second = statistics.prometheus(&[], None);
    assert!((value(&second, other) - 6_050.0).abs() < 1e-9);
    for line in first.lines().filter(|line| !line.starts_with('#')) {
        let (series, before) = line.rsplit_once(' ').unwrap();
        assert!(value(&second, series) >= before.parse().unwrap(), "{series} fell");
    }
}

#[test]
fn names_of_tools_cannot_break_the_format() {
    let statistics = Statistics::default();
    let tool = ToolId::new(Source::Mcp("s".into()), "a\"} 1\nevil{x=\"\\");
    statistics.record(&CallEvent { tool: Some(tool), ..event(None, Outcome::Ok, 1) });
    let text = statistics.prometheus(&[], None);
    assert!(text.contains(r#"tool="mcp:s/a\"} 1\nevil{x=\"\\","#), "{text}");
    assert!(text.lines().all(|line| line.starts_with('#') || line.starts_with("toolcrib_")));
}

#[test]
fn circuits_in_use_are_what_is_scraped() {
    let admission = Admission::new(AdmissionSettings::default());
    let text = Statistics::default().prometheus(&admission.breakers(), None);
    assert!((value(&text, r#"toolcrib_breakers{state="closed"}"#)).abs() < 1e-9);
}
