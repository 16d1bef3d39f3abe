//! Requests and grants: every statement about them, and the trait over these.

use rusqlite::{Connection, OptionalExtension, Row, params};
use toolcrib_engine::{
    BoxFuture, StoreError,
    approval::{
        AnswerOutcome, ApprovalRequest, ApprovalStore, Grant, Parked, RecordedAnswer, RequestFilter, RequestState,
        StoredRequest,
    },
    journal::JournalRecord,
};

use super::{
    SqliteStore,
    failure::Refusal,
    journal,
    queries::{from_json, signed, to_json},
};
use crate::{
    bounds,
    subject::{request_state_word, subject_of},
};

impl ApprovalStore for SqliteStore {
    fn park(
        &self,
        request: ApprovalRequest,
        most_pending: usize,
        now_ms: u64,
    ) -> BoxFuture<'_, Result<Parked, StoreError>> {
        Box::pin(
            self.write("keep approval request", move |connection| park(connection, &request, most_pending, now_ms)),
        )
    }

    fn request<'a>(&'a self, id: &'a str, now_ms: u64) -> BoxFuture<'a, Result<Option<StoredRequest>, StoreError>> {
        let id = id.to_owned();
        Box::pin(self.read("read approval request", move |connection| request(connection, &id, now_ms)))
    }

    fn requests(&self, filter: RequestFilter, now_ms: u64) -> BoxFuture<'_, Result<Vec<StoredRequest>, StoreError>> {
        Box::pin(self.read("list approval requests", move |connection| requests(connection, &filter, now_ms)))
    }

    fn answer<'a>(
        &'a self,
        id: &'a str,
        answer: RecordedAnswer,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<AnswerOutcome, StoreError>> {
        let id = id.to_owned();
        Box::pin(self.write("record answer", move |connection| record_answer(connection, &id, &answer, now_ms)))
    }

    fn grants<'a>(
        &'a self,
        tenant: Option<&'a str>,
        limit: usize,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<Vec<Grant>, StoreError>> {
        let tenant = tenant.map(str::to_owned);
        Box::pin(self.read("list grants", move |connection| grants(connection, tenant.as_deref(), limit, now_ms)))
    }

    fn take<'a>(&'a self, grant: &'a str, now_ms: u64) -> BoxFuture<'a, Result<bool, StoreError>> {
        let grant = grant.to_owned();
        Box::pin(self.write("use grant", move |connection| take(connection, &grant, now_ms)))
    }

    fn revoke<'a>(
        &'a self,
        grant: &'a str,
        evidence: Option<JournalRecord>,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let grant = grant.to_owned();
        Box::pin(self.write("revoke grant", move |connection| revoke(connection, &grant, evidence.as_ref(), now_ms)))
    }

    fn version(&self) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(self.read("look for new approvals", version))
    }

    fn prune(&self, before_ms: u64) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move {
            self.in_portions("drop old approvals", move |connection, most| prune(connection, before_ms, most)).await
        })
    }
}

/// Marks that something changed, for [`version`].
fn changed(connection: &Connection) -> Result<(), Refusal> {
    connection.prepare_cached("UPDATE changes SET count = count + 1 WHERE subject = 'approvals'")?.execute([])?;
    Ok(())
}

fn version(connection: &Connection) -> Result<u64, Refusal> {
    // Not `PRAGMA data_version`: that is a number of each connection's own, and there are two that read.
    let count: i64 = connection
        .prepare_cached("SELECT count FROM changes WHERE subject = 'approvals'")?
        .query_row([], |row| row.get(0))?;
    Ok(count.unsigned_abs())
}

