//! Entries of the store tools: rows by owner and store, and FTS5 for their words.

use rusqlite::{Connection, OptionalExtension, Row, params};
use toolcrib_core::ContentHash;
use toolcrib_engine::{
    BoxFuture, StoreError,
    store_tools::{EntryStore, MAX_FOUND, NewEntry, Quota, Shelf, StoredEntry, Usage},
};

use super::{SqliteStore, failure::Refusal, queries::signed};
use crate::{bounds, now_ms};

const COLUMNS: &str = "key, value, created_at_ms, updated_at_ms, revision";

/// Most words of a search that are looked for.
const MAX_WORDS: usize = 32;

impl EntryStore for SqliteStore {
    fn read<'a>(&'a self, shelf: &'a Shelf, key: &'a str) -> BoxFuture<'a, Result<Option<StoredEntry>, StoreError>> {
        let (shelf, key) = (shelf.clone(), key.to_owned());
        Box::pin(self.read("read entry", move |connection| {
            let row = connection
                .prepare_cached(
                    "SELECT key, value, created_at_ms, updated_at_ms, revision FROM entries
                     WHERE tenant = ?1 AND user = ?2 AND store = ?3 AND key = ?4",
                )?
                .query_row(params![shelf.tenant, shelf.user, shelf.store, key], entry)
                .optional()?;
            Ok(row)
        }))
    }

    fn write<'a>(
        &'a self,
        shelf: &'a Shelf,
        new: NewEntry,
        quota: Quota,
    ) -> BoxFuture<'a, Result<Option<StoredEntry>, StoreError>> {
        let shelf = shelf.clone();
        Box::pin(self.write("write entry", move |connection| write(connection, &shelf, &new, quota)))
    }

    fn remove<'a>(
        &'a self,
        shelf: &'a Shelf,
        key: &'a str,
        over: Option<u64>,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let (shelf, key) = (shelf.clone(), key.to_owned());
        // No revision is beyond what the column holds.
        let over = over.map(|over| i64::try_from(over).unwrap_or(i64::MAX));
        Box::pin(self.write("remove entry", move |connection| {
            let id: Option<i64> = connection
                .prepare_cached(
                    "DELETE FROM entries WHERE tenant = ?1 AND user = ?2 AND store = ?3 AND key = ?4
                     AND (?5 IS NULL OR revision = ?5) RETURNING id",
                )?
                .query_row(params![shelf.tenant, shelf.user, shelf.store, key, over], |row| row.get(0))
                .optional()?;
            let Some(id) = id else { return Ok(false) };
            connection.prepare_cached("DELETE FROM entry_words WHERE rowid = ?1")?.execute([id])?;
            Ok(true)
        }))
    }

    fn page<'a>(
        &'a self,
        shelf: &'a Shelf,
        prefix: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StoredEntry>, StoreError>> {
        let (shelf, prefix) = (shelf.clone(), prefix.to_owned());
        let after = after.map(str::to_owned);
        Box::pin(self.read("list entries", move |connection| {
            let (from, open) = match &after {
                Some(after) if *after >= prefix => (after, true),
                Some(_) | None => (&prefix, false),
            };
            let sql = format!(
                "SELECT {COLUMNS} FROM entries WHERE tenant = ?1 AND user = ?2 AND store = ?3 AND key {} ?4
                 ORDER BY key LIMIT ?5",
                if open { ">" } else { ">=" }
            );
            let mut statement = connection.prepare_cached(&sql)?;
            let limit = signed(limit as u64);
            let rows = statement.query_map(params![shelf.tenant, shelf.user, shelf.store, from, limit], entry)?;
            let mut entries = Vec::new();
            for row in rows {
                let row = row?;
                if !row.key.starts_with(&prefix) {
                    break;
                }
                entries.push(row);
            }
            Ok(entries)
        }))
    }

    fn find<'a>(
        &'a self,
        shelf: &'a Shelf,
        words: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<StoredEntry>, StoreError>> {
        let named: Vec<String> = words
            .iter()
            .filter(|word| word.chars().any(char::is_alphanumeric))
            .take(MAX_WORDS)
            .map(|word| quoted(word))
            .collect();
        let asked = format!("shelf : {} AND words : ({})", shelf_word(shelf), named.join(" OR "));
        Box::pin(async move {
            if named.is_empty() {
                return Ok(Vec::new());
            }
            self.read("find entries", move |connection| {
                let mut statement = connection.prepare_cached(
                    "SELECT e.key, e.value, e.created_at_ms, e.updated_at_ms, e.revision
                     FROM entry_words JOIN entries e ON e.id = entry_words.rowid
                     WHERE entry_words MATCH ?1 ORDER BY bm25(entry_words), e.key LIMIT ?2",
                )?;
                let rows = statement.query_map(params![asked, signed(MAX_FOUND as u64)], entry)?;
                Ok(rows.collect::<Result<_, _>>()?)
            })
            .await
        })
    }

    fn usage<'a>(&'a self, shelf: &'a Shelf) -> BoxFuture<'a, Result<Usage, StoreError>> {
        let shelf = shelf.clone();
        Box::pin(self.read("count entries", move |connection| usage(connection, &shelf)))
    }

    fn clear<'a>(&'a self, shelf: &'a Shelf) -> BoxFuture<'a, Result<u64, StoreError>> {
        let shelf = shelf.clone();
        Box::pin(async move {
            self.in_portions("clear entries", move |connection, most| {
                let mut statement = connection.prepare_cached(
                    "DELETE FROM entries WHERE id IN (
                        SELECT id FROM entries WHERE tenant = ?1 AND user = ?2 AND store = ?3 LIMIT ?4
                     ) RETURNING id",
                )?;
                let limit = signed(most as u64);
                let ids: Vec<i64> = statement
                    .query_map(params![shelf.tenant, shelf.user, shelf.store, limit], |row| row.get(0))?
                    .collect::<Result<_, _>>()?;
                let mut forget = connection.prepare_cached("DELETE FROM entry_words WHERE rowid = ?1")?;
                for id in &ids {
                    forget.execute([id])?;
                }
                Ok((ids.len() as u64, ids.len() == most))
            })
            .await
        })
    }
}

