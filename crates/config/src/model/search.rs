//! How searches learn.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::clamp;
use crate::Diagnostic;

/// Learning from use: tools that were called upon a search's words come earlier when such words are searched for again.
/// Local, by tenant, and never more than another order of what the caller sees anyway. `toolcrib learned` shows and
/// forgets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SearchConfig {
    /// Whether searches learn from the calls that follow them. Keeps words of queries in the store.
    pub learn: bool,
    /// Days after which half of what was learnt is forgotten, 1 to 3650.
    #[schemars(range(min = 1, max = 3_650))]
    pub learn_half_life_days: u64,
}

impl Default for SearchConfig {
    fn default() -> Self {
        Self { learn: false, learn_half_life_days: 30 }
    }
}

impl SearchConfig {
    pub(crate) fn settle(&mut self, findings: &mut Vec<Diagnostic>) {
        clamp(&mut self.learn_half_life_days, 1, 3_650, "search.learn_half_life_days", findings);
    }
}
