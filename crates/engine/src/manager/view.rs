//! One view of every tool for user interfaces: built-in, plugin, MCP, connector and custom tools alike, with where they
//! come from, what is said of them, and what a scope sees of them (oneringai §2.6).

use std::collections::{BTreeSet, HashMap};

use serde::Serialize;
use toolcrib_core::{
    Scope, Source, ToolId,
    assemble::eager_tokens,
    breaker::BreakerState,
    categories::CategoryId,
    explain::{Fate, explain},
    permission::Action,
    select::SelectError,
};

use super::{Filter, entry::service};
use crate::{admit::Guarded, engine::Engine};

/// Most entries of one page.
pub const MAX_PAGE: usize = 1_000;

/// What a scope sees of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// Its definition, from the start.
    Direct,
    /// It is found through the bridge.
    Deferred,
    /// Another tool stands for it and for others.
    Merged,
    /// A policy or a switch hides it.
    Hidden,
    /// Its name belongs to another tool.
    Blocked,
    /// Its definition was refused.
    Quarantined,
}

impl Shown {
    /// The word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Deferred => "deferred",
            Self::Merged => "merged",
            Self::Hidden => "hidden",
            Self::Blocked => "blocked",
            Self::Quarantined => "quarantined",
        }
    }

    /// Whether the scope can call it.
    pub fn reachable(self) -> bool {
        matches!(self, Self::Direct | Self::Deferred | Self::Merged)
    }
}

/// Which entries are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewFilter {
    /// By what the tools are.
    pub tools: Filter,
    /// Only those that the scope can call. For whoever must not learn of others.
    pub reachable: bool,
    /// Only after this one.
    pub after: Option<ToolId>,
    /// At most so many, 1 to [`MAX_PAGE`].
    pub limit: usize,
}

impl Default for ViewFilter {
    fn default() -> Self {
        Self { tools: Filter::default(), reachable: false, after: None, limit: MAX_PAGE }
    }
}

/// Who said something of a tool by hand, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Adjusted {
    /// Who.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When, milliseconds since the Unix epoch; 0 = not known.
    pub at_ms: u64,
    /// What, in a few words.
    pub says: String,
}

/// One tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CatalogEntry {
    /// Its identity.
    pub id: ToolId,
    /// The name it has or would have.
    pub name: String,
    /// Display title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it says of itself. Untrusted.
    pub description: String,
    /// The kind of source.
    pub kind: &'static str,
    /// Its source.
    pub source: Source,
    /// The server, plugin or connector that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// How its source is doing: `ready`, `starting`, `down`, `disabled`.
    pub state: &'static str,
    /// Why it is down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether its definition is the last known one.
    pub stale: bool,
    /// Whether it is switched on.
    pub enabled: bool,
    /// Its namespace.
    pub namespace: String,
    /// What its label says that it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// Every category that it is in: by its label, by what is said of categories, as a connector's.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub categories: BTreeSet<CategoryId>,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its priority.
    pub priority: i32,
    /// What must hold for it to be worth showing, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<String>,
    /// What happens to calls of it where no list and no rule says otherwise: `allow`, `ask`, `deny`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission: Option<&'static str>,
    /// What the scope sees of it.
    pub disclosure: Shown,
    /// Why it cannot be called, and what would change that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What its definition costs, tokens.
    pub tokens: usize,
    /// State of its circuit, if it has seen a fault: `closed`, `open`, `half-open`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub circuit: Option<&'static str>,
    /// What was said of it by hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adjusted: Option<Adjusted>,
}

/// Some entries, in the order of their identities.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CatalogPage {
    /// The entries.
    pub entries: Vec<CatalogEntry>,
    /// How many are wanted in all, whatever page they are on.
    pub total: usize,
    /// Where the next page begins: after this one. None at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<ToolId>,
}

