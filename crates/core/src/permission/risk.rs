//! How much could go wrong when a tool runs, judged locally.

use serde::{Deserialize, Serialize};

/// How much could go wrong (oneringai §2.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// Nothing worth a question.
    #[default]
    Low,
    /// Something changes, in a place meant for it.
    Medium,
    /// Something may be lost, or leave the machine.
    High,
    /// Never without a person.
    Critical,
}

/// What a call does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It only looks.
    ReadOnly,
    /// It may change something.
    Mutating,
    /// It may destroy something.
    Destructive,
}

/// Risk and effect of a tool, with the reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assessment {
    /// How much could go wrong.
    pub risk: Risk,
    /// What it does.
    pub effect: Effect,
    /// Why, one phrase each.
    pub reasons: Vec<String>,
}
