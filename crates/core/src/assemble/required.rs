//! Sets that must not be handed to a run: a tool it needs is missing, or nothing is left of what it was allowed.

use std::collections::HashMap;

use serde::Serialize;

use super::AssembleSettings;
use crate::{
    Catalog, Scope, SourceState, Tool, ToolId,
    name::{Assignment, Merged, NameLoser, exposed_name},
    select::{Removal, Removals},
    selector::Selector,
};

/// Why a set must not be handed to a run. A run that goes on without its tools reports success and did nothing
/// (openclaw §4 number 1), so this is an error before the first request to a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "problem", rename_all = "snake_case")]
pub enum Incomplete {
    /// Tools are missing that cannot be done without.
    #[error("{}", all(.tools))]
    Missing {
        /// One entry for each.
        tools: Vec<Absence>,
    },
    /// There are allow lists that name something, and together they leave nothing (openclaw case 39).
    #[error("no tool is left: together these allow lists let nothing through: {}", .lists.join("; "))]
    NothingLeft {
        /// Where the lists were written.
        lists: Vec<String>,
    },
}

impl Incomplete {
    /// Whether nothing may be served until this changes. What a source that is still starting may yet bring is not missing
    /// so far; and where nothing is left there is nothing to hold back.
    pub fn withholds(&self) -> bool {
        matches!(self, Self::Missing { tools } if tools.iter().any(|absence| !absence.is_starting()))
    }

    /// For callers: what is missing and at which stage, without where the lists that say so are kept.
    pub fn told(&self) -> String {
        match self {
            Self::Missing { tools } => {
                let one = |absence: &Absence| format!("{} ({})", absence.tool, absence.stage);
                let tools: Vec<String> = tools.iter().map(one).collect();
                format!("required tools are missing, each with the stage that it went missing at: {}", tools.join(", "))
            }
            Self::NothingLeft { .. } => "the lists that apply leave no tool".to_owned(),
        }
    }
}

fn all(tools: &[Absence]) -> String {
    tools.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// A required tool that is not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("required tool '{tool}' ({required_by}) is missing: {cause}")]
pub struct Absence {
    /// As it was asked for.
    pub tool: String,
    /// Where it was asked for.
    pub required_by: String,
    /// The stage that removed it, or what else became of it: `quarantine`, `name`, `starting`, `source`, `unknown`.
    pub stage: String,
    /// What became of it and what would change that.
    pub cause: String,
}

impl Absence {
    /// Whether a source that is still starting may yet bring it.
    pub fn is_starting(&self) -> bool {
        self.stage == STARTING
    }
}

/// The stage of tools whose source is still starting.
const STARTING: &str = "starting";

pub(super) fn incomplete(
    catalog: &Catalog,
    scope: &Scope,
    settings: &AssembleSettings,
    removals: &Removals,
    assignment: &Assignment,
    losers: &[NameLoser],
    merged: &HashMap<ToolId, Merged>,
) -> Option<Incomplete> {
    let required = settings.policy.required(scope);
    let absent = |selector: &Selector, required_by: &str| {
        let groups = &settings.policy.groups;
        let mut served = assignment.map.iter().zip(&assignment.tools);
        let named = |tool: &Tool| selector.grants(tool, &exposed_name(tool.id(), &settings.names), groups);
        if served.any(|((name, _), tool)| selector.grants(tool, name, groups))
            || merged.values().any(|merged| merged.members.values().any(|tool| named(tool)))
        {
            return None;
        }
        let (stage, cause) = cause(catalog, settings, removals, losers, selector);
        Some(Absence { tool: selector.to_string(), required_by: required_by.to_owned(), stage, cause })
    };
    let tools: Vec<Absence> =
        required.into_iter().filter_map(|(selector, required_by)| absent(selector, required_by)).collect();
    if !tools.is_empty() {
        return Some(Incomplete::Missing { tools });
    }
    // A list that is empty means what it says; so does a catalog without tools.
    if assignment.tools.is_empty() && !catalog.is_empty() && !removals.allows_nothing() {
        let lists: Vec<String> = removals.allow_lists().into_iter().map(str::to_owned).collect();
        return (!lists.is_empty()).then_some(Incomplete::NothingLeft { lists });
    }
    None
}

fn cause(
    catalog: &Catalog,
    settings: &AssembleSettings,
    removals: &Removals,
    losers: &[NameLoser],
    selector: &Selector,
) -> (String, String) {
    let groups = &settings.policy.groups;
    let exposed = |id: &ToolId| exposed_name(id, &settings.names);
    if let Some(removed) = removals.iter().find(|one| selector.grants(&one.tool, &exposed(one.tool.id()), groups)) {
        let Removal { rule, origin, fix } = removals.removal(removed);
        let stage = removals.stage(removed).to_owned();
        let cause = format!("the {stage} stage removed it ({rule}, {origin}); to change that, {fix}");
        return (stage, cause);
    }
    let lost = losers
        .iter()
        .find(|loser| catalog.get(&loser.id).is_some_and(|tool| selector.grants(tool, &exposed(&loser.id), groups)));
    if let Some(loser) = lost {
        let who = loser.winner.as_ref().map_or("several tools claim".to_owned(), |winner| format!("{winner} has"));
        return ("name".to_owned(), format!("{who} the name {}; see names.conflict", loser.name));
    }
    let refused = catalog.quarantined().find(|refused| {
        let id = ToolId::new(refused.source.clone(), refused.name.clone());
        selector.identity().as_ref() == Some(&id) || selector.as_str() == exposed(&id)
    });
    if let Some(refused) = refused {
        return ("quarantine".to_owned(), format!("its definition is not usable: {}", refused.reason));
    }
    if let Some(source) = selector.source().filter(|source| source.group() != "*") {
        let cause = match catalog.sources().get(source).map(|entry| &entry.state) {
            None => format!("there is no source {source}; see `toolcrib doctor`"),
            Some(SourceState::Starting) => {
                return (STARTING.to_owned(), format!("{source} is still starting; wait for it"));
            }
            Some(SourceState::Down { reason }) => format!("{source} is down: {reason}"),
            Some(SourceState::Ready | SourceState::Disabled) => format!("{source} offers no such tool"),
        };
        return ("source".to_owned(), cause);
    }
    let waiting =
        catalog.sources().iter().filter(|(_, entry)| entry.state != SourceState::Ready && entry.tools.is_empty());
    let starting = waiting.clone().any(|(_, entry)| entry.state == SourceState::Starting);
    let waiting: Vec<String> = waiting.map(|(source, entry)| format!("{source} is {}", entry.state.word())).collect();
    let hint = if waiting.is_empty() { String::new() } else { format!(" ({})", waiting.join(", ")) };
    let stage = if starting { STARTING } else { "unknown" };
    (stage.to_owned(), format!("no source offers it{hint}; is the name right?"))
}
