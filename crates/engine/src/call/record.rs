//! Record: one event per call to every observer, and a journal record of every call that has none yet. Nothing of arguments
//! or results goes in but digests.

use std::{panic::AssertUnwindSafe, sync::Arc};

use toolcrib_core::ToolId;

use super::{CallRequest, Progressing};
use crate::{
    engine::{Engine, InForce},
    event::{CallEvent, Outcome},
    identity::Principal,
    journal::{Journal, JournalRecord, Kind},
    usage,
};

/// Gives the tool's identity back.
pub(super) async fn record(
    engine: &Engine,
    in_force: &Arc<InForce>,
    request: &CallRequest,
    state: &mut Progressing,
    outcome: Outcome,
    reason: Option<String>,
) -> Option<ToolId> {
    let tool = state.tool.as_ref().map(|tool| tool.id().clone());
    if state.goes_on {
        return tool;
    }
    let reason = reason.map(|reason| in_force.mask_text(&reason).into_owned());
    let event = CallEvent {
        call_id: state.call_id,
        door: state.door,
        tool,
        name: std::mem::take(&mut state.name),
        outcome,
        reason,
        repairs: state.repairs.len(),
        result_bytes: state.result_bytes,
        backend_time: state.timings.backend,
        total_time: state.timings.total,
    };
    for sink in engine.sinks() {
        // An observer that fails costs nobody the reply, and the journal its record least of all.
        if std::panic::catch_unwind(AssertUnwindSafe(|| sink.record(&event))).is_err() {
            tracing::error!(call_id = event.call_id, "an observer of calls panicked");
        }
    }
    state.name = event.name;
    if let Some(tool) = event.tool.as_ref().filter(|_| outcome == Outcome::Ok) {
        usage::called(engine, || Principal::of(&request.scope, &request.identity), tool);
    }
    let Some(journal) = engine.journal() else { return event.tool };
    // Describing runs nothing, and searching has a record of its own; a call that waits for its answer is recorded when it
    // comes again.
    let runs_nothing = state.tool.is_none() && outcome == Outcome::Ok;
    if state.closed
        || runs_nothing
        || (!state.mutating && outcome == Outcome::Ok && !in_force.settings.limits.journal_reads)
    {
        return event.tool;
    }
    let mut record = of(journal, Kind::Outcome, request, state);
    fill(&mut record, state, outcome, event.reason.as_deref());
    if let Err(error) = journal.note(record).await {
        tracing::debug!(%error, "a record waits for the journal");
    }
    event.tool
}

/// What may still come of a call that was given up goes on record after it.
pub(super) fn late(engine: &Engine, request: &CallRequest, state: &mut Progressing) {
    if let Some(running) = state.late.take()
        && let Some(journal) = engine.journal()
        && !journal.await_late(of(journal, Kind::Outcome, request, state), running)
    {
        tracing::debug!(call_id = state.call_id, "too much is waited for already: a late result would not be recorded");
    }
}

/// A record with what is known of a call so far.
pub(super) fn of(journal: &Journal, kind: Kind, request: &CallRequest, state: &Progressing) -> JournalRecord {
    let mut record = journal.record(kind);
    record.call = state.call_id;
    record.principal = Principal::of(&request.scope, &request.identity);
    record.door = Some(state.door);
    record.tool = state.tool.as_ref().map(|tool| tool.id().text());
    record.name.clone_from(&state.name);
    record.definition = state.evidence.definition.map(|hash| hash.text());
    record.arguments = state.evidence.arguments.map(|hash| hash.text());
    record.mutating = state.mutating;
    record.authority.clone_from(&state.evidence.authority);
    record.trace.clone_from(&request.identity.trace);
    record
}

/// Adds how the call ended.
pub(super) fn fill(record: &mut JournalRecord, state: &Progressing, outcome: Outcome, reason: Option<&str>) {
    record.outcome = Some(outcome);
    record.reason = reason.map(|reason| reason.chars().take(500).collect());
    record.output = state.evidence.output.map(|hash| hash.text());
    record.result_bytes = state.result_bytes as u64;
    record.backend_us = micros(state.timings.backend);
    let total = state.timings.total;
    record.total_us = micros(if total.is_zero() { state.started.elapsed() } else { total });
}

fn micros(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
