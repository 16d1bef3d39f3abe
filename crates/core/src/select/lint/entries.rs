//! Single entries of lists.

use std::collections::{BTreeMap, BTreeSet};

use super::{FindingKind, Known, Level, Place, PlaceLists, PolicyFinding};
use crate::{
    Source, SourceState, ToolId,
    bridge::suggest,
    name::SEPARATOR,
    permission::is_builtin,
    select::{Lists, Selection},
    selector::Selector,
};

/// What is said of built-in tools that are switched off.
pub(super) const NOT_HERE: &str =
    "it is a built-in tool that is not available here; the builtin section switches it on";

/// Built-in tools that exist although they may be switched off (openclaw case 37: one source of truth for known names).
pub(super) fn shipped(id: &ToolId) -> bool {
    id.source == Source::Builtin && is_builtin(&id.name)
}

pub(super) fn unmatched(place: &Place<'_>, known: &Known<'_>, findings: &mut BTreeSet<PolicyFinding>) {
    match place.lists {
        PlaceLists::Named(named) => {
            for selector in &named.selectors {
                entry(selector, &named.origin, false, known, findings);
            }
        }
        PlaceLists::Lists(lists) => {
            let Lists { allow, also_allow, deny, origins, .. } = lists;
            for selector in allow.selectors() {
                entry(selector, &origins.allow, true, known, findings);
            }
            for selector in also_allow {
                entry(selector, &origins.also_allow, true, known, findings);
            }
            for selector in deny {
                entry(selector, &origins.deny, false, known, findings);
            }
        }
    }
}

fn entry(selector: &Selector, origin: &str, lets: bool, known: &Known<'_>, findings: &mut BTreeSet<PolicyFinding>) {
    let groups = &known.settings.policy.groups;
    if groups.check(selector).is_err() {
        // The scopes that it applies to say so.
        return;
    }
    let mut tools = known.tools.iter();
    let named =
        tools.find(
            |(tool, name)| {
                if lets { selector.grants(tool, name, groups) } else { selector.matches(tool, name, groups) }
            },
        );
    if named.is_some() {
        return;
    }
    let (level, kind, message) = missing(selector, lets, known);
    findings.insert(PolicyFinding {
        level,
        kind,
        origin: origin.to_owned(),
        entry: Some(selector.to_string()),
        message,
    });
}

/// Why an entry names nothing.
pub(super) fn missing(selector: &Selector, lets: bool, known: &Known<'_>) -> (Level, FindingKind, String) {
    let groups = &known.settings.policy.groups;
    let unavailable = |message: String| (Level::Note, FindingKind::Unavailable, message);
    let unmatched = |message: String| (Level::Warning, FindingKind::Unmatched, message);
    if lets && let Some((tool, _)) = known.tools.iter().find(|(tool, name)| selector.matches(tool, name, groups)) {
        return unmatched(format!(
            "it lets nothing through: where it fits, it is only by what a server says of itself; write \"{}\" to mean that tool",
            tool.id()
        ));
    }
    let meant = selector.identity().or_else(|| groups.aliased(selector.as_str()).cloned());
    let bare = ToolId::new(Source::Builtin, selector.as_str().to_lowercase());
    if meant.as_ref().is_some_and(shipped) || shipped(&bare) {
        return unavailable(NOT_HERE.to_owned());
    }
    if let Some(id) = &meant
        && let Some(refused) =
            known.catalog.quarantined().find(|refused| refused.source == id.source && refused.name == id.name)
    {
        return unavailable(format!("its definition is quarantined: {}", refused.reason));
    }
    if selector.group().is_some() {
        return unavailable("no source offers any tool of that group at the moment".to_owned());
    }
    if let Some(source) = selector.source().filter(|source| source.group() != "*" && **source != Source::Builtin) {
        return match known.catalog.sources().get(source).map(|entry| &entry.state) {
            Some(SourceState::Starting) => unavailable(format!("{source} is still starting")),
            Some(SourceState::Down { reason }) => unavailable(format!("{source} is down: {reason}")),
            Some(SourceState::Ready | SourceState::Disabled) => unmatched(near(selector, known)),
            None => {
                let near = known.catalog.sources().keys().map(ToString::to_string);
                let text = source.to_string();
                // As far as a slip goes.
                let near = near.map(|name| (strsim::levenshtein(&name, &text), name)).min();
                let near = near.filter(|(distance, _)| *distance <= text.len() / 3).map(|(_, name)| name);
                unmatched(format!(
                    "there is no source {source}{}",
                    near.map_or(String::new(), |near| format!("; the closest is {near}"))
                ))
            }
        };
    }
    // A pattern over names as they would be, had they not been cut.
    let cut = known.tools.iter().find(|(tool, _)| {
        let whole = format!("{}{SEPARATOR}{}", tool.source().group(), tool.name());
        selector.is_name() && selector.matches(tool, &whole, groups)
    });
    if let Some((tool, exposed)) = cut {
        return unmatched(format!(
            "the name it means is shown as {exposed}, because it is long or has other characters; write \"{}\"",
            tool.id()
        ));
    }
    let waiting: Vec<&str> = {
        let sources = known.catalog.sources().iter();
        let empty = sources.filter(|(_, entry)| entry.tools.is_empty() && entry.state != SourceState::Ready);
        empty.map(|(source, _)| source.group()).collect()
    };
    if waiting.iter().any(|label| selector.as_str().starts_with(&format!("{label}{SEPARATOR}"))) {
        return unavailable("its server is not there at the moment".to_owned());
    }
    unmatched(near(selector, known))
}

