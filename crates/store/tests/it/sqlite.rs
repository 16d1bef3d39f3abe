//! What only a file can go through: restarts, damage, other processes, full disks (faults F16, F17, F27 of the
//! reliability reference).

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use rusqlite::Connection;
use tempfile::TempDir;
use toolcrib_engine::{DefinitionStore, KeyValueStore, ResultStore, StoreError, StoredDefinitions};
use toolcrib_store::{SqliteSettings, SqliteStore, Warning};

use crate::suite::LATER;

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

fn impatient() -> SqliteSettings {
    SqliteSettings { busy_timeout: Duration::from_millis(40), ..SqliteSettings::default() }
}

async fn value(store: &SqliteStore, key: &str) -> Option<String> {
    KeyValueStore::get(store, "n", key).await.unwrap()
}

#[tokio::test]
async fn everything_is_there_after_a_restart() {
    let (_folder, path) = folder();
    let store = open(&path);
    store.set("n", "k", "v", 10).await.unwrap();
    let handle = store.put("scope", "long".to_owned(), LATER).await.unwrap();
    drop(store);
    let store = open(&path);
    assert_eq!(value(&store, "k").await.as_deref(), Some("v"));
    assert_eq!(ResultStore::get(&store, "scope", &handle).await.unwrap().as_deref(), Some("long"));
}

#[tokio::test]
async fn definitions_older_than_90_days_are_dropped_at_open() {
    const DAY: u64 = 24 * 60 * 60 * 1_000;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis() as u64;
    let (_folder, path) = folder();
    let store = open(&path);
    for days in [0, 89, 91] {
        let definitions = StoredDefinitions {
            fingerprint: days.to_string(),
            tools: Vec::new(),
            instructions: None,
            fetched_at_ms: now - days * DAY,
        };
        store.save("mcp:a", definitions).await.unwrap();
    }
    drop(store);
    let store = open(&path);
    for (days, kept) in [("0", true), ("89", true), ("91", false)] {
        assert_eq!(store.load("mcp:a", days).await.unwrap().is_some(), kept, "{days} days");
    }
}

#[tokio::test]
async fn writes_whose_callers_left_are_done_before_the_store_closes() {
    let (_folder, path) = folder();
    let store = open(&path);
    for n in 0..20 {
        let key = n.to_string();
        let mut write = store.set("n", &key, "v", 100);
        // Polled once: queued, and on a busy machine done already. Then nobody waits for it any more.
        let _ = poll_once(&mut write);
    }
    drop(store);
    let store = open(&path);
    assert_eq!(store.list("n", "", None, 100).await.unwrap().len(), 20);
}

fn poll_once<F: Future + Unpin>(future: &mut F) -> std::task::Poll<F::Output> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    std::pin::Pin::new(future).poll(&mut context)
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state/deep/store.db");
    let store = open(&path);
    store.set("n", "k", "v", 10).await.unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for folder in [path.parent().unwrap(), path.parent().unwrap().parent().unwrap()] {
        assert_eq!(mode(folder), 0o700, "{}", folder.display());
    }
    let mut files = 0;
    for file in fs::read_dir(path.parent().unwrap()).unwrap() {
        let file = file.unwrap().path();
        assert_eq!(mode(&file), 0o600, "{}", file.display());
        files += 1;
    }
    assert!(files >= 4, "the file, its journal, the shared memory, the lock: {files}");
}

#[cfg(unix)]
#[test]
fn a_file_that_others_can_read_is_tightened_and_told() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, path) = folder();
    drop(open(&path));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let (_, warnings) = SqliteStore::open(&path).unwrap();
    assert_eq!(warnings, [Warning::PermissionsTightened { file: path.clone(), was: 0o644 }]);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn a_damaged_file_is_put_aside_and_an_empty_one_serves() {
    type Damage = fn(&mut Vec<u8>);
    let damages: [(&str, Damage); 5] = [
        ("garbage", |bytes| *bytes = b"this was never a database, it is a text of some length".repeat(200)),
        ("header", |bytes| bytes[0] ^= 0xff),
        ("half gone", |bytes| bytes.truncate(bytes.len() / 2)),
        ("a page of 0xAA", |bytes| bytes[4096..8192].fill(0xaa)),
        ("every page but the first", |bytes| bytes[4096..].fill(0x0d)),
    ];
    for (name, damage) in damages {
        let (_folder, path) = folder();
        let store = open(&path);
        for n in 0..200 {
            store.set("n", &n.to_string(), &"v".repeat(500), 1_000).await.unwrap();
        }
        drop(store);
        let mut bytes = fs::read(&path).unwrap();
        damage(&mut bytes);
        fs::write(&path, &bytes).unwrap();

        let (store, warnings) = SqliteStore::open(&path).unwrap();
        let [Warning::Quarantined { copy, .. }] = &warnings[..] else { panic!("{name}: {warnings:?}") };
        assert!(warnings[0].to_string().contains("store.db.corrupt-1"), "{}", warnings[0]);
        assert!(fs::read(copy).unwrap() == bytes, "{name}: the copy is the damaged file, byte for byte");
        assert_eq!(value(&store, "1").await, None, "{name}");
        store.set("n", "k", "v", 10).await.unwrap();
        drop(store);
        assert_eq!(value(&open(&path), "k").await.as_deref(), Some("v"), "{name}");
    }
}

