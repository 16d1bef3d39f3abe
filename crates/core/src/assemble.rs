//! Assembling: catalog → selection → names → disclosure → definitions. A pure function; the same catalog, scope and
//! settings give the same bytes.

mod required;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::Value;

use crate::{
    Catalog, ContentHash, Scope, Source, SourceState, Tool,
    bridge::{self, Card, Directory},
    categories::{CategoryId, of_itself},
    disclosure::{self, Disclosure, Entry, Options, Placement, Settings},
    name::{Assignment, MergeRule, Merged, NameLoser, NameMap, NameSettings, assign, merge},
    search::{self, Document, Index, Parameter, RankerKind, Shelf},
    select::{Policy, Removals, SelectError, select},
    selector::Selector,
};

use required::incomplete;
pub use required::{Absence, Incomplete};

/// Settings of the assembly.
#[derive(Clone, Default)]
pub struct AssembleSettings {
    /// The stages of selection.
    pub policy: Policy,
    /// How names are formed.
    pub names: NameSettings,
    /// Servers whose tools are merged where they are the same.
    pub merge: Vec<MergeRule>,
    /// When and how tools are deferred.
    pub disclosure: Settings,
    /// The same for scopes of certain profiles.
    pub profile_disclosure: BTreeMap<String, Settings>,
    /// How the listing is made.
    pub listing: Options,
    /// Tools that are never deferred, beyond those of the built-in source and of sources marked so.
    pub always: Vec<Selector>,
    /// Tools that are deferred whatever else says otherwise.
    pub defer: Vec<Selector>,
    /// Context length of scopes that name none, in tokens.
    pub context_length: Option<u64>,
    /// Which ranking answers searches.
    pub ranker: RankerKind,
}

/// Where a tool of the set stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Its definition is in the list.
    Direct,
    /// It is behind the bridge.
    Deferred,
}

/// Token counts of a set, all by one counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct TokenReport {
    /// What the model is shown: direct definitions, the bridge, the listing in it.
    pub shown: usize,
    /// What it would be shown with every tool direct and no bridge.
    pub eager: usize,
    /// The part of `shown` that is the listing.
    pub listing: usize,
    /// How the counts were made.
    pub counter: &'static str,
}

/// The assembled answer for one scope.
pub struct ToolSet {
    /// Definitions to show, in MCP shape and under their exposed names: direct tools (built-in first, then by group and
    /// name), then the bridge.
    pub definitions: Vec<Arc<Value>>,
    /// How disclosure decided; its indices are positions in [`ToolSet::tools`].
    pub disclosure: Disclosure,
    /// Token counts.
    pub tokens: TokenReport,
    /// Tools that selection removed.
    pub removals: Removals,
    /// Tools that lost their name to another one.
    pub losers: Vec<NameLoser>,
    /// Why this set must not be handed to a run, if it must not.
    pub incomplete: Option<Incomplete>,
    /// Changes exactly when `definitions` or the reachable tools change.
    pub hash: ContentHash,
    /// Changes exactly when `definitions` change.
    pub shown_hash: ContentHash,
    assignment: Assignment,
    // Positions by other names, in lower case.
    aliases: BTreeMap<String, usize>,
    // By position; of tools that are in others than they say of themselves.
    categories: BTreeMap<usize, BTreeSet<CategoryId>>,
    // By position.
    merged: BTreeMap<usize, Merged>,
    standing: Vec<Standing>,
    pinned: Vec<bool>,
    sizes: Vec<usize>,
    counter: crate::estimate::TokenCounter,
    summaries: Vec<Option<Arc<str>>>,
    ranker: RankerKind,
    disclosure_settings: Settings,
}

impl ToolSet {
    /// All reachable tools, by exposed name.
    pub fn tools(&self) -> &[Arc<Tool>] {
        &self.assignment.tools
    }

    /// The names and the way back; positions are those of [`ToolSet::tools`].
    pub fn name_map(&self) -> &NameMap {
        &self.assignment.map
    }

