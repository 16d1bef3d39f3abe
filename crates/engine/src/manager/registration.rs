//! A tool that the embedding program brings, and what happens when its place is taken.

use std::sync::Arc;

use serde_json::Value;
use toolcrib_core::{Labels, Source, Tool, permission::Action, shortlist::Condition};

use crate::backend::Backend;

/// A tool to be registered: its definition, what runs it, and what is said of it.
#[derive(Clone)]
pub struct Registration {
    /// Where it comes from. One manager owns a source whole: one that another publisher serves is refused.
    pub source: Source,
    /// The definition in MCP shape (`name`, `description`, `inputSchema`, …).
    pub definition: Value,
    /// What runs it.
    pub backend: Arc<dyn Backend>,
    /// What is said of it.
    pub labels: Labels,
    /// Whether its behaviour hints are believed. Default false.
    pub trust_hints: bool,
}

impl Registration {
    /// A tool of which nothing is said.
    pub fn new(source: Source, definition: Value, backend: Arc<dyn Backend>) -> Self {
        Self { source, definition, backend, labels: Labels::default(), trust_hints: false }
    }

    /// In this namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.labels.namespace = (namespace != toolcrib_core::labels::DEFAULT_NAMESPACE).then(|| namespace.into());
        self
    }

    /// For this.
    #[must_use]
    pub fn category(mut self, category: &str) -> Self {
        self.labels.category = Some(category.into());
        self
    }

    /// With these tags.
    #[must_use]
    pub fn tags<'a>(mut self, tags: impl IntoIterator<Item = &'a str>) -> Self {
        self.labels.tags = tags.into_iter().map(str::to_owned).collect();
        self
    }

    /// Higher comes first.
    #[must_use]
    pub fn priority(mut self, priority: i32) -> Self {
        self.labels.priority = priority;
        self
    }

    /// Worth showing only when this holds too.
    #[must_use]
    pub fn when(mut self, condition: Condition) -> Self {
        self.labels.conditions = self.labels.conditions.iter().cloned().chain([condition]).collect();
        self
    }

    /// Switched off at first.
    #[must_use]
    pub fn disabled(mut self) -> Self {
        self.labels.enabled = false;
        self
    }

    /// What happens to calls of it where no list and no rule says otherwise.
    #[must_use]
    pub fn permission(mut self, permission: Action) -> Self {
        self.labels.permission = Some(permission);
        self
    }

    /// With its behaviour hints believed.
    #[must_use]
    pub fn trusted(mut self) -> Self {
        self.trust_hints = true;
        self
    }
}

/// What becomes of a tool that is registered under the same identity already. Whichever it is, the stricter of the two
/// permissions stays, and what an operator said of the tool stays too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnConflict {
    /// It stays; the new one is refused.
    Error,
    /// The new one takes its place with its own labels.
    Replace,
    /// The new one takes its place; labels that it leaves at their defaults stay as they were (oneringai §2.1, cases 2
    /// and 19).
    Merge,
}

/// What was there before.
#[derive(Clone, Debug)]
pub struct Replaced {
    /// The tool as it was.
    pub tool: Arc<Tool>,
    /// Whether its definition differs from the new one's.
    pub changed: bool,
}

/// The labels of the new one in place of the old one's.
pub(super) fn succeed(old: &Labels, new: Labels, on: OnConflict) -> Labels {
    let permission = stricter(old.permission, new.permission);
    if on == OnConflict::Replace {
        return Labels { permission, ..new };
    }
    let default = Labels::default();
    Labels {
        enabled: old.enabled && new.enabled,
        namespace: new.namespace.or_else(|| old.namespace.clone()),
        category: new.category.or_else(|| old.category.clone()),
        tags: if new.tags.is_empty() { old.tags.clone() } else { new.tags },
        priority: if new.priority == default.priority { old.priority } else { new.priority },
        conditions: if new.conditions.is_empty() { old.conditions.clone() } else { new.conditions },
        always: old.always || new.always,
        optional: old.optional || new.optional,
        permission,
        capabilities: if new.capabilities.is_empty() { old.capabilities.clone() } else { new.capabilities },
        unavailable: new.unavailable,
        origin: if new.origin.is_empty() { old.origin.clone() } else { new.origin },
    }
}

/// The stricter of two; nothing said is between allowed and asked.
fn stricter(a: Option<Action>, b: Option<Action>) -> Option<Action> {
    let rank = |action: Option<Action>| match action {
        Some(Action::Allow) => 0,
        None => 1,
        Some(Action::Ask) => 2,
        Some(Action::Deny) => 3,
    };
    if rank(b) > rank(a) { b } else { a }
}
