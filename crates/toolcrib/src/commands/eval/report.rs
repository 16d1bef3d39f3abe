//! What `eval` prints: one JSON document or tables. Of several sets the figures at the top are the plain means of the
//! sets' own.

use serde_json::{Map, Value, json};
use toolcrib_core::evaluate::{Comparison, Estimate, Scores, Summary, compare, compare_sets, styles};

use super::{Labelled, Measured};
use crate::print;

/// Columns of the tables by style and by set, each a metric.
const COLUMNS: [&str; 7] = ["recall@1", "recall@5", "recall@10", "hit@5", "ndcg@10", "mrr", "junk_rate"];
/// Most characters of a query in the list of misses.
const MAX_QUERY_SHOWN: usize = 160;
/// Hits shown of a miss, and the places in which a gold tool must be not to be one.
const MISS_DEPTH: usize = 5;

/// Everything that was measured: one ranker's report, or one under each ranker's name.
pub(super) fn all(sets: &[Labelled], measured: &[Vec<Measured>], several: bool) -> Value {
    let mut report = head(sets);
    if let [only] = measured {
        report.extend(ranker(sets, only, several));
    } else {
        let named = measured.iter().map(|of_ranker| (kind(of_ranker), ranker(sets, of_ranker, several).into()));
        report.insert("rankers".to_owned(), named.collect::<Map<_, _>>().into());
    }
    report.into()
}

pub(super) fn comparison(sets: &[Labelled], a: &[Measured], b: &[Measured], several: bool) -> Value {
    let mut report = head(sets);
    report.insert("a".to_owned(), ranker(sets, a, several).into());
    report.insert("b".to_owned(), ranker(sets, b, several).into());
    report.insert("compare".to_owned(), differences(compare_sets(&pairs(a, b))).into());
    if several {
        let of_set = sets.iter().zip(a.iter().zip(b));
        let of_set = of_set.map(|(set, (a, b))| (set.name.clone(), differences(compare(&a.scores, &b.scores)).into()));
        report.insert("compare_sets".to_owned(), of_set.collect::<Map<_, _>>().into());
    }
    report.into()
}

fn pairs<'a>(a: &'a [Measured], b: &'a [Measured]) -> Vec<(&'a [Scores], &'a [Scores])> {
    a.iter().zip(b).map(|(a, b)| (a.scores.as_slice(), b.scores.as_slice())).collect()
}

fn kind(measured: &[Measured]) -> String {
    measured.first().map(|measured| measured.label.clone()).unwrap_or_default()
}

fn differences(comparisons: Vec<Comparison>) -> Map<String, Value> {
    let value = |Comparison { metric, difference, p, larger, smaller, equal }: Comparison| {
        let value = json!({
            "difference": difference.mean,
            "ci": difference.interval,
            "p": p,
            "larger": larger,
            "smaller": smaller,
            "equal": equal,
        });
        (metric.to_owned(), value)
    };
    comparisons.into_iter().map(value).collect()
}

fn head(sets: &[Labelled]) -> Map<String, Value> {
    let mut head = Map::new();
    head.insert("tools".to_owned(), sets.iter().map(|set| set.tools.documents().len()).sum::<usize>().into());
    head.insert("queries".to_owned(), sets.iter().map(|set| set.queries.len()).sum::<usize>().into());
    head
}

fn summary(measured: &[Measured]) -> Summary {
    let scores: Vec<&[Scores]> = measured.iter().map(|measured| measured.scores.as_slice()).collect();
    Summary::of_sets(&scores)
}

/// Mean over the sets.
fn time(measured: &[Measured], of: impl Fn(&Measured) -> f64) -> f64 {
    let sum: f64 = measured.iter().map(of).sum();
    (sum / measured.len().max(1) as f64 * 10.0).round() / 10.0
}

