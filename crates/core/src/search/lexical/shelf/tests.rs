//! An index that grew is the same as one that was built from nothing.

use proptest::prelude::*;

use super::{
    super::super::{Document, Index, Parameter, Ranker, RankerKind},
    Corpus, Shelf,
};
use crate::ContentHash;

const WORDS: &[&str] = &[
    "create",
    "issue",
    "listing",
    "lists",
    "pods",
    "gitHub",
    "PRs",
    "the",
    "k8s",
    "send",
    "mail",
    "calendar",
    "event",
    "delete",
    "branch",
    "weather",
    "forecast",
    "invoice",
    "zebra",
    "appointment",
    "文件",
    "supprimer",
];
const QUERIES: &[&str] = &[
    "create issue",
    "calender event",
    "send mails to the team",
    "list k8s pods",
    "branche supprimer",
    "文件",
    "zebr",
    "book an appointment. then send the invoice please",
    "github: issue",
    "+mail send",
    "server1",
    "create_issue",
];

fn text(most: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(WORDS), 1..most).prop_map(|words| words.join(" "))
}

/// The tools of one source.
fn tools() -> impl Strategy<Value = Vec<(String, String, String)>> {
    prop::collection::vec((text(4), text(9), text(3)), 0..5)
}

fn documents(sources: &[Vec<(String, String, String)>]) -> Vec<Document> {
    let mut documents = Vec::new();
    for (number, tools) in sources.iter().enumerate() {
        for (at, (name, description, parameter)) in tools.iter().enumerate() {
            documents.push(Document {
                name: format!("{}_{at}_{number}", name.replace(' ', "_")),
                server: format!("server{number}"),
                server_summary: format!("summary {number}"),
                description: description.clone(),
                parameters: vec![Parameter { name: parameter.clone(), ..Parameter::default() }],
                ..Document::default()
            });
        }
    }
    documents
}

fn build(shelf: &Shelf, kind: RankerKind, documents: &[Document]) -> Index {
    let key = |at: usize| ContentHash::of_bytes(format!("{:?}", documents[at]).as_bytes());
    let document = |at: usize| documents[at].clone();
    Index::build_from(kind, shelf, &Corpus { len: documents.len(), key: &key, document: &document })
}

/// What is found, with scores and reasons.
fn answers(index: &Index, documents: &[Document]) -> Vec<String> {
    let mut out = Vec::new();
    for query in QUERIES {
        for hit in index.search(query, 10) {
            let mut why = index.lexical().and_then(|lexical| lexical.explain(query, hit.index));
            if let Some(why) = &mut why {
                why.index = 0;
            }
            out.push(format!("{query}: {} {} {why:?}", documents[hit.index].name, hit.score));
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// After any changes of sources, in whatever order documents come and however many threads read them.
    #[test]
    fn an_updated_index_answers_like_a_fresh_one(
        mut sources in prop::collection::vec(tools(), 3..5),
        changes in prop::collection::vec((0usize..5, tools()), 1..4),
        turn in 0usize..20,
        threads in 1usize..4,
    ) {
        for &kind in RankerKind::ALL.iter().filter(|&&kind| kind != RankerKind::Bm25) {
            let shelf = Shelf::new(threads);
            let mut old = Vec::new();
            for (source, tools) in &changes {
                let documents = documents(&sources);
                // An index that is kept keeps its answers, whatever the shelf learns later.
                let index = build(&shelf, kind, &documents);
                old.push((answers(&index, &documents), index, documents));
                let at = source % sources.len();
                sources[at].clone_from(tools);
            }
            let documents = documents(&sources);
            let mut turned = documents.clone();
            turned.rotate_left(turn % documents.len().max(1));
            let updated = build(&shelf, kind, &turned);
            let fresh = Index::build(kind, &documents);
            prop_assert_eq!(answers(&updated, &turned), answers(&fresh, &documents));
            for (before, index, documents) in &old {
                prop_assert_eq!(before, &answers(index, documents));
            }
        }
    }
}

#[test]
fn threads_make_no_difference() {
    let sources: Vec<_> = (0..40)
        .map(|source| {
            let tool = |at: usize| {
                let word = |step: usize| WORDS[(source * 7 + at * step) % WORDS.len()];
                (
                    format!("{} {}", word(3), word(5)),
                    format!("{} new{source}x{at} {}", word(1), word(11)),
                    word(2).to_owned(),
                )
            };
            (0..30).map(tool).collect()
        })
        .collect();
    let documents = documents(&sources);
    for &kind in RankerKind::ALL.iter().filter(|&&kind| kind != RankerKind::Bm25) {
        let one = answers(&build(&Shelf::new(1), kind, &documents), &documents);
        assert!(!one.is_empty());
        assert_eq!(one, answers(&build(&Shelf::new(4), kind, &documents), &documents), "{kind}");
    }
}

#[test]
fn a_known_document_is_not_read_again_and_one_that_is_gone_is_forgotten() {
    let documents = documents(&[vec![("create issue".to_owned(), "mail".to_owned(), "list".to_owned())]]);
    let reads = std::sync::atomic::AtomicUsize::new(0);
    let shelf = Shelf::new(2);
    let key = |at: usize| ContentHash::of_bytes(&at.to_le_bytes());
    let document = |at: usize| {
        reads.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        documents[at].clone()
    };
    let corpus = Corpus { len: 1, key: &key, document: &document };
    let index = Index::build_from(RankerKind::Lexical, &shelf, &corpus);
    let other = Index::build_from(RankerKind::Lexical, &shelf, &corpus);
    assert_eq!(reads.load(std::sync::atomic::Ordering::Relaxed), 1);
    assert_eq!((index.search("issue", 5).len(), other.search("issue", 5).len()), (1, 1));
    drop((index, other));
    // The last index stays for the next one to be made from; what that lacks is forgotten.
    Index::build_from(RankerKind::Lexical, &shelf, &corpus);
    assert_eq!(reads.load(std::sync::atomic::Ordering::Relaxed), 1);
    let none = Corpus { len: 0, ..corpus };
    Index::build_from(RankerKind::Lexical, &shelf, &none);
    Index::build_from(RankerKind::Lexical, &shelf, &corpus);
    assert_eq!(reads.load(std::sync::atomic::Ordering::Relaxed), 2);
}

#[test]
fn documents_of_one_name_go_by_position_in_an_updated_index_too() {
    let named = |description: &str| Document {
        name: "same".to_owned(),
        server: "server".to_owned(),
        description: description.to_owned(),
        ..Document::default()
    };
    let mut documents = vec![named("create issue"), named("create issues"), named("creates an issue")];
    documents.extend(self::documents(&[vec![("send mail".to_owned(), "mail".to_owned(), "list".to_owned()); 4]]));
    let shelf = Shelf::new(1);
    build(&shelf, RankerKind::Lexical, &documents);
    documents.swap(0, 2);
    documents.swap(1, 4);
    let hits = |index: Index| index.search("create issue", 10);
    let updated = hits(build(&shelf, RankerKind::Lexical, &documents));
    assert_eq!(updated.len(), 3);
    assert_eq!(updated, hits(Index::build(RankerKind::Lexical, &documents)));
}
