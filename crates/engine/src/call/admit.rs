//! Admit: a call that may run gets its turn, unless it would only hit what is failing, too busy or the same again.

use tokio::time::Instant;
use toolcrib_core::{ContentHash, ToolResult, permission::Assessment};

use super::{
    Cause, Progressing, Stop,
    approve::{Admitted, Leave},
};
use crate::{
    admit::{Asked, Refused, Settled, Ticket},
    backend::InvokeError,
    engine::{Engine, InForce},
};

pub(super) async fn admit(
    leave: &Leave<'_>,
    assessment: &Assessment,
    digest: ContentHash,
    deadline: Instant,
    state: &mut Progressing,
) -> Result<Ticket, Stop> {
    let admission = leave.engine.admission();
    let asked = Asked {
        tool: &leave.target.tool,
        exposed: &leave.target.exposed,
        door: state.door,
        principal: leave.principal,
        credentials: None,
        digest: admission.digest(&leave.arguments.raw, digest),
        effect: assessment.effect,
        deadline,
        cancel: &leave.request.cancel,
    };
    let admitted = admission.admit(asked).await;
    if leave.engine.admission().has_changes() {
        Box::pin(tell_changes(leave.engine)).await;
    }
    admitted.map_err(|refused| {
        state.evidence.authority = Some("admission".to_owned());
        let stop = Stop::told(refused.outcome(), refused.told(&leave.target.exposed)).because(refused.to_string());
        match refused {
            Refused::BreakerOpen { .. } | Refused::TooFast { .. } | Refused::TooMany { .. } => {
                stop.for_programs(Cause::NotLetIn { retry_ms: refused.retry_ms() })
            }
            Refused::Repeated { .. } | Refused::Cancelled => stop,
        }
    })
}

/// Takes note of how the call ended.
pub(super) async fn settle(
    engine: &Engine,
    in_force: &InForce,
    ticket: Ticket,
    admitted: &Admitted,
    ran: &Result<ToolResult, InvokeError>,
    state: &mut Progressing,
) {
    let settled = match ran {
        Ok(result) => {
            let result_digest =
                state.evidence.output.unwrap_or_else(|| ContentHash::of_bytes(result.raw().get().as_bytes()));
            if result.is_error() { Settled::ToolError { result_digest } } else { Settled::Answered { result_digest } }
        }
        // A caller that gives the tool less time than the operator does learns nothing about the tool, and must not be able
        // to switch it off for everybody.
        Err(error) if admitted.shortened && is_for_want_of_time(error, admitted.deadline) => Settled::Neutral,
        // What circuits remember is told to models and is in the journal.
        Err(error) => match Settled::of_error(error) {
            Settled::Fault(text) => Settled::Fault(in_force.mask_text(&text).into_owned()),
            Settled::ToolFault(text) => Settled::ToolFault(in_force.mask_text(&text).into_owned()),
            settled => settled,
        },
    };
    if let Some(note) = ticket.settle(settled) {
        state.say(&note);
    }
    if engine.admission().has_changes() {
        Box::pin(tell_changes(engine)).await;
    }
}

/// Whether the call brought nothing because its time was over.
fn is_for_want_of_time(error: &InvokeError, deadline: Instant) -> bool {
    match error {
        InvokeError::TimedOut(_) => true,
        // Backends that stop at the deadline may call it by another name.
        InvokeError::Unavailable(_) | InvokeError::Unknown(_) => Instant::now() >= deadline,
        InvokeError::Broken(_) | InvokeError::BadAnswer(_) | InvokeError::Refused { .. } | InvokeError::Cancelled => {
            false
        }
    }
}

/// Circuits that opened or closed go into the journal.
async fn tell_changes(engine: &Engine) {
    let changes = engine.admission().take_changes();
    let Some(journal) = engine.journal().filter(|_| !changes.is_empty()) else { return };
    for change in changes {
        let record = change.record(journal.run());
        if let Err(error) = journal.note(record).await {
            tracing::debug!(%error, "a record waits for the journal");
        }
    }
}
