//! Who sees what.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Which tools anybody may see.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PolicyConfig {
    /// Only tools that these selectors name. Left out: all. An empty list: none.
    pub allow: Option<Vec<String>>,
    /// No tools that these selectors name; wins over `allow`.
    pub deny: Vec<String>,
}

/// A named view on the tools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProfileConfig {
    /// Only tools that these selectors name. Left out: all. An empty list: none.
    pub allow: Option<Vec<String>>,
    /// Added to `allow`, for changing a profile in a later file without repeating it.
    pub also_allow: Vec<String>,
    /// No tools that these selectors name.
    pub deny: Vec<String>,
    /// In place of the `disclosure` section: a boolean, a word, or such a section's keys.
    pub disclosure: Option<Value>,
}
