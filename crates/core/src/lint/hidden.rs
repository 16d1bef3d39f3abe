//! Characters that nobody sees (threat T14).

use std::collections::BTreeMap;

use super::{Code, Findings};
use crate::disclosure::{clean, clip, is_invisible};

/// Most tags of a flag: six letters and digits and the end.
const FLAG_TAGS: usize = 7;
/// Most kinds of characters named in one finding.
const NAMED: usize = 4;

pub(super) fn check(tool: &impl ToString, place: &str, text: &str, findings: &mut Findings) {
    // Nearly all texts; printable ASCII hides nothing.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t')) {
        return;
    }
    let chars: Vec<char> = text.chars().collect();
    let right_to_left = chars.iter().any(|c| is_right_to_left(*c));
    let mut kinds: BTreeMap<char, usize> = BTreeMap::new();
    let mut tags = String::new();
    // The character before a run of tags, and how many of the run came.
    let mut run = (None, 0);
    for (at, &c) in chars.iter().enumerate() {
        let tag = ('\u{E0000}'..='\u{E007F}').contains(&c);
        run = if tag { (run.0, run.1 + 1) } else { (Some(c), 0) };
        if matches!(c, '\n' | '\r' | '\t') || !is_invisible(c) {
            continue;
        }
        // Flags of regions are spelled with a few tags after a black flag.
        if tag && run.0 == Some('\u{1F3F4}') && run.1 <= FLAG_TAGS {
            continue;
        }
        let before = at.checked_sub(1).map(|before| chars[before]);
        let after = chars.get(at + 1).copied();
        if is_meant(c, before, after, right_to_left) || (at == 0 && c == '\u{FEFF}') {
            continue;
        }
        *kinds.entry(c).or_default() += 1;
        // Tag characters mirror ASCII.
        if ('\u{E0020}'..='\u{E007E}').contains(&c) {
            tags.extend(char::from_u32(c as u32 - 0xE0000));
        }
    }
    if kinds.is_empty() {
        return;
    }
    let total: usize = kinds.values().sum();
    let named: Vec<String> =
        kinds.iter().take(NAMED).map(|(c, count)| format!("U+{:04X} ×{count}", *c as u32)).collect();
    let spelled = if tags.is_empty() { String::new() } else { format!(", which spell '{}'", clip(&clean(&tags), 80)) };
    let message = format!("holds {total} hidden characters ({}){spelled}", named.join(", "));
    findings.add(Code::HiddenCharacters, tool, place, message, text);
}

/// Whether an invisible character does what it is there for: joining emoji, shaping letters, turning direction.
fn is_meant(c: char, before: Option<char>, after: Option<char>, right_to_left: bool) -> bool {
    let letter = |c: Option<char>| c.is_some_and(|c| c.is_alphabetic() && !c.is_ascii());
    let pictured = |c: Option<char>| c.is_some_and(is_pictured);
    match c {
        '\u{200D}' => (pictured(before) && pictured(after)) || (letter(before) && letter(after)),
        '\u{200C}' => letter(before) && letter(after),
        '\u{200E}' | '\u{200F}' | '\u{61C}' => right_to_left,
        '\u{FE0E}' => pictured(before) || before.is_some_and(|c| matches!(c, '0'..='9' | '#' | '*')),
        _ => false,
    }
}

fn is_pictured(c: char) -> bool {
    matches!(c, '\u{FE0F}' | '\u{2190}'..='\u{2BFF}' | '\u{3030}' | '\u{303D}' | '\u{1F000}'..='\u{1FBFF}')
}

fn is_right_to_left(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{8FF}' | '\u{FB1D}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFC}')
}
