//! From `policy`, `profiles`, `agents` and `groups` to the stages of selection. A selector that cannot be read stops
//! the start: a rule that restricts must not be dropped quietly.

use std::collections::BTreeMap;

use anyhow::{Context, anyhow, bail};
use toolcrib_config::{
    Loaded,
    model::{AgentConfig, AgentRole, ListsConfig, ModelRuleConfig, SubAgentsConfig},
};
use toolcrib_core::{
    Source, ToolId,
    categories::BadCategoryId,
    labels::word::same,
    name::MergeRule,
    select::{
        Allow, DeniedTools, Layer, Lists, ModelRule, Named, Origins, Policy, Role, ServerFilter, SubAgents, sender_key,
    },
    selector::{Groups, Selector},
};
use toolcrib_engine::PermissionSettings;

use super::{globs, selectors};

/// Groups and other names of tools.
pub(super) fn groups(loaded: &Loaded) -> anyhow::Result<Groups> {
    let mut groups = Groups::default();
    for (name, members) in &loaded.config.groups {
        if let Some(twin) = twin(name, loaded.config.groups.keys()) {
            let place = loaded.origins.text(&format!("groups.{name}"));
            bail!(
                "{place}: '{twin}' and '{name}' are one group, because the case of letters does not count; make one of them"
            );
        }
        groups.insert(name, selectors(members, &format!("groups.{name}"), loaded)?);
    }
    if loaded.config.categories.enabled {
        for (name, said) in &loaded.config.categories.category {
            let key = format!("categories.category.{name}");
            let id = name.parse().map_err(|bad: BadCategoryId| anyhow!("{}: {bad}", loaded.origins.text(&key)))?;
            groups.insert_category(id, selectors(&said.tools, &format!("{key}.tools"), loaded)?);
        }
    }
    for (name, members) in &loaded.config.groups {
        for member in selectors(members, &format!("groups.{name}"), loaded)? {
            groups.check(&member).with_context(|| loaded.origins.text(&format!("groups.{name}")))?;
        }
    }
    for (name, tool) in &loaded.config.names.aliases {
        let key = format!("names.aliases.{name}");
        let tool: ToolId = tool.parse().map_err(|_| {
            let place = loaded.origins.text(&key);
            anyhow!("{place}: '{tool}' is no tool's identity; write one like builtin/run_command or mcp:SERVER/TOOL")
        })?;
        groups.alias(name, tool);
    }
    Ok(groups)
}

/// The name that stands before this one and is the same but for the case of letters.
pub(super) fn twin<'n>(name: &str, all: impl Iterator<Item = &'n String>) -> Option<&'n String> {
    all.take_while(|other| *other != name).find(|other| same(other, name))
}

/// Servers whose tools are merged.
pub(super) fn merge(loaded: &Loaded) -> anyhow::Result<Vec<MergeRule>> {
    let config = &loaded.config;
    let mut taken: BTreeMap<&str, &str> = BTreeMap::new();
    let mut rules = Vec::new();
    for (label, rule) in &config.names.merge {
        let place = loaded.origins.text(&format!("names.merge.{label}"));
        if config.servers.contains_key(label) {
            bail!("{place}: '{label}' is a server; the name that stands for several must be its own");
        }
        if rule.argument.trim().is_empty() || label.is_empty() || label.contains(['/', ':']) {
            bail!("{place}: a name without / and :, and the name of an argument are needed");
        }
        for server in &rule.servers {
            if !config.servers.contains_key(server) {
                bail!("{place}: there is no server '{server}'");
            }
            if let Some(other) = taken.insert(server, label) {
                bail!("{place}: '{server}' is merged under '{other}' already");
            }
        }
        let (servers, argument) = (rule.servers.clone(), rule.argument.clone());
        rules.push(MergeRule { label: label.clone(), servers, argument });
    }
    Ok(rules)
}

/// The policy, without what is said on the command line.
pub(super) fn policy(loaded: &Loaded, groups: Groups, permissions: &PermissionSettings) -> anyhow::Result<Policy> {
    let config = &loaded.config;
    let mut policy = Policy::new(groups);
    for (name, server) in &config.servers {
        if server.include.is_some() || !server.exclude.is_empty() {
            let key = format!("servers.{name}");
            let filter = ServerFilter {
                include: server.include.as_deref().map(|list| globs(list, &format!("{key}.include"))).transpose()?,
                exclude: Some(globs(&server.exclude, &format!("{key}.exclude"))?),
                origin: loaded.origins.text(&key),
            };
            policy.servers.insert(Source::Mcp(name.clone()), filter);
        }
    }
    let denied = permissions
        .deny
        .iter()
        .map(|pattern| DeniedTools { pattern: pattern.clone(), origin: loaded.origins.text("permissions.deny") });
    policy.denied = if config.policy.show_denied { Vec::new() } else { denied.collect() };
    for (name, profile) in &config.profiles {
        let home = format!("profiles.{name}");
        let written = Written { allow: profile.allow.as_ref(), also: &profile.also_allow, deny: &profile.deny };
        let mut lists = written.read(&home, loaded)?;
        // Of a profile that exists anyway, what is not written stays as it is.
        if let (None, Some(built_in)) = (&profile.allow, policy.profiles.get(name)) {
            lists.allow = built_in.allow.clone();
            lists.origins.allow.clone_from(&built_in.origins.allow);
        }
        policy.profiles.insert(name.clone(), lists);
    }
    let named = |list: &[String], key: &str| -> anyhow::Result<Named> {
        Ok(Named { selectors: selectors(list, key, loaded)?, origin: loaded.origins.text(key) })
    };
    policy.owner_only = named(&config.policy.owner_only, "policy.owner_only")?;
    policy.optional = named(&config.policy.optional, "policy.optional")?;
    for (capability, list) in &config.policy.capabilities {
        let key = format!("policy.capabilities.{capability}");
        policy.capabilities.insert(capability.clone(), named(list, &key)?);
    }
    let everyone = AgentConfig {
        profile: config.profile.clone(),
        allow: config.policy.allow.clone(),
        also_allow: config.policy.also_allow.clone(),
        deny: config.policy.deny.clone(),
        required: config.policy.required.clone(),
        models: config.policy.models.clone(),
        channels: config.policy.channels.clone(),
        senders: config.policy.senders.clone(),
        sandbox: config.policy.sandbox.clone(),
        subagents: config.policy.subagents.clone(),
        coordinator: config.policy.coordinator.clone(),
        ..AgentConfig::default()
    };
    policy.everyone = layer(&everyone, "policy", loaded)?;
    for (name, agent) in &config.agents {
        policy.agents.insert(name.clone(), layer(agent, &format!("agents.{name}"), loaded)?);
    }
    Ok(policy)
}

