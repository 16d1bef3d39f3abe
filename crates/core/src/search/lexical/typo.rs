//! Words of the catalog near a word that it lacks: one edit away, or begun by it.

use super::vocabulary::{STOP, TermId, Vocabulary, Word, WordId};

/// Shortest word that is repaired.
const MIN_CHARS: usize = 4;
/// Longest word that is repaired, in bytes.
const MAX_BYTES: usize = 32;
/// Most repairs of one word.
const MAX_REPAIRS: usize = 4;
/// Most catalog words that a cut-off word is taken for; a beginning of more words than that means nothing.
const MAX_COMPLETIONS: usize = 12;
/// Most words that are looked at for completions, those that no document holds included.
const MAX_BEGUN: usize = 1_000;
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
    /// How many words of the vocabulary are known here.
    read: usize,
    /// Words in order of their letters.
    words: Vec<WordId>,
    /// Hash of a form and its word, in order.
    forms: Vec<(u32, WordId)>,
}

impl NearWords {
    /// Takes in the words that the vocabulary has gained.
    pub(super) fn extend(&mut self, vocabulary: &Vocabulary) {
        let (mut words, mut forms) = (Vec::new(), Vec::new());
        for (id, word) in
            vocabulary.words_from(self.read).filter(|(_, word)| word.term != STOP && repairable(&word.text))
        {
            words.push(id);
            each_form(&word.text, |hash| forms.push((hash, id)));
        }
        self.read = vocabulary.word_count();
        let text = |id: WordId| &vocabulary.by_id(id).text;
        words.sort_unstable_by(|a, b| text(*a).cmp(text(*b)));
        forms.sort_unstable();
        self.words = merge(&self.words, &words, |a, b| text(*a) < text(*b));
        self.forms = merge(&self.forms, &forms, |a, b| a < b);
    }

    /// Calls `f` with the words one edit away from `word` that documents hold, in order. The first letter is taken
    /// to be right, unless it is swapped with the second: people seldom slip there, and other words differ there often.
    pub(super) fn each_repair<'a>(
        &self,
        word: &str,
        vocabulary: &'a Vocabulary,
        held: impl Fn(TermId) -> bool,
        f: impl FnMut(&'a Word),
    ) {
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
        let words = candidates.into_iter().map(|id| vocabulary.by_id(id));
        let mut near: Vec<&Word> = words.filter(|near| held(near.term) && one_edit(word, &near.text)).collect();
        near.sort_unstable_by(|a, b| a.text.cmp(&b.text));
        near.into_iter().take(MAX_REPAIRS).for_each(f);
    }

    /// Calls `f` with the words that documents hold and `word` begins, unless they are too many.
    pub(super) fn each_completion<'a>(
        &self,
        word: &str,
        vocabulary: &'a Vocabulary,
        held: impl Fn(TermId) -> bool,
        f: impl FnMut(&'a Word),
    ) {
        if !repairable(word) {
            return;
        }
        let from = self.words.partition_point(|id| *vocabulary.by_id(*id).text < *word);
        let begun = self.words[from..].iter().map(|id| vocabulary.by_id(*id));
        let begun = begun.take(MAX_BEGUN).take_while(|other| other.text.starts_with(word));
        let begun: Vec<&Word> = begun.filter(|other| held(other.term)).take(MAX_COMPLETIONS + 1).collect();
        if begun.len() <= MAX_COMPLETIONS {
            begun.into_iter().for_each(f);
        }
    }
}

/// Two lists in order as one; of equals, those of the first list first.
fn merge<T: Copy>(old: &[T], new: &[T], less: impl Fn(&T, &T) -> bool) -> Vec<T> {
    let mut out = Vec::with_capacity(old.len() + new.len());
    let mut rest = old;
    for item in new {
        let before = rest.partition_point(|other| !less(item, other));
        out.extend_from_slice(&rest[..before]);
        out.push(*item);
        rest = &rest[before..];
    }
    out.extend_from_slice(rest);
    out
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
