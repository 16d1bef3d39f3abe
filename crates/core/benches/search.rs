//! Search over 10,000 tools: the default ranker and the reference over its index, against the reference as its model has
//! it (everything rebuilt for every query), in one run.
//!
//! The catalog is synthetic. `TOOLCRIB_BENCH_CATALOG`, a folder of `tools.jsonl` or `*.json` files (`{"server", "tools"}`),
//! puts real tools in front of it.

#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

use std::{fs, hint::black_box, path::Path, time::Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::Value;
use toolcrib_core::{
    ContentHash,
    search::{Corpus, Document, Index, Parameter, Ranker, RankerKind, Shelf, bm25::naive},
};

const TOOLS: usize = 10_000;
const MANY: usize = 50_000;

const VERBS: &[&str] =
    &["create", "get", "list", "update", "delete", "search", "send", "export", "import", "archive", "assign", "merge"];
const NOUNS: &[&str] = &[
    "issue",
    "pull_request",
    "branch",
    "commit",
    "release",
    "workflow",
    "invoice",
    "payment",
    "refund",
    "customer",
    "contact",
    "message",
    "channel",
    "thread",
    "reminder",
    "calendar_event",
    "meeting",
    "document",
    "page",
    "comment",
    "folder",
    "file",
    "dashboard",
    "monitor",
    "incident",
    "metric",
    "log_stream",
    "deployment",
    "pod",
    "namespace",
    "secret",
    "certificate",
    "dns_record",
    "zone",
    "bucket",
    "object",
    "table",
    "row",
    "query",
    "schema",
    "index",
    "webhook",
    "token",
    "user",
    "team",
    "project",
    "task",
    "sprint",
    "label",
    "milestone",
    "playlist",
    "track",
    "video",
    "image",
    "translation",
    "flight",
    "hotel",
];
const FILLER: &[&str] = &[
    "newest first",
    "with optional filters",
    "in the given workspace",
    "and returns its identifier",
    "by its key",
    "absent fields stay untouched",
    "together with its metadata",
    "for the current account",
    "as a paged result",
    "after checking permissions",
    "including archived ones",
    "without sending notifications",
    "in one request",
];
const PARAMETERS: &[(&str, &str)] = &[
    ("owner", "Account that owns it"),
    ("limit", "Largest number of results to return"),
    ("cursor", "Where the last page ended"),
    ("query", "Text to look for in titles and bodies"),
    ("title", "Short text shown in lists"),
    ("body", "Content in Markdown"),
    ("labels", "Names of labels to attach"),
    ("since", "Only what changed after this time, ISO 8601"),
    ("dry_run", "Check only"),
];
const QUERIES: &[&str] = &[
    "create issue",
    "list open pull requests",
    "send a message to a channel",
    "delete dns record",
    "search customers by email",
    "refund payment",
    "export dashboard metrics",
    "get calendar events for tomorrow",
    "github create branch",
    "k8s pods",
    "upload file to folder",
    "archive old threads",
    "assign task to user in project",
    "rotate secret",
    "translate document",
    "what are the incidents of the last week",
    "book a flight and a hotel",
    "serach isues",
    "update zone certificate",
    "find the invoice of that customer, then send a reminder about it and archive the thread",
    "I need to create a new page for the project and link it to the current sprint. Please also notify the team.",
    "列出所有文件",
    "borrar la rama",
    "query",
    "merge_pull_request",
];

/// A small deterministic generator (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

fn synthetic(number: usize, dice: &mut Dice) -> Document {
    let (verb, noun) = (dice.pick(VERBS), dice.pick(NOUNS));
    let server = format!("service{}", number % 100);
    let filler = dice.pick(FILLER);
    let plain = noun.replace('_', " ");
    let detail: Vec<&str> = (0..6).map(|_| *dice.pick(FILLER)).collect();
    let parameters = (0..2 + dice.below(5)).map(|_| {
        let (name, description) = dice.pick(PARAMETERS);
        Parameter { name: (*name).to_owned(), description: (*description).to_owned(), ..Parameter::default() }
    });
    Document {
        name: format!("{server}__{verb}_{noun}_{number}"),
        description: format!("{verb} a {plain} {filler}. {}", detail.join(", ")),
        parameters: parameters.collect(),
        server_summary: format!("Connects to service {}", number % 100),
        server,
        ..Document::default()
    }
}

fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

fn real(tool: &Value, server: &str) -> Document {
    let schema = if tool["inputSchema"].is_object() { &tool["inputSchema"] } else { &tool["parameters"] };
    Document {
        name: text(tool, "name"),
        server: server.to_owned(),
        description: text(tool, "description"),
        parameters: Parameter::from_schema(schema),
        ..Document::default()
    }
}

fn catalog(tools: usize) -> Vec<Document> {
    let mut documents = Vec::new();
    if let Some(folder) = std::env::var_os("TOOLCRIB_BENCH_CATALOG") {
        let mut paths: Vec<_> = fs::read_dir(Path::new(&folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            let content = fs::read_to_string(&path).unwrap_or_default();
            if path.extension().is_some_and(|end| end == "jsonl") {
                let tools = content.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
                documents.extend(
                    tools.filter(|tool| tool["name"].is_string()).map(|tool| real(&tool, &text(&tool, "server"))),
                );
            } else if let Ok(file) = serde_json::from_str::<Value>(&content) {
                let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
                documents.extend(file["tools"].as_array().into_iter().flatten().map(|tool| real(tool, &stem)));
            }
        }
        println!("{} real tools", documents.len());
    }
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    while documents.len() < tools {
        documents.push(synthetic(documents.len(), &mut dice));
    }
    documents.truncate(tools);
    documents
}

/// Microseconds per query, in order.
fn measure(rounds: usize, mut search: impl FnMut(&str)) -> Vec<f64> {
    let mut times = Vec::new();
    for _ in 0..rounds {
        for query in QUERIES {
            let start = Instant::now();
            search(query);
            times.push(start.elapsed().as_secs_f64() * 1e6);
        }
    }
    times.sort_by(f64::total_cmp);
    times
}

fn at(times: &[f64], share: f64) -> f64 {
    times[((times.len() - 1) as f64 * share) as usize]
}

/// Resident kilobytes of this process, 0 where that cannot be read.
fn resident() -> i64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok()).unwrap_or(0)
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Builds an index on a shelf; `edition` is what the tools of the first source say of themselves, so that they change.
fn build_on(shelf: &Shelf, kind: RankerKind, documents: &[Document], edition: usize) -> Index {
    let changed = |at: usize| documents[at].server == documents[0].server;
    let edition_of = |at: usize| if changed(at) { edition } else { 0 };
    let key = |at: usize| {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&at.to_le_bytes());
        bytes[8..].copy_from_slice(&edition_of(at).to_le_bytes());
        ContentHash::of_bytes(&bytes)
    };
    let document = |at: usize| {
        let mut document = documents[at].clone();
        if changed(at) {
            document.description.push_str(&format!(" Edition {edition}"));
        }
        document
    };
    Index::build_from(kind, shelf, &Corpus { len: documents.len(), key: &key, document: &document })
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    at(&times, 0.5)
}

