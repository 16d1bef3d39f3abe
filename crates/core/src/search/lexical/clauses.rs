//! Where a long request falls into clauses, each of which may ask for a tool of its own.

use std::ops::Range;

/// Words that begin a new clause wherever they stand.
const STARTERS: &[&str] = &["additionally", "furthermore", "also", "moreover", "then", "finally", "next", "afterwards"];
/// Words that begin a new clause after a comma.
const AFTER_COMMA: &[&str] = &["and", "then", "also"];
/// Fewest words of a clause that counts.
const MIN_WORDS: usize = 3;
/// Most clauses; a longer text is not a request any more.
pub(super) const MAX_CLAUSES: usize = 8;

/// The pieces of `text` that together hold all of its words, each with whether it is a clause of its own. No piece is
/// marked unless there are two to [`MAX_CLAUSES`] clauses.
pub(super) fn split(text: &str) -> Vec<(Range<usize>, bool)> {
    let mut pieces: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    let mut cut = |start: &mut usize, end: usize, next: usize| {
        if *start < end {
            pieces.push(*start..end);
        }
        *start = next;
    };
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\n' => cut(&mut start, at, at + 1),
            b'.' | b'!' | b'?' | b';' if bytes.get(at + 1).is_some_and(u8::is_ascii_whitespace) => {
                cut(&mut start, at + 1, at + 1);
            }
            b',' if begins_with(text[at + 1..].trim_start(), AFTER_COMMA)
                && bytes.get(at + 1).is_some_and(u8::is_ascii_whitespace) =>
            {
                cut(&mut start, at, at + 1);
            }
            0xe3 | 0xef if ["。", "！", "？", "；"].iter().any(|stop| text[at..].starts_with(stop)) => {
                cut(&mut start, at, at + 3);
            }
            b if b.is_ascii_alphabetic()
                && (at == 0 || !is_word_byte(bytes[at - 1]))
                && begins_with(&text[at..], STARTERS) =>
            {
                cut(&mut start, at, at);
            }
            _ => {}
        }
        at += 1;
        while !text.is_char_boundary(at) {
            at += 1;
        }
    }
    cut(&mut start, bytes.len(), bytes.len());
    let clause = |piece: &Range<usize>| text[piece.clone()].split_whitespace().nth(MIN_WORDS - 1).is_some();
    let clauses = pieces.iter().filter(|piece| clause(piece)).count();
    let counted = (2..=MAX_CLAUSES).contains(&clauses);
    pieces.into_iter().map(|piece| (piece.clone(), counted && clause(&piece))).collect()
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Whether `text` begins with one of the words, in whatever case, as a whole word.
fn begins_with(text: &str, words: &[&str]) -> bool {
    let length = text.bytes().take_while(|byte| is_word_byte(*byte)).take(16).count();
    let Some(first) = text.get(..length) else { return false };
    words.iter().any(|word| first.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests;
