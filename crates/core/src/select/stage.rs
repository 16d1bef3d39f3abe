//! Stages that an embedding program brings, and the filters of servers.

use globset::GlobSet;
use serde::Serialize;

use super::{Allow, Lists, Scope, SelectError};
use crate::{
    Tool,
    permission::ToolPattern,
    selector::{Groups, Selector},
};

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

/// A stage beyond those that a policy has. Stages are pure; they see one tool at a time, so input order cannot matter.
pub trait Stage: Send + Sync {
    /// The stage's name in traces.
    fn name(&self) -> &str;
    /// Says why the tool is removed, or `None` to leave it.
    fn judge(&self, candidate: Candidate<'_>, scope: &Scope) -> Option<Removal>;
    /// Selectors written in this stage that apply to the scope, for warnings about those that name nothing.
    fn selectors(&self, _scope: &Scope) -> Vec<&Selector> {
        Vec::new()
    }
    /// Refuses scopes that the stage cannot judge: fail closed.
    fn check(&self, _scope: &Scope) -> Result<(), SelectError> {
        Ok(())
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
        let Candidate { tool, exposed, groups } = candidate;
        let Lists { allow, also_allow, deny, unless_allowed, origins } = &self.lists;
        if let Some(rule) = deny.iter().find(|selector| selector.matches(tool, exposed, groups)) {
            return Some(denied(rule, &origins.deny));
        }
        let named = allow.selectors().iter().chain(also_allow).any(|one| one.grants(tool, exposed, groups));
        if named {
            return None;
        }
        if let Some(rule) = unless_allowed.iter().find(|selector| selector.matches(tool, exposed, groups)) {
            return Some(denied(rule, &origins.deny));
        }
        match allow {
            Allow::All => None,
            Allow::Only(_) | Allow::None => Some(not_allowed(tool, allow, origins)),
        }
    }

    fn selectors(&self, _scope: &Scope) -> Vec<&Selector> {
        self.lists.selectors().map(|(selector, _)| selector).collect()
    }
}

pub(super) fn denied(rule: &Selector, origin: &str) -> Removal {
    Removal {
        rule: format!("deny \"{rule}\""),
        origin: origin.to_owned(),
        fix: format!("remove \"{rule}\" from that deny list"),
    }
}

pub(super) fn not_allowed(tool: &Tool, allow: &Allow, origins: &super::Origins) -> Removal {
    let id = tool.id();
    // A list that nobody wrote can be added to, not edited.
    let written = origins.allow != "default" && !origins.allow.starts_with("built-in");
    let place = if written || origins.home.is_empty() {
        "that allow list".to_owned()
    } else {
        format!("{}.also_allow", origins.home)
    };
    let (rule, or) = if *allow == Allow::None {
        ("allow list is empty, so nothing passes", ", or remove the list to allow everything")
    } else {
        ("allow list does not name it", "")
    };
    Removal { rule: rule.to_owned(), origin: origins.allow.clone(), fix: format!("add \"{id}\" to {place}{or}") }
}

/// Which of a server's tools to offer, by the server's own names.
#[derive(Clone, Debug)]
pub struct ServerFilter {
    /// Only these; `None` = all.
    pub include: Option<GlobSet>,
    /// Not these; wins over `include`.
    pub exclude: Option<GlobSet>,
    /// Where the filter was written.
    pub origin: String,
}

impl ServerFilter {
    /// Held against the server's own name and the exposed one (openclaw case 55).
    pub(super) fn judge(&self, tool: &Tool, exposed: &str) -> Option<bool> {
        let named = |set: &GlobSet| set.is_match(tool.name()) || set.is_match(exposed);
        if self.exclude.as_ref().is_some_and(named) {
            return Some(true);
        }
        if self.include.as_ref().is_none_or(named) { None } else { Some(false) }
    }

    pub(super) fn removal(&self, tool: &Tool, excluded: bool) -> Removal {
        let name = tool.name();
        let (rule, fix) = if excluded {
            ("exclude names it", format!("take the pattern that matches \"{name}\" out of that server's exclude list"))
        } else {
            ("include does not name it", format!("add \"{name}\" to that server's include list"))
        };
        Removal { rule: rule.to_owned(), origin: self.origin.clone(), fix }
    }
}

/// A permission rule that denies every call of the tools it names: those are not shown either (openclaw cases 41, 43
/// and 72a).
#[derive(Clone, Debug)]
pub struct DeniedTools {
    /// The rule; counts if it means whole tools.
    pub pattern: ToolPattern,
    /// Where it was written.
    pub origin: String,
}
