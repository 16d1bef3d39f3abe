//! One tool: the definition as its source gave it, and a typed view of the parts we use.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ContentHash, Labels, Source, ToolId};

/// A tool's behaviour hints. Untrusted when they come from an upstream: they may raise caution, never lower it.
/// Absent hints stay absent here; the defaults of the MCP specification (§ tool annotations) are for whoever asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Annotations {
    /// The tool says that it changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// The tool says that it may destroy something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// The tool says that repeating a call has no further effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// The tool says that it reaches beyond a closed domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

/// A tool that passed ingestion ([`crate::ingest`]). Cheap to share: the definition is behind an [`Arc`].
#[derive(Clone, Debug)]
pub struct Tool {
    id: ToolId,
    definition: Arc<Value>,
    annotations: Annotations,
    hash: ContentHash,
    labels: Arc<Labels>,
    hints_trusted: bool,
    asks_always: bool,
    generation: u64,
    chars: usize,
}

impl Tool {
    /// Wraps a definition that ingestion has checked: an object with a text `name` and an object `inputSchema`.
    pub(crate) fn new(source: Source, name: String, definition: Value, annotations: Annotations) -> Self {
        let hash = ContentHash::of_json(&definition);
        let hints_trusted = matches!(source, Source::Builtin | Source::Plugin(_));
        let chars = definition.to_string().chars().count();
        let asks_always = definition["_meta"]["anthropic/alwaysLoad"] == true;
        Self {
            id: ToolId { source, name },
            definition: Arc::new(definition),
            annotations,
            hash,
            labels: Labels::nothing(),
            hints_trusted,
            asks_always,
            generation: 0,
            chars,
        }
    }

    /// The same tool with what is said of it locally.
    #[must_use]
    pub fn with_labels(mut self, labels: Arc<Labels>) -> Self {
        self.labels = labels;
        self
    }

    /// The same tool of a numbered generation of its source.
    #[must_use]
    pub fn with_generation(mut self, generation: u64) -> Self {
        self.generation = generation;
        self
    }

    /// The same tool with its behaviour hints believed, because local configuration says so.
    #[must_use]
    pub fn with_trusted_hints(mut self, trusted: bool) -> Self {
        self.hints_trusted = trusted || matches!(self.id.source, Source::Builtin | Source::Plugin(_));
        self
    }

    /// The tool's identity.
    pub fn id(&self) -> &ToolId {
        &self.id
    }

    /// The source's own name of the tool.
    pub fn name(&self) -> &str {
        &self.id.name
    }

    /// Where the tool comes from.
    pub fn source(&self) -> &Source {
        &self.id.source
    }

    /// The whole definition in MCP shape (`name`, `description`, `inputSchema`, …), unknown keys included.
    pub fn definition(&self) -> &Arc<Value> {
        &self.definition
    }

    /// Display title: `title`, else `annotations.title` (MCP precedence), if any.
    pub fn title(&self) -> Option<&str> {
        self.definition["title"].as_str().or_else(|| self.definition["annotations"]["title"].as_str())
    }

    /// The description, empty when there is none. Untrusted text.
    pub fn description(&self) -> &str {
        self.definition["description"].as_str().unwrap_or_default()
    }

    /// The JSON Schema of the arguments; always an object.
    pub fn input_schema(&self) -> &Value {
        &self.definition["inputSchema"]
    }

    /// The JSON Schema of structured results, if declared.
    pub fn output_schema(&self) -> Option<&Value> {
        self.definition.get("outputSchema").filter(|schema| !schema.is_null())
    }

    /// Behaviour hints as declared.
    pub fn annotations(&self) -> Annotations {
        self.annotations
    }

    /// Whether the hints may loosen a policy: always for built-in and plugin tools, else only where configured.
    pub fn hints_trusted(&self) -> bool {
        self.hints_trusted
    }

    /// Hash over the whole canonical definition: approvals and pins are bound to it.
    pub fn hash(&self) -> ContentHash {
        self.hash
    }

    /// Which generation of its source the tool is of, where the source counts them: code of another one does not run it.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Characters of the definition as compact JSON; what token estimates go by.
    pub fn definition_chars(&self) -> usize {
        self.chars
    }

    /// What is said of it locally.
    pub fn labels(&self) -> &Arc<Labels> {
        &self.labels
    }

    /// Its tags.
    pub fn tags(&self) -> &[String] {
        &self.labels.tags
    }

    /// Whether it is never deferred: by what is said of it locally or, where its hints are trusted, by its own
    /// `_meta` (`anthropic/alwaysLoad`, openclaw case 85). A server that is not trusted takes no room in every request.
    pub fn always(&self) -> bool {
        self.labels.always || self.hints_trusted && self.asks_always
    }
}
