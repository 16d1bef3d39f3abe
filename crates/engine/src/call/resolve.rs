//! Resolve and scope: what a call as written leads to. Only the name map of the caller's own view is consulted, so a
//! hidden tool and one that does not exist are the same thing here; the record alone tells them apart.

use std::sync::Arc;

use serde_json::value::RawValue;
use toolcrib_core::{
    Scope, SourceState, Tool, ToolResult,
    args::{
        Repair,
        bridge::{BridgeCall, unwrap},
    },
    bridge::{BridgeError, TOOL_CALL, TOOL_DESCRIBE, TOOL_SEARCH, suggest},
    explain::Explanation,
};

use super::{CallReply, CallRequest, Cause, Progressing, Stop};
use crate::{
    engine::Engine,
    event::{Door, Outcome},
    identity::Principal,
    view::View,
};

/// JSON-RPC "invalid params", which MCP uses for unknown tools.
const INVALID_PARAMS: i64 = -32602;

/// Where a call leads.
pub(super) enum Resolved {
    /// The bridge answers by itself (search, describe).
    Answer(ToolResult),
    /// A tool is to be run.
    Tool(Target),
}

/// A tool with the arguments the caller wrote for it.
pub(super) struct Target {
    pub(super) tool: Arc<Tool>,
    pub(super) exposed: String,
    pub(super) arguments: Option<Box<RawValue>>,
}

pub(super) async fn resolve(
    engine: &Engine,
    view: &Arc<View>,
    request: &CallRequest,
    state: &mut Progressing,
) -> Result<Resolved, Stop> {
    // A call may use the bridge even where the listing does not show it: it grants nothing that a direct call lacks.
    match request.name.as_str() {
        TOOL_SEARCH => {
            let by = Principal::of(&request.scope, &request.identity);
            crate::lookup::search(engine, view, request.arguments.as_deref(), (&by, state.door))
                .await
                .map(Resolved::Answer)
        }
        TOOL_DESCRIBE => crate::lookup::describe(view, request.arguments.as_deref()).map(Resolved::Answer),
        TOOL_CALL => {
            if state.door == Door::Direct {
                state.door = Door::Bridge;
            }
            let BridgeCall { name, arguments, repairs, ignored } =
                unwrap(request.arguments.as_deref()).map_err(|error| {
                    let value = serde_json::json!({"error": error.code(), "message": error.to_string()});
                    Stop::told(Outcome::Invalid, value.to_string())
                })?;
            state.name = name.chars().take(128).collect();
            state.repairs = repairs;
            // The result is the tool's own and stays as it is, so what was left out can only be told in the report.
            state.repairs.extend(ignored.into_iter().map(|path| Repair {
                path,
                from: "key beside the arguments",
                to: "nothing",
            }));
            match find(view, &name) {
                Some((tool, exposed)) => {
                    state.name.clone_from(&exposed);
                    Ok(Resolved::Tool(Target { tool, exposed, arguments }))
                }
                None => Err(unknown(engine, view, &request.scope, &name, true)),
            }
        }
        name => match find(view, name) {
            Some((tool, exposed)) => {
                state.name.clone_from(&exposed);
                Ok(Resolved::Tool(Target { tool, exposed, arguments: request.arguments.clone() }))
            }
            None => Err(unknown(engine, view, &request.scope, name, false)),
        },
    }
}

/// The tool with the name as the map has it. From here on only that one counts: rules about the exposed name must not be
/// got around by another spelling of it.
fn find(view: &View, name: &str) -> Option<(Arc<Tool>, String)> {
    let name = name.trim();
    view.set.tool(name).map(|tool| (tool.clone(), name.to_owned()))
}

fn unknown(engine: &Engine, view: &View, scope: &Scope, name: &str, bridged: bool) -> Stop {
    let error = BridgeError::unknown_tool(name, suggest(name, view.set.names()));
    let reason = engine.explain(scope, name).ok().and_then(|found| found.first().map(Explanation::sentence));
    let starting = starting(engine, view);
    let mut message = error.to_string();
    if !starting.is_empty() {
        message.push_str(&format!(
            "; still starting: {}. If it is a tool of theirs, try again in a few seconds",
            starting.join(", ")
        ));
    }
    let reply = if bridged {
        let mut value = error.to_value();
        value["message"] = message.into();
        CallReply::Result(ToolResult::error(value.to_string()))
    } else {
        CallReply::Protocol { code: INVALID_PARAMS, message, data: None }
    };
    Stop { outcome: Outcome::Invalid, reply, reason, cause: Some(Cause::UnknownTool) }
}

/// Sources that the caller may know of and that are not there yet, at most ten.
fn starting(engine: &Engine, view: &View) -> Vec<String> {
    let catalog = engine.hub().catalog();
    let starting = catalog.sources().iter().filter(|(_, entry)| entry.state == SourceState::Starting);
    starting.filter(|(source, _)| view.knows(source)).map(|(source, _)| source.group().to_owned()).take(10).collect()
}
