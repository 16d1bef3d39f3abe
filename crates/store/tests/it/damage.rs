//! A stored row that cannot be read affects nothing else: it is left out, left as it is, told once, and counts against the
//! call where it may have been a refusal.

use std::path::Path;

use rusqlite::Connection;
use tempfile::TempDir;
use toolcrib_engine::{
    Outcome, Principal, StoreError,
    approval::{
        ANY_TOOL, AnswerOutcome, ApprovalRequest, ApprovalStore, Grant, Parked, Reach, RecordedAnswer, RequestFilter,
        RequestState,
    },
    damage::{DamageReport, DamagedTable},
    journal::{Begun, Journal, JournalFilter, JournalRecord, JournalSettings, JournalStore, Kind},
    pending::{Pending, PendingFilter, PendingKind, PendingState, PendingStore},
};
use toolcrib_store::SqliteStore;

use crate::samples::{claim, everything, grant, intent, outcome, piece, principal, request, yes};

/// What may stand in the place of a record.
const RUBBISH: [&str; 5] = ["''", "'secret'", "'{\"id\":1}'", "'null'", "CAST(x'ff00' AS TEXT)"];

struct Damaged {
    folder: TempDir,
    store: SqliteStore,
}

impl Damaged {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path().join("store.db")).unwrap().0;
        Self { folder, store }
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("store.db")
    }

    fn run(&self, sql: &str) {
        Connection::open(self.path()).unwrap().execute_batch(sql).unwrap();
    }

    /// What was met, as `table: rows`; the same is found by looking.
    async fn told(&self) -> Vec<(&'static str, Vec<String>)> {
        let rows = |tables: Vec<DamagedTable>| -> Vec<(&'static str, Vec<String>)> {
            let all = tables.into_iter().map(|table| {
                assert_eq!(table.count, table.rows.len() as u64);
                let text = format!("{:?}", table.rows);
                assert!(!text.contains("secret"), "{text}");
                let mut rows: Vec<_> = table.rows.into_iter().map(|row| row.row).collect();
                rows.sort();
                (table.table, rows)
            });
            all.collect()
        };
        let met = rows(self.store.damage_met());
        assert_eq!(rows(self.store.look_for_damage().await.unwrap()), met);
        met
    }
}

async fn give(store: &SqliteStore, given: Grant) {
    let id = format!("request of {}", given.id);
    store.park(request(&id), 100, 1_000).await.unwrap();
    let answer = RecordedAnswer { approved: given.allow, ..yes(Some(given)) };
    assert_eq!(store.answer(&id, answer, 1_000).await.unwrap(), AnswerOutcome::Recorded);
}

fn never(id: &str) -> Grant {
    Grant { allow: false, reach: Reach::Always, ..grant(id, None) }
}

#[tokio::test]
async fn a_damaged_grant_allows_nothing_and_still_forbids_what_it_forbade() {
    for rubbish in RUBBISH {
        let damaged = Damaged::new();
        let store = &damaged.store;
        let session = Grant { reach: Reach::Session, ..never("session") };
        for given in [grant("good", None), grant("allow", None), never("never"), session] {
            give(store, given).await;
        }
        damaged.run(&format!("UPDATE grants SET record = {rubbish} WHERE grant_id <> 'good'"));
        let found = store.grants(None, 10, 2_000).await.unwrap();
        let told: Vec<_> = found.iter().map(|grant| (grant.id.as_str(), grant.allow)).collect();
        assert_eq!(told, [("session", false), ("never", false), ("good", true)], "{rubbish}");
        assert_eq!(found[2], grant("good", None));
        for refusal in &found[..2] {
            assert!(refusal.is_unreadable());
            assert_eq!(refusal.tool, "mcp:files/write/deep");
            assert_eq!((refusal.principal.tenant.as_str(), refusal.principal.user.as_deref()), ("t", Some("ann")));
        }
        assert_eq!(found[0].reach, Reach::Session);
        assert_eq!(found[0].principal.session.as_deref(), Some("session"));
        let other = Principal { session: None, ..principal("t", "ann") };
        let found = store.grants_for(&other, "mcp:files/write/deep", 2_000).await.unwrap();
        assert_eq!(found.iter().map(|grant| grant.id.as_str()).collect::<Vec<_>>(), ["never", "good"]);
        assert_eq!(store.grants_for(&other, "mcp:files/read", 2_000).await.unwrap(), []);
        assert_eq!(store.grant("allow", 2_000).await.unwrap(), None);
        let all = ["allow", "never", "session"].map(str::to_owned).to_vec();
        assert_eq!(damaged.told().await, [("grants", all)], "{rubbish}");
        // By its handle a person takes it away.
        for id in ["never", "allow"] {
            assert!(store.revoke(id, None, 2_000).await.unwrap());
        }
        assert_eq!(store.grants(None, 10, 2_000).await.unwrap().len(), 2);
    }
}