fn write(connection: &Connection, shelf: &Shelf, new: &NewEntry, quota: Quota) -> Result<Option<StoredEntry>, Refusal> {
    let known = connection
        .prepare_cached(
            "SELECT id, bytes, created_at_ms, revision FROM entries
             WHERE tenant = ?1 AND user = ?2 AND store = ?3 AND key = ?4",
        )?
        .query_row(params![shelf.tenant, shelf.user, shelf.store, new.key], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?, row.get::<_, i64>(3)?))
        })
        .optional()?;
    let revision = known.map_or(0, |(.., revision)| revision.unsigned_abs());
    if new.over.is_some_and(|over| over != revision) {
        return Ok(None);
    }
    let bytes = new.key.len() as u64 + new.value.len() as u64;
    let held = usage(connection, shelf)?;
    let replaced = known.map_or(0, |(_, bytes, ..)| bytes.unsigned_abs());
    bounds::check_shelf(&shelf.store, held, known.is_none(), bytes, replaced, quota).map_err(Refusal::Rule)?;
    let now = now_ms();
    let created = known.map_or(now, |(_, _, created, _)| created.unsigned_abs());
    let kept = StoredEntry {
        key: new.key.clone(),
        value: new.value.clone(),
        created_at_ms: created,
        updated_at_ms: now,
        revision: revision + 1,
    };
    let id: i64 = connection
        .prepare_cached(
            "INSERT INTO entries (tenant, user, store, key, value, bytes, created_at_ms, updated_at_ms, revision)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
             ON CONFLICT (tenant, user, store, key) DO UPDATE SET
                value = excluded.value, bytes = excluded.bytes, updated_at_ms = excluded.updated_at_ms,
                revision = excluded.revision
             RETURNING id",
        )?
        .query_row(
            params![
                shelf.tenant,
                shelf.user,
                shelf.store,
                kept.key,
                kept.value,
                signed(bytes),
                signed(created),
                signed(now),
                signed(kept.revision)
            ],
            |row| row.get(0),
        )?;
    if known.is_some() {
        connection.prepare_cached("DELETE FROM entry_words WHERE rowid = ?1")?.execute([id])?;
    }
    if !new.words.is_empty() {
        connection
            .prepare_cached("INSERT INTO entry_words (rowid, shelf, words) VALUES (?1, ?2, ?3)")?
            .execute(params![id, shelf_word(shelf), new.words])?;
    }
    Ok(Some(kept))
}

fn usage(connection: &Connection, shelf: &Shelf) -> Result<Usage, Refusal> {
    let (entries, bytes): (i64, i64) = connection
        .prepare_cached(
            "SELECT count(*), coalesce(sum(bytes), 0) FROM entries WHERE tenant = ?1 AND user = ?2 AND store = ?3",
        )?
        .query_row(params![shelf.tenant, shelf.user, shelf.store], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(Usage { entries: entries.unsigned_abs(), bytes: bytes.unsigned_abs() })
}

fn entry(row: &Row<'_>) -> rusqlite::Result<StoredEntry> {
    Ok(StoredEntry {
        key: row.get(0)?,
        value: row.get(1)?,
        created_at_ms: row.get::<_, i64>(2)?.unsigned_abs(),
        updated_at_ms: row.get::<_, i64>(3)?.unsigned_abs(),
        revision: row.get::<_, i64>(4)?.unsigned_abs(),
    })
}

/// One word that stands for a shelf: letters and digits only.
fn shelf_word(shelf: &Shelf) -> String {
    // The lengths keep ("ab", "c") and ("a", "bc") apart.
    let Shelf { tenant, user, store } = shelf;
    let named = format!("{}:{tenant}{}:{user}{store}", tenant.len(), user.len());
    format!("s{}", ContentHash::of_bytes(named.as_bytes()).base32(26))
}

/// A word as FTS5 reads a string: nothing in it is an operator.
fn quoted(word: &str) -> String {
    format!("\"{}\"", word.replace('"', "\"\""))
}
