//! Where a request asks for several things to be done one after the other.
//!
//! A step is a piece of the text that begins like a demand (a verb of doing, maybe after a courtesy) or that a word such
//! as `then` announces. Sentences that only tell something are part of the step before them.

use std::ops::Range;

/// Most steps; a longer text is a document, not a request.
const MAX_STEPS: usize = 6;
/// Longest text in bytes that is taken apart.
const MAX_BYTES: usize = 2_000;
/// Fewest words of a step.
const MIN_WORDS: usize = 2;

/// Sorted. What people ask tools to do.
#[rustfmt::skip]
const VERBS: &[&str] = &[
    "add", "analyze", "append", "apply", "approve", "archive", "ask", "assign", "attach", "book", "build", "buy",
    "calculate", "call", "cancel", "change", "check", "clean", "clear", "click", "clone", "close", "comment", "commit",
    "compare", "compress", "compute", "convert", "copy", "count", "create", "delete", "deploy", "describe", "disable",
    "display", "download", "draft", "draw", "edit", "email", "enable", "execute", "export", "extract", "fetch", "file",
    "fill", "filter", "find", "fix", "fork", "format", "generate", "get", "import", "insert", "install", "invite", "list",
    "locate", "log", "look", "mail", "make", "mark", "merge", "message", "move", "navigate", "notify", "open", "order",
    "pause", "pay", "play", "plot", "post", "print", "publish", "pull", "push", "put", "query", "read", "record",
    "register", "remind", "remove", "rename", "render", "reply", "report", "reserve", "resize", "restart", "retrieve",
    "review", "run", "save", "schedule", "search", "send", "set", "share", "show", "sort", "start", "stop", "store",
    "submit", "summarise", "summarize", "sync", "take", "tell", "test", "track", "transfer", "translate", "turn",
    "update", "upload", "validate", "verify", "view", "write",
];
/// Words before the verb that only make it polite, or that lead from one step to the next.
#[rustfmt::skip]
const LEAD: &[&str] = &[
    "after", "also", "and", "can", "could", "finally", "first", "i", "i'd", "like", "me", "need", "next", "now", "please",
    "second", "that", "then", "third", "to", "us", "want", "would", "you",
];
/// Words that announce another step wherever they stand.
#[rustfmt::skip]
const ANNOUNCE: &[&str] = &[
    "then", "afterwards", "subsequently", "finally", "->", "=>", "→",
    "luego", "después", "entonces", "ensuite", "puis", "danach", "anschließend", "depois", "poi", "dopo", "затем", "потом",
];
/// The same in scripts without blanks.
const DENSE: &[&str] = &["然后", "接着", "然後", "接著", "その後", "それから", "그리고 나서", "그다음"];

/// The steps of a request, in order; empty unless there are two to [`MAX_STEPS`].
pub(super) fn split(text: &str) -> Vec<&str> {
    // Nearly all queries are a few words that ask for one thing.
    if text.len() > MAX_BYTES || text.contains('+') {
        return Vec::new();
    }
    let mut pieces = Vec::new();
    for part in split_dense(text) {
        split_words(text, part, &mut pieces);
    }
    if (2..=MAX_STEPS).contains(&pieces.len()) {
        pieces
            .into_iter()
            .map(|piece| text[piece].trim_matches(|c: char| c.is_whitespace() || ",;.".contains(c)))
            .collect()
    } else {
        Vec::new()
    }
}

/// Cuts at words of scripts without blanks.
fn split_dense(text: &str) -> Vec<Range<usize>> {
    let mut cuts: Vec<(usize, usize)> = if text.is_ascii() { &[][..] } else { DENSE }
        .iter()
        .flat_map(|word| text.match_indices(word).map(|(at, word)| (at, at + word.len())))
        .collect();
    cuts.sort_unstable();
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, end) in cuts {
        if at > start {
            parts.push(start..at);
        }
        start = start.max(end);
    }
    parts.push(start..text.len());
    parts
}

/// Adds the steps of one part of the text.
fn split_words(text: &str, part: Range<usize>, pieces: &mut Vec<Range<usize>>) {
    let base = part.start;
    let words: Vec<(usize, &str)> = text[part.clone()]
        .split_whitespace()
        .map(|word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
        .collect();
    if words.is_empty() {
        return;
    }
    // The start of the step under way, and how many words it has so far.
    let mut at = usize::from(list_mark(words[0].1) && words.len() > 1);
    let mut start = if at > 0 { words[at].0 } else { base };
    let mut count = 0;
    while at < words.len() {
        if count >= MIN_WORDS
            && let Some(from) = next_step(&words, at)
        {
            pieces.push(start..words[at].0);
            start = words.get(from).map_or(part.end, |word| word.0);
            (at, count) = (from, 0);
            continue;
        }
        count += 1;
        at += 1;
    }
    let dense = || text[start..part.end].chars().filter(|c| !c.is_ascii() && c.is_alphanumeric()).nth(2).is_some();
    if count >= MIN_WORDS || (count > 0 && dense()) {
        pieces.push(start..part.end);
    } else if let Some(last) = pieces.last_mut() {
        last.end = part.end;
    }
}

/// If another step begins at word `at`: the first word that belongs to it.
fn next_step(words: &[(usize, &str)], at: usize) -> Option<usize> {
    let plain = |at: usize| words.get(at).map(|(_, word)| plain(word)).unwrap_or_default();
    let before = at.checked_sub(1).map(|at| words[at].1).unwrap_or_default();
    let breaks = before.ends_with([',', ';', '.', '!', '?', '。', '，', '；']);
    let first = words[at].1;
    let breaks = breaks || list_mark(first);
    if !breaks && !first.eq_ignore_ascii_case("and") && !ANNOUNCE.contains(&plain(at).as_str()) {
        return None;
    }
    // Over "and then please": to the first word that says something.
    let mut from = at;
    let mut announced = false;
    while from < words.len() && from < at + 5 {
        let word = plain(from);
        announced |= ANNOUNCE.contains(&word.as_str());
        let lead = word.is_empty()
            || LEAD.contains(&word.as_str())
            || ANNOUNCE.contains(&word.as_str())
            || (breaks && list_mark(words[from].1));
        if !lead {
            break;
        }
        from += 1;
    }
    let said = words.len() > from + 1;
    if announced && said {
        return Some(from);
    }
    let begins = breaks || from > at;
    (begins && said && VERBS.binary_search(&plain(from).as_str()).is_ok()).then_some(from)
}

/// `2.`, `3)`, `-`
fn list_mark(word: &str) -> bool {
    word == "-" || (word.len() <= 3 && word.ends_with(['.', ')']) && word.starts_with(|c: char| c.is_ascii_digit()))
}

fn plain(word: &str) -> String {
    let trimmed = word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '>' | '=' | '→'));
    trimmed.to_lowercase()
}

#[cfg(test)]
mod tests;
