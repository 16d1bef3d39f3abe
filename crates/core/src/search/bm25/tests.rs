//! Golden vectors of the reference (`tests/data/hermes`): every one must hold to 2e-6.

use serde_json::Value;

use super::{Bm25, document_tokens, naive, tokens};
use crate::search::{Document, Hit, Ranker, tests::golden};

#[track_caller]
fn check_hits(id: &str, documents: &[Document], got: &[Hit], want: &Value) {
    let want = want.as_array().unwrap();
    let names: Vec<&str> = got.iter().map(|hit| documents[hit.index].name.as_str()).collect();
    let wanted: Vec<&str> = want.iter().map(|hit| hit[0].as_str().unwrap()).collect();
    assert_eq!(names, wanted, "{id}");
    for (hit, want) in got.iter().zip(want) {
        let want = want[1].as_f64().unwrap();
        assert!((hit.score - want).abs() <= 2e-6, "{id}: {} is not {want}", hit.score);
    }
}

fn limit(value: &Value) -> usize {
    usize::try_from(value.as_i64().unwrap()).unwrap_or(0)
}

#[test]
fn a_token_is_a_run_of_ascii_letters_and_digits() {
    let golden = golden::read("tokenize");
    for case in golden["cases"].as_array().unwrap() {
        let want: Vec<&str> = case["want"].as_array().unwrap().iter().map(|token| token.as_str().unwrap()).collect();
        assert_eq!(tokens(case["in"].as_str().unwrap()), want, "{}", case["id"]);
    }
}

#[test]
fn a_document_is_name_description_and_parameter_names() {
    let catalogs = golden::all_documents();
    for case in golden::read("tokenize")["documents"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let want: Vec<&str> = case["tokens"].as_array().unwrap().iter().map(|token| token.as_str().unwrap()).collect();
        let found = catalogs.iter().find(|d| d.name == name && document_tokens(d) == want);
        assert!(found.is_some(), "{}: no document {name} has these tokens", case["id"]);
    }
}

#[test]
fn scores_and_order_are_those_of_the_reference() {
    let golden = golden::read("search");
    for catalog in ["small", "medium", "large"] {
        let documents = golden::documents(catalog);
        let index = Bm25::build(&documents);
        for case in golden["cases"].as_array().unwrap().iter().filter(|case| case["catalog"] == catalog) {
            let (id, query) = (case["id"].as_str().unwrap(), case["query"].as_str().unwrap());
            check_hits(id, &documents, &index.search(query, limit(&case["limit"])), &case["hits"]);
            let all = index.search(query, usize::MAX);
            assert_eq!(all.len() as u64, case["matching"].as_u64().unwrap(), "{id}");
        }
        for case in golden["limits"].as_array().unwrap().iter().filter(|case| case["catalog"] == catalog) {
            let hits = index.search(case["query"].as_str().unwrap(), limit(&case["limit"]));
            assert_eq!(hits.len() as u64, case["count"].as_u64().unwrap(), "{}", case["id"]);
            let names: Vec<&str> = hits.iter().take(50).map(|hit| documents[hit.index].name.as_str()).collect();
            let want: Vec<&str> = case["names"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
            assert_eq!(names, want, "{}", case["id"]);
        }
    }
}

#[test]
fn degenerate_catalogs_behave_like_the_reference() {
    for case in golden::read("search")["degenerate"].as_array().unwrap() {
        let documents: Vec<Document> = case["tools"].as_array().unwrap().iter().map(golden::document).collect();
        let (id, query) = (case["id"].as_str().unwrap(), case["query"].as_str().unwrap());
        check_hits(id, &documents, &Bm25::build(&documents).search(query, limit(&case["limit"])), &case["hits"]);
    }
}

#[test]
fn the_index_agrees_with_rebuilding_for_every_query() {
    let documents = golden::documents("medium");
    let index = Bm25::build(&documents);
    for query in ["create issue", "list list", "a", "zzz", "hub", "", "gmail send attachment", "ISSUE the"] {
        let (fast, slow) = (index.search(query, 20), naive::search(&documents, query, 20));
        assert_eq!(fast.len(), slow.len(), "{query}");
        for (a, b) in fast.iter().zip(&slow) {
            assert!(a.index == b.index && (a.score - b.score).abs() < 1e-12, "{query}: {a:?} {b:?}");
        }
    }
}
