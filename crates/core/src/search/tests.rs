//! What holds for every ranker.

use std::collections::HashSet;

use proptest::prelude::*;

use super::{Document, Index, Parameter, Ranker, RankerKind};

#[cfg(feature = "dense")]
mod encoded;
pub(crate) mod golden;
mod quality;

const KINDS: &[RankerKind] = RankerKind::ALL;

#[test]
fn kinds_have_names() {
    for &kind in KINDS {
        assert_eq!(kind.to_string().parse(), Ok(kind));
    }
    assert_eq!(" BM25 ".parse(), Ok(RankerKind::Bm25));
    let best = if cfg!(feature = "dense") { "hybrid" } else { "lexical" };
    assert_eq!(RankerKind::default().to_string(), best);
    let error = "hybird".parse::<RankerKind>().unwrap_err();
    let names = if cfg!(feature = "dense") {
        "`hybrid`, `lexical` or `bm25`"
    } else {
        "`lexical` or `bm25`; this build has no `hybrid`"
    };
    assert_eq!(error.to_string(), format!("unknown ranker `hybird`: use {names}"));
}

#[test]
fn a_query_is_read_up_to_its_bound() {
    let documents = golden::documents("small");
    for &kind in KINDS {
        let index = Index::build(kind, &documents);
        let late = format!("{} issue", "x ".repeat(1000));
        assert_eq!(index.search(&late, 5), [], "{kind}");
        assert!(!index.search("issue", 5).is_empty(), "{kind}");
    }
}

#[test]
fn parameters_are_read_from_any_schema() {
    let schema = serde_json::json!({"type": "object", "properties": {
        "a": {"description": "first", "enum": ["x", 1, null, "y"]},
        "b": {"type": "array", "items": {"properties": {"c": true}}},
        "d": {"additionalProperties": {"properties": {"e": {"description": 5}}}}}});
    let parameters = Parameter::from_schema(&schema);
    let names: Vec<(&str, bool)> = parameters.iter().map(|p| (p.name.as_str(), p.nested)).collect();
    assert_eq!(names, [("a", false), ("b", false), ("c", true), ("d", false), ("e", true)]);
    assert_eq!(parameters[0].enum_values, ["x", "1", "y"]);
    for odd in [serde_json::json!(null), serde_json::json!(true), serde_json::json!({"properties": []})] {
        assert_eq!(Parameter::from_schema(&odd), []);
    }
    let mut deep = serde_json::json!({});
    for _ in 0..100 {
        deep = serde_json::json!({"properties": {"x": deep}});
    }
    assert!(Parameter::from_schema(&deep).len() < 20);
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(vec!["create", "issue", "list", "pods", "gitHub", "PRs", "the", "k8s", "send", "mail"])
            .prop_map(str::to_owned),
        2 => "[a-zA-Z]{1,9}",
        1 => any::<String>(),
        1 => prop::sample::select(vec![":", "+", "select:", "\"", ".", ", and", "日本語", "é\u{301}", "ß", "\u{200d}"])
            .prop_map(str::to_owned),
    ]
}

fn words(most: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(word(), 0..most).prop_map(|words| words.join(" "))
}

fn document() -> impl Strategy<Value = Document> {
    (words(3), words(2), words(8), words(3), words(3)).prop_map(|(name, server, description, parameter, summary)| {
        Document {
            name: name.replace(' ', "_"),
            server,
            server_summary: summary,
            description,
            parameters: vec![Parameter { name: parameter, ..Parameter::default() }],
            ..Document::default()
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// No panic on anything; hits are within bounds, in order, each once, and explained.
    #[test]
    fn any_query_on_any_catalog_is_answered(
        documents in prop::collection::vec(document(), 0..12),
        queries in prop::collection::vec(words(12), 1..4),
        limit in 0usize..20,
    ) {
        for &kind in KINDS {
            let index = Index::build(kind, &documents);
            for query in &queries {
                let hits = index.search(query, limit);
                prop_assert!(hits.len() <= limit);
                prop_assert!(hits.windows(2).all(|pair| pair[0].score >= pair[1].score));
                prop_assert_eq!(hits.iter().map(|hit| hit.index).collect::<HashSet<_>>().len(), hits.len());
                prop_assert!(hits.iter().all(|hit| hit.index < documents.len() && hit.score > 0.0));
                prop_assert_eq!(&hits, &index.search(query, limit));
                for hit in hits {
                    index.lexical().and_then(|lexical| lexical.explain(query, hit.index));
                }
            }
        }
    }

    /// The default ranker's answer does not depend on the order in which the documents came.
    #[test]
    fn the_order_of_documents_does_not_matter(
        documents in prop::collection::vec(document(), 1..12),
        query in words(8),
        turn in 0usize..12,
    ) {
        // Documents that are equal in name and server cannot be told apart in the answer.
        let mut seen = HashSet::new();
        let documents: Vec<Document> =
            documents.into_iter().filter(|document| seen.insert(document.name.clone())).collect();
        let mut turned = documents.clone();
        turned.rotate_left(turn % documents.len());
        for &kind in KINDS.iter().filter(|&&kind| kind != RankerKind::Bm25) {
            let answer = |documents: &[Document]| -> Vec<(String, f64)> {
                let hits = Index::build(kind, documents).search(&query, 20).into_iter();
                hits.map(|hit| (documents[hit.index].name.clone(), hit.score)).collect()
            };
            prop_assert_eq!(answer(&documents), answer(&turned));
        }
    }

    /// The inverted index of the reference ranker scores like rebuilding everything.
    #[test]
    fn the_reference_index_agrees_with_the_plain_algorithm(
        documents in prop::collection::vec(document(), 0..12),
        query in words(8),
    ) {
        let fast = Index::build(RankerKind::Bm25, &documents).search(&query, 20);
        let slow = super::bm25::naive::search(&documents, &query, 20);
        prop_assert_eq!(fast.len(), slow.len());
        for (a, b) in fast.iter().zip(&slow) {
            prop_assert!((a.score - b.score).abs() < 1e-9);
        }
    }
}
