//! Who sees what.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::clamp;
use crate::Diagnostic;

/// Which tools anybody may see, and under which conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PolicyConfig {
    /// Only tools that these selectors name. Left out: all. An empty list: none.
    pub allow: Option<Vec<String>>,
    /// Allowed as well: beside `allow` of an earlier file, beside the default profile, and for optional tools.
    pub also_allow: Vec<String>,
    /// No tools that these selectors name; wins over everything that allows.
    pub deny: Vec<String>,
    /// Tools that are hidden unless an allow list names them (`*` names all).
    pub optional: Vec<String>,
    /// Tools for the owner only.
    pub owner_only: Vec<String>,
    /// Senders who are the owner: `id:…`, `phone:…` or `username:…`, with the channel in front where ids are its own
    /// (`telegram/id:42`).
    pub owners: Vec<String>,
    /// Tools that must not be missing: a set without them is refused.
    pub required: Vec<String>,
    /// Show tools that `permissions.deny` names whole. Calls of them are refused either way.
    pub show_denied: bool,
    /// Tools that need something of the client, by the capability that it must have.
    pub capabilities: BTreeMap<String, Vec<String>>,
    /// What holds for models, by `PROVIDER/MODEL` or `PROVIDER`; the longest that fits counts alone.
    pub models: BTreeMap<String, ModelRuleConfig>,
    /// What holds in channels and groups, by `CHANNEL:ID` or `CHANNEL`; `*` stands for all others.
    pub channels: BTreeMap<String, ListsConfig>,
    /// What holds for who writes in a channel, by `channel:…`, `id:…`, `phone:…`, `username:…`, `name:…`, the first that
    /// fits; `*` stands for all others, also unknown ones.
    pub senders: BTreeMap<String, ListsConfig>,
    /// What agents in a sandbox have. By default without `group:fs` and `group:runtime`, which act outside of it.
    pub sandbox: Option<ListsConfig>,
    /// What sub-agents have.
    pub subagents: Option<SubAgentsConfig>,
    /// What coordinators have themselves. By default `group:coordinator`. Their workers have what they are allowed.
    pub coordinator: Option<ListsConfig>,
}

impl PolicyConfig {
    /// Shows no tool to anybody, whatever the lists said: what restricts cannot be read.
    pub(crate) fn allow_nothing(&mut self) {
        self.allow = Some(Vec::new());
        self.also_allow.clear();
    }
}

/// What may pass and what may not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ListsConfig {
    /// Only tools that these selectors name. Left out: all. An empty list: none.
    pub allow: Option<Vec<String>>,
    /// Allowed as well: beside `allow` of an earlier file, beside what holds by default here, and for optional tools.
    pub also_allow: Vec<String>,
    /// No tools that these selectors name.
    pub deny: Vec<String>,
}

/// What holds for a model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ModelRuleConfig {
    /// A profile that holds beside the one that is chosen elsewhere.
    pub profile: Option<String>,
    /// Only tools that these selectors name. Left out: all. An empty list: none.
    pub allow: Option<Vec<String>>,
    /// Allowed as well, beside `allow` of an earlier file and beside `profile`.
    pub also_allow: Vec<String>,
    /// No tools that these selectors name.
    pub deny: Vec<String>,
}

/// What sub-agents have: at most what their parent could hand on, and of that what these lists let through.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SubAgentsConfig {
    /// From this many agents above it on, 0 to 8, a sub-agent is a leaf, which starts no others. Default 1.
    #[schemars(range(min = 0, max = 8))]
    pub max_depth: Option<u64>,
    /// Only tools that these selectors name. Left out: all. An empty list: none.
    pub allow: Option<Vec<String>>,
    /// Allowed as well: sub-agents do without `group:agent-control`, leaves without `group:agents`, unless named here.
    pub also_allow: Vec<String>,
    /// No tools that these selectors name.
    pub deny: Vec<String>,
}

impl SubAgentsConfig {
    pub(crate) fn settle(&mut self, key: &str, findings: &mut Vec<Diagnostic>) {
        if let Some(depth) = &mut self.max_depth {
            clamp(depth, 0, 8, &format!("{key}.max_depth"), findings);
        }
    }
}

/// A named view on the tools. `minimal`, `coding`, `messaging` and `full` exist: `allow` replaces what they allow,
/// `also_allow` adds to it.
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

/// What part an agent plays among others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentRole {
    /// It works through others and has only the tools for that.
    Coordinator,
    /// A sub-agent that may start others.
    Orchestrator,
    /// A sub-agent that may not.
    Leaf,
}

/// What holds for an agent, on top of what holds for everybody.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AgentConfig {
    /// Its profile, unless its caller names one.
    pub profile: Option<String>,
    /// What part it plays.
    pub role: Option<AgentRole>,
    /// Whether it runs in a sandbox.
    pub sandboxed: bool,
    /// Only tools that these selectors name. Left out: all. An empty list: none.
    pub allow: Option<Vec<String>>,
    /// Allowed as well: beside `allow` of an earlier file, beside the profile, and for optional tools.
    pub also_allow: Vec<String>,
    /// No tools that these selectors name.
    pub deny: Vec<String>,
    /// Tools that must not be missing.
    pub required: Vec<String>,
    /// Like `policy.models`; both hold.
    pub models: BTreeMap<String, ModelRuleConfig>,
    /// In place of `policy.channels` where an entry fits.
    pub channels: BTreeMap<String, ListsConfig>,
    /// In place of `policy.senders` where an entry fits, even an empty one.
    pub senders: BTreeMap<String, ListsConfig>,
    /// In place of `policy.sandbox`.
    pub sandbox: Option<ListsConfig>,
    /// In place of `policy.subagents`.
    pub subagents: Option<SubAgentsConfig>,
    /// In place of `policy.coordinator`.
    pub coordinator: Option<ListsConfig>,
}

/// As whom the holder of a key is served. What is not said here, callers may say themselves where they can.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CallerConfig {
    /// Profile.
    pub profile: Option<String>,
    /// Agent, by its name under `agents`.
    pub agent: Option<String>,
    /// Model, as `PROVIDER/MODEL`.
    pub model: Option<String>,
    /// Channel, as `CHANNEL` or `CHANNEL:ID`.
    pub channel: Option<String>,
    /// Whether it is the owner.
    pub owner: bool,
    /// Whether it runs in a sandbox.
    pub sandboxed: bool,
    /// What its client can do, for `policy.capabilities`.
    pub capabilities: Vec<String>,
    /// Only tools that these selectors name. Left out: all. An empty list: none.
    pub allow: Option<Vec<String>>,
    /// No tools that these selectors name.
    pub deny: Vec<String>,
}
