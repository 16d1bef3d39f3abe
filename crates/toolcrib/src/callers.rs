//! Who callers are: from the name of a key to a scope and roles.

use std::{
    collections::BTreeMap,
    time::{SystemTime, UNIX_EPOCH},
};

use arc_swap::ArcSwap;
use toolcrib_config::Config;
use toolcrib_core::Scope;

/// Callers as the configuration knows them; follows it on reload.
pub(crate) struct Callers {
    base: Scope,
    known: ArcSwap<Known>,
}

struct Known {
    tenants: BTreeMap<String, String>,
    roles: BTreeMap<String, Vec<String>>,
    may_ask: bool,
}

impl Callers {
    /// Callers who start from `base`, narrowed by who they are.
    pub(crate) fn new(base: Scope, config: &Config) -> Self {
        Self { base, known: ArcSwap::from_pointee(Known::of(config)) }
    }

    /// Goes by another configuration from now on.
    pub(crate) fn reload(&self, config: &Config) {
        self.known.store(Known::of(config).into());
    }

    /// What a caller sees.
    pub(crate) fn scope(&self, principal: Option<&str>, profile: Option<&str>) -> Scope {
        let mut scope = self.base.clone();
        scope.user = principal.map(str::to_owned);
        if let Some(tenant) = self.tenant(principal) {
            scope.tenant = tenant;
        }
        if scope.profile.is_none() {
            scope.profile = profile.map(str::to_owned);
        }
        scope
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
    fn of(config: &Config) -> Self {
        let mut roles: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (role, settings) in &config.permissions.roles {
            for key in &settings.keys {
                roles.entry(key.clone()).or_default().push(role.clone());
            }
        }
        let named = config.gateway.named_keys.iter();
        let tenants = named.filter_map(|(name, key)| Some((name.clone(), key.tenant.clone()?)));
        // Whoever sits at the client is who calls through it.
        let may_ask = config.approvals.elicitation && !config.approvals.four_eyes;
        Self { tenants: tenants.collect(), roles, may_ask }
    }
}

/// Milliseconds since the Unix epoch.
pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
