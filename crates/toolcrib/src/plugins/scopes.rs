//! Whom a process can serve, as far as that is known before anybody comes: what a plugin is started for.
//!
//! What a request may still say about itself (a grant for one run) is not here; a call that the selection lets through
//! starts its plugin anyway.

use toolcrib_config::Loaded;
use toolcrib_core::{Scope, select::Model};

use crate::settings::{caller_rules, caller_scope};

/// Most scopes that are asked for.
const MOST: usize = 1_024;

/// The process's own scope first; then those of callers with keys, as every agent, with every profile and for every model
/// that the configuration names.
pub(crate) fn served(base: &Scope, loaded: &Loaded) -> anyhow::Result<Vec<Scope>> {
    let config = &loaded.config;
    let mut scopes = vec![base.clone()];
    for (name, rule) in &caller_rules(loaded)? {
        let scope = caller_scope(Scope { user: Some(name.clone()), ..base.clone() }, rule);
        scopes.push(scope);
    }
    let agents = config.agents.keys().filter(|name| *name != "*").cloned();
    widen(&mut scopes, agents, |scope, agent| {
        scope.agent.is_none().then(|| Scope { agent: Some(agent.clone()), ..scope.clone() })
    });
    widen(&mut scopes, config.profiles.keys().cloned(), |scope, profile| {
        scope.profile.is_none().then(|| Scope { profile: Some(profile.clone()), ..scope.clone() })
    });
    let rules = [&config.policy.models].into_iter().chain(config.agents.values().map(|agent| &agent.models));
    let models: std::collections::BTreeSet<String> = rules.flat_map(|models| models.keys().cloned()).collect();
    widen(&mut scopes, models.into_iter(), |scope, model| {
        scope.model.is_none().then(|| Scope { model: Some(Model::new(model)), ..scope.clone() })
    });
    Ok(scopes)
}

/// Adds each scope as it would be with each of the values.
fn widen(
    scopes: &mut Vec<Scope>,
    values: impl Iterator<Item = String>,
    with: impl Fn(&Scope, &String) -> Option<Scope>,
) {
    let before = scopes.len();
    for value in values {
        for index in 0..before {
            if scopes.len() >= MOST {
                return;
            }
            if let Some(scope) = with(&scopes[index], &value) {
                scopes.push(scope);
            }
        }
    }
}
