//! Forms of secrets for a person who decides: single tokens. Quotes, blanks, line ends and whatever else means something
//! to a shell are never part of what is found.

use std::ops::Range;

use super::{Patterns, has_digit, is_random};
use crate::redact::names::Names;

/// Shortest line of a private key that is hidden, in characters.
const KEY_LINE: usize = 16;
/// Shortest credentials behind a scheme.
const CREDENTIALS: usize = 8;
/// Words before the credentials in a header.
const SCHEMES: [&str; 6] = ["basic", "bearer", "token", "digest", "apikey", "negotiate"];

impl Patterns {
    /// Adds where secrets stand that their form or the name before them tells.
    pub(in crate::redact) fn find_for_person(&self, text: &str, names: &Names, found: &mut Vec<Range<usize>>) {
        let first = found.len();
        let group = |captures: regex::Captures<'_>| captures.get(1).map(|group| group.range());
        found.extend(self.tokens.find_iter(text).map(|hit| hit.range()).filter(|hit| has_digit(&text[hit.clone()])));
        found.extend(self.bearer.captures_iter(text).filter_map(group).filter(|hit| is_random(&text[hit.clone()])));
        found.extend(self.url.captures_iter(text).filter_map(group));
        if text.contains("PRIVATE KEY") {
            self.pem.find_iter(text).for_each(|hit| key_lines(text, hit.range(), found));
        }
        self.each_named(text, names, value_at, found);
        let mut at = 0;
        found.retain(|range| {
            at += 1;
            at <= first || is_token(&text[range.clone()])
        });
    }
}

/// The lines of a key that are nothing but encoded bytes.
fn key_lines(text: &str, frame: Range<usize>, found: &mut Vec<Range<usize>>) {
    let mut start = frame.start;
    for line in text[frame].split('\n') {
        let bare = line.trim_end_matches('\r');
        if bare.len() >= KEY_LINE && bare.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)) {
            found.push(start..start + bare.len());
        }
        start += line.len() + 1;
    }
}

/// The token that begins behind a name: no more than a run of signs that mean nothing to a shell.
fn value_at(text: &str, at: usize, name: &str, sign: &str, spaced: bool) -> Range<usize> {
    let unescaped = text[at..].trim_start_matches('\\');
    let value = unescaped.strip_prefix(['"', '\'']).unwrap_or(unescaped);
    let quoted = value.len() < unescaped.len();
    let mut start = text.len() - value.len();
    let mut run = run(value);
    let lower = name.to_ascii_lowercase();
    if SCHEMES.contains(&run.to_ascii_lowercase().as_str()) {
        // The word is shown; what follows it are the credentials.
        let rest = value[run.len()..].trim_start_matches(' ');
        start = text.len() - rest.len();
        run = self::run(rest);
        return if run.len() >= CREDENTIALS && is_random(run) { start..start + run.len() } else { start..start };
    }
    // Prose, and the names of files and programs.
    let weak = lower.ends_with("token") || lower.ends_with("auth") || lower.ends_with("authorization");
    let doubtful = run.contains('/') || !quoted && (spaced || weak && sign == ":");
    // What goes on with a pipe or a substitution is an expression, and so is what begins like a path or an option.
    let expression =
        value[run.len()..].starts_with(['$', '`', '(', '|', '<', '>']) || run.starts_with(['/', '.', '~', '-']);
    let hidden = !expression && (!doubtful || is_random(run) && has_digit(run));
    if hidden { start..start + run.len() } else { start..start }
}

fn run(text: &str) -> &str {
    &text[..text.find(|char: char| !is_plain(char)).unwrap_or(text.len())]
}

fn is_plain(char: char) -> bool {
    char.is_ascii_alphanumeric() || "_-.+/=~".contains(char)
}

/// Whether a text is all plain signs; a percent sign counts where two digits follow it, as in addresses.
fn is_token(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_hexdigit);
    text.char_indices().all(|(at, char)| is_plain(char) || char == '%' && digit(at + 1) && digit(at + 2))
}
