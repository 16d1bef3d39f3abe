//! What the configuration says of tools.

use std::{collections::BTreeMap, sync::Arc};

use anyhow::anyhow;
use toolcrib_config::{
    Loaded,
    model::{LabelConfig, RuleAction, ServerConfig},
};
use toolcrib_core::{Labels, labels::word, permission::Action};

/// Whether all labels can be used. One that cannot stops the start: lists that restrict may go by it.
pub(super) fn check(loaded: &Loaded) -> anyhow::Result<()> {
    let check = |key: String, text: &str| {
        word::check(text).map_err(|bad| {
            let place = loaded.origins.text(&key);
            anyhow!("{place}: '{}' cannot be a label: {bad}", word::shown(text))
        })
    };
    for (name, server) in &loaded.config.servers {
        let key = format!("servers.{name}");
        let of_server = (key.clone(), &server.namespace, &server.category, Some(&server.tags));
        let of_tools = server
            .tools
            .iter()
            .map(|(tool, said)| (format!("{key}.tools.{tool}"), &said.namespace, &said.category, said.tags.as_ref()));
        for (key, namespace, category, tags) in std::iter::once(of_server).chain(of_tools) {
            namespace.as_deref().map_or(Ok(()), |text| check(format!("{key}.namespace"), text))?;
            // Empty takes it away from one tool.
            let category = category.as_deref().filter(|text| !text.is_empty());
            category.map_or(Ok(()), |text| check(format!("{key}.category"), text))?;
            tags.into_iter().flatten().try_for_each(|tag| check(format!("{key}.tags"), tag))?;
        }
    }
    Ok(())
}

/// Of all tools of a server, and of single ones.
pub(super) fn of_server(
    name: &str,
    server: &ServerConfig,
    loaded: &Loaded,
) -> (Arc<Labels>, BTreeMap<String, Arc<Labels>>) {
    let text = |text: &Option<String>| text.as_deref().map(Arc::from);
    let all = Labels {
        namespace: text(&server.namespace),
        category: text(&server.category),
        tags: server.tags.as_slice().into(),
        priority: server.priority,
        always: server.always,
        origin: loaded.origins.text(&format!("servers.{name}")).into(),
        ..Labels::default()
    };
    let single = server.tools.iter();
    let origin = |tool: &str| loaded.origins.text(&format!("servers.{name}.tools.{tool}"));
    let single = single.map(|(tool, said)| (tool.clone(), Arc::new(over(&all, said, origin(tool)))));
    (Arc::new(all.clone()), single.collect())
}

/// What is said of one tool laid over what is said of all.
fn over(all: &Labels, said: &LabelConfig, origin: String) -> Labels {
    let text = |text: &Option<String>| text.as_deref().map(Arc::from);
    Labels {
        enabled: said.enabled.unwrap_or(all.enabled),
        namespace: text(&said.namespace).or_else(|| all.namespace.clone()),
        category: text(&said.category).or_else(|| all.category.clone()),
        tags: said.tags.as_deref().map_or_else(|| all.tags.clone(), Arc::from),
        priority: said.priority.unwrap_or(all.priority),
        conditions: all.conditions.clone(),
        always: said.always.unwrap_or(all.always),
        optional: said.optional.unwrap_or(all.optional),
        permission: said.permission.map(action).or(all.permission),
        origin: origin.into(),
        ..all.clone()
    }
}

fn action(word: RuleAction) -> Action {
    match word {
        RuleAction::Allow => Action::Allow,
        RuleAction::Ask => Action::Ask,
        RuleAction::Deny => Action::Deny,
    }
}
