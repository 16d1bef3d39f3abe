//! Explaining: what became of a tool, in one sentence that names the cause and what would change it.

use serde::Serialize;

use crate::{
    Catalog, SourceState, ToolId,
    assemble::{AssembleSettings, Standing, ToolSet},
    name::{Called, exposed_name},
    select::Removal,
};

/// What became of one tool.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "fate", rename_all = "snake_case")]
pub enum Fate {
    /// Shown with its definition.
    Direct,
    /// Reachable through the bridge.
    Deferred,
    /// Removed by a stage of the selection.
    Hidden {
        /// The stage.
        stage: String,
        /// The rule.
        rule: String,
        /// Where the rule was written.
        origin: String,
        /// What would bring it back.
        fix: String,
    },
    /// Another tool stands for it.
    Merged {
        /// The exposed name of that one.
        into: String,
        /// The argument that says which is meant.
        argument: String,
        /// The value that means this one.
        value: String,
    },
    /// Its name belongs to another tool.
    Blocked {
        /// The tool that has the name, if any has.
        winner: Option<ToolId>,
    },
    /// Its definition was refused.
    Quarantined {
        /// Why, and what would help.
        reason: String,
    },
}

impl Fate {
    /// Whether calls can reach the tool.
    pub fn is_reachable(&self) -> bool {
        matches!(self, Self::Direct | Self::Deferred | Self::Merged { .. })
    }
}

/// The fate of one tool, with the state of its source.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// The tool.
    pub id: ToolId,
    /// The name it has or would have.
    pub name: String,
    /// What became of it.
    #[serde(flatten)]
    pub fate: Fate,
    /// Whether its source can run it at the moment, and if not, why.
    pub source: SourceState,
    /// Whether its definition is the last known one rather than what the source says now.
    pub stale: bool,
}

impl Explanation {
    /// The fate in one sentence.
    pub fn sentence(&self) -> String {
        let Self { id, name, .. } = self;
        let mut text = match &self.fate {
            Fate::Direct => format!("{id} is shown directly as {name}"),
            Fate::Deferred => format!("{id} is reachable as {name} through tool_search and tool_call"),
            Fate::Merged { into, argument, value } => {
                format!("{id} is reachable as {into} with {argument} = \"{value}\"")
            }
            Fate::Hidden { stage, rule, origin, fix } => {
                format!("{id} is hidden by the {stage} stage ({rule}, {origin}); to change that, {fix}")
            }
            Fate::Blocked { winner: Some(winner) } => format!(
                "{id} is not served because {winner} has the name {name}; rename one of them, exclude one, or set names.conflict = \"namespace\""
            ),
            Fate::Blocked { winner: None } => format!(
                "{id} is not served because several tools claim the name {name} and names.conflict is \"reject\"; exclude the others, or set names.conflict = \"namespace\""
            ),
            Fate::Quarantined { reason } => format!("{id} is quarantined: {reason}"),
        };
        match &self.source {
            SourceState::Ready => {}
            SourceState::Starting => text.push_str("; its server is still starting"),
            SourceState::Down { reason } => text.push_str(&format!("; its server is down ({reason})")),
            // What is not shown cannot be looked at either.
            SourceState::Disabled if !self.fate.is_reachable() => {}
            SourceState::Disabled => text.push_str("; it can be looked at but not called"),
        }
        if self.stale {
            text.push_str("; this is its last known definition");
        }
        text.push('.');
        text
    }
}

/// What became of every tool that `name` may mean ([`Called`]). `*` means every tool. In catalog order; empty if the name means nothing.
pub fn explain(catalog: &Catalog, set: &ToolSet, settings: &AssembleSettings, name: &str) -> Vec<Explanation> {
    let mut found: Vec<Explanation> = Vec::new();
    let called = Called::new(name, &settings.policy.groups);
    let means = |id: &ToolId, exposed: &str| name == "*" || called.means(id, exposed);
    let state = |id: &ToolId| {
        let entry = catalog.sources().get(&id.source);
        (entry.map_or(SourceState::Disabled, |entry| entry.state.clone()), entry.is_some_and(|entry| entry.stale))
    };
    let mut push = |id: &ToolId, exposed: String, fate: Fate, (source, stale): (SourceState, bool)| {
        found.push(Explanation { id: id.clone(), name: exposed, fate, source, stale });
    };
    for (position, (exposed, id)) in set.name_map().iter().enumerate() {
        if means(id, exposed) {
            let fate = match set.standing(position) {
                Standing::Direct => Fate::Direct,
                Standing::Deferred => Fate::Deferred,
            };
            push(id, exposed.to_owned(), fate, set.state(position, catalog));
        }
        let Some(merged) = set.merged(exposed) else { continue };
        for (value, member) in &merged.members {
            if means(member.id(), &exposed_name(member.id(), &settings.names)) {
                let (argument, value) = (merged.argument.clone(), value.clone());
                let fate = Fate::Merged { into: exposed.to_owned(), argument, value };
                push(member.id(), exposed.to_owned(), fate, state(member.id()));
            }
        }
    }
    for removed in set.removals.iter() {
        let exposed = exposed_name(removed.tool.id(), &settings.names);
        if means(removed.tool.id(), &exposed) {
            let Removal { rule, origin, fix } = set.removals.removal(removed);
            let stage = set.removals.stage(removed).to_owned();
            push(removed.tool.id(), exposed, Fate::Hidden { stage, rule, origin, fix }, state(removed.tool.id()));
        }
    }
    for loser in &set.losers {
        if means(&loser.id, &loser.name) {
            push(&loser.id, loser.name.clone(), Fate::Blocked { winner: loser.winner.clone() }, state(&loser.id));
        }
    }
    for refused in catalog.quarantined() {
        let id = ToolId::new(refused.source.clone(), refused.name.clone());
        let exposed = exposed_name(&id, &settings.names);
        if means(&id, &exposed) {
            push(&id, exposed, Fate::Quarantined { reason: refused.reason.to_string() }, state(&id));
        }
    }
    found.sort_by(|a, b| a.id.cmp(&b.id));
    found
}
