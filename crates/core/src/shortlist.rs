//! The shortlist: which of the tools that a scope may see are worth showing in a situation, for a task, within a budget.
//!
//! Selection ([`crate::select`]) decides what may be seen at all and is never widened here. A shortlist only narrows, and
//! says of every tool it leaves out why. One builder for all three ways: by situation (conditions, recent tools,
//! priority), by what a task is about (ranked by a search index), by tokens.
//!
//! **Order.** Tools marked [`Item::keep`] first, then by relevance where a task was given, then by priority (higher
//! first), then recently used ones where [`Recent::Prefer`] says so, then, within a budget, smaller ones, then by name. The
//! order does not depend on the order in which the items came.
//!
//! **Objective of a budget.** Of all sets of tools that fit, the one is kept that is best at the first place in the order
//! where two sets differ: the best tool is in if it fits at all, the next one if it fits beside it, and so on; a tool that
//! does not fit leaves its room to later, smaller ones. Among tools of equal rank this shows as many as possible. Tools
//! marked [`Item::keep`] stay even where they alone exceed the budget; [`Pick::over`] says by how much.

mod condition;

use std::{cmp::Reverse, collections::HashMap};

use serde::Serialize;

use crate::search::Hit;

pub use condition::{Condition, Situation, Test};

/// One tool that may be chosen.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// What [`Hit::index`] of the search calls it; usually its position in a tool set.
    pub position: usize,
    /// Its exposed name. Unique.
    pub name: &'a str,
    /// Tokens of its definition.
    pub tokens: usize,
    /// Higher comes first. Default 0 (oneringai §2.1; its case 7).
    pub priority: i32,
    /// All of these must hold for the tool to be shown.
    pub conditions: &'a [Condition],
    /// Never left out, whatever else says so.
    pub keep: bool,
}

/// What becomes of tools that were used lately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recent {
    /// Nothing.
    #[default]
    Ignore,
    /// They come before others of their priority.
    Prefer,
    /// They are left out: their definitions are in front of the model already.
    Exclude,
}

/// Why a tool was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Why {
    /// One of its conditions does not hold.
    Condition {
        /// The condition.
        condition: String,
    },
    /// One of its conditions could not be evaluated. The other tools are not touched.
    BrokenCondition {
        /// The condition.
        condition: String,
        /// What went wrong.
        problem: String,
    },
    /// It was used lately.
    Recent,
    /// It does not answer the task.
    NoMatch,
    /// Better ones used up the number of places.
    Rank {
        /// How many places there are.
        most: usize,
    },
    /// It does not fit beside the better ones.
    Budget {
        /// What it costs.
        tokens: usize,
        /// What was left when its turn came.
        left: usize,
    },
}

impl Why {
    /// The reason in words, to follow a tool's name and "is left out: ".
    pub fn sentence(&self) -> String {
        match self {
            Self::Condition { condition } => format!("its condition '{condition}' does not hold"),
            Self::BrokenCondition { condition, problem } => {
                format!("its condition '{condition}' cannot be evaluated: {problem}")
            }
            Self::Recent => "it was used lately".to_owned(),
            Self::NoMatch => "it does not answer the task".to_owned(),
            Self::Rank { most } => format!("{most} tools fit the task better"),
            Self::Budget { tokens, left } => format!("it takes {tokens} tokens and {left} are left"),
        }
    }
}

/// What a shortlist keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pick {
    /// Positions of the tools that stay, best first.
    pub kept: Vec<usize>,
    /// Positions of those that do not, in the order in which they were judged, each with the reason.
    pub left_out: Vec<(usize, Why)>,
    /// Tokens of what stays.
    pub tokens: usize,
    /// Tokens by which tools that must stay exceed the budget; 0 within it.
    pub over: usize,
}

/// Builds a shortlist. Every step narrows; steps that are not taken leave everything.
pub struct Shortlist<'a> {
    items: &'a [Item<'a>],
    situation: Option<&'a Situation>,
    recent: Recent,
    relevance: Option<HashMap<usize, usize>>,
    most: Option<usize>,
    budget: Option<usize>,
}

