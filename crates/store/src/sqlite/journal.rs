//! The journal: chained records, intents still open, idempotency keys. Every statement about them.

use std::sync::Arc;

use rusqlite::{
    Connection, OptionalExtension, Row, params,
    types::{Value, ValueRef},
};
use toolcrib_engine::{
    Principal, StoreError,
    event::Outcome,
    journal::{Begun, Claim, ClaimResult, Earlier, JournalFilter, JournalRecord, Kind, StoredRecord, link_text},
};

use super::{
    damage::{Cause, Damage, lossy, parsed, readable, word},
    failure::Refusal,
    queries::{signed, to_json},
    runs,
};
use crate::bounds;

/// So many records are read one by one rather than searched for.
const TAIL: u64 = 10_000;
/// Expired keys dropped along with each new one: more than come in, so that they do not pile up.
const EXPIRED_PER_CLAIM: i64 = 8;

/// Chains and writes one record and keeps the list of open intents. A recovery of a call that is not open is left out, and
/// so is a second outcome.
pub(crate) fn append(connection: &Connection, record: &JournalRecord) -> Result<(), Refusal> {
    append_behind(connection, record, &mut None)
}

/// The same for several records, in order.
pub(crate) fn append_all(connection: &Connection, records: &[Arc<JournalRecord>]) -> Result<(), Refusal> {
    let mut newest = None;
    records.iter().try_for_each(|record| append_behind(connection, record, &mut newest))
}

/// The same behind the newest record; `None` where that is still to be read. Afterwards it is this one.
fn append_behind(
    connection: &Connection,
    record: &JournalRecord,
    newest: &mut Option<(u64, String)>,
) -> Result<(), Refusal> {
    let text = to_json("write journal", record)?;
    bounds::within("a journal record", text.len(), bounds::RECORD_BYTES).map_err(Refusal::Rule)?;
    let left_out = match record.kind {
        // Of several processes that find the same call unfinished, the first closes it.
        Kind::Recovered => !is_open(connection, record)?,
        // Written already by an attempt whose end nobody learnt of.
        Kind::Outcome => has_outcome(connection, record)?,
        _ => false,
    };
    if left_out {
        return Ok(());
    }
    let (last, previous) = match newest.take() {
        Some(newest) => newest,
        None => head(connection)?,
    };
    let seq = last + 1;
    let hash = link_text(&previous, seq, &text);
    connection
        .prepare_cached(
            "INSERT INTO journal (seq, at_ms, run, call, tenant, user, tool, outcome, hash, record)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute(params![
            signed(seq),
            signed(record.at_ms),
            record.run,
            signed(record.call),
            record.principal.tenant,
            record.principal.user,
            record.tool,
            record.outcome.map(Outcome::word),
            hash,
            text
        ])?;
    *newest = Some((seq, hash));
    match record.kind {
        Kind::Intent => {
            connection
                .prepare_cached("INSERT OR IGNORE INTO open_intents (run, call, seq) VALUES (?1, ?2, ?3)")?
                .execute(params![record.run, signed(record.call), signed(seq)])?;
        }
        Kind::Outcome | Kind::Recovered => {
            let closed = connection
                .prepare_cached("DELETE FROM open_intents WHERE run = ?1 AND call = ?2")?
                .execute(params![record.run, signed(record.call)])?;
            // Whoever comes with the same key is told how it ended, also when another process closed the call. Without an
            // intent there is no claim.
            if closed > 0 {
                connection
                    .prepare_cached("UPDATE claims SET outcome = ?3 WHERE run = ?1 AND call = ?2 AND outcome IS NULL")?
                    .execute(params![record.run, signed(record.call), record.outcome.map(Outcome::word)])?;
            }
        }
        Kind::Late
        | Kind::Asked
        | Kind::Answered
        | Kind::Grant
        | Kind::Breaker
        | Kind::Pruned
        | Kind::Search
        | Kind::Adjusted
        | Kind::Gap => {}
    }
    Ok(())
}

fn is_open(connection: &Connection, record: &JournalRecord) -> Result<bool, Refusal> {
    Ok(connection
        .prepare_cached("SELECT 1 FROM open_intents WHERE run = ?1 AND call = ?2")?
        .exists(params![record.run, signed(record.call)])?)
}

