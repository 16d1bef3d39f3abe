//! What a result must hold, and words of ours added to it. Content is never taken away (case 81 of the peers
//! reference).

use serde_json::Value;

use super::edit::Edit;
use crate::{ToolResult, args::canonical, schema::Validator, shape::sanitize_text};

/// Violations that a reason names.
const REASONS: usize = 3;
/// Longest reason, in characters.
const REASON: usize = 400;

/// Checks the structured content against the output schema of the tool. `Some` gives the reason in short, at most 400
/// characters. Errors need not fit: the schema is of what the tool gives when it succeeds.
pub fn check_output(result: &ToolResult, validator: &Validator) -> Option<String> {
    if result.is_error() {
        return None;
    }
    let Some(structured) = Edit::of(result).entry("structuredContent") else {
        return Some("the tool declares structured output, but gave none".to_owned());
    };
    let value: Value = serde_json::from_str(structured).ok()?;
    let violations = validator.validate(&value).err()?;
    let shown: Vec<String> = violations
        .iter()
        .take(REASONS)
        .map(|violation| match violation.path.as_str() {
            "" => violation.message.clone(),
            path => format!("{path} {}", violation.message),
        })
        .collect();
    let more = match violations.len().saturating_sub(REASONS) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let text = sanitize_text(&format!("{}{more}", shown.join("; "))).replace('\n', " ");
    Some(text.chars().take(REASON).collect())
}

/// Adds a warning of ours as one block of text; see [`append_note`].
pub fn with_warning(result: &ToolResult, text: &str) -> ToolResult {
    append_note(result, &format!("warning: {text}"))
}

/// Adds a note of ours as one block of text behind the others; everything else stays byte for byte, an error stays an
/// error. Structured content that had no text gets it first, or the note would pass for the whole answer.
pub fn append_note(result: &ToolResult, text: &str) -> ToolResult {
    let whole = ensure_text(result);
    let mut edit = Edit::of(&whole);
    edit.append_text(&format!("[toolcrib] {text}"));
    edit.done()
}

/// Gives the structured content as text too where there is no text (MCP 2025-06-18: for clients that read only text).
/// Digits are kept. Everything else stays as it is.
pub fn ensure_text(result: &ToolResult) -> ToolResult {
    let mut edit = Edit::of(result);
    let Some(structured) = edit.entry("structuredContent") else { return result.clone() };
    if edit.texts().iter().any(|text| !text.trim().is_empty()) {
        return result.clone();
    }
    edit.append_text(structured);
    edit.done()
}

/// The result as one text for a reader that takes only one: its text blocks, and the structured content unless one of
/// them already says the same. Neither is given up for the other.
pub fn whole_text(result: &ToolResult) -> String {
    let edit = Edit::of(result);
    let mut texts = edit.texts();
    texts.retain(|text| !text.trim().is_empty());
    if let Some(structured) = edit.entry("structuredContent") {
        let canonical = |text: &str| serde_json::from_str(text).ok().map(canonical::canonical);
        let wanted = canonical(structured);
        if !texts.iter().any(|text| text.trim_start().starts_with(['{', '[']) && canonical(text) == wanted) {
            texts.push(structured.into());
        }
    }
    texts.join("\n")
}

/// Whether a result says nothing at all: no content, no structured content, and nothing that a newer protocol adds
/// (a result that asks for input has no content either). Then give [`nothing_returned`] instead.
pub fn is_nothing(result: &ToolResult) -> bool {
    let edit = Edit::of(result);
    edit.keys().all(|key| match key {
        "content" => edit.entry(key).is_none_or(|content| content.starts_with('[') && edit.blocks().is_empty()),
        "structuredContent" => edit.entry(key).is_none(),
        "resultType" => edit.entry(key).is_none_or(|kind| kind == "\"complete\""),
        "isError" | "_meta" => true,
        _ => false,
    })
}

/// The error in place of a result that is `null` or says nothing (case 23 of the OneRingAI reference).
pub fn nothing_returned(tool: &str) -> ToolResult {
    ToolResult::error(format!("{} returned no result", sanitize_text(tool)))
}

#[cfg(test)]
mod tests;
