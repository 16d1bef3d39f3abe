//! What each conversation has loaded of the catalog of categories, and the three tools by which a model loads more
//! (oneringai §2.5). What categories are and what being loaded means is in [`toolcrib_core::categories`]; this remembers.
//!
//! A conversation is a tenant, a user and a session: nobody's loading shows anything to anybody else. A bounded number of them
//! is remembered; one that was forgotten begins anew.

mod answers;
mod loads;
mod on_load;
mod resolve;
mod state;
mod tools;

use std::{collections::BTreeSet, sync::Arc};

use toolcrib_core::{
    Scope, Tool, ToolId,
    categories::{Book, Category, CategoryId, Loaded, TOOL_CATALOG_UNLOAD, digest, with_everything, with_loaded},
    labels::word::shown,
    name::{Called, exposed_name},
    selector::Groups,
};

pub(crate) use self::loads::Loads;
pub use self::{
    on_load::publish_on_load,
    resolve::{Owner, Resolution},
    state::{LoadState, RestoreReport, Skipped, VERSION},
    tools::catalog_toolbox,
};
use crate::{
    call::CallRequest,
    engine::Engine,
    view::{Unservable, View},
};

/// Something that can be loaded.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Item {
    /// A whole category.
    Category(CategoryId),
    /// One tool, whatever becomes of its categories.
    Tool(ToolId),
}

/// What came of loading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedNow {
    /// What was loaded.
    pub item: Item,
    /// Exposed names of its tools.
    pub tools: Vec<String>,
    /// Whether it was loaded before.
    pub already: bool,
}

/// Why something was not loaded or unloaded. The texts are for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// Categories are not configured.
    #[error("there are no categories here: all tools are there without loading")]
    Off,
    /// Not there, or not for this scope: both look alike (oneringai case 63).
    #[error("'{name}' is not available{}", one_of(.known))]
    NotAvailable {
        /// What was asked for.
        name: String,
        /// Categories that are available, at most ten.
        known: Vec<String>,
    },
    /// Several tools have the name.
    #[error("'{name}' is the name of several tools: {}; give one of these", .tools.join(", "))]
    Ambiguous {
        /// What was asked for.
        name: String,
        /// Exposed names of the tools, at most ten.
        tools: Vec<String>,
    },
    /// The category has no tools for this scope.
    #[error("the category '{0}' has no tools at the moment, so nothing was loaded")]
    NoTools(CategoryId),
    /// As many are loaded as may be.
    #[error("{}", full(*.limit, .loaded))]
    Limit {
        /// The limit.
        limit: usize,
        /// What is loaded: categories alone, or tools alone.
        loaded: Vec<Item>,
    },
    /// Pinned by configuration.
    #[error("the category '{0}' is pinned and stays loaded")]
    Pinned(CategoryId),
    /// The tool is of a category that is pinned by configuration, and not loaded by itself.
    #[error("'{tool}' is of the category '{category}', which is pinned and stays loaded")]
    PinnedTool {
        /// Exposed name of the tool.
        tool: String,
        /// The category.
        category: CategoryId,
    },
    /// The scope cannot be served at all.
    #[error("{0}")]
    Scope(#[from] Unservable),
}

fn full(limit: usize, loaded: &[Item]) -> String {
    let what = match loaded.first() {
        Some(Item::Category(_)) => "categories",
        Some(Item::Tool(_)) => "single tools",
        None => return "nothing of this kind may be loaded here; load a category that has the tool".to_owned(),
    };
    let all: Vec<String> = loaded.iter().map(Item::text).collect();
    format!(
        "{limit} {what} are loaded, and no more may be: {}; unload one with {TOOL_CATALOG_UNLOAD} first",
        all.join(", ")
    )
}

fn one_of(known: &[String]) -> String {
    if known.is_empty() { String::new() } else { format!("; there are: {}", known.join(", ")) }
}

/// What a scope may load, and what it has loaded. Made by [`Engine::categories`].
pub struct Categories<'e> {
    engine: &'e Engine,
    scope: Scope,
    session: Option<String>,
}

/// A category with how it stands in a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The category; positions of its tools are those of [`Overview::view`].
    pub category: Category,
    /// Whether it is loaded.
    pub loaded: bool,
    /// Whether it cannot be unloaded.
    pub pinned: bool,
}

/// All categories of a scope.
pub struct Overview {
    /// The view in which everything is loaded that may be.
    pub view: Arc<View>,
    /// The categories, by id.
    pub categories: Vec<Standing>,
}

