//! What `eval` prints: one JSON document or tables.

use serde_json::{Map, Value, json};
use toolcrib_core::evaluate::{Comparison, Estimate, Scores, Summary, compare, styles};

use super::{Labelled, Measured};
use crate::print;

/// Columns of the table by style, each a metric.
const STYLE_COLUMNS: [&str; 6] = ["recall@1", "recall@5", "recall@10", "ndcg@10", "mrr", "junk_rate"];
/// Most characters of a query in the list of misses.
const MAX_QUERY_SHOWN: usize = 160;
/// Hits shown of a miss, and the places in which a gold tool must be not to be one.
const MISS_DEPTH: usize = 5;

pub(super) fn single(labelled: &Labelled, measured: &Measured) -> Value {
    let mut report = head(labelled);
    report.extend(ranker(labelled, measured));
    report.into()
}

pub(super) fn comparison(labelled: &Labelled, a: &Measured, b: &Measured) -> Value {
    let mut report = head(labelled);
    report.insert("a".to_owned(), ranker(labelled, a).into());
    report.insert("b".to_owned(), ranker(labelled, b).into());
    let metrics: Map<String, Value> = compare(&a.scores, &b.scores)
        .into_iter()
        .map(|Comparison { metric, difference, p, larger, smaller, equal }| {
            let value = json!({
                "difference": difference.mean,
                "ci": difference.interval,
                "p": p,
                "larger": larger,
                "smaller": smaller,
                "equal": equal,
            });
            (metric.to_owned(), value)
        })
        .collect();
    report.insert("compare".to_owned(), metrics.into());
    report.into()
}

fn head(labelled: &Labelled) -> Map<String, Value> {
    let mut head = Map::new();
    head.insert("tools".to_owned(), labelled.tools.documents().len().into());
    head.insert("queries".to_owned(), labelled.queries.len().into());
    head
}

fn ranker(labelled: &Labelled, measured: &Measured) -> Map<String, Value> {
    let mut report = Map::new();
    report.insert("ranker".to_owned(), measured.kind.to_string().into());
    let summary = Summary::of(&measured.scores);
    report.extend(means(&summary));
    report.insert("us_p50".to_owned(), tenths(measured.us_p50).into());
    report.insert("us_p99".to_owned(), tenths(measured.us_p99).into());
    report.insert("ci".to_owned(), intervals(&summary).into());
    let styles: Map<String, Value> = styles(&labelled.queries, &measured.scores)
        .into_iter()
        .map(|(style, summary)| {
            let mut value = Map::new();
            value.insert("queries".to_owned(), summary.queries.into());
            value.extend(means(&summary));
            value.insert("ci".to_owned(), intervals(&summary).into());
            (style, value.into())
        })
        .collect();
    report.insert("styles".to_owned(), styles.into());
    report
}

/// A figure for which there is no query is null.
fn means(summary: &Summary) -> impl Iterator<Item = (String, Value)> + '_ {
    summary.figures().map(|(name, figure)| (name.to_owned(), figure.map(|figure| figure.mean).into()))
}

fn intervals(summary: &Summary) -> Map<String, Value> {
    let known = summary.figures().filter_map(|(name, figure)| Some((name, figure?)));
    known.map(|(name, figure)| (name.to_owned(), json!(figure.interval))).collect()
}

fn tenths(microseconds: f64) -> f64 {
    (microseconds * 10.0).round() / 10.0
}

pub(super) fn print_single(labelled: &Labelled, measured: &Measured) {
    let known = Summary::of(&measured.scores);
    let mut rows: Vec<Vec<String>> = known
        .figures()
        .map(|(name, figure)| vec![name.to_owned(), mean(figure), figure.map(interval).unwrap_or_default()])
        .collect();
    for (name, time) in [("us_p50", measured.us_p50), ("us_p99", measured.us_p99)] {
        rows.push(vec![name.to_owned(), format!("{time:.1}"), String::new()]);
    }
    print::table(&["METRIC", "VALUE", "95 %"], rows);
    let styles = styles(&labelled.queries, &measured.scores);
    if !styles.is_empty() {
        print::line("");
        let row = |(style, summary): (&String, &Summary)| {
            let figure = |column: &&str| {
                let found = summary.figures().find(|(name, _)| name == column);
                mean(found.and_then(|(_, figure)| figure))
            };
            let head = [style.clone(), summary.queries.to_string()];
            head.into_iter().chain(STYLE_COLUMNS.iter().map(figure)).collect()
        };
        let columns = STYLE_COLUMNS.map(str::to_ascii_uppercase);
        let headings: Vec<&str> = ["STYLE", "QUERIES"].into_iter().chain(columns.iter().map(String::as_str)).collect();
        print::table(&headings, styles.iter().map(row).collect());
    }
    note(labelled, &format!("Ranker {}", measured.kind));
}

pub(super) fn print_comparison(labelled: &Labelled, a: &Measured, b: &Measured) {
    let (of_a, of_b) = (Summary::of(&a.scores), Summary::of(&b.scores));
    let comparisons = compare(&a.scores, &b.scores);
    let mut rows: Vec<Vec<String>> = comparisons
        .iter()
        .map(|comparison| {
            let of = |summary: &Summary| {
                mean(summary.figures().find(|(name, _)| *name == comparison.metric).and_then(|(_, figure)| figure))
            };
            vec![
                comparison.metric.to_owned(),
                of(&of_a),
                of(&of_b),
                format!("{:+.3}", comparison.difference.mean),
                interval(comparison.difference),
                format!("{:.3}", comparison.p),
                comparison.larger.to_string(),
                comparison.smaller.to_string(),
            ]
        })
        .collect();
    for (name, a, b) in [("us_p50", a.us_p50, b.us_p50), ("us_p99", a.us_p99, b.us_p99)] {
        let mut row = vec![name.to_owned(), format!("{a:.1}"), format!("{b:.1}"), format!("{:+.1}", b - a)];
        row.resize(8, String::new());
        rows.push(row);
    }
    let (a, b) = (a.kind.to_string(), b.kind.to_string());
    print::table(&["METRIC", &a, &b, "DIFFERENCE", "95 %", "P", "LARGER", "SMALLER"], rows);
    note(labelled, &format!("{b} against {a}, query by query"));
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

fn note(labelled: &Labelled, what: &str) {
    let (queries, tools) = (labelled.queries.len(), labelled.tools.documents().len());
    print::note(format!("{what}: {queries} queries, {tools} tools."));
}

fn mean(figure: Option<Estimate>) -> String {
    figure.map_or_else(|| "-".to_owned(), |figure| format!("{:.3}", figure.mean))
}

fn interval(figure: Estimate) -> String {
    format!("{:.3} to {:.3}", figure.interval.0, figure.interval.1)
}
