//! The bridge: `tool_search`, `tool_describe` and `tool_call`, by which a model reaches tools whose schema it was not
//! given. Owns their definitions, the reading of the first two tools' arguments, and the replies; `tool_call` is read by
//! [`crate::args::bridge`] and run by the engine. Everything a reply may mention comes from the [`Directory`] it was
//! given, which holds what the caller may see: unknown and hidden tools are alike.

mod definitions;
mod describe;
mod error;
mod loading;
mod request;
mod search;
mod suggest;

use std::borrow::Cow;

use serde_json::Value;

use crate::{
    Tool, ToolId,
    categories::{self, CategoryId},
};

pub use definitions::definitions;
pub use describe::{DescribeReply, describe_reply};
pub use error::BridgeError;
pub use loading::loading_search;
pub use request::{DescribeRequest, SearchRequest, read_describe, read_search};
pub(crate) use search::names_in_reply;
pub use search::{SearchReply, ServerStatus, search_reply};
pub use suggest::suggest;

/// Name of the bridge tool that finds tools.
pub const TOOL_SEARCH: &str = "tool_search";
/// Name of the bridge tool that shows definitions.
pub const TOOL_DESCRIBE: &str = "tool_describe";
/// Name of the bridge tool that runs a tool.
pub const TOOL_CALL: &str = "tool_call";
/// The reserved names, in the order in which they are appended to a tool list.
pub const BRIDGE_NAMES: [&str; 3] = [TOOL_SEARCH, TOOL_DESCRIBE, TOOL_CALL];

/// Whether a name is reserved for the bridge.
pub fn is_bridge_name(name: &str) -> bool {
    BRIDGE_NAMES.contains(&name)
}

/// One tool that a reply may show.
#[derive(Clone, Copy, Debug)]
pub struct Card<'a> {
    /// The exposed name.
    pub name: &'a str,
    /// Label of its group, usually the server.
    pub server: &'a str,
    /// Its definition in MCP shape.
    pub definition: &'a Value,
    /// The tool itself, where the directory is of tools and not of texts.
    pub tool: Option<&'a Tool>,
}

/// The tools that a caller may reach through the bridge, by index. Indices are those of the search closure too.
pub trait Directory {
    /// How many tools there are.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The tool at an index below [`Directory::len`].
    fn card(&self, index: usize) -> Card<'_>;

    /// The tool with exactly this exposed name. Override where there is a map.
    fn find(&self, name: &str) -> Option<usize> {
        (0..self.len()).find(|index| self.card(*index).name == name)
    }

    /// Whether the tool at an index is in a category. Override where more than the tool itself says so.
    fn is_in(&self, index: usize, category: &CategoryId) -> bool {
        self.card(index).tool.is_some_and(|tool| categories::of_itself(tool).contains(category))
    }

    /// The identity of the tool at an index as text, where it has one.
    fn identity(&self, index: usize) -> Option<Cow<'_, str>> {
        self.card(index).tool.map(|tool| tool.id().to_string().into())
    }

    /// The tool with this identity.
    fn find_id(&self, id: &ToolId) -> Option<usize> {
        (0..self.len()).find(|index| self.card(*index).tool.is_some_and(|tool| tool.id() == id))
    }
}

impl Directory for [Card<'_>] {
    fn len(&self) -> usize {
        <[Card<'_>]>::len(self)
    }

    fn card(&self, index: usize) -> Card<'_> {
        self[index]
    }
}

/// Up to three names of the directory near to `name`.
pub fn suggest_from<D: Directory + ?Sized>(directory: &D, name: &str) -> Vec<String> {
    suggest(name, (0..directory.len()).map(|index| directory.card(index).name))
}

#[cfg(test)]
mod tests;