/// Whether the call's outcome is in the journal: not one that was recovered, nor one that came late.
fn has_outcome(connection: &Connection, record: &JournalRecord) -> Result<bool, Refusal> {
    // A record of no call, or of one that is open, has none; that is nearly all of them.
    if record.call == 0 || (record.mutating && is_open(connection, record)?) {
        return Ok(false);
    }
    Ok(connection
        .prepare_cached(
            "SELECT 1 FROM journal
             WHERE run = ?1 AND call = ?2 AND outcome IS NOT NULL
               AND CASE WHEN json_valid(record) THEN record ->> '$.kind' = 'outcome' END",
        )?
        .exists(params![record.run, signed(record.call)])?)
}

/// Place and hash of the newest record; those of the anchor if there is none.
fn head(connection: &Connection) -> Result<(u64, String), Refusal> {
    let newest = connection
        .prepare_cached("SELECT seq, hash FROM journal ORDER BY seq DESC LIMIT 1")?
        .query_row([], place)
        .optional()?;
    match newest {
        Some(newest) => Ok(newest),
        None => anchor(connection),
    }
}

pub(crate) fn anchor(connection: &Connection) -> Result<(u64, String), Refusal> {
    Ok(connection.prepare_cached("SELECT seq, hash FROM journal_anchor WHERE one = 1")?.query_row([], place)?)
}

fn place(row: &Row<'_>) -> rusqlite::Result<(u64, String)> {
    Ok((row.get::<_, i64>(0)?.unsigned_abs(), row.get(1)?))
}

pub(crate) fn begin(
    connection: &Connection,
    intent: &JournalRecord,
    claim: Option<&Claim>,
    now_ms: u64,
) -> Result<Begun, Refusal> {
    if let Some(claim) = claim {
        connection
            .prepare_cached("DELETE FROM claims WHERE owner = ?1 AND key = ?2 AND expires_at_ms <= ?3")?
            .execute(params![claim.owner, claim.key, signed(now_ms)])?;
        if let Some(earlier) = claimed(connection, claim, now_ms)? {
            return Ok(Begun::Duplicate(earlier));
        }
        add_claim(connection, intent, claim, now_ms)?;
    }
    append(connection, intent)?;
    Ok(Begun::Started)
}

/// What is known under a key that has not expired.
pub(crate) fn claimed(connection: &Connection, claim: &Claim, now_ms: u64) -> Result<Option<Earlier>, Refusal> {
    let found = connection
        .prepare_cached(
            "SELECT run, call, digest, outcome, result FROM claims
             WHERE owner = ?1 AND key = ?2 AND expires_at_ms > ?3",
        )?
        .query_row(params![claim.owner, claim.key, signed(now_ms)], |row| {
            Ok(Earlier {
                run: lossy(row, 0)?.unwrap_or_default(),
                call: row.get::<_, i64>(1)?.unsigned_abs(),
                digest: lossy(row, 2)?.unwrap_or_default(),
                outcome: ended(row, 3)?,
                // Without it whoever asks is told that there was one.
                result: row.get(4).unwrap_or_default(),
            })
        })
        .optional()?;
    Ok(found)
}

/// How a call ended, by a word in a row. One that cannot be read says that it ended, and no more.
fn ended(row: &Row<'_>, place: usize) -> rusqlite::Result<Option<Outcome>> {
    let open = matches!(row.get_ref(place)?, ValueRef::Null);
    Ok(if open { None } else { Some(word(row, place).unwrap_or(Outcome::Unknown)) })
}

