//! Categories of tools that are loaded when a task needs them (oneringai §2.4, §2.5): what categories there are, which tools
//! they own, which of them are offered, and what being loaded means for a tool.
//!
//! There is one notion of "loaded": [`Loaded`] is part of the [`Scope`], so that listing, search, describing and calling go by
//! it alike. A tool is loaded while any category that owns it is, or it is by itself. Which conversation has loaded what is
//! for the engine to remember; nothing is counted here, so nothing can be miscounted.

mod digest;
mod id;
mod stage;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use crate::{
    Scope, Source, Tool, ToolId,
    selector::{Groups, Selector, pattern::Pattern},
};

pub use self::{
    digest::digest,
    id::{BadCategoryId, CategoryId, Connector, display_name},
    stage::STAGE,
};

/// Finds categories and the tools in them.
pub const TOOL_CATALOG_SEARCH: &str = "tool_catalog_search";
/// Loads a category, or one tool.
pub const TOOL_CATALOG_LOAD: &str = "tool_catalog_load";
/// Unloads it again.
pub const TOOL_CATALOG_UNLOAD: &str = "tool_catalog_unload";
/// The three tools by which a model looks through the catalog of categories and loads them.
pub const CATALOG_TOOLS: [&str; 3] = [TOOL_CATALOG_SEARCH, TOOL_CATALOG_LOAD, TOOL_CATALOG_UNLOAD];

/// Whether it is one of the three.
pub fn is_catalog_tool(tool: &Tool) -> bool {
    *tool.source() == Source::Builtin && CATALOG_TOOLS.contains(&tool.name())
}

/// What is said of a category locally. A category also comes to be by a tool's label, or by being a connector's.
#[derive(Clone, Debug, Default)]
pub struct CategorySpec {
    /// What people and models read as its name; `None` = made of the id ([`display_name`]).
    pub name: Option<String>,
    /// One or two sentences on what it is for; `None` = that of a well-known category, else nothing.
    pub description: Option<String>,
    /// Tools it owns beside those that are labelled with it.
    pub tools: Vec<Selector>,
}

/// Which categories may be loaded. Patterns are names or globs, compared without regard to case (oneringai case 50).
#[derive(Clone, Debug, Default)]
pub enum Offered {
    /// All.
    #[default]
    All,
    /// Those that fit. An empty list offers nothing.
    Only(Patterns),
    /// Those that do not fit.
    Except(Patterns),
}

/// Names and globs.
#[derive(Clone, Debug, Default)]
pub struct Patterns(Vec<Pattern>);

impl Patterns {
    /// Reads names and globs; the error names the one that is neither.
    pub fn parse<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<Self, String> {
        let read = |text: &'t str| {
            Pattern::parse(text).map_err(|problem| format!("'{text}' is no name and no glob: {problem}"))
        };
        texts.into_iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    /// Whether one fits.
    pub fn fits(&self, id: &CategoryId) -> bool {
        let text = id.to_string();
        self.0.iter().any(|pattern| pattern.is_match(&text))
    }
}

/// What becomes of tools whose categories are not loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unloaded {
    /// They are behind the bridge: found by `tool_search`, run by `tool_call`.
    #[default]
    Deferred,
    /// They are not there at all; `tool_catalog_search` still finds them.
    Hidden,
}

/// Everything that is said of categories.
#[derive(Clone, Debug)]
pub struct Book {
    /// Categories of which something is said.
    pub specs: BTreeMap<CategoryId, CategorySpec>,
    /// Which categories may be loaded. Does not count for those of connectors (oneringai §2.5).
    pub offered: Offered,
    /// Connectors, or single accounts of them, whose categories may be loaded; `None` = all. One without an account stands
    /// for all its accounts.
    pub connectors: Option<Vec<Connector>>,
    /// Categories that are always loaded and cannot be unloaded. They do not count against `max_loaded`.
    pub pinned: Vec<CategoryId>,
    /// Categories that a conversation begins with.
    pub auto_load: Vec<CategoryId>,
    /// Most categories that one conversation may have loaded, the pinned ones apart. Default 10.
    pub max_loaded: usize,
    /// Most tools that one conversation may have loaded by themselves. Default 30.
    pub max_tools: usize,
    /// What becomes of the others' tools.
    pub unloaded: Unloaded,
    /// Most tokens of the categories in a prompt; 0 = they are not told of. Default 400.
    pub digest_tokens: usize,
    /// Where all this was written, for explanations.
    pub origin: String,
}

