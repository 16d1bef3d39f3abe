//! The vocabulary of software and office work in other languages, as far as a tool's English description can be found
//! with it: Spanish, French, German, Italian, Portuguese, Dutch, Polish, Turkish, Russian, Arabic, Chinese, Japanese, Korean.

use std::collections::HashMap;

use super::{
    tokenize::{folded, is_dense},
    vocabulary::{TermId, Vocabulary},
};

mod table;

use table::TABLE;

/// Words that say nothing, in the languages of the table. They are passed over unless the catalog has them.
#[rustfmt::skip]
const FOREIGN_STOP_WORDS: &[&str] = &[
    "ai", "al", "alla", "alle", "als", "am", "ao", "as", "au", "auf", "aus", "aux", "avec", "bei", "bir", "bitte",
    "bu", "che", "como", "con", "da", "dal", "dans", "das", "de", "dei", "del", "della", "dem", "den", "der", "des",
    "di", "die", "dla", "do", "dos", "du", "e", "een", "ein", "eine", "einem", "einen", "einer", "el", "em", "en",
    "es", "est", "et", "favor", "fur", "gli", "het", "ich", "icin", "il", "ile", "im", "ist", "je", "jest", "la",
    "las", "le", "les", "lo", "los", "ma", "me", "mein", "meine", "mes", "mi", "mir", "mis", "mit", "moj", "moja",
    "moje", "mon", "na", "nach", "nel", "nella", "no", "nos", "o", "os", "ou", "par", "para", "per", "por", "pour",
    "przez", "qu", "que", "quel", "quelle", "se", "seu", "sich", "sind", "sont", "su", "sur", "te", "tous", "tout",
    "toutes", "tu", "um", "uma", "un", "una", "und", "une", "uno", "unos", "van", "ve", "vom", "von", "voor", "w",
    "wie", "y", "z", "ze", "zu", "zum", "zur", "а", "в", "все", "для", "до", "и", "из", "к", "как", "мне", "мои",
    "мой", "на", "не", "о", "об", "от", "по", "с", "со", "что", "الى", "على", "عن", "في", "من",
];

/// Weight of a translation.
pub(super) const TRANSLATION_WEIGHT: f32 = 0.8;
/// Weight of each further English word of the same line, and of a word that stands for the first.
pub(super) const SECOND_WEIGHT: f32 = 0.4;
/// Longest key in a script without blanks, in letters.
const MAX_DENSE: usize = 12;
/// Shortest beginning that stands for a word, in letters.
pub(super) const MIN_PREFIX: usize = 2;
/// The same for a word among English ones: it shares so much with a foreign word only if it is a relative of it.
pub(super) const MIN_RELATED_PREFIX: usize = 7;

/// The table, in the terms of one vocabulary.
#[derive(Debug, Default)]
pub(super) struct Translations {
    /// English words and their terms by line.
    lines: Vec<Vec<(&'static str, TermId)>>,
    /// Keys are folded as the words of queries are.
    whole: HashMap<String, Vec<u16>>,
    beginnings: HashMap<String, Vec<u16>>,
}

impl Translations {
    /// Makes the table's English words known to the vocabulary.
    pub(super) fn new(vocabulary: &mut Vocabulary) -> Self {
        let mut table = Self::default();
        for line in TABLE.trim().lines() {
            let Some((english, foreign)) = line.split_once(" = ") else { continue };
            let number = table.lines.len() as u16;
            let mut known = |word: &'static str| {
                let new = vocabulary.describe(word);
                (word, vocabulary.add(&new))
            };
            table.lines.push(english.split(' ').map(&mut known).collect());
            for word in foreign.split(' ') {
                let (map, word) = match word.strip_suffix('*') {
                    Some(beginning) => (&mut table.beginnings, beginning),
                    None => (&mut table.whole, word),
                };
                map.entry(folded(word)).or_default().push(number);
            }
        }
        table
    }

    /// Whether the word only holds a sentence of another language together.
    pub(super) fn is_stop_word(word: &str) -> bool {
        FOREIGN_STOP_WORDS.binary_search(&word).is_ok()
    }

    /// The lines that translate a word: as it is, else by its longest known beginning of at least `least` letters.
    pub(super) fn of(&self, word: &str, least: usize) -> &[u16] {
        if let Some(lines) = self.whole.get(word) {
            return lines;
        }
        let ends = word.char_indices().map(|(at, letter)| at + letter.len_utf8()).skip(least.saturating_sub(1));
        let mut longest: &[u16] = &[];
        for end in ends {
            if let Some(lines) = self.beginnings.get(&word[..end]) {
                longest = lines;
            }
        }
        longest
    }

    /// English terms of a line that documents hold, with weights.
    pub(super) fn terms(&self, line: u16, held: impl Fn(TermId) -> bool) -> impl Iterator<Item = (TermId, f32)> {
        let terms = self.lines[line as usize].iter().map(|(_, term)| *term).filter(move |&term| held(term));
        terms.enumerate().map(|(at, term)| (term, if at == 0 { TRANSLATION_WEIGHT } else { SECOND_WEIGHT }))
    }

    /// The term of the English word that says best what a line is about.
    pub(super) fn term(&self, line: u16) -> Option<TermId> {
        self.lines[line as usize].first().map(|(_, term)| *term)
    }

    /// The English word that says best what a line is about.
    pub(super) fn english(&self, line: u16) -> &'static str {
        self.lines[line as usize].first().map_or("", |(word, _)| word)
    }

    /// Calls `f` with each known word inside of a text in a script without blanks: the longest first, none overlapping.
    pub(super) fn each_dense<'a>(&self, text: &'a str, mut f: impl FnMut(&'a str)) {
        let mut at = 0;
        while let Some(letter) = text[at..].chars().next() {
            let mut next = at + letter.len_utf8();
            if is_dense(letter) {
                let ends = text[at..].char_indices().map(|(from, letter)| at + from + letter.len_utf8());
                let known = |end: &usize| {
                    let word = &text[at..*end];
                    self.whole.contains_key(word) || self.beginnings.contains_key(word)
                };
                if let Some(end) = ends.take(MAX_DENSE).filter(known).last() {
                    f(&text[at..end]);
                    next = end;
                }
            }
            at = next;
        }
    }
}

#[cfg(test)]
mod tests;
