//! Upstream text made fit for one line: invisible characters removed, cut to a sentence and a length (hermes §1.5).

/// Text from an upstream as one line: blanks and line breaks become single blanks; control, zero-width, bidirectional
/// and other invisible characters go. They could hide instructions from a person who reads the same text.
pub fn clean(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    let mut gap = false;
    for c in text.chars() {
        if is_blank(c) {
            gap = true;
        } else if !is_invisible(c) {
            if gap && !line.is_empty() {
                line.push(' ');
            }
            gap = false;
            line.push(c);
        }
    }
    line
}

/// The same removal of invisible characters from a text that may keep its lines.
pub fn clean_lines(text: &str) -> String {
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !is_invisible(*c)).collect()
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() || ('\u{1C}'..='\u{1F}').contains(&c)
}

/// Whether nothing is seen of a character, line breaks and tabs among them.
pub(crate) fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}'
            | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{3164}'
            | '\u{FE00}'..='\u{FE0E}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF9}'..='\u{FFFB}'
            // Tags and supplementary variation selectors can carry whole hidden texts.
            | '\u{E0000}'..='\u{E0FFF}' | '\u{1D173}'..='\u{1D17A}')
}

/// The first sentence of `text` on one line, at most `max` characters (plus an ellipsis when cut).
///
/// A sentence ends at `.`, `!` or `?` before a blank or the end of the text, not after a common abbreviation, and at
/// the fullwidth stops. Dots stay, other marks go. Marks with nothing before them do not end anything.
pub fn short_description(text: &str, max: usize) -> String {
    let line = collapse(text);
    clip(first_sentence(&line), max)
}

fn collapse(text: &str) -> String {
    text.split(is_blank).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The first sentence of a line without double blanks.
fn first_sentence(line: &str) -> &str {
    let is_mark = |c: char| matches!(c, '.' | '!' | '?');
    let mut from = 0;
    while let Some(found) = line[from..].find(|c| is_mark(c) || matches!(c, '。' | '！' | '？')) {
        let at = from + found;
        let mark = line[at..].chars().next().unwrap_or('.');
        // "..." and "?!" end one sentence, not several.
        let run = if is_mark(mark) { line[at..].find(|c| !is_mark(c)) } else { Some(mark.len_utf8()) };
        let after = run.map_or(line.len(), |run| at + run);
        let (before, rest) = (line[..at].trim_end(), &line[after..]);
        let closes = !is_mark(mark) || rest.is_empty() || rest.starts_with(' ');
        let nothing_before = !before.contains(|c: char| !is_mark(c) && c != ' ');
        if closes && !nothing_before && !(mark == '.' && is_abbreviation(before, rest)) {
            let keep = matches!(mark, '.' | '。');
            return if keep { &line[..at + mark.len_utf8()] } else { before };
        }
        from = after;
    }
    line
}

/// Whether the dot after `before` belongs to an abbreviation.
fn is_abbreviation(before: &str, rest: &str) -> bool {
    if rest.is_empty() {
        return false;
    }
    let word = before.rsplit(' ').next().unwrap_or_default().trim_start_matches(['(', '[', '"', '\'']);
    match word.to_lowercase().as_str() {
        "e.g" | "i.e" | "eg" | "ie" | "vs" | "cf" | "ca" | "approx" | "incl" | "excl" | "resp" | "mr" | "mrs"
        | "ms" | "dr" | "prof" | "st" | "fig" | "a.k.a" | "u.s" | "u.k" => true,
        // These also end sentences; a capital after them says so.
        "etc" | "inc" | "ltd" | "corp" | "no" | "max" | "min" => {
            rest.trim_start().starts_with(|c: char| !c.is_uppercase())
        }
        _ => false,
    }
}

/// At most `max` characters of `text`: cut at the last blank if there is one, trailing separators dropped, and marked
/// with an ellipsis.
pub fn clip(text: &str, max: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(max) else { return text.to_owned() };
    let head = &text[..end];
    let head = head.rfind(' ').map_or(head, |blank| &head[..blank]);
    format!("{}…", head.trim_end_matches([',', ';', ':', ' ']))
}

#[cfg(test)]
mod tests;
