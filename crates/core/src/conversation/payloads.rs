//! What the bridge's replies and the providers' own searches name, out of whatever a provider wrapped them in.

use serde_json::Value;

use crate::bridge::names_in_reply;

/// Deepest wrapping of a reply: a response object, an MCP result in it, its content, a text in that.
const WRAPPINGS: usize = 5;

/// Names that a reply of `tool_search` holds, in order.
pub(super) fn found_names(content: &Value) -> Vec<String> {
    let mut names = Vec::new();
    each_reply(content, WRAPPINGS, &mut |reply| {
        let before = names.len();
        names.extend(names_in_reply(reply).map(str::to_owned));
        if names.len() == before
            && let Some(tools) = reply["tools"].as_object()
        {
            names.extend(tools.keys().cloned());
        }
        names.len() > before
    });
    names
}

/// Names that a reply of `tool_describe` shows definitions of, in order.
pub(super) fn described_names(content: &Value) -> Vec<String> {
    let mut names = Vec::new();
    each_reply(content, WRAPPINGS, &mut |reply| {
        let Some(found) = reply["found"].as_array() else { return false };
        names.extend(found.iter().filter_map(|found| found["name"].as_str()).map(str::to_owned));
        true
    });
    names
}

/// Names that a provider's own search gave: references, or whole definitions (alone or in namespaces).
pub(super) fn references(piece: &Value) -> Vec<String> {
    let mut names = Vec::new();
    for holder in [piece, &piece["content"]] {
        let references = holder["tool_references"].as_array().into_iter().flatten();
        names.extend(references.filter_map(|found| found["tool_name"].as_str()).map(str::to_owned));
    }
    for tool in piece["tools"].as_array().into_iter().flatten() {
        let inner = tool["tools"].as_array().map_or(std::slice::from_ref(tool), Vec::as_slice);
        let named = inner.iter().filter_map(|tool| tool["name"].as_str().or_else(|| tool["function"]["name"].as_str()));
        names.extend(named.map(str::to_owned));
    }
    names
}

/// Calls `take` with every JSON object that a result may be meant to hold, outermost first, until it says that it was the
/// reply. What is cut short cannot be read and names nothing.
fn each_reply(value: &Value, wrappings: usize, take: &mut impl FnMut(&Value) -> bool) {
    if wrappings == 0 {
        return;
    }
    match value {
        Value::String(text) => {
            // A note may follow the reply.
            let first = serde_json::Deserializer::from_str(text).into_iter::<Value>().next();
            if let Some(Ok(inner @ Value::Object(_))) = first {
                each_reply(&inner, wrappings - 1, take);
            }
        }
        Value::Array(blocks) => blocks.iter().for_each(|block| each_reply(block, wrappings - 1, take)),
        Value::Object(map) => {
            if take(value) {
                return;
            }
            for key in ["output", "result", "response", "structuredContent", "content", "json", "text"] {
                if let Some(inner) = map.get(key) {
                    each_reply(inner, wrappings - 1, take);
                }
            }
        }
        _ => {}
    }
}
