//! Journal: the intent of a call that may change something is durable before the call leaves, and its outcome follows. A
//! call that only looks is recorded when it has ended ([`super::record`]).

use std::{sync::Arc, time::Duration};

use serde_json::value::RawValue;
use toolcrib_core::{ContentHash, Tool, ToolResult, args::canonical, permission::Effect};

use super::{CallRequest, Cause, Progressing, Stop, approve::Admitted, record, resolve::Target};
use crate::{
    clock::now_ms,
    engine::{Engine, InForce},
    event::Outcome,
    journal::{Claim, ClaimResult, Earlier, Journal, Kind, Opening, Unsettled},
    store::StoreError,
};

/// Largest result that is remembered under a key, bytes.
const MAX_KEPT: usize = 1024 * 1024;

/// Whether the call may leave.
#[allow(clippy::large_enum_variant, reason = "looked at once, where it was made; a box would cost every call")]
pub(super) enum Opened {
    /// It may. What is to be closed when it has ended.
    Go(Open),
    /// It ran before: this is what came of it.
    Earlier(ToolResult),
}

/// A call whose intent is written, or that needs none.
pub(super) struct Open(Option<Written>);

struct Written {
    unsettled: Unsettled,
    claim: Option<Claim>,
}

/// Whether a caller's key can be kept at all: a key is a promise that nothing runs twice, and nothing else remembers.
pub(super) fn promised(engine: &Engine, request: &CallRequest, target: &Target) -> Result<(), Stop> {
    if request.idempotency_key.is_none() || engine.journal().is_some() {
        return Ok(());
    }
    Err(Stop::told(
        Outcome::Unavailable,
        format!(
            "{} was not run: nothing here remembers idempotency keys, because no record of calls is kept. Call it without a key.",
            target.exposed
        ),
    ))
}

pub(super) async fn open(
    engine: &Engine,
    in_force: &Arc<InForce>,
    request: &CallRequest,
    admitted: &Admitted,
    state: &mut Progressing,
) -> Result<Opened, Stop> {
    let Some(journal) = engine.journal() else { return Ok(Opened::Go(Open(None))) };
    let claim = claim(in_force, journal, request, admitted, state);
    if !state.mutating && claim.is_none() {
        if in_force.settings.limits.journal_reads && journal.health().is_err() {
            state.say("Note: the record of calls cannot be written at the moment, so this call may be missing from it. Tools that change something do not run until it can.");
        }
        return Ok(Opened::Go(Open(None)));
    }
    let exposed = state.name.clone();
    let intent = record::of(journal, Kind::Intent, request, state);
    let begun = tokio::select! {
        biased;
        begun = journal.begin(intent, claim.clone()) => begun,
        // A store that hangs does not hold the caller. Whatever it makes of the intent, the journal closes it.
        () = request.cancel.cancelled() => {
            state.closed = true;
            return Err(cancelled("while the record of calls was written"));
        }
        () = tokio::time::sleep_until(admitted.deadline) => {
            state.closed = true;
            return Err(unwritable(&exposed).because("the journal's store did not answer before the call's deadline"));
        }
    };
    match begun {
        Ok(Opening::Started(unsettled)) => {
            state.evidence.journaled = true;
            // From here on the outcome is `Written`'s to record, whatever becomes of the call.
            state.closed = true;
            Ok(Opened::Go(Open(Some(Written { unsettled, claim }))))
        }
        Ok(Opening::Duplicate(earlier)) => answer(&exposed, claim.as_ref(), earlier, request).map(Opened::Earlier),
        // Not the store's failure but a bound of it: the caller is told which.
        Err(StoreError::Quota(bound)) => {
            Err(Stop::told(Outcome::Unavailable, format!("{exposed} was not run: {bound}.")).because(bound))
        }
        // Fail closed: what leaves no trace must not change anything.
        Err(error) => Err(unwritable(&exposed).because(error.to_string())),
    }
}

/// The end of a call that may change something while its intent cannot be recorded.
pub(super) fn unwritable(exposed: &str) -> Stop {
    Stop::told(
        Outcome::Unavailable,
        format!(
            "{exposed} was not run: it may change something, and the record of calls cannot be written at the moment. Tools that only read still work."
        ),
    )
}

/// The end of a call that was cancelled before it left.
pub(super) fn cancelled(when: &str) -> Stop {
    Stop::told(Outcome::Cancelled, "The call was cancelled before it left. Nothing was run.")
        .because(format!("cancelled {when}"))
}

/// The key under which the call is one and the same: the caller's own, or, for what may destroy, tool and arguments within
/// a short time, because clients must send again what a broken connection left unanswered.
fn claim(
    in_force: &Arc<InForce>,
    journal: &Journal,
    request: &CallRequest,
    admitted: &Admitted,
    state: &Progressing,
) -> Option<Claim> {
    let window = in_force.settings.limits.duplicates;
    if request.idempotency_key.is_none()
        && (admitted.assessment.effect != Effect::Destructive || window == Duration::ZERO)
    {
        return None;
    }
    let tool = state.tool.as_deref()?;
    if let Some(key) = &request.idempotency_key {
        return Some(own_claim(journal, request, key, tool, admitted.digest));
    }
    // Another spelling of a number is no other call.
    let digest = call_digest(tool, admitted.equivalent);
    let owner = crate::results::owner(&request.scope);
    // Whoever was asked and said yes once more means once more.
    if state.approved_once {
        return None;
    }
    let session = admitted.principal.session.as_deref().unwrap_or_default();
    let mut claim = journal.claim(owner, format!("same:{digest}:{session}"), digest.to_string());
    claim.expires_at_ms = now_ms().saturating_add(u64::try_from(window.as_millis()).unwrap_or(u64::MAX));
    Some(claim)
}

