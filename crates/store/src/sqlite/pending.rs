//! Work that outlives its call: every statement about it, and the trait over these.

use rusqlite::{Connection, OptionalExtension, Row, params, types::Value};
use toolcrib_engine::{
    BoxFuture, StoreError,
    pending::{Pending, PendingFilter, PendingState, PendingStore},
};

use super::{
    SqliteStore,
    failure::Refusal,
    queries::{from_json, signed, to_json},
    runs,
};
use crate::{
    bounds,
    memory::result_too_large,
    subject::{kind_word, pending_state_word, state_at},
};

impl PendingStore for SqliteStore {
    fn open(&self, pending: Pending, most: usize, now_ms: u64) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.write("keep pending work", move |connection| open(connection, &pending, most, now_ms)))
    }

    fn pending<'a>(&'a self, handle: &'a str, now_ms: u64) -> BoxFuture<'a, Result<Option<Pending>, StoreError>> {
        let handle = handle.to_owned();
        Box::pin(self.read("read pending work", move |connection| by_handle(connection, &handle, now_ms)))
    }

    fn by_correlation<'a>(
        &'a self,
        tenant: &'a str,
        correlation: &'a str,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<Option<Pending>, StoreError>> {
        let (tenant, correlation) = (tenant.to_owned(), correlation.to_owned());
        Box::pin(
            self.read("read pending work", move |connection| by_correlation(connection, &tenant, &correlation, now_ms)),
        )
    }

    fn settle<'a>(&'a self, handle: &'a str, result: String, now_ms: u64) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            let most = self.inner.max_result_bytes;
            if result.len() as u64 > most {
                return Err(result_too_large(result.len() as u64, most));
            }
            let handle = handle.to_owned();
            self.write("keep result of pending work", move |connection| settle(connection, &handle, &result, now_ms))
                .await
        })
    }

    fn deliver<'a>(&'a self, handle: &'a str, _now_ms: u64) -> BoxFuture<'a, Result<bool, StoreError>> {
        let handle = handle.to_owned();
        Box::pin(self.write("deliver pending work", move |connection| deliver(connection, &handle)))
    }

    fn list_pending(&self, filter: PendingFilter, now_ms: u64) -> BoxFuture<'_, Result<Vec<Pending>, StoreError>> {
        Box::pin(self.read("list pending work", move |connection| list(connection, &filter, now_ms)))
    }

    fn lose_dead(&self, now_ms: u64) -> BoxFuture<'_, Result<Vec<Pending>, StoreError>> {
        Box::pin(async move {
            let dead = self.dead_of("look for lost work", runs_that_work).await?;
            if dead.is_empty() {
                return Ok(Vec::new());
            }
            self.write("mark lost work", move |connection| {
                runs::close_runs(connection, &dead, now_ms)?;
                lose(connection, &dead, now_ms)
            })
            .await
        })
    }

    fn prune_pending(&self, before_ms: u64) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move {
            self.in_portions("drop old pending work", move |connection, most| prune(connection, before_ms, most)).await
        })
    }
}

fn open(connection: &Connection, piece: &Pending, most: usize, now_ms: u64) -> Result<(), Refusal> {
    let metadata = to_json("keep pending work", &piece.metadata)?.len();
    bounds::within("the notes of pending work", metadata, bounds::METADATA_BYTES).map_err(Refusal::Rule)?;
    let principal = &piece.principal;
    let unfinished: i64 = connection
        .prepare_cached(
            "SELECT count(*) FROM pending
             WHERE tenant = ?1 AND user IS ?2 AND state = 'waiting' AND expires_at_ms > ?3",
        )?
        .query_row(params![principal.tenant, principal.user, signed(now_ms)], |row| row.get(0))?;
    if unfinished >= signed(most as u64) {
        return Err(Refusal::Rule(bounds::too_much_pending(most)));
    }
    let kept = Pending { result: None, ..piece.clone() };
    let record = to_json("keep pending work", &kept)?;
    bounds::within("pending work", record.len(), bounds::REQUEST_BYTES).map_err(Refusal::Rule)?;
    let added = connection
        .prepare_cached(
            "INSERT OR IGNORE INTO pending
                (handle, kind, tenant, user, run, correlation, state, created_at_ms, expires_at_ms, record, result)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?
        .execute(params![
            piece.handle,
            kind_word(piece.kind),
            principal.tenant,
            principal.user,
            piece.run,
            piece.correlation,
            pending_state_word(piece.state),
            signed(piece.created_at_ms),
            signed(piece.expires_at_ms),
            record,
            piece.result
        ])?;
    if added == 0 { Err(Refusal::Rule(bounds::exists_already("keep pending work"))) } else { Ok(()) }
}

/// The columns that [`piece`] reads.
const COLUMNS: &str = "record, state, result";

type PieceRow = (String, String, Option<String>);

fn columns(row: &Row<'_>) -> rusqlite::Result<PieceRow> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
}

fn piece((record, state, result): PieceRow, now_ms: u64) -> Result<Pending, Refusal> {
    let state = from_json("read pending work", &format!("\"{state}\""))?;
    let mut piece = Pending { state, result, ..from_json("read pending work", &record)? };
    piece.state = state_at(&piece, now_ms);
    Ok(piece)
}

fn by_handle(connection: &Connection, handle: &str, now_ms: u64) -> Result<Option<Pending>, Refusal> {
    connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM pending WHERE handle = ?1"))?
        .query_row([handle], columns)
        .optional()?
        .map(|row| piece(row, now_ms))
        .transpose()
}

fn by_correlation(
    connection: &Connection,
    tenant: &str,
    correlation: &str,
    now_ms: u64,
) -> Result<Option<Pending>, Refusal> {
    // The oldest that waits; when none does, the latest, which tells whoever comes late why.
    let waiting = connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM pending
             WHERE tenant = ?1 AND correlation = ?2 AND state = 'waiting' AND expires_at_ms > ?3
             ORDER BY created_at_ms, id LIMIT 1"
        ))?
        .query_row(params![tenant, correlation, signed(now_ms)], columns)
        .optional()?;
    let found = match waiting {
        Some(row) => Some(row),
        None => connection
            .prepare_cached(&format!(
                "SELECT {COLUMNS} FROM pending WHERE tenant = ?1 AND correlation = ?2
                 ORDER BY created_at_ms DESC, id DESC LIMIT 1"
            ))?
            .query_row(params![tenant, correlation], columns)
            .optional()?,
    };
    found.map(|row| piece(row, now_ms)).transpose()
}

