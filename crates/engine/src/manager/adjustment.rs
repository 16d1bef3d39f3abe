//! What an operator says of one tool while everything runs, laid over what its source or the program that registered it
//! says. Kept by identity, so it outlives re-publication, re-registration and restarts.

use std::sync::Arc;

use jiff::{Timestamp, tz::TimeZone};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_core::{
    Labels,
    labels::{DEFAULT_NAMESPACE, word},
    permission::Action,
    shortlist::Condition,
};

pub use toolcrib_core::labels::word::MAX_WORD;

/// Most tags of one tool.
pub const MAX_TAGS: usize = 32;
/// Most conditions of one tool.
pub const MAX_CONDITIONS: usize = 16;

/// Changes to the labels of one tool. What is `None` stays as its source says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Adjustment {
    /// Whether it is offered at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// The set it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// What it is for; an empty text takes the category away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// Its tags, all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// Higher comes first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// What must hold for it to be worth showing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<When>>,
    /// What happens to calls of it where no list and no rule says otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission: Option<Action>,
    /// Who said so last: `terminal`, `http:KEY`, `the program`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When, milliseconds since the Unix epoch; 0 = not known.
    #[serde(skip_serializing_if = "is_zero")]
    pub at_ms: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A condition that can be written down. A program's own tests cannot; they belong to its registration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// The mode is one of these.
    Mode(Vec<String>),
    /// The fact has this value.
    Fact {
        /// Its name.
        name: String,
        /// What it must be.
        value: Value,
    },
    /// The user's words or the task hold one of these words.
    Mentions(Vec<String>),
}

impl From<&When> for Condition {
    fn from(when: &When) -> Self {
        match when {
            When::Mode(modes) => Self::Mode(modes.clone()),
            When::Fact { name, value } => Self::Fact { name: name.clone(), value: value.clone() },
            When::Mentions(words) => Self::Mentions(words.clone()),
        }
    }
}

impl When {
    /// The same of a condition; `None` of a program's own test.
    pub fn of(condition: &Condition) -> Option<Self> {
        match condition {
            Condition::Mode(modes) => Some(Self::Mode(modes.clone())),
            Condition::Fact { name, value } => Some(Self::Fact { name: name.clone(), value: value.clone() }),
            Condition::Mentions(words) => Some(Self::Mentions(words.clone())),
            Condition::Test { .. } => None,
        }
    }
}

/// A label that cannot be kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {what} '{text}' cannot be used: {problem}")]
pub struct BadLabel {
    what: &'static str,
    text: String,
    problem: String,
}

impl Adjustment {
    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        let Self { enabled, namespace, category, tags, priority, conditions, permission, by: _, at_ms: _ } = self;
        enabled.is_none()
            && namespace.is_none()
            && category.is_none()
            && tags.is_none()
            && priority.is_none()
            && conditions.is_none()
            && permission.is_none()
    }

    /// Whether both say the same, whoever said it and when.
    pub fn says_as(&self, other: &Self) -> bool {
        let bare = |adjustment: &Self| Self { by: None, at_ms: 0, ..adjustment.clone() };
        bare(self) == bare(other)
    }

    /// Takes over what `later` says.
    pub fn take(&mut self, later: &Self) {
        fn over<T: Clone>(mine: &mut Option<T>, later: Option<&T>) {
            if let Some(later) = later {
                *mine = Some(later.clone());
            }
        }
        over(&mut self.enabled, later.enabled.as_ref());
        over(&mut self.namespace, later.namespace.as_ref());
        over(&mut self.category, later.category.as_ref());
        over(&mut self.tags, later.tags.as_ref());
        over(&mut self.priority, later.priority.as_ref());
        over(&mut self.conditions, later.conditions.as_ref());
        over(&mut self.permission, later.permission.as_ref());
    }

    /// The same signed.
    #[must_use]
    pub fn signed(self, by: &str, at_ms: u64) -> Self {
        Self { by: Some(by.to_owned()), at_ms, ..self }
    }

    /// Words are short, visible and not many: they go into listings and selectors.
    ///
    /// # Errors
    /// The first one that is not.
    pub fn check(&self) -> Result<(), BadLabel> {
        let bad = |what, text: &str, problem: String| BadLabel { what, text: word::shown(text), problem };
        let word = |what, text: &str| word::check(text).map_err(|problem| bad(what, text, problem.to_string()));
        self.namespace.as_deref().map_or(Ok(()), |text| word("namespace", text))?;
        // Empty takes it away.
        self.category.as_deref().filter(|text| !text.is_empty()).map_or(Ok(()), |text| word("category", text))?;
        for tag in self.tags.iter().flatten() {
            word("tag", tag)?;
        }
        let many = |what, has: usize, most: usize| {
            if has > most { Err(bad(what, &has.to_string(), format!("at most {most} are taken"))) } else { Ok(()) }
        };
        many("number of tags", self.tags.as_ref().map_or(0, Vec::len), MAX_TAGS)?;
        many("number of conditions", self.conditions.as_ref().map_or(0, Vec::len), MAX_CONDITIONS)
    }

    /// The labels that result.
    pub fn over(&self, base: &Arc<Labels>) -> Arc<Labels> {
        if self.is_empty() {
            return base.clone();
        }
        let mut labels = Labels::clone(base);
        if let Some(enabled) = self.enabled {
            labels.enabled = enabled;
        }
        if let Some(namespace) = &self.namespace {
            labels.namespace = (namespace != DEFAULT_NAMESPACE).then(|| namespace.as_str().into());
        }
        if let Some(category) = &self.category {
            labels.category = (!category.is_empty()).then(|| category.as_str().into());
        }
        if let Some(tags) = &self.tags {
            labels.tags = tags.as_slice().into();
        }
        labels.priority = self.priority.unwrap_or(labels.priority);
        if let Some(conditions) = &self.conditions {
            labels.conditions = conditions.iter().map(Condition::from).collect();
        }
        labels.permission = self.permission.or(labels.permission);
        // Who hid it is who is told; the rest is nobody's fault.
        if self.enabled == Some(false) || self.permission == Some(Action::Deny) {
            labels.origin = self.author().into();
        }
        if labels == **base { base.clone() } else { Arc::new(labels) }
    }

    /// Who said so and when, in words.
    pub fn author(&self) -> String {
        let by = self.by.as_deref().unwrap_or("an operator");
        match i64::try_from(self.at_ms).ok().filter(|at| *at > 0).map(Timestamp::from_millisecond) {
            Some(Ok(at)) => format!("by {by} on {}", TimeZone::UTC.to_datetime(at).strftime("%Y-%m-%d %H:%M UTC")),
            Some(Err(_)) | None => format!("by {by}"),
        }
    }

    /// What it says, in a few words for records and lists: `enabled=false priority=5`.
    pub fn summary(&self) -> String {
        let mut parts = Vec::new();
        let mut push = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                parts.push(format!("{name}={value}"));
            }
        };
        push("enabled", self.enabled.map(|enabled| enabled.to_string()));
        push("namespace", self.namespace.clone());
        push("category", self.category.clone());
        push("tags", self.tags.as_ref().map(|tags| tags.join(",")));
        push("priority", self.priority.map(|priority| priority.to_string()));
        let conditions =
            |list: &Vec<When>| list.iter().map(|when| Condition::from(when).to_string()).collect::<Vec<_>>();
        push("conditions", self.conditions.as_ref().map(|list| conditions(list).join(" and ")));
        push("permission", self.permission.map(|permission| permission.word().to_owned()));
        if parts.is_empty() { "as its source says".to_owned() } else { parts.join(" ") }
    }
}
