//! What the journal, approvals and pending work go through in a file: restarts, other processes, full disks, damage,
//! changes by hand (faults F16 to F18 and F27 of the reliability reference).

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::Connection;
use tempfile::TempDir;
use toolcrib_engine::{
    KeyValueStore, Outcome, StoreError,
    approval::{AnswerOutcome, ApprovalRequest, ApprovalStore, RecordedAnswer, RequestState},
    journal::{Begun, Claim, JournalRecord, JournalStore, Kind, StoredRecord, link},
    pending::{Pending, PendingKind, PendingState, PendingStore},
};
use toolcrib_store::{SqliteSettings, SqliteStore, SyncLevel, Warning};

use crate::samples::{claim, everything, grant, holds, intent, kept, outcome, piece, request, shared, yes};

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    (folder, path)
}

fn open(path: &Path) -> SqliteStore {
    let (store, warnings) = SqliteStore::open(path).unwrap();
    assert_eq!(warnings, []);
    store
}

async fn records(store: &SqliteStore) -> Vec<StoredRecord> {
    let records = store.records(everything()).await.unwrap();
    holds(store.anchor().await.unwrap(), &records);
    records
}

#[tokio::test]
async fn everything_about_calls_is_there_after_a_restart() {
    for sync in [SyncLevel::Normal, SyncLevel::Full] {
        let (_folder, path) = folder();
        let settings = SqliteSettings { sync, ..SqliteSettings::default() };
        let (store, _) = SqliteStore::open_with(&path, &settings).unwrap();
        store.park(request("a"), 10, 1_000).await.unwrap();
        store.answer("a", yes(Some(grant("g", Some(2)))), 2_000).await.unwrap();
        assert!(store.take("g", 2_000).await.unwrap());
        store.begin(intent("r", 1).into(), Some(claim("k")), 1).await.unwrap();
        store.finish(outcome("r", 1, Outcome::Ok).into(), Some(kept("k", Some("{}")))).await.unwrap();
        store.begin(intent("r", 2).into(), None, 1).await.unwrap();
        PendingStore::open(&store, piece("p", PendingKind::Suspended), 10, 1_000).await.unwrap();
        let version = store.version().await.unwrap();
        drop(store);

        let (store, _) = SqliteStore::open_with(&path, &settings).unwrap();
        assert_eq!(store.request("a", 3_000).await.unwrap().unwrap().state, RequestState::Approved);
        assert_eq!(store.grants(None, 10, 3_000).await.unwrap(), [grant("g", Some(1))]);
        assert_eq!(store.version().await.unwrap(), version);
        assert_eq!(records(&store).await.len(), 3);
        assert_eq!(store.unfinished(10).await.unwrap()[0].record, intent("r", 2));
        let Begun::Duplicate(earlier) = store.begin(intent("r", 3).into(), Some(claim("k")), 1).await.unwrap() else {
            panic!("the key was used before the restart")
        };
        assert_eq!((earlier.outcome, earlier.result.as_deref()), (Some(Outcome::Ok), Some("{}")));
        assert_eq!(store.pending("p", 3_000).await.unwrap(), Some(piece("p", PendingKind::Suspended)));
    }
}

#[tokio::test]
async fn a_run_is_alive_exactly_as_long_as_the_store_that_opened_it() {
    let (folder, path) = folder();
    let (one, two) = (open(&path), open(&path));
    one.open_run("one").await.unwrap();
    two.open_run("two").await.unwrap();
    for (store, run) in [(&one, "one"), (&two, "two")] {
        store.begin(intent(run, 1).into(), None, 1).await.unwrap();
        let background = Pending { run: run.to_owned(), ..piece(run, PendingKind::Background) };
        PendingStore::open(store, background, 10, 1_000).await.unwrap();
    }
    for store in [&one, &two] {
        assert!(store.unfinished(10).await.unwrap().is_empty(), "both are there");
        assert!(store.lose_dead(2_000).await.unwrap().is_empty());
    }
    drop(one);
    let left = two.unfinished(10).await.unwrap();
    assert_eq!(left.iter().map(|stored| stored.record.run.as_str()).collect::<Vec<_>>(), ["one"]);
    let lost = two.lose_dead(2_000).await.unwrap();
    assert_eq!(
        lost.iter().map(|piece| (piece.handle.as_str(), piece.state)).collect::<Vec<_>>(),
        [("one", PendingState::Lost)]
    );
    let files: Vec<_> = fs::read_dir(folder.path().join("store.db-runs")).unwrap().flatten().collect();
    assert_eq!(files.iter().map(fs::DirEntry::file_name).collect::<Vec<_>>(), ["two.lock"]);
    let closed: Vec<String> = Connection::open(&path)
        .unwrap()
        .prepare("SELECT run FROM runs WHERE closed_at_ms IS NOT NULL")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(closed, ["one"]);
}

