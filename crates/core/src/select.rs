//! Selection: the stages that decide which tools a scope may see. Each stage only removes; every removal is recorded
//! with the rule and the origin that caused it and with what would bring the tool back.

use std::{collections::BTreeMap, sync::Arc};

use globset::GlobSet;
use serde::Serialize;

use crate::{
    Catalog, Source, Tool, ToolId,
    name::{NameSettings, exposed_name},
    selector::{Groups, Selector},
};

/// Who is asking. A child's scope can only shrink its parent's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scope {
    /// The tenant; empty on a single-user machine.
    pub tenant: String,
    /// The authenticated principal, if any.
    pub user: Option<String>,
    /// The profile to apply; `None` = the default one.
    pub profile: Option<String>,
    /// The model's context length in tokens, if known.
    pub context_length: Option<u64>,
}

/// What an allow list lets through. Three cases, so that "empty" never means "everything".
#[derive(Clone, Debug)]
pub enum Allow {
    /// No list was given.
    All,
    /// A list was given and is empty.
    None,
    /// What the selectors name.
    Only(Vec<Selector>),
}

impl Allow {
    /// From an optional list: absent is [`Allow::All`], empty is [`Allow::None`].
    pub fn from_list(list: Option<Vec<Selector>>) -> Self {
        match list {
            None => Self::All,
            Some(list) if list.is_empty() => Self::None,
            Some(list) => Self::Only(list),
        }
    }
}

/// A tool under judgement.
#[derive(Clone, Copy)]
pub struct Candidate<'a> {
    /// The tool.
    pub tool: &'a Tool,
    /// The name it would have.
    pub exposed: &'a str,
    /// Groups that selectors may refer to.
    pub groups: &'a Groups,
}

/// Why a stage removed a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Removal {
    /// The rule, as the person who wrote it would recognise it.
    pub rule: String,
    /// Where the rule was written (file and key, flag, …).
    pub origin: String,
    /// What would bring the tool back.
    pub fix: String,
}

/// One step of the selection. Stages are pure; they see one tool at a time, so input order cannot matter.
pub trait Stage: Send + Sync {
    /// The stage's name in traces.
    fn name(&self) -> &str;
    /// Says why the tool is removed, or `None` to leave it.
    fn judge(&self, candidate: Candidate<'_>, scope: &Scope) -> Option<Removal>;
    /// Selectors written in this stage that apply to the scope, for warnings about those that name nothing.
    fn selectors(&self, _scope: &Scope) -> Vec<&Selector> {
        Vec::new()
    }
    /// Refuses scopes the stage cannot judge (an unknown profile): fail closed.
    fn check(&self, _scope: &Scope) -> Result<(), SelectError> {
        Ok(())
    }
}

/// A scope that cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    /// The scope names a profile that is not configured.
    #[error("no profile is called '{name}'; configured: {}", known_list(.known))]
    UnknownProfile {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// A rule names a group that is not configured.
    #[error("{stage} names '{selector}', but there is no such group; known groups: {}", known_list(.known))]
    UnknownGroup {
        /// The stage the rule is in.
        stage: String,
        /// The selector.
        selector: String,
        /// The names there are.
        known: Vec<String>,
    },
}

fn known_list(known: &[String]) -> String {
    if known.is_empty() { "none".to_owned() } else { known.join(", ") }
}

/// Allow and deny lists: a tool must be allowed and not denied; deny wins.
#[derive(Clone, Debug)]
pub struct Lists {
    /// What may pass.
    pub allow: Allow,
    /// What may not, whatever `allow` says.
    pub deny: Vec<Selector>,
    /// Where the lists were written.
    pub origin: String,
}

impl Lists {
    fn judge(&self, candidate: Candidate<'_>) -> Option<Removal> {
        let Candidate { tool, exposed, groups } = candidate;
        if let Some(rule) = self.deny.iter().find(|selector| selector.matches(tool, exposed, groups)) {
            return Some(Removal {
                rule: format!("deny \"{rule}\""),
                origin: self.origin.clone(),
                fix: format!("remove \"{rule}\" from that deny list"),
            });
        }
        match &self.allow {
            Allow::All => None,
            Allow::Only(list) if list.iter().any(|selector| selector.grants(tool, exposed, groups)) => None,
            Allow::Only(_) => Some(Removal {
                rule: "allow list does not name it".to_owned(),
                origin: self.origin.clone(),
                fix: format!("add \"{}\" to that allow list", tool.id()),
            }),
            Allow::None => Some(Removal {
                rule: "allow list is empty, so nothing passes".to_owned(),
                origin: self.origin.clone(),
                fix: format!("add \"{}\" to that allow list, or remove the list to allow everything", tool.id()),
            }),
        }
    }

    fn selectors(&self) -> impl Iterator<Item = &Selector> {
        let allow = match &self.allow {
            Allow::Only(list) => list.as_slice(),
            Allow::All | Allow::None => &[],
        };
        allow.iter().chain(&self.deny)
    }
}

/// A stage with one pair of lists for everybody.
#[derive(Clone, Debug)]
pub struct ListStage {
    /// The stage's name in traces.
    pub name: String,
    /// The lists.
    pub lists: Lists,
}

impl Stage for ListStage {
    fn name(&self) -> &str {
        &self.name
    }

    fn judge(&self, candidate: Candidate<'_>, _scope: &Scope) -> Option<Removal> {
        self.lists.judge(candidate)
    }

