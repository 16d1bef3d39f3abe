//! As whom tools are looked at and called: from flags, and from what the configuration says of callers, to scopes.

use std::{collections::BTreeSet, sync::Arc};

use anyhow::{anyhow, bail};
use toolcrib_config::{Loaded, model::CallerConfig};
use toolcrib_core::{
    Scope,
    select::{Allow, Cap, Model, Role, Sender, sender_key},
};

use super::selectors;
use crate::args::SourceArgs;

/// The scope of the command line: of whoever looks, and of a serving process's callers before they are known.
pub(crate) fn scope(flags: &SourceArgs, loaded: &Loaded) -> anyhow::Result<Scope> {
    let whom = &flags.whom;
    let mut scope = Scope { model: whom.model.as_deref().map(Model::new), ..Scope::default() };
    scope.channel.clone_from(&whom.channel);
    for text in &whom.sender {
        scope.sender.get_or_insert_default().tell(text);
    }
    scope.sandbox = whom.sandbox;
    scope.capabilities = whom.capability.iter().cloned().collect();
    // Who sits at this machine's command line is the owner; who writes in a channel is only if the configuration knows
    // the sender, and who comes over the network only with a key that says so.
    let at_home = !whom.remote && scope.channel.is_none() && scope.sender.is_none();
    scope.owner = whom.owner || at_home || is_owner(&scope, &loaded.config.policy.owners)?;
    for id in &whom.grant {
        let id = id.parse().map_err(|error| anyhow!("--grant: {error}; write SOURCE/TOOL"))?;
        scope.grants.insert(id);
    }
    let mut line = whom.parent.iter().map(Some).chain([whom.agent.as_ref()]);
    scope.agent = line.next().flatten().cloned();
    for agent in line {
        scope = Arc::new(scope).child(agent.cloned());
    }
    scope.role =
        whom.role.as_deref().map(str::parse::<Role>).transpose().map_err(|error| anyhow!("--role: {error}"))?;
    scope.profile.clone_from(&flags.profile);
    scope.required = selectors(&whom.require, "--require", loaded)?;
    if !flags.allow.is_empty() || !flags.deny.is_empty() {
        let allow = selectors(&flags.allow, "--allow", loaded)?;
        scope.caps.push(Cap {
            allow: if allow.is_empty() { Allow::All } else { Allow::Only(allow) },
            deny: selectors(&flags.deny, "--deny", loaded)?,
            origin: "flags --allow and --deny".to_owned(),
        });
    }
    Ok(scope)
}

/// Whether the sender of a scope is the owner.
pub(crate) fn is_owner(scope: &Scope, owners: &[String]) -> anyhow::Result<bool> {
    let keys: BTreeSet<String> = scope.sender.iter().flat_map(Sender::keys).collect();
    let mut found = false;
    for owner in owners {
        let (channel, key) = match owner.split_once('/') {
            Some((channel, key)) => (Some(channel), key),
            None => (None, owner.as_str()),
        };
        if key.starts_with("name:") || key == "*" {
            bail!("policy.owners: '{owner}' proves nothing, because senders choose their names; use id: or phone:");
        }
        let in_channel = channel.is_none_or(|channel| {
            let is = |at: &str| at == channel || at.strip_prefix(channel).is_some_and(|rest| rest.starts_with(':'));
            scope.channel.as_deref().is_some_and(is)
        });
        found |= in_channel && keys.contains(&sender_key(key));
    }
    Ok(found)
}

/// What the configuration says of one caller, read.
#[derive(Clone, Debug)]
pub(crate) struct CallerRule {
    told: CallerConfig,
    cap: Option<Cap>,
}

/// What the configuration says of callers.
pub(crate) fn caller_rules(loaded: &Loaded) -> anyhow::Result<std::collections::BTreeMap<String, CallerRule>> {
    let rule = |(name, told): (&String, &CallerConfig)| {
        let key = format!("callers.{name}");
        let lists = told.allow.is_some() || !told.deny.is_empty();
        let allow = told.allow.as_ref().map(|list| selectors(list, &format!("{key}.allow"), loaded)).transpose()?;
        let cap = Cap {
            allow: Allow::from_list(allow),
            deny: selectors(&told.deny, &format!("{key}.deny"), loaded)?,
            origin: loaded.origins.text(&key),
        };
        Ok((name.clone(), CallerRule { told: told.clone(), cap: lists.then_some(cap) }))
    };
    loaded.config.callers.iter().map(rule).collect()
}

/// The scope of a caller with a key of that name, within the one of the serving process. What its flags say stands.
pub(crate) fn caller_scope(mut scope: Scope, rule: &CallerRule) -> Scope {
    let CallerRule { told, cap } = rule;
    let fill = |place: &mut Option<String>, told: &Option<String>| {
        if place.is_none() {
            place.clone_from(told);
        }
    };
    fill(&mut scope.profile, &told.profile);
    fill(&mut scope.agent, &told.agent);
    fill(&mut scope.channel, &told.channel);
    if scope.model.is_none() {
        scope.model = told.model.as_deref().map(Model::new);
    }
    scope.owner |= told.owner;
    scope.sandbox |= told.sandboxed;
    scope.capabilities.extend(told.capabilities.iter().cloned());
    scope.caps.extend(cap.clone());
    scope
}
