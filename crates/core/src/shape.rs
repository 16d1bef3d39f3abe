//! Results on their way to a model: a preview with a notice in place of one over its budget, reading the whole in
//! slices, text of others marked as data, notes of ours added, and cleaning text that is about to be shown as ours.

mod budget;
mod edit;
mod form;
mod output;
mod sanitize;
mod slice;
mod untrusted;

use indexmap::IndexMap;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json, value::RawValue};

pub use budget::{TurnBudget, result_chars};
pub use form::in_form;
pub use output::{append_note, check_output, ensure_text, is_nothing, nothing_returned, whole_text, with_warning};
pub use sanitize::sanitize_text;
pub use slice::{SliceError, SliceQuery, read_slice};
pub use untrusted::{UNTRUSTED, mark_meta_only, mark_untrusted};

use crate::ToolResult;

/// Content blocks of one result; more are over the budget whatever they hold (T16 of the security reference).
const BLOCKS: usize = 1_000;

/// Entries that a notice names as left out, and characters of their names.
const NAMED: usize = 10;
const NAME: usize = 80;
/// Characters beside the text of text blocks that no budget counts: the frames of blocks, `_meta`, short names and
/// addresses. What is beyond counts like text.
const BESIDE: usize = 4_096;

/// The budget of one result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapeLimits {
    /// Characters of text over all blocks with whatever else there is to read (names and addresses of links, texts of
    /// resources, `_meta`, unknown entries; not the data of images, audio and binary resources), and of the structured
    /// content, each. Default 100,000.
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
    #[serde(default, borrow)]
    data: Option<&'a RawValue>,
    #[serde(default, borrow)]
    resource: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Resource<'a> {
    #[serde(default, borrow)]
    blob: Option<&'a RawValue>,
}

/// A block as written.
struct Piece<'a> {
    raw: &'a RawValue,
    /// The text, of a text block.
    text: Option<String>,
    /// Characters beside that text and beside data that nobody reads.
    beside: usize,
}

impl<'a> Piece<'a> {
    fn of(raw: &'a RawValue) -> Self {
        let all = chars(raw);
        // What cannot be taken apart (a key given twice) counts whole.
        let Ok(block) = serde_json::from_str::<Block<'_>>(raw.get()) else {
            return Self { raw, text: None, beside: all };
        };
        let kind = block.kind.as_ref().and_then(Value::as_str).unwrap_or_default();
        let text = block.text.filter(|_| kind == "text");
        let decoded = text.and_then(|text| serde_json::from_str::<String>(text.get()).ok());
        let blob = || {
            let resource: Resource<'a> = serde_json::from_str(block.resource?.get()).ok()?;
            resource.blob
        };
        let skipped = match kind {
            "text" => text.filter(|_| decoded.is_some()),
            "image" | "audio" => block.data,
            "resource" => blob(),
            _ => None,
        };
        let skipped = skipped.filter(|value| value.get().starts_with('"')).map_or(0, chars);
        Self { raw, text: decoded, beside: all - skipped }
    }
}

fn chars(raw: &RawValue) -> usize {
    raw.get().chars().count()
}

/// A result taken apart, everything as written.
struct Parts<'a> {
    entries: IndexMap<String, &'a RawValue>,
    blocks: Vec<Piece<'a>>,
    structured_chars: usize,
    /// Characters of entries that are neither content nor structured content.
    other_chars: usize,
}

impl<'a> Parts<'a> {
    fn of(result: &'a ToolResult) -> Self {
        let entries: IndexMap<String, &RawValue> = serde_json::from_str(result.raw().get()).unwrap_or_default();
        let list = |raw: &&'a RawValue| serde_json::from_str::<Vec<&'a RawValue>>(raw.get()).unwrap_or_default();
        let blocks = entries.get("content").map(list).unwrap_or_default();
        let blocks = blocks.into_iter().map(Piece::of).collect();
        let structured_chars = entries.get("structuredContent").map_or(0, |raw| chars(raw));
        let is_other = |key: &str, raw: &RawValue| match key {
            "structuredContent" => false,
            // Counted by its blocks, if it has any.
            "content" => !raw.get().starts_with('['),
            _ => true,
        };
        let other = entries.iter().filter(|(key, raw)| is_other(key, raw));
        let other_chars = other.map(|(key, raw)| key.chars().count() + chars(raw)).sum();
        Self { entries, blocks, structured_chars, other_chars }
    }

    fn text_chars(&self) -> usize {
        self.blocks.iter().filter_map(|piece| piece.text.as_ref()).map(|text| text.chars().count()).sum()
    }

    /// Characters to read beside the texts, as far as they count.
    fn beside_chars(&self) -> usize {
        let blocks: usize = self.blocks.iter().map(|piece| piece.beside).sum();
        (blocks + self.other_chars).saturating_sub(BESIDE)
    }