fn add_claim(connection: &Connection, intent: &JournalRecord, claim: &Claim, now_ms: u64) -> Result<(), Refusal> {
    connection
        .prepare_cached("DELETE FROM claims WHERE id IN (SELECT id FROM claims WHERE expires_at_ms <= ?1 LIMIT ?2)")?
        .execute(params![signed(now_ms), EXPIRED_PER_CLAIM])?;
    // Ids leave gaps, so there are never more keys than places between the lowest and the highest; only when those are
    // many is it worth counting.
    let span: i64 = connection
        .prepare_cached(
            "SELECT coalesce((SELECT id FROM claims ORDER BY id DESC LIMIT 1), 0)
                  - coalesce((SELECT id FROM claims ORDER BY id LIMIT 1), 0)",
        )?
        .query_row([], |row| row.get(0))?;
    if span >= signed(bounds::CLAIMS_PER_OWNER as u64) - 1 {
        owner_has_room(connection, &claim.owner, now_ms)?;
    }
    if span >= signed(bounds::CLAIMS as u64) - 1 {
        let claims: i64 = connection.prepare_cached("SELECT count(*) FROM claims")?.query_row([], |row| row.get(0))?;
        if claims >= signed(bounds::CLAIMS as u64) {
            let next: Option<i64> =
                connection.prepare_cached("SELECT min(expires_at_ms) FROM claims")?.query_row([], |row| row.get(0))?;
            return Err(Refusal::Rule(bounds::too_many_claims(next.unwrap_or_default().unsigned_abs(), now_ms)));
        }
    }
    connection
        .prepare_cached(
            "INSERT INTO claims (owner, key, digest, run, call, expires_at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            claim.owner,
            claim.key,
            claim.digest,
            intent.run,
            signed(intent.call),
            signed(claim.expires_at_ms)
        ])?;
    Ok(())
}

/// Fails when an owner has as many living keys as one may have.
fn owner_has_room(connection: &Connection, owner: &str, now_ms: u64) -> Result<(), Refusal> {
    let most = signed(bounds::CLAIMS_PER_OWNER as u64);
    let full = || -> Result<bool, Refusal> {
        // From the index alone, and no further than the answer.
        let keys: i64 = connection
            .prepare_cached("SELECT count(*) FROM (SELECT 1 FROM claims WHERE owner = ?1 LIMIT ?2)")?
            .query_row(params![owner, most], |row| row.get(0))?;
        Ok(keys >= most)
    };
    if !full()? {
        return Ok(());
    }
    connection
        .prepare_cached("DELETE FROM claims WHERE owner = ?1 AND expires_at_ms <= ?2")?
        .execute(params![owner, signed(now_ms)])?;
    if !full()? {
        return Ok(());
    }
    let next: Option<i64> = connection
        .prepare_cached("SELECT min(expires_at_ms) FROM claims WHERE owner = ?1")?
        .query_row([owner], |row| row.get(0))?;
    Err(Refusal::Rule(bounds::too_many_claims_of(owner, next.unwrap_or_default().unsigned_abs(), now_ms)))
}

pub(crate) fn finish(
    connection: &Connection,
    outcome: &JournalRecord,
    claim: Option<&ClaimResult>,
    max_result_bytes: u64,
) -> Result<(), Refusal> {
    append(connection, outcome)?;
    let Some(claim) = claim else { return Ok(()) };
    let (run, call) = (&outcome.run, signed(outcome.call));
    if claim.release {
        connection
            .prepare_cached("DELETE FROM claims WHERE owner = ?1 AND key = ?2 AND run = ?3 AND call = ?4")?
            .execute(params![claim.owner, claim.key, run, call])?;
        return Ok(());
    }
    let result = claim.result.as_deref().filter(|result| result.len() <= bounds::CLAIM_RESULT_BYTES);
    // Only the call's own claim: after a key has expired another call may have it.
    let updated = connection
        .prepare_cached(
            "UPDATE claims SET outcome = ?5, result = ?6, bytes = ?7
             WHERE owner = ?1 AND key = ?2 AND run = ?3 AND call = ?4",
        )?
        .execute(params![
            claim.owner,
            claim.key,
            run,
            call,
            outcome.outcome.map(Outcome::word),
            result,
            signed(result.map_or(0, str::len) as u64)
        ])?;
    if updated > 0 && result.is_some() { make_room(connection, max_result_bytes) } else { Ok(()) }
}

/// Forgets the oldest results kept under keys, not the keys, until few enough are left.
fn make_room(connection: &Connection, max_bytes: u64) -> Result<(), Refusal> {
    let mut left = max_bytes;
    let mut kept = 0;
    let mut first_dropped: Option<i64> = None;
    {
        let mut statement = connection.prepare_cached(
            "SELECT id, bytes FROM claims INDEXED BY claims_results WHERE bytes > 0 ORDER BY id DESC",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let bytes = row.get::<_, i64>(1)?.unsigned_abs();
            if kept == bounds::CLAIM_RESULTS || bytes > left {
                first_dropped = Some(row.get(0)?);
                break;
            }
            kept += 1;
            left -= bytes;
        }
    }
    if let Some(id) = first_dropped {
        connection
            .prepare_cached("UPDATE claims SET result = NULL, bytes = 0 WHERE bytes > 0 AND id <= ?1")?
            .execute([id])?;
    }
    Ok(())
}