impl<'a> Shortlist<'a> {
    /// Begins with all of these.
    pub fn of(items: &'a [Item<'a>]) -> Self {
        Self { items, situation: None, recent: Recent::Ignore, relevance: None, most: None, budget: None }
    }

    /// Only tools whose conditions hold in this situation; `recent` says what becomes of those it calls recent.
    #[must_use]
    pub fn when(mut self, situation: &'a Situation, recent: Recent) -> Self {
        self.situation = Some(situation);
        self.recent = recent;
        self
    }

    /// Only tools that answer `text`, best first, by a search over the items' positions. A text without a usable word
    /// matches nothing (openclaw case 98), not everything.
    #[must_use]
    pub fn matching(mut self, text: &str, search: impl Fn(&str, usize) -> Vec<Hit>) -> Self {
        let hits = search(text, self.items.len());
        self.relevance = Some(hits.iter().enumerate().rev().map(|(rank, hit)| (hit.index, rank)).collect());
        self
    }

    /// At most so many tools beside those that must stay.
    #[must_use]
    pub fn most(mut self, most: usize) -> Self {
        self.most = Some(most);
        self
    }

    /// At most so many tokens.
    #[must_use]
    pub fn within(mut self, tokens: usize) -> Self {
        self.budget = Some(tokens);
        self
    }

    /// The result.
    pub fn pick(&self) -> Pick {
        let mut pick = Pick::default();
        let mut ranked = Vec::with_capacity(self.items.len());
        let mut sorted: Vec<&Item<'_>> = self.items.iter().collect();
        sorted.sort_unstable_by(|a, b| a.name.cmp(b.name).then(a.position.cmp(&b.position)));
        for item in sorted {
            match self.unfit(item).filter(|_| !item.keep) {
                Some(why) => pick.left_out.push((item.position, why)),
                None => ranked.push(item),
            }
        }
        // Stable, so names decide between equals. Each key is made once.
        ranked.sort_by_cached_key(|item| {
            (
                Reverse(item.keep),
                self.rank(item.position),
                Reverse(item.priority),
                Reverse(self.recent == Recent::Prefer && self.is_recent(item.name)),
                if self.budget.is_some() { item.tokens } else { 0 },
            )
        });
        let mut room = Room::new(self.budget);
        let mut places = self.most;
        for item in ranked {
            if item.keep {
                room.force(item.tokens);
                pick.kept.push(item.position);
            } else if let (Some(0), Some(most)) = (places, self.most) {
                pick.left_out.push((item.position, Why::Rank { most }));
            } else if let Err(why) = room.take(item.tokens) {
                pick.left_out.push((item.position, why));
            } else {
                places = places.map(|places| places - 1);
                pick.kept.push(item.position);
            }
        }
        pick.tokens = room.used;
        pick.over = room.over();
        pick
    }

    /// Why an item is out before ranks and tokens are looked at.
    fn unfit(&self, item: &Item<'_>) -> Option<Why> {
        if let Some(situation) = self.situation {
            for condition in item.conditions {
                match condition.holds(situation) {
                    Ok(true) => {}
                    Ok(false) => return Some(Why::Condition { condition: condition.to_string() }),
                    Err(problem) => return Some(Why::BrokenCondition { condition: condition.to_string(), problem }),
                }
            }
        }
        if self.recent == Recent::Exclude && self.is_recent(item.name) {
            return Some(Why::Recent);
        }
        let matches = self.relevance.as_ref().is_none_or(|ranks| ranks.contains_key(&item.position));
        (!matches).then_some(Why::NoMatch)
    }

    fn is_recent(&self, name: &str) -> bool {
        self.situation.is_some_and(|situation| situation.recent.iter().any(|recent| recent == name))
    }

    fn rank(&self, position: usize) -> usize {
        self.relevance.as_ref().and_then(|ranks| ranks.get(&position)).copied().unwrap_or(usize::MAX)
    }
}

/// What is left of a budget.
pub(crate) struct Room {
    budget: Option<usize>,
    pub(crate) used: usize,
}

impl Room {
    pub(crate) fn new(budget: Option<usize>) -> Self {
        Self { budget, used: 0 }
    }

    /// Takes tokens whether or not they are there.
    pub(crate) fn force(&mut self, tokens: usize) {
        self.used = self.used.saturating_add(tokens);
    }

    /// Takes tokens if they are there.
    pub(crate) fn take(&mut self, tokens: usize) -> Result<(), Why> {
        let left = self.budget.map_or(usize::MAX, |budget| budget.saturating_sub(self.used));
        if tokens > left {
            return Err(Why::Budget { tokens, left });
        }
        self.used = self.used.saturating_add(tokens);
        Ok(())
    }

    /// By how much the budget is exceeded.
    pub(crate) fn over(&self) -> usize {
        self.budget.map_or(0, |budget| self.used.saturating_sub(budget))
    }
}

#[cfg(test)]
mod tests;
