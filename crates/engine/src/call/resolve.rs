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
    assemble::Standing,
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
    /// Something else is to be said ([`Other::answer`]).
    Other(Other),
    /// A tool is to be run.
    Tool(Target),
}

/// What is no call of a tool that the caller has.
pub(super) enum Other {
    /// The bridge answers by itself.
    Search,
    /// So it does here.
    Describe,
    /// Nothing the caller sees has this name; whether it came through the bridge.
    Unknown(String, bool),
    /// The bridge was called in a way that leads nowhere.
    Stopped(Stop),
}

impl Resolved {
    /// The tools whose definitions what comes next goes by.
    pub(super) fn named(&self, view: &View, request: &CallRequest) -> Vec<Arc<Tool>> {
        match self {
            Self::Tool(target) => vec![target.tool.clone()],
            Self::Other(Other::Describe) => crate::lookup::named(view, request.arguments.as_deref()),
            Self::Other(_) => Vec::new(),
        }
    }
}

impl Other {
    pub(super) async fn answer(
        self,
        engine: &Engine,
        view: &Arc<View>,
        request: &CallRequest,
        door: Door,
    ) -> Result<ToolResult, Stop> {
        match self {
            Self::Search => {
                let by = Principal::of(&request.scope, &request.identity);
                crate::lookup::search(engine, view, request.arguments.as_deref(), &request.scope, (&by, door)).await
            }
            Self::Describe => crate::lookup::describe(view, request.arguments.as_deref()),
            Self::Unknown(name, bridged) => Err(unknown(engine, view, &request.scope, &name, bridged)),
            Self::Stopped(stop) => Err(stop),
        }
    }
}

/// A tool with the arguments the caller wrote for it.
pub(super) struct Target {
    pub(super) tool: Arc<Tool>,
    pub(super) exposed: String,
    pub(super) arguments: Option<Box<RawValue>>,
    /// Whether it stands behind the bridge: the caller may never have seen its definition.
    pub(super) deferred: bool,
}

pub(super) fn resolve(view: &Arc<View>, request: &CallRequest, state: &mut Progressing) -> Resolved {
    // A call may use the bridge even where the listing does not show it: it grants nothing that a direct call lacks.
    match request.name.as_str() {
        TOOL_SEARCH => Resolved::Other(Other::Search),
        TOOL_DESCRIBE => Resolved::Other(Other::Describe),
        TOOL_CALL => {
            if state.door == Door::Direct {
                state.door = Door::Bridge;
            }
            let BridgeCall { name, arguments, repairs, ignored } = match unwrap(request.arguments.as_deref()) {
                Ok(call) => call,
                Err(error) => {
                    let value = serde_json::json!({"error": error.code(), "message": error.to_string()});
                    return Resolved::Other(Other::Stopped(Stop::told(Outcome::Invalid, value.to_string())));
                }
            };
            state.name = name.chars().take(128).collect();
            state.repairs = repairs;
            // The result is the tool's own and stays as it is, so what was left out can only be told in the report.
            state.repairs.extend(ignored.into_iter().map(|path| Repair {
                path,
                from: "key beside the arguments",
                to: "nothing",
            }));
            match find(view, &name) {
                Some(found) => {
                    state.name.clone_from(&found.exposed);
                    chosen(view, Target { arguments, ..found })
                }
                None => Resolved::Other(Other::Unknown(name, true)),
            }
        }
        name => match find(view, name) {
            Some(found) => {
                state.name.clone_from(&found.exposed);
                chosen(view, Target { arguments: request.arguments.clone(), ..found })
            }
            None => Resolved::Other(Other::Unknown(name.to_owned(), false)),
        },
    }
}

/// The tool itself, or of those that it stands for the one that the arguments name: from here on only that one counts.
fn chosen(view: &View, target: Target) -> Resolved {
    let Some(merged) = view.set.merged(&target.exposed) else { return Resolved::Tool(target) };
    match merged.choose(target.arguments.as_deref()) {
        Ok((member, arguments)) => Resolved::Tool(Target { tool: member.clone(), arguments, ..target }),
        Err(which) => {
            let value = serde_json::json!({
                "error": "invalid_arguments",
                "message": format!("{} stands for the same tool of several servers: {which}", target.exposed),
                "inputSchema": target.tool.input_schema(),
            });
            Resolved::Other(Other::Stopped(Stop::told(Outcome::Invalid, value.to_string())))
        }
    }
}

/// The tool with the name as the map has it, also where it was called by another name that the configuration gives it. From
/// here on only that one counts: rules about the exposed name must not be got around by another spelling of it.
///
/// A deferred tool may be called like any other, also by a caller that never asked for its definition (openclaw case 90).
fn find(view: &View, name: &str) -> Option<Target> {
    let name = view.set.resolve(name.trim())?;
    let position = view.set.name_map().position(name)?;
    Some(Target {
        tool: view.set.tools()[position].clone(),
        exposed: name.to_owned(),
        arguments: None,
        deferred: view.set.standing(position) == Standing::Deferred,
    })
}

fn unknown(engine: &Engine, view: &View, scope: &Scope, name: &str, bridged: bool) -> Stop {
    let error = BridgeError::unknown_tool(name, suggest(name, view.set.names()));
    let reason = engine.explain(scope, name).ok().and_then(|found| found.first().map(Explanation::sentence));
    let starting = starting(engine, view, scope);
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
fn starting(engine: &Engine, view: &View, scope: &Scope) -> Vec<String> {
    let catalog = engine.hub().catalog_for(scope);
    let starting = catalog.sources().iter().filter(|(_, entry)| entry.state == SourceState::Starting);
    starting.filter(|(source, _)| view.knows(source)).map(|(source, _)| source.group().to_owned()).take(10).collect()
}