#[cfg(unix)]
#[tokio::test]
async fn signs_of_life_are_private_and_found_whichever_way_the_store_is_reached() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, path) = folder();
    let store = open(&path);
    store.open_run("one").await.unwrap();
    store.begin(intent("one", 1).into(), None, 1).await.unwrap();
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(folder.path().join("store.db-runs")), 0o700);
    assert_eq!(mode(folder.path().join("store.db-runs/one.lock")), 0o600);
    let link = folder.path().join("link.db");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let other = open(&link);
    assert!(other.unfinished(10).await.unwrap().is_empty());
    other.open_run("two").await.unwrap();
    assert!(folder.path().join("store.db-runs/two.lock").exists());
}

#[tokio::test]
async fn runs_come_and_go_at_once_and_none_is_taken_for_dead() {
    let (_folder, path) = folder();
    let watcher = open(&path);
    let done = std::sync::atomic::AtomicBool::new(false);
    let watch = async {
        while !done.load(std::sync::atomic::Ordering::Relaxed) {
            assert_eq!(watcher.unfinished(100).await.unwrap(), [], "all are under way");
        }
    };
    let come_and_go = async {
        for n in 0..10 {
            let store = open(&path);
            let run = format!("run{n}");
            store.open_run(&run).await.unwrap();
            for call in 0..5 {
                store.begin(intent(&run, call).into(), None, 1).await.unwrap();
                tokio::task::yield_now().await;
                store.finish(outcome(&run, call, Outcome::Ok).into(), None).await.unwrap();
            }
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    };
    tokio::join!(watch, come_and_go);
}

#[tokio::test]
async fn a_change_by_one_process_shows_in_the_version_of_another() {
    let (_folder, path) = folder();
    let (one, two) = (open(&path), open(&path));
    one.park(request("a"), 10, 1_000).await.unwrap();
    let before = two.version().await.unwrap();
    assert_eq!(two.version().await.unwrap(), before);
    one.answer("a", yes(Some(grant("g", Some(1)))), 2_000).await.unwrap();
    assert_ne!(two.version().await.unwrap(), before);
    assert!(two.take("g", 2_000).await.unwrap());
    assert!(!one.take("g", 2_000).await.unwrap());
}

// F16.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_another_process_locks_the_file_nothing_begins_and_everything_can_be_read() {
    let (_folder, path) = folder();
    let settings = SqliteSettings { busy_timeout: Duration::from_millis(40), ..SqliteSettings::default() };
    let (store, _) = SqliteStore::open_with(&path, &settings).unwrap();
    store.park(request("a"), 10, 1_000).await.unwrap();
    store.begin(intent("r", 1).into(), None, 1).await.unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store.begin(intent("r", 2).into(), Some(claim("k")), 1).await.unwrap_err().to_string();
    assert!(error.contains("write journal failed") && error.contains("another process"), "{error}");
    store.answer("a", yes(None), 2_000).await.unwrap_err();
    PendingStore::open(&store, piece("p", PendingKind::Suspended), 10, 1_000).await.unwrap_err();
    assert_eq!(store.request("a", 2_000).await.unwrap().unwrap().state, RequestState::Pending);
    assert_eq!(records(&store).await.len(), 1);
    assert_eq!(store.unfinished(10).await.unwrap().len(), 1, "known even if the run cannot be closed");
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(store.begin(intent("r", 2).into(), Some(claim("k")), 1).await.unwrap(), Begun::Started);
    assert_eq!(store.answer("a", yes(None), 2_000).await.unwrap(), AnswerOutcome::Recorded);
}

