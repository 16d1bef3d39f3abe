//! Interceptors that come with the engine. None is attached by itself.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use toolcrib_core::{Tool, ToolResult, redact::Redactor};

use super::{After, Before, Failure, HookError, Intercepted, Interceptor, OnError, Stage};
use crate::backend::BoxFuture;

/// Turns "nothing" into an error the model can act on (oneringai case 23): a result with neither `content` nor
/// `structuredContent`, or with both null or empty. Everything else passes as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResultNormaliser {
    empty_passes: bool,
}

impl ResultNormaliser {
    /// One that lets an empty `content` list pass, which MCP servers send for tools that have nothing to say; a result
    /// without any content, or with null, is still an error.
    pub fn passing_empty_content() -> Self {
        Self { empty_passes: true }
    }

    fn is_nothing(self, result: &ToolResult) -> bool {
        let Ok(body) = serde_json::from_str::<Body<'_>>(result.raw().get()) else { return false };
        let content = match body.content.map(|content| content.get().trim()) {
            None | Some("null") => false,
            // A list of nothing, however it is spaced.
            Some(text) => self.empty_passes || text.trim_matches(['[', ']']).trim() != "",
        };
        let structured = body.structured.is_some_and(|value| value.get().trim() != "null");
        !content && !structured
    }
}

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "structuredContent")]
    structured: Option<&'a RawValue>,
}

impl Interceptor for ResultNormaliser {
    fn name(&self) -> &'static str {
        "result-normaliser"
    }

    fn stage(&self) -> Stage {
        Stage::Normalise
    }

    fn priority(&self) -> i32 {
        0
    }

    fn after<'a>(
        &'a self,
        call: &'a Intercepted<'a>,
        result: &'a ToolResult,
    ) -> BoxFuture<'a, Result<After, HookError>> {
        let after = if self.is_nothing(result) {
            After::Replace(ToolResult::error(format!(
                "{} returned no result. It did run: check what happened before repeating the call.",
                call.exposed
            )))
        } else {
            After::Keep
        };
        Box::pin(std::future::ready(Ok(after)))
    }
}

/// Most characters of arguments or of a result in the log.
const MAX_SUMMARY: usize = 200;
/// Largest JSON text that is summarised at all, in bytes.
const MAX_SUMMARISED: usize = 64 * 1024;

/// Logs calls at debug level under `toolcrib::intercept`: the final arguments, and the result or the failure, without
/// secrets and at most 200 characters of each. Does nothing, and costs next to nothing, at any other level.
pub struct Logging {
    redactor: Arc<Redactor>,
}

impl Logging {
    /// One that leaves out what this redactor finds.
    pub fn new(redactor: Arc<Redactor>) -> Self {
        Self { redactor }
    }

    fn arguments(&self, tool: &Tool, raw: &RawValue) -> String {
        if raw.get().len() > MAX_SUMMARISED {
            return format!("[{} bytes]", raw.get().len());
        }
        let value: Value = serde_json::from_str(raw.get()).unwrap_or_default();
        cut(&self.redactor.redact_value(&value, Some(tool.input_schema())).to_string())
    }

    fn result(&self, result: &ToolResult) -> String {
        let bytes = result.raw().get().len();
        if bytes > MAX_SUMMARISED {
            return format!("[{bytes} bytes]");
        }
        cut(&self.redactor.redact_text(&result.to_text()))
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_SUMMARY) {
        // One character makes room for the mark.
        Some(_) => text.chars().take(MAX_SUMMARY - 1).chain(['…']).collect(),
        None => text.to_owned(),
    }
}

fn is_on() -> bool {
    tracing::enabled!(target: "toolcrib::intercept", tracing::Level::DEBUG)
}

impl Interceptor for Logging {
    fn name(&self) -> &'static str {
        "logging"
    }

    fn stage(&self) -> Stage {
        Stage::Observe
    }

    fn priority(&self) -> i32 {
        5
    }

    fn before<'a>(&'a self, call: &'a Intercepted<'a>) -> BoxFuture<'a, Result<Before, HookError>> {
        if is_on() {
            let arguments = self.arguments(call.tool, call.arguments());
            tracing::debug!(target: "toolcrib::intercept", call_id = call.call_id, tool = %call.tool.id(), arguments, "begins");
        }
        Box::pin(std::future::ready(Ok(Before::Continue)))
    }

    fn after<'a>(
        &'a self,
        call: &'a Intercepted<'a>,
        result: &'a ToolResult,
    ) -> BoxFuture<'a, Result<After, HookError>> {
        if is_on() {
            let (is_error, short_circuited_by) = (result.is_error(), call.short_circuited_by());
            let result = self.result(result);
            tracing::debug!(target: "toolcrib::intercept", call_id = call.call_id, tool = %call.tool.id(), is_error, short_circuited_by, result, "ends");
        }
        Box::pin(std::future::ready(Ok(After::Keep)))
    }

    fn on_error<'a>(
        &'a self,
        call: &'a Intercepted<'a>,
        failure: &'a Failure,
    ) -> BoxFuture<'a, Result<OnError, HookError>> {
        if is_on() {
            let text = cut(&self.redactor.redact_text(&failure.text));
            tracing::debug!(target: "toolcrib::intercept", call_id = call.call_id, tool = %call.tool.id(), outcome = failure.outcome.word(), text, "fails");
        }
        Box::pin(std::future::ready(Ok(OnError::Pass)))
    }
}

#[cfg(test)]
mod tests;
