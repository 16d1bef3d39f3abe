//! Cleaning text of others before it is shown as part of ours (threat T14 of the security reference).

use unicode_normalization::char::is_combining_mark;

/// Combining marks on one character; languages need up to four or so.
const MARKS: usize = 8;
/// Longest payload of a terminal string (title, link) that is taken out with its frame.
const STRING: usize = 4_096;

/// Takes out what a terminal would obey and what a reader would not see: control characters except tab and line break,
/// terminal escape sequences, direction controls, invisible characters, the tag block, selector runs, and piles of
/// combining marks. Unicode line separators become line breaks. For descriptions, names and errors, not for results.
pub fn sanitize_text(text: &str) -> String {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\n')) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let (mut marks, mut after_selector) = (0, false);
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        rest = &rest[char.len_utf8()..];
        let is_selector = matches!(char, '\u{FE00}'..='\u{FE0F}');
        let repeated = is_selector && after_selector;
        after_selector = is_selector;
        match char {
            '\u{1B}' => rest = after_escape(rest),
            // The one-character forms of ESC [ and of the string openers.
            '\u{9B}' => rest = after_sequence(rest),
            '\u{90}' | '\u{98}' | '\u{9D}'..='\u{9F}' => rest = after_string(rest),
            '\u{2028}' | '\u{2029}' => out.push('\n'),
            '\t' | '\n' => out.push(char),
            _ if char.is_control() || is_invisible(char) || repeated => {}
            _ if is_combining_mark(char) && !is_selector => {
                marks += 1;
                if marks <= MARKS {
                    out.push(char);
                }
                continue;
            }
            _ => out.push(char),
        }
        marks = 0;
    }
    out
}

fn is_invisible(char: char) -> bool {
    matches!(char,
        // Direction controls.
        '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{206F}'
        // Zero width.
        | '\u{00AD}' | '\u{034F}' | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200D}' | '\u{2060}'..='\u{2065}'
        | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}'
        // Letters without ink.
        | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{2800}' | '\u{3164}' | '\u{FFA0}'
        // Tags and the supplementary selectors.
        | '\u{E0000}'..='\u{E0FFF}'
    )
}

/// What follows an escape sequence whose ESC was just read.
fn after_escape(rest: &str) -> &str {
    match rest.as_bytes().first() {
        Some(b'[') => after_sequence(&rest[1..]),
        Some(b']' | b'P' | b'X' | b'^' | b'_') => after_string(&rest[1..]),
        Some(b' '..=b'/') => {
            let end = rest.bytes().position(|byte| !(b' '..=b'/').contains(&byte)).unwrap_or(rest.len());
            let last = rest.as_bytes().get(end).is_some_and(|byte| (b'0'..=b'~').contains(byte));
            &rest[end + usize::from(last)..]
        }
        Some(b'0'..=b'~') => &rest[1..],
        _ => rest,
    }
}

/// What follows a control sequence whose `ESC [` was just read.
fn after_sequence(rest: &str) -> &str {
    let end = rest.bytes().position(|byte| !(b' '..=b'?').contains(&byte)).unwrap_or(rest.len());
    let last = rest.as_bytes().get(end).is_some_and(|byte| (b'@'..=b'~').contains(byte));
    &rest[end + usize::from(last)..]
}

/// What follows a terminal string whose opener was just read. One that is never closed hides nothing: only its opener
/// goes.
fn after_string(rest: &str) -> &str {
    for (at, char) in rest.char_indices().take(STRING) {
        match char {
            '\u{07}' | '\u{9C}' => return &rest[at + char.len_utf8()..],
            '\u{1B}' if rest[at + 1..].starts_with('\\') => return &rest[at + 2..],
            _ => {}
        }
    }
    rest
}
