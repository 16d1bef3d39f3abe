//! Who could see what of plugins, before any of their code runs: the same selection as everything else, asked for every
//! scope that a process can serve.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
};

use toolcrib_core::{
    Catalog, Scope, Source, ToolId,
    assemble::AssembleSettings,
    categories::with_everything,
    name::{Claim, NameLoser, assign},
    select::select,
};

/// The tools of plugins, after everybody was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surveyed {
    /// Tools that somebody can see.
    pub kept: BTreeSet<ToolId>,
    /// Why the others are seen by nobody, as the first scope has it.
    pub reasons: BTreeMap<ToolId, String>,
}

/// Answers for a catalog of built-in tools and plugins, and for scopes that came by themselves. See [`survey`].
pub type Survey = Arc<dyn Fn(&Catalog, &[Scope]) -> Surveyed + Send + Sync>;

/// Asks for each scope what of the plugins' tools it sees or could see by loading categories: what is started and what goes
/// on running is decided by that. `known` are the scopes that can be served as far as that is known beforehand, the first of
/// which gives the reasons; `came` are others that have called. Scopes that cannot be judged (an unknown profile) see nothing.
pub fn survey(catalog: &Catalog, settings: &AssembleSettings, known: &[Scope], came: &[Scope]) -> Surveyed {
    let mut surveyed = Surveyed::default();
    for (index, scope) in known.iter().chain(came).enumerate() {
        let Ok(selection) = select(catalog, &settings.policy, &settings.names, scope) else { continue };
        let losers = assign(&selection.kept, &settings.names).losers;
        let lost: HashSet<&ToolId> = losers.iter().map(|loser| &loser.id).collect();
        surveyed.keep(&selection.kept, |id| lost.contains(id));
        if settings.policy.categories.is_some() {
            surveyed.keep_loadable(catalog, settings, scope, &selection.kept);
        }
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
        for loser in losers {
            surveyed.reasons.insert(loser.id.clone(), lost_name(&loser));
        }
    }
    surveyed.reasons.retain(|id, _| !surveyed.kept.contains(id));
    surveyed
}

impl Surveyed {
    fn keep(&mut self, claims: &[Claim], is_lost: impl Fn(&ToolId) -> bool) {
        let ids = claims.iter().map(|claim| claim.tool.id());
        self.kept.extend(ids.filter(|id| of_plugin(id) && !is_lost(id)).cloned());
    }

    /// Adds what the scope could load, given what it has without that. A name that is lost to a tool which is itself only there
    /// when it is loaded is not lost: the two need not be loaded together.
    fn keep_loadable(&mut self, catalog: &Catalog, settings: &AssembleSettings, scope: &Scope, now: &[Claim]) {
        let Ok(all) = select(catalog, &settings.policy, &settings.names, &with_everything(scope)) else { return };
        let lost: HashSet<ToolId> = assign(&all.kept, &settings.names)
            .losers
            .into_iter()
            .filter(|loser| now.iter().any(|claim| claim.name == loser.name && *claim.tool.id() != loser.id))
            .map(|loser| loser.id)
            .collect();
        self.keep(&all.kept, |id| lost.contains(id));
    }
}

/// Why a tool has no name, and what would give it one.
fn lost_name(loser: &NameLoser) -> String {
    let name = &loser.name;
    match &loser.winner {
        Some(winner) => format!(
            "{winner} has the name {name}; to change that, give one of them another name in the plugin's manifest, deny the \
             other, or set names.conflict = \"namespace\""
        ),
        None => format!(
            "several tools claim the name {name} and names.conflict is \"reject\"; to change that, deny the others, or set \
             names.conflict = \"namespace\""
        ),
    }
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
