//! Numbered migrations, embedded, applied once each, their texts pinned by checksum.

use rusqlite::{Connection, TransactionBehavior};
use toolcrib_core::ContentHash;
use toolcrib_engine::StoreError;

use super::failure::explain;
use crate::now_ms;

/// `PRAGMA application_id` of our files: "tlcb".
const APPLICATION_ID: i32 = 0x746c_6362;

/// One step of the schema. Its text never changes once released; a change is a new step.
pub(crate) struct Migration {
    pub(crate) version: u32,
    pub(crate) sql: &'static str,
}

pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, sql: include_str!("../../migrations/0001_initial.sql") },
    Migration { version: 2, sql: include_str!("../../migrations/0002_definitions_by_fingerprint.sql") },
    Migration { version: 3, sql: include_str!("../../migrations/0003_trusted_calls.sql") },
    Migration { version: 4, sql: include_str!("../../migrations/0004_entries.sql") },
    Migration { version: 5, sql: include_str!("../../migrations/0005_one_journal_index.sql") },
    Migration { version: 6, sql: include_str!("../../migrations/0006_experience.sql") },
    Migration { version: 7, sql: include_str!("../../migrations/0007_refusals_by_what_they_cover.sql") },
    Migration { version: 8, sql: include_str!("../../migrations/0008_entries_held.sql") },
    Migration { version: 9, sql: include_str!("../../migrations/0009_vectors.sql") },
];

/// Why the schema cannot be brought up to date.
#[derive(Debug)]
pub(crate) enum MigrateError {
    Sql(rusqlite::Error),
    Refused(String),
}

impl From<rusqlite::Error> for MigrateError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<MigrateError> for StoreError {
    fn from(error: MigrateError) -> Self {
        let cause = match error {
            MigrateError::Sql(error) => explain(&error),
            MigrateError::Refused(cause) => cause,
        };
        Self::Failed { operation: "open", cause }
    }
}

/// Brings the schema to the newest version in one transaction: either all missing steps are applied or none is.
pub(crate) fn migrate(connection: &mut Connection, migrations: &[Migration]) -> Result<(), MigrateError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(
        "CREATE TABLE IF NOT EXISTS schema_migrations (
            version INTEGER PRIMARY KEY, checksum TEXT NOT NULL, applied_at_ms INTEGER NOT NULL
        ) STRICT",
    )?;
    let applied: Vec<(u32, String)> = transaction
        .prepare("SELECT version, checksum FROM schema_migrations ORDER BY version")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let newest = migrations.last().map_or(0, |migration| migration.version);
    if let Some((version, _)) = applied.last().filter(|(version, _)| *version > newest) {
        return Err(MigrateError::Refused(format!(
            "the file has schema version {version}, this toolcrib knows {newest} at most; use the newer toolcrib that \
             wrote it, or another file"
        )));
    }
    for migration in migrations {
        let checksum = checksum(migration.sql);
        match applied.iter().find(|(version, _)| *version == migration.version) {
            Some((_, known)) if *known == checksum => {}
            Some((version, _)) => {
                return Err(MigrateError::Refused(format!(
                    "schema version {version} of the file was made by another text of that step than this toolcrib's; \
                     use the toolcrib that wrote it, or another file"
                )));
            }
            None => {
                transaction.execute_batch(migration.sql)?;
                transaction.execute(
                    "INSERT INTO schema_migrations VALUES (?1, ?2, ?3)",
                    (migration.version, checksum, i64::try_from(now_ms()).unwrap_or(i64::MAX)),
                )?;
            }
        }
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.commit()?;
    Ok(())
}

/// Refuses a database that is not empty and not ours. Reads only.
pub(crate) fn check_owner(connection: &Connection) -> Result<(), MigrateError> {
    let owner: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let tables: u32 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if owner == APPLICATION_ID || (owner == 0 && tables == 0) {
        return Ok(());
    }
    Err(MigrateError::Refused("the file is a SQLite database of another program; choose another path".to_owned()))
}

fn checksum(sql: &str) -> String {
    // Line ends are not part of the text: a checkout may convert them.
    ContentHash::of_bytes(sql.replace('\r', "").as_bytes()).to_string()
}

#[cfg(test)]
mod tests;