    /// All exposed names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.assignment.map.iter().map(|(name, _)| name)
    }

    /// The tool behind an exposed name.
    pub fn tool(&self, name: &str) -> Option<&Arc<Tool>> {
        self.assignment.map.position(name).map(|index| &self.assignment.tools[index])
    }

    /// The exposed name that a name leads to: itself, or that of the tool which the configuration calls so as well.
    pub fn resolve<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        if self.assignment.map.position(name).is_some() {
            return Some(name);
        }
        let position = self.aliases.get(&*crate::selector::pattern::lower(name))?;
        Some(self.assignment.map.name(*position))
    }

    /// What the tool under an exposed name stands for, if it stands for several.
    pub fn merged(&self, name: &str) -> Option<&Merged> {
        self.merged.get(&self.assignment.map.position(name)?)
    }

    /// Every tool that can be reached, those that another one stands for in its place.
    pub fn callable(&self) -> impl Iterator<Item = &Arc<Tool>> {
        let tools = self.assignment.tools.iter().enumerate();
        tools.flat_map(|(position, tool)| match self.merged.get(&position) {
            Some(merged) => merged.members.values().collect(),
            None => vec![tool],
        })
    }

    /// How the tool at a position is doing, and whether its definition is an old one: of several that it stands for, the
    /// one that does best.
    pub fn state(&self, position: usize, catalog: &Catalog) -> (SourceState, bool) {
        let of = |tool: &Arc<Tool>| {
            let entry = catalog.sources().get(tool.source());
            let state = entry.map_or(SourceState::Disabled, |entry| entry.state.clone());
            (state, entry.is_some_and(|entry| entry.stale))
        };
        let members = self.merged.get(&position).into_iter().flat_map(|merged| merged.members.values());
        let best = members.map(of).min_by_key(|(state, stale)| (*state != SourceState::Ready, *stale));
        best.unwrap_or_else(|| of(&self.assignment.tools[position]))
    }

    /// Where the tool at a position stands.
    pub fn standing(&self, position: usize) -> Standing {
        self.standing[position]
    }

    /// Whether the tool at a position would be direct whatever the disclosure: core, marked `always`, or all there is.
    pub fn is_pinned(&self, position: usize) -> bool {
        self.pinned[position]
    }

    /// Tokens of the whole definition of the tool at a position, by [`ToolSet::counter`].
    pub fn tokens_of(&self, position: usize) -> usize {
        self.sizes[position]
    }

    /// How tokens are counted.
    pub fn counter(&self) -> crate::estimate::TokenCounter {
        self.counter
    }

    /// The definition of the tool at a position, under its exposed name.
    pub fn definition(&self, position: usize) -> Arc<Value> {
        renamed(&self.assignment.tools[position], self.assignment.map.name(position))
    }

    /// Settings of the bridge's searches.
    pub fn disclosure_settings(&self) -> &Settings {
        &self.disclosure_settings
    }

    /// Builds the search index over the reachable tools; hits refer to positions in [`ToolSet::tools`].
    pub fn build_index(&self) -> Index {
        self.build_index_from(&Shelf::default())
    }

    /// What ranks the tools in searches.
    pub fn ranker(&self) -> search::RankerKind {
        self.ranker
    }

    /// The same with what `shelf` knows already of the tools, whoever else may see them: documents are shared, what is
    /// counted over documents is not.
    pub fn build_index_from(&self, shelf: &Shelf) -> Index {
        let mut last: Option<(&str, ContentHash)> = None;
        let mut keys = Vec::with_capacity(self.assignment.tools.len());
        let mut bytes = Vec::new();
        for (((name, _), tool), summary) in self.assignment.map.iter().zip(&self.assignment.tools).zip(&self.summaries)
        {
            let summary = summary.as_deref().unwrap_or_default();
            let of_summary = match last {
                Some((text, hash)) if text == summary => hash,
                _ => ContentHash::of_bytes(summary.as_bytes()),
            };
            last = Some((summary, of_summary));
            bytes.clear();
            bytes.extend_from_slice(tool.hash().as_bytes());
            bytes.extend_from_slice(of_summary.as_bytes());
            for text in [name, tool.source().group()].into_iter().chain(tool.tags().iter().map(String::as_str)) {
                bytes.extend_from_slice(text.as_bytes());
                bytes.push(0xff);
            }
            keys.push(ContentHash::of_bytes(&bytes));
        }
        let document = |at: usize| self.document(at);
        let key = |at: usize| keys[at];
        Index::build_from(self.ranker, shelf, &search::Corpus { len: keys.len(), key: &key, document: &document })
    }

    /// What an encoder reads of the reachable tools ([`Document::passage`]), by position in [`ToolSet::tools`].
    pub fn passages(&self) -> Vec<String> {
        (0..self.assignment.tools.len()).map(|at| self.document(at).passage()).collect()
    }

    /// What is searched of the reachable tools, by position in [`ToolSet::tools`].
    pub fn documents(&self) -> Vec<Document> {
        (0..self.assignment.tools.len()).map(|at| self.document(at)).collect()
    }

    fn document(&self, at: usize) -> Document {
        document(self.assignment.map.name(at), &self.assignment.tools[at], self.summaries[at].as_deref())
    }
}

