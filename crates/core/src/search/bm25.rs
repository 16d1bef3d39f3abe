//! The reference ranker: plain BM25 over one text a tool (`hermes.md` §1.4; golden vectors `tokenize.json` and
//! `search.json`), over an inverted index that is built once instead of once per query.
//!
//! Text of a tool: its name with `_ . - :` as blanks, its description, its top-level parameter names. A token is a maximal
//! run of ASCII letters and digits, lower-cased. Query tokens count with repetition. When no token of the query occurs
//! anywhere, tools whose lower-cased name contains the lower-cased query score a flat 0.1. Equal scores keep the order
//! of the documents. A document without a name is no tool and is left out of everything.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use super::{Document, Hit, Ranker, topk::TopK};

#[doc(hidden)]
pub mod naive;

/// Saturation of the term frequency.
pub const K1: f64 = 1.5;
/// Strength of the length normalisation.
pub const B: f64 = 0.75;
/// Score of a tool that only its name's letters brought up.
pub const SUBSTRING_SCORE: f64 = 0.1;

/// Most accumulators kept for reuse.
const MAX_SPARE: usize = 8;

/// Calls `f` with each token of `text`: maximal runs of ASCII letters and digits, lower-cased.
pub fn each_token(text: &str, mut f: impl FnMut(&str)) {
    let mut lower = String::new();
    for run in text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|run| !run.is_empty()) {
        lower.clear();
        lower.push_str(run);
        lower.make_ascii_lowercase();
        f(&lower);
    }
}

/// The tokens of a text.
pub fn tokens(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    each_token(text, |token| out.push(token.to_owned()));
    out
}

/// Calls `f` with each indexed token of a document: name, description, top-level parameter names. Every separator of the
/// name ends a token anyway, so the name needs no preparation.
fn each_document_token(document: &Document, mut f: impl FnMut(&str)) {
    each_token(&document.name, &mut f);
    each_token(&document.description, &mut f);
    for parameter in document.parameters.iter().filter(|parameter| !parameter.nested) {
        each_token(&parameter.name, &mut f);
    }
}

/// The indexed tokens of a document, in order.
pub fn document_tokens(document: &Document) -> Vec<String> {
    let mut out = Vec::new();
    each_document_token(document, |token| out.push(token.to_owned()));
    out
}

/// Rarity of a token that `df` of `n` documents hold. Always positive.
fn idf(n: usize, df: usize) -> f64 {
    let (n, df) = (n as f64, df as f64);
    (1.0 + (n - df + 0.5) / (df + 0.5)).ln()
}

/// The reference ranker over an inverted index.
#[derive(Debug)]
pub struct Bm25 {
    terms: HashMap<Box<str>, u32>,
    /// Postings of term `t` are `starts[t]..starts[t + 1]`.
    starts: Vec<u32>,
    documents: Vec<u32>,
    /// What one occurrence of the term in the query adds to the document's score.
    impacts: Vec<f64>,
    /// Position in the documents given: those without a name are left out.
    given: Vec<u32>,
    /// Lower-cased names, for the substring fallback.
    names: Vec<Box<str>>,
    spare: Mutex<Vec<Vec<f64>>>,
}

impl Bm25 {
    /// Indexes the documents.
    pub fn build(documents: &[Document]) -> Self {
        let mut terms: HashMap<Box<str>, u32> = HashMap::new();
        // (term, document, count) in document order, each pair once.
        let mut occurrences: Vec<(u32, u32, u32)> = Vec::new();
        let mut lengths = Vec::with_capacity(documents.len());
        let mut frequencies: Vec<u32> = Vec::new();
        let mut ids = Vec::new();
        let mut given = Vec::with_capacity(documents.len());
        for (index, document) in documents.iter().enumerate().filter(|(_, document)| !document.name.is_empty()) {
            let number = given.len();
            given.push(index as u32);
            ids.clear();
            each_document_token(document, |token| {
                let next = terms.len() as u32;
                let id = terms.get(token).copied().unwrap_or_else(|| {
                    terms.insert(token.into(), next);
                    next
                });
                ids.push(id);
            });
            frequencies.resize(terms.len(), 0);
            lengths.push(ids.len());
            ids.sort_unstable();
            for run in ids.chunk_by(|a, b| a == b) {
                frequencies[run[0] as usize] += 1;
                occurrences.push((run[0], number as u32, run.len() as u32));
            }
        }
        let average = (lengths.iter().sum::<usize>() as f64 / given.len().max(1) as f64).max(1.0);
        let mut starts = Vec::with_capacity(terms.len() + 1);
        let mut total = 0;
        for frequency in &frequencies {
            starts.push(total);
            total += frequency;
        }
        starts.push(total);
        let mut next = starts.clone();
        let mut posting_documents = vec![0; total as usize];
        let mut impacts = vec![0.0; total as usize];
        for (term, document, count) in occurrences {
            let slot = next[term as usize] as usize;
            next[term as usize] += 1;
            posting_documents[slot] = document;
            let tf = f64::from(count);
            let norm = 1.0 - B + B * lengths[document as usize] as f64 / average;
            impacts[slot] = idf(given.len(), frequencies[term as usize] as usize) * tf * (K1 + 1.0) / (tf + K1 * norm);
        }
        let names = given.iter().map(|&index| documents[index as usize].name.to_lowercase().into()).collect();
        Self { terms, starts, documents: posting_documents, impacts, given, names, spare: Mutex::default() }
    }

    /// Whole lower-cased query as a part of lower-cased names, in document order.
    fn by_substring(&self, query: &str, limit: usize) -> Vec<Hit> {
        let query = query.to_lowercase();
        let named = self.given.iter().zip(&self.names).filter(|(_, name)| name.contains(query.as_str()));
        named.take(limit).map(|(&index, _)| Hit { index: index as usize, score: SUBSTRING_SCORE }).collect()
    }
}

impl Ranker for Bm25 {
    fn search(&self, query: &str, limit: usize) -> Vec<Hit> {
        let query = super::bounded(query).trim();
        if limit == 0 || self.names.is_empty() || !query.bytes().any(|b| b.is_ascii_alphanumeric()) {
            return Vec::new();
        }
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut scores = spare.unwrap_or_default();
        scores.clear();
        scores.resize(self.names.len(), 0.0);
        let mut found = false;
        each_token(query, |token| {
            let Some(&term) = self.terms.get(token) else { return };
            found = true;
            let range = self.starts[term as usize] as usize..self.starts[term as usize + 1] as usize;
            for (&document, &impact) in self.documents[range.clone()].iter().zip(&self.impacts[range]) {
                scores[document as usize] += impact;
            }
        });
        let mut top = TopK::new(limit, scores.len());
        if found {
            for (document, &score) in scores.iter().enumerate() {
                if score > 0.0 && score > top.floor() {
                    top.push(document as u32, score);
                }
            }
        }
        let mut pool = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if pool.len() < MAX_SPARE {
            pool.push(scores);
        }
        drop(pool);
        if !found {
            return self.by_substring(query, limit);
        }
        let given = |document: u32| self.given[document as usize] as usize;
        top.into_sorted().into_iter().map(|(document, score)| Hit { index: given(document), score }).collect()
    }

    fn len(&self) -> usize {
        self.names.len()
    }
}

#[cfg(test)]
mod tests;
