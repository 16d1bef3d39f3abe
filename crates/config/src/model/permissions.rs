//! What may run, what must be asked about, and how people are asked.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::clamp;
use crate::Diagnostic;

/// Whom calls are trusted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrustLevel {
    /// Every call needs an allow rule or a person's approval.
    None,
    /// Tools of configured sources run, except dangerous ones, which ask.
    Configured,
    /// Everything runs that no rule denies.
    All,
}

/// Which tools may run. Tools are named by selectors, or by a selector and what the call does, as in
/// `run_command(git:*)`, `write_file(/tmp/*)` or `fetch_url(domain:example.com)`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PermissionsConfig {
    /// Default: `configured` on stdio and loopback, else `none`.
    pub trust: Option<TrustLevel>,
    /// Calls that run without asking, whatever the trust level is.
    pub allow: Vec<String>,
    /// Calls that never run; wins over everything.
    pub deny: Vec<String>,
    /// Calls that are asked about, also where `allow` names them. Where everything is trusted nothing is asked.
    pub ask: Vec<String>,
    /// Only tools that change nothing may run.
    pub plan: bool,
    /// Folders in which writing is not dangerous.
    pub scratch: Vec<String>,
    /// Folders outside of which no path argument may lead. Left out: anywhere.
    pub paths: Option<Vec<String>>,
    /// Which hosts addresses in arguments may lead to.
    pub hosts: HostsConfig,
    /// Rules with conditions on arguments.
    pub rules: Vec<RuleConfig>,
    /// What is known locally of how much tools can do; wins over what they say of themselves.
    pub risks: Vec<RiskConfig>,
    /// What callers with a role may and may not run; a caller without any role is not concerned.
    pub roles: BTreeMap<String, RoleConfig>,
}

/// Hosts by name; subdomains count, with a leading dot they alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HostsConfig {
    /// Only these. Left out: all.
    pub allow: Option<Vec<String>>,
    /// Not these.
    pub deny: Vec<String>,
}

/// What a rule says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuleAction {
    /// It runs.
    Allow,
    /// It does not.
    Deny,
    /// A person is asked.
    Ask,
}

/// A rule. Of several that fit, the one with most conditions counts; an unconditional one counts before them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleConfig {
    /// Which tools.
    pub tool: String,
    /// What happens.
    pub action: RuleAction,
    /// Conditions, all of which must hold.
    #[serde(default)]
    pub when: Vec<ConditionConfig>,
    /// Counts before more specific rules.
    #[serde(default)]
    pub unconditional: bool,
    /// Only for this user.
    #[serde(default)]
    pub user: Option<String>,
    /// Until when, as in `2027-01-31T00:00:00Z`.
    #[serde(default)]
    pub expires: Option<String>,
    /// Whether the rule counts.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Why the rule is there; shown to whoever is asked or refused.
    #[serde(default)]
    pub note: Option<String>,
}

/// A condition on an argument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConditionConfig {
    /// Name of the argument, with dots into objects; or `$tool`, `$source`, `$namespace` (the server's
    /// name), `$risk`, `$effect`, `$user`, `$tenant`.
    pub argument: String,
    /// How it is compared.
    pub op: ConditionOp,
    /// With what.
    pub value: String,
    /// Whether case counts.
    #[serde(default)]
    pub case_sensitive: bool,
}

/// How an argument is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words say it")]
pub enum ConditionOp {
    StartsWith,
    NotStartsWith,
    Contains,
    NotContains,
    Equals,
    NotEquals,
    /// A regular expression.
    Matches,
    NotMatches,
}

/// What is known locally of tools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RiskConfig {
    /// Which tools, as a selector.
    pub tool: String,
    /// How much could go wrong.
    #[serde(default)]
    pub risk: Option<RiskWord>,
    /// What they do.
    #[serde(default)]
    pub effect: Option<EffectWord>,
}

/// How much could go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words say it")]
pub enum RiskWord {
    Low,
    Medium,
    /// Asks, unless allowed by a rule.
    High,
    /// Asks, unless allowed by an unconditional rule.
    Critical,
}

/// What a tool does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words say it")]
pub enum EffectWord {
    ReadOnly,
    Mutating,
    Destructive,
}

/// What a role may run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RoleConfig {
    /// Callers whose gateway key goes by one of these names (`gateway.named_keys`) have the role.
    pub keys: Vec<String>,
    /// Calls that it may make.
    pub allow: Vec<String>,
    /// Calls that it may not make; wins over what any role allows.
    pub deny: Vec<String>,
}

/// How people are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ApprovalsConfig {
    /// Ask through clients that can show questions (MCP elicitation).
    pub elicitation: bool,
    /// Who approves must not be who called: over HTTP a key cannot approve a call that was made under its own name, nor take
    /// back what was refused to it, and clients are not asked. The terminal of whoever owns the machine counts as somebody
    /// else.
    pub four_eyes: bool,
    /// Milliseconds that a call waits for an answer, 0 to 600000; 0 = it is refused at once and can be approved later.
    #[schemars(range(min = 0, max = 600_000))]
    pub wait_ms: u64,
    /// Milliseconds that a question can be answered, 1000 to 604800000.
    #[schemars(range(min = 1_000, max = 604_800_000))]
    pub open_ms: u64,
    /// Milliseconds that an approval of one call is good for, 1000 to 86400000.
    #[schemars(range(min = 1_000, max = 86_400_000))]
    pub once_ms: u64,
    /// Milliseconds that an approval for a session is good for, 1000 to 604800000.
    #[schemars(range(min = 1_000, max = 604_800_000))]
    pub session_ms: u64,
    /// Open questions of one user, 1 to 10000; further calls are refused.
    #[schemars(range(min = 1, max = 10_000))]
    pub most_open: u64,
    /// Questions a minute to one user, 1 to 1000.
    #[schemars(range(min = 1, max = 1_000))]
    pub per_minute: u64,
}

impl Default for ApprovalsConfig {
    fn default() -> Self {
        Self {
            elicitation: true,
            four_eyes: false,
            wait_ms: 120_000,
            open_ms: 3_600_000,
            once_ms: 600_000,
            session_ms: 43_200_000,
            most_open: 50,
            per_minute: 20,
        }
    }
}

impl ApprovalsConfig {
    pub(crate) fn settle(&mut self, findings: &mut Vec<Diagnostic>) {
        clamp(&mut self.wait_ms, 0, 600_000, "approvals.wait_ms", findings);
        clamp(&mut self.open_ms, 1_000, 604_800_000, "approvals.open_ms", findings);
        clamp(&mut self.once_ms, 1_000, 86_400_000, "approvals.once_ms", findings);
        clamp(&mut self.session_ms, 1_000, 604_800_000, "approvals.session_ms", findings);
        clamp(&mut self.most_open, 1, 10_000, "approvals.most_open", findings);
        clamp(&mut self.per_minute, 1, 1_000, "approvals.per_minute", findings);
    }
}

fn yes() -> bool {
    true
}
