//! What use tells of search: which tool a search led to, and a prior learnt from that.
//!
//! A search is credited with the tools that ran in the same session before the next search, at most [`WINDOW_MS`] later
//! (the way in which `retrieval.md` §4 labels what an agent searched for). Pure: whoever has searches and calls hands
//! them in, with their times.

mod pairing;
mod prior;

pub use pairing::{Asked, Event, Labelled, SearchMade, WINDOW_MS, attribute, label};
pub use prior::{Experience, MAX_PAIRS, MAX_WORDS, Pair, Prior, WEIGHT, decayed};

#[cfg(test)]
mod tests;
