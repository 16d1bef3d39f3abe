//! The command on small labelled sets.

use std::{fs, path::PathBuf};

use clap::Parser;
use serde_json::{Value, json};
use toolcrib_core::search::RankerKind;

use super::{measure, read, report};
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
    args.queries = write("queries.jsonl".to_owned(), queries);
    (args, folder)
}

fn report_of(tools: &[&str], kind: RankerKind) -> Value {
    let (args, _folder) = with_files(tools, QUERIES, &[]);
    let labelled = read(&args).unwrap();
    report::single(&labelled, &measure(kind, &labelled))
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
    let (a, b) = (measure(args.compare[0], &labelled), measure(args.compare[1], &labelled));
    let report = report::comparison(&labelled, &a, &b);
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
    assert_eq!(parse(&files).unwrap().ranker.unwrap_or_default(), RankerKind::default());
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
    args.queries = folder.path().join("none.jsonl");
    assert!(format!("{:#}", read(&args).err().unwrap()).contains("none.jsonl"));
}

#[test]
fn a_file_is_read_up_to_its_bound() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("big");
    fs::write(&path, "12345").unwrap();
    assert_eq!(super::read_file(&path, 5).unwrap(), "12345");
    assert!(super::read_file(&path, 4).unwrap_err().to_string().contains("larger than 4 bytes"));
    fs::write(&path, [0xff, 0xfe]).unwrap();
    assert!(super::read_file(&path, 5).unwrap_err().to_string().contains("UTF-8"));
}
