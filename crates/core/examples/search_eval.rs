//! Measures the rankers on labelled queries.
//!
//! `search_eval DIR...`: each directory holds `tools.jsonl` (`id`, `name`, `description`, `parameters`, `server`,
//! `server_description`) and `queries.jsonl` (`id`, `query`, `gold`). Without a directory the relevance set of the tests
//! is used. `--show N` prints the first N queries of each set whose first five hits hold no gold tool. `--alien DIR` asks
//! each catalog the queries of that set as well, and prints the share that is answered although it should not be.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::{collections::HashSet, path::Path, time::Instant};

use serde_json::Value;
use toolcrib_core::search::{Document, Index, Parameter, Ranker, RankerKind};

struct Query {
    text: String,
    gold: HashSet<usize>,
}

struct Set {
    name: String,
    documents: Vec<Document>,
    queries: Vec<Query>,
}

#[derive(Default)]
struct Figures {
    recall: [f64; 2],
    hit5: f64,
    ndcg: f64,
    mrr: f64,
    silent: f64,
    answered: usize,
    junk: [usize; 2],
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

fn read_set(directory: &Path) -> Set {
    let tools = lines(&directory.join("tools.jsonl"));
    let ids: Vec<String> = tools.iter().map(|tool| text(tool, "id")).collect();
    let documents = tools.iter().map(|tool| Document {
        name: text(tool, "name"),
        server: text(tool, "server"),
        server_summary: text(tool, "server_description"),
        description: text(tool, "description"),
        parameters: Parameter::from_schema(&tool["parameters"]),
        ..Document::default()
    });
    let queries = lines(&directory.join("queries.jsonl"))
        .iter()
        .map(|query| {
            let gold = query["gold"].as_array().unwrap();
            let place = |id: &Value| ids.iter().position(|known| Some(known.as_str()) == id.as_str());
            Query { text: text(query, "query"), gold: gold.iter().filter_map(place).collect() }
        })
        .collect();
    Set { name: directory.file_name().unwrap().to_string_lossy().into(), documents: documents.collect(), queries }
}

/// The relevance set: one catalog and its queries.
fn golden(catalog: &str) -> Set {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hermes");
    let read =
        |name: &str| -> Value { serde_json::from_str(&std::fs::read_to_string(data.join(name)).unwrap()).unwrap() };
    let tools = read("catalogs.json")[catalog].as_array().unwrap().clone();
    let names: Vec<String> = tools.iter().map(|tool| text(tool, "name")).collect();
    let parameter = |name: &Value| Parameter { name: name.as_str().unwrap().to_owned(), ..Parameter::default() };
    let documents = tools.iter().map(|tool| Document {
        name: text(tool, "name"),
        server: text(tool, "toolset").trim_start_matches("mcp-").to_owned(),
        description: text(tool, "description"),
        parameters: tool["params"].as_array().unwrap().iter().map(parameter).collect(),
        ..Document::default()
    });
    let cases = read("relevance.json");
    let queries = cases["cases"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|case| case["catalog"] == catalog)
        .map(|case| {
            let gold = case["targets"].as_array().unwrap().iter();
            let place = |target: &Value| names.iter().position(|name| Some(name.as_str()) == target.as_str());
            Query { text: text(case, "query"), gold: gold.filter_map(place).collect() }
        })
        .collect();
    Set { name: format!("relevance/{catalog}"), documents: documents.collect(), queries }
}

fn measure(index: &Index, set: &Set, show: usize) -> Figures {
    let mut figures = Figures::default();
    let mut shown = 0;
    for query in &set.queries {
        let hits: Vec<usize> = index.search(&query.text, 10).iter().map(|hit| hit.index).collect();
        if query.gold.is_empty() {
            figures.junk[0] += usize::from(!hits.is_empty());
            figures.junk[1] += 1;
            if show > 0 && !hits.is_empty() {
                println!("    junk {:?}: {}", query.text, set.documents[hits[0]].name);
            }
            continue;
        }
        let found = |k: usize| hits.iter().take(k).filter(|hit| query.gold.contains(hit)).count() as f64;
        let gold = query.gold.len() as f64;
        figures.answered += 1;
        figures.recall[0] += found(1) / gold;
        figures.recall[1] += found(5) / gold;
        figures.hit5 += f64::from(u8::from(found(5) > 0.0));
        figures.silent += f64::from(u8::from(hits.is_empty()));
        let gain = |rank: usize| 1.0 / (rank as f64 + 2.0).log2();
        let dcg: f64 = hits.iter().enumerate().filter(|(_, h)| query.gold.contains(h)).map(|(r, _)| gain(r)).sum();
        figures.ndcg += dcg / (0..query.gold.len().min(10)).map(gain).sum::<f64>();
        figures.mrr +=
            hits.iter().position(|hit| query.gold.contains(hit)).map_or(0.0, |rank| 1.0 / (rank as f64 + 1.0));
        if found(5) == 0.0 && shown < show {
            shown += 1;
            let name = |at: &usize| set.documents[*at].name.as_str();
            let (got, want): (Vec<_>, Vec<_>) =
                (hits.iter().take(4).map(name).collect(), query.gold.iter().map(name).collect());
            println!(
                "    {:?}\n      want {want:?}\n      got  {got:?}",
                query.text.chars().take(160).collect::<String>()
            );
        }
    }
    figures
}

fn main() {
    let mut directories = Vec::new();
    let (mut show, mut alien) = (0, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--show" => show = arguments.next().unwrap().parse().unwrap(),
            "--alien" => alien = Some(read_set(Path::new(&arguments.next().unwrap()))),
            _ => directories.push(argument),
        }
    }
    let mut sets: Vec<Set> = directories.iter().map(|directory| read_set(Path::new(directory))).collect();
    if sets.is_empty() {
        sets = ["large", "medium"].map(golden).into();
    }
    for kind in [RankerKind::Bm25, RankerKind::Lexical] {
        println!(
            "{:20} {:>6} {:>6} | R@1   R@5   hit@5 NDCG  MRR   silent junk    us p50  p99  build ms",
            kind.to_string(),
            "tools",
            "queries"
        );
        let mut total = Figures::default();
        for set in &sets {
            let start = Instant::now();
            let index = Index::build(kind, &set.documents);
            let build = start.elapsed().as_secs_f64() * 1e3;
            let mut times: Vec<f64> = set
                .queries
                .iter()
                .map(|query| {
                    let start = Instant::now();
                    std::hint::black_box(index.search(&query.text, 10));
                    start.elapsed().as_secs_f64() * 1e6
                })
                .collect();
            times.sort_by(f64::total_cmp);
            let f = measure(&index, set, if kind == RankerKind::Lexical { show } else { 0 });
            let n = f.answered.max(1) as f64;
            let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
            print!(
                "{:20} {:>6} {:>7} | {:.3} {:.3} {:.3} {:.3} {:.3} {:.3}  {}/{}  {:6.1} {:6.1} {build:6.1}",
                set.name,
                set.documents.len(),
                set.queries.len(),
                f.recall[0] / n,
                f.recall[1] / n,
                f.hit5 / n,
                f.ndcg / n,
                f.mrr / n,
                f.silent / n,
                f.junk[0],
                f.junk[1],
                at(0.5),
                at(0.99)
            );
            if let Some(alien) = &alien {
                let answered = alien.queries.iter().filter(|query| !index.search(&query.text, 5).is_empty()).count();
                print!("  alien {:.2}", answered as f64 / alien.queries.len() as f64);
            }
            println!();
            total.recall[0] += f.recall[0] / n;
            total.recall[1] += f.recall[1] / n;
            total.hit5 += f.hit5 / n;
            total.ndcg += f.ndcg / n;
            total.mrr += f.mrr / n;
            total.silent += f.silent / n;
        }
        let n = sets.len() as f64;
        println!(
            "{:35} | {:.3} {:.3} {:.3} {:.3} {:.3} {:.3}\n",
            "macro",
            total.recall[0] / n,
            total.recall[1] / n,
            total.hit5 / n,
            total.ndcg / n,
            total.mrr / n,
            total.silent / n
        );
    }
}