fn park(
    connection: &Connection,
    request: &ApprovalRequest,
    most_pending: usize,
    now_ms: u64,
) -> Result<Parked, Refusal> {
    let record = to_json("keep approval request", request)?;
    bounds::within("an approval request", record.len(), bounds::REQUEST_BYTES).map_err(Refusal::Rule)?;
    let subject = subject_of(request);
    let now = signed(now_ms);
    let standing: Option<String> = connection
        .prepare_cached(
            "SELECT request FROM approvals WHERE subject = ?1 AND state = 'pending' AND expires_at_ms > ?2 LIMIT 1",
        )?
        .query_row(params![subject, now], |row| row.get(0))
        .optional()?;
    if let Some(id) = standing {
        return Ok(Parked::Standing(id));
    }
    let principal = &request.principal;
    let pending: i64 = connection
        .prepare_cached(
            "SELECT count(*) FROM approvals
             WHERE tenant = ?1 AND user IS ?2 AND state = 'pending' AND expires_at_ms > ?3",
        )?
        .query_row(params![principal.tenant, principal.user, now], |row| row.get(0))?;
    if pending >= signed(most_pending as u64) {
        return Err(Refusal::Rule(bounds::too_many_requests(most_pending)));
    }
    let added = connection
        .prepare_cached(
            "INSERT OR IGNORE INTO approvals
                (request, tenant, user, subject, state, created_at_ms, expires_at_ms, record)
             VALUES (?1, ?2, ?3, ?4, 'pending', ?5, ?6, ?7)",
        )?
        .execute(params![
            request.id,
            principal.tenant,
            principal.user,
            subject,
            signed(request.created_at_ms),
            signed(request.expires_at_ms),
            record
        ])?;
    if added == 0 {
        return Err(Refusal::Rule(bounds::exists_already("keep approval request")));
    }
    changed(connection)?;
    Ok(Parked::New)
}

/// The columns that [`stored`] reads.
const COLUMNS: &str = "record, state, expires_at_ms, answered_at_ms, answered_by";

type StoredRow = (String, String, i64, Option<i64>, Option<String>);

fn columns(row: &Row<'_>) -> rusqlite::Result<StoredRow> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
}

fn state_of(word: &str, expires_at_ms: i64, now_ms: u64) -> RequestState {
    match word {
        "approved" => RequestState::Approved,
        "denied" => RequestState::Denied,
        _ if expires_at_ms <= signed(now_ms) => RequestState::Expired,
        _ => RequestState::Pending,
    }
}

fn stored(
    (record, state, expires, answered_at, answered_by): StoredRow,
    now_ms: u64,
) -> Result<StoredRequest, Refusal> {
    Ok(StoredRequest {
        request: from_json("read approval request", &record)?,
        state: state_of(&state, expires, now_ms),
        answered_at_ms: answered_at.map(i64::unsigned_abs),
        answered_by,
    })
}

fn request(connection: &Connection, id: &str, now_ms: u64) -> Result<Option<StoredRequest>, Refusal> {
    connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM approvals WHERE request = ?1"))?
        .query_row([id], columns)
        .optional()?
        .map(|row| stored(row, now_ms))
        .transpose()
}

fn requests(connection: &Connection, filter: &RequestFilter, now_ms: u64) -> Result<Vec<StoredRequest>, Refusal> {
    let state = match filter.state {
        None => "?2 = ?2",
        Some(RequestState::Pending) => "state = 'pending' AND expires_at_ms > ?2",
        Some(RequestState::Expired) => "state = 'pending' AND expires_at_ms <= ?2",
        Some(RequestState::Approved) => "state = 'approved' AND ?2 = ?2",
        Some(RequestState::Denied) => "state = 'denied' AND ?2 = ?2",
    };
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM approvals WHERE {state} AND (?1 IS NULL OR tenant = ?1)
         ORDER BY created_at_ms DESC, id DESC LIMIT ?3"
    ))?;
    let limit = signed(filter.limit.min(bounds::LIST) as u64);
    let rows = statement.query_map(params![filter.tenant, signed(now_ms), limit], columns)?;
    rows.map(|row| stored(row?, now_ms)).collect()
}

fn record_answer(
    connection: &Connection,
    id: &str,
    answer: &RecordedAnswer,
    now_ms: u64,
) -> Result<AnswerOutcome, Refusal> {
    let known: Option<(String, i64)> = connection
        .prepare_cached("SELECT state, expires_at_ms FROM approvals WHERE request = ?1")?
        .query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((word, expires)) = known else { return Ok(AnswerOutcome::Unknown) };
    let state = state_of(&word, expires, now_ms);
    if state != RequestState::Pending {
        return Ok(AnswerOutcome::Settled(state));
    }
    let state = if answer.approved { RequestState::Approved } else { RequestState::Denied };
    connection
        .prepare_cached("UPDATE approvals SET state = ?2, answered_at_ms = ?3, answered_by = ?4 WHERE request = ?1")?
        .execute(params![id, request_state_word(state), signed(now_ms), answer.by])?;
    if let Some(grant) = &answer.grant {
        add_grant(connection, grant)?;
    }
    if let Some(evidence) = &answer.evidence {
        journal::append(connection, evidence)?;
    }
    changed(connection)?;
    Ok(AnswerOutcome::Recorded)
}