/// Records that fit the filter. Those that cannot be read are told and left out; as many as are wanted are read all the
/// same.
pub(crate) fn records(
    connection: &Connection,
    damage: &Damage,
    filter: &JournalFilter,
) -> Result<Vec<StoredRecord>, Refusal> {
    let wanted = filter.limit.min(bounds::LIST);
    let (mut after, mut before) = (signed(filter.after), i64::MAX);
    let mut records = Vec::new();
    while records.len() < wanted {
        let asked = wanted - records.len();
        let page = page(connection, filter, (after, before), asked)?;
        let (read, last) = (page.len(), page.last().map(|(seq, _)| *seq));
        for (seq, record) in page {
            match record {
                Ok(record) => records.push(record),
                Err(cause) => damage.tell(JOURNAL, seq, cause),
            }
        }
        match last {
            Some(last) if read == asked && filter.newest => before = last,
            Some(last) if read == asked => after = last,
            _ => break,
        }
    }
    if filter.newest {
        records.reverse();
    }
    Ok(records)
}

const JOURNAL: &str = "journal";

type Found = (i64, Result<StoredRecord, Cause>);

/// What fits the filter between two places, in the order in which it is read.
fn page(
    connection: &Connection,
    filter: &JournalFilter,
    (after, before): (i64, i64),
    limit: usize,
) -> Result<Vec<Found>, Refusal> {
    let mut conditions = vec!["seq > ?".to_owned(), "seq < ?".to_owned()];
    let mut values = vec![Value::from(after), Value::from(before)];
    let mut add = |condition: &str, value: Value| {
        conditions.push(condition.to_owned());
        values.push(value);
    };
    if let Some(time) = filter.since_ms {
        add("at_ms >= ?", signed(time).into());
    }
    if let Some(time) = filter.until_ms {
        add("at_ms < ?", signed(time).into());
    }
    match filter.tool.as_deref() {
        Some(source) if source.ends_with('/') => {
            // Every text that starts with `SOURCE/` lies below `SOURCE0`: '0' follows '/'.
            add("tool >= ?", source.to_owned().into());
            add("tool < ?", format!("{}0", &source[..source.len() - 1]).into());
        }
        Some(tool) => add("tool = ?", tool.to_owned().into()),
        None => {}
    }
    if let Some(outcome) = filter.outcome {
        add("outcome = ?", outcome.word().to_owned().into());
    }
    if let Some(user) = &filter.user {
        add("user = ?", user.clone().into());
    }
    if let Some(tenant) = &filter.tenant {
        add("tenant = ?", tenant.clone().into());
    }
    if let Some(run) = &filter.run {
        add("run = ?", run.clone().into());
    }
    if let Some(call) = filter.call {
        add("call = ?", signed(call).into());
    }
    values.push(signed(limit as u64).into());
    let order = if filter.newest { "DESC" } else { "ASC" };
    // Whoever reads from one place on looks at every record anyway.
    let searches = *filter
        != JournalFilter {
            after: filter.after,
            limit: filter.limit,
            newest: filter.newest,
            ..JournalFilter::default()
        };
    let conditions = conditions.join(" AND ");
    // A search reads the index, which has all that is searched by, and then only the records that are wanted; unless there
    // are few of them, as for somebody who follows.
    let few = || Ok::<_, Refusal>(head(connection)?.0.saturating_sub(filter.after) <= TAIL);
    let sql = if searches && (filter.run.is_some() || !few()?) {
        format!(
            "SELECT seq, hash, record FROM journal WHERE seq IN (
                SELECT seq FROM journal INDEXED BY journal_search WHERE {conditions} ORDER BY seq {order} LIMIT ?
             ) ORDER BY seq {order}"
        )
    } else {
        format!("SELECT seq, hash, record FROM journal NOT INDEXED WHERE {conditions} ORDER BY seq {order} LIMIT ?")
    };
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(rusqlite::params_from_iter(values))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push((row.get(0)?, stored(row)?));
    }
    Ok(found)
}

