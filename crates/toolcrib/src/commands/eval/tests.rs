//! The command on small labelled sets.

use std::{fs, path::PathBuf};

use clap::Parser;
use serde_json::{Value, json};
use toolcrib_core::search::RankerKind;

use super::{Labelled, learned, measure::measure, report, sets};
use crate::args::{Cli, Command, EvalArgs};

const TOOLS: &str = r#"{"id":"files:read_file","name":"read_file","description":"Reads a file.","parameters":["path"],"server":"files"}
{"id":"files:list","name":"list_directory","description":"Lists the entries of a folder.","server":"files"}
{"name":"get_weather","description":"Current weather of a city.","server":"weather"}
"#;
const QUERIES: &str = r#"{"id":"1","query":"read a file","gold":["files:read_file"],"style":"keywords"}
{"id":"2","query":"weather of a city","gold":["weather:get_weather"],"style":"request"}
{"id":"3","query":"folder entries","gold":["files:list","files:read_file"],"grades":{"files:list":2,"files:read_file":1},"style":"keywords"}
{"id":"4","query":"book a flight to Rome","gold":[],"style":"absent"}
"#;

fn parse(words: &[&str]) -> Result<EvalArgs, clap::Error> {
    match Cli::try_parse_from(["toolcrib", "eval"].iter().chain(words))?.command {
        Command::Eval(args) => Ok(args),
        other => panic!("{other:?}"),
    }
}

/// The arguments of a run over these files, and the folder that they are in.
fn with_files(tools: &[&str], queries: &str, more: &[&str]) -> (EvalArgs, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: String, text: &str| -> PathBuf {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let mut args = parse(&[&["--tools", "t", "--queries", "q"], more].concat()).unwrap();
    args.tools = tools.iter().enumerate().map(|(at, text)| write(format!("tools{at}.jsonl"), text)).collect();
    args.queries = Some(write("queries.jsonl".to_owned(), queries));
    (args, folder)
}

fn read(args: &EvalArgs) -> anyhow::Result<Labelled> {
    sets::read_one(args)
}

fn report_of(tools: &[&str], kind: RankerKind) -> Value {
    let (args, _folder) = with_files(tools, QUERIES, &[]);
    let labelled = read(&args).unwrap();
    let measured = measure(kind, &labelled, false);
    report::all(&[labelled], &[vec![measured]], false)
}

#[test]
fn a_report_has_every_key_that_scripts_read() {
    let report = report_of(&[TOOLS], RankerKind::Lexical);
    let keys: Vec<&str> = report.as_object().unwrap().keys().map(String::as_str).collect();
    let mut want = vec!["tools".to_owned(), "queries".to_owned(), "ranker".to_owned()];
    want.extend((1..=10).map(|k| format!("recall@{k}")));
    want.extend(["hit@5", "ndcg@10", "mrr", "junk_rate", "us_p50", "us_p99", "ci", "styles"].map(str::to_owned));
    assert_eq!(keys, want);
    assert_eq!((&report["tools"], &report["queries"], &report["ranker"]), (&json!(3), &json!(4), &json!("lexical")));
    assert_eq!((&report["hit@5"], &report["junk_rate"]), (&json!(1.0), &json!(0.0)));
    assert_eq!(report["ci"]["hit@5"], json!([1.0, 1.0]));
    assert_eq!(report["styles"]["keywords"]["queries"], 2);
    assert_eq!(report["styles"]["absent"]["recall@5"], Value::Null, "no query of that style has an answer");
    assert!(report["us_p50"].as_f64() <= report["us_p99"].as_f64());
}

#[test]
fn the_same_files_give_the_same_figures_and_files_add_up() {
    let quality = |tools: &[&str]| {
        let mut report = report_of(tools, RankerKind::Bm25);
        for timing in ["us_p50", "us_p99"] {
            report[timing].take();
        }
        report
    };
    let whole = quality(&[TOOLS]);
    assert_eq!(whole, quality(&[TOOLS]));
    let (first, rest) = TOOLS.split_at(TOOLS.find('\n').unwrap() + 1);
    assert_eq!(whole, quality(&[first, rest]));
    assert_eq!(whole, quality(&[TOOLS, first]), "a tool that is there already is left out");
    assert_eq!(whole["ranker"], "bm25");
}

#[test]
fn two_rankers_are_reported_side_by_side() {
    let (args, _folder) = with_files(&[TOOLS], QUERIES, &["--compare", "bm25", "lexical"]);
    let labelled = read(&args).unwrap();
    let [a, b] = [0, 1].map(|at| vec![measure(args.compare[at], &labelled, false)]);
    let report = report::comparison(&[labelled], &a, &b, false);
    assert_eq!((&report["a"]["ranker"], &report["b"]["ranker"]), (&json!("bm25"), &json!("lexical")));
    let recall = &report["compare"]["recall@5"];
    let difference = report["b"]["recall@5"].as_f64().unwrap() - report["a"]["recall@5"].as_f64().unwrap();
    assert!((recall["difference"].as_f64().unwrap() - difference).abs() < 1e-9);
    for key in ["ci", "p", "larger", "smaller", "equal"] {
        assert!(!recall[key].is_null(), "{key}");
    }
    assert_eq!(report["compare"]["junk_rate"]["difference"].as_f64().map(|change| change <= 0.0), Some(true));
}

#[track_caller]
fn check_usage(words: &[&str], want: &str) {
    let error = parse(words).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains(want), "{error}");
}

