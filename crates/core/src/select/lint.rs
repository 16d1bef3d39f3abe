//! Looking a policy over: entries that do nothing, lists that leave nothing, grants that give too much, names that are
//! taken for one another. For people; nothing here decides anything.

mod categories;
mod entries;
mod grants;
mod mentions;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::Serialize;

use super::{Allow, Lists, Named, Policy, Scope, gate::Why, select};
use crate::{
    Catalog, Tool, ToolId,
    assemble::AssembleSettings,
    name::{Alike, assign, exposed_name, lookalikes},
    permission::RiskRule,
};

pub use mentions::{Mention, Mentioned, lint_mentions};

/// Most scopes looked through.
const MAX_SCOPES: usize = 64;

/// Something about a policy that a person should know.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct PolicyFinding {
    /// How bad it is.
    pub level: Level,
    /// What kind it is.
    pub kind: FindingKind,
    /// Where it was written: key and file.
    pub origin: String,
    /// The entry, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// What is wrong and what to do.
    pub message: String,
}

impl fmt::Display for PolicyFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(entry) = &self.entry {
            write!(f, "'{entry}' in ")?;
        }
        write!(f, "{}: {}", self.origin, self.message)
    }
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Somebody cannot be served.
    Error,
    /// Most likely not what was meant.
    Warning,
    /// Worth knowing.
    Note,
}

impl Level {
    /// The level's word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// Kinds of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// A scope cannot be judged, or what it needs is missing.
    Unservable,
    /// An entry that names no tool.
    Unmatched,
    /// An entry whose tools are not here at the moment.
    Unavailable,
    /// An entry that allows tools which the list's own denials, or earlier stages, have removed.
    Shadowed,
    /// An entry that adds nothing beside another one.
    Redundant,
    /// Lists that leave nothing.
    RemovesEverything,
    /// Tools that nobody is shown.
    Unreachable,
    /// An entry that gives more than it should.
    Unsafe,
    /// Names that are taken for one another.
    Lookalike,
}

/// Looks a policy over. `scopes` are those in use, each with what people call it: the default one, one for each profile,
/// agent and caller that is configured; at most 64 are looked through. Sorted by gravity.
pub fn lint(
    catalog: &Catalog,
    settings: &AssembleSettings,
    risks: &[RiskRule],
    scopes: &[(String, Scope)],
) -> Vec<PolicyFinding> {
    let policy = &settings.policy;
    let known = Known {
        tools: catalog.tools().map(|tool| (&**tool, exposed_name(tool.id(), &settings.names))).collect(),
        catalog,
        settings,
        risks,
    };
    let mut findings = BTreeSet::new();
    for place in places(policy) {
        entries::unmatched(&place, &known, &mut findings);
        entries::shadowed_within(&place, &known, &mut findings);
        grants::too_much(&place, &known, &mut findings);
    }
    across(&known, scopes, &mut findings);
    findings.into_iter().collect()
}

/// What findings are made from.
struct Known<'a> {
    tools: Vec<(&'a Tool, String)>,
    catalog: &'a Catalog,
    settings: &'a AssembleSettings,
    risks: &'a [RiskRule],
}

/// A place in a policy where selectors stand.
struct Place<'a> {
    role: PlaceRole<'a>,
    lists: PlaceLists<'a>,
}

