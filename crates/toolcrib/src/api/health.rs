//! How the gateway and its sources are doing.

use std::collections::BTreeMap;

use toolcrib_core::{Source, SourceState};
use toolcrib_gateway::{
    KeyScope,
    api::{
        ApiCaller, Problem,
        wire::{Health, RecordState, SourceHealth, Standing},
    },
};

use super::{
    Api,
    scope::{Asking, refused},
};

pub(super) fn health(api: &Api, caller: &ApiCaller) -> Result<Health, Problem> {
    let engine = &api.world.engine;
    let view = engine.inspect(&Asking::caller(api, caller)).map_err(refused)?;
    let mut tools: BTreeMap<&Source, usize> = BTreeMap::new();
    for tool in view.set.tools() {
        *tools.entry(tool.source()).or_default() += 1;
    }
    let all = caller.scopes.has(KeyScope::Operate);
    let catalog = engine.hub().catalog();
    let known = catalog.sources().iter().filter(|(source, _)| all || view.knows(source));
    let sources: Vec<SourceHealth> = known
        .map(|(source, entry)| SourceHealth {
            source: source.to_string(),
            state: entry.state.word(),
            reason: match &entry.state {
                SourceState::Down { reason } => Some(reason.clone()),
                SourceState::Ready | SourceState::Starting | SourceState::Disabled => None,
            },
            tools: tools.get(source).copied().unwrap_or_default(),
        })
        .collect();
    let record = match engine.journal().map(toolcrib_engine::journal::Journal::health) {
        None => RecordState::Off,
        Some(Ok(())) => RecordState::Ok,
        Some(Err(_)) => RecordState::Failing,
    };
    let down = sources.iter().any(|source| source.state == "down");
    let status = if down || record == RecordState::Failing { Standing::Degraded } else { Standing::Ok };
    Ok(Health { status, version: env!("CARGO_PKG_VERSION"), run: engine.run().to_owned(), record, sources })
}
