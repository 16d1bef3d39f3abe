//! From a query's words to the terms that are looked up.

use super::{
    super::{
        bounded,
        dense::{Packed, Sum, Table},
    },
    Lexical, Part, Parts, clauses,
    lexicon::Lexicon,
    products::PRODUCTS,
    synonyms::Stand,
    tokenize::{self, TokenKind, Tokenizer},
    translations::{MIN_PREFIX, MIN_RELATED_PREFIX, SECOND_WEIGHT, Translations},
    typo::{self, PREFIX_WEIGHT},
    values::{self, Written},
    vocabulary::{Lookup, TermId},
};

/// Most different words of a query that are read; the rest is ignored.
const MAX_WORDS: usize = 96;
/// Weight of a word given in one piece when its parts are looked up as well.
const JOINED_WEIGHT: f32 = 0.5;

/// Words that hold sentences together in English, and in no other language of the table. Sorted.
#[rustfmt::skip]
const ENGLISH_ONLY: &[&str] = &[
    "and", "any", "are", "can", "could", "for", "from", "have", "help", "how", "into", "it", "its", "need", "our", "please",
    "that", "the", "their", "these", "this", "what", "when", "where", "which", "who", "with", "would", "you", "your",
];

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
    /// Stands for nothing that is known: a word of another language that is not translated.
    pub(super) strange: bool,
    /// Words to go by in place of this one where a text's subject is concerned; itself if none.
    stands_for: Vec<Box<str>>,
}

/// What holds a query together: in which language its sentences are built.
#[derive(Debug, Default)]
struct FunctionWords {
    english: usize,
    foreign: usize,
}

impl FunctionWords {
    fn see(&mut self, token: &str) {
        if Translations::is_stop_word(token) {
            self.foreign += 1;
        } else if ENGLISH_ONLY.binary_search(&token).is_ok() {
            self.english += 1;
        }
    }

    fn are_english(&self) -> bool {
        self.english > self.foreign
    }

    fn are_foreign(&self) -> bool {
        self.foreign > self.english
    }
}

/// A query, ready to be scored.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    pub(super) words: Vec<PlanWord>,
    pub(super) terms: Vec<PlanTerm>,
    /// Number of clauses that count on their own; 0 or at least 2.
    pub(super) clauses: u8,
    /// What the query is about, then what each clause is about.
    pub(super) about: Vec<Packed>,
    /// Words of the query as it was written.
    pub(super) length: usize,
    /// Share of the words that the vectors know something of.
    pub(super) known_share: f32,
    /// Whether it is held together by English words, so that the others are not likely to be of another language.
    english: bool,
    /// Whether it is of another language, of which the table of translations knows but a part.
    foreign: bool,
}

/// What a plan is made for.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) index: &'a Lexical,
    pub(super) lexicon: &'a Lexicon,
    /// Parts that are left out.
    pub(super) without: Parts,
}

impl Context<'_> {
    fn held(&self, term: TermId) -> bool {
        self.index.postings.holds(term)
    }
}

