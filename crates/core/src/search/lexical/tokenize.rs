//! From text to words: identifiers split where people would split them, letters of every script kept, accents folded.
//!
//! A word is a run of letters and digits. It is split at `aB` and `ABc` (so `createIssue`, `HTTPServer`; a plural acronym
//! like `PRs` stays whole), lower-cased and rid of its accents. A word of two or three parts is given once more in one
//! piece (`GitHub` is `git`, `hub` and `github`). Scripts that are written without blanks come as overlapping pairs of
//! letters.

use unicode_normalization::{
    UnicodeNormalization,
    char::{decompose_canonical, is_combining_mark},
};

/// Longest word in bytes; what exceeds it is dropped (a blob, not a word).
const MAX_WORD_BYTES: usize = 64;
/// Longest word in bytes that is also given in one piece.
const MAX_JOINED_BYTES: usize = 20;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A word or a part of one.
    Plain,
    /// All parts of a split word together, given after the parts.
    Joined,
}

/// Buffers of the tokenizer, reused from text to text.
#[derive(Debug, Default)]
pub(super) struct Tokenizer {
    word: String,
    lower: String,
    chars: Vec<char>,
}

impl Tokenizer {
    /// Calls `f` with each token of `text`.
    pub(super) fn each(&mut self, text: &str, mut f: impl FnMut(&str, TokenKind)) {
        if text.is_ascii() {
            for word in text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
                self.ascii_word(word, &mut f);
            }
        } else {
            self.unicode_text(text, &mut f);
        }
    }

    fn ascii_word(&mut self, word: &str, f: &mut impl FnMut(&str, TokenKind)) {
        if word.len() > MAX_WORD_BYTES {
            return;
        }
        self.lower.clear();
        self.lower.push_str(word);
        self.lower.make_ascii_lowercase();
        let bytes = word.as_bytes();
        let (mut start, mut parts) = (0, 0);
        for at in 1..bytes.len() {
            if bytes[at].is_ascii_uppercase() && splits_ascii(bytes, at) {
                f(&self.lower[start..at], TokenKind::Plain);
                (start, parts) = (at, parts + 1);
            }
        }
        f(&self.lower[start..], TokenKind::Plain);
        if (1..=2).contains(&parts) && word.len() <= MAX_JOINED_BYTES {
            f(&self.lower, TokenKind::Joined);
        }
    }

    fn unicode_text(&mut self, text: &str, f: &mut impl FnMut(&str, TokenKind)) {
        // Runs of one kind of script: a word may go straight from Latin letters into Han.
        let mut chars = std::mem::take(&mut self.chars);
        chars.clear();
        let mut dense = false;
        for c in text.nfkc() {
            let continues = c.is_alphanumeric();
            if !continues && (is_combining_mark(c) || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{feff}')) {
                continue;
            }
            if !chars.is_empty() && (!continues || is_dense(c) != dense) {
                self.unicode_run(&chars, dense, f);
                chars.clear();
            }
            if continues {
                dense = is_dense(c);
                chars.push(c);
            }
        }
        if !chars.is_empty() {
            self.unicode_run(&chars, dense, f);
        }
        self.chars = chars;
    }

    fn unicode_run(&mut self, run: &[char], dense: bool, f: &mut impl FnMut(&str, TokenKind)) {
        if dense {
            for pair in run.windows(2.min(run.len()).max(1)) {
                self.lower.clear();
                self.lower.extend(pair);
                f(&self.lower, TokenKind::Plain);
            }
            return;
        }
        let mut word = std::mem::take(&mut self.word);
        word.clear();
        for &c in run {
            fold(c, &mut word);
        }
        if word.is_ascii() {
            self.ascii_word(&word, f);
        } else if word.len() <= 2 * MAX_WORD_BYTES {
            self.lower.clear();
            let (mut before, mut start, mut parts) = (None, 0, 0);
            for c in word.chars() {
                if c.is_uppercase() && before.is_some_and(|b: char| b.is_lowercase() || b.is_numeric()) {
                    f(&self.lower[start..], TokenKind::Plain);
                    (start, parts) = (self.lower.len(), parts + 1);
                }
                self.lower.extend(c.to_lowercase());
                before = Some(c);
            }
            f(&self.lower[start..], TokenKind::Plain);
            if (1..=2).contains(&parts) && self.lower.len() <= 2 * MAX_JOINED_BYTES {
                f(&self.lower, TokenKind::Joined);
            }
        }
        self.word = word;
    }
}

/// Whether a word is split before its capital at `at` (> 0).
fn splits_ascii(word: &[u8], at: usize) -> bool {
    if !word[at - 1].is_ascii_uppercase() {
        return true;
    }
    // The last capital of a row begins a word, unless the row is an acronym with a plural s.
    let Some(next) = word.get(at + 1) else { return false };
    let plural = *next == b's' && word.get(at + 2).is_none_or(|after| !after.is_ascii_lowercase());
    next.is_ascii_lowercase() && !plural
}

/// Whether `c` belongs to a script that is written without blanks between words.
pub(super) fn is_dense(c: char) -> bool {
    matches!(c,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Whether a token comes from a script that is written without blanks: a pair of letters rather than a word.
pub(super) fn is_dense_pair(token: &str) -> bool {
    token.chars().next().is_some_and(is_dense)
}

/// A word in lower case as the tokenizer gives it: without accents, unless its script is written without blanks.
pub(super) fn folded(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    word.nfkc().for_each(|c| if is_dense(c) { out.push(c) } else { fold(c, &mut out) });
    out
}

/// Appends `c` without its accents, letter case kept; letters that do not decompose are spelt the usual way.
fn fold(c: char, out: &mut String) {
    if c.is_ascii() {
        return out.push(c);
    }
    let spelt = match c {
        'ß' => "ss",
        'æ' => "ae",
        'Æ' => "Ae",
        'œ' => "oe",
        'Œ' => "Oe",
        'ø' => "o",
        'Ø' => "O",
        'đ' | 'ð' => "d",
        'Đ' | 'Ð' => "D",
        'ł' => "l",
        'Ł' => "L",
        'ı' => "i",
        'þ' => "th",
        'Þ' => "Th",
        _ => "",
    };
    if spelt.is_empty() {
        let mut letter = true;
        decompose_canonical(c, |part| {
            if letter || !is_combining_mark(part) {
                out.push(part);
            }
            letter = false;
        });
    } else {
        out.push_str(spelt);
    }
}

#[cfg(test)]
mod tests;