    fn is_over(&self, bytes: usize, limits: &ShapeLimits) -> bool {
        bytes > limits.max_bytes
            || self.blocks.len() > BLOCKS
            || self.structured_chars > limits.max_chars
            || self.text_chars() + self.beside_chars() > limits.max_chars
    }
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
/// (images, audio, resources) stay as they are as long as what can be read of them is within `max_chars` beside the text,
/// and all of them within `max_bytes`; other entries likewise. A result that is not in form is brought into it.
/// Structured content over the budget is left out of the preview. Everything left out is named in the notice, which is
/// the last block, and is in the whole.
pub fn shape(result: &ToolResult, limits: &ShapeLimits, handle: Option<&str>) -> Shaped {
    let bytes = result.raw().get().len();
    let formed = in_form(result);
    let parts = Parts::of(formed.as_ref().unwrap_or(result));
    if !parts.is_over(bytes, limits) {
        return Shaped::Untouched;
    }
    let text_chars = parts.text_chars();
    let shown = if text_chars > limits.max_chars { limits.preview_chars } else { text_chars };
    let mut preview = Preview {
        limits,
        text_left: None,
        bytes_left: limits.max_bytes,
        beside_left: limits.max_chars.saturating_sub(shown) + BESIDE,
        content: Vec::new(),
        notes: Vec::new(),
        left_out: 0,
    };
    let mut top: Vec<(String, String)> = Vec::new();
    for (key, raw) in &parts.entries {
        match key.as_str() {
            "content" => {}
            "structuredContent" if parts.structured_chars > limits.max_chars => preview.notes.push(format!(
                "The structured content ({} characters) is left out here; it is in the whole at /structuredContent.",
                parts.structured_chars
            )),
            _ if key != "structuredContent" && !preview.takes(key.chars().count() + chars(raw))
                || raw.get().len() > preview.bytes_left =>
            {
                let name: String = sanitize_text(key).chars().take(NAME).collect();
                preview.left_out += 1;
                if preview.left_out <= NAMED {
                    preview.notes.push(format!("'{name}' ({} bytes) is left out here.", raw.get().len()));
                }
            }
            _ => {
                preview.bytes_left -= raw.get().len();
                top.push((key.clone(), raw.get().to_owned()));
            }
        }
    }
    if preview.left_out > NAMED {
        preview.notes.push(format!("{} more entries are left out here.", preview.left_out - NAMED));
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
    /// Characters beside the text still to show.
    beside_left: usize,
    content: Vec<String>,
    notes: Vec<String>,
    /// Entries that are left out.
    left_out: usize,
}

impl Preview<'_> {
    /// Takes characters beside the text, if there is room for them.
    fn takes(&mut self, chars: usize) -> bool {
        let fits = chars <= self.beside_left;
        if fits {
            self.beside_left -= chars;
        }
        fits
    }

    fn blocks(&mut self, parts: &Parts<'_>) {
        let chars = parts.text_chars();
        let too_many = parts.blocks.len() > BLOCKS;
        let text_bytes: usize =
            parts.blocks.iter().filter(|piece| piece.text.is_some()).map(|piece| piece.raw.get().len()).sum();
        if chars > self.limits.max_chars || too_many || text_bytes > self.bytes_left {
            self.text_left = Some(self.limits.preview_chars);
        }
        let mut shown = 0;
        let mut dropped = 0;
        for Piece { raw, text, beside } in &parts.blocks {
            let Some(text) = text else {
                let fits = raw.get().len() <= self.bytes_left && self.content.len() < BLOCKS && self.takes(*beside);
                if fits {
                    self.bytes_left -= raw.get().len();
                    self.content.push(raw.get().to_owned());
                } else {
                    dropped += 1;
                }
                continue;
            };
            if self.text_left == Some(0) || self.text_left.is_some() && self.content.len() >= BLOCKS {
                continue;
            }
            // What stands beside a text may be more than the text.
            let whole = if self.takes(*beside) { raw.get().to_owned() } else { edit::text_block(text) };
            let Some(left) = self.text_left else {
                self.bytes_left = self.bytes_left.saturating_sub(whole.len());
                self.content.push(whole);
                continue;
            };
            let part = cut(text, left);
            let length = part.chars().count();
            shown += length;
            if part.len() == text.len() {
                self.content.push(whole);
                self.text_left = Some(left - length);
            } else {
                self.content.push(json!({"type": "text", "text": part}).to_string());
                // What follows a cut would read as if it belonged to it.
                self.text_left = Some(0);
            }
        }
        if self.text_left.is_some() {
            let lines: usize =
                parts.blocks.iter().filter_map(|piece| piece.text.as_ref()).map(|text| text.lines().count()).sum();
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
