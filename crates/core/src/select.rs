//! Selection: the stages that decide which tools a scope may see. Each stage only removes; every removal is recorded
//! with the rule and the origin that caused it and with what would bring the tool back.

mod gate;
mod heritage;
mod lint;
mod lists;
mod policy;
mod profiles;
mod reach;
mod scope;
mod stage;
mod told;

use std::{collections::HashMap, sync::Arc};

use self::{
    gate::{Entered, Gate, Kind, Why},
    heritage::Heritage,
};
use crate::{
    Catalog, Tool,
    name::{Claim, NameSettings, assign, exposed_name},
    selector::{GroupError, matcher::Subject},
};

pub use lint::{FindingKind, Level, Mention, Mentioned, PolicyFinding, lint, lint_mentions};
pub use lists::{Allow, Layer, Lists, ModelRule, Named, Origins, SubAgents};
pub use policy::{Policy, STAGES};
pub use reach::may_reach;
pub use scope::{Cap, MAX_DEPTH, Model, Role, Scope, Sender, sender_key};
pub use stage::{Candidate, DeniedTools, ListStage, Removal, ServerFilter, Stage};
pub use told::Told;

/// A scope that cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    /// The scope, or a rule that applies to it, names a profile that is not configured.
    #[error("no profile is called '{name}'; configured: {}", known_list(.known))]
    UnknownProfile {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// The scope names an agent that is not configured, and others are.
    #[error("no agent is called '{name}'; configured: {}; an entry agents.\"*\" would stand for all others", known_list(.known))]
    UnknownAgent {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// A rule names a group that cannot be used.
    #[error("{stage} names '{selector}'{}: {problem}", place(.origin))]
    Group {
        /// The stage the rule is in.
        stage: String,
        /// The selector.
        selector: String,
        /// Where the rule was written; may be empty.
        origin: String,
        /// What is wrong.
        problem: GroupError,
    },
    /// Agents started by agents, too many of them.
    #[error("the scope has {depth} agents above it; at most {MAX_DEPTH} are taken")]
    TooDeep {
        /// How many.
        depth: usize,
    },
    /// More lists for one run than anybody needs.
    #[error("the run brings {count} pairs of lists; at most 32 are taken")]
    TooManyCaps {
        /// How many.
        count: usize,
    },
}

fn known_list(known: &[String]) -> String {
    if known.is_empty() { "none".to_owned() } else { known.join(", ") }
}

/// Where something was written, in brackets; nothing where it was not.
pub(crate) fn place(origin: &str) -> String {
    if origin.is_empty() || origin == "default" { String::new() } else { format!(" ({origin})") }
}

/// A tool that a stage removed. [`Removals::removal`] says why.
#[derive(Clone, Debug)]
pub struct Removed {
    /// The tool.
    pub tool: Arc<Tool>,
    /// Its position in the catalog.
    pub(crate) position: usize,
    gate: usize,
    why: Why,
}

/// What the stages left.
pub struct Selection {
    /// The tools that stay, in catalog order, each with the name it has a claim to.
    pub kept: Vec<Claim>,
    /// The tools that do not.
    pub removals: Removals,
}

/// Tools that did not stay, each with the first stage that removed it.
pub struct Removals {
    list: Vec<Removed>,
    gates: Vec<Gate>,
}

impl Removals {
    /// The tools, in catalog order.
    pub fn iter(&self) -> impl Iterator<Item = &Removed> {
        self.list.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether every tool stayed.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The stage that removed one of these.
    pub fn stage(&self, removed: &Removed) -> &str {
        &self.gates[removed.gate].stage
    }

    /// Why one of these was removed.
    pub fn removal(&self, removed: &Removed) -> Removal {
        self.gates[removed.gate].removal(&removed.tool, removed.position, &removed.why)
    }

    pub(crate) fn stage_at(&self, gate: usize) -> &str {
        &self.gates[gate].stage
    }

    /// The lists that apply, each with its place among the stages.
    pub(crate) fn gates_with_lists(&self) -> impl Iterator<Item = (usize, &Lists)> {
        self.gates.iter().enumerate().filter_map(|(index, gate)| match &gate.kind {
            Kind::Lists(ready) => Some((index, &ready.lists)),
            _ => None,
        })
    }

    /// Where the allow lists that apply and name something were written.
    pub(crate) fn allow_lists(&self) -> Vec<&str> {
        let lists = self.lists().filter(|lists| matches!(lists.allow, Allow::Only(_)));
        lists.map(|lists| &*lists.origins.allow).collect()
    }

    /// Whether a list that applies says that nothing may pass.
    pub(crate) fn allows_nothing(&self) -> bool {
        self.lists().any(|lists| lists.allow == Allow::None)
    }

    fn lists(&self) -> impl Iterator<Item = &Lists> {
        self.gates_with_lists().map(|(_, lists)| lists)
    }
}

/// Runs every tool of the catalog through the stages. This is the one selection function: lists, search, describe and
/// call all go by its result (invariant 1).
pub fn select(
    catalog: &Catalog,
    policy: &Policy,
    names: &NameSettings,
    scope: &Scope,
) -> Result<Selection, SelectError> {
    policy.check(scope)?;
    run(catalog, policy, names, scope, false)
}

fn run(
    catalog: &Catalog,
    policy: &Policy,
    names: &NameSettings,
    scope: &Scope,
    hands_on: bool,
) -> Result<Selection, SelectError> {
    let mut gates = policy.gates(catalog, scope, hands_on)?;
    if let Some(parent) = &scope.parent {
        // A child has at most what its parent could hand on, names that the parent's own conflicts decided included. A
        // coordinator's limits are its own: its workers have what they are allowed (openclaw §2.1).
        let above = run(catalog, policy, names, parent, true)?;
        let losers = assign(&above.kept, names).losers;
        let lost: HashMap<usize, _> = losers.into_iter().map(|loser| (loser.position, loser)).collect();
        let heritage = Heritage::new(&above.kept, above.removals, lost, catalog.len());
        let at = gates.iter().position(|gate| gate.stage == "sub-agent");
        let at = at.unwrap_or_else(|| gates.iter().position(after_sub_agent).unwrap_or(gates.len()));
        gates.insert(at, Gate { stage: "sub-agent".into(), kind: Kind::Parent(Box::new(heritage)) });
    }
    let mut kept = Vec::with_capacity(catalog.len());
    let mut removed = Vec::new();
    let mut position = 0;
    for (source, entry) in catalog.sources() {
        let entered: Vec<(usize, Entered<'_>)> =
            gates.iter().map(|gate| gate.enter(source)).enumerate().filter(|(_, gate)| !gate.is_open()).collect();
        for tool in entry.tools.iter() {
            let name = exposed_name(tool.id(), names);
            let found = {
                let subject = Subject::new(tool, &name);
                entered.iter().find_map(|(gate, entered)| {
                    entered.judge(&subject, position, &policy.groups, scope).map(|why| (*gate, why))
                })
            };
            match found {
                None => kept.push(Claim { name, tool: tool.clone(), position }),
                Some((gate, why)) => removed.push(Removed { tool: tool.clone(), position, gate, why }),
            }
            position += 1;
        }
    }
    Ok(Selection { kept, removals: Removals { list: removed, gates } })
}

fn after_sub_agent(gate: &Gate) -> bool {
    let rank = |stage: &str| STAGES.iter().position(|known| *known == stage).unwrap_or(STAGES.len());
    rank(&gate.stage) > rank("sub-agent")
}

#[cfg(test)]
mod tests;