impl Plan {
    /// Reads `text`, and `hint` as a part of it that is no clause of its own. `slots` is scratch: one 0 for each term of
    /// the vocabulary, and left like that.
    pub(super) fn new(text: &str, hint: &str, context: Context<'_>, slots: &mut Vec<u32>) -> Self {
        let mut plan = Self { length: text.split_whitespace().count(), ..Self::default() };
        let mut tokenizer = Tokenizer::default();
        let mut function_words = FunctionWords::default();
        let no_clauses = context.without.has(Part::Clauses);
        for (range, clause) in clauses::split(text) {
            let clause = clause && !no_clauses;
            let bit = if clause { 1 << plan.clauses } else { 0 };
            plan.clauses += u8::from(clause);
            values::each_piece(&text[range], |piece, written| {
                tokenizer.each(piece, |token, kind| {
                    function_words.see(token);
                    let value = values::is_time_or_number(token) || tokenize::is_dense_pair(token);
                    let written = if value && written == Written::Plainly { Written::AsValue } else { written };
                    plan.add_word(token, kind, bit, written, context);
                });
            });
        }
        if !text.is_ascii() {
            context.lexicon.translations.each_dense(text, |word| plan.add_foreign(word));
        }
        tokenizer.each(bounded(hint), |token, kind| plan.add_word(token, kind, 0, Written::AsValue, context));
        plan.english = function_words.are_english();
        plan.foreign = function_words.are_foreign();
        plan.expand(context, slots);
        if let Some(table) = context.index.dense.as_ref().and(context.index.stock.table())
            && !context.without.has(Part::Dense)
        {
            plan.find_subject(table);
        }
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

    fn add_word(&mut self, token: &str, kind: TokenKind, clause: u8, written: Written, context: Context<'_>) {
        let value = written != Written::Plainly;
        let joined = kind == TokenKind::Joined;
        let vocabulary = &context.lexicon.vocabulary;
        let term = match vocabulary.look_up(token) {
            Lookup::Stop => return,
            Lookup::Term(term) if context.held(term) => Some(term),
            _ if joined || Translations::is_stop_word(token) => return,
            _ => None,
        };
        let stem = term.map_or_else(|| vocabulary.stem(token), |term| vocabulary.term_text(term).into());
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
                missing_product: term.is_none()
                    && written != Written::AsSubject
                    && PRODUCTS.binary_search(&token).is_ok(),
                count: 1,
                clauses: clause,
                ..PlanWord::default()
            });
        }
    }

    /// The terms that a required word may be: its own, else those that it may be a slip or a beginning of.
    pub(super) fn terms_of(word: &str, context: Context<'_>) -> Vec<TermId> {
        let mut plain = Plan::default();
        Tokenizer::default().each(word, |token, kind| plain.add_word(token, kind, 0, Written::Plainly, context));
        let own: Vec<TermId> = plain.words.iter().filter_map(|word| word.term).collect();
        if !own.is_empty() {
            return own;
        }
        let Lexicon { vocabulary, near, .. } = context.lexicon;
        let held = |term| context.held(term);
        let mut terms = Vec::new();
        for word in &plain.words {
            near.each_repair(&word.text, vocabulary, held, |near| terms.push(near.term));
            near.each_completion(&word.text, vocabulary, held, |near| terms.push(near.term));
        }
        terms
    }

    fn expand(&mut self, context: Context<'_>, slots: &mut Vec<u32>) {
        let Lexicon { vocabulary, synonyms, translations, near } = context.lexicon;
        let without = |part| context.without.has(part);
        slots.resize(vocabulary.term_count().max(slots.len()), 0);
        // Abbreviations of words that the catalog lacks are looked for as well.
        let said: Vec<Option<TermId>> =
            self.words.iter().map(|word| word.term.or_else(|| vocabulary.term(&word.stem))).collect();
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
        let held = |term| context.held(term);
        let table = context.index.dense.as_ref().and(context.index.stock.table());
        let english = self.english;
        let translate = |word: &PlanWord, real: bool, english: bool| {
            let translated = word.term.is_none() && !word.missing_product && !(real && english);
            if !translated || without(Part::Translations) {
                return &[][..];
            }
            let least = if english && word.text.is_ascii() { MIN_RELATED_PREFIX } else { MIN_PREFIX };
            translations.of(&word.text, least)
        };
        self.foreign |= !english && self.words.iter().any(|word| !translate(word, false, english).is_empty());
        for (number, word) in self.words.iter_mut().enumerate() {
            let clauses = word.clauses;
            let mut add = |term: TermId, weight: f32, evidence: Evidence| {
                let slot = &mut slots[term as usize];
                if *slot == 0 {
                    *slot = terms.len() as u32 + 1;
                    terms.push(PlanTerm { term, weight, evidence, word: number as u16, clauses });
                    return;
                }
                let known = &mut terms[*slot as usize - 1];
                if known.evidence != Evidence::Word {
                    known.clauses |= clauses;
                    if weight > known.weight {
                        (known.weight, known.evidence, known.word) = (weight, evidence, number as u16);
                    }
                }
            };
            // A word of its own right is no slip and no beginning, nor is one among English words cut off from another language.
            let real = word.term.is_none() && table.is_some_and(|table| table.is_word(&word.text));
            let foreign = translate(word, real, english);
            let untold = word.term.is_none() && foreign.is_empty();
            word.strange = untold && (!word.text.is_ascii() || (self.foreign && !real && !word.value));
            for &line in foreign {
                word.stands_for.push(translations.english(line).into());
                let mut known = false;
                for (term, weight) in translations.terms(line, held) {
                    known = true;
                    add(term, weight, Evidence::Translation);
                }
                if let Some(term) = translations.term(line).filter(|_| !known) {
                    // The catalog says it with another English word.
                    synonyms.each(term, &[], held, |term, _, _| add(term, SECOND_WEIGHT, Evidence::Translation));
                }
            }
            if word.term.is_none() && !word.missing_product && foreign.is_empty() && !real {
                let weight = typo::repair_weight(&word.text);
                if !without(Part::Repairs) {
                    let stands_for = &mut word.stands_for;
                    near.each_repair(&word.text, vocabulary, held, |near| {
                        add(near.term, weight, Evidence::Typo);
                        if stands_for.is_empty() {
                            stands_for.push((&*near.text).into());
                        }
                    });
                }
                if !without(Part::Completions) {
                    near.each_completion(&word.text, vocabulary, held, |near| {
                        add(near.term, PREFIX_WEIGHT, Evidence::Prefix);
                    });
                }
            }
            let Some(term) = said[number] else { continue };
            synonyms.each(term, &said, held, |term, weight, stand| match stand {
                Stand::Abbreviation if !without(Part::Abbreviations) => add(term, weight, Evidence::Abbreviation),
                Stand::Synonym if !without(Part::Synonyms) => add(term, weight, Evidence::Synonym),
                _ => {}
            });
        }
        for term in &self.terms {
            slots[term.term as usize] = 0;
        }
    }

    /// Says what the whole and each clause are about.
    fn find_subject(&mut self, table: &Table) {
        let mut sums = vec![Sum::default(); 1 + usize::from(self.clauses)];
        let (mut known, mut all) = (0.0f32, 0.0f32);
        let mut tokens = Vec::new();
        for word in &self.words {
            all += 1.0;
            known += f32::from(u8::from(!word.strange));
            tokens.clear();
            for text in &word.stands_for {
                table.cut(text, &mut tokens);
            }
            if tokens.is_empty() && !word.strange {
                table.cut(&word.text, &mut tokens);
            }
            if word.joined && tokens.len() > 1 {
                continue;
            }
            let weight = 1.0 + f32::from(word.count).ln();
            for (at, sum) in sums.iter_mut().enumerate() {
                if at == 0 || word.clauses & 1 << (at - 1) != 0 {
                    for &token in &tokens {
                        sum.add_token(table, token, weight);
                    }
                }
            }
        }
        self.about = sums.iter().map(Sum::pack).collect();
        self.known_share = if all > 0.0 { known / all } else { 0.0 };
        if self.about[0].scale == 0.0 {
            self.about.clear();
        }
    }
}

#[cfg(test)]
mod tests;
