use super::*;
use crate::sqlite::queries::load_definitions;

const ONE: Migration = Migration { version: 1, sql: "CREATE TABLE a (x INTEGER) STRICT" };
const TWO: Migration = Migration { version: 2, sql: "CREATE TABLE b (x INTEGER) STRICT" };

#[track_caller]
fn refused(result: Result<(), MigrateError>, part: &str) {
    let text = StoreError::from(result.unwrap_err()).to_string();
    assert!(text.contains(part), "{text}");
}

#[test]
fn steps_are_applied_once_and_only_the_missing_ones() {
    let mut connection = Connection::open_in_memory().unwrap();
    migrate(&mut connection, &[ONE]).unwrap();
    migrate(&mut connection, &[ONE]).unwrap();
    migrate(&mut connection, &[ONE, TWO]).unwrap();
    connection.execute_batch("INSERT INTO a VALUES (1); INSERT INTO b VALUES (1)").unwrap();
}

#[test]
fn a_newer_schema_is_refused_with_both_numbers() {
    let mut connection = Connection::open_in_memory().unwrap();
    migrate(&mut connection, &[ONE, TWO]).unwrap();
    refused(migrate(&mut connection, &[ONE]), "schema version 2, this toolcrib knows 1 at most");
}

#[test]
fn a_changed_step_is_refused() {
    let mut connection = Connection::open_in_memory().unwrap();
    migrate(&mut connection, &[ONE]).unwrap();
    let other = Migration { version: 1, sql: "CREATE TABLE a (y INTEGER) STRICT" };
    refused(migrate(&mut connection, &[other]), "schema version 1 of the file was made by another text");
}

#[test]
fn line_ends_do_not_change_a_step() {
    assert_eq!(checksum("a\nb"), checksum("a\r\nb"));
}

#[test]
fn a_foreign_database_is_left_alone() {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch("CREATE TABLE bookmarks (x)").unwrap();
    refused(check_owner(&connection), "database of another program");
    let tables: u32 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
    assert_eq!(tables, 1);
}

#[test]
fn a_failing_step_leaves_nothing_behind() {
    let mut connection = Connection::open_in_memory().unwrap();
    let broken = Migration { version: 2, sql: "CREATE TABLE c (x); CREATE NONSENSE" };
    assert!(migrate(&mut connection, &[ONE, broken]).is_err());
    migrate(&mut connection, &[ONE, TWO]).unwrap();
}

#[test]
fn definitions_of_the_first_schema_are_taken_along() {
    let mut connection = Connection::open_in_memory().unwrap();
    migrate(&mut connection, &MIGRATIONS[..1]).unwrap();
    connection
        .execute_batch("INSERT INTO definitions VALUES ('mcp:a', 'one', '[{\"name\":\"t\"}]', 'read me', 7)")
        .unwrap();
    migrate(&mut connection, MIGRATIONS).unwrap();
    let Ok(Some(known)) = load_definitions(&connection, "mcp:a", "one") else { panic!("they are gone") };
    assert_eq!((known.tools.len(), known.instructions.as_deref(), known.fetched_at_ms), (1, Some("read me"), 7));
}

/// A record, the uses it has left, and what is held of it then: whether it allows, and the names that it is found by.
type Case<'a> = (&'a str, Option<u32>, (Option<bool>, &'a [&'a str]));

#[test]
fn what_grants_cover_is_taken_from_their_records_and_is_unknown_where_they_cannot_be_read() {
    let mut connection = Connection::open_in_memory().unwrap();
    migrate(&mut connection, &MIGRATIONS[..3]).unwrap();
    let never = r#"{"allow":false,"tool":"mcp:a/b","reach":"always","principal":{"user":"ann","session":"s"}}"#;
    let cases: &[Case<'_>] = &[
        (never, None, (Some(false), &["mcp:a/b", "ann"])),
        (&never.replace("always", "session"), None, (Some(false), &["mcp:a/b", "ann", "s"])),
        (&never.replace("false", "true"), Some(1), (Some(true), &["mcp:a/b", "ann"])),
        (&never.replace("\"ann\"", "null"), None, (Some(false), &["mcp:a/b"])),
        ("not JSON", None, (None, &[])),
        ("not JSON", Some(1), (Some(true), &[])),
        ("[]", None, (None, &[])),
        (r#"{"allow":"no","tool":7,"principal":"x"}"#, None, (None, &[])),
    ];
    for (record, uses, _) in cases {
        let sql = "INSERT INTO grants (grant_id, tenant, uses_left, created_at_ms, record)
                   VALUES (hex(randomblob(8)), '', ?1, 1, ?2)";
        connection.execute(sql, rusqlite::params![uses, record]).unwrap();
    }
    migrate(&mut connection, MIGRATIONS).unwrap();
    let mut statement = connection.prepare("SELECT allow, tool, user, session FROM grants ORDER BY id").unwrap();
    let mut rows = statement.query([]).unwrap();
    for (record, _, (allow, texts)) in cases {
        let row = rows.next().unwrap().unwrap();
        let found: Vec<String> = (1..4).filter_map(|place| row.get::<_, Option<String>>(place).unwrap()).collect();
        assert_eq!(row.get::<_, Option<bool>>(0).unwrap(), *allow, "{record}");
        assert_eq!(found, *texts, "{record}");
    }
}

#[test]
fn released_steps_are_numbered_without_gaps() {
    let versions: Vec<u32> = MIGRATIONS.iter().map(|migration| migration.version).collect();
    assert_eq!(versions, (1..=versions.len() as u32).collect::<Vec<_>>());
}

// A released step whose text changes locks every user out of their file: add a step instead of editing one.
#[test]
fn the_texts_of_released_steps_stay() {
    let texts: Vec<_> = MIGRATIONS.iter().map(|step| format!("{} {}\n", step.version, checksum(step.sql))).collect();
    assert_eq!(texts.concat(), include_str!("checksums.txt"));
}
