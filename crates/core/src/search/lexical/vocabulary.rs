//! The words of a catalog and the terms (stems) that they stand for.

use std::{borrow::Cow, collections::HashMap, fmt, sync::Arc};

use rust_stemmers::{Algorithm, Stemmer};

use super::stop::STOP_WORDS;

/// A word form as it occurs in texts.
pub(super) type WordId = u32;
/// What is indexed: all word forms with one stem.
pub(super) type TermId = u32;

/// Stands for "a stop word" where a term is expected.
pub(super) const STOP: TermId = TermId::MAX;

/// Word forms and terms, both interned.
pub(super) struct Vocabulary {
    words: HashMap<Arc<str>, WordId>,
    /// Text and term of each word, by id. The stop words come first.
    entries: Vec<(Arc<str>, TermId)>,
    terms: HashMap<Arc<str>, TermId>,
    term_texts: Vec<Arc<str>>,
    stemmer: Stemmer,
}

impl fmt::Debug for Vocabulary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Vocabulary({} words, {} terms)", self.entries.len(), self.term_texts.len())
    }
}

impl Vocabulary {
    pub(super) fn new() -> Self {
        let mut vocabulary = Self {
            words: HashMap::new(),
            entries: Vec::new(),
            terms: HashMap::new(),
            term_texts: Vec::new(),
            stemmer: Stemmer::create(Algorithm::English),
        };
        for word in STOP_WORDS {
            let text: Arc<str> = (*word).into();
            vocabulary.words.insert(Arc::clone(&text), vocabulary.entries.len() as u32);
            vocabulary.entries.push((text, STOP));
        }
        vocabulary
    }

    /// The term of a word, both made if they are new. [`STOP`] for a stop word.
    pub(super) fn intern(&mut self, word: &str) -> TermId {
        if let Some(&id) = self.words.get(word) {
            return self.entries[id as usize].1;
        }
        let stem = stem(&self.stemmer, word);
        let known = self.terms.get(&*stem).copied();
        let term = known.unwrap_or_else(|| {
            let (term, text): (TermId, Arc<str>) = (self.term_texts.len() as u32, stem.as_ref().into());
            self.terms.insert(Arc::clone(&text), term);
            self.term_texts.push(text);
            term
        });
        let text: Arc<str> = word.into();
        self.words.insert(Arc::clone(&text), self.entries.len() as u32);
        self.entries.push((text, term));
        term
    }

    /// What the catalog knows of a word of a query.
    pub(super) fn look_up(&self, word: &str) -> Lookup {
        if let Some(&id) = self.words.get(word) {
            return match self.entries[id as usize].1 {
                STOP => Lookup::Stop,
                term => Lookup::Term(term),
            };
        }
        let stem = stem(&self.stemmer, word);
        self.terms.get(&*stem).map_or(Lookup::Unknown, |&term| Lookup::Term(term))
    }

    /// The stem of a word that may not be in the catalog.
    pub(super) fn stem<'a>(&self, word: &'a str) -> Cow<'a, str> {
        stem(&self.stemmer, word)
    }

    /// The term with this stem.
    pub(super) fn term(&self, stem: &str) -> Option<TermId> {
        self.terms.get(stem).copied()
    }

    /// The term of a word, if the catalog has it.
    pub(super) fn term_of(&self, word: &str) -> Option<TermId> {
        match self.look_up(word) {
            Lookup::Term(term) => Some(term),
            Lookup::Stop | Lookup::Unknown => None,
        }
    }

    pub(super) fn term_count(&self) -> usize {
        self.term_texts.len()
    }

    pub(super) fn term_text(&self, term: TermId) -> &str {
        &self.term_texts[term as usize]
    }

    /// Words with their terms; stop words left out.
    pub(super) fn words(&self) -> impl Iterator<Item = (&Arc<str>, TermId)> {
        self.entries[STOP_WORDS.len()..].iter().map(|(text, term)| (text, *term))
    }
}

/// Answer of [`Vocabulary::look_up`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    Stop,
    Term(TermId),
    Unknown,
}

/// English stem of words in plain Latin letters; anything else stands for itself. A plural acronym without a vowel (`prs`),
/// which English rules leave alone, loses its s.
pub(super) fn stem<'a>(stemmer: &Stemmer, word: &'a str) -> Cow<'a, str> {
    if word.len() <= 2 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word.into();
    }
    match word.strip_suffix('s') {
        Some(acronym) if !acronym.ends_with('s') && !acronym.contains(['a', 'e', 'i', 'o', 'u', 'y']) => acronym.into(),
        _ => stemmer.stem(word),
    }
}
