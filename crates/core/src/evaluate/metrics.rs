//! How good one ranked answer is (`retrieval.md` §2).

use super::LabelledQuery;

/// How many hits of an answer count.
pub const DEPTH: usize = 10;

/// The metrics of a query that some tool answers, in the order of [`Scores::Answerable`].
///
/// - `recall@k`: share of the gold tools among the first k.
/// - `hit@5`: 1 if any gold tool is among the first five.
/// - `ndcg@10`: gain 2^grade − 1 over log2(rank + 1), divided by the best possible; grades are 1 where labels have none.
/// - `mrr`: 1 over the rank of the first gold tool, 0 beyond ten.
pub const METRICS: [&str; 13] = [
    "recall@1",
    "recall@2",
    "recall@3",
    "recall@4",
    "recall@5",
    "recall@6",
    "recall@7",
    "recall@8",
    "recall@9",
    "recall@10",
    "hit@5",
    "ndcg@10",
    "mrr",
];

/// How one query was answered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scores {
    /// Some tool answers it: the value of each of [`METRICS`], 0 to 1.
    Answerable([f64; METRICS.len()]),
    /// No tool answers it.
    Absent {
        /// Whether something was handed out nevertheless.
        junk: bool,
    },
}

impl Scores {
    /// Scores a ranked list of tools, best first. What is beyond [`DEPTH`] does not count.
    pub fn of(query: &LabelledQuery, ranked: &[usize]) -> Self {
        if query.gold.is_empty() {
            return Self::Absent { junk: !ranked.is_empty() };
        }
        let ranked = &ranked[..ranked.len().min(DEPTH)];
        let is_gold = |place: &usize| query.gold.binary_search(place).is_ok();
        let mut values = [0.0; METRICS.len()];
        let mut found = 0;
        for (k, recall) in values[..DEPTH].iter_mut().enumerate() {
            found += usize::from(ranked.get(k).is_some_and(is_gold));
            *recall = found as f64 / query.gold.len() as f64;
        }
        let first = ranked.iter().position(is_gold);
        values[DEPTH] = f64::from(u8::from(first.is_some_and(|rank| rank < 5)));
        values[DEPTH + 1] = ndcg(query, ranked);
        values[DEPTH + 2] = first.map_or(0.0, |rank| 1.0 / (rank as f64 + 1.0));
        Self::Answerable(values)
    }
}

fn ndcg(query: &LabelledQuery, ranked: &[usize]) -> f64 {
    let grade = |place: usize| match &query.grades {
        Some(grades) => grades.iter().find(|(graded, _)| *graded == place).map_or(0.0, |(_, grade)| *grade),
        None => f64::from(u8::from(query.gold.binary_search(&place).is_ok())),
    };
    let mut best: Vec<f64> = match &query.grades {
        Some(grades) => grades.iter().map(|(_, grade)| *grade).collect(),
        None => vec![1.0; query.gold.len()],
    };
    best.sort_by(|a, b| b.total_cmp(a));
    best.truncate(DEPTH);
    let ideal = discounted_gain(best.into_iter());
    if ideal > 0.0 { discounted_gain(ranked.iter().map(|&place| grade(place))) / ideal } else { 0.0 }
}

fn discounted_gain(grades: impl Iterator<Item = f64>) -> f64 {
    grades.enumerate().map(|(rank, grade)| (grade.exp2() - 1.0) / (rank as f64 + 2.0).log2()).sum()
}
