//! `kill -9` in the middle of calls: no answered write is lost, the chain holds, a grant for one use is never used
//! twice, and what was under way is known to be unfinished (F18).

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
};

use toolcrib_engine::{
    Outcome,
    approval::{ApprovalStore, RequestState},
    journal::{Begun, JournalRecord, JournalStore, Kind},
};
use toolcrib_store::SqliteStore;

use crate::samples::{claim, everything, grant, holds, intent, kept, outcome, request, shared, yes};

const FILE: &str = "STORE_KILL_CALLS_FILE";
const RUN: &str = "STORE_KILL_CALLS_RUN";

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{line}").unwrap();
    out.flush().unwrap();
}

async fn calls(store: SqliteStore, run: String, task: u64) {
    for n in 0.. {
        let call = task * 1_000_000 + n;
        let key = format!("{run}-{call}");
        assert_eq!(store.begin(intent(&run, call).into(), Some(claim(&key)), 1).await.unwrap(), Begun::Started);
        say(&format!("begun {call}"));
        store.finish(outcome(&run, call, Outcome::Ok).into(), Some(kept(&key, Some("{}")))).await.unwrap();
        say(&format!("finished {call}"));
    }
}

async fn approvals(store: SqliteStore, run: String) {
    for n in 0.. {
        let id = format!("{run}-{n}");
        store.park(request(&id), usize::MAX, 1_000).await.unwrap();
        store.answer(&id, yes(Some(grant(&id, Some(1)))), 2_000).await.unwrap();
        say(&format!("answered {id}"));
        let (one, two) = tokio::join!(store.take(&id, 3_000), store.take(&id, 3_000));
        for _ in [one, two].into_iter().filter(|taken| *taken.as_ref().unwrap()) {
            say(&format!("taken {id}"));
        }
    }
}

/// What the process that is killed does.
async fn work(path: &str, run: String) {
    let (store, _) = SqliteStore::open(path).unwrap();
    store.open_run(&run).await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..3 {
        tasks.spawn(calls(store.clone(), run.clone(), task));
    }
    tasks.spawn(approvals(store, run));
    tasks.join_next().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answered_steps_of_calls_survive_kill_9_and_no_grant_is_used_twice() {
    // The test is also the process that it starts and kills.
    if let (Ok(path), Ok(run)) = (env::var(FILE), env::var(RUN)) {
        return work(&path, run).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let (watcher, _) = SqliteStore::open(&path).unwrap();
    for (round, lines) in [3, 40, 150, 400].into_iter().enumerate() {
        let run = format!("run{round}");
        let mut child = Command::new(env::current_exe().unwrap())
            .args([
                "--exact",
                "kill_calls::answered_steps_of_calls_survive_kill_9_and_no_grant_is_used_twice",
                "--nocapture",
            ])
            .env(FILE, &path)
            .env(RUN, &run)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut said = Vec::new();
        let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
        while said.len() < lines {
            said.push(output.next().expect("it goes on until it is killed").unwrap());
        }
        assert!(watcher.unfinished(10).await.unwrap().is_empty(), "its calls are under way");
        child.kill().unwrap();
        // What it still said before the kill was answered too; the last line may be cut.
        let rest: Vec<String> = output.map_while(Result::ok).collect();
        said.extend_from_slice(&rest[..rest.len().saturating_sub(1)]);
        child.wait().unwrap();
        check(&watcher, &run, &said).await;
    }
    drop(watcher);
    let (store, warnings) = SqliteStore::open(&path).unwrap();
    assert_eq!(warnings, []);
    holds(store.anchor().await.unwrap(), &store.records(everything()).await.unwrap());
}

async fn check(store: &SqliteStore, run: &str, said: &[String]) {
    let records = store.records(everything()).await.unwrap();
    holds(store.anchor().await.unwrap(), &records);
    let of = |kind| -> BTreeSet<u64> {
        let theirs = records.iter().filter(|stored| stored.record.run == run && stored.record.kind == kind);
        theirs.map(|stored| stored.record.call).collect()
    };
    let (begun, finished) = (of(Kind::Intent), of(Kind::Outcome));
    let mut taken: BTreeMap<&str, u32> = BTreeMap::new();
    for line in said {
        match line.split_once(' ') {
            Some(("begun", call)) => {
                let call = call.parse().unwrap();
                assert!(begun.contains(&call), "{line}");
                let again =
                    store.begin(intent("later", 1).into(), Some(claim(&format!("{run}-{call}"))), 1).await.unwrap();
                assert!(matches!(again, Begun::Duplicate(_)), "{line}");
            }
            Some(("finished", call)) => assert!(finished.contains(&call.parse().unwrap()), "{line}"),
            Some(("answered", id)) => {
                let stored = store.request(id, 3_000).await.unwrap().unwrap();
                assert_eq!(stored.state, RequestState::Approved, "{line}");
            }
            Some(("taken", id)) => *taken.entry(id).or_default() += 1,
            _ => {}
        }
    }
    for (id, times) in taken {
        assert_eq!(times, 1, "{id}");
        assert!(!store.take(id, 3_000).await.unwrap(), "{id} was used before the kill");
    }
    let left = store.unfinished(100).await.unwrap();
    let open: BTreeSet<u64> = left.iter().map(|stored| stored.record.call).collect();
    assert!(left.iter().all(|stored| stored.record.run == run));
    assert_eq!(open, begun.difference(&finished).copied().collect());
    let recovered = left.into_iter().map(|stored| JournalRecord {
        kind: Kind::Recovered,
        outcome: Some(Outcome::Unknown),
        ..stored.record
    });
    store.append(shared(recovered)).await.unwrap();
    assert!(store.unfinished(100).await.unwrap().is_empty());
}
