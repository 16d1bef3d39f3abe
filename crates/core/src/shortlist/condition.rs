//! When a tool is of use, in terms of the situation that the caller describes.

use std::{
    collections::BTreeMap,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use serde_json::Value;

/// What the caller knows of the moment. All of it is the caller's word and none of it loosens a policy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Situation {
    /// What the agent is doing: planning, coding, …
    pub mode: Option<String>,
    /// What the user wrote last.
    pub input: Option<String>,
    /// What the agent is at.
    pub task: Option<String>,
    /// Exposed names of tools that were used lately.
    pub recent: Vec<String>,
    /// Anything else, by name.
    pub facts: BTreeMap<String, Value>,
}

/// A test of the embedding program: whether it holds, or why it cannot be told.
pub type Test = Arc<dyn Fn(&Situation) -> Result<bool, String> + Send + Sync>;

/// Something that must hold for a tool to be shown.
#[derive(Clone)]
pub enum Condition {
    /// The mode is one of these.
    Mode(Vec<String>),
    /// The fact has this value.
    Fact {
        /// Its name.
        name: String,
        /// What it must be.
        value: Value,
    },
    /// The input or the task holds one of these words, in any case.
    Mentions(Vec<String>),
    /// What the embedding program says.
    Test {
        /// What to call it in reasons.
        name: String,
        /// The test. One that panics counts as one that cannot be evaluated.
        test: Test,
    },
}

impl Condition {
    /// Whether it holds. The error says why that cannot be told.
    pub fn holds(&self, situation: &Situation) -> Result<bool, String> {
        match self {
            Self::Mode(modes) => Ok(situation.mode.as_ref().is_some_and(|mode| modes.contains(mode))),
            Self::Fact { name, value } => Ok(situation.facts.get(name) == Some(value)),
            Self::Mentions(words) => {
                let texts = [&situation.input, &situation.task];
                Ok(texts.into_iter().flatten().any(|text| mentions(text, words)))
            }
            Self::Test { test, .. } => {
                catch_unwind(AssertUnwindSafe(|| test(situation))).unwrap_or_else(|_| Err("it panicked".to_owned()))
            }
        }
    }
}

fn mentions(text: &str, words: &[String]) -> bool {
    let text = text.to_lowercase();
    let mut tokens = text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-');
    tokens.any(|token| words.iter().any(|word| !word.is_empty() && word.to_lowercase() == token))
}

/// Tests of the embedding program are the same if they are the same object under the same name.
impl PartialEq for Condition {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Mode(a), Self::Mode(b)) | (Self::Mentions(a), Self::Mentions(b)) => a == b,
            (Self::Fact { name, value }, Self::Fact { name: n, value: v }) => name == n && value == v,
            (Self::Test { name, test }, Self::Test { name: n, test: t }) => name == n && Arc::ptr_eq(test, t),
            _ => false,
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mode(modes) => write!(f, "mode is {}", modes.join(" or ")),
            Self::Fact { name, value } => write!(f, "{name} is {value}"),
            Self::Mentions(words) => write!(f, "mentions {}", words.join(" or ")),
            Self::Test { name, .. } => f.write_str(name),
        }
    }
}

impl fmt::Debug for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Condition({self})")
    }
}
