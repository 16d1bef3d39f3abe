//! Floors of quality on a labelled set of our own (`tests/data/search/`): tools as well-known servers have them, and
//! queries in the styles in which people and models ask. Floors, not exact values: a change may move single queries, but
//! must not lose a style.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    bridge::Card,
    evaluate::{LabelledQuery, LabelledTools, Scores},
    find::{Ask, find},
    search::{Index, Options, RankerKind},
};

fn read(name: &str) -> String {
    std::fs::read_to_string(format!("{}/tests/data/search/{name}.jsonl", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn labelled() -> (LabelledTools, Vec<LabelledQuery>) {
    let mut tools = LabelledTools::default();
    tools.add(&read("tools")).unwrap();
    let queries = tools.read_queries(&read("queries")).unwrap();
    (tools, queries)
}

/// Share by style: of the gold tools found among the first five; of the queries without any answer, those answered.
fn shares(kind: RankerKind) -> BTreeMap<String, f64> {
    let (tools, queries) = labelled();
    let index = Index::build(kind, tools.documents());
    let documents = tools.documents().iter();
    let cards: Vec<Card<'_>> = documents
        .map(|tool| Card { name: &tool.name, server: &tool.server, definition: &Value::Null, tool: None })
        .collect();
    let mut sums: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for query in &queries {
        let answer = find(cards.as_slice(), &index, &query.text, &Ask::default());
        let ranked: Vec<usize> = answer.hits.iter().map(|hit| hit.index).collect();
        let value = match Scores::of(query, &ranked) {
            Scores::Answerable(values) => values[4],
            Scores::Absent { junk } => f64::from(u8::from(junk)),
        };
        if value < 1.0 && !query.gold.is_empty() || value > 0.0 && query.gold.is_empty() {
            let names: Vec<&str> = ranked.iter().map(|&at| tools.documents()[at].name.as_str()).collect();
            println!("{kind} {} {value:.2} {}: {}", query.style, query.text, names.join(" "));
        }
        let sum = sums.entry(query.style.clone()).or_default();
        *sum = (sum.0 + value, sum.1 + 1.0);
    }
    sums.into_iter().map(|(style, (sum, count))| (style, sum / count)).collect()
}

#[track_caller]
fn check(kind: RankerKind, floors: &[(&str, f64)], most_junk: f64) {
    let shares = shares(kind);
    println!("{kind}: {shares:?}");
    for (style, floor) in floors {
        assert!(shares[*style] >= *floor, "{kind}, {style}: {:.3} is below {floor}", shares[*style]);
    }
    assert!(shares["absent"] <= most_junk, "{kind}: {:.3} of the unanswerable are answered", shares["absent"]);
}

#[test]
fn every_style_is_answered_by_words_alone() {
    let floors = [
        ("keywords", 0.9),
        ("request", 0.7),
        ("paraphrase", 0.4),
        ("qualified", 0.9),
        ("morphology", 0.9),
        ("typo", 0.8),
        ("language", 0.8),
        ("steps", 0.6),
    ];
    check(RankerKind::Lexical, &floors, 0.2);
}

#[cfg(feature = "dense")]
#[test]
fn every_style_is_answered_better_with_dense_evidence() {
    let floors = [
        ("keywords", 0.95),
        ("request", 0.7),
        ("paraphrase", 0.6),
        ("qualified", 0.95),
        ("morphology", 0.95),
        ("typo", 0.85),
        ("language", 0.85),
        ("steps", 0.65),
    ];
    check(RankerKind::Hybrid, &floors, 0.2);
}

/// The floor of an answer costs few answers: most of what is found without it is found with it.
#[test]
fn the_floor_hardly_costs_answers() {
    let (tools, queries) = labelled();
    for &kind in RankerKind::ALL.iter().filter(|&&kind| kind != RankerKind::Bm25) {
        let index = Index::build(kind, tools.documents());
        let lexical = index.lexical().unwrap();
        let found = |query: &LabelledQuery, answerable_only: bool| {
            let options = Options { answerable_only, ..Options::default() };
            lexical.search_with(&query.text, &options).iter().any(|hit| query.gold.contains(&hit.index))
        };
        let with = queries.iter().filter(|query| found(query, true)).count();
        let without = queries.iter().filter(|query| found(query, false)).count();
        assert!(with * 100 >= without * 88, "{kind}: {with} of {without}");
    }
}
