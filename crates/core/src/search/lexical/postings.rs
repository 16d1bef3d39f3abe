//! The inverted index: which document holds which term, and what it is worth there.
//!
//! There is one way to make it, from that of an earlier index and the documents that are new: an index over nothing is the
//! earlier one of the first. Either way the result is the same, bit for bit.

use std::sync::Arc;

use super::{
    numbers::{GONE, Renumbered},
    prepare::Prepared,
    vocabulary::TermId,
};

/// Steps of a summed rarity in 1: sums of whole numbers do not depend on the order of the terms.
const RARITY_STEPS: f32 = 65_536.0;
/// Frequencies whose rarity is worked out once, not for each term: most terms are rare.
const COMMON_FREQUENCIES: u32 = 256;

/// A document that holds a term, and what the term is worth there in steps of `IMPACT_STEP`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Posting {
    pub(super) document: u32,
    pub(super) steps: u16,
}

/// Postings in flat arrays. Documents are numbered by the caller. Terms that the arrays do not reach no document holds.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Postings {
    count: usize,
    of_terms: Lists<Posting>,
    in_names: Lists<u32>,
    /// Rarity of each term; 0 for one that no document holds.
    idf: Vec<f32>,
    /// One over the summed rarity of the words of each name.
    name_scale: Vec<f32>,
}

/// One list for each term, one after the other.
#[derive(Debug, Default, PartialEq)]
struct Lists<T> {
    /// That of term `t` is `starts[t]..starts[t + 1]`, by ascending document.
    starts: Vec<u32>,
    items: Vec<T>,
}

/// What a list holds of a document.
trait Item: Copy + Default {
    fn document(self) -> u32;
    fn at(self, document: u32) -> Self;
}

impl Item for Posting {
    fn document(self) -> u32 {
        self.document
    }

    fn at(self, document: u32) -> Self {
        Self { document, ..self }
    }
}

impl Item for u32 {
    fn document(self) -> u32 {
        self
    }

    fn at(self, document: u32) -> Self {
        document
    }
}

impl<T: Item> Lists<T> {
    /// `count` is how many items each term has; its two last places are none's.
    fn with_counts(mut counts: Vec<u32>) -> Self {
        // Two places in front, so that counting, summing and filling all happen in the same array.
        let mut total = 0;
        for start in &mut counts[2..] {
            total += *start;
            *start = total;
        }
        Self { starts: counts, items: vec![T::default(); total as usize] }
    }

    fn push(&mut self, term: TermId, item: T) {
        let slot = &mut self.starts[term as usize + 1];
        self.items[*slot as usize] = item;
        *slot += 1;
    }

    fn of(&self, term: TermId) -> &[T] {
        let term = term as usize;
        match self.starts.get(term..term + 2) {
            Some(ends) => &self.items[ends[0] as usize..ends[1] as usize],
            None => &[],
        }
    }

    /// How many items a term has.
    fn count(&self, term: usize) -> u32 {
        self.starts.get(term..term + 2).map_or(0, |ends| ends[1] - ends[0])
    }

    /// Those of `earlier` under the documents' new numbers, and `self`, for so many terms.
    fn after(self, earlier: &Self, numbers: &Renumbered, terms: usize) -> Self {
        if earlier.items.is_empty() {
            return self;
        }
        let mut all = Self { starts: Vec::with_capacity(terms + 1), items: Vec::new() };
        all.items.reserve(earlier.items.len() + self.items.len());
        for term in 0..terms as TermId {
            all.starts.push(all.items.len() as u32);
            let old = earlier.of(term).iter().filter_map(|item| match numbers.new[item.document() as usize] {
                GONE => None,
                number => Some(item.at(number)),
            });
            let new = self.of(term);
            if new.is_empty() {
                all.items.extend(old);
                continue;
            }
            let mut new = new.iter().copied().peekable();
            for item in old {
                while let Some(before) = new.next_if(|new| new.document() < item.document()) {
                    all.items.push(before);
                }
                all.items.push(item);
            }
            all.items.extend(new);
        }
        all.starts.push(all.items.len() as u32);
        all.items.shrink_to(all.items.len() + all.items.len() / 8);
        all
    }
}

impl Postings {
    /// Indexes `all`, numbered by their order there, of which those that are not new are in `earlier` under other numbers.
    /// `terms` is how many terms there are.
    pub(super) fn after(earlier: &Self, numbers: &Renumbered, all: &[Arc<Prepared>], terms: usize) -> Self {
        let mut of_terms = vec![0u32; terms + 2];
        let mut in_names = vec![0u32; terms + 2];
        let added = || numbers.added.iter().map(|&number| (number, &all[number as usize]));
        for entry in added().flat_map(|(_, document)| &document.entries) {
            of_terms[entry.term as usize + 2] += 1;
            if entry.is_in_name() {
                in_names[entry.term as usize + 2] += 1;
            }
        }
        let (mut of_terms, mut in_names) = (Lists::with_counts(of_terms), Lists::with_counts(in_names));
        for (document, prepared) in added() {
            for entry in &prepared.entries {
                of_terms.push(entry.term, Posting { document, steps: entry.steps() });
                if entry.is_in_name() {
                    in_names.push(entry.term, document);
                }
            }
        }
        // The place that only filling needed.
        of_terms.starts.pop();
        in_names.starts.pop();
        let of_terms = of_terms.after(&earlier.of_terms, numbers, terms);
        let in_names = in_names.after(&earlier.in_names, numbers, terms);
        let idf = rarities(&of_terms, all.len(), terms);
        let name_scale = name_scales(&in_names, &idf, all.len());
        Self { count: all.len(), of_terms, in_names, idf, name_scale }
    }

    /// Number of documents.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Documents that hold the term, and what it is worth in each.
    pub(super) fn of(&self, term: TermId) -> &[Posting] {
        self.of_terms.of(term)
    }

    /// Documents whose names hold the term.
    pub(super) fn in_names(&self, term: TermId) -> &[u32] {
        self.in_names.of(term)
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

/// Rarity of each term among so many documents.
fn rarities(lists: &Lists<Posting>, documents: usize, terms: usize) -> Vec<f32> {
    let n = documents as f64;
    let rarity = |df: u32| match df {
        0 => 0.0,
        df => (1.0 + (n - f64::from(df) + 0.5) / (f64::from(df) + 0.5)).ln() as f32,
    };
    let common: Vec<f32> = (0..COMMON_FREQUENCIES).map(rarity).collect();
    let of_term = |term| {
        let df = lists.count(term);
        common.get(df as usize).copied().unwrap_or_else(|| rarity(df))
    };
    (0..terms).map(of_term).collect()
}

/// One over the summed rarity of the words of each name.
fn name_scales(names: &Lists<u32>, idf: &[f32], documents: usize) -> Vec<f32> {
    let mut sums = vec![0u32; documents];
    for (term, idf) in idf.iter().enumerate() {
        let steps = (idf * RARITY_STEPS) as u32;
        for &document in names.of(term as TermId) {
            let sum = &mut sums[document as usize];
            *sum = sum.saturating_add(steps);
        }
    }
    sums.into_iter().map(|sum| if sum > 0 { RARITY_STEPS / sum as f32 } else { 0.0 }).collect()
}
