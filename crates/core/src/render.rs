//! Rendering: the definitions of a tool set in the shape that a model provider accepts, with a report of what that
//! loses and the way back for names and keys.
//!
//! Pure and driven by data: [`dialect::TABLE`] says what each target does to each construct of JSON Schema. A tool that
//! cannot be lowered is refused for that target only; nothing is lost silently.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use self::{dialect::Construct, lower::lower, strict::Budget, tool::Renderer};
use crate::provider::{Loadable, WayBack};

pub mod dialect;
pub mod hosted;
mod inline;
mod keys;
mod keyword;
mod lower;
mod merge;
mod notes;
mod options;
mod payload;
mod reference;
mod report;
mod root;
mod search;
mod strict;
mod target;
mod tool;

pub use keys::KeyMap;
pub(crate) use keys::unmapped;
pub use options::{CacheLife, Item, RenderOptions, SearchBy};
pub use reference::markdown;
pub use strict::{NotStrict, StrictRules, StrictVerdict};
pub use target::{Target, UnknownTarget};

/// Largest lowered schema, in bytes of compact JSON.
const SCHEMA_BYTES: usize = 256 * 1024;
/// Most tools that one request can defer (standards reference §4.2).
const MOST_DEFERRED: usize = 10_000;

/// What was done to a construct that the target does not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Left out.
    Dropped,
    /// Left out of the schema and told in a description.
    Described,
    /// Said in another way that is not quite the same.
    Rewritten,
    /// Replaced by a place that accepts anything.
    Cut,
    /// Has another name; arguments are carried back.
    Renamed,
    /// Shortened.
    Shortened,
    /// Made up, since the target requires it.
    Filled,
}

/// One thing that a rendered tool says less exactly than its definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// Exposed name of the tool.
    pub tool: String,
    /// JSON Pointer into the schema, or into the definition for its name and description.
    pub path: String,
    /// What the target does not take.
    pub construct: Construct,
    /// What was done.
    pub action: Action,
}

/// Why a tool cannot be rendered for a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusedTool {
    /// Arguments are an object everywhere.
    #[error("the root of its schema is of type {0}; arguments are an object")]
    RootNotObject(String),
    /// Without references, it would be too large.
    #[error("its schema unfolds to more than {limit} values; simplify it at its source", limit = inline::WEIGHT)]
    TooManySchemas,
    /// The lowered schema is too large.
    #[error("its lowered schema has {0} bytes, more than {SCHEMA_BYTES}; simplify it at its source")]
    TooLarge(usize),
    /// Two tools would have the same name at the target.
    #[error("the target would call it '{0}', which is the name of another tool; rename one of them")]
    NameTaken(String),
    /// The definition has no name.
    #[error("its definition has no name")]
    Nameless,
}

/// A tool that is not rendered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// Exposed name of the tool.
    pub tool: String,
    /// Why.
    pub reason: String,
}

/// More tools than a target takes in one request. Nothing is cut: which tools to leave out is the caller's choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TooManyTools {
    /// Tools rendered.
    pub count: usize,
    /// Most tools in one request.
    pub limit: usize,
}

/// A tool set as a target takes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    /// Whom it is for.
    pub target: Target,
    /// Exposed names of the tools that are rendered, in their order.
    pub listed: Vec<String>,
    /// What goes into the request's list of tools. Gemini's list has one entry that holds all declarations.
    pub tools: Vec<Value>,
    /// Exposed names by the names at the target, where they differ.
    pub names: BTreeMap<String, String>,
    /// Renamed keys by exposed name of the tool; only tools that have any.
    pub key_maps: BTreeMap<String, KeyMap>,
    /// What the rendered tools say less exactly, in the order of the tools.
    pub losses: Vec<Loss>,
    /// Tools that are not rendered.
    pub refused: Vec<Refused>,
    /// Set if there are more tools than the target takes.
    pub too_many: Option<TooManyTools>,
    /// What goes into the request beside the list, where something does: Gemini's `toolConfig`.
    pub tool_config: Option<Value>,
    /// What became of the tools that were to be strict, in the order of the tools.
    pub strict: Vec<StrictVerdict>,
    /// How many tools are loaded by search.
    pub deferred: usize,
    /// Whether answers to searches refer to tools that are in the list.
    references: bool,
    /// Definitions that searches answer with, by exposed name.
    loadable: BTreeMap<String, Loadable>,
}

