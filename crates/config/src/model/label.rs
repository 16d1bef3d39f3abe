//! What the configuration says of single tools.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RuleAction, clamp};
use crate::Diagnostic;

/// The highest priority, and how far below zero the lowest is.
pub(super) const MAX_PRIORITY: i32 = 1_000_000;

/// What is said of one tool. What is left out is as it is for the whole server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LabelConfig {
    /// Whether the tool is offered at all. Default true.
    pub enabled: Option<bool>,
    /// The set it belongs to, for `namespace:NAME` selectors.
    pub namespace: Option<String>,
    /// What it is for, for `category:NAME` selectors.
    pub category: Option<String>,
    /// Tags in place of the server's, for `tag:NAME` selectors.
    pub tags: Option<Vec<String>>,
    /// Higher comes first where not all tools can be shown; -1000000 to 1000000. Default 0.
    #[schemars(range(min = -1_000_000, max = 1_000_000))]
    pub priority: Option<i32>,
    /// Never defer it.
    pub always: Option<bool>,
    /// Show it only where an allow list or a grant names it.
    pub optional: Option<bool>,
    /// What happens to calls of it where no list and no rule says otherwise. `deny` also hides it.
    pub permission: Option<RuleAction>,
}

impl LabelConfig {
    pub(super) fn settle(&mut self, key: &str, findings: &mut Vec<Diagnostic>) {
        if let Some(priority) = &mut self.priority {
            clamp(priority, -MAX_PRIORITY, MAX_PRIORITY, &format!("{key}.priority"), findings);
        }
    }
}
