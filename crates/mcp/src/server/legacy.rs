//! Revisions with a handshake: 2024-11-05 to 2025-11-25.

use std::sync::Arc;

use serde_json::Value;

use super::{
    Caller, ClientInfo, Outbox, Protocol, call,
    connection::{Connection, Dispatched, WayBack},
    elicit::can_show_forms,
    frame::{quoted, result_frame},
    listing,
    params::{Params, invalid},
    protocol::META_VERSION,
};
use crate::wire::{Id, RpcError, code};

const LOG_LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

pub(super) fn request(
    connection: &Arc<Connection>,
    id: &Id,
    method: &str,
    params: &Params,
    out: &Outbox,
    way: WayBack,
) -> Result<Dispatched, RpcError> {
    match method {
        "ping" => return Ok(Dispatched::Now(result_frame(id, "{}"))),
        "initialize" => return initialize(connection, id, params),
        _ => {}
    }
    let Some(protocol) = connection.legacy_protocol() else {
        return Err(invalid(format!(
            "{method} came before the protocol version was known: send initialize first ({} and older), or carry \
             {META_VERSION} in params._meta ({})",
            Protocol::NEWEST_LEGACY,
            Protocol::ALL[0],
        )));
    };
    match method {
        "tools/list" => {
            let list = connection.server.service.list(&connection.caller());
            let cursor = params.text("cursor")?;
            let page = listing::page(&list, cursor.as_deref(), connection.server.options.page, protocol)?;
            Ok(Dispatched::List(result_frame(id, &format!("{{{}}}", page.members)), list.hash))
        }
        "tools/call" => {
            let plan = call::Plan::read(connection.caller(), protocol, params, out, way)?;
            connection.start_call(id, plan, out)
        }
        // Accepted because clients send it unasked; there are no log messages to filter.
        "logging/setLevel" => match params.required_text("level")? {
            level if LOG_LEVELS.contains(&level.as_str()) => Ok(Dispatched::Now(result_frame(id, "{}"))),
            level => Err(invalid(format!("params.level {level:?} is none of {}", LOG_LEVELS.join(", ")))),
        },
        _ => Err(method_not_found(method)),
    }
}

fn initialize(connection: &Arc<Connection>, id: &Id, params: &Params) -> Result<Dispatched, RpcError> {
    let requested = params.required_text("protocolVersion")?;
    let capabilities = params.object("capabilities")?.and_then(|raw| serde_json::from_str(raw.get()).ok());
    let protocol =
        Protocol::from_date(&requested).filter(|known| !known.is_modern()).unwrap_or(Protocol::NEWEST_LEGACY);
    let client = params.object("clientInfo")?.and_then(|raw| serde_json::from_str(raw.get()).ok());
    let caller = Caller {
        client: client.and_then(|value: Value| client_info(&value)),
        protocol: Some(protocol),
        can_elicit: protocol >= Protocol::V2025_06_18
            && capabilities.is_some_and(|capabilities: Value| can_show_forms(&capabilities)),
        ..connection.caller()
    };
    let instructions = connection.server.service.instructions(&caller);
    if !connection.initialized(protocol, caller) {
        return Err(RpcError::new(
            code::INVALID_REQUEST,
            "initialize came a second time; open a new connection instead",
        ));
    }
    let mut result = format!(
        r#"{{"protocolVersion":"{protocol}","capabilities":{{"tools":{{"listChanged":true}}}},"serverInfo":{}"#,
        connection.server.info
    );
    if let Some(text) = instructions {
        result.push_str(",\"instructions\":");
        result.push_str(&quoted(&text));
    }
    result.push('}');
    Ok(Dispatched::Now(result_frame(id, &result)))
}

pub(super) fn client_info(value: &Value) -> Option<ClientInfo> {
    // A client may call itself anything at any length; this is for display only.
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(|text| text.chars().take(200).collect());
    Some(ClientInfo { name: text("name")?, version: text("version").unwrap_or_default() })
}

pub(super) fn method_not_found(method: &str) -> RpcError {
    let shown: String = method.chars().take(100).collect();
    RpcError::new(code::METHOD_NOT_FOUND, format!("method {shown:?} is not served here"))
}
