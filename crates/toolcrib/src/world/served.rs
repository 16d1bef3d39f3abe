//! Whom a process can serve, as far as the configuration tells before anybody comes: what a policy is looked over for, and what
//! plugins are started for.
//!
//! What a request may still say about itself (a grant for one run) is not here; a call that the selection lets through
//! starts its plugin anyway.

use std::collections::BTreeSet;

use toolcrib_config::Config;
use toolcrib_core::{Scope, select::Model};

use crate::callers::Callers;

/// Most scopes that are combined.
const MOST: usize = 1_024;

/// The process's own scope, one for each profile and agent that is configured, one for each caller; each with what it is
/// called in a finding.
pub(super) fn one_by_one(base: &Scope, callers: &Callers, config: &Config) -> Vec<(String, Scope)> {
    let mut scopes = vec![("the default scope".to_owned(), base.clone())];
    scopes.extend(profiles(config).map(|name| (format!("profile '{name}'"), in_profile(base, name))));
    scopes.extend(agents(config).map(|name| (format!("agent '{name}'"), as_agent(base, name))));
    scopes.extend(config.callers.keys().map(|name| (format!("caller '{name}'"), callers.scope(Some(name), None))));
    scopes
}

/// The process's own scope first; then those of callers with keys, as every agent, with every profile and for every model
/// that the configuration names.
pub(super) fn combined(base: &Scope, callers: &Callers, config: &Config) -> Vec<Scope> {
    let mut scopes = vec![base.clone()];
    scopes.extend(config.callers.keys().map(|name| callers.scope(Some(name), None)).take(MOST));
    widen(&mut scopes, agents(config), |scope, agent| scope.agent.is_none().then(|| as_agent(scope, agent)));
    widen(&mut scopes, profiles(config), |scope, profile| scope.profile.is_none().then(|| in_profile(scope, profile)));
    let rules = [&config.policy.models].into_iter().chain(config.agents.values().map(|agent| &agent.models));
    let models: BTreeSet<&String> = rules.flat_map(|models| models.keys()).collect();
    widen(&mut scopes, models.into_iter(), |scope, model| {
        scope.model.is_none().then(|| Scope { model: Some(Model::new(model)), ..scope.clone() })
    });
    scopes
}

fn profiles(config: &Config) -> impl Iterator<Item = &String> {
    config.profiles.keys()
}

/// Agents by name; `*` stands for all others.
fn agents(config: &Config) -> impl Iterator<Item = &String> {
    config.agents.keys().filter(|name| *name != "*")
}

fn in_profile(scope: &Scope, name: &str) -> Scope {
    Scope { profile: Some(name.to_owned()), ..scope.clone() }
}

fn as_agent(scope: &Scope, name: &str) -> Scope {
    Scope { agent: Some(name.to_owned()), ..scope.clone() }
}

/// Adds each scope as it would be with each of the values.
fn widen<'c>(
    scopes: &mut Vec<Scope>,
    values: impl Iterator<Item = &'c String>,
    with: impl Fn(&Scope, &str) -> Option<Scope>,
) {
    let before = scopes.len();
    for value in values {
        for index in 0..before {
            if scopes.len() >= MOST {
                return;
            }
            if let Some(scope) = with(&scopes[index], value) {
                scopes.push(scope);
            }
        }
    }
}
