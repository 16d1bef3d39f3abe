//! Secrets in JSON text: only the texts that hold one are written anew.

use std::{borrow::Cow, ops::Range};

use serde_json::value::RawValue;

use super::{MASK, Redactor, Strength};
use crate::json_text;

/// JSON texts within JSON texts that are read as such; deeper ones as running text.
const NESTED: usize = 3;
/// Shortest number that may have the form of a secret, in characters.
pub(super) const NUMBER: usize = 8;
/// Entries of content blocks that hold encoded bytes.
const BYTES: [&str; 2] = ["data", "blob"];

type Changes = Vec<(Range<usize>, String)>;

/// How a part of JSON text is looked through.
#[derive(Clone, Copy)]
struct Look<'r> {
    redactor: &'r Redactor,
    strength: Strength,
    /// Whether names tell secrets.
    names: bool,
    /// Whether `data` and `blob` are bytes, to be left alone.
    bytes: bool,
    nesting: usize,
}

/// A result without secrets; `None` if nothing changes.
pub(super) fn redact_result(redactor: &Redactor, text: &str, strength: Strength) -> Option<String> {
    let look = Look { redactor, strength, names: false, bytes: false, nesting: 0 };
    let mut changes = Vec::new();
    for member in json_text::members(text, 0) {
        let look = match member.key.as_ref() {
            "structuredContent" => Look { names: strength != Strength::Known, ..look },
            "content" => Look { bytes: true, ..look },
            _ => look,
        };
        look.walk(text, member.value, &mut changes);
    }
    (!changes.is_empty()).then(|| json_text::replace(text, changes))
}

/// The same for a text that is an object, a list or a quoted text; the outer `None` if it is not.
#[allow(clippy::option_option, reason = "whether it is JSON, and whether it changes")]
pub(super) fn redact_json_text(
    redactor: &Redactor,
    text: &str,
    strength: Strength,
    nesting: usize,
) -> Option<Option<String>> {
    let start = text.len() - text.trim_start().len();
    if nesting >= NESTED
        || !text[start..].starts_with(['{', '[', '"'])
        || serde_json::from_str::<&RawValue>(text).is_err()
    {
        return None;
    }
    let names = strength != Strength::Known;
    let look = Look { redactor, strength, names, bytes: false, nesting: nesting + 1 };
    let mut changes = Vec::new();
    look.walk(text, start..text.trim_end().len(), &mut changes);
    Some((!changes.is_empty()).then(|| json_text::replace(text, changes)))
}

impl Look<'_> {
    /// Looks through a value, however deep, without recursion: what follows a string tells whether it is a key.
    fn walk(&self, text: &str, range: Range<usize>, changes: &mut Changes) {
        let bytes = text.as_bytes();
        let mut at = range.start;
        while at < range.end {
            match bytes[at] {
                b'"' => {
                    let end = json_text::string_end(bytes, at);
                    at = if bytes.get(json_text::skip_blanks(bytes, end)) == Some(&b':') {
                        self.entry(text, at..end, changes)
                    } else {
                        self.string(text, at..end, changes);
                        end
                    };
                }
                b'{' | b'}' | b'[' | b']' | b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' => at += 1,
                _ => {
                    let end = json_text::scalar_end(bytes, at);
                    self.number(text, at..end, changes);
                    at = end;
                }
            }
        }
    }

    /// Looks at a key, and tells where to go on: at its value, or behind it.
    fn entry(&self, text: &str, key: Range<usize>, changes: &mut Changes) -> usize {
        let bytes = text.as_bytes();
        let start = json_text::value_start(bytes, key.end);
        let name = json_text::readable(&text[key.clone()]);
        let is_bytes = self.bytes && BYTES.contains(&name.as_ref()) && bytes.get(start) == Some(&b'"');
        let is_secret = self.names && self.redactor.is_secret_name(&name);
        self.string(text, key, changes);
        if !is_bytes && !is_secret {
            return start;
        }
        let end = json_text::value_end(bytes, start);
        let masked = json_text::encoded(MASK);
        let plain = matches!(&text[start..end], "null" | "true" | "false" | "\"\"" | "{}" | "[]");
        if is_secret && !plain && text[start..end] != masked {
            changes.push((start..end, masked));
        }
        end
    }

    fn string(&self, text: &str, range: Range<usize>, changes: &mut Changes) {
        let plain = json_text::readable(&text[range.clone()]);
        if let Cow::Owned(new) = self.redactor.text(&plain, self.strength, self.nesting) {
            changes.push((range, json_text::encoded(&new)));
        }
    }

    fn number(&self, text: &str, range: Range<usize>, changes: &mut Changes) {
        if range.len() >= NUMBER && matches!(self.redactor.plain(&text[range.clone()], Strength::Forms), Cow::Owned(_))
        {
            changes.push((range, json_text::encoded(MASK)));
        }
    }
}
