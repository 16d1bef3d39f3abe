//! Reading the rest of a result that was cut: a built-in tool over the kept whole.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_core::{Scope, ToolResult, shape};

use crate::{backend::Invocation, identity::Principal, pending::PendingWork, store::ResultStore};

/// The tool's name.
pub const READ_TOOL: &str = "tool_result_read";

/// The tool's definition, to be published among the built-in ones.
pub fn definition() -> Value {
    json!({
        "name": READ_TOOL,
        "title": "Read the rest of a cut result",
        "description": "Reads more of a result that was too large to show, by the handle given in its preview.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "handle": {"type": "string", "description": "Handle from the preview."},
                "offset": {"type": "integer", "minimum": 0, "description": "First line, counted from 0."},
                "limit": {"type": "integer", "minimum": 1, "maximum": 2000, "description": "Number of lines."},
                "pointer": {"type": "string", "description": "JSON Pointer to a part, such as /content/0/text."},
                "grep": {"type": "string", "description": "Only lines that hold this text."}
            },
            "required": ["handle"],
            "additionalProperties": false
        },
        "annotations": {"readOnlyHint": true, "openWorldHint": false}
    })
}

/// Reads kept results for the scope that made them.
#[derive(Clone)]
pub struct ResultReader {
    store: Arc<dyn ResultStore>,
    pending: Option<PendingWork>,
}

impl ResultReader {
    /// A reader over a store.
    pub fn new(store: Arc<dyn ResultStore>) -> Self {
        Self { store, pending: None }
    }

    /// The same, which also reads what came of background work.
    #[must_use]
    pub fn with_pending(mut self, pending: PendingWork) -> Self {
        self.pending = Some(pending);
        self
    }

    /// Runs the tool.
    pub async fn read(&self, invocation: &Invocation<'_>) -> ToolResult {
        let arguments: Value = serde_json::from_str(invocation.arguments.get()).unwrap_or_default();
        let handle = arguments["handle"].as_str().unwrap_or_default();
        if PendingWork::is_handle(handle)
            && let Some(pending) = &self.pending
        {
            let context = invocation.context;
            let principal = Principal::of(&context.scope, &context.identity);
            return match pending.read(handle, &principal).await {
                Ok(Some(read)) => read.into_result(),
                Ok(None) => ToolResult::error(
                    "There is no background work under this handle: it was mistyped, or its result has expired.",
                ),
                Err(error) => ToolResult::error(format!("The result of the background work cannot be read: {error}.")),
            };
        }
        let whole = match self.store.get(&owner(&invocation.context.scope), handle).await {
            Ok(Some(whole)) => whole,
            Ok(None) => {
                return ToolResult::error(
                    "There is no kept result under this handle: it was mistyped, or the result has expired. Call the original tool again, if possible for less.",
                );
            }
            Err(error) => return ToolResult::error(format!("The kept result cannot be read: {error}.")),
        };
        if whole.len() <= AT_ONCE {
            return slice(&whole, &query(&arguments));
        }
        // Reading megabytes of JSON takes its time, and other calls need this thread.
        let reading = tokio::task::spawn_blocking(move || slice(&whole, &query(&arguments)));
        reading.await.unwrap_or_else(|error| ToolResult::error(format!("The kept result cannot be read: {error}.")))
    }
}

/// Kept results up to this size are read where they are asked for, bytes.
const AT_ONCE: usize = 256 * 1024;

fn query(arguments: &Value) -> shape::SliceQuery<'_> {
    shape::SliceQuery {
        offset: number(&arguments["offset"]),
        limit: number(&arguments["limit"]),
        pointer: arguments["pointer"].as_str(),
        grep: arguments["grep"].as_str(),
    }
}

fn slice(whole: &str, query: &shape::SliceQuery<'_>) -> ToolResult {
    match shape::read_slice(whole, query) {
        Ok(text) => ToolResult::text(text),
        Err(error) => ToolResult::error(error.to_string()),
    }
}

/// Who a kept result belongs to, as the store's scope.
pub(crate) fn owner(scope: &Scope) -> String {
    // With its length in front, no tenant's name can run into a user's.
    format!("{}:{}{}", scope.tenant.len(), scope.tenant, scope.user.as_deref().unwrap_or_default())
}

fn number(value: &Value) -> Option<usize> {
    value.as_u64().and_then(|number| usize::try_from(number).ok())
}

#[cfg(test)]
mod tests;
