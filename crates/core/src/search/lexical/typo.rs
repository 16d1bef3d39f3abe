//! Words of the catalog near a word that it lacks: one edit away, or begun by it.

use super::vocabulary::{STOP, TermId, Vocabulary};

/// Shortest word that is repaired.
const MIN_CHARS: usize = 4;
/// Longest word that is repaired, in bytes.
const MAX_BYTES: usize = 32;
/// Most repairs of one word.
const MAX_REPAIRS: usize = 4;
/// Most catalog words that a cut-off word is taken for; a beginning of more words than that means nothing.
const MAX_COMPLETIONS: usize = 12;
/// Weight of a word one edit away.
const TYPO_WEIGHT: f32 = 0.8;
/// The same for a word of at most [`SHORT_WORD`] letters.
const SHORT_TYPO_WEIGHT: f32 = 0.6;
/// Most letters of a short word.
const SHORT_WORD: usize = 5;
/// Weight of a word that the query's word begins, or that begins the query's word.
pub(super) const PREFIX_WEIGHT: f32 = 0.5;

/// Finds near words through their deletion neighbourhoods: two words are one edit apart only if a form of the one with at
/// most one letter left out equals such a form of the other.
#[derive(Debug, Default)]
pub(super) struct NearWords {
    /// Words in order.
    words: Vec<(std::sync::Arc<str>, TermId)>,
    /// Hash of a form and the number of its word, in order.
    forms: Vec<(u32, u32)>,
}

impl NearWords {
    pub(super) fn new(vocabulary: &Vocabulary) -> Self {
        let mut words: Vec<_> = vocabulary
            .words()
            .filter(|(word, term)| *term != STOP && repairable(word))
            .map(|(word, term)| (std::sync::Arc::clone(word), term))
            .collect();
        words.sort_unstable();
        let mut forms = Vec::with_capacity(words.len() * 9);
        for (number, (word, _)) in words.iter().enumerate() {
            each_form(word, |hash| forms.push((hash, number as u32)));
        }
        forms.sort_unstable();
        Self { words, forms }
    }

    /// Calls `f` with the terms of words one edit away from `word`, in the order of the words. The first letter is taken
    /// to be right, unless it is swapped with the second: people seldom slip there, and other words differ there often.
    pub(super) fn each_repair(&self, word: &str, mut f: impl FnMut(TermId)) {
        if !repairable(word) {
            return;
        }
        let mut candidates = Vec::new();
        each_form(word, |hash| {
            let from = self.forms.partition_point(|(form, _)| *form < hash);
            candidates.extend(self.forms[from..].iter().take_while(|(form, _)| *form == hash).map(|(_, word)| *word));
        });
        candidates.sort_unstable();
        candidates.dedup();
        let near = candidates.into_iter().filter(|&number| one_edit(word, &self.words[number as usize].0));
        for number in near.take(MAX_REPAIRS) {
            f(self.words[number as usize].1);
        }
    }

    /// Calls `f` with the terms of words that `word` begins, unless they are too many.
    pub(super) fn each_completion(&self, word: &str, mut f: impl FnMut(TermId)) {
        if !repairable(word) {
            return;
        }
        let from = self.words.partition_point(|(other, _)| **other < *word);
        let begun = self.words[from..].iter().take_while(|(other, _)| other.starts_with(word));
        let begun: Vec<TermId> = begun.take(MAX_COMPLETIONS + 1).map(|(_, term)| *term).collect();
        if begun.len() <= MAX_COMPLETIONS {
            begun.into_iter().for_each(&mut f);
        }
    }
}

fn repairable(word: &str) -> bool {
    (MIN_CHARS..=MAX_BYTES).contains(&word.len())
        && word.chars().nth(MIN_CHARS - 1).is_some()
        && word.chars().all(char::is_alphabetic)
}

/// Hashes of the word itself and of the word without each of its letters.
fn each_form(word: &str, mut f: impl FnMut(u32)) {
    f(fnv(word.bytes()));
    let mut before = '\0';
    for (at, letter) in word.char_indices() {
        // Leaving out either of two equal neighbours gives the same form.
        if letter != before {
            f(fnv(word.bytes().take(at).chain(word.bytes().skip(at + letter.len_utf8()))));
        }
        before = letter;
    }
}

fn fnv(bytes: impl Iterator<Item = u8>) -> u32 {
    bytes.fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Whether one insertion, deletion, substitution or swap of neighbours turns one word into the other.
fn one_edit(a: &str, b: &str) -> bool {
    let (mut first, mut second) = (a.chars(), b.chars());
    let (a0, b0) = (first.next(), second.next());
    (a0 == b0 || (a0 == second.next() && first.next() == b0)) && strsim::osa_distance(a, b) == 1
}

/// Weight of a repair: the shorter a word, the more likely that its neighbour is another word.
pub(super) fn repair_weight(word: &str) -> f32 {
    if word.chars().nth(SHORT_WORD).is_some() { TYPO_WEIGHT } else { SHORT_TYPO_WEIGHT }
}

#[cfg(test)]
mod tests;
