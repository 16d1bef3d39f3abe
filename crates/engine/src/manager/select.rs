//! Choosing tools for a situation, a task or a budget: [`toolcrib_core::shortlist`] over a view, as `assemble` does it.

use std::sync::Arc;

use toolcrib_core::{
    Scope, Tool,
    search::Ranker,
    shortlist::{Item, Pick, Recent, Shortlist, Situation, Why},
};

use super::{Manager, ManagerError};
use crate::view::View;

/// A choice to be made among the tools of a view. Every step narrows; steps that are not taken leave everything.
#[must_use]
pub struct Selecting {
    view: Arc<View>,
    situation: Option<(Situation, Recent)>,
    text: Option<String>,
    most: Option<usize>,
    tokens: Option<usize>,
}

/// One tool of a choice.
#[derive(Clone, Copy, Debug)]
pub struct Picked<'s> {
    /// Its exposed name.
    pub name: &'s str,
    /// The tool.
    pub tool: &'s Arc<Tool>,
    /// What its definition costs.
    pub tokens: usize,
}

/// What was chosen. Holds the view that it was chosen of, and copies nothing of it.
pub struct Selected {
    view: Arc<View>,
    pick: Pick,
}

impl Selected {
    /// The tools, best first.
    pub fn tools(&self) -> impl ExactSizeIterator<Item = Picked<'_>> {
        let set = &self.view.set;
        self.pick.kept.iter().map(|&position| Picked {
            name: set.name_map().name(position),
            tool: &set.tools()[position],
            tokens: set.tokens_of(position),
        })
    }

    /// Exposed names of the others, each with the reason.
    pub fn left_out(&self) -> impl ExactSizeIterator<Item = (&str, &Why)> {
        self.pick.left_out.iter().map(|(position, why)| (self.view.set.name_map().name(*position), why))
    }

    /// Tokens of what was chosen.
    pub fn tokens(&self) -> usize {
        self.pick.tokens
    }

    /// Tokens by which tools that must stay exceed the budget; 0 within it.
    pub fn over(&self) -> usize {
        self.pick.over
    }
}

impl Selecting {
    /// Among all tools of this view.
    pub fn of(view: Arc<View>) -> Self {
        Self { view, situation: None, text: None, most: None, tokens: None }
    }

    /// Only tools whose conditions hold now (case 8); `recent` says what becomes of those used lately, by their exposed
    /// names (case 10).
    pub fn when(mut self, situation: Situation, recent: Recent) -> Self {
        self.situation = Some((situation, recent));
        self
    }

    /// Only tools that answer this, best first (cases 12 and 13: a text without a word matches nothing).
    pub fn matching(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// At most so many.
    pub fn most(mut self, most: usize) -> Self {
        self.most = Some(most);
        self
    }

    /// At most so many tokens of definitions.
    pub fn within(mut self, tokens: usize) -> Self {
        self.tokens = Some(tokens);
        self
    }

    /// Chooses.
    pub fn pick(&self) -> Selected {
        let set = &self.view.set;
        let item = |(position, tool): (usize, &'_ Arc<Tool>)| -> Item<'_> {
            let labels = tool.labels();
            Item {
                position,
                name: set.name_map().name(position),
                tokens: set.tokens_of(position),
                priority: labels.priority,
                // Of what the set has; the tool in front of us is borrowed for the closure only.
                conditions: &set.tools()[position].labels().conditions,
                keep: labels.always,
            }
        };
        let items: Vec<Item<'_>> = set.tools().iter().enumerate().map(item).collect();
        let mut list = Shortlist::of(&items);
        if let Some((situation, recent)) = &self.situation {
            list = list.when(situation, *recent);
        }
        if let Some(text) = &self.text {
            list = list.matching(text, |text, most| self.view.index().search(text, most));
        }
        if let Some(most) = self.most {
            list = list.most(most);
        }
        if let Some(tokens) = self.tokens {
            list = list.within(tokens);
        }
        Selected { view: self.view.clone(), pick: list.pick() }
    }
}

impl Manager {
    /// A choice among all tools that are switched on. For a scope, go by its view: [`Selecting::of`].
    ///
    /// # Errors
    /// If the manager was shut down.
    pub fn select(&self) -> Result<Selecting, ManagerError> {
        let catalog = self.catalog()?;
        let view = self.inner.views.get(&Scope::default(), 0, &catalog, catalog.hash(), &self.inner.settings)?;
        Ok(Selecting::of(view))
    }
}