/// Records from a place on for whoever checks the chain: fails at the first one that cannot be read, or that a search
/// would find by something else than what it says.
pub(crate) fn chained(connection: &Connection, after: u64, limit: usize) -> Result<Vec<StoredRecord>, Refusal> {
    let mut statement = connection.prepare_cached(
        "SELECT seq, hash, record, at_ms, run, call, tenant, user, tool, outcome FROM journal
         WHERE seq > ?1 ORDER BY seq LIMIT ?2",
    )?;
    let mut rows = statement.query(params![signed(after), signed(limit.min(bounds::LIST) as u64)])?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        let seq: i64 = row.get(0)?;
        let stored = stored(row)?.map_err(|cause| {
            let cause = format!("record {seq} was changed: {cause}");
            Refusal::Rule(StoreError::Failed { operation: "read journal", cause })
        })?;
        agrees(row, &stored)?;
        records.push(stored);
    }
    Ok(records)
}

/// Most records in which damage is looked for: the newest.
const LOOKED_AT: i64 = 100_000;

/// Tells of every row that cannot be read: among the newest records, the open intents and the keys.
pub(crate) fn look(connection: &Connection, damage: &Damage) -> Result<(), Refusal> {
    let mut statement =
        connection.prepare_cached("SELECT seq, hash, record FROM journal ORDER BY seq DESC LIMIT ?1")?;
    let mut rows = statement.query([LOOKED_AT])?;
    while let Some(row) = rows.next()? {
        if let Err(cause) = stored(row)? {
            damage.tell(JOURNAL, row.get::<_, i64>(0)?, cause);
        }
    }
    let mut statement = connection.prepare_cached(&format!("{OPEN} ORDER BY o.seq"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        intent(row, damage)?;
    }
    let mut statement = connection.prepare_cached("SELECT owner, outcome FROM claims WHERE outcome IS NOT NULL")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if let Err(cause) = word::<Outcome>(row, 1) {
            damage.tell("claims", lossy(row, 0)?.unwrap_or_default(), cause);
        }
    }
    Ok(())
}

/// Fails, with the columns behind those of [`stored`], when a record is searched by something else than what it says: the chain covers the record only.
fn agrees(row: &Row<'_>, stored: &StoredRecord) -> Result<(), Refusal> {
    let record = &stored.record;
    let (at, call, outcome) = (signed(record.at_ms), signed(record.call), record.outcome.map(Outcome::word));
    let terms = [
        ValueRef::Integer(at),
        ValueRef::from(record.run.as_str()),
        ValueRef::Integer(call),
        ValueRef::from(record.principal.tenant.as_str()),
        ValueRef::from(record.principal.user.as_deref()),
        ValueRef::from(record.tool.as_deref()),
        ValueRef::from(outcome),
    ];
    let mut agrees = true;
    for (place, term) in (3..).zip(terms) {
        agrees &= row.get_ref(place)? == term;
    }
    if agrees {
        return Ok(());
    }
    Err(Refusal::Rule(StoreError::Failed {
        operation: "read journal",
        cause: format!("record {} was changed: it does not agree with what it is searched by", stored.seq),
    }))
}

/// The record of a row that begins with place, hash and record.
fn stored(row: &Row<'_>) -> rusqlite::Result<Result<StoredRecord, Cause>> {
    let (seq, hash) = (row.get::<_, i64>(0)?.unsigned_abs(), lossy(row, 1)?.unwrap_or_default());
    Ok(parsed(row, 2).map(|record| StoredRecord { seq, hash, record }))
}

/// Runs that have intents open.
pub(crate) fn runs_with_open_intents(connection: &Connection, damage: &Damage) -> Result<Vec<String>, Refusal> {
    let sql = "SELECT DISTINCT run FROM open_intents";
    readable(connection, sql, [], |row| Ok(runs::name(row, damage, "open_intents")), bounds::LIST)
}

