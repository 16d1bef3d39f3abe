//! Requests and grants: every statement about them, and the trait over these.

use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use toolcrib_engine::{
    BoxFuture, Principal, StoreError,
    approval::{
        AnswerOutcome, ApprovalRequest, ApprovalStore, Grant, MOST_GRANTS, Parked, Reach, RecordedAnswer,
        RequestFilter, RequestState, StoredRequest,
    },
    journal::JournalRecord,
};

use super::{
    SqliteStore,
    damage::{Cause, Damage, lossy, optional, parsed, readable, text},
    failure::Refusal,
    journal,
    queries::{signed, to_json},
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
        let damage = self.inner.damage.clone();
        Box::pin(self.write("keep approval request", move |connection| {
            park(connection, &damage, &request, most_pending, now_ms)
        }))
    }

    fn request<'a>(&'a self, id: &'a str, now_ms: u64) -> BoxFuture<'a, Result<Option<StoredRequest>, StoreError>> {
        let (id, damage) = (id.to_owned(), self.inner.damage.clone());
        Box::pin(self.read("read approval request", move |connection| request(connection, &damage, &id, now_ms)))
    }

    fn requests(&self, filter: RequestFilter, now_ms: u64) -> BoxFuture<'_, Result<Vec<StoredRequest>, StoreError>> {
        let damage = self.inner.damage.clone();
        Box::pin(self.read("list approval requests", move |connection| requests(connection, &damage, &filter, now_ms)))
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
        let (tenant, damage) = (tenant.map(str::to_owned), self.inner.damage.clone());
        Box::pin(
            self.read("list grants", move |connection| grants(connection, &damage, tenant.as_deref(), limit, now_ms)),
        )
    }

    fn grants_for<'a>(
        &'a self,
        principal: &'a Principal,
        tool: &'a str,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<Vec<Grant>, StoreError>> {
        let (principal, tool, damage) = (principal.clone(), tool.to_owned(), self.inner.damage.clone());
        Box::pin(
            self.read("look for grants", move |connection| grants_for(connection, &damage, &principal, &tool, now_ms)),
        )
    }

    fn grant<'a>(&'a self, id: &'a str, now_ms: u64) -> BoxFuture<'a, Result<Option<Grant>, StoreError>> {
        let (id, damage) = (id.to_owned(), self.inner.damage.clone());
        Box::pin(self.read("read grant", move |connection| grant(connection, &damage, &id, now_ms)))
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
    damage: &Damage,
    request: &ApprovalRequest,
    most_pending: usize,
    now_ms: u64,
) -> Result<Parked, Refusal> {
    let record = to_json("keep approval request", request)?;
    bounds::within("an approval request", record.len(), bounds::REQUEST_BYTES).map_err(Refusal::Rule)?;
    let subject = subject_of(request);
    let now = signed(now_ms);
    // One that cannot be read cannot be answered either, so it does not stand for another.
    let standing = readable(
        connection,
        &format!("SELECT {COLUMNS} FROM approvals WHERE subject = ?1 AND state = 'pending' AND expires_at_ms > ?2"),
        params![subject, now],
        |row| Ok(stored_or_told(row, damage, now_ms)),
        1,
    )?;
    if let Some(standing) = standing.into_iter().next() {
        return Ok(Parked::Standing(standing.request.id));
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
const COLUMNS: &str = "record, state, expires_at_ms, answered_at_ms, answered_by, request";

/// `None` for a word that is none of ours: what cannot be read is not open to be answered once more.
fn state_of(word: &str, expires_at_ms: i64, now_ms: u64) -> Option<RequestState> {
    match word {
        "approved" => Some(RequestState::Approved),
        "denied" => Some(RequestState::Denied),
        "pending" if expires_at_ms <= signed(now_ms) => Some(RequestState::Expired),
        "pending" => Some(RequestState::Pending),
        _ => None,
    }
}

fn stored(row: &Row<'_>, now_ms: u64) -> Result<StoredRequest, Cause> {
    let time = |place| row.get::<_, Option<i64>>(place).map_err(|_| "a time is none".to_owned());
    let expires = time(2)?.unwrap_or_default();
    Ok(StoredRequest {
        request: parsed(row, 0)?,
        state: state_of(&text(row, 1)?, expires, now_ms).ok_or("its state is no word that is known")?,
        answered_at_ms: time(3)?.map(i64::unsigned_abs),
        answered_by: optional(row, 4)?,
    })
}

fn stored_or_told(row: &Row<'_>, damage: &Damage, now_ms: u64) -> Option<StoredRequest> {
    stored(row, now_ms).map_err(|cause| damage.tell(APPROVALS, handle(row, 5), cause)).ok()
}

/// What a row goes by.
fn handle(row: &Row<'_>, place: usize) -> String {
    lossy(row, place).ok().flatten().unwrap_or_default()
}

const APPROVALS: &str = "approvals";

fn damaged(operation: &'static str, what: &str) -> Refusal {
    let cause = format!("{what} is damaged and cannot be read; `toolcrib doctor` says what to do");
    Refusal::Rule(StoreError::Failed { operation, cause })
}

fn request(connection: &Connection, damage: &Damage, id: &str, now_ms: u64) -> Result<Option<StoredRequest>, Refusal> {
    let found = connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM approvals WHERE request = ?1"))?
        .query_row([id], |row| Ok(stored_or_told(row, damage, now_ms)))
        .optional()?;
    match found {
        None => Ok(None),
        Some(Some(stored)) => Ok(Some(stored)),
        Some(None) => Err(damaged("read approval request", "the request")),
    }
}

fn requests(
    connection: &Connection,
    damage: &Damage,
    filter: &RequestFilter,
    now_ms: u64,
) -> Result<Vec<StoredRequest>, Refusal> {
    let state = match filter.state {
        None => "?2 = ?2",
        Some(RequestState::Pending) => "state = 'pending' AND expires_at_ms > ?2",
        Some(RequestState::Expired) => "state = 'pending' AND expires_at_ms <= ?2",
        Some(RequestState::Approved) => "state = 'approved' AND ?2 = ?2",
        Some(RequestState::Denied) => "state = 'denied' AND ?2 = ?2",
    };
    readable(
        connection,
        &format!(
            "SELECT {COLUMNS} FROM approvals WHERE {state} AND (?1 IS NULL OR tenant = ?1)
             ORDER BY created_at_ms DESC, id DESC"
        ),
        params![filter.tenant, signed(now_ms)],
        |row| Ok(stored_or_told(row, damage, now_ms)),
        filter.limit.min(bounds::LIST),
    )
}

fn record_answer(
    connection: &Connection,
    id: &str,
    answer: &RecordedAnswer,
    now_ms: u64,
) -> Result<AnswerOutcome, Refusal> {
    let known: Option<(Option<String>, i64)> = connection
        .prepare_cached("SELECT state, expires_at_ms FROM approvals WHERE request = ?1")?
        .query_row([id], |row| Ok((lossy(row, 0)?, row.get(1)?)))
        .optional()?;
    let Some((word, expires)) = known else { return Ok(AnswerOutcome::Unknown) };
    let state = state_of(&word.unwrap_or_default(), expires, now_ms);
    let state = state.ok_or_else(|| damaged("record answer", "the request"))?;
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
            "INSERT OR IGNORE INTO grants
                (grant_id, tenant, uses_left, created_at_ms, expires_at_ms, record, allow, tool, user, session)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute(params![
            grant.id,
            grant.principal.tenant,
            grant.uses_left,
            signed(grant.created_at_ms),
            grant.expires_at_ms.map(signed),
            record,
            grant.allow,
            grant.tool,
            grant.principal.user,
            session_of(grant)
        ])?;
    if added == 0 { Err(Refusal::Rule(bounds::exists_already("record answer"))) } else { Ok(()) }
}

/// Condition of a grant in force at the time `?2`.
const IN_FORCE: &str = "ended_at_ms IS NULL AND (expires_at_ms IS NULL OR expires_at_ms > ?2)
    AND (uses_left IS NULL OR uses_left > 0)";

/// The columns that [`given`] reads.
const GRANT: &str = "record, uses_left, grant_id, tenant, created_at_ms, expires_at_ms, allow, tool, user, session";

/// Those that forbid, and those of which that is not known, come first; of the rest the newest.
const REFUSALS_FIRST: &str = "ORDER BY allow, created_at_ms DESC, id DESC";

/// The session that a grant is for, if it is for one only.
fn session_of(grant: &Grant) -> Option<&str> {
    if grant.reach == Reach::Session { grant.principal.session.as_deref() } else { None }
}

/// The grant of a row. `None` for one that is damaged and only allowed: it allows nothing any more. One that is damaged
/// and may have forbidden forbids.
fn given(row: &Row<'_>, damage: &Damage) -> rusqlite::Result<Option<Grant>> {
    let read = || -> Result<Grant, Cause> {
        let uses = row.get::<_, Option<i64>>(1).map_err(|_| "its number of uses is none".to_owned())?;
        let uses_left = uses.map(u32::try_from).transpose().map_err(|_| "its number of uses is none".to_owned())?;
        let grant = Grant { uses_left, ..parsed(row, 0)? };
        let (allow, tool, user, session) = (row.get(6), row.get(7), row.get(8), row.get(9));
        let agrees = allow == Ok(Some(grant.allow))
            && tool.is_ok_and(|tool: Option<String>| tool.as_ref() == Some(&grant.tool))
            && user == Ok(grant.principal.user.clone())
            && session.is_ok_and(|session: Option<String>| session.as_deref() == session_of(&grant));
        if agrees { Ok(grant) } else { Err("its record does not agree with what it is looked up by".to_owned()) }
    };
    let cause = match read() {
        Ok(grant) => return Ok(Some(grant)),
        Err(cause) => cause,
    };
    let id = handle(row, 2);
    damage.tell("grants", &id, cause);
    let certainly_allowed =
        row.get::<_, Option<i64>>(6)? == Some(1) && parsed::<Grant>(row, 0).map_or(true, |record| record.allow);
    if certainly_allowed {
        return Ok(None);
    }
    let principal = Principal {
        tenant: lossy(row, 3)?.unwrap_or_default(),
        user: lossy(row, 8)?,
        session: lossy(row, 9)?,
        ..Principal::default()
    };
    let created = row.get::<_, i64>(4)?.unsigned_abs();
    let expires = row.get::<_, Option<i64>>(5)?.map(i64::unsigned_abs);
    Ok(Some(Grant::unreadable(id, principal, lossy(row, 7)?, created, expires)))
}

fn given_by(
    connection: &Connection,
    damage: &Damage,
    condition: &str,
    values: impl Params,
    most: usize,
) -> Result<Vec<Grant>, Refusal> {
    let sql = format!("SELECT {GRANT} FROM grants WHERE {IN_FORCE} AND {condition} {REFUSALS_FIRST}");
    readable(connection, &sql, values, |row| Ok(given(row, damage)?), most)
}

fn grants(
    connection: &Connection,
    damage: &Damage,
    tenant: Option<&str>,
    limit: usize,
    now_ms: u64,
) -> Result<Vec<Grant>, Refusal> {
    let condition = "(?1 IS NULL OR tenant = ?1)";
    given_by(connection, damage, condition, params![tenant, signed(now_ms)], limit.min(bounds::GRANTS))
}

fn grants_for(
    connection: &Connection,
    damage: &Damage,
    principal: &Principal,
    tool: &str,
    now_ms: u64,
) -> Result<Vec<Grant>, Refusal> {
    // Of those of which not even the tool is known only refusals are given, so that these still come first. The two are
    // looked up one after the other, each by the index.
    let values = params![principal.tenant, signed(now_ms)];
    let mut found = given_by(connection, damage, "tenant = ?1 AND tool IS NULL", values, MOST_GRANTS)?;
    let condition = "tenant = ?1 AND tool = ?3 AND user IS ?4 AND (session IS NULL OR session IS ?5)";
    let values = params![principal.tenant, signed(now_ms), tool, principal.user, principal.session];
    found.extend(given_by(connection, damage, condition, values, MOST_GRANTS - found.len())?);
    Ok(found)
}

fn grant(connection: &Connection, damage: &Damage, id: &str, now_ms: u64) -> Result<Option<Grant>, Refusal> {
    let found = given_by(connection, damage, "grant_id = ?1", params![id, signed(now_ms)], 1)?;
    Ok(found.into_iter().next())
}

/// Tells of every row that cannot be read.
pub(crate) fn look(connection: &Connection, damage: &Damage) -> Result<(), Refusal> {
    let mut statement = connection.prepare_cached(&format!("SELECT {GRANT} FROM grants WHERE ended_at_ms IS NULL"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        given(row, damage)?;
    }
    let mut statement = connection.prepare_cached(&format!("SELECT {COLUMNS} FROM approvals"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        stored_or_told(row, damage, 0);
    }
    Ok(())
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
