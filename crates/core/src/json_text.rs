//! Finding places in JSON text, so that it can be changed where it must be and kept byte for byte elsewhere.
//!
//! The text is known to be JSON (it comes out of a `RawValue`); on any other text the answers are useless but bounded.
//! Nothing here recurses.

use std::{borrow::Cow, ops::Range};

/// One entry of an object.
pub(crate) struct Member<'t> {
    /// The key, unescaped.
    pub(crate) key: Cow<'t, str>,
    /// The key as it is written, with its quotes.
    pub(crate) written: &'t str,
    /// Where the value stands, without blanks around it.
    pub(crate) value: Range<usize>,
}

/// The first position from `at` on that is not blank.
pub(crate) fn skip_blanks(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

/// Behind the string whose opening quote is at `at`.
pub(crate) fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Behind the value that begins at `at`.
pub(crate) fn value_end(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0_usize;
    while let Some(byte) = bytes.get(at) {
        at = match byte {
            b'"' => string_end(bytes, at),
            b'{' | b'[' => {
                depth += 1;
                at + 1
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                at + 1
            }
            b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' => at + 1,
            _ => scalar_end(bytes, at),
        };
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}

/// Behind the number, `true`, `false` or `null` at `at`; at least one further on.
pub(crate) fn scalar_end(bytes: &[u8], at: usize) -> usize {
    let inside = |byte: &u8| !matches!(byte, b',' | b'}' | b']' | b':' | b'"' | b' ' | b'\t' | b'\n' | b'\r');
    bytes[at..].iter().position(|byte| !inside(byte)).map_or(bytes.len(), |length| at + length.max(1))
}

/// The entries of the object at `at` in order, duplicates included. None if there is no object.
pub(crate) fn members(text: &str, at: usize) -> Vec<Member<'_>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = skip_blanks(bytes, at);
    if bytes.get(at) != Some(&b'{') {
        return found;
    }
    at += 1;
    loop {
        at = skip_blanks(bytes, at);
        match bytes.get(at) {
            Some(b',') => at += 1,
            Some(b'"') => {
                let end = string_end(bytes, at);
                let written = &text[at..end];
                let key = readable(written);
                let start = value_start(bytes, end);
                at = value_end(bytes, start);
                found.push(Member { key, written, value: start..at });
            }
            _ => return found,
        }
    }
}

/// Where the value of an entry begins whose key ends at `at`.
pub(crate) fn value_start(bytes: &[u8], at: usize) -> usize {
    let at = skip_blanks(bytes, at);
    skip_blanks(bytes, at + usize::from(bytes.get(at) == Some(&b':')))
}

/// Where the items of the list at `at` stand. None if there is no list.
pub(crate) fn items(text: &str, at: usize) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = skip_blanks(bytes, at);
    if bytes.get(at) != Some(&b'[') {
        return found;
    }
    at += 1;
    loop {
        at = skip_blanks(bytes, at);
        match bytes.get(at) {
            Some(b',') => at += 1,
            None | Some(b']') => return found,
            Some(_) => {
                let end = value_end(bytes, at);
                found.push(at..end);
                at = end;
            }
        }
    }
}

/// The text of a string in quotes; `None` if it holds half a surrogate pair.
pub(crate) fn decoded(quoted: &str) -> Option<Cow<'_, str>> {
    if quoted.contains('\\') {
        return serde_json::from_str(quoted).ok().map(Cow::Owned);
    }
    quoted.get(1..quoted.len().saturating_sub(1)).map(Cow::Borrowed)
}

/// The text of a string in quotes; what cannot be read of it (halves of surrogate pairs) as replacement characters.
pub(crate) fn readable(quoted: &str) -> Cow<'_, str> {
    decoded(quoted).unwrap_or_else(|| {
        let mut mended = String::with_capacity(quoted.len());
        let mut rest = quoted;
        while let Some(at) = rest.find('\\') {
            let unit = |at: usize| match rest.get(at..at + 2) {
                Some("\\u") => rest.get(at + 2..at + 6).and_then(|digits| u32::from_str_radix(digits, 16).ok()),
                _ => None,
            };
            let (length, good) = match (unit(at), unit(at + 6)) {
                (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => (12, true),
                (Some(0xD800..=0xDFFF), _) => (6, false),
                _ => (2, true),
            };
            let end = (at + length).min(rest.len());
            mended.push_str(&rest[..at]);
            mended.push_str(if good { rest.get(at..end).unwrap_or_default() } else { "\u{FFFD}" });
            rest = rest.get(end..).unwrap_or_default();
        }
        mended.push_str(rest);
        Cow::Owned(serde_json::from_str(&mended).unwrap_or(mended))
    })
}

/// A text as a JSON string.
pub(crate) fn encoded(text: &str) -> String {
    // Texts always serialise.
    serde_json::to_string(text).unwrap_or_default()
}

/// Puts texts in place of ranges. The ranges do not overlap; an empty one inserts.
pub(crate) fn replace(text: &str, mut changes: Vec<(Range<usize>, String)>) -> String {
    changes.sort_by_key(|(range, _)| range.start);
    let mut out = String::with_capacity(text.len() + changes.iter().map(|(_, new)| new.len()).sum::<usize>());
    let mut at = 0;
    for (range, new) in changes {
        out.push_str(text.get(at..range.start).unwrap_or_default());
        out.push_str(&new);
        at = at.max(range.end);
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests;