impl Engine {
    /// The categories of tools as this scope has them, and what the conversation has loaded. `None` is the conversation of
    /// whoever names no session.
    pub fn categories(&self, scope: &Scope, session: Option<&str>) -> Categories<'_> {
        Categories { engine: self, scope: scope.clone(), session: session.map(str::to_owned) }
    }

    /// The scope with what the conversation has loaded; as it is where nothing is to be loaded, or the scope says so itself.
    pub fn in_session(&self, mut scope: Scope, session: Option<&str>) -> Scope {
        if scope.loaded.is_none()
            && let Some(book) = self.in_force().book()
        {
            let loaded = self.loads().loaded(&loads::Conversation::of(&scope, session), book);
            scope = with_loaded(&scope, &loaded);
        }
        scope
    }
}

impl Engine {
    /// Notes that a tool is used, so that what is not used can be unloaded first.
    pub(crate) fn note_used(&self, request: &CallRequest, tool: &Tool, exposed: &str) {
        let in_force = self.in_force();
        let Some(book) = in_force.book() else { return };
        let owners = book.owners(tool, exposed, &in_force.settings.assemble.policy.groups);
        let conversation = loads::Conversation::of(&request.scope, request.identity.session.as_deref());
        self.loads().used(&conversation, tool.id(), &owners);
    }
}

