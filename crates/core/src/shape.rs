//! Results on their way to a model: a preview with a notice in place of one over its budget, reading the whole in
//! slices, text of others marked as data, notes of ours added, and cleaning text that is about to be shown as ours.

mod budget;
mod edit;
mod output;
mod sanitize;
mod slice;
mod untrusted;

use indexmap::IndexMap;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json, value::RawValue};

pub use budget::{TurnBudget, result_chars};
pub use output::{append_note, check_output, ensure_text, is_nothing, nothing_returned, whole_text, with_warning};
pub use sanitize::sanitize_text;
pub use slice::{SliceError, SliceQuery, read_slice};
pub use untrusted::{UNTRUSTED, mark_meta_only, mark_untrusted};

use crate::ToolResult;

/// Content blocks of one result; more are over the budget whatever they hold (T16 of the security reference).
const BLOCKS: usize = 1_000;

/// The budget of one result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapeLimits {
    /// Characters of text over all blocks, and of the structured content, each. Default 100,000.
    pub max_chars: usize,
    /// Characters of text in the preview of a result that is over. Default 1,500.
    pub preview_chars: usize,
    /// Bytes of the whole result, images included. Default 8 MiB.
    pub max_bytes: usize,
}

impl Default for ShapeLimits {
    fn default() -> Self {
        Self { max_chars: 100_000, preview_chars: 1_500, max_bytes: 8 * 1024 * 1024 }
    }
}

/// What became of a result.
#[derive(Clone, Debug)]
pub enum Shaped {
    /// It is within the budget.
    Untouched,
    /// It was over: the preview to give instead. The whole to keep is the raw text of the result that was given.
    Cut(ToolResult),
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(default, rename = "type")]
    kind: Option<Value>,
    #[serde(default, borrow)]
    text: Option<&'a RawValue>,
}

/// A result taken apart, everything as written.
struct Parts<'a> {
    entries: IndexMap<String, &'a RawValue>,
    blocks: Vec<(&'a RawValue, Option<String>)>,
    structured_chars: usize,
}

impl<'a> Parts<'a> {
    fn of(result: &'a ToolResult) -> Self {
        let entries: IndexMap<String, &RawValue> = serde_json::from_str(result.raw().get()).unwrap_or_default();
        let list = |raw: &&'a RawValue| serde_json::from_str::<Vec<&'a RawValue>>(raw.get()).unwrap_or_default();
        let blocks = entries.get("content").map(list).unwrap_or_default();
        let blocks = blocks.into_iter().map(|raw| (raw, text_of(raw))).collect();
        let structured_chars = entries.get("structuredContent").map_or(0, |raw| raw.get().chars().count());
        Self { entries, blocks, structured_chars }
    }

    fn text_chars(&self) -> usize {
        self.blocks.iter().filter_map(|(_, text)| text.as_ref()).map(|text| text.chars().count()).sum()
    }

    fn is_over(&self, bytes: usize, limits: &ShapeLimits) -> bool {
        bytes > limits.max_bytes
            || self.blocks.len() > BLOCKS
            || self.structured_chars > limits.max_chars
            || self.text_chars() > limits.max_chars
    }
}

/// The text of a text block; other blocks have none.
fn text_of(block: &RawValue) -> Option<String> {
    let block: Block<'_> = serde_json::from_str(block.get()).ok()?;
    let text = block.text.filter(|_| block.kind.is_some_and(|kind| kind == "text"))?;
    serde_json::from_str(text.get()).ok()
}

/// Whether a result is over its budget. Cheap for small results: their text is not looked into.
pub fn is_over(result: &ToolResult, limits: &ShapeLimits) -> bool {
    let bytes = result.raw().get().len();
    // A character takes at least a byte, a block at least three.
    if bytes <= limits.max_chars.min(limits.max_bytes) && (bytes <= 3 * BLOCKS || count_blocks(result) <= BLOCKS) {
        return false;
    }
    Parts::of(result).is_over(bytes, limits)
}

fn count_blocks(result: &ToolResult) -> usize {
    #[derive(Deserialize)]
    struct Count {
        #[serde(default)]
        content: Vec<IgnoredAny>,
    }
    serde_json::from_str::<Count>(result.raw().get()).map_or(0, |count| count.content.len())
}

