//! Turns: a provider's response in, the messages that answer it out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Conversation, Ended, Number, Object, ScopeWish, TargetName, Word};

/// `POST /v1/turns`
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// Whose response it is: the target that the tools were assembled for.
    pub target: TargetName,
    /// The provider's response as its SDK gives it, or the assistant's message in it.
    pub response: Value,
    /// The conversation: grants for the session and the guard against repetition go by it.
    #[serde(default)]
    pub session: Option<Word>,
    /// Whether the model looks at images in results; where not, a line of text stands in their place. Default: what is known
    /// of `scope.model`, else not.
    #[serde(default)]
    pub images: Option<bool>,
    /// Also take calls that a local model printed as text, for names of the set only.
    #[serde(default)]
    pub printed: bool,
    /// The number of the turn in its conversation: makes ids that the provider did not give differ from turn to turn.
    #[serde(default)]
    pub number: Option<Number<0, 1_000_000_000>>,
    /// Milliseconds that each tool may take; never more than the operator's limit.
    #[serde(default)]
    pub timeout_ms: Option<Number<1, 86_400_000>>,
    /// Who asks: the same as for assembling.
    #[serde(default)]
    pub scope: Object<ScopeWish>,
    /// The conversation, where tools were assembled for one: `{"previous": turn}` with the `turn` that came with the tools.
    #[serde(default)]
    pub conversation: Option<Object<Conversation>>,
}

/// What goes on in the conversation.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TurnDone {
    /// To be appended to the conversation, in the target's shape: the model's turn, then the answers to its calls.
    pub messages: Vec<Value>,
    /// What the model said beside its calls.
    pub text: String,
    /// Whether it made no calls: the text is its answer.
    pub done: bool,
    /// Its calls and how they ended, in their order.
    pub calls: Vec<TurnCall>,
}

/// One call of a turn.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TurnCall {
    /// The provider's id of the call, or the one that it was given.
    pub id: String,
    /// The tool's exposed name.
    pub name: String,
    /// How it ended.
    #[serde(flatten)]
    pub ended: Ended,
}
