//! What a tool says about itself, beside its schemas.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

/// Name, description and hints of a tool. The hints are believed only where the tool's source is
/// (`SourceOptions::trust_hints`, built-ins, plugins); without any, MCP's defaults hold: it may change and destroy things,
/// anywhere.
#[derive(Clone, Debug)]
pub struct About {
    name: Cow<'static, str>,
    title: Option<Cow<'static, str>>,
    description: Cow<'static, str>,
    hints: Map<String, Value>,
    blocking: bool,
    extra: Map<String, Value>,
}

impl About {
    /// A tool by its own name (unique within its toolbox) and what a model reads about it: what it does, when to use it,
    /// what it does not do.
    pub fn new(name: impl Into<Cow<'static, str>>, description: impl Into<Cow<'static, str>>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: description.into(),
            hints: Map::new(),
            blocking: true,
            extra: Map::new(),
        }
    }

    /// The name people see.
    #[must_use]
    pub fn title(mut self, title: impl Into<Cow<'static, str>>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// It changes nothing.
    #[must_use]
    pub fn reads(self) -> Self {
        self.hint("readOnlyHint", true)
    }

    /// It changes things, but destroys nothing.
    #[must_use]
    pub fn adds(self) -> Self {
        self.hint("readOnlyHint", false).hint("destructiveHint", false)
    }

    /// It may destroy something. The default says the same with less certainty.
    #[must_use]
    pub fn destroys(self) -> Self {
        self.hint("readOnlyHint", false).hint("destructiveHint", true)
    }

    /// Doing it twice is like doing it once: a call whose end is not known may be repeated.
    #[must_use]
    pub fn idempotent(self) -> Self {
        self.hint("idempotentHint", true)
    }

    /// It reaches nothing outside this program.
    #[must_use]
    pub fn closed(self) -> Self {
        self.hint("openWorldHint", false)
    }

    /// It runs in the background: a call is answered with a handle, the result is delivered later. Counts for built-ins and
    /// plugins; for other sources the configuration names such tools.
    #[must_use]
    pub fn background(mut self) -> Self {
        self.blocking = false;
        self
    }

    /// Any further field of the definition, as the sources of other tools may have it (`_meta`, `icons`, `strict`).
    /// Fields that have their own method here are not overwritten by it.
    #[must_use]
    pub fn field(mut self, key: impl Into<String>, value: Value) -> Self {
        self.extra.insert(key.into(), value);
        self
    }

    fn hint(mut self, key: &str, value: bool) -> Self {
        self.hints.insert(key.to_owned(), value.into());
        self
    }

    /// The tool's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The definition in MCP's shape.
    pub(super) fn definition(self, input: Value, output: Option<Value>) -> Value {
        let mut definition = Map::new();
        definition.insert("name".to_owned(), json!(self.name));
        if let Some(title) = self.title {
            definition.insert("title".to_owned(), json!(title));
        }
        definition.insert("description".to_owned(), json!(self.description));
        definition.insert("inputSchema".to_owned(), input);
        if let Some(output) = output {
            definition.insert("outputSchema".to_owned(), output);
        }
        if !self.hints.is_empty() {
            definition.insert("annotations".to_owned(), Value::Object(self.hints));
        }
        if !self.blocking {
            definition.insert("blocking".to_owned(), json!(false));
        }
        for (key, value) in self.extra {
            definition.entry(key).or_insert(value);
        }
        Value::Object(definition)
    }
}