fn layer(config: &AgentConfig, home: &str, loaded: &Loaded) -> anyhow::Result<Layer> {
    let written = Written { allow: config.allow.as_ref(), also: &config.also_allow, deny: &config.deny };
    let key = |part: &str| format!("{home}.{part}");
    let each = |map: &BTreeMap<String, ListsConfig>, part: &str| -> anyhow::Result<Vec<(String, Lists)>> {
        map.iter()
            .map(|(name, lists)| Ok((name.clone(), read(lists, &key(&format!("{part}.{name}")), loaded)?)))
            .collect()
    };
    let mut models = BTreeMap::new();
    for (name, rule) in &config.models {
        let ModelRuleConfig { profile, allow, also_allow, deny } = rule;
        let written = Written { allow: allow.as_ref(), also: also_allow, deny };
        let lists = written.read(&key(&format!("models.{name}")), loaded)?;
        models.insert(name.trim().to_lowercase(), ModelRule { profile: profile.clone(), lists });
    }
    let sandbox = config.sandbox.as_ref().map(|lists| -> anyhow::Result<Lists> {
        let default = |text: &str| text.parse().into_iter();
        let unless_allowed = default("group:fs").chain(default("group:runtime")).collect();
        Ok(Lists { unless_allowed, ..read(lists, &key("sandbox"), loaded)? })
    });
    let coordinator = config.coordinator.as_ref().map(|lists| -> anyhow::Result<Lists> {
        let mut read = read(lists, &key("coordinator"), loaded)?;
        if lists.allow.is_none() {
            read.allow = Allow::Only("group:coordinator".parse().into_iter().collect());
            "default".clone_into(&mut read.origins.allow);
        }
        Ok(read)
    });
    Ok(Layer {
        profile: config.profile.clone(),
        role: config.role.map(role),
        sandboxed: config.sandboxed,
        lists: written.read(home, loaded)?,
        models,
        channels: each(&config.channels, "channels")?.into_iter().collect(),
        senders: each(&config.senders, "senders")?
            .into_iter()
            .map(|(name, lists)| (sender_key(&name), lists))
            .collect(),
        sandbox: sandbox.transpose()?,
        sub_agents: config.subagents.as_ref().map(|rules| sub_agents(rules, &key("subagents"), loaded)).transpose()?,
        coordinator: coordinator.transpose()?,
        required: Named {
            selectors: selectors(&config.required, &key("required"), loaded)?,
            origin: loaded.origins.text(&key("required")),
        },
    })
}

fn sub_agents(config: &SubAgentsConfig, home: &str, loaded: &Loaded) -> anyhow::Result<SubAgents> {
    let SubAgentsConfig { max_depth, allow, also_allow, deny } = config;
    let default = SubAgents::default();
    let lists = Written { allow: allow.as_ref(), also: also_allow, deny }.read(home, loaded)?;
    Ok(SubAgents {
        max_depth: max_depth.map_or(default.max_depth, super::size),
        lists: Lists { unless_allowed: default.lists.unless_allowed, ..lists },
        leaf: default.leaf,
    })
}

/// The part an agent plays, by its word.
pub(crate) fn role(word: AgentRole) -> Role {
    match word {
        AgentRole::Coordinator => Role::Coordinator,
        AgentRole::Orchestrator => Role::Orchestrator,
        AgentRole::Leaf => Role::Leaf,
    }
}

fn read(lists: &ListsConfig, home: &str, loaded: &Loaded) -> anyhow::Result<Lists> {
    Written { allow: lists.allow.as_ref(), also: &lists.also_allow, deny: &lists.deny }.read(home, loaded)
}

/// Lists as they are written.
struct Written<'a> {
    allow: Option<&'a Vec<String>>,
    also: &'a [String],
    deny: &'a [String],
}

impl Written<'_> {
    fn read(&self, home: &str, loaded: &Loaded) -> anyhow::Result<Lists> {
        let key = |list: &str| format!("{home}.{list}");
        let read =
            |list: &[String], name: &str| -> anyhow::Result<Vec<Selector>> { selectors(list, &key(name), loaded) };
        let origin = |name: &str| loaded.origins.text(&key(name));
        Ok(Lists {
            allow: Allow::from_list(self.allow.map(|list| read(list, "allow")).transpose()?),
            also_allow: read(self.also, "also_allow")?,
            deny: read(self.deny, "deny")?,
            unless_allowed: Vec::new(),
            origins: Origins {
                home: home.to_owned(),
                allow: origin("allow"),
                also_allow: origin("also_allow"),
                deny: origin("deny"),
            },
        })
    }
}
