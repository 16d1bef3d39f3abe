//! Arguments in canonical form: what tells whether two calls ask for the same.
//!
//! Works on the text, so digits are never rounded: two integers of thirty digits that differ in the last stay
//! different.
//!
//! There are two digests, which err on different sides. [`digest`] is of the text: `1` and `1.0` are two. It is for
//! whatever lets something happen (an approval, a reused answer under a caller's key), which then does not apply.
//! [`equivalent_digest`] is of the meaning: numbers count by their value, texts in Unicode form NFC. It is for whatever
//! keeps something from happening (running twice, going in circles), which another spelling must not get past.

use std::{borrow::Cow, ops::Range};

use serde_json::value::RawValue;

use unicode_normalization::{UnicodeNormalization, is_nfc};

use crate::{ContentHash, json_text};

pub(crate) mod decimal;

/// Deepest level that is brought into canonical form; what lies deeper counts as written. Arguments that were read by
/// [`super::parse`] never get there.
const DEPTH: usize = 128;

/// Canonical JSON text: keys sorted by code point, no blanks, texts escaped in one way, numbers as written. Equal to
/// [`crate::hash::canonical_json`] wherever that keeps a number's text. A key given twice stays twice, in order.
pub fn canonical(raw: &RawValue) -> String {
    written(raw, &[], Numbers::AsWritten)
}

/// Hash of the canonical text.
pub fn digest(raw: &RawValue) -> ContentHash {
    ContentHash::of_bytes(canonical(raw).as_bytes())
}

/// Hash of the canonical text without the given top-level entries: those that a tool declares to vary from call to call
/// without meaning (a request id, a timestamp).
pub fn digest_without(raw: &RawValue, volatile: &[String]) -> ContentHash {
    ContentHash::of_bytes(written(raw, volatile, Numbers::AsWritten).as_bytes())
}

/// Hash of what the arguments mean: the same for `1`, `1.0` and `10e-1`, and for texts that differ only in how Unicode
/// composes their characters. Keys count as written: tools tell them apart.
pub fn equivalent_digest(raw: &RawValue) -> ContentHash {
    equivalent_digest_without(raw, &[])
}

/// The same, for a caller who has the [`digest`] already: nearly always there is no more to do.
pub fn equivalent_digest_from(raw: &RawValue, digest: ContentHash) -> ContentHash {
    if is_plain(raw.get()) { digest } else { equivalent_digest(raw) }
}

/// [`equivalent_digest`] without the given top-level entries.
pub fn equivalent_digest_without(raw: &RawValue, volatile: &[String]) -> ContentHash {
    ContentHash::of_bytes(written(raw, volatile, Numbers::ByValue).as_bytes())
}

/// Whether the text certainly has nothing that [`equivalent_digest`] writes in another way than [`digest`].
fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    let odd = |pair: &[u8]| match (pair[0], pair[1]) {
        (digit, b'.' | b'e' | b'E') => digit.is_ascii_digit(),
        (b'-' | b'0', b'0') | (b'\\', b'u') => true,
        _ => false,
    };
    text.is_ascii() && !bytes.windows(2).any(odd)
}

/// How numbers and texts are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbers {
    AsWritten,
    ByValue,
}

fn written(raw: &RawValue, volatile: &[String], numbers: Numbers) -> String {
    let text = raw.get();
    let mut writer = Writer { text, numbers, out: String::with_capacity(text.len()) };
    let start = json_text::skip_blanks(text.as_bytes(), 0);
    writer.value(start, 0, volatile);
    writer.out
}

struct Writer<'t> {
    text: &'t str,
    numbers: Numbers,
    out: String,
}

impl<'t> Writer<'t> {
    /// Writes the value at `at`, and tells where it ends.
    fn value(&mut self, at: usize, depth: usize, skip: &[String]) -> usize {
        let (text, bytes) = (self.text, self.text.as_bytes());
        let end = match bytes.get(at) {
            None => return at,
            Some(b'{') if depth < DEPTH => return self.object(at, depth, skip),
            Some(b'[') if depth < DEPTH => return self.list(at, depth),
            Some(b'"') => {
                let end = json_text::string_end(bytes, at);
                self.string(&text[at..end], self.numbers);
                return end;
            }
            Some(b'{' | b'[') => json_text::value_end(bytes, at),
            Some(_) => {
                let end = json_text::scalar_end(bytes, at);
                if self.numbers == Numbers::ByValue
                    && let Some(number) = decimal::normal(&text[at..end])
                {
                    self.out.push_str(&number);
                    return end;
                }
                end
            }
        };
        self.out.push_str(&text[at..end]);
        end
    }

    /// Without escapes there is only one way to write a text. Half a surrogate pair cannot be read, and stays as written.
    fn string(&mut self, quoted: &str, numbers: Numbers) {
        match json_text::decoded(quoted) {
            Some(plain) if numbers == Numbers::ByValue && !is_nfc(&plain) => {
                self.out.push_str(&json_text::encoded(&plain.nfc().collect::<String>()));
            }
            Some(Cow::Owned(plain)) => self.out.push_str(&json_text::encoded(&plain)),
            _ => self.out.push_str(quoted),
        }
    }

    fn object(&mut self, at: usize, depth: usize, skip: &[String]) -> usize {
        let (text, bytes) = (self.text, self.text.as_bytes());
        let mut at = at + 1;
        self.out.push('{');
        let start = self.out.len();
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
                        self.out.push(',');
                    }
                    let begin = self.out.len() - start;
                    self.string(quoted, Numbers::AsWritten);
                    self.out.push(':');
                    at = self.value(value, depth + 1, &[]);
                    entries.push((key, begin..self.out.len() - start));
                }
                _ => break,
            }
        }
        if !entries.is_sorted_by(|a, b| a.0 <= b.0) {
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            let body = self.out.split_off(start);
            for (i, (_, range)) in entries.into_iter().enumerate() {
                self.out.push_str(if i == 0 { "" } else { "," });
                self.out.push_str(&body[range]);
            }
        }
        self.out.push('}');
        at + 1
    }

    fn list(&mut self, at: usize, depth: usize) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = at + 1;
        self.out.push('[');
        let mut first = true;
        loop {
            at = json_text::skip_blanks(bytes, at);
            match bytes.get(at) {
                Some(b',') => at += 1,
                None | Some(b']') => break,
                Some(_) => {
                    self.out.push_str(if first { "" } else { "," });
                    first = false;
                    at = self.value(at, depth + 1, &[]).max(at + 1);
                }
            }
        }
        self.out.push(']');
        at + 1
    }
}

#[cfg(test)]
mod tests;
