//! Words and the terms (stems) that they stand for.
//!
//! One vocabulary serves all indexes of a shelf and only grows, so it may know words that the documents of one index do
//! not hold. Whoever asks for an index looks at what the term is worth there, never at whether the vocabulary has it.

use std::{borrow::Cow, fmt, sync::Arc};

use rust_stemmers::{Algorithm, Stemmer};

use super::{super::dense::Table, stop::STOP_WORDS};

/// A word form as it occurs in texts.
pub(super) type WordId = u32;
/// What is indexed: all word forms with one stem.
pub(super) type TermId = u32;

/// A map that is looked into for every word of every tool. Its hashes are seeded anew in each map, and cost less than
/// those of the standard library (decision 7).
pub(super) type WordMap<K, V> = std::collections::HashMap<K, V, foldhash::fast::RandomState>;

/// Stands for "a stop word" where a term is expected.
pub(super) const STOP: TermId = TermId::MAX;

/// A word form.
#[derive(Debug)]
pub(super) struct Word {
    pub(super) text: Arc<str>,
    pub(super) term: TermId,
    /// Where its tokens are in [`Vocabulary::tokens`].
    tokens: (u32, u32),
}

/// Word forms and terms, both interned.
pub(super) struct Vocabulary {
    ids: WordMap<Arc<str>, WordId>,
    /// By id. The stop words come first.
    words: Vec<Word>,
    tokens: Vec<u16>,
    terms: WordMap<Arc<str>, TermId>,
    term_texts: Vec<Arc<str>>,
    stemmer: Stemmer,
    table: Option<&'static Table>,
}

impl fmt::Debug for Vocabulary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Vocabulary({} words, {} terms)", self.words.len(), self.term_texts.len())
    }
}

/// A word that a vocabulary lacks, ready to be added.
#[derive(Debug)]
pub(super) struct NewWord {
    pub(super) text: Box<str>,
    pub(super) stem: Box<str>,
    /// Its rows in the table of token vectors.
    pub(super) tokens: Box<[u16]>,
}

impl Vocabulary {
    /// `table` cuts words into the tokens that have vectors.
    pub(super) fn new(table: Option<&'static Table>) -> Self {
        let mut vocabulary = Self {
            ids: WordMap::default(),
            words: Vec::new(),
            tokens: Vec::new(),
            terms: WordMap::default(),
            term_texts: Vec::new(),
            stemmer: Stemmer::create(Algorithm::English),
            table,
        };
        for word in STOP_WORDS {
            vocabulary.push((*word).into(), STOP, &[]);
        }
        vocabulary
    }

    /// Adds a word that is not there yet.
    pub(super) fn push(&mut self, text: Arc<str>, term: TermId, tokens: &[u16]) {
        let start = self.tokens.len() as u32;
        self.tokens.extend_from_slice(tokens);
        self.ids.insert(Arc::clone(&text), self.words.len() as u32);
        self.words.push(Word { text, term, tokens: (start, self.tokens.len() as u32) });
    }

    /// What is to be known of a word before it is added.
    pub(super) fn describe(&self, word: &str) -> NewWord {
        let mut tokens = Vec::new();
        if let Some(table) = self.table {
            table.cut(word, &mut tokens);
        }
        NewWord { text: word.into(), stem: stem(&self.stemmer, word).into(), tokens: tokens.into() }
    }

    /// Adds a word unless it is there already. Its term.
    pub(super) fn add(&mut self, word: &NewWord) -> TermId {
        if let Some(&id) = self.ids.get(&*word.text) {
            return self.words[id as usize].term;
        }
        let term = self.intern_stem(&word.stem);
        self.push((&*word.text).into(), term, &word.tokens);
        term
    }

    /// The term of a stem, made if it is new.
    pub(super) fn intern_stem(&mut self, stem: &str) -> TermId {
        if let Some(&term) = self.terms.get(stem) {
            return term;
        }
        let (term, text): (TermId, Arc<str>) = (self.term_texts.len() as u32, stem.into());
        self.terms.insert(Arc::clone(&text), term);
        self.term_texts.push(text);
        term
    }

    /// What is known of a word form.
    pub(super) fn word(&self, text: &str) -> Option<&Word> {
        self.ids.get(text).map(|&id| &self.words[id as usize])
    }

    /// The tokens of a word.
    pub(super) fn tokens(&self, word: &Word) -> &[u16] {
        &self.tokens[word.tokens.0 as usize..word.tokens.1 as usize]
    }

    /// What a word of a query stands for.
    pub(super) fn look_up(&self, word: &str) -> Lookup {
        if let Some(word) = self.word(word) {
            return match word.term {
                STOP => Lookup::Stop,
                term => Lookup::Term(term),
            };
        }
        let stem = stem(&self.stemmer, word);
        self.terms.get(&*stem).map_or(Lookup::Unknown, |&term| Lookup::Term(term))
    }

    /// The stem of a word that may not be here.
    pub(super) fn stem<'a>(&self, word: &'a str) -> Cow<'a, str> {
        stem(&self.stemmer, word)
    }

    /// The term with this stem.
    pub(super) fn term(&self, stem: &str) -> Option<TermId> {
        self.terms.get(stem).copied()
    }

    /// The term of a word.
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

    /// The stems from number `from` on.
    pub(super) fn terms_from(&self, from: usize) -> &[Arc<str>] {
        &self.term_texts[from..]
    }

    pub(super) fn word_count(&self) -> usize {
        self.words.len()
    }

    /// The word forms from number `from` on, with their numbers.
    pub(super) fn words_from(&self, from: usize) -> impl Iterator<Item = (WordId, &Word)> {
        (from as u32..).zip(&self.words[from..])
    }

    pub(super) fn by_id(&self, word: WordId) -> &Word {
        &self.words[word as usize]
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
