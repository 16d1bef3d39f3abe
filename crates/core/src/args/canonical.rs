//! Arguments in canonical form: what tells whether two calls ask for the same.
//!
//! Works on the text, so digits are never rounded: two integers of thirty digits that differ in the last stay
//! different. The same number written in two ways (`1` and `1.0`) may count as different, which errs on the safe side:
//! an approval or a reused answer then does not apply.

use std::{borrow::Cow, ops::Range};

use serde_json::value::RawValue;

use crate::{ContentHash, json_text};

/// Deepest level that is brought into canonical form; what lies deeper counts as written. Arguments that were read by
/// [`super::parse`] never get there.
const DEPTH: usize = 128;

/// Canonical JSON text: keys sorted by code point, no blanks, texts escaped in one way, numbers as written. Equal to
/// [`crate::hash::canonical_json`] wherever that keeps a number's text. A key given twice stays twice, in order.
pub fn canonical(raw: &RawValue) -> String {
    written(raw, &[])
}

/// Hash of the canonical text.
pub fn digest(raw: &RawValue) -> ContentHash {
    ContentHash::of_bytes(canonical(raw).as_bytes())
}

/// Hash of the canonical text without the given top-level entries: those that a tool declares to vary from call to call
/// without meaning (a request id, a timestamp).
pub fn digest_without(raw: &RawValue, volatile: &[String]) -> ContentHash {
    ContentHash::of_bytes(written(raw, volatile).as_bytes())
}

fn written(raw: &RawValue, volatile: &[String]) -> String {
    let text = raw.get();
    let mut out = String::with_capacity(text.len());
    let start = json_text::skip_blanks(text.as_bytes(), 0);
    write(text, start, 0, volatile, &mut out);
    out
}

/// Writes the value at `at`, and tells where it ends.
fn write(text: &str, at: usize, depth: usize, skip: &[String], out: &mut String) -> usize {
    let bytes = text.as_bytes();
    let end = match bytes.get(at) {
        None => return at,
        Some(b'{') if depth < DEPTH => return object(text, at, depth, skip, out),
        Some(b'[') if depth < DEPTH => return list(text, at, depth, out),
        Some(b'"') => {
            let end = json_text::string_end(bytes, at);
            string(&text[at..end], out);
            return end;
        }
        Some(b'{' | b'[') => json_text::value_end(bytes, at),
        Some(_) => json_text::scalar_end(bytes, at),
    };
    out.push_str(&text[at..end]);
    end
}

/// Without escapes there is only one way to write a text. Half a surrogate pair cannot be read, and stays as written.
fn string(quoted: &str, out: &mut String) {
    match json_text::decoded(quoted) {
        Some(Cow::Owned(plain)) => out.push_str(&json_text::encoded(&plain)),
        _ => out.push_str(quoted),
    }
}

fn object<'t>(text: &'t str, at: usize, depth: usize, skip: &[String], out: &mut String) -> usize {
    let bytes = text.as_bytes();
    let mut at = at + 1;
    out.push('{');
    let start = out.len();
    let mut entries: Vec<(Cow<'t, str>, Range<usize>)> = Vec::new();
    loop {
        at = json_text::skip_blanks(bytes, at);
        match bytes.get(at) {
            Some(b',') => at += 1,
            Some(b'"') => {
                let quoted = &text[at..json_text::string_end(bytes, at)];
                let key = json_text::decoded(quoted).unwrap_or(Cow::Borrowed(quoted));
                let value = json_text::value_start(bytes, at + quoted.len());
                if skip.iter().any(|name| *name == key) {
                    at = json_text::value_end(bytes, value);
                    continue;
                }
                if !entries.is_empty() {
                    out.push(',');
                }
                let begin = out.len() - start;
                string(quoted, out);
                out.push(':');
                at = write(text, value, depth + 1, &[], out);
                entries.push((key, begin..out.len() - start));
            }
            _ => break,
        }
    }
    if !entries.is_sorted_by(|a, b| a.0 <= b.0) {
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        let body = out.split_off(start);
        for (i, (_, range)) in entries.into_iter().enumerate() {
            out.push_str(if i == 0 { "" } else { "," });
            out.push_str(&body[range]);
        }
    }
    out.push('}');
    at + 1
}

fn list(text: &str, at: usize, depth: usize, out: &mut String) -> usize {
    let bytes = text.as_bytes();
    let mut at = at + 1;
    out.push('[');
    let mut first = true;
    loop {
        at = json_text::skip_blanks(bytes, at);
        match bytes.get(at) {
            Some(b',') => at += 1,
            None | Some(b']') => break,
            Some(_) => {
                out.push_str(if first { "" } else { "," });
                first = false;
                at = write(text, at, depth + 1, &[], out).max(at + 1);
            }
        }
    }
    out.push(']');
    at + 1
}

#[cfg(test)]
mod tests;
