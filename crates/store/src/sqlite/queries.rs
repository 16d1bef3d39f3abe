//! The statements about definitions, values and results, one function each, and what all statements share.

use rusqlite::{Connection, OptionalExtension, params};
use toolcrib_engine::{StoreError, StoredDefinitions};

use super::failure::Refusal;
use crate::{FINGERPRINTS_PER_SOURCE, memory::too_many_keys};

/// SQLite's integers are signed; times and sizes of ours stay far below.
pub(crate) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A value as it is kept.
pub(crate) fn to_json(operation: &'static str, value: &impl serde::Serialize) -> Result<String, Refusal> {
    serde_json::to_string(value)
        .map_err(|error| Refusal::Rule(StoreError::Failed { operation, cause: error.to_string() }))
}

pub(crate) fn load_definitions(
    connection: &Connection,
    source: &str,
    fingerprint: &str,
) -> Result<Option<StoredDefinitions>, Refusal> {
    let row = connection
        .prepare_cached(
            "SELECT tools, instructions, fetched_at_ms FROM definitions WHERE source = ?1 AND fingerprint = ?2",
        )?
        .query_row([source, fingerprint], |row| {
            let text: String = row.get(0)?;
            Ok((text, row.get(1)?, row.get::<_, i64>(2)?))
        })
        .optional()?;
    let Some((text, instructions, fetched_at_ms)) = row else { return Ok(None) };
    let fingerprint = fingerprint.to_owned();
    let tools = serde_json::from_str(&text).map_err(|error| {
        Refusal::Rule(StoreError::Failed { operation: "load definitions", cause: format!("not JSON: {error}") })
    })?;
    Ok(Some(StoredDefinitions { fingerprint, tools, instructions, fetched_at_ms: fetched_at_ms.unsigned_abs() }))
}

pub(crate) fn save_definitions(
    connection: &Connection,
    source: &str,
    definitions: &StoredDefinitions,
) -> Result<(), Refusal> {
    let text = serde_json::to_string(&definitions.tools).map_err(|error| {
        Refusal::Rule(StoreError::Failed { operation: "save definitions", cause: error.to_string() })
    })?;
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO definitions (source, fingerprint, fetched_at_ms, instructions, tools)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            source,
            definitions.fingerprint,
            signed(definitions.fetched_at_ms),
            definitions.instructions,
            text
        ])?;
    connection
        .prepare_cached(
            "DELETE FROM definitions WHERE id IN (
                SELECT id FROM definitions WHERE source = ?1 ORDER BY id DESC LIMIT -1 OFFSET ?2
             )",
        )?
        .execute(params![source, signed(FINGERPRINTS_PER_SOURCE as u64)])?;
    Ok(())
}

/// Drops definitions obtained before a time: of projects that are no longer used, or changed since.
pub(crate) fn drop_definitions_before(connection: &Connection, time_ms: u64) -> Result<usize, rusqlite::Error> {
    connection.execute("DELETE FROM definitions WHERE fetched_at_ms < ?1", [signed(time_ms)])
}

pub(crate) fn forget_definitions(connection: &Connection, source: &str) -> Result<(), Refusal> {
    connection.prepare_cached("DELETE FROM definitions WHERE source = ?1")?.execute([source])?;
    Ok(())
}

pub(crate) fn get_value(connection: &Connection, namespace: &str, key: &str) -> Result<Option<String>, Refusal> {
    Ok(connection
        .prepare_cached("SELECT value FROM key_values WHERE namespace = ?1 AND key = ?2")?
        .query_row([namespace, key], |row| row.get(0))
        .optional()?)
}