fn near(selector: &Selector, known: &Known<'_>) -> String {
    let text = selector.as_str();
    let ids: Vec<String> = known.tools.iter().map(|(tool, _)| tool.id().to_string()).collect();
    let names = known.tools.iter().map(|(_, name)| name.as_str()).chain(ids.iter().map(String::as_str));
    let near = suggest(text, names);
    let near = if near.is_empty() { String::new() } else { format!("; the closest: {}", near.join(", ")) };
    format!("no source offers a tool that it names{near}")
}

/// Allowances that a denial beside them takes back, and allowances that say what another one says already.
pub(super) fn shadowed_within(place: &Place<'_>, known: &Known<'_>, findings: &mut BTreeSet<PolicyFinding>) {
    let PlaceLists::Lists(lists) = place.lists else { return };
    let groups = &known.settings.policy.groups;
    let allowing = lists.allow.selectors().iter().map(|selector| (selector, &lists.origins.allow));
    let allowing = allowing.chain(lists.also_allow.iter().map(|selector| (selector, &lists.origins.also_allow)));
    for (selector, origin) in allowing {
        let named: Vec<_> = known.tools.iter().filter(|(tool, name)| selector.grants(tool, name, groups)).collect();
        let denied =
            |(tool, name): &&(&crate::Tool, String)| lists.deny.iter().any(|rule| rule.matches(tool, name, groups));
        if !named.is_empty() && named.iter().all(denied) {
            findings.insert(PolicyFinding {
                level: Level::Warning,
                kind: FindingKind::Shadowed,
                origin: origin.clone(),
                entry: Some(selector.to_string()),
                message: format!("all that it names is denied beside it ({}); denials win", lists.origins.deny),
            });
        }
    }
    let open = lists.allow.selectors().iter().any(Selector::is_all);
    for selector in lists.allow.selectors().iter().filter(|selector| open && !selector.is_all()) {
        findings.insert(PolicyFinding {
            level: Level::Note,
            kind: FindingKind::Redundant,
            origin: lists.origins.allow.clone(),
            entry: Some(selector.to_string()),
            message: "it adds nothing beside \"*\"".to_owned(),
        });
    }
}

/// Counts, for each entry of an allow list that applies, whether earlier stages have removed all that it names.
pub(super) fn too_late(
    known: &Known<'_>,
    selection: &Selection,
    late: &mut BTreeMap<(String, String), (usize, usize, String)>,
) {
    let groups = &known.settings.policy.groups;
    let removals = &selection.removals;
    let fate: BTreeMap<usize, usize> = removals.iter().map(|removed| (removed.position, removed.gate)).collect();
    for (gate, lists) in removals.gates_with_lists() {
        let allowing = lists.allow.selectors().iter().map(|selector| (selector, &lists.origins.allow));
        for (selector, origin) in allowing {
            let named = known.tools.iter().enumerate();
            let named: Vec<usize> = named
                .filter(|(_, (tool, name))| selector.grants(tool, name, groups))
                .map(|(position, _)| position)
                .collect();
            if named.is_empty() {
                continue;
            }
            let before = named.iter().filter_map(|position| fate.get(position)).filter(|at| **at < gate);
            let before: Vec<usize> = before.copied().collect();
            let entry = late.entry((origin.clone(), selector.to_string())).or_default();
            entry.0 += 1;
            if before.len() == named.len() {
                entry.1 += 1;
                if let Some(last) = before.iter().max() {
                    removals.stage_at(*last).clone_into(&mut entry.2);
                }
            }
        }
    }
}