type Case<'a> = (&'a str, &'a str, &'a [(&'a str, bool)]);

#[tokio::test]
async fn a_grant_that_says_something_else_than_it_is_found_by_counts_as_the_stricter_of_the_two() {
    let cases: [Case<'_>; 6] = [
        ("allow = 0", "allow", &[("allow", false)]),
        ("allow = 1", "never", &[("never", false)]),
        ("tool = 'mcp:files/read'", "allow", &[]),
        ("user = 'bob'", "allow", &[]),
        ("session = 'x'", "never", &[("never", false)]),
        ("uses_left = -1, ended_at_ms = NULL", "allow", &[]),
    ];
    for (change, id, expected) in cases {
        let damaged = Damaged::new();
        give(&damaged.store, if id == "never" { never(id) } else { grant(id, None) }).await;
        damaged.run(&format!("UPDATE grants SET {change}"));
        let found = damaged.store.grants(None, 10, 2_000).await.unwrap();
        assert_eq!(
            found.iter().map(|grant| (grant.id.as_str(), grant.allow)).collect::<Vec<_>>(),
            expected,
            "{change}"
        );
    }
}

#[tokio::test]
async fn a_grant_that_was_damaged_before_it_could_be_told_what_it_covers_forbids_everything_of_its_tenant() {
    let damaged = Damaged::new();
    for given in [grant("good", None), grant("unknown", None), grant("counted", Some(2))] {
        give(&damaged.store, given).await;
    }
    // As the migration leaves them.
    damaged.run("UPDATE grants SET record = 'x', tool = NULL, user = NULL, allow = NULL WHERE grant_id = 'unknown'");
    damaged.run("UPDATE grants SET record = 'x', tool = NULL, user = NULL, allow = 1 WHERE grant_id = 'counted'");
    let found = damaged.store.grants_for(&principal("t", "bob"), "mcp:files/read", 2_000).await.unwrap();
    assert_eq!(found.iter().map(|grant| grant.id.as_str()).collect::<Vec<_>>(), ["unknown"]);
    assert!(!found[0].allow && found[0].tool == ANY_TOOL);
    assert_eq!(damaged.store.grants_for(&principal("u", "bob"), "mcp:files/read", 2_000).await.unwrap(), []);
}

#[tokio::test]
async fn a_damaged_request_is_left_out_and_does_not_stand_for_another() {
    for rubbish in RUBBISH.map(|rubbish| format!("record = {rubbish}")).into_iter().chain(["state = 'x'".to_owned()]) {
        let damaged = Damaged::new();
        let store = &damaged.store;
        for (id, created) in [("a", 1), ("b", 2), ("c", 3)] {
            store.park(ApprovalRequest { created_at_ms: created, ..request(id) }, 10, 1_000).await.unwrap();
        }
        damaged.run(&format!("UPDATE approvals SET {rubbish} WHERE request IN ('b', 'c')"));
        for (state, limit) in [(None, 10), (None, 1), (Some(RequestState::Pending), 1)] {
            let filter = RequestFilter { tenant: None, state, limit };
            let found = store.requests(filter, 2_000).await.unwrap();
            let ids: Vec<_> = found.into_iter().map(|stored| stored.request.id).collect();
            assert_eq!(ids, ["a"], "{rubbish} {state:?} {limit}");
        }
        let error = store.request("c", 2_000).await.unwrap_err().to_string();
        assert!(error.contains("damaged") && error.contains("toolcrib doctor"), "{error}");
        let again = ApprovalRequest { id: "d".to_owned(), ..request("c") };
        assert_eq!(store.park(again, 10, 2_000).await.unwrap(), Parked::New, "{rubbish}");
        if rubbish == "state = 'x'" {
            store.answer("c", yes(Some(grant("g", None))), 2_000).await.unwrap_err();
            assert_eq!(store.grants(None, 10, 2_000).await.unwrap(), [], "nothing is answered twice");
        }
        assert_eq!(damaged.told().await, [("approvals", vec!["b".to_owned(), "c".to_owned()])], "{rubbish}");
    }
}

#[tokio::test]
async fn damaged_pending_work_is_left_out_and_lost_like_the_rest() {
    for rubbish in RUBBISH.map(|rubbish| format!("record = {rubbish}")) {
        let damaged = Damaged::new();
        let store = &damaged.store;
        for (handle, created) in [("a", 1), ("b", 2), ("c", 3)] {
            let made = Pending {
                correlation: Some("same".to_owned()),
                created_at_ms: created,
                ..piece(handle, PendingKind::Background)
            };
            PendingStore::open(store, made, 10, 1_000).await.unwrap();
        }
        damaged.run(&format!("UPDATE pending SET {rubbish} WHERE handle IN ('a', 'b')"));
        let filter = PendingFilter { limit: 1, ..PendingFilter::default() };
        let found = store.list_pending(filter, 2_000).await.unwrap();
        assert_eq!(found.iter().map(|piece| piece.handle.as_str()).collect::<Vec<_>>(), ["c"]);
        let found = store.by_correlation("t", "same", 2_000).await.unwrap();
        assert_eq!(found.unwrap().handle, "c", "{rubbish}");
        assert!(matches!(store.pending("a", 2_000).await, Err(StoreError::Failed { .. })));
        let lost = store.lose_dead(2_000).await.unwrap();
        assert_eq!(
            lost.iter().map(|piece| (piece.handle.as_str(), piece.state)).collect::<Vec<_>>(),
            [("c", PendingState::Lost)]
        );
        assert!(store.lose_dead(2_000).await.unwrap().is_empty(), "all were marked");
        assert_eq!(damaged.told().await, [("pending", vec!["a".to_owned(), "b".to_owned()])], "{rubbish}");
    }
}

#[tokio::test]
async fn damaged_records_are_left_out_and_as_many_as_are_wanted_are_read_all_the_same() {
    for rubbish in RUBBISH {
        let damaged = Damaged::new();
        let store = &damaged.store;
        store.append(vec![JournalRecord::new(Kind::Breaker, 1, "r").into(); 9]).await.unwrap();
        damaged.run(&format!("UPDATE journal SET record = {rubbish} WHERE seq IN (1, 4, 5, 6, 9)"));
        let cases: [(u64, bool, usize, &[u64]); 6] = [
            (0, false, 10, &[2, 3, 7, 8]),
            (0, false, 3, &[2, 3, 7]),
            (3, false, 1, &[7]),
            (8, false, 1, &[]),
            (0, true, 3, &[3, 7, 8]),
            (0, true, 1, &[8]),
        ];
        for (after, newest, limit, expected) in cases {
            let filter = JournalFilter { after, newest, limit, ..JournalFilter::default() };
            let found: Vec<_> = store.records(filter).await.unwrap().iter().map(|stored| stored.seq).collect();
            assert_eq!(found, expected, "{rubbish} {after} {newest} {limit}");
        }
        let error = store.chained(0, 10).await.unwrap_err().to_string();
        assert!(error.contains("record 1 was changed") && !error.contains("secret"), "{error}");
        let all = ["1", "4", "5", "6", "9"].map(str::to_owned).to_vec();
        assert_eq!(damaged.told().await, [("journal", all)], "{rubbish}");
    }
}

async fn calls_of_a_dead_process(path: &Path) {
    let store = SqliteStore::open(path).unwrap().0;
    for call in 1..=3 {
        store.begin(intent("dead", call).into(), Some(claim(&call.to_string())), 1).await.unwrap();
    }
}

/// The store as it is after the process died and its journal was damaged like this.
async fn after_a_death(sql: &str) -> Damaged {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    calls_of_a_dead_process(&path).await;
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    Damaged { store: SqliteStore::open(&path).unwrap().0, folder }
}

#[tokio::test]
async fn an_open_intent_that_cannot_be_read_is_closed_as_unknown_with_all_the_others() {
    let mut cases: Vec<String> =
        RUBBISH.iter().map(|rubbish| format!("UPDATE journal SET record = {rubbish} WHERE seq = 2")).collect();
    cases.push("DELETE FROM journal WHERE seq = 2".to_owned());
    cases.push("UPDATE journal SET record = (SELECT record FROM journal WHERE seq = 1) WHERE seq = 2".to_owned());
    for sql in cases {
        let damaged = after_a_death(&sql).await;
        let store = std::sync::Arc::new(damaged.store.clone());
        let before: Option<Vec<u8>> = row(&damaged.path());
        let journal =
            Journal::open(store.clone(), JournalSettings { keep: None, ..JournalSettings::default() }).await.unwrap();
        assert_eq!(journal.status().recovered, 3, "{sql}");
        assert_eq!(row(&damaged.path()), before, "the row stays as it is");
        let recovered: Vec<JournalRecord> = store
            .records(everything())
            .await
            .unwrap()
            .into_iter()
            .map(|stored| stored.record)
            .filter(|record| record.kind == Kind::Recovered)
            .collect();
        let calls: Vec<_> = recovered.iter().map(|record| (record.call, record.outcome)).collect();
        let unknown = Some(Outcome::Unknown);
        assert_eq!(calls, [(1, unknown), (2, unknown), (3, unknown)], "{sql}");
        let named = recovered[1].detail.as_deref().unwrap().contains("record 2");
        assert!(named && !recovered[0].detail.as_deref().unwrap().contains("record 1"), "{recovered:?}");
        for call in 1..=3 {
            let again = store.begin(intent("later", call).into(), Some(claim(&call.to_string())), 2).await.unwrap();
            let Begun::Duplicate(earlier) = again else { panic!("the key is taken") };
            assert_eq!(earlier.outcome, unknown, "{sql}");
        }
        let told = store.damage_met();
        assert_eq!((told[0].table, told[0].rows[0].row.as_str()), ("journal", "2"), "{sql}");
        assert!(store.unfinished(10).await.unwrap().is_empty());
        // It does not keep the journal from being tidied up for ever.
        drop(journal);
        let kept = if sql.starts_with("DELETE") { 5 } else { 6 };
        assert_eq!(store.prune_journal(u64::MAX).await.unwrap(), kept, "{sql}");
    }
}

fn row(path: &Path) -> Option<Vec<u8>> {
    let sql = "SELECT CAST(record AS BLOB) FROM journal WHERE seq = 2";
    Connection::open(path).unwrap().query_row(sql, [], |row| row.get(0)).ok()
}

#[tokio::test]
async fn a_key_whose_end_cannot_be_read_is_taken_with_an_unknown_end() {
    let damaged = Damaged::new();
    let store = &damaged.store;
    store.begin(intent("r", 1).into(), Some(claim("k")), 1).await.unwrap();
    store.finish(outcome("r", 1, Outcome::Ok).into(), Some(crate::samples::kept("k", Some("{}")))).await.unwrap();
    damaged.run("UPDATE claims SET outcome = 'x', result = CAST(x'ff' AS TEXT)");
    let Begun::Duplicate(earlier) = store.begin(intent("r", 2).into(), Some(claim("k")), 1).await.unwrap() else {
        panic!("the key is taken")
    };
    assert_eq!((earlier.outcome, earlier.result), (Some(Outcome::Unknown), None));
    // A damaged record of the call keeps no other write from being made.
    damaged.run("UPDATE journal SET record = 'x'");
    store.append(vec![outcome("r", 1, Outcome::Ok).into(), outcome("r", 3, Outcome::Ok).into()]).await.unwrap();
}