impl Directory for ToolSet {
    fn len(&self) -> usize {
        self.assignment.tools.len()
    }

    fn card(&self, index: usize) -> Card<'_> {
        let tool = &self.assignment.tools[index];
        Card {
            name: self.assignment.map.name(index),
            server: tool.source().group(),
            definition: tool.definition(),
            tool: Some(tool),
        }
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.assignment.map.position(name)
    }

    fn is_in(&self, index: usize, category: &CategoryId) -> bool {
        match self.categories.get(&index) {
            Some(all) => all.contains(category),
            None => of_itself(&self.assignment.tools[index]).contains(category),
        }
    }
}

fn document(name: &str, tool: &Tool, summary: Option<&str>) -> Document {
    Document {
        name: name.to_owned(),
        title: tool.title().unwrap_or_default().to_owned(),
        server: tool.source().group().to_owned(),
        server_summary: summary.unwrap_or_default().to_owned(),
        description: tool.description().to_owned(),
        parameters: Parameter::from_schema(tool.input_schema()),
        tags: tool.tags().to_vec(),
    }
}

/// Assembles the tools of a catalog for a scope.
pub fn assemble(catalog: &Catalog, scope: &Scope, settings: &AssembleSettings) -> Result<ToolSet, SelectError> {
    let selection = select(catalog, &settings.policy, &settings.names, scope)?;
    let (claims, by_id) = merge(selection.kept, &settings.merge, &settings.names);
    let mut assignment = assign(&claims, &settings.names);
    let losers = std::mem::take(&mut assignment.losers);
    let incomplete = incomplete(catalog, scope, settings, &selection.removals, &assignment, &losers, &by_id);
    let summaries: Vec<Option<Arc<str>>> = assignment
        .tools
        .iter()
        .map(|tool| {
            let source = by_id.get(tool.id()).and_then(|merged| merged.members.values().next());
            let source = source.map_or(tool.source(), |member| member.source());
            catalog.sources().get(source).and_then(|entry| entry.summary.clone())
        })
        .collect();
    let groups = &settings.policy.groups;
    let book = settings.policy.categories.as_deref();
    let named = |list: &[Selector], tool: &Tool, name: &str| list.iter().any(|s| s.matches(tool, name, groups));
    let counter = settings.listing.counter;
    // A bridge only for a few built-in tools would cost more than it hides. Goes by the sources, not by their tools: a
    // server that is still starting must not make the bridge come and go.
    let only_builtin = catalog.sources().keys().all(|source| *source == Source::Builtin);
    let entries: Vec<Entry<'_>> = assignment
        .map
        .iter()
        .zip(&assignment.tools)
        .zip(&summaries)
        .map(|(((name, _), tool), summary)| {
            let loaded = || book.is_some_and(|book| book.is_loaded(tool, name, groups, scope.loaded.as_deref()));
            let direct = !named(&settings.defer, tool, name)
                && (tool.always() || loaded() || only_builtin || is_core(tool) || named(&settings.always, tool, name));
            Entry {
                name,
                group: tool.source().group(),
                summary: summary.as_deref(),
                description: tool.description(),
                eager_tokens: eager_tokens(tool, name, counter),
                placement: if direct { Placement::Direct } else { Placement::Deferrable },
            }
        })
        .collect();
    let profile = settings.policy.profile_of(scope);
    let disclosure_settings =
        profile.and_then(|profile| settings.profile_disclosure.get(profile)).unwrap_or(&settings.disclosure);
    let context_length = scope.context_length.or(settings.context_length).and_then(|n| i64::try_from(n).ok());
    let mut disclosure = disclosure::disclose(&entries, disclosure_settings, context_length, &settings.listing);
    let key = |index: &usize| {
        let tool = &assignment.tools[*index];
        (tool.source().precedence().min(1), tool.source().group(), entries[*index].name)
    };
    disclosure.direct.sort_by(|a, b| key(a).cmp(&key(b)));
    let mut standing = vec![Standing::Direct; assignment.tools.len()];
    for &index in &disclosure.deferred {
        standing[index] = Standing::Deferred;
    }
    let mut definitions: Vec<Arc<Value>> =
        disclosure.direct.iter().map(|&index| renamed(&assignment.tools[index], entries[index].name)).collect();
    let mut bridge_tokens = 0;
    if disclosure.active {
        for definition in bridge::definitions(&disclosure.listing, disclosure_settings) {
            bridge_tokens += counter.json(&definition);
            definitions.push(Arc::new(definition));
        }
    }
    let sizes: Vec<usize> = entries.iter().map(|entry| entry.eager_tokens).collect();
    let eager: usize = sizes.iter().sum();
    let pinned = entries.iter().map(|entry| entry.placement == Placement::Direct).collect();
    let tokens = TokenReport {
        shown: disclosure.tokens.direct + bridge_tokens,
        eager,
        listing: disclosure.tokens.listing,
        counter: counter.label(),
    };
    // Deferred tools count with their whole definitions: a changed schema must invalidate what clients remember.
    let reachable = assignment
        .map
        .iter()
        .zip(&assignment.tools)
        .flat_map(|((name, _), tool)| [ContentHash::of_bytes(name.as_bytes()), tool.hash()]);
    let shown = definitions.iter().map(|definition| ContentHash::of_bytes(definition.to_string().as_bytes()));
    let shown_hash = ContentHash::of_hashes(shown);
    let hash = ContentHash::of_hashes(reachable.chain([shown_hash]));
    let merged: BTreeMap<usize, Merged> = if by_id.is_empty() {
        BTreeMap::new()
    } else {
        let tools = assignment.tools.iter().enumerate();
        tools.filter_map(|(position, tool)| Some((position, by_id.get(tool.id())?.clone()))).collect()
    };
    let mut aliases = BTreeMap::new();
    for (name, id) in settings.policy.groups.aliases() {
        if let Some(position) = assignment.tools.iter().position(|tool| tool.id() == id) {
            aliases.insert(name.to_owned(), position);
        }
    }
    Ok(ToolSet {
        categories: categories(&assignment, &settings.policy),
        aliases,
        merged,
        definitions,
        tokens,
        removals: selection.removals,
        losers,
        incomplete,
        hash,
        shown_hash,
        standing,
        pinned,
        sizes,
        counter,
        disclosure,
        summaries,
        ranker: settings.ranker,
        disclosure_settings: disclosure_settings.clone(),
        assignment,
    })
}

