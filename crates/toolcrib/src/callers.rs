//! Who callers are: from the name of a key to a scope and roles.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{SystemTime, UNIX_EPOCH},
};

use arc_swap::ArcSwap;
use toolcrib_config::Loaded;
use toolcrib_core::Scope;

use crate::settings;

/// Callers as the configuration knows them; follows it on reload.
pub(crate) struct Callers {
    base: Scope,
    known: ArcSwap<Known>,
}

/// What a configuration says of callers, read.
pub(crate) struct Known {
    tenants: BTreeMap<String, String>,
    roles: BTreeMap<String, Vec<String>>,
    may_ask: bool,
    names: BTreeSet<String>,
    rules: BTreeMap<String, settings::CallerRule>,
    profiles: BTreeSet<String>,
    default_profile: bool,
}

impl Callers {
    /// Callers who start from `base`, narrowed by who they are.
    pub(crate) fn new(base: Scope, known: Known) -> Self {
        Self { base, known: ArcSwap::from_pointee(known) }
    }

    /// Goes by another configuration from now on.
    pub(crate) fn replace(&self, known: Known) {
        self.known.store(known.into());
    }

    /// What a caller sees. `profile` is the one that the client names; what the configuration says of the key and what
    /// the process was started with count before.
    pub(crate) fn scope(&self, principal: Option<&str>, profile: Option<&str>) -> Scope {
        let known = self.known.load();
        let mut scope = self.base.clone();
        scope.user = principal.map(str::to_owned);
        if let Some(tenant) = principal.and_then(|name| known.tenants.get(name)) {
            scope.tenant.clone_from(tenant);
        }
        if let Some(rule) = principal.and_then(|name| known.rules.get(name)) {
            scope = settings::caller_scope(scope, rule);
        }
        if scope.profile.is_none()
            && let Some(profile) = profile
        {
            // Where there is a default, the built-in profiles that nobody wrote down are no choice: one of them allows
            // everything.
            let offered = known.profiles.contains(profile) || !known.default_profile;
            scope.profile = Some(if offered { profile.to_owned() } else { format!("{profile} (named by the client)") });
        }
        scope
    }

    /// The names of keys, where the configuration gives them.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        self.known.load().names.clone()
    }

    /// The tenant that the key with this name belongs to.
    pub(crate) fn tenant(&self, principal: Option<&str>) -> Option<String> {
        self.known.load().tenants.get(principal?).cloned()
    }

    /// The roles of the key with this name.
    pub(crate) fn roles(&self, principal: Option<&str>) -> Vec<String> {
        let known = self.known.load();
        principal.and_then(|name| known.roles.get(name)).cloned().unwrap_or_default()
    }

    /// Whether clients are used to ask people.
    pub(crate) fn may_ask(&self) -> bool {
        self.known.load().may_ask
    }
}

impl Known {
    pub(crate) fn of(loaded: &Loaded) -> anyhow::Result<Self> {
        let config = &loaded.config;
        let mut roles: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (role, settings) in &config.permissions.roles {
            for key in &settings.keys {
                roles.entry(key.clone()).or_default().push(role.clone());
            }
        }
        let named = config.gateway.named_keys.iter();
        let tenants = named.filter_map(|(name, key)| Some((name.clone(), key.tenant.clone()?)));
        Ok(Self {
            tenants: tenants.collect(),
            roles,
            // Whoever sits at the client is who calls through it.
            may_ask: config.approvals.elicitation && !config.approvals.four_eyes,
            names: config.gateway.named_keys.keys().chain(config.callers.keys()).cloned().collect(),
            rules: settings::caller_rules(loaded)?,
            profiles: config.profiles.keys().cloned().collect(),
            default_profile: config.profile.is_some() || config.agents.values().any(|agent| agent.profile.is_some()),
        })
    }
}

/// Milliseconds since the Unix epoch.
pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
