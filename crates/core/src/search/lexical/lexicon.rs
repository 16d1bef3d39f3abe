//! Everything that indexes of one shelf have in common: words, and what they may stand for.

use super::{
    super::dense::Table, synonyms::Synonyms, translations::Translations, typo::NearWords, vocabulary::Vocabulary,
};

/// Words and tables of words. Grows, never changes.
#[derive(Debug)]
pub(super) struct Lexicon {
    pub(super) vocabulary: Vocabulary,
    pub(super) synonyms: Synonyms,
    pub(super) translations: Translations,
    pub(super) near: NearWords,
}

impl Lexicon {
    pub(super) fn new(table: Option<&'static Table>) -> Self {
        let mut vocabulary = Vocabulary::new(table);
        let synonyms = Synonyms::new(&mut vocabulary);
        let translations = Translations::new(&mut vocabulary);
        Self { vocabulary, synonyms, translations, near: NearWords::default() }
    }
}