#[test]
fn each_damaged_file_gets_its_own_copy() {
    let (_folder, path) = folder();
    for n in 1..=3 {
        fs::write(&path, "x".repeat(5_000)).unwrap();
        let (_, warnings) = SqliteStore::open(&path).unwrap();
        let copy = format!("store.db.corrupt-{n}");
        assert!(warnings.iter().any(|warning| warning.to_string().contains(&copy)), "{warnings:?}");
    }
}

#[tokio::test]
async fn a_torn_journal_loses_its_end_and_nothing_else() {
    let (folder, path) = folder();
    let store = open(&path);
    store.set("n", "first", "v", 10).await.unwrap();
    store.set("n", "second", "v", 10).await.unwrap();
    // As after kill -9: the files as they are, in another place.
    let after = folder.path().join("after.db");
    fs::copy(&path, &after).unwrap();
    let journal = fs::read(folder.path().join("store.db-wal")).unwrap();
    fs::write(folder.path().join("after.db-wal"), &journal[..journal.len() - 100]).unwrap();
    let store = SqliteStore::open(&after).unwrap().0;
    assert_eq!(value(&store, "first").await.as_deref(), Some("v"));
    assert_eq!(value(&store, "second").await, None);
}

#[track_caller]
fn refused(path: &Path, part: &str) {
    let before = fs::read(path).ok();
    match SqliteStore::open_with(path, &impatient()) {
        Ok((_, warnings)) => panic!("opened with {warnings:?}"),
        Err(error) => assert!(error.to_string().contains(part), "{error}"),
    }
    assert!(fs::read(path).ok() == before, "a refused file stays as it is");
}

#[test]
fn a_newer_file_is_refused() {
    let (_folder, path) = folder();
    drop(open(&path));
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("INSERT INTO schema_migrations VALUES (99, 'x', 0)").unwrap();
    connection.pragma_update_and_check(None, "journal_mode", "delete", |_| Ok(())).unwrap();
    drop(connection);
    let error = SqliteStore::open(&path).err().unwrap().to_string();
    assert!(error.contains("schema version 99, this toolcrib knows 5"), "{error}");
    assert!(!path.with_file_name("store.db.corrupt-1").exists());
}

#[test]
fn what_is_not_ours_is_refused_and_left_alone() {
    let (folder, path) = folder();
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE bookmarks (x); PRAGMA user_version = 7").unwrap();
    refused(&path, "database of another program");
    refused(folder.path(), "open it for writing");
    let file = folder.path().join("file");
    fs::write(&file, "x").unwrap();
    refused(&file.join("store.db"), "create its folder");
}

#[cfg(target_os = "linux")]
#[test]
fn a_place_where_nothing_can_be_written_is_named() {
    refused(Path::new("/proc/store.db"), "/proc/store.db");
}

#[tokio::test]
async fn two_processes_share_one_file() {
    let (_folder, path) = folder();
    let (one, two) = (open(&path), open(&path));
    for n in 0..50 {
        one.set("n", &format!("one/{n}"), "v", 1_000).await.unwrap();
        two.set("n", &format!("two/{n}"), "v", 1_000).await.unwrap();
    }
    assert_eq!(one.list("n", "two/", None, 100).await.unwrap().len(), 50);
    assert_eq!(two.list("n", "one/", None, 100).await.unwrap().len(), 50);
}

