//! Words of a request that are likely to be values for the tool (names of people and places, titles, dates) and so say
//! little about which tool is meant. They are searched for like all others; only their absence counts less.

/// Sorted. When something is, in whatever calendar.
#[rustfmt::skip]
const TIME_WORDS: &[&str] = &[
    "afternoon", "april", "august", "current", "currently", "day", "days", "december", "evening", "february", "friday",
    "january", "july", "june", "last", "latest", "march", "may", "monday", "month", "months", "morning", "next", "night",
    "november", "october", "recent", "saturday", "september", "soon", "sunday", "thursday", "today", "tomorrow", "tonight",
    "tuesday", "upcoming", "wednesday", "week", "weekend", "weeks", "year", "years", "yesterday",
];
/// Sorted. What follows is a name, a title or a subject, not what a tool is.
const INTRODUCTIONS: &[&str] = &["about", "called", "mentioning", "named", "regarding", "titled"];
/// Fewest words of a text in which a capital letter tells something.
const MIN_WORDS: usize = 4;

/// Whether a token is a number or says when.
pub(super) fn is_time_or_number(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_digit()) || TIME_WORDS.binary_search(&token).is_ok()
}

/// How a word of a request is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// As any other.
    Plainly,
    /// Like a value: in quotation marks, or capitalised within a sentence.
    AsValue,
    /// As a subject: right after a word that introduces one.
    AsSubject,
}

/// Calls `f` with the pieces of `text` in order, each with how it is written.
pub(super) fn each_piece(text: &str, mut f: impl FnMut(&str, Written)) {
    let words = || text.split_whitespace();
    let capitals = words().filter(|word| is_capitalised(word)).count();
    let all = words().count();
    let capitals_tell = all >= MIN_WORDS && capitals * 2 < all;
    let mut quote: Option<char> = None;
    let mut sentence_start = true;
    let mut introduced = false;
    for word in words() {
        let opens = word.chars().next().filter(|&c| is_quote(c));
        let quoted = quote.is_some() || opens.is_some();
        quote = match quote.or(opens) {
            Some(open) if closes(word, open, quote.is_none()) => None,
            open => open,
        };
        f(
            word,
            match quoted || (capitals_tell && !sentence_start && is_capitalised(word)) {
                true => Written::AsValue,
                false if introduced => Written::AsSubject,
                false => Written::Plainly,
            },
        );
        introduced = INTRODUCTIONS.iter().any(|introduction| word.eq_ignore_ascii_case(introduction));
        sentence_start = word.ends_with(['.', '!', '?', ':', ';']);
    }
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`' | '“' | '‘' | '«')
}

/// Whether the word ends the quotation that `open` began, maybe itself.
fn closes(word: &str, open: char, same_word: bool) -> bool {
    let close = match open {
        '“' => '”',
        '‘' => '’',
        '«' => '»',
        other => other,
    };
    let rest = if same_word { &word[open.len_utf8()..] } else { word };
    rest.contains(close)
}

/// One capital, then no more: `Paris`, not `API` or `GitHub`.
fn is_capitalised(word: &str) -> bool {
    let mut letters = word.chars().filter(|c| c.is_alphabetic());
    letters.next().is_some_and(char::is_uppercase)
        && letters.clone().next().is_some()
        && letters.all(char::is_lowercase)
}

#[cfg(test)]
mod tests;
