//! Results that are not in the form of MCP, brought into it: readers would drop what they do not expect, or take it for
//! something else.

use serde_json::Value;

use super::{
    edit::{Edit, text_block},
    with_warning,
};
use crate::{ToolResult, json_text};

/// The result with a list of blocks for its content and a boolean for `isError`, and a warning that says what was
/// changed; everything else stays byte for byte. `None` if there is nothing to change. Content that is a text becomes a
/// block of text, and so does every item that is no object; a single block becomes a list of one. An `isError` that is
/// neither true nor false counts as true unless it says no (`"false"`, `"no"`, `0`, an empty text, `null`).
pub fn in_form(result: &ToolResult) -> Option<ToolResult> {
    if result.is_formed() {
        return None;
    }
    let raw = result.raw().get();
    let mut edit = Edit::of(result);
    let mut wrong = Vec::new();
    let content = edit.entry("content").map(str::to_owned);
    match content.as_deref().map(|content| (content, content.as_bytes().first())) {
        None => {}
        Some((_, Some(b'['))) => {
            let odd: Vec<_> = edit.blocks().into_iter().filter(|block| !raw[block.start..].starts_with('{')).collect();
            if !odd.is_empty() {
                wrong.push("items of its content were no blocks");
            }
            for block in odd {
                let text = text_block(&readable(&raw[block.clone()]));
                edit.replace(block, text);
            }
        }
        Some((content, first)) => {
            wrong.push("its content was no list");
            let block =
                first == Some(&b'{') && { json_text::members(content, 0).iter().any(|member| member.key == "type") };
            let block = if block { content.to_owned() } else { text_block(&readable(content)) };
            edit.set("content", format!("[{block}]"));
        }
    }
    let is_error = edit.entry("isError").filter(|text| !matches!(*text, "true" | "false")).map(str::to_owned);
    if let Some(text) = is_error {
        wrong.push("its isError was neither true nor false");
        edit.set("isError", says_yes(&text).to_string());
    }
    if wrong.is_empty() {
        return None;
    }
    let note = format!("this result was not in the form of MCP and was brought into it: {}.", wrong.join("; "));
    Some(with_warning(&edit.done(), &note))
}

/// A JSON text as its text, anything else as written.
fn readable(json: &str) -> String {
    if json.starts_with('"') { json_text::readable(json).into_owned() } else { json.to_owned() }
}

fn says_yes(json: &str) -> bool {
    match serde_json::from_str(json) {
        Ok(Value::Bool(flag)) => flag,
        Ok(Value::Null) => false,
        Ok(Value::Number(number)) => number.as_f64() != Some(0.0),
        Ok(Value::String(text)) => {
            !matches!(text.trim().to_lowercase().as_str(), "" | "false" | "no" | "0" | "off" | "null" | "none")
        }
        Ok(Value::Array(_) | Value::Object(_)) | Err(_) => true,
    }
}

#[cfg(test)]
mod tests;
