//! Entries outside of a policy's lists that name tools: rules of permissions, limits of calls, what is said of single tools.

use std::collections::BTreeSet;

use globset::GlobMatcher;

use super::{FindingKind, Known, Level, PolicyFinding, categories, entries};
use crate::{
    Catalog, Source, SourceState, ToolId,
    assemble::AssembleSettings,
    bridge::suggest,
    categories::{CategoryId, Connector, Patterns},
    name::exposed_name,
    permission::{RiskRule, ToolPattern},
    selector::Selector,
};

/// An entry of a configuration that names tools.
#[derive(Clone, Debug)]
pub struct Mention {
    /// Where it was written: key and file.
    pub origin: String,
    /// What it names.
    pub names: Mentioned,
    /// What it means for calls that it names nothing, where that is worth saying: `it restricts nothing`.
    pub so: Option<&'static str>,
}

/// How an entry names tools.
#[derive(Clone, Debug)]
pub enum Mentioned {
    /// As lists of a policy do.
    Selector(Selector),
    /// As rules of permissions do.
    Pattern(ToolPattern),
    /// One tool.
    Tool(ToolId),
    /// Tools of one source, by a glob over the names that it gives them itself.
    Own(Source, GlobMatcher),
    /// A category that is loaded.
    Category(CategoryId),
    /// Categories, by a name or glob as it was written.
    Categories(Patterns, String),
    /// A connector whose categories may be loaded.
    Connector(Connector),
}

/// Which of these entries name nothing, and why. Sorted by gravity.
pub fn lint_mentions(
    catalog: &Catalog,
    settings: &AssembleSettings,
    risks: &[RiskRule],
    mentions: &[Mention],
) -> Vec<PolicyFinding> {
    let known = Known {
        tools: catalog.tools().map(|tool| (&**tool, exposed_name(tool.id(), &settings.names))).collect(),
        catalog,
        settings,
        risks,
    };
    let found: BTreeSet<PolicyFinding> = mentions.iter().filter_map(|mention| look(mention, &known)).collect();
    found.into_iter().collect()
}

fn look(mention: &Mention, known: &Known<'_>) -> Option<PolicyFinding> {
    let groups = &known.settings.policy.groups;
    let (entry, (level, kind, message)) = match &mention.names {
        Mentioned::Selector(selector) => {
            // Groups that do not exist stop the start.
            let named = |(tool, name): &(&crate::Tool, String)| selector.matches(tool, name, groups);
            if groups.check(selector).is_err() || known.tools.iter().any(named) {
                return None;
            }
            (selector.to_string(), entries::missing(selector, false, known))
        }
        Mentioned::Pattern(pattern) => {
            let named = |(tool, name): &(&crate::Tool, String)| pattern.names(tool, name, groups);
            if known.tools.iter().any(named) {
                return None;
            }
            (pattern.to_string(), entries::missing(&pattern.selector()?, false, known))
        }
        Mentioned::Tool(id) => {
            if known.catalog.get(id).is_some() {
                return None;
            }
            (id.to_string(), absent(&id.source, &id.name, known))
        }
        Mentioned::Own(source, glob) => {
            let mut own = known.tools.iter().filter(|(tool, _)| tool.source() == source);
            if own.any(|(tool, _)| glob.is_match(tool.name())) {
                return None;
            }
            let text = glob.glob().glob();
            (text.to_owned(), absent(source, text, known))
        }
        Mentioned::Category(id) => (id.to_string(), categories::loaded(id, known)?),
        Mentioned::Categories(patterns, text) => (text.clone(), categories::fitting(patterns, text, known)?),
        Mentioned::Connector(connector) => (connector.to_string(), categories::connector(connector, known)?),
    };
    let message = match mention.so.filter(|_| kind == FindingKind::Unmatched) {
        Some(so) => format!("{message}; {so}"),
        None => message,
    };
    Some(PolicyFinding { level, kind, origin: mention.origin.clone(), entry: Some(entry), message })
}

/// Why a source has no tool of its own name `name`.
fn absent(source: &Source, name: &str, known: &Known<'_>) -> (Level, FindingKind, String) {
    let unavailable = |message: String| (Level::Note, FindingKind::Unavailable, message);
    let Some(entry) = known.catalog.sources().get(source) else {
        return (Level::Warning, FindingKind::Unmatched, format!("there is no source {source}"));
    };
    if entries::shipped(&ToolId::new(source.clone(), name)) {
        return unavailable(entries::NOT_HERE.to_owned());
    }
    if let Some(refused) = entry.quarantined.iter().find(|refused| refused.name == name) {
        return unavailable(format!("its definition is quarantined: {}", refused.reason));
    }
    match &entry.state {
        SourceState::Starting => unavailable(format!("{source} is still starting")),
        SourceState::Down { reason } => unavailable(format!("{source} is down: {reason}")),
        SourceState::Ready | SourceState::Disabled => {
            let near = suggest(name, entry.tools.iter().map(|tool| tool.name()));
            let near = if near.is_empty() { String::new() } else { format!("; the closest: {}", near.join(", ")) };
            (Level::Warning, FindingKind::Unmatched, format!("{source} offers no tool that it names{near}"))
        }
    }
}

#[cfg(test)]
mod tests;
