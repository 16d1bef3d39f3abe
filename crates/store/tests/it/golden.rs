//! Files and records of released versions stay readable: each dump in `tests/data` was written by the code of its
//! time. A version that is out never changes here; a new schema gets a dump of its own.

use std::path::Path;

use rusqlite::Connection;
use serde_json::json;
use toolcrib_engine::{
    DefinitionStore, Door, ExperienceStore, KeyValueStore, Learnt, Outcome, Principal, ResultStore, StoredDefinitions,
    approval::{ApprovalRequest, ApprovalStore, Grant, Reach, RecordedAnswer, RequestState},
    journal::{Begun, GENESIS, JournalFilter, JournalRecord, JournalStore, Kind, StoredRecord, link},
    pending::{Pending, PendingKind, PendingState, PendingStore},
    store_tools::{EntryStore, NewEntry, Quota, Shelf},
};
use toolcrib_store::{MemoryStore, SqliteStore};

use crate::{
    samples::{claim, everything, grant, holds, intent, kept, no, outcome, piece, principal, request, shared, yes},
    suite::LATER,
};

fn definitions() -> StoredDefinitions {
    StoredDefinitions {
        fingerprint: "one".to_owned(),
        tools: vec![
            json!({"name": "search", "inputSchema": {"type": "object", "properties": {"q": {"maxLength": 9}}}}),
        ],
        instructions: Some("Read me.\n'Quoted', ünïcode.".to_owned()),
        fetched_at_ms: LATER,
    }
}

/// What both versions hold.
async fn fill_version_2(store: &SqliteStore) -> String {
    store.save("mcp:a", definitions()).await.unwrap();
    store.set("n", "k", "v 'quoted' ✓", 10).await.unwrap();
    store.put("scope", "a long result".to_owned(), LATER).await.unwrap()
}

