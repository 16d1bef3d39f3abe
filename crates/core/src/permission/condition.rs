//! Conditions of a rule on the arguments of a call and on what is known of it (oneringai.md §2.7, cases 96-101).

use std::{borrow::Cow, fmt, str::FromStr};

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Side, WordError,
    path::{is_path_name, normalise},
    rule::Subject,
};

/// How a condition compares. Each has a negation (`not_…`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words are the documentation")]
pub enum Operator {
    StartsWith,
    NotStartsWith,
    Contains,
    NotContains,
    Equals,
    NotEquals,
    Matches,
    NotMatches,
}

impl Operator {
    const ALL: [Self; 8] = [
        Self::StartsWith,
        Self::NotStartsWith,
        Self::Contains,
        Self::NotContains,
        Self::Equals,
        Self::NotEquals,
        Self::Matches,
        Self::NotMatches,
    ];

    /// The word used in configuration and reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::StartsWith => "starts_with",
            Self::NotStartsWith => "not_starts_with",
            Self::Contains => "contains",
            Self::NotContains => "not_contains",
            Self::Equals => "equals",
            Self::NotEquals => "not_equals",
            Self::Matches => "matches",
            Self::NotMatches => "not_matches",
        }
    }

    /// Whether it holds where the comparison fails.
    pub fn negated(self) -> bool {
        matches!(self, Self::NotStartsWith | Self::NotContains | Self::NotEquals | Self::NotMatches)
    }
}

impl FromStr for Operator {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|operator| operator.word() == text).ok_or_else(|| {
            WordError::new(
                text,
                "operator",
                "starts_with, contains, equals, matches, not_starts_with, not_contains, not_equals, not_matches",
            )
        })
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// One condition. All conditions of a rule have to hold.
///
/// Where several values stand (lists, `edits.path` over a list of edits), a rule that allows needs the condition to
/// hold for every one of them, a rule that denies or asks for one. An argument that is missing or null never satisfies
/// a condition of an allowing rule, negated or not; for the others it satisfies the negated ones. An argument named like a
/// path is compared as written and with `..` resolved: both count, in the same way.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Condition {
    written: Written,
    place: Place,
    /// The value to compare with, in lower case unless case matters.
    value: String,
    regex: Option<Regex>,
}

/// A condition as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// A path into the arguments: dotted (`edits.0.path`), a JSON pointer (`/edits/0/path`), or one of the
    /// pseudo-arguments `$tool` (the id, `mcp:github/create_issue`), `$source`, `$namespace`, `$category`, `$risk`,
    /// `$effect`, `$user`, `$tenant`.
    pub argument: String,
    /// How to compare.
    #[serde(rename = "op")]
    pub operator: Operator,
    /// What to compare with.
    pub value: String,
    /// Whether case matters. Default false.
    #[serde(default)]
    pub case_sensitive: bool,
}

#[derive(Clone, Debug)]
enum Place {
    Pseudo(Pseudo),
    Path(Vec<String>),
}

#[derive(Clone, Copy, Debug)]
enum Pseudo {
    Tool,
    Source,
    Namespace,
    Category,
    Risk,
    Effect,
    User,
    Tenant,
}

/// A condition that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the condition '{argument} {operator} {value}' cannot be used: {problem}")]
pub struct ConditionError {
    argument: String,
    operator: Operator,
    value: String,
    problem: String,
}

/// Longest value and argument of a condition, in bytes.
const MAX_BYTES: usize = 4_096;
/// Compiled size of a pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 256 * 1024;
/// Most values of one argument that are compared; further ones count as missing.
const MAX_VALUES: usize = 1_000;

impl TryFrom<Written> for Condition {
    type Error = ConditionError;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        let short = |text: &str| text.chars().take(100).collect::<String>();
        let fail = |problem: String| ConditionError {
            argument: short(&written.argument),
            operator: written.operator,
            value: short(&written.value),
            problem,
        };
        if written.argument.is_empty() {
            return Err(fail(
                "it names no argument; write a name such as path, or a pseudo-argument such as $category".into(),
            ));
        }
        if written.argument.len().max(written.value.len()) > MAX_BYTES {
            return Err(fail(format!("it is longer than {MAX_BYTES} bytes")));
        }
        let place = match written.argument.as_str() {
            "$tool" => Place::Pseudo(Pseudo::Tool),
            "$source" => Place::Pseudo(Pseudo::Source),
            "$namespace" => Place::Pseudo(Pseudo::Namespace),
            "$category" => Place::Pseudo(Pseudo::Category),
            "$risk" => Place::Pseudo(Pseudo::Risk),
            "$effect" => Place::Pseudo(Pseudo::Effect),
            "$user" => Place::Pseudo(Pseudo::User),
            "$tenant" => Place::Pseudo(Pseudo::Tenant),
            other if other.starts_with('$') => {
                return Err(fail(
                    "there is no such pseudo-argument; known are $tool, $source, $namespace, $category, $risk, $effect, $user, $tenant (an argument whose name starts with $ is written /$name)"
                        .into(),
                ));
            }
            pointer if pointer.starts_with('/') => {
                Place::Path(pointer.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~")).collect())
            }
            dotted => Place::Path(dotted.split('.').map(str::to_owned).collect()),
        };
        let regex = match written.operator {
            Operator::Matches | Operator::NotMatches => Some(
                RegexBuilder::new(&written.value)
                    .case_insensitive(!written.case_sensitive)
                    .size_limit(MAX_PATTERN_BYTES)
                    .dfa_size_limit(MAX_PATTERN_BYTES)
                    .nest_limit(64)
                    .build()
                    .map_err(|error| fail(format!("its pattern does not compile ({error})")))?,
            ),
            _ => None,
        };
        let value = if written.case_sensitive { written.value.clone() } else { written.value.to_lowercase() };
        Ok(Self { written, place, value, regex })
    }
}

