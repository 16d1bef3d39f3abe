//! Assembling: catalog → selection → names → disclosure → definitions. A pure function; the same catalog, scope and
//! settings give the same bytes.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use crate::{
    Catalog, ContentHash, Scope, Source, Tool,
    bridge::{self, Card, Directory},
    disclosure::{self, Disclosure, Entry, Options, Placement, Settings},
    name::{Assignment, NameLoser, NameMap, NameSettings, assign},
    search::{Document, Index, Parameter, RankerKind},
    select::{Policy, Removed, SelectError, select},
    selector::Selector,
};

/// Settings of the assembly.
#[derive(Clone, Default)]
pub struct AssembleSettings {
    /// The stages of selection.
    pub policy: Policy,
    /// How names are formed.
    pub names: NameSettings,
    /// When and how tools are deferred.
    pub disclosure: Settings,
    /// The same for scopes of certain profiles.
    pub profile_disclosure: BTreeMap<String, Settings>,
    /// The profile of scopes that name none.
    pub default_profile: Option<String>,
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
    pub removed: Vec<Removed>,
    /// Tools that lost their name to another one.
    pub losers: Vec<NameLoser>,
    /// Rules that name no tool, as (stage, selector).
    pub unmatched: Vec<(String, String)>,
    /// Changes exactly when `definitions` or the reachable tools change.
    pub hash: ContentHash,
    /// Changes exactly when `definitions` change.
    pub shown_hash: ContentHash,
    assignment: Assignment,
    standing: Vec<Standing>,
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

    /// Where the tool at a position stands.
    pub fn standing(&self, position: usize) -> Standing {
        self.standing[position]
    }

    /// Settings of the bridge's searches.
    pub fn disclosure_settings(&self) -> &Settings {
        &self.disclosure_settings
    }

    /// Builds the search index over the reachable tools; hits refer to positions in [`ToolSet::tools`].
    pub fn build_index(&self) -> Index {
        Index::build(self.ranker, &self.documents())
    }

    /// What is searched of the reachable tools, by position in [`ToolSet::tools`].
    pub fn documents(&self) -> Vec<Document> {
        self.assignment
            .map
            .iter()
            .zip(&self.assignment.tools)
            .zip(&self.summaries)
            .map(|(((name, _), tool), summary)| document(name, tool, summary.as_deref()))
            .collect()
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
    let assignment = assign(&selection.kept, &settings.names);
    let summaries: Vec<Option<Arc<str>>> = assignment
        .tools
        .iter()
        .map(|tool| catalog.sources().get(tool.source()).and_then(|entry| entry.summary.clone()))
        .collect();
    let groups = &settings.policy.groups;
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
            let direct = !named(&settings.defer, tool, name)
                && (tool.always() || only_builtin || is_core(tool) || named(&settings.always, tool, name));
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
    let profile = scope.profile.as_ref().or(settings.default_profile.as_ref());
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
    let eager: usize = entries.iter().map(|entry| entry.eager_tokens).sum();
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
    Ok(ToolSet {
        definitions,
        tokens,
        removed: selection.removed,
        losers: assignment.losers.clone(),
        unmatched: selection.unmatched,
        hash,
        shown_hash,
        standing,
        disclosure,
        summaries,
        ranker: settings.ranker,
        disclosure_settings: disclosure_settings.clone(),
        assignment,
    })
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

/// Size of the definition under its exposed name.
fn eager_tokens(tool: &Tool, name: &str, counter: crate::estimate::TokenCounter) -> usize {
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
