//! What is odd about the policy, for everybody who is served by it.

use toolcrib_config::Loaded;
use toolcrib_core::{
    Catalog, Scope,
    select::{FindingKind, Level, PolicyFinding, lint},
};
use toolcrib_engine::EngineSettings;

use crate::callers::Callers;

/// Findings about the policy in force, from the scopes that the configuration tells of: `scope` itself, one for each
/// profile and agent that is configured, one for each caller. For `doctor`, and for whoever checks a configuration.
pub(crate) fn findings(
    catalog: &Catalog,
    settings: &EngineSettings,
    loaded: &Loaded,
    scope: &Scope,
    callers: &Callers,
) -> Vec<PolicyFinding> {
    let config = &loaded.config;
    let mut scopes = vec![("the default scope".to_owned(), scope.clone())];
    let with = |change: &dyn Fn(&mut Scope)| {
        let mut scope = scope.clone();
        change(&mut scope);
        scope
    };
    for name in config.profiles.keys() {
        scopes.push((format!("profile '{name}'"), with(&|scope| scope.profile = Some(name.clone()))));
    }
    for name in config.agents.keys().filter(|name| *name != "*") {
        scopes.push((format!("agent '{name}'"), with(&|scope| scope.agent = Some(name.clone()))));
    }
    for name in config.callers.keys() {
        scopes.push((format!("caller '{name}'"), callers.scope(Some(name), None)));
    }
    let mut found = lint(catalog, &settings.assemble, &settings.permissions.risks, &scopes);
    for name in config.callers.keys().filter(|name| !config.gateway.named_keys.contains_key(*name)) {
        found.push(PolicyFinding {
            level: Level::Warning,
            kind: FindingKind::Unmatched,
            origin: loaded.origins.text(&format!("callers.{name}")),
            entry: None,
            message: "no key of gateway.named_keys goes by that name".to_owned(),
        });
    }
    found
}