enum PlaceLists<'a> {
    Lists(&'a Lists),
    Named(&'a Named),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PlaceRole<'a> {
    Profile(&'a str),
    Everyone,
    Agent,
    Model,
    Channel(&'a str),
    Sender(&'a str),
    Sandbox,
    SubAgents,
    Coordinator,
    Condition,
}

fn places(policy: &Policy) -> Vec<Place<'_>> {
    let mut places = Vec::new();
    let mut push = |role, lists| places.push(Place { role, lists });
    let written = policy.profiles.iter().filter(|(_, lists)| {
        let built_in = |origin: &str| origin.starts_with("built-in") || origin == "default";
        !(built_in(&lists.origins.allow) && built_in(&lists.origins.deny) && lists.also_allow.is_empty())
    });
    for (name, lists) in written {
        push(PlaceRole::Profile(name), PlaceLists::Lists(lists));
    }
    let layers = policy.agents.values().map(|layer| (PlaceRole::Agent, layer));
    for (role, layer) in std::iter::once((PlaceRole::Everyone, &policy.everyone)).chain(layers) {
        push(role, PlaceLists::Lists(&layer.lists));
        for rule in layer.models.values() {
            push(PlaceRole::Model, PlaceLists::Lists(&rule.lists));
        }
        for (name, lists) in &layer.channels {
            push(PlaceRole::Channel(name), PlaceLists::Lists(lists));
        }
        for (name, lists) in &layer.senders {
            push(PlaceRole::Sender(name), PlaceLists::Lists(lists));
        }
        if let Some(lists) = &layer.sandbox {
            push(PlaceRole::Sandbox, PlaceLists::Lists(lists));
        }
        if let Some(rules) = &layer.sub_agents {
            push(PlaceRole::SubAgents, PlaceLists::Lists(&rules.lists));
        }
        if let Some(lists) = &layer.coordinator {
            push(PlaceRole::Coordinator, PlaceLists::Lists(lists));
        }
        push(PlaceRole::Condition, PlaceLists::Named(&layer.required));
    }
    for named in [&policy.owner_only, &policy.optional].into_iter().chain(policy.capabilities.values()) {
        push(PlaceRole::Condition, PlaceLists::Named(named));
    }
    places
}

/// What shows only when scopes are judged.
fn across(known: &Known<'_>, scopes: &[(String, Scope)], findings: &mut BTreeSet<PolicyFinding>) {
    let Known { catalog, settings, .. } = known;
    // Entries of allow lists by origin and text: in how many scopes they apply, and in how many they are too late.
    let mut late: BTreeMap<(String, String), (usize, usize, String)> = BTreeMap::new();
    let mut reached: BTreeSet<ToolId> = BTreeSet::new();
    let mut unlisted: BTreeMap<ToolId, String> = BTreeMap::new();
    let mut pairs: BTreeSet<(Alike, Vec<String>)> = BTreeSet::new();
    for (label, scope) in scopes.iter().take(MAX_SCOPES) {
        let selection = match select(catalog, &settings.policy, &settings.names, scope) {
            Ok(selection) => selection,
            Err(error) => {
                findings.insert(PolicyFinding {
                    level: Level::Error,
                    kind: FindingKind::Unservable,
                    origin: label.clone(),
                    entry: None,
                    message: error.to_string(),
                });
                continue;
            }
        };
        entries::too_late(known, &selection, &mut late);
        for removed in selection.removals.iter() {
            if matches!(removed.why, Why::NotAllowed | Why::Optional(_)) {
                let stage = selection.removals.stage(removed);
                unlisted.entry(removed.tool.id().clone()).or_insert_with(|| stage.to_owned());
            }
        }
        reached.extend(selection.kept.iter().map(|claim| claim.tool.id().clone()));
        let assignment = assign(&selection.kept, &settings.names);
        for group in lookalikes(assignment.map.iter().map(|(name, id)| (id, name))) {
            pairs.insert((group.alike, group.tools.iter().map(|(id, name)| format!("{id} ({name})")).collect()));
        }
        if assignment.tools.is_empty() && !catalog.is_empty() && !selection.removals.allows_nothing() {
            let lists = selection.removals.allow_lists().join("; ");
            findings.insert(PolicyFinding {
                level: Level::Warning,
                kind: FindingKind::RemovesEverything,
                origin: label.clone(),
                entry: None,
                message: if lists.is_empty() {
                    "no tool is left".to_owned()
                } else {
                    format!("no tool is left: together these allow lists let nothing through: {lists}")
                },
            });
        }
    }
    for ((origin, entry), (applies, too_late, stage)) in late {
        if applies == too_late {
            findings.insert(PolicyFinding {
                level: Level::Warning,
                kind: FindingKind::Shadowed,
                message: format!("it lets nothing through: the {stage} stage has removed all that it names before"),
                origin,
                entry: Some(entry),
            });
        }
    }
    let mut hidden: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for (id, stage) in unlisted.into_iter().filter(|(id, _)| !reached.contains(id)) {
        hidden.entry((id.source.to_string(), stage)).or_default().push(id.name);
    }
    for ((source, stage), names) in hidden {
        let shown = names.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
        let more = if names.len() > 5 { format!(" and {} more", names.len() - 5) } else { String::new() };
        findings.insert(PolicyFinding {
            level: Level::Note,
            kind: FindingKind::Unreachable,
            origin: source,
            entry: None,
            message: format!(
                "nobody is shown {shown}{more}: no list of the {stage} stage names them; allow them somewhere, or exclude them at their server"
            ),
        });
    }
    for (alike, tools) in pairs {
        let how = match alike {
            Alike::Case => "differ only in case or in separators",
            Alike::Shape => "look alike",
        };
        findings.insert(PolicyFinding {
            level: Level::Warning,
            kind: FindingKind::Lookalike,
            origin: "names".to_owned(),
            entry: None,
            message: format!(
                "the names of {} {how}: a model or a person may take one for the other; exclude or rename one",
                tools.join(" and ")
            ),
        });
    }
}

/// Whether an allow list lets everything through.
fn is_open(allow: &Allow) -> bool {
    *allow == Allow::All || allow.selectors().iter().any(crate::selector::Selector::is_all)
}

#[cfg(test)]
mod tests;