fn builds(documents: &[Document], kind: RankerKind) {
    let count = documents.len();
    let timed = |f: &mut dyn FnMut()| {
        let start = Instant::now();
        f();
        start.elapsed().as_secs_f64() * 1e3
    };
    for threads in [1, threads()] {
        let times = (0..5).map(|_| timed(&mut || drop(black_box(build_on(&Shelf::new(threads), kind, documents, 0)))));
        println!("{kind}: {count} tools, cold build on {threads} threads {:.1} ms", median(times.collect()));
    }
    let shelf = Shelf::new(threads());
    let mut index = build_on(&shelf, kind, documents, 0);
    let times = (1..16).map(|edition| timed(&mut || index = build_on(&shelf, kind, documents, edition)));
    let changed = documents.iter().filter(|document| document.server == documents[0].server).count();
    println!("{kind}: one source of {changed} tools changed {:.2} ms", median(times.collect()));
    let times = (0..15).map(|_| timed(&mut || drop(black_box(build_on(&shelf, kind, documents, 15)))));
    println!("{kind}: another view of the same tools {:.2} ms", median(times.collect()));
    drop(index);
}

fn search(criterion: &mut Criterion) {
    let documents = catalog(TOOLS);
    // The table of token vectors and the allocator's reserves are not the index's.
    drop(black_box(Index::build(RankerKind::default(), &documents[..10])));
    for &kind in RankerKind::ALL.iter().filter(|&&kind| kind != RankerKind::Bm25) {
        let before = resident();
        let index = build_on(&Shelf::new(threads()), kind, &documents, 0);
        println!(
            "{kind}: {:.1} MB resident for {TOOLS} tools, over the tools themselves",
            (resident() - before) as f64 / 1e3
        );
        drop(black_box(index));
        builds(&documents, kind);
    }
    let baseline = measure(1, |query| drop(black_box(naive::search(&documents, query, 10))));
    let once = Index::build(RankerKind::Bm25, &documents);
    let of_once = measure(100, |query| drop(black_box(once.search(query, 10))));
    println!("reference over an index built once: p50 {:.1} µs, p99 {:.1} µs", at(&of_once, 0.5), at(&of_once, 0.99));
    let mut indexes = Vec::new();
    for &kind in RankerKind::ALL.iter().filter(|&&kind| kind != RankerKind::Bm25) {
        let index = Index::build(kind, &documents);
        measure(20, |query| drop(black_box(index.search(query, 10))));
        let times = measure(200, |query| drop(black_box(index.search(query, 10))));
        let p50 = at(&times, 0.5);
        println!(
            "{kind}: p50 {p50:.1} µs, p99 {:.1} µs; p50 of the reference, rebuilt per query {:.0} µs (ratio {:.0}), built \
             once {:.1} µs (ratio {:.2})",
            at(&times, 0.99),
            at(&baseline, 0.5),
            at(&baseline, 0.5) / p50,
            at(&of_once, 0.5),
            at(&of_once, 0.5) / p50,
        );
        indexes.push((kind, index));
    }
    {
        let many = catalog(MANY);
        for (kind, _) in &indexes {
            let index = build_on(&Shelf::new(threads()), *kind, &many, 0);
            measure(5, |query| drop(black_box(index.search(query, 10))));
            let times = measure(40, |query| drop(black_box(index.search(query, 10))));
            println!("{kind}, {MANY} tools: p50 {:.1} µs, p99 {:.1} µs", at(&times, 0.5), at(&times, 0.99));
        }
    }
    let mut group = criterion.benchmark_group("search/10000");
    for (kind, index) in &indexes {
        let mut next = QUERIES.iter().cycle();
        group.bench_function(kind.to_string(), |bencher| bencher.iter(|| index.search(next.next().unwrap(), 10)));
    }
    group.finish();
}

criterion_group!(benches, search);
criterion_main!(benches);
