//! Conditions of a rule on the arguments of a call and on what is known of it (oneringai.md §2.7, cases 96-101).

use std::{borrow::Cow, fmt, str::FromStr};

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use super::{
    Match, Side, WordError,
    path::{collect_paths, is_absolute, is_path_name, may_be_path_name, normalise},
    rule::Subject,
};
use crate::json_text;

mod number;

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
/// a condition of an allowing rule, negated or not; for the others it satisfies the negated ones. A number counts by its
/// exact value, however it is written; for a rule that denies or asks also by its text, and a text by its value. An argument named like a
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
    pub(super) fn holds(&self, subject: &Subject<'_>, side: Side) -> Match {
        let Values { texts: values, numbers, unknown } = self.values(subject);
        // The folder that the value begins with may be a link.
        let there = self.folder().and_then(|folder| subject.real?.get(&folder)?.map(str::to_owned));
        let there = there.map(|path| if self.value.ends_with('/') { format!("{path}/") } else { path });
        let there = there.map(|path| if self.written.case_sensitive { path } else { path.to_lowercase() });
        let negated = self.written.operator.negated();
        let holds = |value: &Option<Cow<'_, str>>| match value {
            Some(text) => {
                let hit =
                    self.compare(text, &self.value) || there.as_ref().is_some_and(|path| self.compare(text, path));
                // A tool may take a text for the number it is.
                let hit = hit
                    || side == Side::Restrict
                        && self.written.operator == Operator::Equals
                        && number::same_value(text, &self.value);
                hit != negated
            }
            None => side == Side::Restrict && negated,
        };
        let number = |number: &Cow<'_, str>| number::holds(self, number, side);
        let some = !values.is_empty() || !numbers.is_empty();
        match side {
            Side::Grant => Match::from_bool(!unknown && some && values.iter().all(holds) && numbers.iter().all(number)),
            Side::Restrict if values.iter().any(holds) || numbers.iter().any(number) => Match::Yes,
            Side::Restrict if unknown => Match::Uncertain,
            Side::Restrict => Match::No,
        }
    }

    /// Whether it may speak of a path.
    pub(super) fn may_be_about_paths(&self) -> bool {
        self.name().is_some_and(|name| is_path_name(name) || may_be_path_name(name))
    }

    /// The absolute path its value is, if it compares a path with one from the beginning.
    pub(super) fn folder(&self) -> Option<String> {
        let from_begin = !matches!(
            self.written.operator,
            Operator::Contains | Operator::NotContains | Operator::Matches | Operator::NotMatches
        );
        (from_begin && self.may_be_about_paths() && is_absolute(&self.written.value))
            .then(|| normalise(&self.written.value, None))
    }

    /// Whether what a relative path starts from matters: `/x/a` may be meant by a mere `a`.
    fn speaks_of_whole_paths(&self) -> bool {
        let value = self.written.value.as_str();
        match self.written.operator {
            Operator::StartsWith | Operator::NotStartsWith | Operator::Equals | Operator::NotEquals => {
                is_absolute(value)
            }
            Operator::Contains | Operator::NotContains => value.contains('/'),
            Operator::Matches | Operator::NotMatches => {
                let relative = value.strip_prefix('^').is_some_and(|rest| rest.starts_with(char::is_alphanumeric));
                value.contains('/') && !relative
            }
        }
    }

    /// The name of the argument; of an element of a list the list's.
    fn name(&self) -> Option<&str> {
        let Place::Path(parts) = &self.place else { return None };
        parts.iter().rev().find(|part| part.parse::<usize>().is_err()).map(String::as_str)
    }

    /// The values the condition speaks of.
    fn values<'a>(&self, subject: &Subject<'a>) -> Values<'a> {
        let parts = match &self.place {
            Place::Pseudo(pseudo) => return Values { texts: vec![pseudo.value(subject)], ..Values::default() },
            Place::Path(parts) => parts,
        };
        let mut values = Values::default();
        descend(subject.arguments, subject.raw.map(RawValue::get), parts, &mut values);
        let Values { texts: mut found, mut numbers, .. } = values;
        if found.len() > MAX_VALUES || numbers.len() > MAX_VALUES {
            found.truncate(MAX_VALUES);
            numbers.truncate(MAX_VALUES);
            found.push(None);
        }
        if found.is_empty() && numbers.is_empty() {
            found.push(None);
        }
        let path = self.name().is_some_and(|name| {
            is_path_name(name)
                || may_be_path_name(name) && {
                    let all = collect_paths(subject.arguments).paths;
                    found.iter().flatten().any(|text| all.iter().any(|path| path == text))
                }
        });
        if !path {
            return Values { texts: found, numbers, unknown: false };
        }
        let whole = self.speaks_of_whole_paths();
        let mut unknown = false;
        let mut resolved = Vec::new();
        for text in found.iter().flatten() {
            let full = subject.place.expand(text).unwrap_or_else(|| normalise(text, None));
            let mut spellings = subject.place.spellings(text).peekable();
            unknown |= whole && spellings.peek().is_none();
            if let Some(real) = subject.real {
                let cwd = subject.place.cwd.and_then(|cwd| real.get(&normalise(cwd, None))?);
                let straight = cwd.filter(|_| !whole).map(|cwd| normalise(text, Some(cwd)));
                for spelling in spellings {
                    match real.get(&spelling) {
                        Some(Some(there)) if there != full && straight.as_deref() != Some(there) => {
                            resolved.push(there.to_owned());
                        }
                        Some(Some(_)) => {}
                        Some(None) | None => unknown = true,
                    }
                }
            }
            if full != *text && (whole && !is_absolute(text) || !is_same_folder(&full, text)) {
                resolved.push(full);
            }
        }
        found.extend(resolved.into_iter().map(|path| Some(Cow::Owned(path))));
        Values { texts: found, numbers, unknown }
    }

    fn compare(&self, text: &str, value: &str) -> bool {
        if let Some(regex) = &self.regex {
            return regex.is_match(text);
        }
        let text = if self.written.case_sensitive { Cow::Borrowed(text) } else { Cow::Owned(text.to_lowercase()) };
        match self.written.operator {
            Operator::StartsWith | Operator::NotStartsWith => text.starts_with(value),
            Operator::Contains | Operator::NotContains => text.contains(value),
            Operator::Equals | Operator::NotEquals => text == value,
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

/// What a condition speaks of in one call. Something is there, except for empty lists.
#[derive(Default)]
struct Values<'a> {
    /// Texts, and words like `true`; `None` for a missing value.
    texts: Vec<Option<Cow<'a, str>>>,
    /// Numbers, as written where that is known.
    numbers: Vec<Cow<'a, str>>,
    /// Whether one is a path of which it matters, and cannot be told, where it leads.
    unknown: bool,
}

/// Collects the values at a path. A name in a list goes through its elements. `raw` is the same as text, for the digits
/// of numbers that a value cannot hold.
fn descend<'a>(value: &'a Value, raw: Option<&'a str>, parts: &[String], found: &mut Values<'a>) {
    if found.texts.len().max(found.numbers.len()) > MAX_VALUES {
        return;
    }
    let elements = |items: &'a [Value], parts: &[String], found: &mut Values<'a>| {
        let texts = raw.map(|raw| (raw, json_text::items(raw, 0)));
        for (index, item) in items.iter().enumerate() {
            let raw = texts.as_ref().and_then(|(raw, ranges)| raw.get(ranges.get(index)?.clone()));
            descend(item, raw, parts, found);
        }
    };
    let Some((part, rest)) = parts.split_first() else {
        match value {
            Value::Null => found.texts.push(None),
            Value::String(text) => found.texts.push(Some(Cow::Borrowed(text))),
            Value::Number(number) => found.numbers.push(number::text(number, raw)),
            Value::Array(items) => elements(items, &[], found),
            other => found.texts.push(Some(Cow::Owned(other.to_string()))),
        }
        return;
    };
    match value {
        Value::Object(map) => match map.get(part) {
            Some(inner) => {
                let text = raw.and_then(|raw| {
                    // Of a key given twice the last one counts, as in the value.
                    let members = json_text::members(raw, 0);
                    let place = members.iter().rev().find(|member| member.key == *part)?.value.clone();
                    raw.get(place)
                });
                descend(inner, text, rest, found);
            }
            None => found.texts.push(None),
        },
        Value::Array(items) => match part.parse::<usize>() {
            Ok(index) => match items.get(index) {
                Some(inner) => {
                    let text = raw.and_then(|raw| raw.get(json_text::items(raw, 0).get(index)?.clone()));
                    descend(inner, text, rest, found);
                }
                None => found.texts.push(None),
            },
            Err(_) => elements(items, parts, found),
        },
        _ => found.texts.push(None),
    }
}

#[cfg(test)]
mod tests;