// F16.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_held_elsewhere_delays_writes_then_fails_them_and_never_stops_reads() {
    let (_folder, path) = folder();
    let (store, _) = SqliteStore::open_with(&path, &impatient()).unwrap();
    store.set("n", "k", "v", 10).await.unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();

    let started = Instant::now();
    let error = store.set("n", "k", "w", 10).await.unwrap_err().to_string();
    assert!(error.contains("set value failed") && error.contains("another process"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(5));
    assert_eq!(value(&store, "k").await.as_deref(), Some("v"));

    let many = (0..40).map(|n| {
        let store = store.clone();
        tokio::spawn(async move { store.set("n", &n.to_string(), "w", 100).await })
    });
    for write in many.collect::<Vec<_>>() {
        write.await.unwrap().unwrap_err();
    }
    assert!(started.elapsed() < Duration::from_secs(5), "one wait for a group, not one for each");

    other.execute_batch("ROLLBACK").unwrap();
    store.set("n", "k", "w", 10).await.unwrap();
    assert_eq!(value(&store, "k").await.as_deref(), Some("w"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_gets_through_when_the_lock_goes_in_time() {
    let (_folder, path) = folder();
    let store = open(&path);
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let writing = store.clone();
    let write = tokio::spawn(async move { writing.set("n", "k", "v", 10).await });
    tokio::time::sleep(Duration::from_millis(20)).await;
    other.execute_batch("COMMIT").unwrap();
    write.await.unwrap().unwrap();
}

// F17: the size cap makes SQLite report what it reports on a full disk.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_fails_what_does_not_fit_and_recovers_without_a_restart() {
    let (_folder, path) = folder();
    let settings = SqliteSettings { max_file_bytes: Some(256 * 1024), ..SqliteSettings::default() };
    let (store, _) = SqliteStore::open_with(&path, &settings).unwrap();
    store.set("n", "small", "v", 100).await.unwrap();

    let big = store.clone();
    let writes: Vec<_> = (0..8)
        .map(|n| {
            let store = big.clone();
            let bytes = if n == 3 { 1_000_000 } else { 10 };
            tokio::spawn(async move { store.set("n", &n.to_string(), &"x".repeat(bytes), 100).await })
        })
        .collect();
    for (n, write) in writes.into_iter().enumerate() {
        match write.await.unwrap() {
            Ok(()) => assert_ne!(n, 3),
            Err(error) => {
                assert_eq!(n, 3, "{error}");
                assert!(error.to_string().contains("no space is left"), "{error}");
            }
        }
    }
    assert_eq!(store.list("n", "", None, 100).await.unwrap().len(), 8);

    let mut filled = 0;
    while store.set("n", &format!("fill/{filled}"), &"x".repeat(20_000), 100).await.is_ok() {
        filled += 1;
        assert!(filled < 20, "the cap holds");
    }
    assert_eq!(value(&store, "small").await.as_deref(), Some("v"));
    for n in 0..filled {
        store.delete("n", &format!("fill/{n}")).await.unwrap();
    }
    store.set("n", "again", &"x".repeat(20_000), 100).await.unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_moved_away_while_open_is_told() {
    let (folder, path) = folder();
    let store = open(&path);
    store.set("n", "k", "v", 10).await.unwrap();
    fs::rename(&path, folder.path().join("elsewhere.db")).unwrap();
    match store.set("n", "k", "w", 10).await {
        Ok(()) => panic!("the write went to a file nobody will open again"),
        Err(StoreError::Failed { cause, .. }) => assert!(cause.contains("moved or deleted"), "{cause}"),
        Err(StoreError::Quota(text)) => panic!("{text}"),
    }
}

#[tokio::test]
async fn damage_met_while_running_is_an_error_and_the_next_start_puts_the_file_aside() {
    let (_folder, path) = folder();
    let store = open(&path);
    for n in 0..300 {
        store.set("n", &format!("{n:03}"), &"v".repeat(1_000), 1_000).await.unwrap();
    }
    drop(store);
    let store = open(&path);
    let mut bytes = fs::read(&path).unwrap();
    let end = bytes.len();
    bytes[8192..end].fill(0x0d);
    fs::write(&path, &bytes).unwrap();
    let mut damaged = 0;
    for n in 0..300 {
        if let Err(error) = KeyValueStore::get(&store, "n", &format!("{n:03}")).await {
            assert!(error.to_string().contains("damaged"), "{error}");
            damaged += 1;
        }
    }
    assert!(damaged > 0);
    assert!(path.with_file_name("store.db.suspect").exists());
    drop(store);
    let (_, warnings) = SqliteStore::open(&path).unwrap();
    assert!(matches!(&warnings[..], [Warning::Quarantined { .. }]), "{warnings:?}");
    assert!(!path.with_file_name("store.db.suspect").exists());
}
