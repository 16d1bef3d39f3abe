//! `toolcrib stats`: how often tools ran, how they ended and how long they took, read from the journal.

use std::collections::BTreeMap;

use serde_json::json;
use toolcrib_engine::{
    journal::{JournalFilter, Kind, StoredRecord},
    stats::{Statistics, ToolStats},
};

use super::{audit::since, damage};
use crate::{args::StatsArgs, exit::Exit, print, stores, world};

/// Records read at a time.
const PAGE: usize = 1_000;

pub(crate) async fn run(args: StatsArgs) -> anyhow::Result<Exit> {
    let loaded = world::load(&args.config)?;
    let stores = stores::open_existing(&loaded.config)?;
    let mut filter = JournalFilter { since_ms: Some(since(&args.since)?), limit: PAGE, ..JournalFilter::default() };
    let mut stats = Statistics::of_a_journal();
    // The last word on each circuit; one that never changed is closed.
    let mut circuits: BTreeMap<String, String> = BTreeMap::new();
    loop {
        let page = stores.journal.records(filter.clone()).await?;
        let Some(last) = page.last() else { break };
        filter.after = last.seq;
        for StoredRecord { record, .. } in &page {
            stats.add(record);
            if let (Kind::Breaker, Some(tool), Some(detail)) = (record.kind, &record.tool, &record.detail) {
                circuits.insert(tool.clone(), detail.clone());
            }
        }
    }
    damage::note(stores.damage.as_ref());
    let stats = stats.snapshot();
    if args.json {
        let mut value = serde_json::to_value(&stats)?;
        value["circuits"] = json!(circuits);
        print::json(&value)?;
        return Ok(Exit::Done);
    }
    if stats.totals.calls == 0 {
        print::note("no calls are recorded in this time");
        return Ok(Exit::Done);
    }
    let tools = stats.tools.iter().map(|tool| row(&tool.tool.to_string(), &tool.stats));
    let more = [("(other tools)", &stats.other), ("(no such tool)", &stats.unresolved), ("all", &stats.totals)];
    let more = more.into_iter().filter(|(_, stats)| stats.calls > 0).map(|(name, stats)| row(name, stats));
    let open = circuits.iter().filter(|(_, state)| !state.starts_with("closed"));
    for (what, state) in open {
        print::note(print::clean(&format!("{what} kept failing: its circuit is {state}")));
    }
    print::table(&["tool", "calls", "ok", "failed", "p50 ms", "p99 ms", "max ms"], tools.chain(more).collect());
    Ok(Exit::Done)
}

fn row(name: &str, stats: &ToolStats) -> Vec<String> {
    let failed: Vec<String> = stats.failed.iter().map(|(outcome, count)| format!("{count} {outcome}")).collect();
    let ms = |us: u64| format!("{:.1}", us as f64 / 1_000.0);
    vec![
        name.to_owned(),
        stats.calls.to_string(),
        stats.ok.to_string(),
        failed.join(", "),
        ms(stats.total.p50_us),
        ms(stats.total.p99_us),
        ms(stats.total.max_us),
    ]
}
