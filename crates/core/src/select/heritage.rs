//! What a parent can hand on.

use std::collections::HashMap;

use super::{Removal, Removals};
use crate::name::{Claim, NameLoser};

/// What became of each tool of the catalog in a parent's scope.
pub(crate) struct Heritage {
    removals: Removals,
    // By position in the catalog.
    has: Vec<bool>,
    removed: HashMap<usize, usize>,
    lost: HashMap<usize, NameLoser>,
}

impl Heritage {
    /// From what a parent's selection kept and removed, and the tools among the kept that lost their name to another one, by position.
    pub(crate) fn new(kept: &[Claim], removals: Removals, lost: HashMap<usize, NameLoser>, tools: usize) -> Self {
        let mut has = vec![false; tools];
        for claim in kept {
            has[claim.position] = !lost.contains_key(&claim.position);
        }
        let removed = removals.iter().enumerate().map(|(index, removed)| (removed.position, index)).collect();
        Self { removals, has, removed, lost }
    }

    pub(crate) fn has(&self, position: usize) -> bool {
        self.has.get(position).copied().unwrap_or(false)
    }

    pub(crate) fn removal(&self, position: usize) -> Option<Removal> {
        if let Some(loser) = self.lost.get(&position) {
            let who = loser.winner.as_ref().map_or("several tools".to_owned(), ToString::to_string);
            return Some(Removal {
                rule: format!("its parent has {who} under the name {}", loser.name),
                origin: "names.conflict".to_owned(),
                fix: "rename one of them, or set names.conflict = \"namespace\"".to_owned(),
            });
        }
        let removed = self.removals.iter().nth(*self.removed.get(&position)?)?;
        let Removal { rule, origin, fix } = self.removals.removal(removed);
        let stage = self.removals.stage(removed);
        Some(Removal { rule: format!("its parent does not have it: {stage} stage, {rule}"), origin, fix })
    }
}
