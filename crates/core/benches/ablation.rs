//! What each part of the ranking contributes, on labelled sets:
//! `cargo bench -p toolcrib-core --bench ablation -- FOLDER`, where every folder in FOLDER with `tools.jsonl` and
//! `queries.jsonl` is a set. Prints a Markdown table of recall@5, the plain mean over the sets last, and how much is
//! lost without each part; then how many queries get no answer from their own set's tools, and how many get one from
//! the tools of other sets, which mostly have none for them.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

use std::{fs, path::Path};

use toolcrib_core::{
    evaluate::{LabelledQuery, LabelledTools, Scores, Summary},
    search::{Document, Hit, Index, Options, Part, Parts, Ranker, RankerKind},
};

/// Most queries of one set: a table needs no more, and all variants take the same.
const MAX_QUERIES: usize = 600;

/// Of how many queries of each other set it is counted whether they get an answer.
const FOREIGN_QUERIES: usize = 60;

/// What is taken from a document.
type Change = fn(&mut Document);

struct Set {
    name: String,
    documents: Vec<Document>,
    queries: Vec<LabelledQuery>,
}

fn read(folder: &Path) -> Vec<Set> {
    let mut folders: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    let read = |path: &std::path::PathBuf| {
        let queries = fs::read_to_string(path.join("queries.jsonl")).ok()?;
        let mut tools = LabelledTools::default();
        tools.add(&fs::read_to_string(path.join("tools.jsonl")).ok()?).unwrap();
        let mut queries = tools.read_queries(&queries).unwrap();
        queries.truncate(MAX_QUERIES);
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        Some(Set { name, documents: tools.documents().to_vec(), queries })
    };
    folders.iter().filter_map(read).collect()
}

fn recall(queries: &[LabelledQuery], search: impl Fn(&str) -> Vec<Hit>) -> f64 {
    let scores: Vec<Scores> = queries
        .iter()
        .map(|query| Scores::of(query, &search(&query.text).iter().map(|hit| hit.index).collect::<Vec<_>>()))
        .collect();
    let summary = Summary::of(&scores);
    summary.figures().find(|(name, _)| *name == "recall@5").and_then(|(_, figure)| figure).map_or(0.0, |f| f.mean)
}

/// Share of the queries that get some answer.
fn answered<'a>(queries: impl Iterator<Item = &'a LabelledQuery>, index: &Index) -> f64 {
    let options = Options { limit: 1, ..Options::default() };
    let answers: Vec<bool> = queries.map(|query| !index.search_with(&query.text, &options).is_empty()).collect();
    answers.iter().filter(|answered| **answered).count() as f64 / answers.len().max(1) as f64
}

/// How well a ranker tells queries that its tools answer from those that are about something else.
fn answers(sets: &[Set]) {
    println!("\n| | own queries without an answer | queries of other sets with one |\n|---|---|---|");
    for &kind in RankerKind::ALL {
        let (mut own, mut foreign) = (0.0, 0.0);
        for set in sets {
            let index = Index::build(kind, &set.documents);
            own += 1.0 - answered(set.queries.iter(), &index);
            let others = sets.iter().filter(|other| other.name != set.name);
            let spread = |other: &'_ &Set| (other.queries.len() / FOREIGN_QUERIES).max(1);
            foreign += answered(others.flat_map(|other| other.queries.iter().step_by(spread(&other))), &index);
        }
        let count = sets.len() as f64;
        println!("| {kind} | {:.3} | {:.3} |", own / count, foreign / count);
    }
}

/// A row of the table; its mean.
fn row(name: &str, values: &[f64], full: Option<f64>) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let cells: Vec<String> = values.iter().map(|value| format!("{value:.3}")).collect();
    let lost = full.map_or_else(String::new, |full| format!("{:+.1}", (mean - full) * 100.0));
    println!("| {name} | {} | {mean:.3} | {lost} |", cells.join(" | "));
    mean
}

fn main() {
    let Some(folder) = std::env::args().skip(1).find(|argument| !argument.starts_with("--")) else {
        println!("give the folder of labelled sets: cargo bench -p toolcrib-core --bench ablation -- FOLDER");
        return;
    };
    let sets = read(Path::new(&folder));
    let names: Vec<&str> = sets.iter().map(|set| set.name.as_str()).collect();
    println!("| | {} | mean | points |\n|---|{}---|---|", names.join(" | "), "---|".repeat(sets.len()));
    let indexes = |kind: RankerKind, change: Change| -> Vec<Index> {
        let build = |set: &Set| {
            let mut documents = set.documents.clone();
            documents.iter_mut().for_each(change);
            Index::build(kind, &documents)
        };
        sets.iter().map(build).collect()
    };
    let measure = |indexes: &[Index], options: Options<'_>| -> Vec<f64> {
        let search = |index: &Index, text: &str| match index.lexical() {
            Some(lexical) => lexical.search_with(text, &options),
            None => index.search(text, options.limit),
        };
        sets.iter().zip(indexes).map(|(set, index)| recall(&set.queries, |text| search(index, text))).collect()
    };
    let options = Options { limit: 10, ..Options::default() };
    let mut best = (Vec::new(), 0.0);
    for &kind in RankerKind::ALL {
        let built = indexes(kind, |_| {});
        let mean = row(&format!("**{kind}**"), &measure(&built, options), None);
        best = (built, mean);
    }
    let (built, full) = best;
    for part in Part::ALL {
        let without = Options { without: Parts::NONE.and(part), ..options };
        row(&format!("without {}", part.as_str()), &measure(&built, without), Some(full));
    }
    row("handing out filler", &measure(&built, Options { answerable_only: false, ..options }), Some(full));
    let changes: [(&str, Change); 4] = [
        ("without descriptions of parameters", |document| {
            for parameter in &mut document.parameters {
                parameter.description.clear();
                parameter.enum_values.clear();
            }
        }),
        ("without parameters", |document| document.parameters.clear()),
        ("without server labels", |document| document.server.clear()),
        ("without server summaries", |document| document.server_summary.clear()),
    ];
    for (name, change) in changes {
        row(name, &measure(&indexes(RankerKind::default(), change), options), Some(full));
    }
    answers(&sets);
}
