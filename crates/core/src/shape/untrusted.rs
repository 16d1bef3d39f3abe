//! Text of others, marked as data before a model reads it (Hermes reference §3, "Results").

use std::borrow::Cow;

use crate::{
    ContentHash, ToolResult, json_text,
    shape::{edit::Edit, sanitize_text},
};

/// The entry of `_meta` that names the source of an untrusted result.
pub const UNTRUSTED: &str = "toolcrib/untrusted";
/// Shortest text that is framed, in characters: a shorter one has no room for an order.
const FRAMED: usize = 32;
/// The name of the frame.
const FRAME: &str = "untrusted-data";
/// Longest label, in characters.
const LABEL: usize = 80;

/// Frames the text blocks of 32 characters or more as data of the source, and names the source in `_meta`.
///
/// The frame carries eight characters of the hash of what is within, so that nothing within can end it: a text does not
/// know its own hash. What looks like the frame is defused all the same, for readers that do not look at the hash.
/// Images, other blocks, the structured content and unknown entries stay byte for byte. The same result always gives
/// the same bytes. A mark that the upstream set itself counts for nothing.
pub fn mark_untrusted(result: &ToolResult, source_label: &str) -> ToolResult {
    let label = label(source_label);
    let mut edit = Edit::of(result);
    for block in edit.blocks() {
        if let Some((text, range)) = edit.text_in(&block)
            && text.chars().nth(FRAMED - 1).is_some()
        {
            edit.replace(range, json_text::encoded(&framed(&text, &label)));
        }
    }
    edit.set_meta(UNTRUSTED, &json_text::encoded(&label));
    edit.done()
}

/// Only names the source in `_meta`; the content stays as it is.
pub fn mark_meta_only(result: &ToolResult, source_label: &str) -> ToolResult {
    // Nearly every result: nothing there that is called so, and the entry is simply the last one.
    if let Some(open) = result.raw().get().trim_end().strip_suffix('}')
        && !open.contains("\"_meta\"")
        && !open.contains("\\u")
    {
        let comma = if open.trim_end().ends_with('{') { "" } else { "," };
        let label = json_text::encoded(&label(source_label));
        let text = [open, comma, "\"_meta\":{\"", UNTRUSTED, "\":", &label, "}}"].concat();
        if let Some(marked) = result.with_text(text) {
            return marked;
        }
    }
    let mut edit = Edit::of(result);
    edit.set_meta(UNTRUSTED, &json_text::encoded(&label(source_label)));
    edit.done()
}

/// A label without what would end it or the line.
fn label(text: &str) -> Cow<'_, str> {
    if text.len() <= LABEL
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
    {
        return text.into();
    }
    let clean = sanitize_text(text);
    clean.chars().filter(|char| !matches!(char, '\n' | '\t' | '"' | '<' | '>')).take(LABEL).collect::<String>().into()
}

fn framed(text: &str, label: &str) -> String {
    let id = ContentHash::of_bytes(text.as_bytes()).base32(8);
    let defused = defused(text);
    format!("<{FRAME} id=\"{id}\" source=\"{label}\">\n{defused}\n</{FRAME} id=\"{id}\">")
}

/// Writes `&lt;` for the sign that begins something like the frame, whatever its case and the blanks in it.
fn defused(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['<', '＜', '﹤']) {
        let after = &rest[at..];
        let sign = after.chars().next().map_or(1, char::len_utf8);
        out.push_str(&rest[..at]);
        out.push_str(if is_frame(&after[sign..]) { "&lt;" } else { &after[..sign] });
        rest = &after[sign..];
    }
    out.push_str(rest);
    out
}

fn is_frame(after: &str) -> bool {
    let letters = |char: &char| char.is_alphanumeric();
    let wanted = FRAME.chars().filter(letters);
    // Signs, blanks and invisible characters between do not make it another word to a model.
    let mut found = after.chars().take(4 * FRAME.len()).filter(letters).flat_map(char::to_lowercase);
    wanted.into_iter().all(|char| found.next() == Some(char))
}

#[cfg(test)]
mod tests;
