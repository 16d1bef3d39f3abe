//! From a query's words to the terms that are looked up.

use super::{
    super::bounded,
    Lexical, clauses,
    products::PRODUCTS,
    tokenize::{self, TokenKind, Tokenizer},
    translations::Translations,
    typo::{self, PREFIX_WEIGHT},
    values,
    vocabulary::{Lookup, TermId},
};

/// Most different words of a query that are read; the rest is ignored.
const MAX_WORDS: usize = 96;
/// Weight of a word given in one piece when its parts are looked up as well.
const JOINED_WEIGHT: f32 = 0.5;

/// How a term came into the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Evidence {
    /// The query says it (up to inflection).
    Word,
    /// A word of the query is one edit away from it.
    Typo,
    /// A word of the query is an abbreviation of it, or it of the query's words.
    Abbreviation,
    /// A word of the query means it in another language.
    Translation,
    /// A word of the query begins it.
    Prefix,
    /// It can mean the same as a word of the query.
    Synonym,
}

/// One term to look up.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlanTerm {
    pub(super) term: TermId,
    /// Multiplies the term's rarity.
    pub(super) weight: f32,
    pub(super) evidence: Evidence,
    /// The word that brought it.
    pub(super) word: u16,
    /// Bits of the clauses that it belongs to.
    pub(super) clauses: u8,
}

/// One distinct word (stem) of the query that is not a stop word.
#[derive(Clone, Debug, Default)]
pub(super) struct PlanWord {
    pub(super) text: String,
    stem: String,
    pub(super) term: Option<TermId>,
    /// Given in one piece beside its parts.
    pub(super) joined: bool,
    /// A widely known service that the catalog never mentions.
    pub(super) missing_product: bool,
    /// Likely to be a value for the tool.
    pub(super) value: bool,
    count: u16,
    clauses: u8,
}

/// A query, ready to be scored.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    pub(super) words: Vec<PlanWord>,
    pub(super) terms: Vec<PlanTerm>,
    /// Number of clauses that count on their own; 0 or at least 2.
    pub(super) clauses: u8,
}

impl Plan {
    /// Reads `text`, and `hint` as a part of it that is no clause of its own. `slots` is scratch: one 0 for each term of the vocabulary, and left like that.
    pub(super) fn new(text: &str, hint: &str, index: &Lexical, slots: &mut Vec<u32>) -> Self {
        let mut plan = Self::default();
        let mut tokenizer = Tokenizer::default();
        for (range, clause) in clauses::split(text) {
            let bit = if clause { 1 << plan.clauses } else { 0 };
            plan.clauses += u8::from(clause);
            values::each_piece(&text[range], |piece, value| {
                tokenizer.each(piece, |token, kind| {
                    let value = value || values::is_time_or_number(token) || tokenize::is_dense_pair(token);
                    plan.add_word(token, kind, bit, value, index);
                });
            });
        }
        if !text.is_ascii() {
            index.translations.each_dense(text, |word| plan.add_foreign(word));
        }
        tokenizer.each(bounded(hint), |token, kind| plan.add_word(token, kind, 0, true, index));
        plan.expand(index, slots);
        plan
    }

    /// Whether the query has words, but the catalog none of them.
    pub(super) fn finds_nothing(&self) -> bool {
        self.terms.is_empty() && !self.words.is_empty()
    }

    /// Adds a word of a script without blanks. Its pairs of letters are there already.
    fn add_foreign(&mut self, word: &str) {
        if self.words.len() < MAX_WORDS && self.words.iter().all(|known| known.text != word) {
            self.words.push(PlanWord { text: word.to_owned(), stem: word.to_owned(), count: 1, ..PlanWord::default() });
        }
    }

