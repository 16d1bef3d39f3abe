//! What survives compaction: a marker that the host keeps in its summary, and references to tools that are gone.

use serde_json::{Value, json};

use super::transcript::MOST_DISCOVERIES;
use crate::ToolId;

/// Around the identities in a marker.
const OPEN: &str = "<toolcrib-tools>";
const CLOSE: &str = "</toolcrib-tools>";
/// Longest marker that is read, in bytes.
const MARKER_BYTES: usize = 256 * 1024;

/// The marker of these tools: one line of text, `<toolcrib-tools>["mcp:github/create_issue"]</toolcrib-tools>`.
///
/// A host that shortens its history puts it, as it is, into the message that stands for what it removed (role `user`,
/// `system` or `developer`); [`super::discoveries`] finds it there. It holds identities, so it outlives changes of exposed
/// names. It grants nothing.
pub fn marker<'a>(ids: impl IntoIterator<Item = &'a ToolId>) -> String {
    let ids: Vec<String> = ids.into_iter().take(MOST_DISCOVERIES).map(ToString::to_string).collect();
    // A tool's own name may be anything; it must not be able to end the marker.
    let list = json!(ids).to_string().replace('<', "\\u003c");
    format!("{OPEN}{list}{CLOSE}")
}

/// The identities in all markers of a text, in order. Broken markers hold none.
pub fn carried(text: &str) -> Vec<String> {
    let mut ids = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(OPEN) {
        rest = &rest[at + OPEN.len()..];
        let Some(end) = rest.find(CLOSE) else { break };
        if end <= MARKER_BYTES {
            ids.extend(serde_json::from_str::<Vec<String>>(&rest[..end]).unwrap_or_default());
        }
        rest = &rest[end..];
    }
    ids.truncate(MOST_DISCOVERIES);
    ids
}

/// Replaces references to tools that are gone, so that a provider takes the history: Anthropic refuses a request whose
/// `tool_reference` names no tool of it (standards §4.2; openclaw case 91). Where a text may stand, one takes the place; in
/// the provider's own search results the reference goes. Returns how many were replaced.
pub fn mend_references(messages: &mut Value, exists: &dyn Fn(&str) -> bool) -> usize {
    let gone = |block: &Value| {
        let name = block["tool_name"].as_str().filter(|_| block["type"] == "tool_reference");
        name.filter(|name| !exists(name)).map(str::to_owned)
    };
    let mut mended = 0;
    let messages = match messages {
        Value::Object(map) => map.get_mut("messages").and_then(Value::as_array_mut),
        other => other.as_array_mut(),
    };
    let blocks = messages
        .into_iter()
        .flatten()
        .filter_map(|message| message.get_mut("content").and_then(Value::as_array_mut))
        .flatten();
    for block in blocks {
        if block["type"] == "tool_result" {
            for inner in block.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten() {
                if let Some(name) = gone(inner) {
                    *inner = json!({"type": "text", "text": format!("[the tool {name} is no longer available]")});
                    mended += 1;
                }
            }
        } else if block["type"] == "tool_search_tool_result"
            && let Some(list) = block.pointer_mut("/content/tool_references").and_then(Value::as_array_mut)
        {
            let before = list.len();
            list.retain(|reference| gone(reference).is_none());
            mended += before - list.len();
        }
    }
    mended
}
