//! The inverted index: which document holds which term, and what it is worth there.

use std::sync::Arc;

use super::{prepare::Prepared, vocabulary::TermId};

/// Steps of a summed rarity in 1: sums of whole numbers do not depend on the order of the terms.
const RARITY_STEPS: f32 = 65_536.0;

/// A document that holds a term, and what the term is worth there in steps of `IMPACT_STEP`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Posting {
    pub(super) document: u32,
    pub(super) steps: u16,
}

/// Postings in flat arrays. Documents are numbered by the caller. Terms that the arrays do not reach no document holds.
#[derive(Debug, Default)]
pub(super) struct Postings {
    count: usize,
    /// Postings of term `t` are `term_starts[t]..term_starts[t + 1]`, by ascending document.
    term_starts: Vec<u32>,
    of_terms: Vec<Posting>,
    /// The same for terms in names.
    name_starts: Vec<u32>,
    name_documents: Vec<u32>,
    /// Rarity of each term; 0 for one that no document holds.
    idf: Vec<f32>,
    /// One over the summed rarity of the words of each name.
    name_scale: Vec<f32>,
}

impl Postings {
    /// Indexes `documents`, numbered by their order here. `terms` is how many there are at most.
    pub(super) fn build(all: &[Arc<Prepared>], terms: usize) -> Self {
        // Two places in front, so that counting, summing and filling all happen in the same array.
        let mut term_starts = vec![0u32; terms + 2];
        let mut name_starts = vec![0u32; terms + 2];
        for entry in all.iter().flat_map(|document| &document.entries) {
            term_starts[entry.term as usize + 2] += 1;
            if entry.is_in_name() {
                name_starts[entry.term as usize + 2] += 1;
            }
        }
        let n = all.len() as f64;
        let rarity = |&df: &u32| match df {
            0 => 0.0,
            df => (1.0 + (n - f64::from(df) + 0.5) / (f64::from(df) + 0.5)).ln() as f32,
        };
        let idf: Vec<f32> = term_starts[2..].iter().map(rarity).collect();
        for starts in [&mut term_starts, &mut name_starts] {
            let mut total = 0;
            for start in &mut starts[2..] {
                total += *start;
                *start = total;
            }
        }
        let size = |starts: &[u32]| starts.last().copied().unwrap_or(0) as usize;
        let mut of_terms = vec![Posting::default(); size(&term_starts)];
        let mut name_documents = vec![0; size(&name_starts)];
        let mut name_scale = Vec::with_capacity(all.len());
        for (number, document) in (0u32..).zip(all) {
            let mut names = 0u64;
            for entry in &document.entries {
                let term = entry.term as usize;
                let slot = &mut term_starts[term + 1];
                of_terms[*slot as usize] = Posting { document: number, steps: entry.steps() };
                *slot += 1;
                if entry.is_in_name() {
                    let slot = &mut name_starts[term + 1];
                    name_documents[*slot as usize] = number;
                    *slot += 1;
                    names += (idf[term] * RARITY_STEPS) as u64;
                }
            }
            name_scale.push(if names > 0 { RARITY_STEPS / names as f32 } else { 0.0 });
        }
        Self { count: all.len(), term_starts, of_terms, name_starts, name_documents, idf, name_scale }
    }

    /// Number of documents.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    fn range(starts: &[u32], term: TermId) -> std::ops::Range<usize> {
        let term = term as usize;
        match starts.get(term..term + 2) {
            Some(ends) if term + 2 < starts.len() => ends[0] as usize..ends[1] as usize,
            _ => 0..0,
        }
    }

    /// Documents that hold the term, and what it is worth in each.
    pub(super) fn of(&self, term: TermId) -> &[Posting] {
        &self.of_terms[Self::range(&self.term_starts, term)]
    }

    /// Documents whose names hold the term.
    pub(super) fn in_names(&self, term: TermId) -> &[u32] {
        &self.name_documents[Self::range(&self.name_starts, term)]
    }

    /// Rarity of a term.
    pub(super) fn idf(&self, term: TermId) -> f32 {
        self.idf.get(term as usize).copied().unwrap_or(0.0)
    }

    /// Whether any document holds the term.
    pub(super) fn holds(&self, term: TermId) -> bool {
        self.idf(term) > 0.0
    }

    /// Rarity of a word that no document holds.
    pub(super) fn unknown_idf(&self) -> f32 {
        (2.0 * (self.len() as f64 + 1.0)).ln() as f32
    }

    /// One over the summed rarity of the words of each name.
    pub(super) fn name_scale(&self) -> &[f32] {
        &self.name_scale
    }
}
