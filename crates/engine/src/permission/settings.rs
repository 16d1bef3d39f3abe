//! Who may run what. Plain data: whoever embeds the library fills it, from a configuration or not.

use std::{collections::BTreeMap, time::Duration};

use toolcrib_core::{
    permission::{RiskRule, RuleSet, ToolPattern},
    selector::Groups,
};

use super::{hosts::HostLists, places::Places, rates::RateRule, roles::RoleLists};
use crate::settings::Trust;

/// Everything that built-in policies go by. The default denies nothing and asks about what is dangerous.
#[derive(Clone, Debug)]
pub struct PermissionSettings {
    /// What decides where nothing else does.
    pub trust: Trust,
    /// Calls that run without asking.
    pub allow: Vec<ToolPattern>,
    /// Calls that never run.
    pub deny: Vec<ToolPattern>,
    /// Calls that are always asked about.
    pub ask: Vec<ToolPattern>,
    /// Rules with conditions.
    pub rules: RuleSet,
    /// What is known locally of how much tools can do.
    pub risks: Vec<RiskRule>,
    /// What callers may do by their roles.
    pub roles: BTreeMap<String, RoleLists>,
    /// Absolute folders that no path argument may leave; `None` = anywhere.
    pub path_roots: Option<Vec<String>>,
    /// Hosts that addresses may and may not lead to.
    pub hosts: HostLists,
    /// How often tools may be called.
    pub rates: Vec<RateRule>,
    /// Only tools that are known to change nothing run.
    pub plan: bool,
    /// Absolute folders in which writing is not dangerous.
    pub scratch: Vec<String>,
    /// Groups that patterns may name.
    pub groups: Groups,
    /// What relative paths in arguments start from.
    pub places: Places,
    /// What `~` is in arguments, if known; absolute.
    pub home: Option<String>,
    /// How long a policy that has to wait may take; late means deny (openclaw case 117). Default 15 s.
    pub policy_timeout: Duration,
}

impl Default for PermissionSettings {
    fn default() -> Self {
        Self {
            trust: Trust::default(),
            allow: Vec::new(),
            deny: Vec::new(),
            ask: Vec::new(),
            rules: RuleSet::default(),
            risks: Vec::new(),
            roles: BTreeMap::new(),
            path_roots: None,
            hosts: HostLists::default(),
            rates: Vec::new(),
            plan: false,
            scratch: Vec::new(),
            groups: Groups::default(),
            places: Places::default(),
            home: None,
            policy_timeout: Duration::from_secs(15),
        }
    }
}
