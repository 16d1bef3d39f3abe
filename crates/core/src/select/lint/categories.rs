//! Entries that name categories, and what of them exists.

use std::collections::BTreeSet;

use super::{FindingKind, Known, Level};
use crate::{
    SourceState,
    bridge::suggest,
    categories::{CategoryId, Connector, Patterns},
};

type Finding = (Level, FindingKind, String);

/// What is wrong with a category that is to be loaded: it has no tools, or may not be loaded.
pub(super) fn loaded(id: &CategoryId, known: &Known<'_>) -> Option<Finding> {
    let there = there(known);
    if !there.contains(id) {
        return Some(missing(&id.to_string(), &there, "no tool is in it", known));
    }
    let book = known.settings.policy.categories.as_ref()?;
    (!book.offers(id)).then(|| {
        let (_, fix) = book.not_offered(id);
        (
            Level::Warning,
            FindingKind::Shadowed,
            format!("it is never loaded, because it is not offered; to change that, {fix}"),
        )
    })
}

/// What is wrong with names or globs of categories.
pub(super) fn fitting(patterns: &Patterns, text: &str, known: &Known<'_>) -> Option<Finding> {
    let there = there(known);
    let any = there.iter().any(|id| patterns.fits(id));
    (!any).then(|| missing(text, &there, "no category that has tools fits it", known))
}

/// What is wrong with a connector whose categories may be loaded.
pub(super) fn connector(connector: &Connector, known: &Known<'_>) -> Option<Finding> {
    let there = there(known);
    let any = there.iter().any(|id| matches!(id, CategoryId::Connector(other) if connector.covers(other)));
    (!any).then(|| missing(&format!("connector:{connector}"), &there, "no such connector has tools", known))
}

/// Categories with at least one tool.
fn there(known: &Known<'_>) -> BTreeSet<CategoryId> {
    let policy = &known.settings.policy;
    known.tools.iter().flat_map(|(tool, name)| policy.categories_of(tool, name)).collect()
}

fn missing(text: &str, there: &BTreeSet<CategoryId>, what: &str, known: &Known<'_>) -> Finding {
    let absent = known.catalog.sources().iter().filter(|(_, entry)| match &entry.state {
        SourceState::Starting | SourceState::Down { .. } => entry.tools.is_empty(),
        SourceState::Ready | SourceState::Disabled => false,
    });
    let absent: Vec<String> = absent.map(|(source, _)| source.to_string()).take(5).collect();
    if !absent.is_empty() {
        let text = format!("{what} at the moment; not there yet: {}", absent.join(", "));
        return (Level::Note, FindingKind::Unavailable, text);
    }
    let names: Vec<String> = there.iter().map(ToString::to_string).collect();
    let near = suggest(text, names.iter().map(String::as_str));
    let near = if near.is_empty() { String::new() } else { format!("; the closest: {}", near.join(", ")) };
    (Level::Warning, FindingKind::Unmatched, format!("{what}{near}"))
}