pub(crate) fn set_value(
    connection: &Connection,
    namespace: &str,
    key: &str,
    value: &str,
    max_keys: usize,
    now_ms: u64,
) -> Result<(), Refusal> {
    let replaced = connection
        .prepare_cached("UPDATE key_values SET value = ?3, updated_at_ms = ?4 WHERE namespace = ?1 AND key = ?2")?
        .execute(params![namespace, key, value, signed(now_ms)])?;
    if replaced > 0 {
        return Ok(());
    }
    let keys: i64 = connection
        .prepare_cached("SELECT count(*) FROM key_values WHERE namespace = ?1")?
        .query_row([namespace], |row| row.get(0))?;
    if keys >= signed(max_keys as u64) {
        return Err(Refusal::Rule(too_many_keys(max_keys)));
    }
    connection.prepare_cached("INSERT INTO key_values VALUES (?1, ?2, ?3, ?4)")?.execute(params![
        namespace,
        key,
        value,
        signed(now_ms)
    ])?;
    Ok(())
}

pub(crate) fn delete_value(connection: &Connection, namespace: &str, key: &str) -> Result<bool, Refusal> {
    let deleted = connection
        .prepare_cached("DELETE FROM key_values WHERE namespace = ?1 AND key = ?2")?
        .execute([namespace, key])?;
    Ok(deleted > 0)
}

pub(crate) fn list_keys(
    connection: &Connection,
    namespace: &str,
    prefix: &str,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<String>, Refusal> {
    let mut statement = connection.prepare_cached(
        "SELECT key FROM key_values WHERE namespace = ?1 AND key >= ?2 AND (?3 IS NULL OR key > ?3)
         ORDER BY key LIMIT ?4",
    )?;
    let mut rows = statement.query(params![namespace, prefix, after, signed(limit as u64)])?;
    let mut keys = Vec::new();
    while let Some(row) = rows.next()? {
        let key: String = row.get(0)?;
        // In order, so the first key without the prefix ends the run of keys that have it.
        if !key.starts_with(prefix) {
            break;
        }
        keys.push(key);
    }
    Ok(keys)
}

/// Drops expired results, then the oldest ones until `incoming` more bytes fit under `max_bytes`.
pub(crate) fn make_room(connection: &Connection, incoming: u64, max_bytes: u64, now_ms: u64) -> Result<(), Refusal> {
    connection.prepare_cached("DELETE FROM results WHERE expires_at_ms <= ?1")?.execute([signed(now_ms)])?;
    let held: i64 = connection
        .prepare_cached("SELECT coalesce(sum(bytes), 0) FROM results INDEXED BY results_size")?
        .query_row([], |row| row.get(0))?;
    let mut excess = signed(incoming).saturating_add(held) - signed(max_bytes);
    if excess <= 0 {
        return Ok(());
    }
    let mut last_dropped = None;
    {
        let mut statement =
            connection.prepare_cached("SELECT id, bytes FROM results INDEXED BY results_size ORDER BY id")?;
        let mut rows = statement.query([])?;
        while excess > 0
            && let Some(row) = rows.next()?
        {
            last_dropped = Some(row.get::<_, i64>(0)?);
            excess -= row.get::<_, i64>(1)?;
        }
    }
    if let Some(id) = last_dropped {
        connection.prepare_cached("DELETE FROM results WHERE id <= ?1")?.execute([id])?;
    }
    Ok(())
}

pub(crate) fn put_result(
    connection: &Connection,
    handle: &str,
    scope: &str,
    text: &str,
    expires_at_ms: u64,
) -> Result<(), Refusal> {
    connection
        .prepare_cached("INSERT INTO results (handle, scope, bytes, expires_at_ms, text) VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute(params![handle, scope, signed(text.len() as u64), signed(expires_at_ms), text])?;
    Ok(())
}

pub(crate) fn get_result(
    connection: &Connection,
    scope: &str,
    handle: &str,
    now_ms: u64,
) -> Result<Option<String>, Refusal> {
    Ok(connection
        .prepare_cached("SELECT text FROM results WHERE handle = ?1 AND scope = ?2 AND expires_at_ms > ?3")?
        .query_row(params![handle, scope, signed(now_ms)], |row| row.get(0))
        .optional()?)
}
