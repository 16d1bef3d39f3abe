//! Telling a model in a message what changed among its tools, so that the tools array need not change.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use crate::bridge::TOOL_SEARCH;

/// Most names of one group in an announcement.
const MOST_NAMES: usize = 30;
/// Most groups with names in an announcement.
const MOST_GROUPS: usize = 20;

/// What was added and removed since the turn that could reach `before`, as the text of a message; `None` if nothing was.
/// `now` is (group, exposed name). A tool that only stands elsewhere, say direct instead of deferred, is no change
/// (openclaw §2.4).
pub fn announcement<'a>(before: &[String], now: impl IntoIterator<Item = (&'a str, &'a str)>) -> Option<String> {
    let before: BTreeSet<&str> = before.iter().map(String::as_str).collect();
    let mut current = BTreeSet::new();
    let mut added: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (group, name) in now {
        current.insert(name);
        if !before.contains(name) {
            added.entry(group).or_default().push(name);
        }
    }
    let removed: Vec<&str> = before.difference(&current).copied().collect();
    if added.is_empty() && removed.is_empty() {
        return None;
    }
    let mut text = "Your tools have changed since the last turn.".to_owned();
    if !added.is_empty() {
        let _ = write!(text, " New, to be found with {TOOL_SEARCH}:");
        for (group, names) in added.iter().take(MOST_GROUPS) {
            let _ = write!(text, "\n- {group}: {}", some(names));
        }
        let more: usize = added.values().skip(MOST_GROUPS).map(Vec::len).sum();
        if more > 0 {
            let _ = write!(text, "\n- {more} more of {} other servers", added.len() - MOST_GROUPS);
        }
    }
    if !removed.is_empty() {
        let _ = write!(text, "\nNo longer available, do not call them: {}.", some(&removed));
    }
    Some(text)
}

fn some(names: &[&str]) -> String {
    let shown = names[..names.len().min(MOST_NAMES)].join(", ");
    match names.len().saturating_sub(MOST_NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
