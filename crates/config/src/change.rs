//! What differs between two configurations, so that a reload touches only that.

use crate::Config;

/// What changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigChange {
    /// Servers that are new or switched on.
    pub added: Vec<String>,
    /// Servers that are gone or switched off.
    pub removed: Vec<String>,
    /// Servers that have to be started anew.
    pub changed: Vec<String>,
    /// Servers that go on running while what is said about them locally differs.
    pub relabelled: Vec<String>,
    /// Whether any other setting changed.
    pub settings: bool,
    /// Sections that take effect only after a restart.
    pub restart: Vec<&'static str>,
}

impl ConfigChange {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Compares two configurations.
pub fn changes(old: &Config, new: &Config) -> ConfigChange {
    let mut change = ConfigChange::default();
    let used = |config: &Config, name: &str| config.servers.get(name).is_some_and(crate::ServerConfig::is_enabled);
    for (name, server) in new.servers.iter().filter(|(_, server)| server.is_enabled()) {
        match old.servers.get(name).filter(|old| old.is_enabled()) {
            None => change.added.push(name.clone()),
            Some(before) if !before.can_stay(server) => change.changed.push(name.clone()),
            Some(before) if before != server => change.relabelled.push(name.clone()),
            Some(_) => {}
        }
    }
    change.removed.extend(old.servers.keys().filter(|name| used(old, name) && !used(new, name)).cloned());
    let rest = |config: &Config| Config { servers: std::collections::BTreeMap::new(), ..config.clone() };
    change.settings = rest(old) != rest(new);
    if old.gateway != new.gateway {
        change.restart.push("gateway");
    }
    if old.limits != new.limits {
        change.restart.push("limits");
    }
    if old.results.keep_bytes != new.results.keep_bytes {
        change.restart.push("results.keep_bytes");
    }
    if old.audit != new.audit {
        change.restart.push("audit");
    }
    if old.search != new.search {
        change.restart.push("search");
    }
    if old.store != new.store {
        change.restart.push("store");
    }
    change
}
