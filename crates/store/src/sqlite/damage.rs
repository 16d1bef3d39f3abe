//! Rows that cannot be read: they are left out and left alone, told once, and looked for by `doctor`.

use std::{
    collections::{BTreeMap, HashSet},
    fmt::Display,
};

use parking_lot::Mutex;
use rusqlite::{Connection, Row, types::ValueRef};
use toolcrib_engine::{
    BoxFuture, StoreError,
    damage::{DamageReport, DamagedRow, DamagedTable, MOST_NAMED},
};

use super::{SqliteStore, approvals, failure::Refusal, journal, pending};

/// Damaged rows of one table that are told apart; of further ones it is only said that there are more.
const MOST_MET: usize = 10_000;

/// Why a row cannot be read. Holds nothing of what the row says.
pub(crate) type Cause = String;

/// The damaged rows that were met so far.
#[derive(Default)]
pub(crate) struct Damage {
    tables: Mutex<BTreeMap<&'static str, Met>>,
    /// Whether nothing is logged: whoever looks for damage tells of it.
    quiet: bool,
}

#[derive(Default)]
struct Met {
    known: HashSet<String>,
    rows: Vec<DamagedRow>,
}

impl Damage {
    /// Takes note of a row that cannot be read, and says so if it was not known.
    pub(crate) fn tell(&self, table: &'static str, row: impl Display, cause: Cause) {
        let row = row.to_string();
        let mut tables = self.tables.lock();
        let met = tables.entry(table).or_default();
        if met.known.len() >= MOST_MET || !met.known.insert(row.clone()) {
            return;
        }
        if !self.quiet {
            tracing::warn!(
                table,
                row,
                cause,
                "a row of the store cannot be read; it is left as it is, `toolcrib doctor` says what to do"
            );
        }
        if met.rows.len() < MOST_NAMED {
            met.rows.push(DamagedRow { row, cause });
        }
    }

    fn met(&self) -> Vec<DamagedTable> {
        let tables = self.tables.lock();
        let told = tables.iter().map(|(table, met)| DamagedTable {
            table,
            count: met.known.len() as u64,
            rows: met.rows.clone(),
        });
        told.collect()
    }
}

/// A text of a row, whatever bytes stand there.
pub(crate) fn lossy(row: &Row<'_>, place: usize) -> rusqlite::Result<Option<String>> {
    Ok(match row.get_ref(place)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Null => None,
    })
}

/// A text of a row that must be one.
pub(crate) fn text(row: &Row<'_>, place: usize) -> Result<String, Cause> {
    optional(row, place)?.ok_or_else(|| "a text is missing".to_owned())
}

/// A text of a row that may be absent, but must be one otherwise.
pub(crate) fn optional(row: &Row<'_>, place: usize) -> Result<Option<String>, Cause> {
    row.get::<_, Option<String>>(place).map_err(|_| "what should be a text is none".to_owned())
}

/// The value that a row holds as JSON.
pub(crate) fn parsed<T: serde::de::DeserializeOwned>(row: &Row<'_>, place: usize) -> Result<T, Cause> {
    let Ok(ValueRef::Text(bytes)) = row.get_ref(place) else {
        return Err("what should be a text is none".to_owned());
    };
    // What stands there may be anybody's text, so only its place is told.
    serde_json::from_slice(bytes)
        .map_err(|error| format!("its record cannot be read from column {} on", error.column()))
}

/// The value that a word stands for.
pub(crate) fn word<T: serde::de::DeserializeOwned>(row: &Row<'_>, place: usize) -> Result<T, Cause> {
    let word = text(row, place)?;
    serde_json::from_value(word.into()).map_err(|_| "its state is no word that is known".to_owned())
}

impl DamageReport for SqliteStore {
    fn damage_met(&self) -> Vec<DamagedTable> {
        self.inner.damage.met()
    }

    fn look_for_damage(&self) -> BoxFuture<'_, Result<Vec<DamagedTable>, StoreError>> {
        Box::pin(self.read("look for damage", |connection| {
            // A book of its own: what was met before may have been put right since.
            let found = Damage { quiet: true, ..Damage::default() };
            approvals::look(connection, &found)?;
            pending::look(connection, &found)?;
            journal::look(connection, &found)?;
            Ok::<_, Refusal>(found.met())
        }))
    }
}

/// Reads every row of a query with what cannot be read told and left out.
pub(crate) fn readable<T>(
    connection: &Connection,
    sql: &str,
    values: impl rusqlite::Params,
    mut read: impl FnMut(&Row<'_>) -> Result<Option<T>, Refusal>,
    most: usize,
) -> Result<Vec<T>, Refusal> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    let mut found = Vec::new();
    while found.len() < most
        && let Some(row) = rows.next()?
    {
        found.extend(read(row)?);
    }
    Ok(found)
}