impl Engine {
    /// Every tool of every source as a scope has it.
    ///
    /// # Errors
    /// If nothing can be shown to the scope.
    pub fn entries(&self, scope: &Scope, filter: &ViewFilter) -> Result<CatalogPage, SelectError> {
        // For whoever looks after tools: what is missing is to be seen as well.
        let view = self.inspect(scope)?;
        let catalog = self.hub().catalog_for(scope);
        let settings = self.settings();
        let policy = &settings.assemble.policy;
        let circuits: HashMap<Guarded, BreakerState> =
            self.admission().breakers().into_iter().map(|report| (report.key.guarded, report.snapshot.state)).collect();
        let mut page = CatalogPage::default();
        let limit = filter.limit.clamp(1, MAX_PAGE);
        for explanation in explain(&catalog, &view.set, &settings.assemble, "*") {
            let tool = catalog.get(&explanation.id);
            let said = self.hub().adjustment(&explanation.id);
            let labels = tool.map_or_else(
                || {
                    let base = self.hub().labels_of(&explanation.id).unwrap_or_else(toolcrib_core::Labels::nothing);
                    said.as_ref().map_or_else(|| base.clone(), |said| said.over(&base))
                },
                |tool| tool.labels().clone(),
            );
            let shown = match &explanation.fate {
                Fate::Direct => Shown::Direct,
                Fate::Deferred => Shown::Deferred,
                Fate::Merged { .. } => Shown::Merged,
                Fate::Hidden { .. } => Shown::Hidden,
                Fate::Blocked { .. } => Shown::Blocked,
                Fate::Quarantined { .. } => Shown::Quarantined,
            };
            let wanted = match tool {
                Some(tool) => filter.tools.wants_in(tool, || policy.categories_of(tool, &explanation.name)),
                None => filter.tools.wants_refused(&explanation.id, &labels),
            };
            // What stands for others is not a tool of its own: its members are listed.
            let stands_in = tool.is_none() && shown != Shown::Quarantined;
            // Of a name that its source offers twice one tool is served: that is the one that is listed.
            let stands_in = stands_in || tool.is_some() && shown == Shown::Quarantined;
            if !wanted || stands_in || filter.reachable && !shown.reachable() {
                continue;
            }
            page.total += 1;
            if filter.after.as_ref().is_some_and(|after| explanation.id <= *after) {
                continue;
            }
            if page.entries.len() == limit {
                page.next = page.entries.last().map(|entry| entry.id.clone());
                // The rest only counts.
                continue;
            }
            let why = (!shown.reachable()).then(|| explanation.sentence());
            let guarded = Guarded::Tool(explanation.id.clone());
            let circuit = circuits.get(&guarded).map(|state| state.word());
            let adjusted = said.map(|said| Adjusted { says: said.summary(), by: said.by, at_ms: said.at_ms });
            let reason = match &explanation.source {
                toolcrib_core::SourceState::Down { reason } => Some(reason.clone()),
                _ => None,
            };
            let source = explanation.id.source.clone();
            let tokens = tool.map_or(0, |tool| eager_tokens(tool, &explanation.name, view.set.counter()));
            let categories = tool.map(|tool| policy.categories_of(tool, &explanation.name)).unwrap_or_default();
            page.entries.push(CatalogEntry {
                categories,
                name: explanation.name,
                title: tool.and_then(|tool| tool.title()).map(str::to_owned),
                description: tool.map(|tool| tool.description().to_owned()).unwrap_or_default(),
                kind: source.kind(),
                service: service(&source).map(str::to_owned),
                source,
                id: explanation.id,
                state: explanation.source.word(),
                reason,
                stale: explanation.stale,
                enabled: labels.enabled,
                namespace: labels.namespace().to_owned(),
                category: labels.category.as_deref().map(str::to_owned),
                tags: labels.tags.to_vec(),
                priority: labels.priority,
                conditions: labels.conditions.iter().map(ToString::to_string).collect(),
                permission: labels.permission.map(Action::word),
                disclosure: shown,
                why,
                tokens,
                circuit,
                adjusted,
            });
        }
        Ok(page)
    }
}