#[test]
fn a_ranker_that_is_not_there_is_a_usage_error_that_names_those_that_are() {
    let files = ["--tools", "t", "--queries", "q"];
    let with = |more: &[&'static str]| [&files[..], more].concat();
    check_usage(&with(&["--ranker", "best"]), "unknown ranker `best`");
    check_usage(&with(&["--compare", "bm25", "best"]), "`lexical` or `bm25`");
    check_usage(&with(&["--compare", "bm25"]), "2 values");
    check_usage(&with(&["--compare", "bm25", "lexical", "--ranker", "bm25"]), "cannot be used with");
    check_usage(&["--queries", "q"], "--tools");
    check_usage(&["--tools", "t"], "--queries");
    check_usage(&[], "--queries");
    check_usage(&with(&["--sets", "s"]), "cannot be used with");
    check_usage(&["--sets", "s", "--since", "7d"], "cannot be used with");
    let two = parse(&with(&["--ranker", "bm25,lexical"])).unwrap();
    assert_eq!(two.ranker, [RankerKind::Bm25, RankerKind::Lexical]);
}

#[track_caller]
fn check_refused(tools: &[&str], queries: &str, want: &[&str]) {
    let (args, _folder) = with_files(tools, queries, &[]);
    let error = format!("{:#}", read(&args).err().unwrap());
    for part in want {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn a_file_that_cannot_be_used_is_named_with_its_line() {
    check_refused(&["", ""], QUERIES, &["no tool", "tools0.jsonl", "tools1.jsonl"]);
    check_refused(&[TOOLS], "\n", &["no query", "queries.jsonl"]);
    check_refused(&[TOOLS, "{\"name\":\"a\"}\n{bad"], QUERIES, &["tools1.jsonl", "line 2"]);
    let unknown = "{\"query\":\"q\",\"gold\":[]}\n{\"query\":\"q\",\"gold\":[\"files:write\"]}";
    check_refused(&[TOOLS], unknown, &["queries.jsonl", "line 2", "\"files:write\""]);
    let (mut args, folder) = with_files(&[TOOLS], QUERIES, &[]);
    args.queries = Some(folder.path().join("none.jsonl"));
    assert!(format!("{:#}", read(&args).err().unwrap()).contains("none.jsonl"));
}

/// A folder with two sets, one folder that is none, and a file.
fn folder_of_sets() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, files) in [("b", &["tools", "queries"][..]), ("a", &["tools", "queries"]), ("catalog", &["tools"])] {
        fs::create_dir(folder.path().join(name)).unwrap();
        for file in files {
            let text = if *file == "tools" { TOOLS } else { QUERIES };
            fs::write(folder.path().join(name).join(format!("{file}.jsonl")), text).unwrap();
        }
    }
    fs::write(folder.path().join("README.md"), "sets").unwrap();
    folder
}

#[test]
fn sets_of_a_folder_are_measured_each_and_together() {
    let folder = folder_of_sets();
    let sets = sets::read_all(folder.path()).unwrap();
    assert_eq!(sets.iter().map(|set| set.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    let of = |kind| sets.iter().map(|set| measure(kind, set, false)).collect::<Vec<_>>();
    let report = report::all(&sets, &[of(RankerKind::Lexical)], true);
    assert_eq!((&report["tools"], &report["queries"]), (&json!(6), &json!(8)));
    assert_eq!(report["sets"]["a"]["recall@5"], report["recall@5"], "the mean of two that are the same");
    assert_eq!(report["sets"]["b"]["queries"], 4);
    let both = report::all(&sets, &[of(RankerKind::Bm25), of(RankerKind::Lexical)], true);
    assert_eq!(both["rankers"]["lexical"]["sets"]["a"]["mrr"], report["mrr"]);
    let compared = report::comparison(&sets, &of(RankerKind::Bm25), &of(RankerKind::Lexical), true);
    assert!(compared["compare"]["recall@5"]["p"].is_number() && compared["compare_sets"]["b"]["mrr"]["p"].is_number());
    let error = sets::read_all(&folder.path().join("a")).err().unwrap().to_string();
    assert!(error.contains("holds no set"), "{error}");
}

#[test]
fn hints_are_given_along_when_wanted() {
    let tools = r#"{"name":"get","description":"Gets it.","server":"alpha"}
{"name":"get_it","description":"Gets it.","server":"beta"}"#;
    let queries = r#"{"query":"gets","gold":["beta:get_it"],"server_hint":"the beta service"}"#;
    let (args, _folder) = with_files(&[tools], queries, &["--hints"]);
    assert!(args.hints);
    let set = read(&args).unwrap();
    let first = |hints: bool| measure(RankerKind::Lexical, &set, hints).ranked[0][0];
    assert_eq!((first(false), first(true)), (0, 1));
}

#[test]
fn what_was_learnt_from_one_half_helps_the_other() {
    let tool = |number: usize, does: &str| {
        format!("{{\"name\":\"tool{number}\",\"description\":\"{does}\",\"server\":\"s\"}}\n")
    };
    let tools: String = (0..9)
        .map(|number| tool(number, if number < 3 { "Makes the report." } else { "Draws another chart." }))
        .collect();
    let starts = ["make", "please make", "help me make", "can you make", "i want to make"];
    let ends =
        ["report", "the report", "a report", "this report", "my report", "our report", "some report", "that report"];
    let query = |start: &str, end: &str| format!("{{\"query\":\"{start} {end}\",\"gold\":[\"s:tool2\"]}}\n");
    let queries: String = starts.iter().flat_map(|start| ends.iter().map(move |end| query(start, end))).collect();
    let (args, _folder) = with_files(&[&tools], &queries, &["--learn"]);
    assert!(args.learn);
    let split = learned::split(read(&args).unwrap());
    assert!((10..30).contains(&split.set.queries.len()), "about half: {}", split.set.queries.len());
    let (before, after) = learned::before_and_after(RankerKind::Lexical, &split, false);
    assert_eq!((before.label.as_str(), after.label.as_str()), ("lexical", "lexical + use"));
    let report = report::comparison(&[split.set], &[before], &[after], false);
    assert_eq!((&report["a"]["recall@1"], &report["b"]["recall@1"]), (&json!(0.0), &json!(1.0)));
}