/// Shapes a result to its budget. `handle` names where the whole is kept; without one the notice says that the rest is
/// gone.
///
/// The preview is the beginning of the text, cut at the last line break past its middle. Blocks that are not text
/// (images, audio, resources) stay as they are and do not count as text; they are left out only beyond `max_bytes`.
/// Structured content over the budget is left out of the preview. Everything left out is named in the notice, which is
/// the last block, and is in the whole.
pub fn shape(result: &ToolResult, limits: &ShapeLimits, handle: Option<&str>) -> Shaped {
    let bytes = result.raw().get().len();
    let parts = Parts::of(result);
    if !parts.is_over(bytes, limits) {
        return Shaped::Untouched;
    }
    let mut preview =
        Preview { limits, text_left: None, bytes_left: limits.max_bytes, content: Vec::new(), notes: Vec::new() };
    let mut top: Vec<(String, String)> = Vec::new();
    for (key, raw) in &parts.entries {
        match key.as_str() {
            "content" => {}
            "structuredContent" if parts.structured_chars > limits.max_chars => preview.notes.push(format!(
                "The structured content ({} characters) is left out here; it is in the whole at /structuredContent.",
                parts.structured_chars
            )),
            _ if raw.get().len() > preview.bytes_left => {
                preview.notes.push(format!("'{}' ({} bytes) is left out here.", sanitize_text(key), raw.get().len()));
            }
            _ => {
                preview.bytes_left -= raw.get().len();
                top.push((key.clone(), raw.get().to_owned()));
            }
        }
    }
    preview.blocks(&parts);
    let notice = notice(&preview.notes, bytes, handle);
    preview.content.push(json!({"type": "text", "text": notice}).to_string());
    let mut text = format!("{{\"content\":[{}]", preview.content.join(","));
    for (key, raw) in top {
        text.push(',');
        text.push_str(&Value::String(key).to_string());
        text.push(':');
        text.push_str(&raw);
    }
    text.push('}');
    match RawValue::from_string(text).map(ToolResult::from_raw) {
        Ok(Ok(cut)) => Shaped::Cut(cut),
        // Not reached: the text is put together from JSON. An answer that says so beats a huge one all the same.
        _ => Shaped::Cut(ToolResult::error(notice)),
    }
}

fn notice(notes: &[String], bytes: usize, handle: Option<&str>) -> String {
    let mut text = format!("[toolcrib] This result was cut; it has {bytes} bytes in all.");
    for note in notes {
        text.push(' ');
        text.push_str(note);
    }
    let more = match handle {
        Some(handle) => format!(
            " Read the rest with tool_result_read, handle '{handle}': by lines (offset, limit), by JSON Pointer, or by text (grep)."
        ),
        None => " The rest was not kept: call again, for less.".to_owned(),
    };
    text + &more
}

struct Preview<'l> {
    limits: &'l ShapeLimits,
    /// Characters of text still to show; none while all text is shown.
    text_left: Option<usize>,
    bytes_left: usize,
    content: Vec<String>,
    notes: Vec<String>,
}

impl Preview<'_> {
    fn blocks(&mut self, parts: &Parts<'_>) {
        let chars = parts.text_chars();
        let too_many = parts.blocks.len() > BLOCKS;
        let text_bytes: usize =
            parts.blocks.iter().filter(|(_, text)| text.is_some()).map(|(raw, _)| raw.get().len()).sum();
        if chars > self.limits.max_chars || too_many || text_bytes > self.bytes_left {
            self.text_left = Some(self.limits.preview_chars);
        }
        let mut shown = 0;
        let mut dropped = 0;
        for (raw, text) in &parts.blocks {
            let Some(text) = text else {
                let fits = raw.get().len() <= self.bytes_left && self.content.len() < BLOCKS;
                if fits {
                    self.bytes_left -= raw.get().len();
                    self.content.push(raw.get().to_owned());
                } else {
                    dropped += 1;
                }
                continue;
            };
            let Some(left) = self.text_left else {
                self.bytes_left = self.bytes_left.saturating_sub(raw.get().len());
                self.content.push(raw.get().to_owned());
                continue;
            };
            if left == 0 || self.content.len() >= BLOCKS {
                continue;
            }
            let part = cut(text, left);
            let length = part.chars().count();
            shown += length;
            if part.len() == text.len() {
                self.content.push(raw.get().to_owned());
                self.text_left = Some(left - length);
            } else {
                self.content.push(json!({"type": "text", "text": part}).to_string());
                // What follows a cut would read as if it belonged to it.
                self.text_left = Some(0);
            }
        }
        if self.text_left.is_some() {
            let lines: usize =
                parts.blocks.iter().filter_map(|(_, text)| text.as_ref()).map(|text| text.lines().count()).sum();
            self.notes.insert(0, format!("Shown: the first {shown} of {chars} characters of text ({lines} lines)."));
        }
        if dropped > 0 {
            self.notes.push(format!("{dropped} blocks that are not text are left out here."));
        }
    }
}

/// The first `chars` characters, back to the last line break if that is past the middle.
fn cut(text: &str, chars: usize) -> &str {
    let Some((end, _)) = text.char_indices().nth(chars) else { return text };
    let head = &text[..end];
    match head.rfind('\n') {
        Some(at) if head[..at].chars().count() > chars / 2 => &head[..at],
        _ => head,
    }
}

#[cfg(test)]
mod tests;
