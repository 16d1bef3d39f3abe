//! Measuring search: labelled tools and queries, scores of ranked answers, their uncertainty, and the comparison of two
//! rankers on the same queries.
//!
//! Everything is pure: whoever runs the searches (and times them) hands in the ranked lists. Definitions are those of
//! `retrieval.md` §2. Intervals and tests draw from a fixed seed, so the same answers give the same figures.

mod labels;
mod metrics;
mod resample;
mod summary;

pub use labels::{LabelError, LabelledQuery, LabelledTools};
pub use metrics::{DEPTH, METRICS, Scores};
pub use summary::{Comparison, Estimate, JUNK_RATE, Summary, compare, compare_sets, percentile, styles};

#[cfg(test)]
mod tests;