/// The claim on a key of the caller's own.
fn own_claim(journal: &Journal, request: &CallRequest, key: &str, tool: &Tool, arguments: ContentHash) -> Claim {
    let owner = crate::results::owner(&request.scope);
    journal.claim(owner, format!("key:{key}"), call_digest(tool, arguments).to_string())
}

fn call_digest(tool: &Tool, arguments: ContentHash) -> ContentHash {
    ContentHash::of_hashes([tool.hash(), ContentHash::of_bytes(tool.id().to_string().as_bytes()), arguments])
}

/// What came of an earlier call under the caller's key, before anybody is asked about this one: a person's answer would be
/// used up for nothing.
pub(super) async fn earlier(
    engine: &Engine,
    request: &CallRequest,
    target: &Target,
    arguments: &RawValue,
) -> Result<Option<ToolResult>, Stop> {
    let (Some(journal), Some(key)) = (engine.journal(), &request.idempotency_key) else { return Ok(None) };
    let claim = own_claim(journal, request, key, &target.tool, canonical::digest(arguments));
    match journal.store().claimed(&claim, now_ms()).await {
        Ok(Some(earlier)) => answer(&target.exposed, Some(&claim), earlier, request).map(Some),
        Ok(None) => Ok(None),
        // It will be seen when the intent is written.
        Err(error) => {
            tracing::debug!(%error, "what is known under a key cannot be read");
            Ok(None)
        }
    }
}

fn answer(exposed: &str, claim: Option<&Claim>, earlier: Earlier, request: &CallRequest) -> Result<ToolResult, Stop> {
    let call = format!("call {} of run {}", earlier.call, earlier.run);
    if claim.is_some_and(|claim| claim.digest != earlier.digest) {
        return Err(Stop::told(
            Outcome::Invalid,
            format!(
                "{exposed} was not run: this idempotency key was used for another call. Use a new key for each call."
            ),
        )
        .because(format!("the key belongs to {call}"))
        .for_programs(Cause::KeyTaken));
    }
    let own_key = request.idempotency_key.is_some();
    if let Some(text) = earlier.result
        && let Ok(raw) = RawValue::from_string(text)
        && let Ok(result) = ToolResult::from_raw(raw)
    {
        if own_key {
            return Ok(result);
        }
        let note = "This is the result of the same call a moment ago; it was not run again. If it is to run once more, wait a minute or change its arguments.";
        return Ok(toolcrib_core::shape::append_note(&result, note));
    }
    let cause = if earlier.outcome.is_none() { Cause::StillRunning } else { Cause::Earlier };
    let (outcome, how) = match earlier.outcome {
        None => (Outcome::Unknown, "is still running".to_owned()),
        Some(Outcome::Ok) => (Outcome::Ok, "ran, and its result is too large to be kept".to_owned()),
        Some(Outcome::ToolError) => (Outcome::ToolError, "ran and failed".to_owned()),
        Some(outcome) => {
            (Outcome::Unknown, format!("ended as {}: it may or may not have taken effect", outcome.word()))
        }
    };
    let text = format!(
        "{exposed} was not run again: the same call a moment ago {how}. Check what happened before repeating it."
    );
    if outcome == Outcome::Ok {
        return Ok(ToolResult::text(text));
    }
    Err(Stop::told(outcome, text).because(format!("the same as {call}")).for_programs(cause))
}

/// Writes the outcome. The reply of a call whose key is remembered, or that an approval let through, waits until that is
/// durable; others are written with the next batch, and a process that dies before leaves the call as unknown.
pub(super) async fn close(
    open: Open,
    state: &mut Progressing,
    outcome: Outcome,
    reason: Option<&str>,
    result: Option<&ToolResult>,
) {
    let Some(Written { unsettled, claim }) = open.0 else { return };
    if claim.is_none() && !state.approved_once {
        // With the next batch: whatever comes late is queued behind it.
        unsettled.finish_soon_with(|record| record::fill(record, state, outcome, reason));
        return;
    }
    let Some(mut record) = unsettled.outcome() else { return };
    record::fill(&mut record, state, outcome, reason);
    let claimed = claim.map(|claim| ClaimResult {
        owner: claim.owner,
        key: claim.key,
        result: result.map(|result| result.raw().get()).filter(|text| text.len() <= MAX_KEPT).map(str::to_owned),
        // Only what certainly did not run frees the key.
        release: outcome == Outcome::Unavailable || state.attempts == 0,
    });
    if let Err(error) = unsettled.finish(record, claimed).await {
        tracing::warn!(%error, call_id = state.call_id, "the outcome of a call is not in the journal yet");
    }
}
