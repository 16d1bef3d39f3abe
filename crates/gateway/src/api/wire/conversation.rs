//! The conversation that tools are assembled for: what the host hands in, and what an answer says of it. Nothing of it is kept here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{More, Number, Object, Text};

/// What goes on, as far as it decides which tools are shown. With `{}` the answer is that of a first turn.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Conversation {
    /// The messages so far: a list in the shape of any provider, or an object that holds one under `messages`, `input` or
    /// `contents`. Deferred tools that it shows to be known are shown. What cannot be read is passed over.
    pub transcript: Option<Value>,
    /// `turn` of the answer before: what it showed stays as it was, and what is new comes after it.
    pub previous: Option<Object<ShownTurn>>,
    /// What the conversation is about: tools that answer it are shown from the start.
    pub task: Option<Text<8192>>,
    /// Most tools to show for the task. Default 10.
    pub most: Option<Number<1, 512>>,
    /// Most tokens that all definitions may take, those of the bridge among them.
    pub budget: Option<Number<0, 1_000_000_000>>,
}

/// What one turn showed. It holds no secret and grants nothing.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShownTurn {
    /// The tools in the order in which they were shown, those of the bridge among them, by exposed name.
    pub shown: Vec<String>,
    /// The listing, where there is a bridge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bridge: Option<ShownListing>,
    /// All tools that could be reached.
    pub reachable: Vec<String>,
}

/// The listing as it was shown.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShownListing {
    /// How much it tells.
    pub form: ListingForm,
    /// Its text.
    pub listing: String,
}

/// How much a listing tells, from most to least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ListingForm {
    /// Every tool with a short description.
    Full,
    /// Every tool by name.
    Names,
    /// Some groups by name, some as one line.
    Mixed,
    /// One line a group.
    Groups,
    /// No group has a line of its own.
    None,
}

/// What the conversation made of the set.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct InConversation {
    /// Deferred tools that are shown, in their order.
    pub loaded: Vec<LoadedTool>,
    /// Tools that came into question and are not shown.
    pub left_out: Vec<LeftOutTool>,
    /// Tools that the conversation knows and that cannot be reached any more, as it calls them.
    pub gone: Vec<String>,
    /// What changed since the turn before, to be told to the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub announcement: Option<String>,
    /// Tokens by which what must be shown exceeds the budget.
    pub over_budget: u64,
    /// To be handed in as `previous` with the next request, and to `/v1/turns` with the model's response.
    pub turn: ShownTurn,
    /// To be put into the message that stands for what is removed when the history is shortened, so that loaded tools stay loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marker: Option<String>,
    /// The transcript as the provider takes it; only where it refers to tools that are gone and would be refused as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<Value>,
}

/// A deferred tool that is shown.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct LoadedTool {
    /// Its exposed name.
    pub name: String,
    /// Its identity, `mcp:SERVER/tool`.
    pub id: String,
    /// What in the transcript it is shown for: `carried`, `searched`, `described`, `referenced`, `called`. Not there where the task
    /// or the turn before is the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub how: Option<String>,
}

/// A tool that came into question and is not shown.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct LeftOutTool {
    /// Its exposed name.
    pub name: String,
    /// Whether it can still be found with `tool_search`.
    pub deferred: bool,
    /// Why, with the figures of the reason as further members.
    pub why: String,
    /// Further members.
    #[serde(flatten)]
    pub more: More,
}