// F17: the size cap makes SQLite report what it reports on a full disk.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_full_disk_nothing_begins_nothing_is_half_written_and_it_recovers_without_a_restart() {
    let (_folder, path) = folder();
    let settings = SqliteSettings { max_file_bytes: Some(512 * 1024), ..SqliteSettings::default() };
    let (store, _) = SqliteStore::open_with(&path, &settings).unwrap();
    store.park(request("a"), 10, 1_000).await.unwrap();
    for n in 0.. {
        if store.set("n", &n.to_string(), &"x".repeat(2_000), 1_000).await.is_err() {
            break;
        }
    }
    let (mut begun, mut refused) = (0, 0);
    let detail = "x".repeat(3_000);
    for call in 0..60 {
        let large = JournalRecord { detail: Some(detail.clone()), ..intent("r", call) };
        match store.begin(large.into(), Some(claim(&call.to_string())), 1).await {
            Ok(started) => {
                assert_eq!(started, Begun::Started);
                begun += 1;
            }
            Err(StoreError::Failed { operation, cause }) => {
                assert!(operation == "write journal" && cause.contains("no space is left"), "{operation}: {cause}");
                refused += 1;
            }
            Err(StoreError::Quota(text)) => panic!("{text}"),
        }
    }
    assert!(refused > 0, "{begun} begun");
    let answer = RecordedAnswer { by: "x".repeat(60_000), ..yes(Some(grant("g", Some(1)))) };
    store.answer("a", answer, 2_000).await.unwrap_err();
    assert_eq!(store.request("a", 2_000).await.unwrap().unwrap().state, RequestState::Pending);
    assert!(store.grants(None, 10, 2_000).await.unwrap().is_empty());
    assert_eq!(records(&store).await.len(), begun);
    assert_eq!(store.unfinished(100).await.unwrap().len(), begun, "no intent of a call that was refused");

    for n in 0..100 {
        store.delete("n", &n.to_string()).await.unwrap();
    }
    for call in 0..60 {
        match store.begin(intent("s", call).into(), Some(claim(&call.to_string())), 1).await.unwrap() {
            Begun::Started => refused -= 1,
            Begun::Duplicate(earlier) => assert_eq!(earlier.run, "r"),
        }
    }
    assert_eq!(refused, 0, "exactly the keys of the refused are free");
    records(&store).await;
}

#[tokio::test]
async fn a_damaged_page_of_the_journal_is_put_aside_with_the_file() {
    let (_folder, path) = folder();
    let store = open(&path);
    let many: Vec<_> = (0..2_000).map(|call| intent("r", call)).collect();
    store.append(shared(many)).await.unwrap();
    drop(store);
    let root: u32 = Connection::open(&path)
        .unwrap()
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'journal'", [], |row| row.get(0))
        .unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let start = (root as usize - 1) * 4096;
    bytes[start..start + 4096].fill(0xaa);
    fs::write(&path, &bytes).unwrap();
    let (store, warnings) = SqliteStore::open(&path).unwrap();
    assert!(matches!(&warnings[..], [Warning::Quarantined { .. }]), "{warnings:?}");
    store.begin(intent("r", 1).into(), None, 1).await.unwrap();
    assert_eq!(records(&store).await.len(), 1);
}

/// What reading from the anchor on finds: the first record that does not follow from the one before it, or what the store
/// says of one.
async fn first_fault(store: &SqliteStore) -> Option<String> {
    let (mut seq, mut hash) = store.anchor().await.unwrap();
    let records = match store.chained(0, usize::MAX).await {
        Ok(records) => records,
        Err(error) => return Some(error.to_string()),
    };
    for stored in records {
        seq += 1;
        if stored.seq != seq || stored.hash != link(&hash, seq, &stored.record) {
            return Some(format!("record {seq} breaks the chain"));
        }
        hash = stored.hash;
    }
    None
}