fn add_grant(connection: &Connection, grant: &Grant) -> Result<(), Refusal> {
    let record = to_json("record answer", grant)?;
    bounds::within("a grant", record.len(), bounds::REQUEST_BYTES).map_err(Refusal::Rule)?;
    let added = connection
        .prepare_cached(
            "INSERT OR IGNORE INTO grants (grant_id, tenant, uses_left, created_at_ms, expires_at_ms, record)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            grant.id,
            grant.principal.tenant,
            grant.uses_left,
            signed(grant.created_at_ms),
            grant.expires_at_ms.map(signed),
            record
        ])?;
    if added == 0 { Err(Refusal::Rule(bounds::exists_already("record answer"))) } else { Ok(()) }
}

/// Condition of a grant in force at the time `?2`.
const IN_FORCE: &str = "ended_at_ms IS NULL AND (expires_at_ms IS NULL OR expires_at_ms > ?2)
    AND (uses_left IS NULL OR uses_left > 0)";

fn grants(connection: &Connection, tenant: Option<&str>, limit: usize, now_ms: u64) -> Result<Vec<Grant>, Refusal> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT record, uses_left FROM grants WHERE {IN_FORCE} AND (?1 IS NULL OR tenant = ?1)
         ORDER BY created_at_ms DESC, id DESC LIMIT ?3"
    ))?;
    let limit = signed(limit.min(bounds::GRANTS) as u64);
    let rows = statement.query_map(params![tenant, signed(now_ms), limit], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, Option<u32>>(1)?))
    })?;
    rows.map(|row| {
        let (record, uses_left) = row?;
        Ok(Grant { uses_left, ..from_json("list grants", &record)? })
    })
    .collect()
}

fn take(connection: &Connection, grant: &str, now_ms: u64) -> Result<bool, Refusal> {
    let uses: Option<Option<u32>> = connection
        .prepare_cached(&format!("SELECT uses_left FROM grants WHERE grant_id = ?1 AND {IN_FORCE}"))?
        .query_row(params![grant, signed(now_ms)], |row| row.get(0))
        .optional()?;
    match uses {
        None => Ok(false),
        // Nothing to count, so nothing to write.
        Some(None) => Ok(true),
        Some(Some(left)) => {
            let ended = (left == 1).then(|| signed(now_ms));
            connection
                .prepare_cached("UPDATE grants SET uses_left = ?2, ended_at_ms = ?3 WHERE grant_id = ?1")?
                .execute(params![grant, left - 1, ended])?;
            changed(connection)?;
            Ok(true)
        }
    }
}

fn revoke(
    connection: &Connection,
    grant: &str,
    evidence: Option<&JournalRecord>,
    now_ms: u64,
) -> Result<bool, Refusal> {
    let ended = connection
        .prepare_cached(&format!("UPDATE grants SET ended_at_ms = ?2 WHERE grant_id = ?1 AND {IN_FORCE}"))?
        .execute(params![grant, signed(now_ms)])?;
    if ended > 0 {
        if let Some(evidence) = evidence {
            journal::append(connection, evidence)?;
        }
        changed(connection)?;
    }
    Ok(ended > 0)
}

/// Drops at most `most` rows of each kind; tells how many, and whether there may be more.
fn prune(connection: &Connection, before_ms: u64, most: usize) -> Result<(u64, bool), Refusal> {
    let (before, most) = (signed(before_ms), signed(most as u64));
    let requests = connection
        .prepare_cached(
            "DELETE FROM approvals WHERE id IN (
                SELECT id FROM approvals
                WHERE answered_at_ms < ?1 OR (state = 'pending' AND expires_at_ms < ?1) LIMIT ?2
             )",
        )?
        .execute(params![before, most])?;
    let grants = connection
        .prepare_cached(
            "DELETE FROM grants WHERE id IN (
                SELECT id FROM grants WHERE ended_at_ms < ?1 OR expires_at_ms < ?1 LIMIT ?2
             )",
        )?
        .execute(params![before, most])?;
    if requests + grants > 0 {
        changed(connection)?;
    }
    let full = |rows: usize| signed(rows as u64) >= most;
    Ok(((requests + grants) as u64, full(requests) || full(grants)))
}
