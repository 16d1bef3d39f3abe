//! Words that may stand for one another, by a closed table.

use std::collections::HashMap;

use super::vocabulary::{TermId, Vocabulary};

mod table;

use table::{ABBREVIATIONS, GROUPS};

/// Weight of another word of a group.
pub(super) const SYNONYM_WEIGHT: f32 = 0.3;
/// Weight of what an abbreviation is short for, and of the abbreviation of what was spelt out.
pub(super) const ABBREVIATION_WEIGHT: f32 = 0.7;

/// The table, in the terms of one vocabulary.
#[derive(Debug, Default)]
pub(super) struct Synonyms {
    /// Term to its lines in `groups`.
    of: HashMap<TermId, Vec<u16>>,
    /// Terms of each line, in the line's order.
    groups: Vec<Vec<TermId>>,
    /// An abbreviation to what it is short for: the terms of each line.
    expansions: HashMap<TermId, Vec<Vec<TermId>>>,
    /// First term of a spelt-out form to all its terms and the abbreviation's.
    contractions: HashMap<TermId, Vec<(Vec<TermId>, TermId)>>,
}

/// How a word stands for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stand {
    Abbreviation,
    Synonym,
}

impl Synonyms {
    /// Makes the table's words terms of the vocabulary.
    pub(super) fn new(vocabulary: &mut Vocabulary) -> Self {
        let mut table = Self::default();
        let mut terms = |line: &str| -> Vec<TermId> {
            let stems: Vec<String> = line.split_whitespace().map(|word| vocabulary.stem(word).into_owned()).collect();
            stems.iter().map(|stem| vocabulary.intern_stem(stem)).collect()
        };
        for (number, line) in GROUPS.trim().lines().enumerate() {
            let terms = terms(line);
            for &term in &terms {
                table.of.entry(term).or_default().push(number as u16);
            }
            table.groups.push(terms);
        }
        for line in ABBREVIATIONS.trim().lines() {
            let mut long = terms(line);
            let short = long.remove(0);
            table.contractions.entry(long[0]).or_default().push((long.clone(), short));
            table.expansions.entry(short).or_default().push(long);
        }
        table
    }

    /// Calls `f` with each term that `term`, one of those `said`, may stand for, and its weight.
    pub(super) fn each(
        &self,
        term: TermId,
        said: &[Option<TermId>],
        held: impl Fn(TermId) -> bool,
        mut f: impl FnMut(TermId, f32, Stand),
    ) {
        let lines = self.expansions.get(&term).into_iter().flatten();
        let long: Vec<TermId> = lines.flatten().copied().filter(|&term| held(term)).collect();
        for &term in &long {
            f(term, ABBREVIATION_WEIGHT / (long.len() as f32).sqrt(), Stand::Abbreviation);
        }
        for (long, short) in self.contractions.get(&term).into_iter().flatten() {
            if held(*short) && long.iter().all(|part| said.contains(&Some(*part))) {
                f(*short, ABBREVIATION_WEIGHT, Stand::Abbreviation);
            }
        }
        for &group in self.of.get(&term).into_iter().flatten() {
            for &term in self.groups[group as usize].iter().filter(|&&term| held(term)) {
                f(term, SYNONYM_WEIGHT, Stand::Synonym);
            }
        }
    }
}
