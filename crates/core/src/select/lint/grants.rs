//! Allowances that give more than anybody should want.

use std::collections::BTreeSet;

use super::{FindingKind, Known, Level, Place, PlaceLists, PlaceRole, PolicyFinding, is_open};
use crate::{
    permission::classify,
    select::{Allow, Lists},
};

pub(super) fn too_much(place: &Place<'_>, known: &Known<'_>, findings: &mut BTreeSet<PolicyFinding>) {
    let PlaceLists::Lists(lists) = place.lists else { return };
    let mut find = |level, origin: &str, entry: Option<&str>, message: String| {
        findings.insert(PolicyFinding {
            level,
            kind: FindingKind::Unsafe,
            origin: origin.to_owned(),
            entry: entry.map(str::to_owned),
            message,
        });
    };
    let dangerous = dangerous(lists, known);
    let shown = || {
        let more = if dangerous.len() > 5 { format!(" and {} more", dangerous.len() - 5) } else { String::new() };
        format!("{}{more}", dangerous.iter().take(5).cloned().collect::<Vec<_>>().join(", "))
    };
    let Lists { allow, origins, .. } = lists;
    match place.role {
        PlaceRole::Sender("*") if allow.selectors().iter().any(crate::selector::Selector::is_all) => {
            find(
                Level::Warning,
                &origins.allow,
                Some("*"),
                "whoever writes in a channel gets everything; name the tools".to_owned(),
            );
        }
        PlaceRole::Sender("*") if !dangerous.is_empty() && *allow != Allow::All => {
            let message = format!("whoever writes in a channel gets tools that may do damage: {}", shown());
            find(Level::Warning, &origins.allow, None, message);
        }
        PlaceRole::Sender(key) if key.starts_with("name:") && !passes_nothing(lists) => {
            let message =
                "senders choose their display names, so anybody can take this one; use id: or phone:".to_owned();
            find(Level::Warning, &origins.allow, Some(key), message);
        }
        PlaceRole::Channel(_) if allow.selectors().iter().any(crate::selector::Selector::is_all) => {
            find(
                Level::Warning,
                &origins.allow,
                Some("*"),
                "everybody in the channel gets everything; name the tools".to_owned(),
            );
        }
        PlaceRole::Profile("minimal") if is_open(allow) || !dangerous.is_empty() => {
            let what = if dangerous.is_empty() {
                "everything".to_owned()
            } else {
                format!("tools that may do damage: {}", shown())
            };
            find(Level::Warning, &origins.allow, None, format!("the profile 'minimal' lets through {what}"));
        }
        PlaceRole::Sandbox if !lists.also_allow.is_empty() || matches!(allow, Allow::Only(_)) => {
            let outside = dangerous_builtin(lists, known);
            if !outside.is_empty() {
                let message = format!("these act on this machine, outside of the sandbox: {}", outside.join(", "));
                find(Level::Warning, &origins.also_allow, None, message);
            }
        }
        _ => {}
    }
}

fn passes_nothing(lists: &Lists) -> bool {
    lists.allow == Allow::None || lists.allow == Allow::All && lists.also_allow.is_empty() && !lists.deny.is_empty()
}

/// Tools that the lists let through and that may do damage, by identity.
fn dangerous(lists: &Lists, known: &Known<'_>) -> Vec<String> {
    passing(lists, known, |tool, name| classify(tool, name, known.risks, &known.settings.policy.groups).dangerous())
}

fn dangerous_builtin(lists: &Lists, known: &Known<'_>) -> Vec<String> {
    let groups = &known.settings.policy.groups;
    passing(lists, known, |tool, name| {
        lists.unless_allowed.iter().any(|selector| selector.matches(tool, name, groups))
            && lists.allow.selectors().iter().chain(&lists.also_allow).any(|one| one.grants(tool, name, groups))
    })
}

fn passing(lists: &Lists, known: &Known<'_>, is: impl Fn(&crate::Tool, &str) -> bool) -> Vec<String> {
    let groups = &known.settings.policy.groups;
    let passes = |tool: &crate::Tool, name: &str| {
        let denied = lists.deny.iter().any(|rule| rule.matches(tool, name, groups));
        let named = lists.allow.selectors().iter().chain(&lists.also_allow).any(|one| one.grants(tool, name, groups));
        !denied && (named || lists.allow == Allow::All)
    };
    let tools = known.tools.iter().filter(|(tool, name)| passes(tool, name) && is(tool, name));
    tools.map(|(tool, _)| tool.id().to_string()).collect()
}
