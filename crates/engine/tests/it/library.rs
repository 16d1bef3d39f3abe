//! Calls by the library's door, and what they say.

use serde_json::Value;
use toolcrib_core::Scope;
use toolcrib_engine::{CallReply, CallReport, CallRequest, Door, Engine};

/// Calls a tool as a program does.
pub(crate) async fn call(engine: &Engine, scope: &Scope, name: &str, arguments: Value) -> CallReport {
    let raw = serde_json::value::to_raw_value(&arguments).unwrap();
    engine.call_report(CallRequest::new(name, Some(raw), scope.clone(), Door::Library)).await
}

/// What the caller is told.
pub(crate) fn text(report: &CallReport) -> String {
    match &report.reply {
        CallReply::Result(result) => result.to_text(),
        CallReply::Protocol { code, message, .. } => format!("{code} {message}"),
        CallReply::Question(request) => request.description.clone(),
    }
}