impl Default for Book {
    fn default() -> Self {
        Self {
            specs: BTreeMap::new(),
            offered: Offered::All,
            connectors: None,
            pinned: Vec::new(),
            auto_load: Vec::new(),
            max_loaded: 10,
            max_tools: 30,
            unloaded: Unloaded::Deferred,
            digest_tokens: 400,
            origin: "categories".to_owned(),
        }
    }
}

/// What a conversation has loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Loaded {
    /// Everything, as far as it is offered: what could be loaded.
    pub everything: bool,
    /// Whole categories.
    pub categories: BTreeSet<CategoryId>,
    /// Tools by themselves.
    pub tools: BTreeSet<ToolId>,
}

impl Loaded {
    /// Everything that is offered.
    pub fn everything() -> Arc<Self> {
        Arc::new(Self { everything: true, ..Self::default() })
    }

    /// Whether the category is loaded.
    pub fn has(&self, id: &CategoryId) -> bool {
        self.everything || self.categories.contains(id)
    }
}

/// A category as a scope sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Category {
    /// Its id as text.
    #[serde(rename = "category")]
    pub id: CategoryId,
    /// What it is called.
    pub name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub description: String,
    /// Positions of its tools, ascending, in what the categories were made of.
    #[serde(skip)]
    pub tools: Vec<usize>,
}

impl Book {
    /// Sets what is said of a category, in place of what was said before (oneringai case 49); that is given back.
    pub fn upsert(&mut self, id: CategoryId, spec: CategorySpec) -> Option<CategorySpec> {
        self.specs.insert(id, spec)
    }

    /// Adds tools to a category, which comes to be if it is new (oneringai case 48). One named already is not named twice.
    pub fn upsert_tools(&mut self, id: CategoryId, tools: impl IntoIterator<Item = Selector>) {
        let spec = self.specs.entry(id).or_default();
        for tool in tools {
            if spec.tools.iter().all(|known| known.as_str() != tool.as_str()) {
                spec.tools.push(tool);
            }
        }
    }

    /// Takes tools out of a category again; whether it was named there.
    pub fn remove_tool(&mut self, id: &CategoryId, tool: &str) -> bool {
        let Some(spec) = self.specs.get_mut(id) else { return false };
        let before = spec.tools.len();
        spec.tools.retain(|known| known.as_str() != tool);
        spec.tools.len() < before
    }

    /// Forgets what is said of a category, with its tools (oneringai case 57).
    pub fn remove(&mut self, id: &CategoryId) -> Option<CategorySpec> {
        self.specs.remove(id)
    }

    /// Takes over what another book says of categories.
    pub fn extend(&mut self, specs: impl IntoIterator<Item = (CategoryId, CategorySpec)>) {
        self.specs.extend(specs);
    }

    /// Whether the category may be loaded.
    pub fn offers(&self, id: &CategoryId) -> bool {
        match id {
            // Whoever has no such account must not learn of it by loading (oneringai §2.5).
            CategoryId::Connector(connector) => {
                self.connectors.as_ref().is_none_or(|all| all.iter().any(|one| one.covers(connector)))
            }
            CategoryId::Plain(_) => match &self.offered {
                Offered::All => true,
                Offered::Only(patterns) => patterns.fits(id),
                Offered::Except(patterns) => !patterns.fits(id),
            },
        }
    }

    /// Every category that owns the tool: [`Groups::categories_of`], and those whose selectors name it here only.
    pub fn owners(&self, tool: &Tool, exposed: &str, groups: &Groups) -> BTreeSet<CategoryId> {
        let mut owners = groups.categories_of(tool, exposed);
        for (id, spec) in &self.specs {
            if !owners.contains(id) && spec.tools.iter().any(|selector| selector.grants(tool, exposed, groups)) {
                owners.insert(id.clone());
            }
        }
        owners
    }

