//! Tools as the manager lists them, and which of them are wanted.

use std::{borrow::Cow, cmp::Reverse, collections::BTreeSet, sync::Arc};

use serde::{Deserialize, Serialize};
use toolcrib_core::{
    Catalog, Labels, Source, SourceEntry, Tool, ToolId,
    categories::{CategoryId, of_itself},
    labels::word::same,
};

use super::{Manager, ManagerError};

/// One tool, whatever it comes from.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The tool with the labels in force.
    pub tool: Arc<Tool>,
    /// What its source contributes and how it is doing.
    pub source: Arc<SourceEntry>,
}

impl Entry {
    /// Its identity.
    pub fn id(&self) -> &ToolId {
        self.tool.id()
    }

    /// What is said of it.
    pub fn labels(&self) -> &Labels {
        self.tool.labels()
    }

    /// The few words that a listing needs.
    pub fn compact(&self) -> Compact<'_> {
        Compact {
            id: self.tool.id(),
            name: self.tool.name(),
            description: self.tool.description(),
            category: self.labels().category.as_deref(),
            service: service(self.tool.source()),
        }
    }
}

/// A tool in a few words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Compact<'a> {
    /// Its identity.
    pub id: &'a ToolId,
    /// Its source's own name for it.
    pub name: &'a str,
    /// What it says of itself; empty if nothing. Untrusted.
    pub description: &'a str,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<&'a str>,
    /// The server, plugin or connector that it belongs to; none for what is built in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<&'a str>,
}

/// The server, plugin or connector behind a source.
pub(super) fn service(source: &Source) -> Option<&str> {
    match source {
        Source::Builtin => None,
        Source::Static(label) if label.is_empty() => None,
        other => Some(other.group()),
    }
}

/// Which tools are wanted: those for which everything that is given holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Filter {
    /// The kind of source: `builtin`, `plugin`, `mcp`, `connector`, `custom`, `remote`, `static`.
    pub kind: Option<String>,
    /// The source, all of it.
    pub source: Option<Source>,
    /// The server, plugin or connector, by its name; of a connector with any account.
    pub service: Option<String>,
    /// The namespace.
    pub namespace: Option<String>,
    /// A category that it is in.
    pub category: Option<String>,
    /// A tag.
    pub tag: Option<String>,
    /// Words that are all found in its name, title, description, category or tags; case does not count. Blank: no words.
    pub text: Option<String>,
    /// Whether it is switched on.
    pub enabled: Option<bool>,
}

impl Filter {
    /// Everything that is switched on.
    pub fn enabled() -> Self {
        Self { enabled: Some(true), ..Self::default() }
    }

    /// Whether a tool is wanted, by what it says of itself and its labels.
    pub fn wants(&self, tool: &Tool) -> bool {
        self.wants_in(tool, || of_itself(tool))
    }

    /// Whether a tool in these categories is wanted.
    pub(super) fn wants_in(&self, tool: &Tool, categories: impl Fn() -> BTreeSet<CategoryId>) -> bool {
        let Self { kind, source, service: of, namespace, category, tag, text, enabled } = self;
        let labels = tool.labels();
        enabled.is_none_or(|enabled| labels.enabled == enabled)
            && kind.as_ref().is_none_or(|kind| tool.source().kind() == kind)
            && source.as_ref().is_none_or(|source| tool.source() == source)
            && of.as_ref().is_none_or(|of| service(tool.source()) == Some(of))
            && namespace.as_ref().is_none_or(|namespace| same(labels.namespace(), namespace))
            && category.as_deref().is_none_or(|wanted| is_one(wanted, &categories()))
            && tag.as_ref().is_none_or(|tag| labels.tags.iter().any(|own| same(own, tag)))
            && text.as_ref().is_none_or(|text| says(tool, &categories(), text))
    }
}

/// Whether a category is one of these. A text that names none is not.
fn is_one(wanted: &str, categories: &BTreeSet<CategoryId>) -> bool {
    wanted.parse().is_ok_and(|id: CategoryId| categories.contains(&id))
}

