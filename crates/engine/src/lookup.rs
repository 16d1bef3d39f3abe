//! The bridge's own answers: searching and describing the tools of a view.

use std::sync::Arc;

use serde_json::{Value, value::RawValue};
use toolcrib_core::{
    Scope, Tool, ToolResult,
    bridge::{self, BridgeError, ServerStatus},
    find::Searcher,
};

use crate::{
    call::Stop,
    clock::now_ms,
    encoder,
    engine::Engine,
    event::{Door, Outcome},
    identity::Principal,
    usage,
    view::View,
};

/// Largest arguments of a bridge tool in bytes; far above what the readers use.
const MAX_ARGUMENTS: usize = 64 * 1024;

/// Answers `tool_search`.
pub(crate) async fn search(
    engine: &Engine,
    view: &Arc<View>,
    arguments: Option<&RawValue>,
    scope: &Scope,
    by: (&Principal, Door),
) -> Result<ToolResult, Stop> {
    let arguments = read(arguments)?;
    let value = search_value(engine, view, &arguments, scope, Some(by)).await.map_err(|error| refuse(&error))?;
    Ok(ToolResult::text(value.to_string()))
}

/// The reply of `tool_search` as a value. A search on somebody's behalf is noted.
pub(crate) async fn search_value(
    engine: &Engine,
    view: &Arc<View>,
    arguments: &Value,
    scope: &Scope,
    by: Option<(&Principal, Door)>,
) -> Result<Value, BridgeError> {
    let request = bridge::read_search(arguments, view.set.disclosure_settings())?;
    let queries = request.queries.clone();
    let first_page = request.offset == 0;
    let catalog = engine.hub().catalog_for(scope);
    let prior = engine.learner().and_then(|learner| learner.prior(&scope.tenant));
    let shared = view.clone();
    // Building the index over a large catalog takes long enough to hold up other calls, so this runs where it may block.
    let answer = move |searcher: &dyn Searcher| {
        let statuses: Vec<ServerStatus<'_>> = catalog
            .sources()
            .iter()
            .filter(|(source, _)| shared.knows(source))
            .map(|(source, entry)| ServerStatus { label: source.group(), state: &entry.state })
            .collect();
        let learned = prior.as_deref().map(|prior| (prior, now_ms()));
        bridge::search_reply(&request, &shared.set, searcher, &statuses, learned)
    };
    let reply = encoder::search_reply(engine.encoding(), view, &engine.in_force(), answer).await?;
    if let Some((principal, door)) = by.filter(|_| first_page) {
        usage::searched(engine, &engine.in_force(), view, principal, door, &queries, &reply.found).await;
    }
    Ok(reply.value)
}

/// Answers `tool_describe`.
pub(crate) fn describe(view: &View, arguments: Option<&RawValue>) -> Result<ToolResult, Stop> {
    let arguments = read(arguments)?;
    let request = bridge::read_describe(&arguments).map_err(|error| refuse(&error))?;
    let reply = bridge::describe_reply(&request, &view.set);
    let text = reply.value.to_string();
    Ok(if reply.nothing_found { ToolResult::error(text) } else { ToolResult::text(text) })
}

/// The tools that a request to describe some names.
pub(crate) fn named(view: &View, arguments: Option<&RawValue>) -> Vec<Arc<Tool>> {
    let request = read(arguments).ok().and_then(|arguments| bridge::read_describe(&arguments).ok());
    request.map_or_else(Vec::new, |request| tools(view, &request.names))
}

/// The tools that go by these names.
pub(crate) fn tools(view: &View, names: &[String]) -> Vec<Arc<Tool>> {
    names.iter().filter_map(|name| view.set.tool(view.set.resolve(name)?).cloned()).collect()
}

fn refuse(error: &BridgeError) -> Stop {
    Stop::told(Outcome::Invalid, error.to_value().to_string())
}

/// Arguments of a bridge tool: an object, text that holds one, or nothing.
fn read(arguments: Option<&RawValue>) -> Result<Value, Stop> {
    let Some(arguments) = arguments else { return Ok(Value::Null) };
    if arguments.get().len() > MAX_ARGUMENTS {
        return Err(Stop::told(Outcome::Invalid, format!("The arguments are longer than {MAX_ARGUMENTS} bytes.")));
    }
    let value: Value = serde_json::from_str(arguments.get())
        .map_err(|error| Stop::told(Outcome::Invalid, format!("The arguments cannot be read: {error}.")))?;
    Ok(match value {
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(Value::Object(map)) => Value::Object(map),
            _ => serde_json::json!({"query": text, "name": text}),
        },
        Value::Array(items) => serde_json::json!({"queries": items, "names": items}),
        other => other,
    })
}
