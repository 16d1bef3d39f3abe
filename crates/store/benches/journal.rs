//! What a journal record costs: an intent and its outcome, one caller and sixty-four, with and without waiting for the
//! disk. `cargo bench -p toolcrib-store`. All figures are of one run on one file system; set `JOURNAL_BENCH_FOLDER` to
//! measure another one than that of temporary files.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark may stop at the first surprise, and printing is its job"
)]

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use toolcrib_engine::{
    Door, Outcome, Principal,
    journal::{JournalRecord, JournalStore, Kind},
};
use toolcrib_store::{SqliteSettings, SqliteStore, SyncLevel};

const CALLERS: u64 = 64;

fn record(kind: Kind, call: u64) -> JournalRecord {
    JournalRecord {
        call,
        principal: Principal { tenant: "t".to_owned(), user: Some("u".to_owned()), agent: None, session: None },
        door: Some(Door::Bridge),
        tool: Some(format!("mcp:server/tool_{}", call % 50)),
        name: format!("server__tool_{}", call % 50),
        definition: Some("d".repeat(64)),
        arguments: Some("a".repeat(64)),
        mutating: true,
        outcome: (kind == Kind::Outcome).then_some(Outcome::Ok),
        ..JournalRecord::new(kind, 1_764_000_000_000 + call, "0123456789abcdefghijklmnop")
    }
}

async fn call(store: &SqliteStore, number: u64) {
    store.begin(record(Kind::Intent, number).into(), None, 0).await.expect("begun");
    store.finish(record(Kind::Outcome, number).into(), None).await.expect("finished");
}

/// Calls with an intent and an outcome each; returns records a second.
fn measure(runtime: &tokio::runtime::Runtime, sync: SyncLevel, callers: u64, calls: u64) -> f64 {
    let place = std::env::var_os("JOURNAL_BENCH_FOLDER").map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = tempfile::tempdir_in(place).expect("a folder");
    let settings = SqliteSettings { sync, ..SqliteSettings::default() };
    let (store, _) = SqliteStore::open_with(folder.path().join("bench.db"), &settings).expect("opened");
    let elapsed = runtime.block_on(async {
        for number in 0..20 {
            call(&store, number).await;
        }
        let started = Instant::now();
        let mut tasks = tokio::task::JoinSet::new();
        for caller in 0..callers {
            let store = store.clone();
            tasks.spawn(async move {
                for number in 0..calls {
                    call(&store, 1_000 + caller * calls + number).await;
                }
            });
        }
        while let Some(done) = tasks.join_next().await {
            done.expect("ran");
        }
        started.elapsed()
    });
    (callers * calls * 2) as f64 / elapsed.max(Duration::from_nanos(1)).as_secs_f64()
}

/// Records appended 256 at a time: what the store itself takes, without queue and commit. Returns records a second.
fn in_bulk(runtime: &tokio::runtime::Runtime) -> f64 {
    let store = SqliteStore::open_in_memory().expect("opened");
    let records: Vec<_> = (0..256).map(|number| Arc::new(record(Kind::Outcome, number))).collect();
    let started = Instant::now();
    runtime.block_on(async {
        for _ in 0..40 {
            store.append(records.clone()).await.expect("appended");
        }
    });
    (40 * records.len()) as f64 / started.elapsed().max(Duration::from_nanos(1)).as_secs_f64()
}

fn main() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let cases = [
        ("Full   (waits for the disk),  1 caller  ", SyncLevel::Full, 1, 500),
        ("Full   (waits for the disk), 64 callers ", SyncLevel::Full, CALLERS, 100),
        ("Normal (survives kill -9),    1 caller  ", SyncLevel::Normal, 1, 2_000),
        ("Normal (survives kill -9),   64 callers ", SyncLevel::Normal, CALLERS, 200),
    ];
    let mut base = 0.0;
    for (name, sync, callers, calls) in cases {
        let mut rates: Vec<f64> = (0..3).map(|_| measure(&runtime, sync, callers, calls)).collect();
        rates.sort_by(f64::total_cmp);
        let rate = rates[1];
        if base == 0.0 {
            base = rate;
        }
        println!(
            "{name} {rate:>9.0} records/s ({:>7.1} µs a record, {:>5.1} times the first; {:.0} to {:.0})",
            1e6 / rate,
            rate / base,
            rates[0],
            rates[2]
        );
    }
    let rate = in_bulk(&runtime);
    println!("In memory, 256 records at a time         {rate:>9.0} records/s ({:>7.1} µs a record)", 1e6 / rate);
}
