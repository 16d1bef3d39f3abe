//! What a scope sees: the list of tools, and the set assembled for a target.

use std::{borrow::Cow, collections::BTreeMap};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::Value;
use toolcrib_core::render::Target;

use super::{Conversation, InConversation, List, More, Number, Object, Word};

/// Who asks, as far as the caller may say. A key that is bound to a profile or an agent takes no other.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ScopeWish {
    /// The profile whose view to take.
    pub profile: Option<Word>,
    /// The agent on whose behalf it is asked.
    pub agent: Option<Word>,
    /// The model, by the name that its provider knows: decides how deferred tools are loaded, whose tokens are counted, and
    /// the context length where none is given. The same for assembling and for turns.
    pub model: Option<Word>,
    /// The model's context length in tokens.
    pub context_length: Option<Number<1, 1_000_000_000>>,
}

/// A target, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetName(pub Target);

impl<'de> Deserialize<'de> for TargetName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map(Self).map_err(D::Error::custom)
    }
}

impl Serialize for TargetName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name())
    }
}

impl JsonSchema for TargetName {
    fn schema_name() -> Cow<'static, str> {
        "Target".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names = Target::ALL.map(Target::name);
        json_schema!({"description": "Whom a tool set is rendered for.", "type": "string", "enum": names})
    }
}

/// `POST /v1/assemble`
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Assemble {
    /// Whom to render for.
    pub target: TargetName,
    /// Who asks.
    #[serde(default)]
    pub scope: Object<ScopeWish>,
    /// The conversation, where tools are to follow it.
    #[serde(default)]
    pub conversation: Option<Object<Conversation>>,
    /// Names of tools that the caller adds to the list itself. One that is taken, whatever its case, is refused: the model's calls of
    /// it would go to the wrong tool.
    #[serde(default)]
    pub client_tools: Option<List<Word, 512>>,
}

/// Token counts of a set.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Tokens {
    /// What the model is shown.
    pub shown: u64,
    /// What it would be shown with every tool direct and no bridge.
    pub eager: u64,
    /// How the counts were made.
    pub counter: String,
    /// Further members.
    #[serde(flatten)]
    pub more: More,
}

/// The set assembled for a target.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Assembled {
    /// Whom it is rendered for.
    pub target: String,
    /// What goes into the provider's list of tools, as it is.
    pub tools: Vec<Value>,
    /// What goes into Anthropic's `mcp_servers`, for servers that the provider calls itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mcp_servers: Vec<Value>,
    /// What goes into Gemini's `toolConfig`, where tools are to be strict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_config: Option<Value>,
    /// Identities (`mcp:SERVER/tool`) by the names that the model sees.
    pub name_map: BTreeMap<String, String>,
    /// How tools that are not in the list are reached: `inline` (there are none), `bridge`, `search`, `provider_search`.
    pub loading: String,
    /// What a person should know of this set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// How the tools are listed: the text stands in the description of `tool_search`.
    pub listing_form: String,
    /// How much is deferred: 0 nothing.
    pub tier: u8,
    /// What it costs.
    pub tokens: Tokens,
    /// What the rendered tools say less exactly than their definitions.
    pub losses: Vec<LossEntry>,
    /// Tools that this target does not take.
    #[serde(default)]
    pub refused: Vec<RefusedTool>,
    /// Set if there are more tools than the target takes in one request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub too_many: Option<TooMany>,
    /// Changes when what is shown changes.
    pub hash: String,
    /// What the conversation made of it; where one was handed in.
    #[serde(flatten)]
    pub conversation: Option<InConversation>,
    /// Further members.
    #[serde(flatten)]
    pub more: More,
}

/// One thing that a rendered tool says less exactly.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct LossEntry {
    /// The tool's exposed name.
    pub tool: String,
    /// JSON Pointer into its schema or definition.
    pub path: String,
    /// What the target does not take.
    pub construct: String,
    /// What was done.
    pub action: String,
}

/// A tool that a target does not take.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct RefusedTool {
    /// Its exposed name.
    pub tool: String,
    /// Why.
    pub reason: String,
}

/// More tools than a target takes.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct TooMany {
    /// How many there are.
    pub count: u64,
    /// How many the target takes.
    pub limit: u64,
}

/// The tools that a scope sees.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Tools {
    /// The tools, in the order in which they are shown.
    pub tools: Vec<ToolRow>,
    /// What showing them costs.
    pub tokens: Tokens,
}

/// One tool.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ToolRow {
    /// Its identity, `mcp:SERVER/tool`.
    pub id: String,
    /// Its exposed name.
    pub name: String,
    /// Where it comes from.
    pub source: String,
    /// `direct`: the model sees its schema; `deferred`: it is found through `tool_search`.
    pub disclosure: String,
    /// What its definition costs.
    pub tokens: u64,
    /// How its source is doing: `ready`, `starting`, `down`, `disabled`.
    pub state: String,
    /// Why it is down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Further members.
    #[serde(flatten)]
    pub more: More,
}