    /// Tells the groups of these categories, so that selectors go by them too.
    pub fn tell(&self, groups: &mut Groups) {
        for (id, spec) in &self.specs {
            groups.insert_category(id.clone(), spec.tools.clone());
        }
    }

    /// What a conversation begins with: what is pinned, and what is loaded by itself, as far as it is offered and the limit
    /// allows. A pin that is not offered takes nobody's place.
    pub fn initial(&self) -> Loaded {
        let begun = self.auto_load.iter().filter(|id| self.offers(id) && !self.is_pinned(id)).take(self.max_loaded);
        self.with_pins(begun.cloned().collect(), BTreeSet::new())
    }

    /// The pinned categories and these.
    pub fn with_pins(&self, mut categories: BTreeSet<CategoryId>, tools: BTreeSet<ToolId>) -> Loaded {
        categories.extend(self.pinned.iter().filter(|id| self.offers(id)).cloned());
        Loaded { everything: false, categories, tools }
    }

    /// Whether the category is always loaded.
    pub fn is_pinned(&self, id: &CategoryId) -> bool {
        self.pinned.contains(id)
    }

    /// Whether the tool is loaded: by an offered category, or by itself.
    pub fn is_loaded(&self, tool: &Tool, exposed: &str, groups: &Groups, loaded: Option<&Loaded>) -> bool {
        let loaded = loaded.map_or_else(|| Cow::Owned(self.initial()), Cow::Borrowed);
        let owners = self.owners(tool, exposed, groups);
        let mut offered = owners.iter().filter(|id| self.offers(id)).peekable();
        let by_itself = loaded.tools.contains(tool.id()) && offered.peek().is_some();
        by_itself || offered.any(|id| loaded.has(id))
    }

    /// The categories of these tools that are offered, by id; those of which only something is said are among them, without
    /// tools.
    pub fn categories<'t>(&self, tools: impl Iterator<Item = (&'t str, &'t Tool)>, groups: &Groups) -> Vec<Category> {
        let mut owned: BTreeMap<CategoryId, Vec<usize>> = BTreeMap::new();
        for id in self.specs.keys() {
            owned.entry(id.clone()).or_default();
        }
        for (position, (exposed, tool)) in tools.enumerate() {
            for id in self.owners(tool, exposed, groups) {
                owned.entry(id).or_default().push(position);
            }
        }
        let offered = owned.into_iter().filter(|(id, _)| self.offers(id));
        offered
            .map(|(id, tools)| Category { name: self.name(&id), description: self.description(&id), id, tools })
            .collect()
    }

    /// What the category is called.
    pub fn name(&self, id: &CategoryId) -> String {
        let said = self.specs.get(id).and_then(|spec| spec.name.clone());
        said.unwrap_or_else(|| id.display_name())
    }

    /// What it is for; empty if nothing is known.
    pub fn description(&self, id: &CategoryId) -> String {
        let said = self.specs.get(id).and_then(|spec| spec.description.clone());
        said.or_else(|| id::well_known(id).map(str::to_owned)).unwrap_or_default()
    }
}

/// The categories that a tool is in whatever else is said: that of its label, and its connector's.
pub fn of_itself(tool: &Tool) -> BTreeSet<CategoryId> {
    let mut all: BTreeSet<CategoryId> =
        tool.labels().category.as_deref().and_then(|label| label.parse().ok()).into_iter().collect();
    if let Source::Connector { name, account } = tool.source() {
        all.insert(CategoryId::Connector(Connector { name: name.clone(), account: account.clone() }));
    }
    all
}

/// The scope as it is when it has loaded all that it may load: what `tool_catalog_search` looks through.
#[must_use]
pub fn with_everything(scope: &Scope) -> Scope {
    with_loaded(scope, &Loaded::everything())
}

/// The scope of a conversation that has loaded these. What the agents above it could hand on is judged alike: a sub-agent
/// is limited by what they may see, not by what they have loaded.
#[must_use]
pub fn with_loaded(scope: &Scope, loaded: &Arc<Loaded>) -> Scope {
    let parent = scope.parent.as_ref().map(|parent| Arc::new(with_loaded(parent, loaded)));
    Scope { loaded: Some(loaded.clone()), parent, ..scope.clone() }
}

#[cfg(test)]
mod tests;
