//! One tool for those that several instances of one server offer alike, with an argument that says which is meant.
//!
//! Three accounts of one service are three servers with the same tools; a model that sees every tool three times chooses
//! worse and pays three times. Only what is the same to the letter is merged, and only where the configuration says so.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use serde_json::{Map, Value, json, value::RawValue};

use super::{Claim, NameSettings, exposed_name};
use crate::{ContentHash, Labels, Source, Tool, ToolId};

/// Servers whose tools are merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeRule {
    /// What stands for the servers in names and listings; no server has this name.
    pub label: String,
    /// The servers; also the values of the argument.
    pub servers: Vec<String>,
    /// The argument that says which is meant.
    pub argument: String,
}

/// A tool that stands for several.
#[derive(Clone, Debug)]
pub struct Merged {
    /// The argument that says which is meant.
    pub argument: String,
    /// The tools by server.
    pub members: BTreeMap<String, Arc<Tool>>,
}

/// A call of a merged tool that does not say which one it means.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{argument}' has to be one of {}", .known.join(", "))]
pub struct WhichOne {
    /// The argument.
    pub argument: String,
    /// Its values.
    pub known: Vec<String>,
}

impl Merged {
    /// The tool that a call means, and its arguments without the one that says so, as they were written.
    pub fn choose(&self, arguments: Option<&RawValue>) -> Result<(&Arc<Tool>, Option<Box<RawValue>>), WhichOne> {
        let which = || WhichOne { argument: self.argument.clone(), known: self.members.keys().cloned().collect() };
        // Each value stays as it was written: digits of big numbers count.
        let read =
            arguments.and_then(|raw| serde_json::from_str::<indexmap::IndexMap<String, Box<RawValue>>>(raw.get()).ok());
        let mut read = read.ok_or_else(which)?;
        let chosen = read.shift_remove(&self.argument).ok_or_else(which)?;
        let chosen: String = serde_json::from_str(chosen.get()).map_err(|_| which())?;
        let tool = self.members.get(chosen.trim()).ok_or_else(which)?;
        Ok((tool, serde_json::value::to_raw_value(&read).ok()))
    }
}

/// Replaces the claims of tools that rules merge. A rule holds from its first server on: what is shown must not change
/// its name when the second one comes up. Gives the merged tools by their identity.
pub(crate) fn merge(
    claims: Vec<Claim>,
    rules: &[MergeRule],
    settings: &NameSettings,
) -> (Vec<Claim>, HashMap<ToolId, Merged>) {
    let mut merged = HashMap::new();
    let mut claims = claims;
    for rule in rules {
        let of_rule = |claim: &Claim| match claim.tool.source() {
            Source::Mcp(server) => rule.servers.contains(server),
            _ => false,
        };
        let mut alike: BTreeMap<(String, ContentHash), BTreeMap<String, Arc<Tool>>> = BTreeMap::new();
        for claim in claims.iter().filter(|claim| of_rule(claim)) {
            let tool = &claim.tool;
            let key = (tool.name().to_owned(), tool.hash());
            alike.entry(key).or_default().insert(tool.source().group().to_owned(), tool.clone());
        }
        // Of several definitions under one name the one that most servers have; the others keep their own names.
        let mut best: BTreeMap<String, BTreeMap<String, Arc<Tool>>> = BTreeMap::new();
        for ((name, _), members) in alike {
            let better = best.get(&name).is_none_or(|found| members.len() > found.len());
            if better && !has_property(members.values().next(), &rule.argument) {
                best.insert(name, members);
            }
        }
        let gone = |claim: &Claim| {
            of_rule(claim)
                && best.get(claim.tool.name()).is_some_and(|members| {
                    members.get(claim.tool.source().group()).is_some_and(|tool| Arc::ptr_eq(tool, &claim.tool))
                })
        };
        claims.retain(|claim| !gone(claim));
        for members in best.into_values() {
            let Some(tool) = stand_in(rule, &members) else { continue };
            let name = exposed_name(tool.id(), settings);
            merged.insert(tool.id().clone(), Merged { argument: rule.argument.clone(), members });
            claims.push(Claim { name, tool: Arc::new(tool), position: usize::MAX });
        }
    }
    (claims, merged)
}

fn has_property(tool: Option<&Arc<Tool>>, argument: &str) -> bool {
    tool.is_none_or(|tool| tool.input_schema()["properties"].get(argument).is_some())
}

/// The tool that is shown for its members.
fn stand_in(rule: &MergeRule, members: &BTreeMap<String, Arc<Tool>>) -> Option<Tool> {
    let first = members.values().next()?;
    let mut definition = Value::clone(first.definition());
    let schema = definition.get_mut("inputSchema")?.as_object_mut()?;
    let labels: Vec<&String> = members.keys().collect();
    let argument = json!({
        "type": "string",
        "enum": labels,
        "description": format!("Which {} is meant.", rule.label),
    });
    let properties = schema.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    properties.as_object_mut()?.insert(rule.argument.clone(), argument);
    let required = schema.entry("required").or_insert_with(|| json!([]));
    required.as_array_mut()?.push(rule.argument.clone().into());
    let mut tags: Vec<String> = members.values().flat_map(|tool| tool.tags().iter().cloned()).collect();
    tags.sort();
    tags.dedup();
    let source = Source::Mcp(rule.label.clone());
    let tool = Tool::new(source, first.name().to_owned(), definition, first.annotations());
    let trusted = members.values().all(|tool| tool.hints_trusted());
    // What all say alike is said of it too.
    let all = |of: fn(&Labels) -> &Option<Arc<str>>| {
        let first = of(first.labels());
        if members.values().all(|tool| of(tool.labels()) == first) { first.clone() } else { None }
    };
    let labels = Labels {
        enabled: true,
        namespace: all(|labels| &labels.namespace),
        category: all(|labels| &labels.category),
        tags: tags.into(),
        priority: members.values().map(|tool| tool.labels().priority).max().unwrap_or_default(),
        conditions: first.labels().conditions.clone(),
        always: members.values().any(|tool| tool.always()),
        optional: false,
        // Each call is judged as one of the tool that it means.
        permission: None,
        origin: first.labels().origin.clone(),
        ..Labels::default()
    };
    Some(tool.with_labels(Arc::new(labels)).with_trusted_hints(trusted))
}

#[cfg(test)]
mod tests;
