//! Vectors of texts: every statement about them, and the trait over these.

use rusqlite::{Connection, OptionalExtension, params};
use toolcrib_core::ContentHash;
use toolcrib_engine::{BoxFuture, StoreError, VectorStore};

use super::{SqliteStore, failure::Refusal, queries::signed};

/// A row that was used again is marked as such only after this time: to read must not cost a write a row.
const USED_STEP_MS: u64 = 24 * 60 * 60 * 1_000;

impl VectorStore for SqliteStore {
    fn vectors<'a>(
        &'a self,
        encoder: &'a str,
        keys: Vec<ContentHash>,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<Vec<Option<Vec<u8>>>, StoreError>> {
        let encoder = encoder.to_owned();
        Box::pin(async move {
            let (of_read, wanted) = (encoder.clone(), keys.clone());
            let (found, stale) =
                self.read("read vectors", move |connection| load(connection, &of_read, &wanted, now_ms)).await?;
            if !stale.is_empty() {
                self.write("mark vectors as used", move |connection| mark(connection, &encoder, &stale, now_ms))
                    .await?;
            }
            Ok(found)
        })
    }

    fn keep_vectors<'a>(
        &'a self,
        encoder: &'a str,
        vectors: Vec<(ContentHash, Vec<u8>)>,
        now_ms: u64,
        max_rows: usize,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let encoder = encoder.to_owned();
        Box::pin(self.write("keep vectors", move |connection| {
            for (key, bytes) in &vectors {
                connection
                    .prepare_cached(
                        "INSERT OR REPLACE INTO vectors (encoder, key, bytes, used_ms) VALUES (?1, ?2, ?3, ?4)",
                    )?
                    .execute(params![encoder, &key.as_bytes()[..], bytes, signed(now_ms)])?;
            }
            make_room(connection, max_rows)
        }))
    }
}

/// What is there of each key, and which of the keys are to be marked as used.
type Found = (Vec<Option<Vec<u8>>>, Vec<ContentHash>);

fn load(connection: &Connection, encoder: &str, keys: &[ContentHash], now_ms: u64) -> Result<Found, Refusal> {
    let mut statement =
        connection.prepare_cached("SELECT bytes, used_ms FROM vectors WHERE encoder = ?1 AND key = ?2")?;
    let (mut found, mut stale) = (Vec::with_capacity(keys.len()), Vec::new());
    for key in keys {
        let row = statement
            .query_row(params![encoder, &key.as_bytes()[..]], |row| {
                Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, i64>(1)?.unsigned_abs()))
            })
            .optional()?;
        if row.as_ref().is_some_and(|(_, used)| used.saturating_add(USED_STEP_MS) <= now_ms) {
            stale.push(*key);
        }
        found.push(row.map(|(bytes, _)| bytes));
    }
    Ok((found, stale))
}

fn mark(connection: &Connection, encoder: &str, keys: &[ContentHash], now_ms: u64) -> Result<(), Refusal> {
    for key in keys {
        connection
            .prepare_cached("UPDATE vectors SET used_ms = ?3 WHERE encoder = ?1 AND key = ?2")?
            .execute(params![encoder, &key.as_bytes()[..], signed(now_ms)])?;
    }
    Ok(())
}

fn make_room(connection: &Connection, max_rows: usize) -> Result<(), Refusal> {
    let count: i64 = connection.prepare_cached("SELECT count(*) FROM vectors")?.query_row([], |row| row.get(0))?;
    let over = count.saturating_sub(signed(max_rows as u64));
    if over > 0 {
        connection
            .prepare_cached(
                "DELETE FROM vectors WHERE (encoder, key) IN
                 (SELECT encoder, key FROM vectors ORDER BY used_ms, encoder, key LIMIT ?1)",
            )?
            .execute([over])?;
    }
    Ok(())
}