fn ranker(sets: &[Labelled], measured: &[Measured], several: bool) -> Map<String, Value> {
    let mut report = Map::new();
    report.insert("ranker".to_owned(), kind(measured).into());
    let summary = summary(measured);
    report.extend(means(&summary));
    report.insert("us_p50".to_owned(), time(measured, |measured| measured.us_p50).into());
    report.insert("us_p99".to_owned(), time(measured, |measured| measured.us_p99).into());
    report.insert("ci".to_owned(), intervals(&summary).into());
    let by_style: Map<String, Value> = all_styles(sets, measured)
        .into_iter()
        .map(|(style, summary)| {
            let mut value = Map::new();
            value.insert("queries".to_owned(), summary.queries.into());
            value.extend(means(&summary));
            value.insert("ci".to_owned(), intervals(&summary).into());
            (style, value.into())
        })
        .collect();
    report.insert("styles".to_owned(), by_style.into());
    if several {
        let of_set = sets.iter().zip(measured).map(|(set, measured)| {
            let mut value = head(std::slice::from_ref(set));
            value.extend(ranker(std::slice::from_ref(set), std::slice::from_ref(measured), false));
            value.remove("ranker");
            (set.name.clone(), value.into())
        });
        report.insert("sets".to_owned(), of_set.collect::<Map<_, _>>().into());
    }
    report
}

/// The figures by style, over the queries of all sets together.
fn all_styles(sets: &[Labelled], measured: &[Measured]) -> std::collections::BTreeMap<String, Summary> {
    let queries: Vec<_> = sets.iter().flat_map(|set| set.queries.iter().cloned()).collect();
    let scores: Vec<Scores> = measured.iter().flat_map(|measured| measured.scores.iter().copied()).collect();
    styles(&queries, &scores)
}

/// A figure for which there is no query is null.
fn means(summary: &Summary) -> impl Iterator<Item = (String, Value)> + '_ {
    summary.figures().map(|(name, figure)| (name.to_owned(), figure.map(|figure| figure.mean).into()))
}

fn intervals(summary: &Summary) -> Map<String, Value> {
    let known = summary.figures().filter_map(|(name, figure)| Some((name, figure?)));
    known.map(|(name, figure)| (name.to_owned(), json!(figure.interval))).collect()
}

/// One ranker's tables: all figures with intervals, then by set, then by style.
pub(super) fn print(sets: &[Labelled], measured: &[Measured], several: bool) {
    let known = summary(measured);
    let mut rows: Vec<Vec<String>> = known
        .figures()
        .map(|(name, figure)| vec![name.to_owned(), mean(figure), figure.map(interval).unwrap_or_default()])
        .collect();
    for (name, time) in
        [("us_p50", time(measured, |measured| measured.us_p50)), ("us_p99", time(measured, |measured| measured.us_p99))]
    {
        rows.push(vec![name.to_owned(), format!("{time:.1}"), String::new()]);
    }
    print::table(&["METRIC", "VALUE", "95 %"], rows);
    if several {
        let of_set = sets.iter().zip(measured).map(|(set, measured)| {
            let mut row = columns(&set.name, &Summary::of(&measured.scores));
            row.extend([format!("{:.1}", measured.us_p50), format!("{:.1}", measured.us_p99)]);
            row
        });
        print::line("");
        print_columns("SET", &["US_P50", "US_P99"], of_set.collect());
    }
    let styles = all_styles(sets, measured);
    if !styles.is_empty() {
        print::line("");
        print_columns("STYLE", &[], styles.iter().map(|(style, summary)| columns(style, summary)).collect());
    }
    note(sets, &format!("Ranker {}", kind(measured)));
}

fn columns(name: &str, summary: &Summary) -> Vec<String> {
    let figure = |column: &&str| {
        let found = summary.figures().find(|(name, _)| name == column);
        mean(found.and_then(|(_, figure)| figure))
    };
    [name.to_owned(), summary.queries.to_string()].into_iter().chain(COLUMNS.iter().map(figure)).collect()
}

fn print_columns(first: &str, last: &[&str], rows: Vec<Vec<String>>) {
    let names = COLUMNS.map(str::to_ascii_uppercase);
    let headings = [first, "QUERIES"].into_iter().chain(names.iter().map(String::as_str)).chain(last.iter().copied());
    print::table(&headings.collect::<Vec<_>>(), rows);
}