    fn selectors(&self, _scope: &Scope) -> Vec<&Selector> {
        self.lists.selectors().collect()
    }
}

/// A stage whose lists are those of the scope's profile.
#[derive(Clone, Debug, Default)]
pub struct ProfileStage {
    /// Lists by profile name.
    pub profiles: BTreeMap<String, Lists>,
    /// The profile of scopes that name none.
    pub default: Option<String>,
}

impl ProfileStage {
    fn lists(&self, scope: &Scope) -> Option<&Lists> {
        self.profiles.get(scope.profile.as_ref().or(self.default.as_ref())?)
    }
}

impl Stage for ProfileStage {
    fn name(&self) -> &'static str {
        "profile"
    }

    fn judge(&self, candidate: Candidate<'_>, scope: &Scope) -> Option<Removal> {
        self.lists(scope)?.judge(candidate)
    }

    fn selectors(&self, scope: &Scope) -> Vec<&Selector> {
        self.lists(scope).map(|lists| lists.selectors().collect()).unwrap_or_default()
    }

    fn check(&self, scope: &Scope) -> Result<(), SelectError> {
        match scope.profile.as_ref().or(self.default.as_ref()) {
            Some(name) if !self.profiles.contains_key(name) => {
                Err(SelectError::UnknownProfile { name: name.clone(), known: self.profiles.keys().cloned().collect() })
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// A stage with the `include` and `exclude` globs of each server, held against the server's own names.
#[derive(Clone, Debug, Default)]
pub struct ServerStage {
    /// Filters by source.
    pub filters: BTreeMap<Source, ServerFilter>,
}

/// Which of a server's tools to offer.
#[derive(Clone, Debug)]
pub struct ServerFilter {
    /// Only these; `None` = all.
    pub include: Option<GlobSet>,
    /// Not these; wins over `include`.
    pub exclude: Option<GlobSet>,
    /// Where the filter was written.
    pub origin: String,
}

impl Stage for ServerStage {
    fn name(&self) -> &'static str {
        "server"
    }

    fn judge(&self, candidate: Candidate<'_>, _scope: &Scope) -> Option<Removal> {
        let filter = self.filters.get(candidate.tool.source())?;
        let name = candidate.tool.name();
        if filter.exclude.as_ref().is_some_and(|set| set.is_match(name)) {
            return Some(Removal {
                rule: "exclude names it".to_owned(),
                origin: filter.origin.clone(),
                fix: format!("take the pattern that matches \"{name}\" out of that server's exclude list"),
            });
        }
        if filter.include.as_ref().is_none_or(|set| set.is_match(name)) {
            return None;
        }
        Some(Removal {
            rule: "include does not name it".to_owned(),
            origin: filter.origin.clone(),
            fix: format!("add \"{name}\" to that server's include list"),
        })
    }
}

/// The declared order of stages.
#[derive(Clone, Default)]
pub struct Policy {
    stages: Vec<Arc<dyn Stage>>,
    /// Groups that the stages' selectors may name.
    pub groups: Groups,
}

impl Policy {
    /// A policy without stages: everything passes.
    pub fn new(groups: Groups) -> Self {
        Self { stages: Vec::new(), groups }
    }

    /// Adds a stage at the end.
    pub fn push(&mut self, stage: impl Stage + 'static) {
        self.stages.push(Arc::new(stage));
    }

    /// Whether the scope can be judged: its profile exists and so does every group that a rule names.
    pub fn check(&self, scope: &Scope) -> Result<(), SelectError> {
        for stage in &self.stages {
            stage.check(scope)?;
            for selector in stage.selectors(scope) {
                if let Some(group) = selector.group().filter(|group| !self.groups.contains(group)) {
                    return Err(SelectError::UnknownGroup {
                        stage: stage.name().to_owned(),
                        selector: format!("group:{group}"),
                        known: self.groups.names().map(str::to_owned).collect(),
                    });
                }
            }
        }
        Ok(())
    }
}

/// A tool that a stage removed.
#[derive(Clone, Debug)]
pub struct Removed {
    /// The tool.
    pub id: ToolId,
    /// The stage.
    pub stage: String,
    /// Why.
    pub removal: Removal,
}

/// What the stages left.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// The tools that stay, in catalog order.
    pub kept: Vec<Arc<Tool>>,
    /// The tools that do not, each with the first stage that removed it.
    pub removed: Vec<Removed>,
    /// Rules that name no tool of the catalog, as (stage, selector): kept, and worth a warning.
    pub unmatched: Vec<(String, String)>,
}

/// Runs every tool of the catalog through the stages. This is the one selection function: lists, search, describe and
/// call all go by its result (invariant 1).
pub fn select(
    catalog: &Catalog,
    policy: &Policy,
    names: &NameSettings,
    scope: &Scope,
) -> Result<Selection, SelectError> {
    policy.check(scope)?;
    let mut selection = Selection::default();
    let selectors: Vec<(&str, &Selector)> =
        policy.stages.iter().flat_map(|stage| stage.selectors(scope).into_iter().map(|s| (stage.name(), s))).collect();
    let mut matched = vec![false; selectors.len()];
    for tool in catalog.tools() {
        let exposed = exposed_name(tool.id(), names);
        let candidate = Candidate { tool, exposed: &exposed, groups: &policy.groups };
        for (hit, (_, selector)) in matched.iter_mut().zip(&selectors) {
            *hit = *hit || selector.matches(tool, &exposed, &policy.groups);
        }
        let removal = policy
            .stages
            .iter()
            .find_map(|stage| stage.judge(candidate, scope).map(|removal| (stage.name().to_owned(), removal)));
        match removal {
            None => selection.kept.push(tool.clone()),
            Some((stage, removal)) => selection.removed.push(Removed { id: tool.id().clone(), stage, removal }),
        }
    }
    selection.unmatched = selectors
        .iter()
        .zip(matched)
        .filter(|(_, hit)| !hit)
        .map(|((stage, selector), _)| ((*stage).to_owned(), selector.to_string()))
        .collect();
    Ok(selection)
}

#[cfg(test)]
mod tests;
