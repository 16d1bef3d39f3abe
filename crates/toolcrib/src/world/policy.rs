//! What is odd about the policy, for everybody who is served by it.

use toolcrib_core::select::{FindingKind, Level, PolicyFinding, lint, lint_mentions};

use super::{World, served};
use crate::settings;

impl World {
    /// Findings about the policy in force, from the scopes that the configuration tells of: the command's own, one for each
    /// profile and agent that is configured, one for each caller. For whoever checks a configuration.
    pub(crate) async fn policy_findings(&self) -> Vec<PolicyFinding> {
        let (catalog, settings, loaded) = (self.engine.hub().catalog(), self.engine.settings(), self.loaded().await);
        let config = &loaded.config;
        let scopes = served::one_by_one(&self.scope, &self.callers, config);
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
