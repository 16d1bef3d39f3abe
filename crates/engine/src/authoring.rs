//! Tools written in Rust: a type that says what it takes, what it gives and how it runs becomes a tool like every other.
//!
//! - [`Tool`] is one tool with typed arguments and a typed output; [`tool_fn`] makes one of a closure.
//! - [`Toolbox`] puts many of them behind one [`Backend`](crate::Backend); [`Toolbox::publish`] hands them to a [`Hub`](crate::Hub).
//! - [`ToolFactory`] makes the tools for whoever asks, and [`Tool::describe`] only their descriptions: both through
//!   [`Hub::register_scoped`](crate::Hub::register_scoped), so that listing, search, describing and calling agree.
//!
//! Arguments are read once before anybody is asked about a call: what the type refuses is answered like what the schema
//! refuses. Everything else (policy, approval, limits, journal, shaping) is the call path's, as for every tool.

mod about;
mod erased;
mod factory;
mod failure;
mod function;
mod output;
mod schema;
mod toolbox;

use std::{borrow::Cow, future::Future};

use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};
use toolcrib_core::Scope;

pub use self::{
    about::About,
    erased::{ErasedTool, erase},
    factory::{FactoryError, ToolFactory},
    failure::ToolError,
    function::{FnTool, tool_fn},
    output::{Json, Output, OutputSchema},
    schema::schema_of,
    toolbox::{BadTool, Toolbox, ToolboxBuilder},
};
use crate::backend::CallContext;

/// One tool.
///
/// Cheap to make and free of state of a call: what a call needs comes with its [`CallContext`]. It runs many calls at once.
pub trait Tool: Send + Sync + 'static {
    /// What it takes: a struct whose fields are the arguments. Doc comments become descriptions of the schema;
    /// [`NoArguments`] for nothing.
    type Arguments: DeserializeOwned + JsonSchema + Send;
    /// What it gives: [`Json`] of something serialisable (structured content with a schema), text, `()`, or a whole
    /// [`ToolResult`](toolcrib_core::ToolResult).
    type Output: Output + Send;

    /// Name, description and hints. Asked once, when the tool is put into a [`Toolbox`].
    fn about(&self) -> About;

    /// The description for whoever asks, where it differs from that of [`Tool::about`]. Default: it does not.
    ///
    /// Must depend on the scope alone and be quick: every scope is asked for once and remembered.
    fn describe(&self, _scope: &Scope) -> Option<Cow<'static, str>> {
        None
    }

    /// What a call will do, in one sentence for a person who is asked about it ("Pays 40 EUR to ACME"). It is shown beside
    /// the arguments, at most 200 characters. Leave secrets out: only those that can be told by their form are masked here.
    /// Default: the arguments speak for themselves.
    fn describe_call(&self, _arguments: &Self::Arguments) -> Option<String> {
        None
    }

    /// Runs one call. Stop when `context.cancel` fires or `context.deadline` passes; a panic is caught.
    fn call(
        &self,
        arguments: Self::Arguments,
        context: CallContext,
    ) -> impl Future<Output = Result<Self::Output, ToolError>> + Send;
}

/// The arguments of a tool that takes none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoArguments {}

#[cfg(test)]
mod tests;
