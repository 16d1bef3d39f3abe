//! The catalog: an immutable snapshot of every tool of a tenant.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use serde::Serialize;

use crate::{ContentHash, Labels, Quarantine, Source, Tool, ToolId};

/// How a source is doing. A source that is not [`SourceState::Ready`] keeps its last known tools listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum SourceState {
    /// Definitions are current and calls can be made.
    Ready,
    /// Being started or connected; calls wait for it.
    Starting,
    /// Not usable at the moment; the text says why and is fit for a model and a user.
    Down {
        /// What is wrong, without secrets.
        reason: String,
    },
    /// Switched off by configuration, or never callable.
    Disabled,
}

impl SourceState {
    /// The state's word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Starting => "starting",
            Self::Down { .. } => "down",
            Self::Disabled => "disabled",
        }
    }
}

/// What one source contributes to a snapshot.
#[derive(Clone, Debug)]
pub struct SourceEntry {
    /// How the source is doing.
    pub state: SourceState,
    /// Its tools, sorted by name.
    pub tools: Arc<[Arc<Tool>]>,
    /// Definitions that were refused, each with the reason.
    pub quarantined: Arc<[Quarantine]>,
    /// The server's own usage text. Untrusted; relayed only where configuration says so.
    pub instructions: Option<Arc<str>>,
    /// One line from local configuration on what the source is for.
    pub summary: Option<Arc<str>>,
    /// Whether the tools are last-known definitions rather than what the source says now.
    pub stale: bool,
    hash: ContentHash,
    off: bool,
    optional: bool,
    capabilities: bool,
}

impl SourceEntry {
    /// An entry over `tools`, which are put in name order.
    pub fn new(state: SourceState, mut tools: Vec<Arc<Tool>>, quarantined: Vec<Quarantine>) -> Self {
        tools.sort_by(|a, b| a.id().cmp(b.id()));
        let mut entry = Self {
            state,
            tools: tools.into(),
            quarantined: quarantined.into(),
            instructions: None,
            summary: None,
            stale: false,
            hash: ContentHash::of_hashes([]),
            off: false,
            optional: false,
            capabilities: false,
        };
        entry.rehash();
        entry
    }

    /// The same entry with a summary, which is part of what scopes see and so of the hash.
    #[must_use]
    pub fn with_summary(mut self, summary: Option<Arc<str>>) -> Self {
        self.summary = summary;
        self.rehash();
        self
    }

    fn rehash(&mut self) {
        let text = |text: &str| ContentHash::of_bytes(text.as_bytes());
        self.off = self.tools.iter().any(|tool| tool.labels().is_off());
        self.optional = self.tools.iter().any(|tool| tool.labels().optional);
        self.capabilities = self.tools.iter().any(|tool| !tool.labels().capabilities.is_empty());
        // Most tools of a source share their labels.
        let mut last: Option<(&Arc<Labels>, ContentHash)> = None;
        let tools: Vec<ContentHash> = self
            .tools
            .iter()
            .flat_map(|tool| {
                let labels = match last {
                    Some((labels, hash)) if Arc::ptr_eq(labels, tool.labels()) => hash,
                    _ => tool.labels().hash(),
                };
                last = Some((tool.labels(), labels));
                let mut local = [0; 9];
                local[0] = u8::from(tool.hints_trusted());
                local[1..].copy_from_slice(&tool.generation().to_le_bytes());
                [text(tool.name()), tool.hash(), ContentHash::of_bytes(&local), labels]
            })
            .collect();
        let refused = self.quarantined.iter().map(|refused| text(&refused.name));
        let parts = [
            ContentHash::of_hashes(tools),
            ContentHash::of_hashes(refused),
            text(self.summary.as_deref().unwrap_or_default()),
        ];
        self.hash = ContentHash::of_hashes(parts);
    }

    /// Whether any of its tools is off ([`Labels::is_off`]).
    pub fn has_off(&self) -> bool {
        self.off
    }

    /// Whether any of its tools is labelled optional.
    pub fn has_optional(&self) -> bool {
        self.optional
    }

    /// Whether any of its tools is labelled to need something of the client.
    pub fn has_capabilities(&self) -> bool {
        self.capabilities
    }

    /// Hash over the tools, their labels, what was refused and the summary; not over the state.
    pub fn hash(&self) -> ContentHash {
        self.hash
    }
}

/// An immutable snapshot of all tools of a tenant. A change of any source gives a new snapshot with the next
/// generation; parts that did not change are shared with the one before.
#[derive(Clone, Debug)]
pub struct Catalog {
    generation: u64,
    sources: BTreeMap<Source, Arc<SourceEntry>>,
    // Computed when somebody asks: while many servers start, most snapshots are replaced before anybody looks.
    hash: OnceLock<ContentHash>,
    len: usize,
}

impl Default for Catalog {
    fn default() -> Self {
        Self::new(0, BTreeMap::new())
    }
}

impl Catalog {
    /// A snapshot over the given sources.
    pub fn new(generation: u64, sources: BTreeMap<Source, Arc<SourceEntry>>) -> Self {
        let len = sources.values().map(|entry| entry.tools.len()).sum();
        Self { generation, sources, hash: OnceLock::new(), len }
    }

    /// The next snapshot with `source` set to `entry`, or removed.
    #[must_use]
    pub fn with_source(&self, source: Source, entry: Option<Arc<SourceEntry>>) -> Self {
        let mut sources = self.sources.clone();
        match entry {
            Some(entry) => sources.insert(source, entry),
            None => sources.remove(&source),
        };
        Self::new(self.generation + 1, sources)
    }

    /// Counts snapshots; higher is newer.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Hash over all tools. Two catalogs with equal hashes hold the same tools; the states of sources do not count.
    pub fn hash(&self) -> ContentHash {
        let parts = |(id, entry): (&Source, &Arc<SourceEntry>)| {
            [ContentHash::of_bytes(id.to_string().as_bytes()), entry.hash()]
        };
        *self.hash.get_or_init(|| ContentHash::of_hashes(self.sources.iter().flat_map(parts)))
    }

    /// All sources in order of precedence.
    pub fn sources(&self) -> &BTreeMap<Source, Arc<SourceEntry>> {
        &self.sources
    }

    /// All tools, by source precedence, source, name.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.sources.values().flat_map(|entry| entry.tools.iter())
    }

    /// Whether a definition of this name was refused.
    pub fn refuses(&self, id: &ToolId) -> bool {
        let entry = self.sources.get(&id.source);
        entry
            .is_some_and(|entry| !id.name.is_empty() && entry.quarantined.iter().any(|refused| refused.name == id.name))
    }

    /// All refused definitions.
    pub fn quarantined(&self) -> impl Iterator<Item = &Quarantine> {
        self.sources.values().flat_map(|entry| entry.quarantined.iter())
    }

    /// Number of tools.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no tool at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Looks a tool up by identity.
    pub fn get(&self, id: &ToolId) -> Option<&Arc<Tool>> {
        let tools = &self.sources.get(&id.source)?.tools;
        tools.binary_search_by(|tool| tool.id().cmp(id)).ok().map(|index| &tools[index])
    }
}