fn settle(connection: &Connection, handle: &str, result: &str, now_ms: u64) -> Result<bool, Refusal> {
    let settled = connection
        .prepare_cached(
            "UPDATE pending SET state = 'ready', result = ?2, ended_at_ms = ?3
             WHERE handle = ?1 AND state = 'waiting' AND expires_at_ms > ?3",
        )?
        .execute(params![handle, result, signed(now_ms)])?;
    Ok(settled > 0)
}

fn deliver(connection: &Connection, handle: &str) -> Result<bool, Refusal> {
    let delivered = connection
        .prepare_cached("UPDATE pending SET state = 'delivered' WHERE handle = ?1 AND state IN ('ready', 'lost')")?
        .execute([handle])?;
    Ok(delivered > 0)
}

fn list(connection: &Connection, filter: &PendingFilter, now_ms: u64) -> Result<Vec<Pending>, Refusal> {
    let mut conditions = vec!["1".to_owned()];
    let mut values: Vec<Value> = Vec::new();
    let mut add = |condition: &str, value: Option<Value>| {
        conditions.push(condition.to_owned());
        values.extend(value);
    };
    if let Some((tenant, user)) = &filter.owner {
        add("tenant = ?", Some(tenant.clone().into()));
        add("user IS ?", Some(user.clone().into()));
    }
    let now = || Some(Value::from(signed(now_ms)));
    match filter.state {
        None => {}
        Some(PendingState::Waiting) => add("state = 'waiting' AND expires_at_ms > ?", now()),
        // Also one that was opened as such.
        Some(PendingState::Expired) => {
            add("(state = 'expired' OR (state = 'waiting' AND expires_at_ms <= ?))", now());
        }
        Some(state) => add("state = ?", Some(pending_state_word(state).to_owned().into())),
    }
    if let Some(kind) = filter.kind {
        add("kind = ?", Some(kind_word(kind).to_owned().into()));
    }
    values.push(signed(filter.limit.min(bounds::LIST) as u64).into());
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM pending WHERE {} ORDER BY created_at_ms, id LIMIT ?",
        conditions.join(" AND ")
    ))?;
    let rows = statement.query_map(rusqlite::params_from_iter(values), columns)?;
    let (mut given, mut pieces) = (bounds::Given::default(), Vec::new());
    for row in rows {
        let row = row?;
        if !given.takes(row.2.as_ref().map_or(0, String::len)) {
            break;
        }
        pieces.push(piece(row, now_ms)?);
    }
    Ok(pieces)
}

/// Runs that have background work under way.
fn runs_that_work(connection: &Connection) -> Result<Vec<String>, Refusal> {
    let mut statement = connection
        .prepare_cached("SELECT DISTINCT run FROM pending WHERE state = 'waiting' AND kind = 'background' LIMIT ?1")?;
    let runs = statement.query_map([signed(bounds::LIST as u64)], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(runs)
}

fn lose(connection: &Connection, runs: &[String], now_ms: u64) -> Result<Vec<Pending>, Refusal> {
    let mut statement = connection.prepare_cached(&format!(
        "UPDATE pending SET state = 'lost', ended_at_ms = ?2
         WHERE run = ?1 AND state = 'waiting' AND kind = 'background' AND expires_at_ms > ?2 RETURNING {COLUMNS}"
    ))?;
    let mut lost = Vec::new();
    for run in runs {
        for row in statement.query_map(params![run, signed(now_ms)], columns)? {
            lost.push(piece(row?, now_ms)?);
        }
    }
    lost.sort_by_key(|piece| piece.created_at_ms);
    Ok(lost)
}

/// Drops at most `most` pieces; tells how many, and whether there may be more.
fn prune(connection: &Connection, before_ms: u64, most: usize) -> Result<(u64, bool), Refusal> {
    let dropped = connection
        .prepare_cached(
            "DELETE FROM pending WHERE id IN (
                SELECT id FROM pending
                WHERE (state <> 'waiting' AND coalesce(ended_at_ms, expires_at_ms) < ?1)
                   OR (state = 'waiting' AND expires_at_ms < ?1)
                LIMIT ?2
             )",
        )?
        .execute(params![signed(before_ms), signed(most as u64)])?;
    Ok((dropped as u64, dropped >= most))
}
