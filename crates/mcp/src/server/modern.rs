//! The stateless revision: 2026-07-28.

use std::sync::Arc;

use serde_json::{Value, json, value::to_raw_value};

use super::{
    Caller, Outbox, Protocol, Server, call,
    connection::{Connection, Dispatched, WayBack},
    elicit::can_show_forms,
    frame::{quoted, result_frame},
    legacy::{client_info, method_not_found},
    listing,
    params::{Params, invalid},
    protocol::{META_CAPABILITIES, META_CLIENT, META_SERVER, META_VERSION},
    subscription,
};
use crate::wire::{Id, RpcError, code};

pub(super) fn request(
    connection: &Arc<Connection>,
    id: &Id,
    method: &str,
    params: &Params,
    out: &Outbox,
    way: WayBack,
) -> Result<Dispatched, RpcError> {
    let server = &connection.server;
    let (protocol, caller) = envelope(connection, params)?;
    match method {
        "server/discover" => Ok(Dispatched::Now(result_frame(id, &discover(server, &caller)))),
        "tools/list" => {
            let list = server.service.list(&caller);
            let cursor = params.text("cursor")?;
            let page = listing::page(&list, cursor.as_deref(), server.options.page, protocol)?;
            let cache = cache_hints(server.options.list_ttl);
            let result = format!(r#"{{"resultType":"complete",{},{cache},{}}}"#, page.members, server_meta(server));
            Ok(Dispatched::Now(result_frame(id, &result)))
        }
        "tools/call" => {
            let plan = call::Plan::read(caller, protocol, params, out, way)?;
            connection.start_call(id, plan, out)
        }
        "subscriptions/listen" => {
            let filter = subscription::Filter::read(params)?;
            connection.start_subscription(id, caller, filter, out)
        }
        _ => Err(method_not_found(method)),
    }
}

// What every modern request must carry, and who it makes the caller. Nothing is taken from earlier requests.
fn envelope(connection: &Connection, params: &Params) -> Result<(Protocol, Caller), RpcError> {
    let Some(meta) = params.meta() else {
        return Err(invalid(format!("params._meta is missing; it must carry {META_VERSION} and {META_CAPABILITIES}")));
    };
    let version = match meta.get(META_VERSION) {
        Some(Value::String(version)) => version,
        Some(_) => return Err(invalid(format!("{META_VERSION} in params._meta is not a text"))),
        None => return Err(invalid(format!("params._meta does not carry {META_VERSION}"))),
    };
    let can_elicit = match meta.get(META_CAPABILITIES) {
        Some(capabilities @ Value::Object(_)) => can_show_forms(capabilities),
        Some(_) => return Err(invalid(format!("{META_CAPABILITIES} in params._meta is not an object"))),
        None => return Err(invalid(format!("params._meta does not carry {META_CAPABILITIES}"))),
    };
    let Some(protocol) = Protocol::from_date(version).filter(|known| known.is_modern()) else {
        return Err(unsupported_version(version));
    };
    let client = meta.get(META_CLIENT).and_then(client_info);
    Ok((protocol, Caller { client, protocol: Some(protocol), can_elicit, ..connection.caller() }))
}

pub(super) fn unsupported_version(requested: &str) -> RpcError {
    let shown: String = requested.chars().take(64).collect();
    let supported = Protocol::ALL.map(Protocol::as_str);
    RpcError {
        code: code::UNSUPPORTED_VERSION,
        message: format!("protocol version {shown:?} is not served; {} is", Protocol::ALL[0]),
        data: to_raw_value(&json!({"supported": supported, "requested": shown})).ok(),
    }
}

fn discover(server: &Server, caller: &Caller) -> String {
    let supported = json!(Protocol::ALL.map(Protocol::as_str));
    let mut result = format!(
        r#"{{"resultType":"complete","supportedVersions":{supported},"capabilities":{{"tools":{{"listChanged":true}}}}"#
    );
    if let Some(text) = server.service.instructions(caller) {
        result.push_str(",\"instructions\":");
        result.push_str(&quoted(&text));
    }
    result.push(',');
    result.push_str(&cache_hints(server.options.discover_ttl));
    result.push(',');
    result.push_str(&server_meta(server));
    result.push('}');
    result
}

// Lists depend on who asks, so a shared cache must not keep them.
fn cache_hints(ttl: std::time::Duration) -> String {
    format!(r#""ttlMs":{},"cacheScope":"private""#, ttl.as_millis())
}

pub(super) fn server_meta(server: &Server) -> String {
    format!(r#""_meta":{{"{META_SERVER}":{}}}"#, server.info)
}
