//! Figures over many queries.

use std::collections::BTreeMap;

use super::{
    LabelledQuery, METRICS, Scores,
    resample::{chance, intervals, means},
};

/// The name of the share of queries without an answer that got one.
pub const JUNK_RATE: &str = "junk_rate";
/// Most styles told apart; queries of further ones are put together.
const MAX_STYLES: usize = 100;
/// Where those go.
const OTHER_STYLES: &str = "(other)";

/// A mean and how far it can be trusted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean over the queries.
    pub mean: f64,
    /// The 95 % bootstrap interval.
    pub interval: (f64, f64),
}

/// The figures of a set of queries.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// How many queries there are, those without an answer included.
    pub queries: usize,
    /// By metric, in the order of [`METRICS`], over the queries that some tool answers. `None` if there are none.
    pub answered: Option<[Estimate; METRICS.len()]>,
    /// Share of the queries that no tool answers and that got hits nevertheless. `None` if there are none.
    pub junk_rate: Option<Estimate>,
}

/// One metric of two rankers on the same queries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// One of [`METRICS`], or [`JUNK_RATE`] (of which less is better).
    pub metric: &'static str,
    /// Mean of the second ranker minus mean of the first.
    pub difference: Estimate,
    /// How likely a difference at least this large is by chance (paired randomisation test, two-sided).
    pub p: f64,
    /// Queries for which the second has the larger value, the smaller one, and the same.
    pub larger: usize,
    /// See [`Self::larger`].
    pub smaller: usize,
    /// See [`Self::larger`].
    pub equal: usize,
}

impl Summary {
    /// The figures of these queries.
    pub fn of<'a>(scores: impl IntoIterator<Item = &'a Scores>) -> Self {
        let (mut answered, mut absent) = (Vec::new(), Vec::new());
        for scores in scores {
            match scores {
                Scores::Answerable(values) => answered.push(*values),
                Scores::Absent { junk } => absent.push([f64::from(u8::from(*junk))]),
            }
        }
        Self {
            queries: answered.len() + absent.len(),
            answered: (!answered.is_empty()).then(|| estimates(&answered)),
            junk_rate: (!absent.is_empty()).then(|| estimates(&absent)[0]),
        }
    }

    /// Every figure with its name: [`METRICS`], then [`JUNK_RATE`]; `None` where no query tells.
    pub fn figures(&self) -> impl Iterator<Item = (&'static str, Option<Estimate>)> + '_ {
        let metric = |(index, name): (usize, &&'static str)| (*name, self.answered.map(|values| values[index]));
        METRICS.iter().enumerate().map(metric).chain([(JUNK_RATE, self.junk_rate)])
    }
}

/// The figures by style, in the order of their names. Empty if no query tells its style.
pub fn styles(queries: &[LabelledQuery], scores: &[Scores]) -> BTreeMap<String, Summary> {
    let mut groups: BTreeMap<&str, Vec<&Scores>> = BTreeMap::new();
    for (query, scores) in queries.iter().zip(scores).filter(|(query, _)| !query.style.is_empty()) {
        let known = groups.len() < MAX_STYLES || groups.contains_key(query.style.as_str());
        groups.entry(if known { &query.style } else { OTHER_STYLES }).or_default().push(scores);
    }
    groups.into_iter().map(|(style, scores)| (style.to_owned(), Summary::of(scores))).collect()
}

/// Compares two rankers on the same queries, in the same order: every metric for which there are queries.
pub fn compare(first: &[Scores], second: &[Scores]) -> Vec<Comparison> {
    let (mut answered, mut absent) = (Vec::new(), Vec::new());
    for pair in first.iter().zip(second) {
        match pair {
            (Scores::Answerable(a), Scores::Answerable(b)) => {
                answered.push(std::array::from_fn::<f64, { METRICS.len() }, _>(|metric| b[metric] - a[metric]));
            }
            (Scores::Absent { junk: a }, Scores::Absent { junk: b }) => {
                absent.push([f64::from(u8::from(*b)) - f64::from(u8::from(*a))]);
            }
            // Whether a query has an answer is a matter of its labels, which are the same for both.
            _ => {}
        }
    }
    let mut comparisons = comparisons(&METRICS, &answered);
    comparisons.extend(self::comparisons(&[JUNK_RATE], &absent));
    comparisons
}

fn comparisons<const N: usize>(names: &[&'static str; N], differences: &[[f64; N]]) -> Vec<Comparison> {
    if differences.is_empty() {
        return Vec::new();
    }
    let (estimates, chances) = (estimates(differences), chance(differences));
    let count = |metric: usize, is: fn(f64) -> bool| differences.iter().filter(|row| is(row[metric])).count();
    let comparison = |(metric, name): (usize, &&'static str)| {
        let (larger, smaller) = (count(metric, |value| value > 0.0), count(metric, |value| value < 0.0));
        let equal = differences.len() - larger - smaller;
        Comparison { metric: name, difference: estimates[metric], p: chances[metric], larger, smaller, equal }
    };
    names.iter().enumerate().map(comparison).collect()
}

fn estimates<const N: usize>(rows: &[[f64; N]]) -> [Estimate; N] {
    let (means, intervals) = (means(rows), intervals(rows));
    std::array::from_fn(|column| Estimate { mean: means[column], interval: intervals[column] })
}

/// The smallest of the values that at least this share (0 to 1) of them do not exceed; 0 if there are none. Sorts them.
pub fn percentile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let rank = (share * values.len() as f64).ceil() as usize;
    values.get(rank.saturating_sub(1).min(values.len().saturating_sub(1))).copied().unwrap_or(0.0)
}