async fn fill_version_3(store: &SqliteStore) {
    for id in ["pending", "approved", "denied"] {
        store.park(request(id), 10, 1_000).await.unwrap();
    }
    let brief = ApprovalRequest { expires_at_ms: 1_500, ..request("expired") };
    store.park(brief, 10, 1_000).await.unwrap();
    store.answer("approved", yes(Some(grant("g", Some(3)))), 2_000).await.unwrap();
    store.answer("denied", no(), 2_000).await.unwrap();
    store.take("g", 3_000).await.unwrap();
    store.begin(intent("r", 1).into(), Some(claim("k")), 1).await.unwrap();
    store.finish(outcome("r", 1, Outcome::Ok).into(), Some(kept("k", Some(r#"{"n":1}"#)))).await.unwrap();
    store.append(shared(records().to_vec())).await.unwrap();
    store.prune_journal(1_002).await.unwrap();
    store.begin(intent("r", 3).into(), None, 1).await.unwrap();
    for (handle, kind) in [("waiting", PendingKind::Suspended), ("ready", PendingKind::Background)] {
        PendingStore::open(store, piece(handle, kind), 10, 1_000).await.unwrap();
    }
    store.settle("ready", r#"{"n":2}"#.to_owned(), 2_000).await.unwrap();
}

/// One record with every field and four with few.
fn records() -> [JournalRecord; 5] {
    let full = JournalRecord {
        kind: Kind::Outcome,
        at_ms: 1_764_000_000_123,
        run: "0123456789abcdefghijklmnop".to_owned(),
        call: u64::from(u32::MAX) + 1,
        principal: Principal {
            tenant: "t".to_owned(),
            user: Some("ann".to_owned()),
            agent: Some("agent".to_owned()),
            session: Some("session".to_owned()),
        },
        door: Some(Door::Http),
        tool: Some("mcp:files/write".to_owned()),
        name: "files__write ü \"quoted\" \u{1}".to_owned(),
        definition: Some("d".repeat(64)),
        arguments: Some("a".repeat(64)),
        mutating: true,
        outcome: Some(Outcome::ToolError),
        reason: Some("a reason".to_owned()),
        authority: Some("rule 3".to_owned()),
        output: Some("o".repeat(64)),
        result_bytes: 1,
        backend_us: 2,
        total_us: 3,
        trace: Some("trace".to_owned()),
        detail: Some("detail".to_owned()),
    };
    [
        JournalRecord::new(Kind::Breaker, 1_764_000_000_000, "r"),
        intent("r", 2),
        full,
        JournalRecord { call: 2, outcome: Some(Outcome::Unknown), ..JournalRecord::new(Kind::Recovered, 7, "r") },
        JournalRecord::new(Kind::Pruned, 1_764_000_000_200, "r"),
    ]
}

/// What came with versions 4 to 8.
async fn fill_version_8(store: &SqliteStore) {
    let quota = Quota { entries: 10, bytes: 10_000 };
    for (key, words) in [("trip", "flights lisbon"), ("weiße Wände", "wall paint")] {
        let value = format!("{{\"text\":\"of '{key}'\"}}");
        let entry = NewEntry { key: key.to_owned(), value, words: words.to_owned(), over: Some(0) };
        assert!(store.write(&shelf(), entry, quota).await.unwrap().is_some());
    }
    let learnt = Learnt { words: vec!["ship".to_owned(), "it".to_owned()], tool: "a/deploy".to_owned(), at_ms: 1_000 };
    store.learn("t", vec![learnt], 1_000_000, 100).await.unwrap();
    store.park(ApprovalRequest { principal: principal("t8", "bob"), ..request("refused") }, 10, 1_000).await.unwrap();
    store.answer("refused", RecordedAnswer { grant: Some(refusal()), ..no() }, 2_000).await.unwrap();
}

fn shelf() -> Shelf {
    Shelf { tenant: "t".to_owned(), user: "ann".to_owned(), store: "notes".to_owned() }
}

/// Until it is taken back, of one user in one session.
fn refusal() -> Grant {
    Grant { principal: principal("t8", "bob"), reach: Reach::Session, allow: false, ..grant("never", None) }
}

async fn holds_version_8(store: &SqliteStore) {
    let page = store.page(&shelf(), "", None, 10).await.unwrap();
    let kept: Vec<(&str, &str, u64)> =
        page.iter().map(|entry| (entry.key.as_str(), entry.value.as_str(), entry.revision)).collect();
    assert_eq!(kept, [("trip", r#"{"text":"of 'trip'"}"#, 1), ("weiße Wände", r#"{"text":"of 'weiße Wände'"}"#, 1)]);
    for (word, want) in [("lisbon", "trip"), ("paint", "weiße Wände")] {
        let found = store.find(&shelf(), &[word.to_owned()]).await.unwrap();
        assert_eq!(found.iter().map(|entry| entry.key.as_str()).collect::<Vec<_>>(), [want]);
    }
    assert_eq!(store.usage(&shelf()).await.unwrap().entries, 2);
    let mut words: Vec<String> = store
        .experience("t", 10)
        .await
        .unwrap()
        .into_iter()
        .map(|pair| format!("{} {}", pair.word, pair.tool))
        .collect();
    words.sort();
    assert_eq!(words, ["it a/deploy", "ship a/deploy"]);
    let Grant { principal, tool, .. } = refusal();
    assert_eq!(store.grants_for(&principal, &tool, 3_000).await.unwrap(), [refusal()]);
}

/// The file as SQL that makes it again. What a virtual table keeps its rows in comes with the table itself.
fn dumped(connection: &Connection) -> String {
    let texts = |sql: &str| -> Vec<String> {
        let mut rows = connection.prepare(sql).unwrap();
        rows.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let number =
        |pragma: &str| -> i64 { connection.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0)).unwrap() };
    let (owner, version) = (number("application_id"), number("user_version"));
    let mut dump = format!("PRAGMA application_id = {owner};\nPRAGMA user_version = {version};\nBEGIN TRANSACTION;\n");
    let with = "WITH shadows(name) AS (SELECT name FROM pragma_table_list WHERE type = 'shadow') ";
    for sql in texts(&format!(
        "{with}SELECT sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT IN shadows"
    )) {
        dump.push_str(&format!("{sql};\n"));
    }
    for table in texts(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'shadow') AND name NOT LIKE 'sqlite_%' ORDER BY name",
    ) {
        dump.push_str(&format!("DELETE FROM {table};\n"));
        let columns = texts(&format!("SELECT 'quote(\"' || name || '\")' FROM pragma_table_info('{table}')"));
        for row in texts(&format!("SELECT {} FROM {table}", columns.join(" || ',' || "))) {
            dump.push_str(&format!("INSERT INTO {table} VALUES({row});\n"));
        }
    }
    for sql in texts("SELECT sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL") {
        dump.push_str(&format!("{sql};\n"));
    }
    dump + "COMMIT;\n"
}

/// Everything that a file is made of.
fn schema(path: &Path) -> Vec<String> {
    let connection = Connection::open(path).unwrap();
    let mut rows = connection.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name").unwrap();
    rows.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// A file of the present version holds what its dump does. With `GOLDEN=FILE` that is where its dump goes, for a new version,
/// and the lines of the chain are printed.
#[tokio::test]
async fn a_file_written_now_holds_what_the_dump_of_its_version_holds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap().0;
    let result = fill_version_2(&store).await;
    fill_version_3(&store).await;
    fill_version_8(&store).await;
    if let Some(file) = std::env::var_os("GOLDEN") {
        std::fs::write(file, dumped(&Connection::open(&path).unwrap())).unwrap();
    }
    holds_version_2(&store, &result).await;
    holds_version_3(&store).await;
    holds_version_8(&store).await;
    println!("result {result}");
    let mut hash = GENESIS.to_owned();
    for (record, seq) in records().into_iter().zip(1..) {
        hash = link(&hash, seq, &record);
        println!("{}", serde_json::to_string(&StoredRecord { seq, hash: hash.clone(), record }).unwrap());
    }
}

fn restored(folder: &Path, dump: &str) -> SqliteStore {
    let path = folder.join("store.db");
    Connection::open(&path).unwrap().execute_batch(dump).unwrap();
    let (store, warnings) = SqliteStore::open(path).unwrap();
    assert!(warnings.iter().all(|warning| warning.to_string().contains("is 600 now")), "{warnings:?}");
    store
}

async fn holds_version_2(store: &SqliteStore, result: &str) {
    assert_eq!(store.load("mcp:a", "one").await.unwrap(), Some(definitions()));
    assert_eq!(KeyValueStore::get(store, "n", "k").await.unwrap().as_deref(), Some("v 'quoted' ✓"));
    assert_eq!(ResultStore::get(store, "scope", result).await.unwrap().as_deref(), Some("a long result"));
}

#[tokio::test]
async fn a_file_of_version_2_reads_and_goes_on_as_one_of_version_3() {
    let folder = tempfile::tempdir().unwrap();
    let store = restored(folder.path(), include_str!("../data/store-v2.sql"));
    holds_version_2(&store, RESULT_2).await;
    assert_eq!(store.anchor().await.unwrap(), (0, GENESIS.to_owned()));
    fill_version_3(&store).await;
    holds_version_3(&store).await;
}

#[tokio::test]
async fn a_file_of_version_3_reads_as_it_was_written_and_is_brought_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    let store = restored(folder.path(), include_str!("../data/store-v3.sql"));
    holds_version_2(&store, RESULT_3).await;
    holds_version_3(&store).await;
    // What is searched by is in the index that version 5 has in place of others.
    for (filter, want) in [
        (JournalFilter { tool: Some("mcp:files/".to_owned()), ..everything() }, 3),
        (JournalFilter { outcome: Some(Outcome::ToolError), ..everything() }, 1),
        (JournalFilter { since_ms: Some(1_764_000_000_100), ..everything() }, 2),
        (JournalFilter { run: Some("r".to_owned()), call: Some(2), ..everything() }, 2),
    ] {
        assert_eq!(store.records(filter.clone()).await.unwrap().len(), want, "{filter:?}");
    }
    let connection = Connection::open(folder.path().join("store.db")).unwrap();
    let mut indexes = connection
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = ?1 AND sql IS NOT NULL")
        .unwrap();
    for (table, want) in [("journal", &["journal_search"][..]), ("open_intents", &[])] {
        let found: Vec<String> = indexes.query_map([table], |row| row.get(0)).unwrap().flatten().collect();
        assert_eq!(found, want, "{table}");
    }
}

/// Whoever changes the schema finds here whether files that are out there still open, and what they hold then.
#[tokio::test]
async fn a_file_of_version_8_reads_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let store = restored(folder.path(), include_str!("../data/store-v8.sql"));
    holds_version_2(&store, RESULT_8).await;
    holds_version_3(&store).await;
    holds_version_8(&store).await;
    let new = folder.path().join("new.db");
    drop(SqliteStore::open(&new).unwrap());
    assert_eq!(schema(&folder.path().join("store.db")), schema(&new));
}

async fn holds_version_3(store: &SqliteStore) {
    let cases = [
        ("pending", RequestState::Pending),
        ("approved", RequestState::Approved),
        ("denied", RequestState::Denied),
        ("expired", RequestState::Expired),
    ];
    for (id, state) in cases {
        let stored = store.request(id, 3_000).await.unwrap().unwrap();
        assert_eq!(stored.state, state, "{id}");
        let expires_at_ms = if id == "expired" { 1_500 } else { LATER };
        assert_eq!(stored.request, ApprovalRequest { expires_at_ms, ..request(id) });
    }
    assert_eq!(store.grants(Some("t"), 10, 3_000).await.unwrap(), [grant("g", Some(2))]);
    let given = grant("g", Some(2));
    assert_eq!(store.grants_for(&given.principal, &given.tool, 3_000).await.unwrap(), [given]);
    let kept = store.records(everything()).await.unwrap();
    let anchor = store.anchor().await.unwrap();
    assert_eq!(anchor.0, 2);
    holds(anchor, &kept);
    assert_eq!(kept[..5].iter().map(|stored| stored.record.clone()).collect::<Vec<_>>(), records());
    assert_eq!(store.unfinished(10).await.unwrap(), kept[5..]);
    assert_eq!(kept[5].record, intent("r", 3));
    let Begun::Duplicate(earlier) = store.begin(intent("r", 9).into(), Some(claim("k")), 1).await.unwrap() else {
        panic!("the key is kept")
    };
    assert_eq!((earlier.outcome, earlier.result.as_deref()), (Some(Outcome::Ok), Some(r#"{"n":1}"#)));
    assert_eq!(store.pending("waiting", 3_000).await.unwrap(), Some(piece("waiting", PendingKind::Suspended)));
    let ready = Pending {
        state: PendingState::Ready,
        result: Some(r#"{"n":2}"#.to_owned()),
        ..piece("ready", PendingKind::Background)
    };
    assert_eq!(store.pending("ready", 3_000).await.unwrap(), Some(ready));
}

#[derive(serde::Deserialize)]
struct Golden {
    seq: u64,
    hash: String,
    #[serde(flatten)]
    record: JournalRecord,
}

// A record whose text changes breaks every chain that is out there: new fields come last and are left out when empty.
#[tokio::test]
async fn records_of_the_first_version_still_give_the_same_chain() {
    let golden: Vec<Golden> =
        include_str!("../data/journal-v1.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(golden.iter().map(|golden| golden.record.clone()).collect::<Vec<_>>(), records());
    let (memory, sqlite) = (MemoryStore::new(), SqliteStore::open_in_memory().unwrap());
    let written: Vec<_> = golden.iter().map(|golden| golden.record.clone()).collect();
    let mut hash = GENESIS.to_owned();
    for stored in &golden {
        hash = link(&hash, stored.seq, &stored.record);
        assert_eq!(hash, stored.hash, "record {}", stored.seq);
    }
    for store in [&memory as &dyn JournalStore, &sqlite] {
        store.append(shared(written.clone())).await.unwrap();
        let last = store.records(everything()).await.unwrap().pop().unwrap();
        assert_eq!(last.hash, hash);
    }
}

/// Handles of the kept result in the dumps.
const RESULT_2: &str = "411i405boshj4o1fg45o9dbip8";
const RESULT_3: &str = "q06b3dc4ug9g864663lc55gku1";
const RESULT_8: &str = "vjta4ah6qju9vfac0gku5p04on";