#[tokio::test]
async fn what_was_changed_by_hand_is_found_at_that_place() {
    const CHAIN: &str = "breaks the chain";
    const TERMS: &str = "does not agree with what it is searched by";
    let cases: [(&str, u64, &str); 15] = [
        (
            "UPDATE journal SET record = replace(record, '\"ok\"', '\"denied\"'), outcome = 'denied' WHERE seq = 4",
            4,
            CHAIN,
        ),
        ("UPDATE journal SET record = replace(record, 'ann', 'bob'), user = 'bob' WHERE seq = 1", 1, CHAIN),
        ("UPDATE journal SET record = replace(record, '\"ok\"', '\"denied\"') WHERE seq = 4", 4, TERMS),
        ("UPDATE journal SET hash = (SELECT hash FROM journal WHERE seq = 2) WHERE seq = 3", 3, CHAIN),
        ("DELETE FROM journal WHERE seq = 5", 5, CHAIN),
        ("UPDATE journal SET seq = 99 WHERE seq = 6", 6, CHAIN),
        ("UPDATE journal_anchor SET seq = 2, hash = (SELECT hash FROM journal WHERE seq = 2)", 3, CHAIN),
        ("UPDATE journal SET at_ms = 5 WHERE seq = 3", 3, TERMS),
        ("UPDATE journal SET run = 's' WHERE seq = 3", 3, TERMS),
        ("UPDATE journal SET call = 9 WHERE seq = 3", 3, TERMS),
        ("UPDATE journal SET tenant = '' WHERE seq = 3", 3, TERMS),
        ("UPDATE journal SET user = NULL WHERE seq = 3", 3, TERMS),
        ("UPDATE journal SET tool = 'mcp:files/read' WHERE seq = 3", 3, TERMS),
        ("UPDATE journal SET outcome = 'denied' WHERE seq = 4", 4, TERMS),
        ("UPDATE journal SET outcome = 'ok' WHERE seq = 5", 5, TERMS),
    ];
    for (sql, place, how) in cases {
        let (_folder, path) = folder();
        let store = open(&path);
        for call in 1..=3 {
            store.begin(intent("r", call).into(), None, 1).await.unwrap();
            store.finish(outcome("r", call, Outcome::Ok).into(), None).await.unwrap();
        }
        assert_eq!(first_fault(&store).await, None);
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let found = first_fault(&store).await.unwrap_or_default();
        assert!(found.contains(&format!("record {place} ")) && found.contains(how), "{sql}: '{found}'");
    }
}

#[tokio::test]
async fn a_record_that_is_none_any_more_is_named_and_not_shown() {
    let (_folder, path) = folder();
    let store = open(&path);
    store.append(shared(vec![JournalRecord::new(Kind::Breaker, 1, "r"); 3])).await.unwrap();
    Connection::open(&path).unwrap().execute_batch("UPDATE journal SET record = 'secret' WHERE seq = 2").unwrap();
    let error = store.chained(0, 10).await.unwrap_err().to_string();
    assert!(error.contains("record 2 was changed") && !error.contains("secret"), "{error}");
}

#[tokio::test]
async fn expired_keys_do_not_pile_up() {
    let (_folder, path) = folder();
    let store = open(&path);
    for call in 0..100 {
        let brief = Claim { expires_at_ms: call + 10, ..claim(&call.to_string()) };
        store.begin(intent("r", call).into(), Some(brief), call).await.unwrap();
    }
    let count = |sql: &str| Connection::open(&path).unwrap().query_row(sql, [], |row| row.get::<_, u32>(0)).unwrap();
    assert!(count("SELECT count(*) FROM claims") <= 12);
}

#[cfg(unix)]
#[tokio::test]
async fn nothing_begins_in_a_file_that_was_moved_away() {
    let (folder, path) = folder();
    let store = open(&path);
    store.begin(intent("r", 1).into(), None, 1).await.unwrap();
    fs::rename(&path, folder.path().join("elsewhere.db")).unwrap();
    let error = store.begin(intent("r", 2).into(), None, 1).await.unwrap_err().to_string();
    assert!(error.contains("moved or deleted"), "{error}");
    let asked = ApprovalRequest { created_at_ms: 1, ..request("a") };
    assert!(store.park(asked, 10, 1).await.is_err());
}
