//! The same tool without its types: what a [`Toolbox`](super::Toolbox) holds.

use std::{borrow::Cow, sync::Arc};

use serde_json::{Value, value::RawValue};
use serde_path_to_error::Segment;
use toolcrib_core::{Scope, ToolResult, schema::Violation, shape::sanitize_text};

use super::{About, Output, OutputSchema, Tool, failure::Kind, schema::schema_of};
use crate::backend::{BoxFuture, CallContext, InvokeError};

/// JSON-RPC "invalid params".
const INVALID_PARAMS: i64 = -32602;
/// Longest message about arguments, in characters.
const MESSAGE_CHARS: usize = 300;

/// A [`Tool`] whose types are known only to itself. Made by [`erase`]; not meant to be implemented otherwise.
pub trait ErasedTool: Send + Sync + 'static {
    /// The definition in MCP's shape, with the schemas made of the types.
    fn definition(&self) -> Value;
    /// [`Tool::describe`].
    fn describe(&self, scope: &Scope) -> Option<Cow<'static, str>>;
    /// Whether the arguments can be read, and if not, where and why.
    fn check(&self, arguments: &RawValue) -> Result<(), Violation>;
    /// [`Tool::describe_call`] of arguments that can be read.
    fn describe_call(&self, arguments: &RawValue) -> Option<String>;
    /// [`Tool::call`].
    fn call<'a>(
        &'a self,
        arguments: &'a RawValue,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolResult, InvokeError>>;
}

/// Any tool without its types, to be kept beside others.
pub fn erase(tool: impl Tool) -> Arc<dyn ErasedTool> {
    let about = tool.about();
    let output = schema_of_tool_output(&tool);
    Arc::new(Erased { tool, about, output })
}

fn schema_of_tool_output<T: Tool>(_: &T) -> Option<OutputSchema> {
    T::Output::schema()
}

/// A tool with what is asked of it once.
struct Erased<T> {
    tool: T,
    about: About,
    output: Option<OutputSchema>,
}

impl<T: Tool> ErasedTool for Erased<T> {
    fn definition(&self) -> Value {
        let output = self.output.as_ref().map(|output| output.schema.clone());
        self.about.clone().definition(schema_of::<T::Arguments>(), output)
    }

    fn describe(&self, scope: &Scope) -> Option<Cow<'static, str>> {
        self.tool.describe(scope)
    }

    fn check(&self, arguments: &RawValue) -> Result<(), Violation> {
        read::<T>(arguments).map(drop)
    }

    fn describe_call(&self, arguments: &RawValue) -> Option<String> {
        self.tool.describe_call(&read::<T>(arguments).ok()?)
    }

    fn call<'a>(
        &'a self,
        arguments: &'a RawValue,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolResult, InvokeError>> {
        Box::pin(async move {
            // The call path has checked them; whoever calls the toolbox by itself may not have.
            let arguments = read::<T>(arguments).map_err(|violation| InvokeError::Refused {
                code: INVALID_PARAMS,
                message: format!("{}: {}", violation.path, violation.message),
                data: None,
            })?;
            let wrap = self.output.as_ref().is_some_and(|output| output.wrapped);
            let error = match self.tool.call(arguments, context.clone()).await {
                Ok(output) => {
                    return output
                        .into_result(wrap)
                        .map_err(|error| InvokeError::BadAnswer(format!("it cannot be written as JSON: {error}")));
                }
                Err(error) => error,
            };
            let internal = error.to_string();
            match error.0 {
                Kind::Told(text) => Ok(ToolResult::error(text)),
                Kind::Unavailable(text) => Err(InvokeError::Unavailable(text)),
                Kind::Internal(_) => {
                    tracing::error!(
                        tool = self.about.name(),
                        call_id = context.call_id,
                        error = internal,
                        "a tool failed"
                    );
                    Err(InvokeError::Broken(context.call_id))
                }
            }
        })
    }
}

fn read<T: Tool>(arguments: &RawValue) -> Result<T::Arguments, Violation> {
    let mut reader = serde_json::Deserializer::from_str(arguments.get());
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().iter().fold(String::new(), |path, segment| path + "/" + &pointer(segment));
        let message = error.into_inner().to_string();
        // Lines and columns are those of a text that the caller never saw.
        let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(text, _)| text);
        let message = sanitize_text(message).chars().take(MESSAGE_CHARS).collect();
        Violation { path, keyword: "type".to_owned(), message, missing: None }
    })
}

/// A segment as JSON Pointer writes it.
fn pointer(segment: &Segment) -> String {
    match segment {
        Segment::Seq { index } => index.to_string(),
        Segment::Map { key } | Segment::Enum { variant: key } => key.replace('~', "~0").replace('/', "~1"),
        Segment::Unknown => "?".to_owned(),
    }
}
