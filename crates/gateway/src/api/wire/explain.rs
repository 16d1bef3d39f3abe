//! Why a tool is shown, deferred, hidden or refused, and what would become of a call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{More, Object, ScopeWish, Text, Word};

/// `POST /v1/explain`
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Explain {
    /// An exposed name, an identity (`mcp:SERVER/tool`), a source's own name, or `*` for every tool.
    pub name: Text<512>,
    /// Arguments of a call to be judged; without them a call without arguments is.
    #[serde(default)]
    pub arguments: Option<Value>,
    /// As the caller with this key sees it, by the key's name; needs the scope `operate`.
    #[serde(default)]
    pub key: Option<Word>,
    /// Who asks.
    #[serde(default)]
    pub scope: Object<ScopeWish>,
}

/// What became of the tools. Without the scope `operate`, tools that the caller cannot see are left out.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Explained {
    /// Every tool that the name may mean.
    pub tools: Vec<Explanation>,
}

/// What became of one tool.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// Its identity.
    pub id: String,
    /// The name it has or would have.
    pub name: String,
    /// `direct`, `deferred`, `merged`, `hidden`, `blocked`, `quarantined`.
    pub fate: String,
    /// The fate in one sentence, with the cause and what would change it.
    pub sentence: String,
    /// What would become of the call: `decision`, `authority`, `reason`, `risk`, `effect`; and `hindrance`, what keeps every call
    /// of the tool from running at the moment. Nothing where no call can reach the tool.
    #[serde(default)]
    pub call: Option<More>,
    /// Stage, rule and origin of what hides it, and the state of its source.
    #[serde(flatten)]
    pub more: More,
}
