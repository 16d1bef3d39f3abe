//! Who could see what of plugins, before any of their code runs: the same selection as everything else, asked for every
//! scope that a process can serve.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use toolcrib_core::{Catalog, Scope, Source, ToolId, assemble::AssembleSettings, name::assign, select::select};

/// The tools of plugins, after everybody was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surveyed {
    /// Tools that somebody can see.
    pub kept: BTreeSet<ToolId>,
    /// Why the others are seen by nobody, as the first scope has it.
    pub reasons: BTreeMap<ToolId, String>,
}

/// Answers for a catalog of built-in tools and plugins. See [`survey`].
pub type Survey = Arc<dyn Fn(&Catalog) -> Surveyed + Send + Sync>;

/// Asks for each scope what it leaves of the plugins' tools. Scopes that cannot be judged (an unknown profile) see nothing.
pub fn survey(catalog: &Catalog, settings: &AssembleSettings, scopes: &[Scope]) -> Surveyed {
    let mut surveyed = Surveyed::default();
    for (index, scope) in scopes.iter().enumerate() {
        let Ok(selection) = select(catalog, &settings.policy, &settings.names, scope) else { continue };
        let losers = assign(&selection.kept, &settings.names).losers;
        let lost: BTreeSet<&ToolId> = losers.iter().map(|loser| &loser.id).collect();
        let kept = selection.kept.iter().map(|claim| claim.tool.id()).filter(|id| of_plugin(id) && !lost.contains(id));
        surveyed.kept.extend(kept.cloned());
        if index > 0 {
            continue;
        }
        for removed in selection.removals.iter().filter(|removed| of_plugin(removed.tool.id())) {
            let removal = selection.removals.removal(removed);
            let stage = selection.removals.stage(removed);
            let reason =
                format!("{stage} stage: {} ({}); to change that, {}", removal.rule, removal.origin, removal.fix);
            surveyed.reasons.insert(removed.tool.id().clone(), reason);
        }
        for loser in &losers {
            let winner = loser.winner.as_ref().map_or_else(|| "another tool".to_owned(), ToolId::to_string);
            surveyed.reasons.insert(loser.id.clone(), format!("{winner} has the name {}", loser.name));
        }
    }
    surveyed.reasons.retain(|id, _| !surveyed.kept.contains(id));
    surveyed
}

fn of_plugin(id: &ToolId) -> bool {
    matches!(id.source, Source::Plugin(_))
}

/// Of a catalog what a survey needs: built-in tools, which have their names before anybody else, and plugins.
pub(super) fn of_interest(catalog: &Catalog) -> Catalog {
    let of_interest = |source: &Source| matches!(source, Source::Builtin | Source::Plugin(_));
    let sources = catalog.sources().iter().filter(|(source, _)| of_interest(source));
    Catalog::new(catalog.generation(), sources.map(|(source, entry)| (source.clone(), entry.clone())).collect())
}