    fn add_word(&mut self, token: &str, kind: TokenKind, clause: u8, value: bool, index: &Lexical) {
        let joined = kind == TokenKind::Joined;
        let term = match index.vocabulary.look_up(token) {
            Lookup::Stop => return,
            Lookup::Term(term) if index.postings.idf(term) > 0.0 => Some(term),
            _ if joined || Translations::is_stop_word(token) => return,
            _ => None,
        };
        let stem = term.map_or_else(|| index.vocabulary.stem(token), |term| index.vocabulary.term_text(term).into());
        if let Some(word) = self.words.iter_mut().find(|word| word.stem == stem) {
            word.count = word.count.saturating_add(1);
            word.clauses |= clause;
            word.joined &= joined;
            word.value &= value;
        } else if self.words.len() < MAX_WORDS {
            self.words.push(PlanWord {
                text: token.to_owned(),
                stem: stem.into_owned(),
                term,
                joined,
                value,
                missing_product: term.is_none() && PRODUCTS.binary_search(&token).is_ok(),
                count: 1,
                clauses: clause,
            });
        }
    }

    /// The terms that a required word may be: its own, else those that it may be a slip or a beginning of.
    pub(super) fn terms_of(word: &str, index: &Lexical) -> Vec<TermId> {
        let mut plain = Plan::default();
        Tokenizer::default().each(word, |token, kind| plain.add_word(token, kind, 0, false, index));
        let own: Vec<TermId> = plain.words.iter().filter_map(|word| word.term).collect();
        if !own.is_empty() {
            return own;
        }
        let mut near = Vec::new();
        for word in &plain.words {
            index.near.each_repair(&word.text, |term| near.push(term));
            index.near.each_completion(&word.text, |term| near.push(term));
        }
        near
    }

    fn expand(&mut self, index: &Lexical, slots: &mut Vec<u32>) {
        slots.resize(index.vocabulary.term_count().max(slots.len()), 0);
        let stems: Vec<&str> = self.words.iter().map(|word| word.stem.as_str()).collect();
        let terms = &mut self.terms;
        for (number, word) in self.words.iter().enumerate() {
            let Some(term) = word.term else { continue };
            let weight = 1.0 + f32::from(word.count).ln();
            slots[term as usize] = terms.len() as u32 + 1;
            terms.push(PlanTerm {
                term,
                weight: if word.joined { weight * JOINED_WEIGHT } else { weight },
                evidence: Evidence::Word,
                word: number as u16,
                clauses: word.clauses,
            });
        }
        for (number, word) in self.words.iter().enumerate() {
            let mut add = |term: TermId, weight: f32, evidence: Evidence| {
                if index.postings.idf(term) == 0.0 {
                    return;
                }
                let slot = &mut slots[term as usize];
                if *slot == 0 {
                    *slot = terms.len() as u32 + 1;
                    terms.push(PlanTerm { term, weight, evidence, word: number as u16, clauses: word.clauses });
                    return;
                }
                let known = &mut terms[*slot as usize - 1];
                if known.evidence != Evidence::Word {
                    known.clauses |= word.clauses;
                    if weight > known.weight {
                        (known.weight, known.evidence, known.word) = (weight, evidence, number as u16);
                    }
                }
            };
            let foreign = if word.term.is_none() { index.translations.of(&word.text) } else { &[] };
            for &(term, weight) in foreign.iter().flat_map(|line| index.translations.terms(*line)) {
                add(term, weight, Evidence::Translation);
            }
            if word.term.is_none() && !word.missing_product && foreign.is_empty() {
                let weight = typo::repair_weight(&word.text);
                index.near.each_repair(&word.text, |term| add(term, weight, Evidence::Typo));
                index.near.each_completion(&word.text, |term| add(term, PREFIX_WEIGHT, Evidence::Prefix));
            }
            index.synonyms.each(&word.stem, &stems, |term, weight, abbreviation| {
                add(term, weight, if abbreviation { Evidence::Abbreviation } else { Evidence::Synonym });
            });
        }
        for term in &self.terms {
            slots[term.term as usize] = 0;
        }
    }
}