pub(super) fn print_comparison(sets: &[Labelled], a: &[Measured], b: &[Measured], several: bool) {
    let (of_a, of_b) = (summary(a), summary(b));
    let mut rows: Vec<Vec<String>> = compare_sets(&pairs(a, b))
        .iter()
        .map(|comparison| compared(comparison.metric.to_owned(), &of_a, &of_b, comparison))
        .collect();
    for (name, a, b) in [
        ("us_p50", time(a, |measured| measured.us_p50), time(b, |measured| measured.us_p50)),
        ("us_p99", time(a, |measured| measured.us_p99), time(b, |measured| measured.us_p99)),
    ] {
        let mut row = vec![name.to_owned(), format!("{a:.1}"), format!("{b:.1}"), format!("{:+.1}", b - a)];
        row.resize(8, String::new());
        rows.push(row);
    }
    let (name_a, name_b) = (kind(a), kind(b));
    let headings = ["METRIC", &name_a, &name_b, "DIFFERENCE", "95 %", "P", "LARGER", "SMALLER"];
    print::table(&headings, rows);
    if several {
        let of_set = sets.iter().zip(a.iter().zip(b)).filter_map(|(set, (a, b))| {
            let comparison = compare(&a.scores, &b.scores).into_iter().find(|one| one.metric == "recall@5")?;
            Some(compared(set.name.clone(), &Summary::of(&a.scores), &Summary::of(&b.scores), &comparison))
        });
        print::line("");
        let headings = ["RECALL@5 OF", &name_a, &name_b, "DIFFERENCE", "95 %", "P", "LARGER", "SMALLER"];
        print::table(&headings, of_set.collect());
    }
    note(sets, &format!("{name_b} against {name_a}, query by query"));
}

fn compared(name: String, a: &Summary, b: &Summary, comparison: &Comparison) -> Vec<String> {
    let of = |summary: &Summary| {
        mean(summary.figures().find(|(name, _)| *name == comparison.metric).and_then(|(_, figure)| figure))
    };
    vec![
        name,
        of(a),
        of(b),
        format!("{:+.3}", comparison.difference.mean),
        interval(comparison.difference),
        format!("{:.3}", comparison.p),
        comparison.larger.to_string(),
        comparison.smaller.to_string(),
    ]
}

/// Lists the first queries of which no gold tool is among the first five hits, and those that got junk.
pub(super) fn print_misses(labelled: &Labelled, measured: &Measured, most: usize) {
    let missed = |at: &usize| match measured.scores[*at] {
        Scores::Absent { junk } => junk,
        Scores::Answerable(_) => {
            let gold = &labelled.queries[*at].gold;
            !measured.ranked[*at].iter().take(MISS_DEPTH).any(|place| gold.binary_search(place).is_ok())
        }
    };
    let names = |places: &[usize]| {
        let documents = labelled.tools.documents();
        let names: Vec<&str> = places.iter().take(MISS_DEPTH).map(|&place| documents[place].name.as_str()).collect();
        if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
    };
    for at in (0..labelled.queries.len()).filter(missed).take(most) {
        let query = &labelled.queries[at];
        let text: String = query.text.chars().take(MAX_QUERY_SHOWN).collect();
        print::line("");
        print::line(print::clean(&text));
        print::line(print::clean(&format!("  wanted  {}", names(&query.gold))));
        print::line(print::clean(&format!("  found   {}", names(&measured.ranked[at]))));
    }
}

fn note(sets: &[Labelled], what: &str) {
    let head = head(sets);
    let of = if sets.len() > 1 { format!(", mean of {} sets", sets.len()) } else { String::new() };
    print::note(format!("{what}: {} queries, {} tools{of}.", head["queries"], head["tools"]));
}

fn mean(figure: Option<Estimate>) -> String {
    figure.map_or_else(|| "-".to_owned(), |figure| format!("{:.3}", figure.mean))
}

fn interval(figure: Estimate) -> String {
    format!("{:.3} to {:.3}", figure.interval.0, figure.interval.1)
}
