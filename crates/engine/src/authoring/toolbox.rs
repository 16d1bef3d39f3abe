//! Many tools behind one source.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, value::RawValue};
use toolcrib_core::{Scope, Source, SourceState, Tool as Definition, ToolResult, schema::Violation};

use super::{ErasedTool, FactoryError, Tool, ToolFactory, erase, schema::is_object};
use crate::{
    backend::{Backend, BoxFuture, Invocation, InvokeError},
    hub::{Hub, Publisher, SourceOptions},
};

/// Tools by their names, as a source serves them. Cheap to clone.
#[derive(Clone, Default)]
pub struct Toolbox {
    tools: Arc<BTreeMap<String, Held>>,
}

/// A tool with its definition.
type Held = (Arc<dyn ErasedTool>, Value);

/// A tool that cannot be served. Found when the toolbox is built, so that a program learns of it at its start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTool {
    /// Without a name nobody can call it.
    #[error("a tool has no name; give it one in about()")]
    NoName,
    /// Two tools of one toolbox have the same name.
    #[error("two tools are called '{0}'; rename one, or serve them as two sources")]
    Duplicate(String),
    /// Arguments are an object.
    #[error("the arguments of '{0}' are not an object; use a struct with named fields, or NoArguments")]
    NoObject(String),
}

/// Collects tools for a [`Toolbox`].
#[derive(Default)]
pub struct ToolboxBuilder {
    tools: Vec<Arc<dyn ErasedTool>>,
}

impl ToolboxBuilder {
    /// Adds a tool.
    #[must_use]
    pub fn tool(self, tool: impl Tool) -> Self {
        self.erased(erase(tool))
    }

    /// Adds a tool that has lost its types already.
    #[must_use]
    pub fn erased(mut self, tool: Arc<dyn ErasedTool>) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds many.
    #[must_use]
    pub fn extend(mut self, tools: impl IntoIterator<Item = Arc<dyn ErasedTool>>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// The toolbox; the first tool that cannot be served is the error.
    pub fn build(self) -> Result<Toolbox, BadTool> {
        let mut tools = BTreeMap::new();
        for tool in self.tools {
            let definition = tool.definition();
            let name = match definition["name"].as_str().map(str::trim) {
                Some(name) if !name.is_empty() => name.to_owned(),
                _ => return Err(BadTool::NoName),
            };
            if !is_object(&definition["inputSchema"]) {
                return Err(BadTool::NoObject(name));
            }
            if tools.contains_key(&name) {
                return Err(BadTool::Duplicate(name));
            }
            tools.insert(name, (tool, definition));
        }
        Ok(Toolbox { tools: Arc::new(tools) })
    }
}

impl Toolbox {
    /// Collects tools.
    pub fn builder() -> ToolboxBuilder {
        ToolboxBuilder::default()
    }

    /// Definitions in MCP's shape, by name, with the descriptions that hold for everybody.
    pub fn definitions(&self) -> Vec<Value> {
        self.tools.values().map(|(_, definition)| definition.clone()).collect()
    }

    /// The same with the descriptions for one scope.
    pub fn definitions_for(&self, scope: &Scope) -> Vec<Value> {
        let described = |(tool, definition): &Held| {
            let mut definition = definition.clone();
            if let Some(description) = tool.describe(scope) {
                definition["description"] = description.into();
            }
            definition
        };
        self.tools.values().map(described).collect()
    }

    /// Names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }

    /// One tool.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn ErasedTool>> {
        self.tools.get(name).map(|(tool, _)| tool)
    }

    /// How many tools there are.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Hands the tools to a hub as one source, ready to be called. For descriptions that differ by scope
    /// ([`Tool::describe`]), give the toolbox to [`Hub::register_scoped`] instead: it is a factory that gives everybody the
    /// same tools.
    pub fn publish(self, hub: &Hub, source: Source, options: SourceOptions) -> Publisher {
        let definitions = self.definitions();
        hub.replace(source, options, Arc::new(self), SourceState::Ready, definitions)
    }
}

impl Backend for Toolbox {
    fn invoke<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolResult, InvokeError>> {
        if let Some(tool) = self.get(invocation.tool.name()) {
            return tool.call(invocation.arguments, invocation.context);
        }
        let text = format!("the tool '{}' is no longer offered", invocation.tool.name());
        Box::pin(async move { Err(InvokeError::Unavailable(text)) })
    }

    fn check(&self, tool: &Definition, arguments: &RawValue, _scope: &Scope) -> Result<(), Violation> {
        self.get(tool.name()).map_or(Ok(()), |tool| tool.check(arguments))
    }

    fn describe_call(&self, tool: &Definition, arguments: &RawValue, _scope: &Scope) -> Option<String> {
        self.get(tool.name())?.describe_call(arguments)
    }
}

/// The same tools for everybody, each described for whoever asks.
impl ToolFactory for Toolbox {
    fn tools(&self, _scope: &Scope) -> Result<Self, FactoryError> {
        Ok(self.clone())
    }
}
