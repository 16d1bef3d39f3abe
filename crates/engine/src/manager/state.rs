//! What can be saved of a manager and put in force again: labels, not tools.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toolcrib_core::{Labels, ToolId};

use super::{
    Adjustment, Manager, ManagerError, When,
    event::namespace_of,
    switch::{Undecided, still},
};

/// The version of states that are written.
pub const STATE_VERSION: u32 = 1;

/// The state of a manager. Of tools registered here everything that can be written down (a program's own conditions
/// cannot); of others what was said by hand.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// The version it was written by; 0 where none is given, which reads as the first.
    pub version: u32,
    /// By identity.
    pub tools: BTreeMap<ToolId, Adjustment>,
}

/// What came of applying a state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Tools that changed.
    pub applied: Vec<ToolId>,
    /// How many were so already.
    pub unchanged: usize,
    /// Tools that are not there now (case 16). What the state says of them is kept for when they come.
    pub unknown: Vec<ToolId>,
    /// What could not be taken over, each with the reason.
    pub refused: Vec<(ToolId, String)>,
}

impl Manager {
    /// What can be saved (case 15).
    ///
    /// # Errors
    /// If the manager was shut down.
    pub fn state(&self) -> Result<State, ManagerError> {
        let mut said = self.inner.hub.adjustments();
        let table = self.open()?;
        let registered = table.iter().map(|registered| {
            let (id, labels) = (registered.tool.id(), registered.tool.labels());
            let written = match said.remove(id) {
                None => written(labels),
                Some(said) => Adjustment { by: said.by.clone(), at_ms: said.at_ms, ..written(&said.over(labels)) },
            };
            (id.clone(), written)
        });
        // They come in the order of identities: a map made of all of them at once costs a third of one that grows.
        let mut tools: Vec<(ToolId, Adjustment)> = registered.collect();
        drop(table);
        tools.extend(said);
        Ok(State { version: STATE_VERSION, tools: tools.into_iter().collect() })
    }

    /// Puts a saved state in force: what it says of a tool counts, of what it does not say everything stays (cases 15 to
    /// 17). Tools that are not in it are not touched.
    ///
    /// # Errors
    /// If a later version wrote it, or more tools would be adjusted than can be. Nothing was changed then.
    pub fn apply(&self, state: &State) -> Result<Report, ManagerError> {
        if state.version > STATE_VERSION {
            return Err(ManagerError::NewerState(state.version, STATE_VERSION));
        }
        let mut report = Report::default();
        let mut known = Vec::with_capacity(state.tools.len());
        for (id, said) in &state.tools {
            if let Err(problem) = said.check() {
                report.refused.push((id.clone(), problem.to_string()));
                continue;
            }
            let base = self.base(id);
            if base.is_none() {
                report.unknown.push(id.clone());
            }
            known.push((id, base, said));
        }
        let table = self.open()?;
        let all = known.len();
        let changes = known.into_iter().map(|(id, base, said)| {
            let base = base.and_then(|base| still(&table, id, base));
            let mut wanted = self.said(id);
            wanted.take(said);
            (wanted.by, wanted.at_ms) = (said.by.clone(), said.at_ms);
            Undecided { id: id.clone(), base, wanted }
        });
        let changes: Vec<Undecided> = changes.collect();
        report.applied = self.settle(changes)?;
        drop(table);
        report.unchanged = all - report.applied.len();
        Ok(report)
    }
}

/// Labels as they are written down. What is said of every tool is always there, the rest where there is something (case
/// 18).
fn written(labels: &Labels) -> Adjustment {
    let some = |list: Vec<When>| (!list.is_empty()).then_some(list);
    Adjustment {
        enabled: Some(labels.enabled),
        namespace: Some(namespace_of(labels).as_ref().to_owned()),
        category: labels.category.as_deref().map(str::to_owned),
        tags: (!labels.tags.is_empty()).then(|| labels.tags.to_vec()),
        priority: Some(labels.priority),
        // Half of them would let a tool through that a program's own test keeps back.
        conditions: labels.conditions.iter().map(When::of).collect::<Option<_>>().and_then(some),
        permission: labels.permission,
        by: None,
        at_ms: 0,
    }
}
