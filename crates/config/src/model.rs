//! The configuration as types, one file a section. Field documentation is what `docs/config.md` prints.

mod builtin;
mod calls;
mod categories;
mod disclosure;
mod gateway;
mod label;
mod limits;
mod names;
mod payloads;
mod permissions;
mod plugins;
mod policy;
mod search;
mod server;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use builtin::{
    BuiltinConfig, CommandConfig, FetchConfig, FilesConfig, KeyValueConfig, StoreName, StoresConfig, TimeConfig,
};
pub use calls::{
    AuditConfig, BreakerConfig, CallsConfig, ConcurrencyConfig, RateConfig, RatePer, RepeatConfig, TimeoutConfig,
};
pub use categories::{CategoriesConfig, CategoryConfig, UnloadedTools};
pub use disclosure::{DisclosureConfig, Ranker};
pub use gateway::{GatewayConfig, KeyScope, NamedKey, StoreConfig, SyncMode};
pub use label::LabelConfig;
pub use limits::{LimitsConfig, RedactMode, ResultsConfig, UntrustedMark};
pub use names::{ConflictRule, MergeConfig, NamesConfig, PrefixRule};
pub use payloads::{CacheMark, HostedCalls, LoadingMode, ModelConfig, ModelTokens, PayloadsConfig};
pub use permissions::{
    ApprovalsConfig, ConditionConfig, ConditionOp, EffectWord, HostsConfig, PermissionsConfig, RiskConfig, RiskWord,
    RoleConfig, RuleAction, RuleConfig, TrustLevel,
};
pub use plugins::{PluginConfig, PluginsConfig};
pub use policy::{
    AgentConfig, AgentRole, CallerConfig, ListsConfig, ModelRuleConfig, PolicyConfig, ProfileConfig, SubAgentsConfig,
};
pub use search::{EncoderConfig, EncoderKind, SearchConfig};
pub use server::{EraSetting, ServerConfig, TransportKind};

use crate::Diagnostic;

/// A toolcrib configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(title = "toolcrib configuration")]
pub struct Config {
    /// MCP servers by name. `mcpServers` and `mcp_servers` are taken as well.
    pub servers: BTreeMap<String, ServerConfig>,
    /// Plugins.
    pub plugins: PluginsConfig,
    /// When tools are deferred behind the bridge, and how they are listed.
    pub disclosure: DisclosureConfig,
    /// Categories of tools that are loaded when a task needs them.
    pub categories: CategoriesConfig,
    /// How searches rank and learn.
    pub search: SearchConfig,
    /// How exposed names are formed.
    pub names: NamesConfig,
    /// How tool sets are rendered for model providers.
    pub payloads: PayloadsConfig,
    /// Built-in tools.
    pub builtin: BuiltinConfig,
    /// Which tools anybody may see, and under which conditions.
    pub policy: PolicyConfig,
    /// Which tools may run, and which must be asked about.
    pub permissions: PermissionsConfig,
    /// How people are asked.
    pub approvals: ApprovalsConfig,
    /// How calls are let in.
    pub calls: CallsConfig,
    /// What is recorded of calls.
    pub audit: AuditConfig,
    /// Named sets of selectors, used as `group:NAME`.
    pub groups: BTreeMap<String, Vec<String>>,
    /// Named views on the tools, chosen with `--profile`.
    pub profiles: BTreeMap<String, ProfileConfig>,
    /// The profile of callers that name none.
    pub profile: Option<String>,
    /// What holds for agents, by name. `*` stands for those without an entry and for callers that name none; without it,
    /// agents without an entry are refused as soon as one has an entry.
    pub agents: BTreeMap<String, AgentConfig>,
    /// As whom holders of `gateway.named_keys` are served, by the name of the key.
    pub callers: BTreeMap<String, CallerConfig>,
    /// The HTTP face.
    pub gateway: GatewayConfig,
    /// Where state is kept.
    pub store: StoreConfig,
    /// Bounds on what servers may send.
    pub limits: LimitsConfig,
    /// How much of a result a model is shown.
    pub results: ResultsConfig,
}

impl Config {
    /// Brings numbers into their ranges and says which were out.
    pub(crate) fn settle(&mut self, findings: &mut Vec<Diagnostic>) {
        for (name, server) in &mut self.servers {
            server.settle(&format!("servers.{name}"), findings);
        }
        self.plugins.settle(findings);
        self.disclosure.settle(findings);
        self.categories.settle(findings);
        self.search.settle(findings);
        self.names.settle(findings);
        self.builtin.settle(findings);
        if let Some(rules) = &mut self.policy.subagents {
            rules.settle("policy.subagents", findings);
        }
        for (name, agent) in &mut self.agents {
            if let Some(rules) = &mut agent.subagents {
                rules.settle(&format!("agents.{name}.subagents"), findings);
            }
        }
        self.approvals.settle(findings);
        self.calls.settle(findings);
        self.audit.settle(findings);
        self.gateway.settle(findings);
        self.limits.settle(findings);
        self.results.settle(findings);
    }
}

/// Holds `value` within a range and says so if it was not.
pub(crate) fn clamp<T: PartialOrd + Copy + std::fmt::Display>(
    value: &mut T,
    min: T,
    max: T,
    key: &str,
    findings: &mut Vec<Diagnostic>,
) {
    let used = if *value < min {
        min
    } else if *value > max {
        max
    } else {
        return;
    };
    findings.push(Diagnostic::warning(key, format!("{value} is out of range {min} to {max}; {used} is used")));
    *value = used;
}
