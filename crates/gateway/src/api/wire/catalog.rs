//! All tools of every kind, and what operators say of them.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de::Error};

use toolcrib_core::labels::word;

use super::{More, Number, Text, Word};

/// What does not show, as a part of a regular expression's class: what [`word::check`] refuses. Beyond U+FFFF as the
/// characters themselves, since dialects do not agree on how to write those; in the document they are escaped as JSON does it.
fn hidden() -> String {
    let letter = |letter: char| match u32::from(letter) {
        code @ ..=0xFFFF => format!("\\u{code:04x}"),
        _ => letter.to_string(),
    };
    let range = |&(first, last): &(char, char)| {
        if first == last { letter(first) } else { format!("{}-{}", letter(first), letter(last)) }
    };
    word::HIDDEN.iter().map(range).collect()
}

/// A word said of tools: `MIN` to 64 characters that show, without commas, and without blanks around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label<const MIN: usize>(String);

impl<const MIN: usize> Label<MIN> {
    /// The word itself.
    pub fn into_inner(self) -> String {
        self.0
    }
}

impl<'de, const MIN: usize> Deserialize<'de> for Label<MIN> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match word::check(&text) {
            Err(_) if MIN == 0 && text.is_empty() => Ok(Self(text)),
            Err(bad) => Err(D::Error::custom(format!("this label cannot be used: {bad}"))),
            Ok(()) => Ok(Self(text)),
        }
    }
}

impl<const MIN: usize> JsonSchema for Label<MIN> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Label{MIN}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let hidden = hidden();
        let (inner, outer) = (format!("[^,{hidden}]"), format!("[^,\\s{hidden}]"));
        let pattern = format!("^({outer}({inner}*{outer})?){}$", if MIN == 0 { "?" } else { "" });
        json_schema!({"type": "string", "minLength": MIN, "maxLength": word::MAX_WORD, "pattern": pattern})
    }
}

/// `GET /v1/catalog`
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CatalogQuery {
    /// Only of this kind of source: `builtin`, `plugin`, `mcp`, `connector`, `custom`, `remote`, `static`.
    pub kind: Option<Word>,
    /// Only of this source: `mcp:github`.
    pub source: Option<Text<512>>,
    /// Only of this server, plugin or connector, by its name.
    pub service: Option<Word>,
    /// Only in this namespace.
    pub namespace: Option<Word>,
    /// Only in this category.
    pub category: Option<Word>,
    /// Only with this tag.
    pub tag: Option<Word>,
    /// Only those in whose name, title, description, category or tags all these words are found.
    pub text: Option<Text<512>>,
    /// Only those that are switched on, or off.
    pub enabled: Option<bool>,
    /// Only after this identity: the `next` of the page before.
    pub after: Option<Text<1024>>,
    /// Most of them. Default 100.
    pub limit: Option<Number<1, 1_000>>,
}

/// Some entries, in the order of their identities.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct CatalogPage {
    /// The entries.
    pub entries: Vec<CatalogEntry>,
    /// How many fit the query, on all pages.
    pub total: u64,
    /// Give this as `after` for the next page; none at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// One tool.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct CatalogEntry {
    /// Its identity, `mcp:SERVER/tool`.
    pub id: String,
    /// The name it has or would have.
    pub name: String,
    /// Display title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it says of itself; empty if nothing.
    pub description: String,
    /// The kind of its source.
    pub kind: String,
    /// Its source.
    pub source: String,
    /// The server, plugin or connector that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// How its source is doing: `ready`, `starting`, `down`, `disabled`.
    pub state: String,
    /// Whether it is switched on.
    pub enabled: bool,
    /// Its namespace.
    pub namespace: String,
    /// What its label says that it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// Every category that it is in: by its label, by the configuration, as a connector's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// Higher comes first.
    pub priority: i32,
    /// What happens to calls of it where no list and no rule says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission: Option<PermissionWord>,
    /// What the caller sees of it: `direct`, `deferred`, `merged`; to operators also `hidden`, `blocked`, `quarantined`.
    pub disclosure: String,
    /// What its definition costs, tokens.
    pub tokens: u64,
    /// Why its source is down, why it is hidden, its conditions, its circuit, who said what of it by hand.
    #[serde(flatten)]
    pub more: More,
}

/// What happens to calls of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PermissionWord {
    /// They run.
    Allow,
    /// A person is asked.
    Ask,
    /// They do not run, and the tool is hidden.
    Deny,
}

/// `PATCH /v1/catalog/{id}`: what is said of a tool from now on. What is left out stays as it is.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Relabel {
    /// Take back first what was said before.
    pub reset: bool,
    /// Whether it is offered at all.
    pub enabled: Option<bool>,
    /// The set it belongs to.
    pub namespace: Option<Label<1>>,
    /// What it is for; an empty text takes the category away.
    pub category: Option<Label<0>>,
    /// Its tags, all of them; at most 32.
    #[schemars(length(max = 32))]
    pub tags: Option<Vec<Label<1>>>,
    /// Higher comes first.
    #[serde(deserialize_with = "integral")]
    #[schemars(range(min = -2_147_483_648, max = 2_147_483_647))]
    pub priority: Option<i32>,
    /// What happens to calls of it where no list and no rule says otherwise.
    pub permission: Option<PermissionWord>,
}

/// A whole number, also one that is written with a point: to JSON Schema they are one.
fn integral<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i32>, D::Error> {
    let Some(number) = Option::<serde_json::Number>::deserialize(deserializer)? else { return Ok(None) };
    let whole = || number.as_f64().filter(|value| value.fract() == 0.0).map(|value| value.to_string());
    let text = number.as_i64().map(|value| value.to_string()).or_else(whole);
    let value = text.and_then(|text| text.parse().ok());
    value
        .map(Some)
        .ok_or_else(|| D::Error::custom(format!("{number} is no whole number from {} to {}", i32::MIN, i32::MAX)))
}

/// What came of it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Relabelled {
    /// Whether anything changed.
    pub changed: bool,
    /// The tool as it is now; none if its source does not offer it at the moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<CatalogEntry>,
}
