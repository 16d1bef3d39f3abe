//! The words that labels are made of (namespaces, categories, tags): what may stand in one, and when two are one. The case
//! of letters does not count anywhere: not in labels, selectors, filters, ids of categories or names of groups.

use std::{
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
    sync::Arc,
};

use serde::{Serialize, Serializer};

use crate::disclosure::clip;

/// Most characters of a word.
pub const MAX_WORD: usize = 64;

/// What nothing is seen of, in order: control and format characters, every blank but the plain space, what picks variants or
/// fills a place for a letter, and what no font has. Letters, numbers, marks, punctuation and symbols that show are not in it.
pub const HIDDEN: [(char, char); 32] = [
    ('\u{0}', '\u{1F}'),
    ('\u{7F}', '\u{A0}'),
    ('\u{AD}', '\u{AD}'),
    ('\u{34F}', '\u{34F}'),
    ('\u{61C}', '\u{61C}'),
    ('\u{115F}', '\u{1160}'),
    ('\u{1680}', '\u{1680}'),
    ('\u{17B4}', '\u{17B5}'),
    ('\u{180B}', '\u{180F}'),
    ('\u{2000}', '\u{200F}'),
    ('\u{2028}', '\u{202F}'),
    ('\u{205F}', '\u{206F}'),
    ('\u{2800}', '\u{2800}'),
    ('\u{3000}', '\u{3000}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{E000}', '\u{F8FF}'),
    ('\u{FDD0}', '\u{FDEF}'),
    ('\u{FE00}', '\u{FE0F}'),
    ('\u{FEFF}', '\u{FEFF}'),
    ('\u{FFA0}', '\u{FFA0}'),
    ('\u{FFF0}', '\u{FFFB}'),
    ('\u{FFFE}', '\u{FFFF}'),
    ('\u{13430}', '\u{1343F}'),
    ('\u{13441}', '\u{13442}'),
    ('\u{16FE4}', '\u{16FE4}'),
    ('\u{1BCA0}', '\u{1BCA3}'),
    ('\u{1D159}', '\u{1D159}'),
    ('\u{1D173}', '\u{1D17A}'),
    ('\u{1FFFE}', '\u{1FFFF}'),
    ('\u{2FFFE}', '\u{2FFFF}'),
    ('\u{3FFFE}', '\u{3FFFF}'),
    // Planes of nothing, of tags and of private use.
    ('\u{40000}', '\u{10FFFF}'),
];

/// A text that cannot be a label.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadWord {
    /// Nothing in it.
    #[error("it is empty; write a word")]
    Empty,
    /// Blanks at an end, which nobody sees in a list.
    #[error("it has blanks around it; leave them out")]
    Blanks,
    /// Too long for listings.
    #[error("it is longer than {MAX_WORD} characters; shorten it")]
    Long,
    /// A comma: lists of tags are written with them.
    #[error("it holds a comma; write two words")]
    Comma,
    /// A blank that is not the plain space, which looks like it.
    #[error("it holds the blank U+{:04X}; write a plain space", u32::from(*.0))]
    OtherBlank(char),
    /// A character that does not show, or that changes the direction of what stands beside it: two labels that look alike
    /// would be two.
    #[error("it holds the invisible character U+{:04X}; take that out", u32::from(*.0))]
    Invisible(char),
}

/// Whether a text can be a label.
///
/// # Errors
/// What is wrong with it, and how to mend it.
pub fn check(text: &str) -> Result<(), BadWord> {
    visible(text)?;
    if text.trim() != text {
        return Err(if text.trim().is_empty() { BadWord::Empty } else { BadWord::Blanks });
    }
    match text {
        "" => Err(BadWord::Empty),
        _ if text.chars().count() > MAX_WORD => Err(BadWord::Long),
        _ if text.contains(',') => Err(BadWord::Comma),
        _ => Ok(()),
    }
}

/// Whether all of a text is seen.
pub(crate) fn visible(text: &str) -> Result<(), BadWord> {
    match text.chars().find(|letter| is_hidden(*letter)) {
        None => Ok(()),
        Some(blank) if blank.is_whitespace() && !blank.is_control() => Err(BadWord::OtherBlank(blank)),
        Some(letter) => Err(BadWord::Invisible(letter)),
    }
}

/// Whether nothing is seen of a character, in a label ([`HIDDEN`]).
pub fn is_hidden(letter: char) -> bool {
    if letter.is_ascii() {
        return letter.is_ascii_control();
    }
    let at = HIDDEN.partition_point(|(_, last)| *last < letter);
    HIDDEN.get(at).is_some_and(|(first, _)| *first <= letter)
}

/// The text for a message about it: short, and without what made it unusable.
pub fn shown(text: &str) -> String {
    clip(&crate::disclosure::clean(text), 80)
}

/// Whether two words are one.
pub fn same(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b) || !(a.is_ascii() && b.is_ascii()) && compare(a, b).is_eq()
}

/// The order of words, by which those that are one are equal.
pub fn compare(a: &str, b: &str) -> Ordering {
    letters(a).cmp(letters(b))
}

fn letters(text: &str) -> impl Iterator<Item = char> {
    text.chars().flat_map(char::to_lowercase)
}

/// The spelling by which words are looked up.
pub(crate) fn folded(text: &str) -> String {
    letters(text).collect()
}

/// A word as it was written; one with any other word that differs in the case of letters only.
#[derive(Clone, Debug)]
pub struct Word(Arc<str>);

impl Word {
    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Word {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<Arc<str>> for Word {
    fn from(text: Arc<str>) -> Self {
        Self(text)
    }
}

impl PartialEq for Word {
    fn eq(&self, other: &Self) -> bool {
        same(&self.0, &other.0)
    }
}

impl Eq for Word {}

impl PartialOrd for Word {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Word {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(&self.0, &other.0)
    }
}

impl Hash for Word {
    fn hash<H: Hasher>(&self, state: &mut H) {
        letters(&self.0).for_each(|letter| letter.hash(state));
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Word {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

#[cfg(test)]
mod tests;