impl Categories<'_> {
    fn book(&self) -> Result<Arc<Book>, LoadError> {
        self.engine.in_force().book().cloned().ok_or(LoadError::Off)
    }

    fn conversation(&self) -> loads::Conversation {
        loads::Conversation::of(&self.scope, self.session.as_deref())
    }

    /// What the conversation has loaded.
    pub fn loaded(&self) -> Arc<Loaded> {
        self.engine
            .in_force()
            .book()
            .map_or_else(Arc::default, |book| self.engine.loads().loaded(&self.conversation(), book))
    }

    /// The view of the scope with what the conversation has loaded.
    pub fn view(&self) -> Result<Arc<View>, Unservable> {
        let scope = with_loaded(&self.scope, &self.loaded());
        self.engine.view(&scope)
    }

    /// Every category that the scope may load.
    pub fn overview(&self) -> Result<Overview, LoadError> {
        let book = self.book()?;
        let view = self.engine.view(&with_everything(&self.scope))?;
        let loaded = self.loaded();
        let groups = &self.engine.settings().assemble.policy.groups;
        let tools = view.set.names().zip(view.set.tools()).map(|(name, tool)| (name, &**tool));
        let standing = |category: Category| Standing {
            loaded: loaded.has(&category.id),
            pinned: book.is_pinned(&category.id),
            category,
        };
        let mut found = book.categories(tools, groups);
        // Of a category whose tools are all hidden from the scope nothing is told; one that nobody has tools of yet is.
        if found.iter().any(|category| category.tools.is_empty()) {
            let catalog = self.engine.hub().catalog_for(&self.scope);
            let names = &self.engine.settings().assemble.names;
            let owned: BTreeSet<CategoryId> =
                catalog.tools().flat_map(|tool| book.owners(tool, &exposed_name(tool.id(), names), groups)).collect();
            found.retain(|category| !category.tools.is_empty() || !owned.contains(&category.id));
        }
        let categories = found.into_iter().map(standing).collect();
        Ok(Overview { view, categories })
    }

    /// The categories in few words for a prompt, within [`Book::digest_tokens`]; the same text whatever is loaded.
    pub fn digest(&self) -> Option<String> {
        self.digest_within(self.book().ok()?.digest_tokens)
    }

    /// The same within another number of tokens.
    pub fn digest_within(&self, budget: usize) -> Option<String> {
        let overview = self.overview().ok()?;
        let counter = overview.view.set.counter();
        let categories: Vec<Category> = overview.categories.into_iter().map(|standing| standing.category).collect();
        digest(&categories, budget, counter)
    }

    /// Tokens of [`Self::digest`]; 0 where there is none.
    pub fn digest_cost(&self) -> usize {
        let Some(text) = self.digest() else { return 0 };
        self.engine.settings().assemble.listing.counter.text(&text)
    }

    /// Loads a category: from the next view on its tools are shown with their definitions.
    pub fn load(&self, id: &CategoryId) -> Result<LoadedNow, LoadError> {
        let book = self.book()?;
        let overview = self.overview()?;
        let Some(found) = overview.find(id) else { return Err(overview.not_available(&id.to_string())) };
        // As the category is spelt, however it was asked for.
        let id = &found.category.id;
        if found.category.tools.is_empty() {
            return Err(LoadError::NoTools(id.clone()));
        }
        let item = Item::Category(id.clone());
        let load = || self.engine.loads().load(&self.conversation(), item.clone(), &[], &book);
        let already = found.pinned || load().map_err(|error| overview.respelt(error))?;
        if !already {
            self.engine.hub().touch();
        }
        Ok(LoadedNow { item, tools: overview.names(&found.category), already })
    }

    /// Loads one tool, by its exposed name, its identity, or another name that means only it ([`Called`]). It must be in a
    /// category, else it is there without loading.
    pub fn load_tool(&self, name: &str) -> Result<LoadedNow, LoadError> {
        let book = self.book()?;
        let overview = self.overview()?;
        let groups = &self.engine.settings().assemble.policy.groups;
        let Some(position) = overview.tool(name, groups)? else { return Err(overview.not_available(name)) };
        let id = overview.view.set.tools()[position].id().clone();
        let item = Item::Tool(id);
        let exposed = overview.view.set.name_map().name(position);
        let names = [exposed, name.trim()];
        let already = self.engine.loads().load(&self.conversation(), item.clone(), &names, &book)?;
        if !already {
            self.engine.hub().touch();
        }
        let tools = vec![exposed.to_owned()];
        Ok(LoadedNow { item, tools, already })
    }

    /// The tool of some category that a name means, as [`Self::load_tool`] reads it.
    pub fn tool(&self, name: &str) -> Result<Option<ToolId>, LoadError> {
        let overview = self.overview()?;
        let position = overview.tool(name, &self.engine.settings().assemble.policy.groups)?;
        Ok(position.map(|position| overview.view.set.tools()[position].id().clone()))
    }

    /// The tool that a name means to whoever unloads it: the one that is there, unless another one that is loaded by itself is
    /// meant. That one may be gone, and goes by every name that it went by when it was loaded.
    pub fn tool_to_unload(&self, name: &str) -> Result<Option<ToolId>, LoadError> {
        let book = self.book()?;
        let overview = self.overview()?;
        let groups = &self.engine.settings().assemble.policy.groups;
        let called = Called::new(name, groups);
        let held = self.engine.loads().tools(&self.conversation(), &book);
        let tools = overview.view.set.tools();
        let there = overview.tool(name, groups).map(|found| found.map(|position| tools[position].id().clone()));
        if let Ok(Some(id)) = &there
            && held.iter().any(|(loaded, _)| loaded == id)
        {
            return there;
        }
        let goes_by = |id: &ToolId, names: &[String]| {
            called.means(id, &id.name) || names.iter().any(|exposed| called.means(id, exposed))
        };
        let mut meant: Vec<ToolId> =
            held.into_iter().filter(|(id, names)| goes_by(id, names)).map(|(id, _)| id).collect();
        if matches!(there, Ok(Some(_))) {
            // The name is another tool's by now.
            meant.retain(|id| tools.iter().all(|tool| tool.id() != id));
        }
        match &meant[..] {
            [] => there,
            [one] => Ok(Some(one.clone())),
            several => {
                let tools = several.iter().map(ToString::to_string).take(10).collect();
                Err(LoadError::Ambiguous { name: shown(name), tools })
            }
        }
    }

    /// The loaded categories that a tool is in: while there is one, it stays loaded whether it is loaded by itself or not.
    pub fn keepers(&self, tool: &ToolId) -> Result<Vec<Standing>, LoadError> {
        let Overview { view, categories } = self.overview()?;
        let owns = |standing: &Standing| standing.category.tools.iter().any(|at| view.set.tools()[*at].id() == tool);
        Ok(categories.into_iter().filter(|standing| standing.loaded && owns(standing)).collect())
    }

    /// Unloads something. Gives the exposed names of the tools that are not loaded any more: those that something else keeps
    /// are not among them. `None` if it was not loaded.
    pub fn unload(&self, item: &Item) -> Result<Option<Vec<String>>, LoadError> {
        let book = self.book()?;
        if let Item::Category(id) = item
            && book.is_pinned(id)
        {
            return Err(LoadError::Pinned(self.overview()?.spelt(id)));
        }
        let before = self.kept(&book)?;
        if !self.engine.loads().unload(&self.conversation(), item, &book) {
            if let Item::Tool(id) = item
                && let Some(keeper) = self.keepers(id)?.into_iter().find(|keeper| keeper.pinned)
            {
                let tool = exposed_name(id, &self.engine.settings().assemble.names);
                return Err(LoadError::PinnedTool { tool, category: keeper.category.id });
            }
            return Ok(None);
        }
        self.engine.hub().touch();
        let after = self.kept(&book)?;
        Ok(Some(before.difference(&after).cloned().collect()))
    }

    /// Exposed names of the tools that are loaded.
    fn kept(&self, book: &Book) -> Result<BTreeSet<String>, LoadError> {
        let loaded = self.loaded();
        let set = &self.engine.view(&with_everything(&self.scope))?.set;
        let groups = &self.engine.settings().assemble.policy.groups;
        let tools = set.names().zip(set.tools());
        let kept = tools.filter(|(name, tool)| book.is_loaded(tool, name, groups, Some(&loaded)));
        Ok(kept.map(|(name, _)| name.to_owned()).collect())
    }

    /// Tokens of definitions that [`Self::reclaim`] could free; 0 while nothing but pinned categories is loaded.
    pub fn reclaimable(&self) -> Result<usize, LoadError> {
        let book = self.book()?;
        let pinned = book.with_pins(BTreeSet::new(), BTreeSet::new());
        Ok(self.tokens(&book, &self.loaded())?.saturating_sub(self.tokens(&book, &pinned)?))
    }

    /// Unloads what was used least recently, until at least `target` tokens of definitions are free or nothing but what is
    /// pinned is left; what was never used counts as oldest. Gives the tokens that are free.
    pub fn reclaim(&self, target: usize) -> Result<usize, LoadError> {
        let book = self.book()?;
        let before = self.tokens(&book, &self.loaded())?;
        let mut freed = 0;
        while freed < target
            && let Some(oldest) = self.engine.loads().oldest(&self.conversation(), &book)
        {
            self.engine.loads().unload(&self.conversation(), &oldest, &book);
            freed = before.saturating_sub(self.tokens(&book, &self.loaded())?);
        }
        if freed > 0 {
            self.engine.hub().touch();
        }
        Ok(freed)
    }

    /// Tokens of the definitions of everything that is loaded; what two categories own counts once.
    fn tokens(&self, book: &Book, loaded: &Loaded) -> Result<usize, LoadError> {
        let set = &self.engine.view(&with_everything(&self.scope))?.set;
        let groups = &self.engine.settings().assemble.policy.groups;
        let tools = set.names().zip(set.tools()).enumerate();
        let kept = tools.filter(|(_, (name, tool))| book.is_loaded(tool, name, groups, Some(loaded)));
        Ok(kept.map(|(position, _)| set.tokens_of(position)).sum())
    }

    /// Forgets the conversation: it begins anew.
    pub fn end(&self) {
        if self.engine.loads().forget(&self.conversation()) {
            self.engine.hub().touch();
        }
    }
}

