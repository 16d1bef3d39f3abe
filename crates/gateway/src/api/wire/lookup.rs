//! Finding tools: what `tool_search` and `tool_describe` answer, for programs.

use std::{borrow::Cow, collections::BTreeMap};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::Value;

use super::{List, More, Number, Object, ScopeWish, Text, Word};

/// One item or a list of them.
#[derive(Clone, Debug)]
pub struct OneOrMany<T, const MAX: usize>(pub Vec<T>);

impl<'de, const LONG: usize, const MAX: usize> Deserialize<'de> for OneOrMany<Text<LONG>, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let items = match Value::deserialize(deserializer)? {
            Value::Array(items) => List::<Text<LONG>, MAX>::deserialize(Value::Array(items)).map(List::into_inner),
            one => Text::deserialize(one).map(|one| vec![one]),
        };
        items.map(Self).map_err(D::Error::custom)
    }
}

impl<T: JsonSchema, const MAX: usize> JsonSchema for OneOrMany<T, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("OneOrMany{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [generator.subschema_for::<T>(), generator.subschema_for::<List<T, MAX>>()]})
    }
}

/// `POST /v1/search`
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// What is looked for, in words or by name (`docs/search.md`); up to seven at a time.
    pub query: OneOrMany<Text<4_000>, 7>,
    /// The server to stay in, or words about it.
    #[serde(default)]
    pub server: Option<Word>,
    /// Only tools of this source (`mcp:github`), kind of source (`builtin`, `mcp`, …) or label.
    #[serde(default)]
    pub source: Option<Word>,
    /// Only tools with this tag.
    #[serde(default)]
    pub category: Option<Word>,
    /// Only tools that say that they change nothing.
    #[serde(default)]
    pub readonly: bool,
    /// Most matches of one query; never more than `disclosure.max_search_limit`.
    #[serde(default)]
    pub limit: Option<Number<1, 1_000>>,
    /// `next_cursor` of the last answer to the same search.
    #[serde(default)]
    pub cursor: Option<Word>,
    /// Matches of each query to pass over, where no cursor says so.
    #[serde(default)]
    pub offset: Option<Number<0, 1_000>>,
    /// Say of each match why it was found.
    #[serde(default)]
    pub explain: bool,
    /// The conversation: ties the search to the calls that come of it.
    #[serde(default)]
    pub session: Option<Word>,
    /// Who asks.
    #[serde(default)]
    pub scope: Object<ScopeWish>,
}

/// What was found.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Found {
    /// By query, in the order asked.
    pub results: Vec<QueryHits>,
    /// What the tools are, by exposed name.
    #[serde(default)]
    pub tools: BTreeMap<String, FoundTool>,
    /// How many tools there are.
    pub total_available: u64,
    /// Hints, servers that are not ready, notes.
    #[serde(flatten)]
    pub more: More,
}

/// What one query found.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct QueryHits {
    /// The query.
    pub query: String,
    /// Matches, best first.
    pub matches: Vec<Hit>,
    /// Further members.
    #[serde(flatten)]
    pub more: More,
}

/// One match.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Hit {
    /// The tool's exposed name.
    pub name: String,
    /// How well it matches; comparable within one query only.
    pub score: f64,
    /// Further members.
    #[serde(flatten)]
    pub more: More,
}

/// A tool that was found.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct FoundTool {
    /// The server it comes from.
    pub server: String,
    /// What it does, shortened.
    pub description: String,
    /// Arguments it must have.
    pub required: Vec<String>,
    /// Arguments it takes.
    pub parameters: Vec<String>,
    /// Further members.
    #[serde(flatten)]
    pub more: More,
}

/// `POST /v1/describe`
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Describe {
    /// Exposed names.
    pub names: List<Text<256>, 10>,
    /// Who asks.
    #[serde(default)]
    pub scope: Object<ScopeWish>,
}

/// Definitions.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Described {
    /// Definitions with their original schemas (`name`, `server`, `description`, `inputSchema`, …).
    #[serde(default)]
    pub found: Vec<More>,
    /// Names that lead nowhere, each with `suggestions`.
    #[serde(default)]
    pub not_found: Vec<More>,
    /// Notes.
    #[serde(flatten)]
    pub more: More,
}
