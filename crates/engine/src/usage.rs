//! What is noted of searches: a record in the journal, from which labelled queries can be made, and, where that is wanted,
//! a prior learnt from what was called upon them ([`Learner`]). Learning runs beside; a search waits at most for
//! room in the journal's queue.

mod learner;
mod recent;
mod search_record;

use std::sync::Arc;

use toolcrib_core::{
    ToolId,
    bridge::Directory as _,
    usage::{Asked, SearchMade},
};

pub use learner::{LearnSettings, Learner};
pub(crate) use recent::Recent;
pub use search_record::searches;

use crate::{
    clock::now_ms,
    engine::{Engine, InForce},
    event::Door,
    identity::Principal,
    journal::Kind,
    view::View,
};

/// Tools of each query that are noted.
const NOTED: usize = 5;

/// Notes a search that was answered.
pub(crate) async fn searched(
    engine: &Engine,
    in_force: &Arc<InForce>,
    view: &View,
    principal: &Principal,
    door: Door,
    queries: &[String],
    found: &[Vec<usize>],
) {
    let learner = engine.learner();
    let journal = engine.journal().filter(|_| in_force.settings.limits.journal_searches);
    if learner.is_none() && journal.is_none() {
        return;
    }
    let asked = |(text, found): (&String, &Vec<usize>)| Asked {
        text: in_force.mask_text(text).into_owned(),
        found: found.iter().take(NOTED).filter_map(|&index| Some(view.set.identity(index)?.into_owned())).collect(),
    };
    let queries: Vec<Asked> = queries.iter().zip(found).map(asked).collect();
    if let Some(journal) = journal {
        let mut record = journal.record(Kind::Search);
        record.principal = principal.clone();
        record.door = Some(door);
        toolcrib_core::bridge::TOOL_SEARCH.clone_into(&mut record.name);
        record.detail = Some(search_record::detail(&queries));
        if let Err(error) = journal.note(record).await {
            tracing::debug!(%error, "a record waits for the journal");
        }
    }
    if let Some(learner) = learner {
        learner.recent().searched(principal, SearchMade { queries, at_ms: now_ms() });
    }
}

/// Notes a call that succeeded.
pub(crate) fn called(engine: &Engine, principal: impl FnOnce() -> Principal, tool: &ToolId) {
    if let Some(learner) = engine.learner() {
        learner.called(&principal(), &tool.to_string(), now_ms());
    }
}