impl Overview {
    /// One of the categories.
    pub fn find(&self, id: &CategoryId) -> Option<&Standing> {
        self.categories.binary_search_by(|standing| standing.category.id.cmp(id)).ok().map(|at| &self.categories[at])
    }

    /// The id as the category itself is spelt; the case of letters tells no two apart.
    pub fn spelt(&self, id: &CategoryId) -> CategoryId {
        self.find(id).map_or(id, |standing| &standing.category.id).clone()
    }

    /// A configuration may spell what is loaded at first in another way than the category.
    fn respelt(&self, mut error: LoadError) -> LoadError {
        if let LoadError::Limit { loaded, .. } = &mut error {
            for item in loaded {
                if let Item::Category(id) = item {
                    *id = self.spelt(id);
                }
            }
        }
        error
    }

    /// Exposed names of a category's tools.
    pub fn names(&self, category: &Category) -> Vec<String> {
        category.tools.iter().map(|&position| self.view.set.name_map().name(position).to_owned()).collect()
    }

    /// The tool of some category that a name means.
    fn tool(&self, name: &str, groups: &Groups) -> Result<Option<usize>, LoadError> {
        let mut found = self.view.set.called(name, groups);
        found.retain(|at| self.categories.iter().any(|standing| standing.category.tools.contains(at)));
        match found[..] {
            [] => Ok(None),
            [one] => Ok(Some(one)),
            _ => {
                let map = self.view.set.name_map();
                let tools = found.iter().map(|at| map.name(*at).to_owned()).take(10).collect();
                Err(LoadError::Ambiguous { name: shown(name), tools })
            }
        }
    }

    fn not_available(&self, name: &str) -> LoadError {
        let known = self.categories.iter().filter(|standing| !standing.category.tools.is_empty());
        let known = known.map(|standing| standing.category.id.to_string()).take(10).collect();
        LoadError::NotAvailable { name: shown(name), known }
    }
}