fn says(tool: &Tool, categories: &BTreeSet<CategoryId>, text: &str) -> bool {
    let labels = tool.labels();
    let mut words = text.split_whitespace().map(str::to_lowercase).peekable();
    if words.peek().is_none() {
        return true;
    }
    let mut hay = String::new();
    let parts = [tool.name(), tool.title().unwrap_or_default(), tool.description()].map(Cow::Borrowed);
    let categories = categories.iter().map(|id| Cow::Owned(id.to_string()));
    let tags = labels.tags.iter().map(|tag| Cow::Borrowed(tag.as_str()));
    for part in parts.into_iter().chain(categories).chain(tags) {
        hay.push_str(&part.to_lowercase());
        hay.push('\n');
    }
    words.all(|word| hay.contains(&word))
}

impl Filter {
    /// Whether a definition that was refused is wanted: it has nothing but its name and what is said of it here.
    pub(super) fn wants_refused(&self, id: &ToolId, labels: &Labels) -> bool {
        let Self { kind, source, service: of, namespace, category, tag, text, enabled } = self;
        let name = id.name.to_lowercase();
        let category_of = || labels.category.as_deref().and_then(|label| label.parse().ok()).into_iter().collect();
        enabled.is_none_or(|enabled| labels.enabled == enabled)
            && namespace.as_ref().is_none_or(|namespace| same(labels.namespace(), namespace))
            && category.as_deref().is_none_or(|wanted| is_one(wanted, &category_of()))
            && tag.as_ref().is_none_or(|tag| labels.tags.iter().any(|own| same(own, tag)))
            && kind.as_ref().is_none_or(|kind| id.source.kind() == kind)
            && source.as_ref().is_none_or(|source| id.source == *source)
            && of.as_ref().is_none_or(|of| service(&id.source) == Some(of))
            && text.iter().flat_map(|text| text.split_whitespace()).all(|word| name.contains(&word.to_lowercase()))
    }
}

/// All tools of one catalog in the order of priority.
pub(super) struct Listing {
    catalog: Arc<Catalog>,
    entries: Arc<[Entry]>,
}

impl Manager {
    /// All tools of all sources, those switched off too: higher priority first, of one priority those registered here in
    /// the order of registration, then the others by source and name (cases 7 and 9). Worked out once for a catalog. Sources
    /// that make their tools for whoever asks are not among them; [`crate::Engine::entries`] has those of a scope.
    ///
    /// # Errors
    /// If the manager was shut down.
    pub fn entries(&self) -> Result<Arc<[Entry]>, ManagerError> {
        let catalog = self.catalog()?;
        if let Some(listing) = &*self.inner.listing.lock()
            && Arc::ptr_eq(&listing.catalog, &catalog)
        {
            return Ok(listing.entries.clone());
        }
        let entries = self.sorted(&catalog);
        // What was listed before may be the last to hold tools of a program: it goes when the lock is free.
        let before = self.inner.listing.lock().replace(Listing { catalog, entries: entries.clone() });
        drop(before);
        Ok(entries)
    }

    /// Tools that are wanted, in the same order.
    ///
    /// # Errors
    /// If the manager was shut down.
    pub fn query(&self, filter: &Filter) -> Result<Vec<Entry>, ManagerError> {
        let entries = self.entries()?;
        Ok(entries.iter().filter(|entry| filter.wants(&entry.tool)).cloned().collect())
    }

    /// One tool.
    pub fn get(&self, id: &ToolId) -> Option<Entry> {
        let catalog = self.catalog().ok()?;
        let source = catalog.sources().get(&id.source)?.clone();
        Some(Entry { tool: catalog.get(id)?.clone(), source })
    }

    /// Whether there is such a tool, switched on or not (case 3).
    pub fn contains(&self, id: &ToolId) -> bool {
        self.base(id).is_some()
    }

    fn sorted(&self, catalog: &Catalog) -> Arc<[Entry]> {
        let table = self.inner.table.read();
        let mut all: Vec<(i32, u64, Entry)> = Vec::with_capacity(catalog.len());
        for (source, entry) in catalog.sources() {
            let own = table.owns(source);
            for tool in entry.tools.iter() {
                let order = if own { table.registered(tool.id()).map(|found| found.order) } else { None };
                let listed = Entry { tool: tool.clone(), source: entry.clone() };
                all.push((tool.labels().priority, order.unwrap_or(u64::MAX), listed));
            }
        }
        drop(table);
        // Stable: what was registered elsewhere stays in the order of the catalog.
        all.sort_by_key(|(priority, order, _)| (Reverse(*priority), *order));
        all.into_iter().map(|(_, _, entry)| entry).collect()
    }
}
