//! The words that entries are found by.

use std::{cmp::Reverse, collections::HashSet};

use rust_stemmers::{Algorithm, Stemmer};
use toolcrib_engine::store_tools::StoredEntry;

/// Most words of one text; the rest does not help to find it.
const MAX_WORDS: usize = 4_000;
/// Longest word, in characters.
const MAX_CHARS: usize = 48;

/// The words of a text: runs of letters and digits in lower case, English ones by their stems, scripts without spaces as
/// pairs of characters.
pub(super) fn words(text: &str) -> Vec<String> {
    let stemmer = Stemmer::create(Algorithm::English);
    let mut found = Vec::new();
    for run in text.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty()) {
        if found.len() >= MAX_WORDS {
            break;
        }
        let run: String = run.chars().take(MAX_CHARS).flat_map(char::to_lowercase).collect();
        if run.is_ascii() {
            found.push(stemmer.stem(&run).into_owned());
        } else if run.chars().any(is_ideograph) {
            let chars: Vec<char> = run.chars().collect();
            match chars.as_slice() {
                [one] => found.push(one.to_string()),
                many => found.extend(many.windows(2).map(|pair| pair.iter().collect::<String>())),
            }
        } else {
            // Lower case may bring marks that are no letters, such as the dot of İ.
            found.push(run.chars().filter(|c| c.is_alphanumeric()).collect());
        }
    }
    found.truncate(MAX_WORDS);
    found
}

/// The words of several texts as an entry store keeps them.
pub(super) fn kept<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut all: Vec<String> = texts.into_iter().flat_map(words).collect();
    all.truncate(MAX_WORDS);
    all.join(" ")
}

/// Chinese, Japanese and Korean, which put no spaces between words.
fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Orders what was found: most of the words asked for first, then most often, then last changed, then by key. `text` gives
/// what [`kept`] made of an entry.
pub(super) fn rank(
    found: Vec<StoredEntry>,
    asked: &[String],
    text: impl Fn(&StoredEntry) -> String,
) -> Vec<StoredEntry> {
    let asked: HashSet<&str> = asked.iter().map(String::as_str).collect();
    let mut ranked: Vec<_> = found
        .into_iter()
        .map(|entry| {
            let held = text(&entry);
            let hits: Vec<&str> = held.split(' ').filter(|word| asked.contains(word)).collect();
            let distinct = hits.iter().collect::<HashSet<_>>().len();
            ((Reverse(distinct), Reverse(hits.len()), Reverse(entry.updated_at_ms)), entry)
        })
        .collect();
    ranked.sort_by(|(left, a), (right, b)| left.cmp(right).then_with(|| a.key.cmp(&b.key)));
    ranked.into_iter().map(|(_, entry)| entry).collect()
}

#[cfg(test)]
mod tests {
    use super::words;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(words(text), expected, "{text}");
    }

    #[test]
    fn a_text_is_its_words() {
        check("", &[]);
        check("Meetings, meeting MEETS!", &["meet", "meet", "meet"]);
        check("snake_case v2.5", &["snake", "case", "v2", "5"]);
        check("Größe Éa", &["größe", "éa"]);
        check("日本語 の", &["日本", "本語", "の"]);
        check("İx", &["ix"]);
        check(&"a".repeat(100), &[&"a".repeat(48)]);
    }

    #[test]
    fn a_long_text_is_cut() {
        assert_eq!(words(&"b ".repeat(10_000)).len(), 4_000);
        assert_eq!(words(&"語".repeat(10_000)).len(), 47);
    }
}
