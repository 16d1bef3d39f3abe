//! What operators look at: the record of calls, figures, circuits.

use toolcrib_engine::{
    Outcome,
    admit::Guarded,
    journal::{Journal, JournalFilter},
};
use toolcrib_gateway::api::{
    ApiCaller, Code, Problem,
    wire::{AuditOutcome, AuditQuery, Breakers, Number, Records, Reset, ResetDone, Stats, Text, Word},
};

use super::{Api, LIMIT, as_wire, store, switched_off, unknown};
use crate::commands;

/// Records in one answer where nothing else is asked for.
const USUAL: usize = 100;

pub(super) async fn audit(api: &Api, caller: &ApiCaller, query: AuditQuery) -> Result<Records, Problem> {
    let journal = api.world.engine.journal().ok_or_else(|| switched_off("the record of calls is"))?;
    let since_ms = query.since.as_deref().map(commands::audit::since).transpose().map_err(|error| {
        Problem::new(Code::NotRead, format!("since cannot be read: {error}")).at("since", error.to_string())
    })?;
    let filter = JournalFilter {
        tool: query.tool.map(Text::into_inner),
        user: query.user.map(Word::into_inner),
        run: query.run.map(Word::into_inner),
        call: query.call.map(Number::get),
        outcome: query.outcome.map(outcome),
        tenant: api.world.callers.tenant(caller.principal.as_deref()),
        since_ms,
        after: query.after.map_or(0, Number::get),
        newest: query.after.is_none(),
        limit: query.limit.map_or(USUAL, |limit| usize::try_from(limit.get()).unwrap_or(LIMIT)),
        ..JournalFilter::default()
    };
    let found = journal.store().records(filter).await.map_err(store)?;
    Ok(Records { records: as_wire(&found)? })
}

fn outcome(outcome: AuditOutcome) -> Outcome {
    match outcome {
        AuditOutcome::Ok => Outcome::Ok,
        AuditOutcome::ToolError => Outcome::ToolError,
        AuditOutcome::Denied => Outcome::Denied,
        AuditOutcome::Invalid => Outcome::Invalid,
        AuditOutcome::TimedOut => Outcome::TimedOut,
        AuditOutcome::Cancelled => Outcome::Cancelled,
        AuditOutcome::Unavailable => Outcome::Unavailable,
        AuditOutcome::Unknown => Outcome::Unknown,
    }
}

pub(super) fn stats(api: &Api, caller: &ApiCaller) -> Result<Stats, Problem> {
    api.of_all_tenants(caller)?;
    as_wire(&api.world.statistics.snapshot())
}

pub(super) fn breakers(api: &Api, caller: &ApiCaller) -> Result<Breakers, Problem> {
    api.of_all_tenants(caller)?;
    Ok(Breakers { breakers: as_wire(&api.world.engine.admission().breakers())? })
}

pub(super) fn reset(api: &Api, caller: &ApiCaller, reset: &Reset) -> Result<ResetDone, Problem> {
    api.of_all_tenants(caller)?;
    let guarded: Guarded =
        reset.key.parse().map_err(|_| unknown("source or tool; write mcp:github or mcp:github/create_issue"))?;
    Ok(ResetDone { reset: api.world.engine.admission().reset(&guarded) as u64 })
}

pub(super) fn metrics(api: &Api, caller: &ApiCaller) -> Result<String, Problem> {
    api.of_all_tenants(caller)?;
    let engine = &api.world.engine;
    let status = engine.journal().map(Journal::status);
    Ok(api.world.statistics.prometheus(&engine.admission().breakers(), status.as_ref()))
}