impl From<Condition> for Written {
    fn from(condition: Condition) -> Self {
        condition.written
    }
}

impl PartialEq for Condition {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {:?}", self.written.argument, self.written.operator, self.written.value)
    }
}

impl Condition {
    /// Builds a condition that ignores case.
    pub fn new(
        argument: impl Into<String>,
        operator: Operator,
        value: impl Into<String>,
    ) -> Result<Self, ConditionError> {
        Written { argument: argument.into(), operator, value: value.into(), case_sensitive: false }.try_into()
    }

    /// The condition as it was written.
    pub fn written(&self) -> &Written {
        &self.written
    }

    /// Whether it holds for a rule of that side.
    pub(super) fn holds(&self, subject: &Subject<'_>, side: Side) -> bool {
        let values = self.values(subject);
        let holds = |value: &Option<Cow<'_, str>>| match value {
            Some(text) => self.compare(text) != self.written.operator.negated(),
            None => side == Side::Restrict && self.written.operator.negated(),
        };
        match side {
            Side::Grant => !values.is_empty() && values.iter().all(holds),
            Side::Restrict => values.iter().any(holds),
        }
    }

    /// The values the condition speaks of, `None` for a missing one. Never empty, except for empty lists.
    fn values<'a>(&self, subject: &Subject<'a>) -> Vec<Option<Cow<'a, str>>> {
        let parts = match &self.place {
            Place::Pseudo(pseudo) => return vec![pseudo.value(subject)],
            Place::Path(parts) => parts,
        };
        let mut found = Vec::new();
        descend(subject.arguments, parts, &mut found);
        if found.len() > MAX_VALUES {
            found.truncate(MAX_VALUES);
            found.push(None);
        }
        if found.is_empty() {
            found.push(None);
        }
        let path =
            parts.iter().rev().find(|part| part.parse::<usize>().is_err()).is_some_and(|name| is_path_name(name));
        if path {
            let resolved: Vec<_> = found
                .iter()
                .flatten()
                .map(|text| (subject.place.expand(text).unwrap_or_else(|| normalise(text, None)), text))
                .filter(|(resolved, text)| resolved != *text && !is_same_folder(resolved, text))
                .map(|(resolved, _)| Some(Cow::Owned(resolved)))
                .collect();
            found.extend(resolved);
        }
        found
    }

    fn compare(&self, text: &str) -> bool {
        if let Some(regex) = &self.regex {
            return regex.is_match(text);
        }
        let text = if self.written.case_sensitive { Cow::Borrowed(text) } else { Cow::Owned(text.to_lowercase()) };
        match self.written.operator {
            Operator::StartsWith | Operator::NotStartsWith => text.starts_with(&self.value),
            Operator::Contains | Operator::NotContains => text.contains(&self.value),
            Operator::Equals | Operator::NotEquals => text == self.value.as_str(),
            Operator::Matches | Operator::NotMatches => false,
        }
    }
}

/// Whether a path differs from its normal form by a trailing slash alone, or by being relative.
fn is_same_folder(resolved: &str, text: &str) -> bool {
    let plain = text.trim_end_matches('/');
    plain == resolved || !text.starts_with(['/', '~']) && normalise(text, None) == plain && !text.contains("..")
}

impl Pseudo {
    fn value<'a>(self, subject: &Subject<'a>) -> Option<Cow<'a, str>> {
        match self {
            Self::Tool => Some(Cow::Owned(subject.tool.id().to_string())),
            Self::Source => Some(Cow::Owned(subject.tool.source().to_string())),
            Self::Namespace => subject.namespace.map(Cow::Borrowed),
            Self::Category => subject.category.map(Cow::Borrowed),
            Self::Risk => Some(Cow::Borrowed(subject.assessment.risk.word())),
            Self::Effect => Some(Cow::Borrowed(subject.assessment.effect.word())),
            Self::User => subject.scope.user.as_deref().map(Cow::Borrowed),
            Self::Tenant => Some(Cow::Borrowed(&subject.scope.tenant)),
        }
    }
}

/// Collects the values at a path. A name in a list goes through its elements.
fn descend<'a>(value: &'a Value, parts: &[String], found: &mut Vec<Option<Cow<'a, str>>>) {
    if found.len() > MAX_VALUES {
        return;
    }
    let Some((part, rest)) = parts.split_first() else {
        match value {
            Value::Null => found.push(None),
            Value::String(text) => found.push(Some(Cow::Borrowed(text))),
            Value::Array(items) => items.iter().for_each(|item| descend(item, &[], found)),
            other => found.push(Some(Cow::Owned(other.to_string()))),
        }
        return;
    };
    match value {
        Value::Object(map) => match map.get(part) {
            Some(inner) => descend(inner, rest, found),
            None => found.push(None),
        },
        Value::Array(items) => match part.parse::<usize>() {
            Ok(index) => match items.get(index) {
                Some(inner) => descend(inner, rest, found),
                None => found.push(None),
            },
            Err(_) => items.iter().for_each(|item| descend(item, parts, found)),
        },
        _ => found.push(None),
    }
}

#[cfg(test)]
mod tests;
