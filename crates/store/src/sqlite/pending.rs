//! Work that outlives its call: every statement about it, and the trait over these.

use rusqlite::{Connection, Row, params, types::Value};
use toolcrib_engine::{
    BoxFuture, StoreError,
    pending::{Pending, PendingFilter, PendingState, PendingStore},
};

use super::{
    SqliteStore,
    damage::{Cause, Damage, lossy, optional, parsed, readable, word},
    failure::Refusal,
    queries::{signed, to_json},
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
        let (handle, damage) = (handle.to_owned(), self.inner.damage.clone());
        Box::pin(self.read("read pending work", move |connection| by_handle(connection, &damage, &handle, now_ms)))
    }

    fn by_correlation<'a>(
        &'a self,
        tenant: &'a str,
        correlation: &'a str,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<Option<Pending>, StoreError>> {
        let (tenant, correlation, damage) = (tenant.to_owned(), correlation.to_owned(), self.inner.damage.clone());
        Box::pin(self.read("read pending work", move |connection| {
            by_correlation(connection, &damage, &tenant, &correlation, now_ms)
        }))
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
        let damage = self.inner.damage.clone();
        Box::pin(self.read("list pending work", move |connection| list(connection, &damage, &filter, now_ms)))
    }

    fn lose_dead(&self, now_ms: u64) -> BoxFuture<'_, Result<Vec<Pending>, StoreError>> {
        Box::pin(async move {
            let damage = self.inner.damage.clone();
            let look = damage.clone();
            let dead = self.dead_of("look for lost work", move |connection| runs_that_work(connection, &look)).await?;
            if dead.is_empty() {
                return Ok(Vec::new());
            }
            self.write("mark lost work", move |connection| {
                runs::close_runs(connection, &dead, now_ms)?;
                lose(connection, &damage, &dead, now_ms)
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
const COLUMNS: &str = "record, state, result, handle";

fn piece(row: &Row<'_>, now_ms: u64) -> Result<Pending, Cause> {
    let mut piece = Pending { state: word(row, 1)?, result: optional(row, 2)?, ..parsed(row, 0)? };
    piece.state = state_at(&piece, now_ms);
    Ok(piece)
}

fn piece_or_told(row: &Row<'_>, damage: &Damage, now_ms: u64) -> Option<Pending> {
    let told = |cause| damage.tell(PENDING, lossy(row, 3).ok().flatten().unwrap_or_default(), cause);
    piece(row, now_ms).map_err(told).ok()
}

const PENDING: &str = "pending";

fn by_handle(connection: &Connection, damage: &Damage, handle: &str, now_ms: u64) -> Result<Option<Pending>, Refusal> {
    let sql = format!("SELECT {COLUMNS} FROM pending WHERE handle = ?1");
    let found = readable(connection, &sql, [handle], |row| Ok(Some(piece_or_told(row, damage, now_ms))), 1)?;
    match found.into_iter().next() {
        None => Ok(None),
        Some(Some(piece)) => Ok(Some(piece)),
        Some(None) => Err(Refusal::Rule(StoreError::Failed {
            operation: "read pending work",
            cause: "what is kept of this work is damaged, so its result cannot be given".to_owned(),
        })),
    }
}

fn by_correlation(
    connection: &Connection,
    damage: &Damage,
    tenant: &str,
    correlation: &str,
    now_ms: u64,
) -> Result<Option<Pending>, Refusal> {
    // The oldest that waits; when none does, the latest, which tells whoever comes late why.
    let waiting = format!(
        "SELECT {COLUMNS} FROM pending
         WHERE tenant = ?1 AND correlation = ?2 AND state = 'waiting' AND expires_at_ms > ?3
         ORDER BY created_at_ms, id"
    );
    let latest = format!(
        "SELECT {COLUMNS} FROM pending WHERE tenant = ?1 AND correlation = ?2 AND ?3 = ?3
         ORDER BY created_at_ms DESC, id DESC"
    );
    for sql in [waiting, latest] {
        let values = params![tenant, correlation, signed(now_ms)];
        let found = readable(connection, &sql, values, |row| Ok(piece_or_told(row, damage, now_ms)), 1)?;
        if let Some(piece) = found.into_iter().next() {
            return Ok(Some(piece));
        }
    }
    Ok(None)
}

/// Tells of every row that cannot be read.
pub(crate) fn look(connection: &Connection, damage: &Damage) -> Result<(), Refusal> {
    let mut statement = connection.prepare_cached(&format!("SELECT {COLUMNS} FROM pending"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        piece_or_told(row, damage, 0);
    }
    Ok(())
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

fn list(
    connection: &Connection,
    damage: &Damage,
    filter: &PendingFilter,
    now_ms: u64,
) -> Result<Vec<Pending>, Refusal> {
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
    let most = filter.limit.min(bounds::LIST);
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM pending WHERE {} ORDER BY created_at_ms, id",
        conditions.join(" AND ")
    ))?;
    let mut rows = statement.query(rusqlite::params_from_iter(values))?;
    let (mut given, mut pieces) = (bounds::Given::default(), Vec::new());
    while pieces.len() < most
        && let Some(row) = rows.next()?
    {
        let Some(piece) = piece_or_told(row, damage, now_ms) else { continue };
        if !given.takes(piece.result.as_ref().map_or(0, String::len)) {
            break;
        }
        pieces.push(piece);
    }
    Ok(pieces)
}

/// Runs that have background work under way.
fn runs_that_work(connection: &Connection, damage: &Damage) -> Result<Vec<String>, Refusal> {
    let sql = "SELECT DISTINCT run FROM pending WHERE state = 'waiting' AND kind = 'background'";
    readable(connection, sql, [], |row| Ok(runs::name(row, damage, PENDING)), bounds::LIST)
}

fn lose(connection: &Connection, damage: &Damage, runs: &[String], now_ms: u64) -> Result<Vec<Pending>, Refusal> {
    let mut statement = connection.prepare_cached(&format!(
        "UPDATE pending SET state = 'lost', ended_at_ms = ?2
         WHERE run = ?1 AND state = 'waiting' AND kind = 'background' AND expires_at_ms > ?2 RETURNING {COLUMNS}"
    ))?;
    let mut lost = Vec::new();
    for run in runs {
        let mut rows = statement.query(params![run, signed(now_ms)])?;
        // To the end, whatever one of them holds: all of them are lost.
        while let Some(row) = rows.next()? {
            lost.extend(piece_or_told(row, damage, now_ms));
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
