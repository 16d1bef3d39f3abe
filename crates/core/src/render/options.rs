//! What is wished of a rendering beside the tools themselves.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Target;

/// A tool to render.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// Its definition in MCP shape, under its exposed name.
    pub definition: &'a Value,
    /// The group it is listed under: the namespace where the target has such.
    pub group: &'a str,
    /// What the group is for; empty if unknown.
    pub summary: &'a str,
    /// Whether the model gets it only when a search finds it. Counts only with [`RenderOptions::search`], and for
    /// targets that load tools so ([`Target::loads_by_search`]); else the tool is rendered like the others.
    pub deferred: bool,
}

impl<'a> Item<'a> {
    /// A tool that the model gets at once.
    pub fn direct(definition: &'a Value) -> Self {
        Self { definition, group: "", summary: "", deferred: false }
    }
}

/// Who searches for deferred tools.
#[derive(Clone, Debug, PartialEq)]
pub enum SearchBy {
    /// Whoever runs the model's calls: this tool, in MCP shape, answers searches, and its answers load the tools.
    Client(Value),
    /// The provider, with a search of its own over all the definitions.
    Provider,
}

/// How long a provider keeps the prefix that ends with the tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheLife {
    /// Five minutes.
    Short,
    /// One hour.
    Long,
}

impl CacheLife {
    /// As providers write it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Short => "5m",
            Self::Long => "1h",
        }
    }
}

/// Wishes. None is on by default; a target that has no place for one leaves it out, except that every wish to be strict
/// is answered ([`super::Rendered::strict`]).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RenderOptions {
    /// By whose rules schemas are lowered, if not by the target's own: another provider's model behind a compatible
    /// endpoint.
    pub lower_as: Option<Target>,
    /// Whether the model takes strict tools.
    pub strict_model: bool,
    /// Tools to be strict, by exposed name, where they fit.
    pub strict: BTreeSet<String>,
    /// Tools that programs of the model may call (code execution of Anthropic, programmatic calling of OpenAI).
    pub programmatic: BTreeSet<String>,
    /// Tools whose arguments are streamed as they are written (Anthropic).
    pub eager_streaming: BTreeSet<String>,
    /// Tools that run while the model goes on (OpenAI Responses `async`, Gemini `NON_BLOCKING`).
    pub asynchronous: BTreeSet<String>,
    /// Whether the schemas of results are told (OpenAI Responses, Gemini).
    pub output_schemas: bool,
    /// Where set, the tools end with a mark up to which the provider may cache (Anthropic, Bedrock).
    pub cache: Option<CacheLife>,
    /// Where set, deferred tools are loaded by search.
    pub search: Option<SearchBy>,
}

impl Target {
    /// Whether the target can load tools by search (standards reference §4.2, §4.3).
    pub fn loads_by_search(self) -> bool {
        matches!(self, Self::Anthropic | Self::OpenAiResponses)
    }
}
