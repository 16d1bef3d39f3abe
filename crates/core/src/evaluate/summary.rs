//! Figures over many queries.

use std::collections::BTreeMap;

use super::{
    LabelledQuery, METRICS, Scores,
    resample::{chance_of_sets, intervals_of_sets, means},
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
        let scores: Vec<Scores> = scores.into_iter().copied().collect();
        Self::of_sets(&[&scores])
    }

    /// The figures of several sets of queries: the plain mean of the sets' own, so that a small set counts as much as a
    /// large one. A figure that a set does not tell is the mean of the others.
    pub fn of_sets(sets: &[&[Scores]]) -> Self {
        let rows: Vec<Rows> = sets.iter().map(|scores| Rows::of(scores)).collect();
        let answered: Vec<&[[f64; METRICS.len()]]> = rows.iter().map(|rows| rows.answered.as_slice()).collect();
        let absent: Vec<&[[f64; 1]]> = rows.iter().map(|rows| rows.absent.as_slice()).collect();
        Self {
            queries: sets.iter().map(|scores| scores.len()).sum(),
            answered: estimates(&answered),
            junk_rate: estimates(&absent).map(|rate| rate[0]),
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

/// Scores as numbers: of queries that some tool answers, and of those that none does.
#[derive(Default)]
struct Rows {
    answered: Vec<[f64; METRICS.len()]>,
    absent: Vec<[f64; 1]>,
}

impl Rows {
    fn of(scores: &[Scores]) -> Self {
        let mut rows = Self::default();
        for scores in scores {
            match scores {
                Scores::Answerable(values) => rows.answered.push(*values),
                Scores::Absent { junk } => rows.absent.push([f64::from(u8::from(*junk))]),
            }
        }
        rows
    }

    /// Second minus first. Whether a query has an answer is a matter of its labels, which are the same for both.
    fn difference(first: &[Scores], second: &[Scores]) -> Self {
        let (first, second) = (Self::of(first), Self::of(second));
        let answered = first.answered.iter().zip(&second.answered);
        let absent = first.absent.iter().zip(&second.absent);
        Self {
            answered: answered.map(|(a, b)| std::array::from_fn(|metric| b[metric] - a[metric])).collect(),
            absent: absent.map(|(a, b)| [b[0] - a[0]]).collect(),
        }
    }
}

/// Compares two rankers on the same queries, in the same order: every metric for which there are queries.
pub fn compare(first: &[Scores], second: &[Scores]) -> Vec<Comparison> {
    compare_sets(&[(first, second)])
}

/// The same over several sets, each of which counts as much as any other.
pub fn compare_sets(pairs: &[(&[Scores], &[Scores])]) -> Vec<Comparison> {
    let rows: Vec<Rows> = pairs.iter().map(|(first, second)| Rows::difference(first, second)).collect();
    let answered: Vec<&[[f64; METRICS.len()]]> = rows.iter().map(|rows| rows.answered.as_slice()).collect();
    let absent: Vec<&[[f64; 1]]> = rows.iter().map(|rows| rows.absent.as_slice()).collect();
    let mut all = comparisons(&METRICS, &answered);
    all.extend(comparisons(&[JUNK_RATE], &absent));
    all
}

fn comparisons<const N: usize>(names: &[&'static str; N], sets: &[&[[f64; N]]]) -> Vec<Comparison> {
    let Some(estimates) = estimates(sets) else { return Vec::new() };
    let chances = chance_of_sets(sets);
    let rows = || sets.iter().flat_map(|rows| rows.iter());
    let count = |metric: usize, is: fn(f64) -> bool| rows().filter(|row| is(row[metric])).count();
    let comparison = |(metric, name): (usize, &&'static str)| {
        let (larger, smaller) = (count(metric, |value| value > 0.0), count(metric, |value| value < 0.0));
        let equal = rows().count() - larger - smaller;
        Comparison { metric: name, difference: estimates[metric], p: chances[metric], larger, smaller, equal }
    };
    names.iter().enumerate().map(comparison).collect()
}

/// The mean of the sets' means; `None` where no set has a row.
fn estimates<const N: usize>(sets: &[&[[f64; N]]]) -> Option<[Estimate; N]> {
    let of_sets: Vec<[f64; N]> = sets.iter().filter(|rows| !rows.is_empty()).map(|rows| means(rows)).collect();
    if of_sets.is_empty() {
        return None;
    }
    let (means, intervals) = (means(&of_sets), intervals_of_sets(sets));
    Some(std::array::from_fn(|column| Estimate { mean: means[column], interval: intervals[column] }))
}

/// The smallest of the values that at least this share (0 to 1) of them do not exceed; 0 if there are none. Sorts them.
pub fn percentile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let rank = (share * values.len() as f64).ceil() as usize;
    values.get(rank.saturating_sub(1).min(values.len().saturating_sub(1))).copied().unwrap_or(0.0)
}
