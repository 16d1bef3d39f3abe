//! What learning from use brings: half of a set's queries stand for past use, the other half is measured without and with
//! what was learnt from them.

use toolcrib_core::{ContentHash, evaluate::LabelledQuery, search::RankerKind, usage::Prior};

use super::{Labelled, Measured, measure::measure_with};

/// Long enough that nothing decays: the simulated use has no times.
const HALF_LIFE_MS: u64 = u64::MAX;

/// The set with only the measured half of its queries, and what was learnt from the other half.
pub(super) struct Split {
    pub(super) set: Labelled,
    prior: Prior,
}

/// Splits the queries by a hash of their texts, so that a query and its repetition fall into the same half.
pub(super) fn split(set: Labelled) -> Split {
    let first_half = |query: &LabelledQuery| ContentHash::of_bytes(query.text.as_bytes()).as_bytes()[0] & 1 == 0;
    let (past, measured): (Vec<_>, Vec<_>) = set.queries.into_iter().partition(first_half);
    let mut prior = Prior::new(HALF_LIFE_MS);
    for query in &past {
        let words = Prior::words_of(&query.text);
        for &tool in &query.gold {
            prior.observe(&words, set.tools.id(tool), 0);
        }
    }
    Split { set: Labelled { queries: measured, ..set }, prior }
}

/// The measured half without what was learnt, and with it.
pub(super) fn before_and_after(kind: RankerKind, split: &Split, hints: bool) -> (Measured, Measured) {
    let before = measure_with(kind, &split.set, hints, None);
    let after = measure_with(kind, &split.set, hints, Some(&split.prior));
    (Measured { label: format!("{kind}"), ..before }, Measured { label: format!("{kind} + use"), ..after })
}