/// Open intents with their records, as [`intent`] reads them.
const OPEN: &str = "SELECT o.seq, j.hash, j.record, o.run, o.call, j.at_ms, j.tenant, j.user, j.tool
     FROM open_intents AS o LEFT JOIN journal AS j ON j.seq = o.seq";

/// An open intent. One that cannot be read, is not there or is another call's is made of what it is searched by, so that its
/// call can be closed like every other; its `detail` says so, and its row stays.
fn intent(row: &Row<'_>, damage: &Damage) -> rusqlite::Result<StoredRecord> {
    let (seq, run, call) = (row.get::<_, i64>(0)?, lossy(row, 3)?.unwrap_or_default(), row.get::<_, i64>(4)?);
    let call = call.unsigned_abs();
    let cause = match stored(row)? {
        Ok(stored) if stored.record.run == run && stored.record.call == call => return Ok(stored),
        Ok(_) => "it is the record of another call".to_owned(),
        Err(_) if matches!(row.get_ref(2)?, ValueRef::Null) => "the record is gone".to_owned(),
        Err(cause) => cause,
    };
    damage.tell(JOURNAL, seq, format!("an intent without an outcome: {cause}"));
    let at_ms = row.get::<_, Option<i64>>(5)?.unwrap_or_default().unsigned_abs();
    let record = JournalRecord {
        call,
        principal: Principal {
            tenant: lossy(row, 6)?.unwrap_or_default(),
            user: lossy(row, 7)?,
            ..Principal::default()
        },
        tool: lossy(row, 8)?,
        mutating: true,
        detail: Some(format!("its intent, record {seq}, cannot be read: {cause}")),
        ..JournalRecord::new(Kind::Intent, at_ms, run)
    };
    Ok(StoredRecord { seq: seq.unsigned_abs(), hash: lossy(row, 1)?.unwrap_or_default(), record })
}

/// Open intents of these runs in the order of their places.
pub(crate) fn open_intents(
    connection: &Connection,
    damage: &Damage,
    runs: &[String],
    limit: usize,
) -> Result<Vec<StoredRecord>, Refusal> {
    let limit = limit.min(bounds::LIST);
    let mut statement = connection.prepare_cached(&format!("{OPEN} WHERE o.run = ?1 ORDER BY o.call LIMIT ?2"))?;
    let mut found = Vec::new();
    for run in runs {
        let mut rows = statement.query(params![run, signed(limit as u64)])?;
        while let Some(row) = rows.next()? {
            found.push(intent(row, damage)?);
        }
    }
    found.sort_by_key(|stored| stored.seq);
    found.truncate(limit);
    Ok(found)
}

/// Drops at most `most` records from before a time and moves the anchor; tells how many, and whether there may be more.
pub(crate) fn prune(connection: &Connection, before_ms: u64, most: usize) -> Result<(u64, bool), Refusal> {
    let before = signed(before_ms);
    let (first, _) = anchor(connection)?;
    let end = signed(first.saturating_add(most as u64));
    // The first record that has to stay: too young, or an intent whose outcome is not there.
    let stays: Option<i64> = connection
        .prepare_cached("SELECT seq FROM journal NOT INDEXED WHERE seq <= ?1 AND at_ms >= ?2 ORDER BY seq LIMIT 1")?
        .query_row(params![end, before], |row| row.get(0))
        .optional()?;
    let open: Option<i64> = connection
        .prepare_cached("SELECT seq FROM open_intents ORDER BY seq LIMIT 1")?
        .query_row([], |row| row.get(0))
        .optional()?;
    let last = [stays, open].into_iter().flatten().map(|seq| seq - 1).fold(end, i64::min);
    let anchored = connection
        .prepare_cached(
            "UPDATE journal_anchor SET (seq, hash) = (
                SELECT seq, hash FROM journal WHERE seq <= ?1 ORDER BY seq DESC LIMIT 1
             ) WHERE EXISTS (SELECT 1 FROM journal WHERE seq <= ?1)",
        )?
        .execute([last])?;
    let dropped = if anchored == 0 {
        0
    } else {
        connection.prepare_cached("DELETE FROM journal WHERE seq <= ?1")?.execute([last])?
    };
    connection.prepare_cached("DELETE FROM runs WHERE closed_at_ms < ?1")?.execute([before])?;
    Ok((dropped as u64, dropped >= most))
}
