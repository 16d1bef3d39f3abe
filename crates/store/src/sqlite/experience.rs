//! What was learnt from use: every statement about it, and the trait over these.

use rusqlite::{Connection, OptionalExtension, params};
use toolcrib_core::usage::{Pair, decayed};
use toolcrib_engine::{BoxFuture, ExperienceStore, Learnt, StoreError};

use super::{SqliteStore, failure::Refusal, queries::signed};
use crate::bounds;

impl ExperienceStore for SqliteStore {
    fn learn<'a>(
        &'a self,
        tenant: &'a str,
        learnt: Vec<Learnt>,
        half_life_ms: u64,
        max_pairs: usize,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let tenant = tenant.to_owned();
        Box::pin(self.write("learn from use", move |connection| {
            for one in &learnt {
                add(connection, &tenant, one, half_life_ms)?;
            }
            make_room(connection, &tenant, half_life_ms, max_pairs)
        }))
    }

    fn experience<'a>(&'a self, tenant: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<Pair>, StoreError>> {
        let tenant = tenant.to_owned();
        Box::pin(self.read("read what was learnt", move |connection| pairs(connection, &tenant, limit)))
    }

    fn experienced(&self) -> BoxFuture<'_, Result<Vec<(String, u64)>, StoreError>> {
        Box::pin(self.read("read what was learnt", |connection| {
            let mut statement = connection
                .prepare_cached("SELECT tenant, count(*) FROM experience GROUP BY tenant ORDER BY tenant LIMIT ?1")?;
            let rows = statement.query_map([signed(bounds::TENANTS as u64)], |row| {
                Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs()))
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        }))
    }

    fn forget_experience<'a>(&'a self, tenant: &'a str) -> BoxFuture<'a, Result<u64, StoreError>> {
        let tenant = tenant.to_owned();
        Box::pin(self.write("forget what was learnt", move |connection| {
            let gone = connection.prepare_cached("DELETE FROM experience WHERE tenant = ?1")?.execute([&tenant])?;
            Ok(gone as u64)
        }))
    }
}

fn add(connection: &Connection, tenant: &str, learnt: &Learnt, half_life_ms: u64) -> Result<(), Refusal> {
    for word in &learnt.words {
        let known = connection
            .prepare_cached("SELECT weight, at_ms FROM experience WHERE tenant = ?1 AND word = ?2 AND tool = ?3")?
            .query_row(params![tenant, word, learnt.tool], |row| {
                Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs()))
            })
            .optional()?;
        let (weight, at_ms) = bounds::seen_again(known.unwrap_or((0.0, learnt.at_ms)), learnt.at_ms, half_life_ms);
        connection
            .prepare_cached(
                "INSERT OR REPLACE INTO experience (tenant, word, tool, weight, at_ms) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![tenant, word, learnt.tool, weight, signed(at_ms)])?;
    }
    Ok(())
}

fn pairs(connection: &Connection, tenant: &str, limit: usize) -> Result<Vec<Pair>, Refusal> {
    let mut statement = connection.prepare_cached(
        "SELECT word, tool, weight, at_ms FROM experience WHERE tenant = ?1 ORDER BY at_ms DESC, word, tool LIMIT ?2",
    )?;
    let rows = statement.query_map(params![tenant, signed(limit as u64)], |row| {
        Ok(Pair {
            word: row.get(0)?,
            tool: row.get(1)?,
            weight: row.get(2)?,
            at_ms: row.get::<_, i64>(3)?.unsigned_abs(),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Drops the weakest pairs of a tenant that has too many.
fn make_room(connection: &Connection, tenant: &str, half_life_ms: u64, max_pairs: usize) -> Result<(), Refusal> {
    let count: i64 = connection
        .prepare_cached("SELECT count(*) FROM experience WHERE tenant = ?1")?
        .query_row([tenant], |row| row.get(0))?;
    if count <= signed(max_pairs as u64) {
        return Ok(());
    }
    let mut all = pairs(connection, tenant, usize::MAX)?;
    let now = all.first().map_or(0, |pair| pair.at_ms);
    all.sort_by(|a, b| {
        let strength = |pair: &Pair| decayed(pair.weight, now - pair.at_ms, half_life_ms);
        strength(b).total_cmp(&strength(a))
    });
    for pair in all.iter().skip(bounds::kept_pairs(max_pairs)) {
        connection
            .prepare_cached("DELETE FROM experience WHERE tenant = ?1 AND word = ?2 AND tool = ?3")?
            .execute(params![tenant, pair.word, pair.tool])?;
    }
    Ok(())
}