impl Rendered {
    fn new(target: Target) -> Self {
        Self {
            target,
            listed: Vec::new(),
            tools: Vec::new(),
            names: BTreeMap::new(),
            key_maps: BTreeMap::new(),
            losses: Vec::new(),
            refused: Vec::new(),
            too_many: None,
            tool_config: None,
            strict: Vec::new(),
            deferred: 0,
            references: false,
            loadable: BTreeMap::new(),
        }
    }

    /// The way back for calls of the rendered tools.
    pub fn way_back(&self) -> WayBack {
        let way = WayBack::new(self.target, self.listed.iter().cloned(), self.names.clone(), self.key_maps.clone());
        let way = way.with_loadable(self.loadable.clone());
        if self.references { way.with_references() } else { way }
    }
}

/// Renders definitions in MCP shape, under their exposed names and in their order, for a target.
pub fn render<'a>(target: Target, definitions: impl IntoIterator<Item = &'a Value>) -> Rendered {
    render_set(target, definitions.into_iter().map(Item::direct), &RenderOptions::default())
}

/// The same with wishes. Deferred tools come last, so that the prefix before them stays as it is when they change.
pub fn render_set<'a>(target: Target, items: impl IntoIterator<Item = Item<'a>>, options: &RenderOptions) -> Rendered {
    let mut rendered = Rendered::new(target);
    let items: Vec<Item<'a>> = items.into_iter().collect();
    let Some(own) = target.dialect() else {
        let names = items.iter().filter_map(|item| item.definition["name"].as_str());
        rendered.listed = names.map(str::to_owned).collect();
        rendered.tools = items.into_iter().map(|item| item.definition.clone()).collect();
        return rendered;
    };
    let dialect = own.lowering_as(options.lower_as);
    let search = options.search.as_ref().filter(|_| target.loads_by_search());
    let exposed = items.iter().filter_map(|item| item.definition["name"].as_str()).collect();
    let mut renderer = Renderer { dialect, options, exposed, taken: BTreeSet::new(), budget: Budget::default() };
    let mut direct = Vec::new();
    let mut later: Vec<(Item<'a>, String, Value)> = Vec::new();
    for item in items {
        let name = item.definition["name"].as_str().unwrap_or_default();
        let deferred = item.deferred && search.is_some();
        match renderer.tool(item.definition, deferred, &mut rendered) {
            Ok(tool) if deferred => later.push((item, name.to_owned(), tool)),
            Ok(tool) => direct.push(tool),
            Err(error) => rendered.refused.push(Refused { tool: name.to_owned(), reason: error.to_string() }),
        }
    }
    if !later.is_empty() {
        rendered.deferred = later.len();
        match search {
            Some(SearchBy::Client(definition)) => direct.extend(renderer.client_search(definition, &mut rendered)),
            Some(SearchBy::Provider) => direct.push(payload::provider_search(dialect.wrapper)),
            None => {}
        }
    }
    if let Some(life) = options.cache {
        payload::mark_cache(dialect.wrapper, &mut direct, life);
    }
    let limit = dialect.tools.filter(|limit| direct.len() > *limit).map(|limit| (direct.len(), limit));
    let limit = limit.or((later.len() > MOST_DEFERRED).then_some((later.len(), MOST_DEFERRED)));
    rendered.too_many = limit.map(|(count, limit)| TooManyTools { count, limit });
    search::place(target, search, &mut direct, later, &mut rendered);
    rendered.tools = payload::gather(dialect.wrapper, direct);
    if strict::validates(target) {
        strict::validate(&mut rendered, options);
    }
    rendered
}

/// Lowers one schema of arguments for a target; MCP takes it as it is.
pub fn lower_schema(target: Target, schema: &Value) -> Result<Value, RefusedTool> {
    match target.dialect() {
        Some(dialect) => lower(schema, dialect).map(|lowered| lowered.schema),
        None => Ok(schema.clone()),
    }
}

#[cfg(test)]
pub(crate) mod tests;