/// The categories of tools, where more is said of them than they say themselves.
fn categories(assignment: &Assignment, policy: &Policy) -> BTreeMap<usize, BTreeSet<CategoryId>> {
    if !policy.categorizes() {
        return BTreeMap::new();
    }
    let tools = assignment.map.iter().zip(&assignment.tools).enumerate();
    tools.map(|(position, ((name, _), tool))| (position, policy.categories_of(tool, name))).collect()
}

/// Built-in tools that agents use in most turns; the rest of the built-ins is found through the bridge.
fn is_core(tool: &Tool) -> bool {
    *tool.source() == Source::Builtin
        && matches!(
            tool.name(),
            "read_file"
                | "write_file"
                | "edit_file"
                | "list_directory"
                | "find_files"
                | "search_text"
                | "run_command"
                | "fetch_url"
        )
}

/// Size of the definition under its exposed name, as tool sets count it.
pub fn eager_tokens(tool: &Tool, name: &str, counter: crate::estimate::TokenCounter) -> usize {
    match counter {
        crate::estimate::TokenCounter::Chars4 => {
            (tool.definition_chars() + name.chars().count()).saturating_sub(tool.name().chars().count()).div_ceil(4)
        }
        crate::estimate::TokenCounter::Calibrated => counter.json(&renamed(tool, name)),
    }
}

/// The definition with the exposed name in place of the tool's own; everything else as the source gave it.
pub fn renamed(tool: &Tool, name: &str) -> Arc<Value> {
    if tool.name() == name {
        return tool.definition().clone();
    }
    let mut definition = Value::clone(tool.definition());
    definition["name"] = Value::from(name);
    Arc::new(definition)
}

#[cfg(test)]
mod tests;
