//! The rule language of permissions and its arithmetic: how risky a tool is, which calls a rule means, and which of
//! several rules counts.
//!
//! Everything here is pure and fails towards caution: a rule that lets through applies only where it certainly does, a
//! rule that takes away or asks applies wherever it may. What cannot be told apart (a shell variable as a program, a
//! path without a known folder) is [`Match::Uncertain`] and ends in a question, never in silence. Symbolic links, host
//! look-ups, stored grants and asking people are the engine's.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

pub mod command;
pub mod condition;
pub mod host;
pub mod path;
pub mod pattern;
pub mod risk;
pub mod rule;
mod walk;
mod wildcard;

pub use command::{CommandRule, NAMES as COMMAND_ARGUMENTS, Parsed, SimpleCommand, commands_of};
pub use condition::{Condition, ConditionError, Operator};
pub use host::{HostRule, HostRuleError, UrlArguments, collect_urls};
pub use path::{PathArguments, Place, RealPaths, collect_paths, is_within, normalise};
pub use pattern::{PatternError, ToolPattern};
pub(crate) use risk::is_builtin;
pub use risk::{Assessment, Effect, Risk, RiskRule, classify, dangerous};
pub use rule::{Bearing, Rule, RuleMatch, RuleSet, Subject};

/// What a rule does with the calls it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// The call may run.
    Allow,
    /// Somebody has to be asked.
    Ask,
    /// The call is refused.
    Deny,
}

impl Action {
    /// The word used in configuration and reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// A word that is none of those a permission setting takes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{word}' is no {what}; use one of {known}")]
pub struct WordError {
    /// The word, shortened.
    word: String,
    /// What was expected.
    what: &'static str,
    /// The words there are.
    known: &'static str,
}

impl WordError {
    fn new(word: &str, what: &'static str, known: &'static str) -> Self {
        Self { word: word.chars().take(100).collect(), what, known }
    }
}

impl FromStr for Action {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "allow" => Ok(Self::Allow),
            "ask" => Ok(Self::Ask),
            "deny" => Ok(Self::Deny),
            _ => Err(WordError::new(text, "action", "allow, ask, deny")),
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Whether something is what a rule means. Ordered so that the larger one is the surer hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Match {
    /// It is not.
    No,
    /// It cannot be told: counts for rules that deny or ask (and makes them ask), never for rules that allow.
    Uncertain,
    /// It is.
    Yes,
}

impl Match {
    /// [`Match::Yes`] or [`Match::No`].
    pub fn from_bool(hit: bool) -> Self {
        if hit { Self::Yes } else { Self::No }
    }
}

/// Which way a rule errs where the two could differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The rule lets through: only what it certainly means counts.
    Grant,
    /// The rule takes away or asks: everything it may mean counts.
    Restrict,
}

#[cfg(test)]
mod fixture;
