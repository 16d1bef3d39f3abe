//! `toolcrib eval`: how well the rankers find tools, on labelled queries.

use std::{fs, hint::black_box, io::Read, path::Path, time::Instant};

use anyhow::{Context, bail};
use toolcrib_core::{
    evaluate::{DEPTH, LabelledQuery, LabelledTools, Scores, percentile},
    search::{Document, Index, Ranker, RankerKind},
};

use crate::{args::EvalArgs, exit::Exit, print};

mod report;
#[cfg(test)]
mod tests;

/// Largest file of tools in bytes.
const MAX_TOOLS_FILE: u64 = 256 * 1024 * 1024;
/// Largest file of queries in bytes.
const MAX_QUERIES_FILE: u64 = 128 * 1024 * 1024;
/// Searches that are timed at least, so that a percentile of few queries is not one hiccup.
const TIMED_SEARCHES: usize = 1_000;
/// Most times that each query is timed.
const MAX_TIMED_PASSES: usize = 50;

/// What was searched, and by what.
struct Labelled {
    tools: LabelledTools,
    queries: Vec<LabelledQuery>,
}

/// What one ranker made of it.
struct Measured {
    kind: RankerKind,
    /// By query: positions of the tools found, best first.
    ranked: Vec<Vec<usize>>,
    /// By query.
    scores: Vec<Scores>,
    /// Microseconds for a whole search: the median, and what all but one in a hundred stay below.
    us_p50: f64,
    us_p99: f64,
}

pub(crate) fn run(args: &EvalArgs) -> anyhow::Result<Exit> {
    let labelled = read(args)?;
    if labelled.tools.repeated() > 0 {
        print::note(format!(
            "warning: left out {} tools whose id an earlier one has already",
            labelled.tools.repeated()
        ));
    }
    if let [a, b] = args.compare[..] {
        let (a, b) = (measure(a, &labelled), measure(b, &labelled));
        if args.json {
            print::json(&report::comparison(&labelled, &a, &b))?;
        } else {
            report::print_comparison(&labelled, &a, &b);
        }
        return Ok(Exit::Done);
    }
    let measured = measure(args.ranker.unwrap_or_default(), &labelled);
    if args.json {
        print::json(&report::single(&labelled, &measured))?;
    } else {
        report::print_single(&labelled, &measured);
        report::print_misses(&labelled, &measured, args.misses);
    }
    Ok(Exit::Done)
}

fn read(args: &EvalArgs) -> anyhow::Result<Labelled> {
    let mut tools = LabelledTools::default();
    for file in &args.tools {
        tools.add(&read_file(file, MAX_TOOLS_FILE)?).with_context(|| file.display().to_string())?;
    }
    if tools.documents().is_empty() {
        bail!(
            "there is no tool in {}",
            args.tools.iter().map(|f| f.display().to_string()).collect::<Vec<_>>().join(", ")
        );
    }
    let file = &args.queries;
    let queries =
        tools.read_queries(&read_file(file, MAX_QUERIES_FILE)?).with_context(|| file.display().to_string())?;
    if queries.is_empty() {
        bail!("there is no query in {}", file.display());
    }
    Ok(Labelled { tools, queries })
}

fn read_file(file: &Path, most: u64) -> anyhow::Result<String> {
    let open = fs::File::open(file).with_context(|| format!("cannot open {}", file.display()))?;
    let mut text = String::new();
    open.take(most + 1)
        .read_to_string(&mut text)
        .with_context(|| format!("cannot read {}: it must be UTF-8 text", file.display()))?;
    if text.len() as u64 > most {
        bail!("{} is larger than {most} bytes; split it", file.display());
    }
    Ok(text)
}

fn measure(kind: RankerKind, labelled: &Labelled) -> Measured {
    let documents: &[Document] = labelled.tools.documents();
    let index = Index::build(kind, documents);
    // The answers are taken in the pass that warms up caches and the ranker's own buffers.
    let ranked: Vec<Vec<usize>> = labelled
        .queries
        .iter()
        .map(|query| index.search(&query.text, DEPTH).iter().map(|hit| hit.index).collect())
        .collect();
    let scores = labelled.queries.iter().zip(&ranked).map(|(query, ranked)| Scores::of(query, ranked)).collect();
    let passes = TIMED_SEARCHES.div_ceil(labelled.queries.len()).clamp(1, MAX_TIMED_PASSES);
    let mut times = Vec::with_capacity(passes * labelled.queries.len());
    for _ in 0..passes {
        for query in &labelled.queries {
            let start = Instant::now();
            black_box(index.search(black_box(&query.text), DEPTH));
            times.push(start.elapsed().as_secs_f64() * 1e6);
        }
    }
    let (us_p50, us_p99) = (percentile(&mut times, 0.5), percentile(&mut times, 0.99));
    Measured { kind, ranked, scores, us_p50, us_p99 }
}
