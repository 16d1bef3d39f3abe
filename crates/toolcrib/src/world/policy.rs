//! What is odd about the policy, for everybody who is served by it.

use toolcrib_core::select::{FindingKind, Level, PolicyFinding, lint, lint_mentions};

use super::World;
use crate::settings;

impl World {
    /// Findings about the policy in force, from the scopes that the configuration tells of: the command's own, one for each
    /// profile and agent that is configured, one for each caller. For whoever checks a configuration.
    pub(crate) async fn policy_findings(&self) -> Vec<PolicyFinding> {
        let (catalog, settings, loaded) = (self.engine.hub().catalog(), self.engine.settings(), self.loaded().await);
        let config = &loaded.config;
        let mut scopes = vec![("the default scope".to_owned(), self.scope.clone())];
        for name in config.profiles.keys() {
            let mut scope = self.scope.clone();
            scope.profile = Some(name.clone());
            scopes.push((format!("profile '{name}'"), scope));
        }
        for name in config.agents.keys().filter(|name| *name != "*") {
            let mut scope = self.scope.clone();
            scope.agent = Some(name.clone());
            scopes.push((format!("agent '{name}'"), scope));
        }
        for name in config.callers.keys() {
            scopes.push((format!("caller '{name}'"), self.callers.scope(Some(name), None)));
        }
        let mut found = lint(&catalog, &settings.assemble, &settings.permissions.risks, &scopes);
        let mentions = settings::mentions(&loaded);
        found.extend(lint_mentions(&catalog, &settings.assemble, &settings.permissions.risks, &mentions));
        for name in config.callers.keys().filter(|name| !config.gateway.named_keys.contains_key(*name)) {
            found.push(PolicyFinding {
                level: Level::Warning,
                kind: FindingKind::Unmatched,
                origin: loaded.origins.text(&format!("callers.{name}")),
                entry: None,
                message: "no key of gateway.named_keys goes by that name".to_owned(),
            });
        }
        found.sort();
        found
    }
}
