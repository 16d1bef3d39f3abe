//! One ranker on one set: what it finds, and in what time.

use std::{hint::black_box, time::Instant};

use toolcrib_core::{
    evaluate::{DEPTH, LabelledQuery, Scores, percentile},
    find::{Ask, Filter, Searcher, find},
    search::{Index, Ranker, RankerKind},
    usage::Prior,
};

use super::Labelled;

/// Searches that are timed at least, so that a percentile of few queries is not one hiccup.
const TIMED_SEARCHES: usize = 1_000;
/// Most times that each query is timed.
const MAX_TIMED_PASSES: usize = 50;

/// What one ranker made of a set.
pub(super) struct Measured {
    /// The ranker's name, and what else tells it from others.
    pub(super) label: String,
    /// By query: positions of the tools found, best first.
    pub(super) ranked: Vec<Vec<usize>>,
    /// By query.
    pub(super) scores: Vec<Scores>,
    /// Microseconds for a whole search: the median, and what all but one in a hundred stay below.
    pub(super) us_p50: f64,
    pub(super) us_p99: f64,
}

pub(super) fn measure(kind: RankerKind, set: &Labelled, hints: bool) -> Measured {
    measure_with(kind, set, hints, None)
}

/// The same with what was learnt from use.
pub(super) fn measure_with(kind: RankerKind, set: &Labelled, hints: bool, prior: Option<&Prior>) -> Measured {
    let index = Index::build(kind, set.tools.documents());
    // The reference knows no forms of queries.
    if kind == RankerKind::Bm25 && prior.is_none() {
        let search = |query: &LabelledQuery| -> Vec<usize> {
            index.search(&query.text, DEPTH).iter().map(|hit| hit.index).collect()
        };
        return measure_search(kind.to_string(), set, search);
    }
    measure_search(kind.to_string(), set, |query| answer(&index, set, query, hints, prior))
}

/// A searcher of whatever kind.
pub(super) fn measure_searcher(label: String, searcher: &dyn Searcher, set: &Labelled, hints: bool) -> Measured {
    measure_search(label, set, |query| answer(searcher, set, query, hints, None))
}

/// Asks every query once.
pub(super) fn answers(searcher: &dyn Searcher, set: &Labelled, hints: bool) {
    for query in &set.queries {
        black_box(answer(searcher, set, query, hints, None));
    }
}

fn answer(
    searcher: &dyn Searcher,
    set: &Labelled,
    query: &LabelledQuery,
    hints: bool,
    prior: Option<&Prior>,
) -> Vec<usize> {
    let filter = Filter::default();
    let hint = if hints { query.hint.as_str() } else { "" };
    let learned = prior.map(|prior| (prior, 0));
    let ask = Ask { limit: DEPTH, offset: 0, server: None, hint, filter: &filter, learned };
    find(&set.tools, searcher, &query.text, &ask).hits.iter().map(|hit| hit.index).collect()
}

fn measure_search(label: String, set: &Labelled, search: impl Fn(&LabelledQuery) -> Vec<usize>) -> Measured {
    // The answers are taken in the pass that warms up caches and the ranker's own buffers.
    let ranked: Vec<Vec<usize>> = set.queries.iter().map(&search).collect();
    let scores = set.queries.iter().zip(&ranked).map(|(query, ranked)| Scores::of(query, ranked)).collect();
    let passes = TIMED_SEARCHES.div_ceil(set.queries.len()).clamp(1, MAX_TIMED_PASSES);
    let mut times = Vec::with_capacity(passes * set.queries.len());
    for _ in 0..passes {
        for query in &set.queries {
            let start = Instant::now();
            black_box(search(black_box(query)));
            times.push(start.elapsed().as_secs_f64() * 1e6);
        }
    }
    let (us_p50, us_p99) = (percentile(&mut times, 0.5), percentile(&mut times, 0.99));
    Measured { label, ranked, scores, us_p50, us_p99 }
}
