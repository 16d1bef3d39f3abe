//! What clients say about elicitation, read strictly: capability, replies, calls that were sent again.

use std::collections::BTreeMap;

use serde_json::{Map, Value, value::RawValue};

use super::{MAX_STATE, Reply, Resumed};
use crate::{
    server::params::{Params, invalid, strict},
    wire::RpcError,
};

/// Longest reply to one question, in bytes.
const MAX_REPLY: usize = 64 << 10;
/// Most fields of a form.
const MAX_FIELDS: usize = 64;
/// Most replies that come with one call.
const MAX_REPLIES: usize = 16;
/// Longest name of a question, in bytes.
const MAX_KEY: usize = 256;

/// Whether a client with these capabilities shows forms: it says so, or declares elicitation without saying more, which
/// means forms (MCP 2025-11-25, elicitation). One that declares `url` alone does not.
pub(in crate::server) fn can_show_forms(capabilities: &Value) -> bool {
    let Some(Value::Object(elicitation)) = capabilities.get("elicitation") else { return false };
    match elicitation.get("form") {
        None | Some(Value::Null) => !elicitation.contains_key("url"),
        Some(form) => form.is_object(),
    }
}

/// Reads the result of `elicitation/create`; the error says what is wrong with it, without values of fields.
pub(in crate::server) fn reply(raw: &RawValue) -> Result<Reply, String> {
    let length = raw.get().len();
    if length > MAX_REPLY {
        return Err(format!("it has {length} bytes, more than {MAX_REPLY}"));
    }
    let Value::Object(mut result) = strict(raw)? else { return Err("it is not an object".to_owned()) };
    match result.get("action") {
        Some(Value::String(action)) => match action.as_str() {
            "accept" => content(result.remove("content")).map(Reply::Accept),
            "decline" => Ok(Reply::Decline),
            "cancel" => Ok(Reply::Cancel),
            other => {
                let shown: String = other.chars().take(64).collect();
                Err(format!("action {shown:?} is none of accept, decline, cancel"))
            }
        },
        Some(_) => Err("action is not a text".to_owned()),
        None => Err("action is missing".to_owned()),
    }
}

// A form without fields may come back without content.
fn content(content: Option<Value>) -> Result<Map<String, Value>, String> {
    let fields = match content {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(fields)) => fields,
        Some(_) => return Err("content is not an object".to_owned()),
    };
    if fields.len() > MAX_FIELDS {
        return Err(format!("content has {} fields, more than {MAX_FIELDS}", fields.len()));
    }
    let fits = |value: &Value| match value {
        Value::String(_) | Value::Number(_) | Value::Bool(_) => true,
        Value::Array(items) => items.iter().all(Value::is_string),
        Value::Null | Value::Object(_) => false,
    };
    match fields.iter().find(|(_, value)| !fits(value)) {
        Some((name, _)) => {
            let shown: String = name.chars().take(64).collect();
            Err(format!("field {shown:?} is not a text, a number, a boolean or a list of texts"))
        }
        None => Ok(fields),
    }
}

/// Reads `requestState` and `inputResponses` of a call that was sent again; `None` when it is a first one.
pub(in crate::server) fn resumed(params: &Params) -> Result<Option<Resumed>, RpcError> {
    let state = params.text("requestState")?;
    let responses = params.members("inputResponses")?;
    let Some(state) = state else {
        if responses.is_empty() {
            return Ok(None);
        }
        return Err(invalid(
            "params.inputResponses came without params.requestState; send back the one that was given",
        ));
    };
    if state.len() > MAX_STATE {
        return Err(invalid(format!("params.requestState has {} bytes, more than {MAX_STATE}", state.len())));
    }
    if responses.len() > MAX_REPLIES {
        let count = responses.len();
        return Err(invalid(format!("params.inputResponses has {count} members, more than {MAX_REPLIES}")));
    }
    let mut replies = BTreeMap::new();
    for (key, raw) in responses {
        if key.len() > MAX_KEY {
            return Err(invalid(format!(
                "a key of params.inputResponses has {} bytes, more than {MAX_KEY}",
                key.len()
            )));
        }
        let reply = reply(&raw).map_err(|why| invalid(format!("params.inputResponses[{key:?}]: {why}")))?;
        replies.insert(key, reply);
    }
    Ok(Some(Resumed { state, replies }))
}
