//! Values that are known to be secret, in whatever encoding they turn up.

use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};

use super::encoding::{self, View};

/// Shortest value that is looked for, in characters.
const SHORTEST: usize = 8;
/// Shortest line of a value of several lines that is looked for by itself, in characters.
const LINE: usize = 24;
/// Encodings one within the other that are looked through.
const NESTED: usize = 4;
/// Bytes of text that are decoded at once, so that a huge result costs time but no memory.
const AT_ONCE: usize = 256 * 1024;
/// Bytes that a byte of a secret may take when encoded twice; what lies across two pieces of text is found up to here.
const ENCODED: usize = 12;

/// The search for known values.
pub(super) struct Known {
    search: Option<AhoCorasick>,
    /// By pattern: whether it is base64, where a neighbouring character holds bits of the secret.
    base64: Vec<bool>,
    /// Whether none of the forms holds a character that JSON escapes with a letter or a quote.
    unescaped: bool,
    values: usize,
    longest: usize,
}

impl Known {
    /// `None` if the search cannot be built.
    pub(super) fn new(values: &[String]) -> Option<Self> {
        let mut secrets: Vec<&str> = values
            .iter()
            .flat_map(|value| {
                let lines = value.lines().filter(|line| line.chars().count() >= LINE && !line.starts_with("-----"));
                lines.chain([value.as_str()])
            })
            .map(str::trim)
            .filter(|secret| secret.chars().count() >= SHORTEST)
            .collect();
        secrets.sort_unstable();
        secrets.dedup();
        let mut forms: Vec<(String, bool)> = Vec::new();
        for secret in &secrets {
            forms.push(((*secret).to_owned(), false));
            if secret.contains(' ') {
                forms.push((secret.replace(' ', "+"), false));
            }
            forms.extend(encoding::hex_forms(secret.as_bytes()).map(|form| (form, false)));
            forms.extend(encoding::base64_forms(secret.as_bytes()).into_iter().map(|form| (form, true)));
        }
        let build = || AhoCorasick::builder().match_kind(MatchKind::Standard).build(forms.iter().map(|(form, _)| form));
        let search = if forms.is_empty() { None } else { Some(build().ok()?) };
        Some(Self {
            search,
            base64: forms.iter().map(|(_, base64)| *base64).collect(),
            unescaped: forms.iter().all(|(form, _)| !form.contains(|c: char| c.is_control() || c == '"')),
            values: secrets.len(),
            longest: forms.iter().map(|(form, _)| form.len()).max().unwrap_or(0),
        })
    }

    pub(super) fn len(&self) -> usize {
        self.values
    }

    /// Whether a JSON text, read as JSON, certainly holds no known value, and no number long enough to have the form of a
    /// secret. One pass: nearly all results need no closer look.
    pub(super) fn surely_not_in_json(&self, json: &str) -> bool {
        let Some(search) = &self.search else { return false };
        let bytes = json.as_bytes();
        let (mut at, mut digits) = (0, 0);
        while let Some(&byte) = bytes.get(at) {
            digits = if matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E') { digits + 1 } else { 0 };
            let escape = bytes.get(at + 1);
            match byte {
                // What such an escape stands for belongs to no known value, so none reaches across it, and without other
                // escapes everything beside it stands there as it is.
                b'\\' if self.unescaped && matches!(escape, Some(b'n' | b't' | b'r' | b'b' | b'f' | b'"')) => at += 1,
                b'\\' | b'%' => return false,
                _ if digits >= super::raw::NUMBER => return false,
                _ => {}
            }
            at += 1;
        }
        !search.is_match(json)
    }

    /// Adds where known values stand in a text.
    pub(super) fn find(&self, text: &str, found: &mut Vec<Range<usize>>) {
        let Some(search) = &self.search else { return };
        self.hits(search, text.as_bytes(), &mut |range| found.push(range));
        let mut start = 0;
        while start < text.len() {
            let next = boundary(text, start + AT_ONCE);
            let piece = &text[start..boundary(text, next + ENCODED * self.longest)];
            let mut within = Vec::new();
            for decode in [encoding::percent, encoding::unescape] {
                if let Some(view) = decode(piece.as_bytes()) {
                    self.views(search, &view, 1, piece, &mut within);
                }
            }
            found.extend(within.into_iter().map(|range| start + range.start..start + range.end));
            start = next;
        }
    }

    fn views(&self, search: &AhoCorasick, view: &View, depth: usize, text: &str, found: &mut Vec<Range<usize>>) {
        self.hits(search, &view.bytes, &mut |range| {
            let (mut start, mut end) = (view.places[range.start], view.places[range.end]);
            // What is decoded begins and ends with a character; a cut within one would be a fault here, not there.
            while !text.is_char_boundary(start) {
                start -= 1;
            }
            while !text.is_char_boundary(end) {
                end += 1;
            }
            found.push(start..end);
        });
        if depth < NESTED {
            for decode in [encoding::percent, encoding::unescape] {
                if let Some(view) = view.then(decode) {
                    self.views(search, &view, depth + 1, text, found);
                }
            }
        }
    }

    fn hits(&self, search: &AhoCorasick, bytes: &[u8], add: &mut dyn FnMut(Range<usize>)) {
        for hit in search.find_overlapping_iter(bytes) {
            let (mut start, mut end) = (hit.start(), hit.end());
            if self.base64[hit.pattern().as_usize()] {
                let digit = |at: usize| {
                    bytes
                        .get(at)
                        .is_some_and(|&byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_'))
                };
                start -= usize::from(start > 0 && digit(start - 1));
                end += usize::from(digit(end));
                end += bytes[end..].iter().take(2).take_while(|byte| **byte == b'=').count();
            }
            add(start..end);
        }
    }
}

/// The first end of a character from there on.
fn boundary(text: &str, at: usize) -> usize {
    (at..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}
