//! What an encoder changes in searches, and what it does not.

use std::{collections::HashMap, sync::Arc};

use super::super::{Document, Encoding, Hit, Index, Options, QueryVectors, RankerKind, Vector};
use crate::find::{EncodedIndex, Searcher as _};

/// Vectors by text.
#[derive(Default)]
struct Known(HashMap<String, Arc<Vector>>);

impl Known {
    fn of(texts: &[(&str, &[f32])]) -> Self {
        Self(texts.iter().map(|(text, parts)| ((*text).to_owned(), Arc::new(Vector::new(parts).unwrap()))).collect())
    }
}

impl QueryVectors for Known {
    fn vector(&self, text: &str) -> Option<Arc<Vector>> {
        self.0.get(text).cloned()
    }
}

fn document(server: &str, name: &str, description: &str) -> Document {
    Document { server: server.into(), name: name.into(), description: description.into(), ..Document::default() }
}

/// Three tools that mention notes, one that does not. To the encoder the last one is about the same as `jot`.
fn catalog() -> Vec<(Document, [f32; 3])> {
    vec![
        (document("desk", "create_note", "Writes a note."), [0.0, 1.0, 0.1]),
        (document("desk", "delete_note", "Drops a note."), [0.1, 1.0, 0.0]),
        (document("desk", "share_note", "Shares a note."), [0.2, 0.9, 0.1]),
        (document("desk", "list_colours", "Names of colours."), [0.1, 0.2, 1.0]),
        (document("desk", "list_fonts", "Names of fonts."), [0.0, 0.3, 1.0]),
        (document("desk", "memo_pad", "Keeps what is said."), [1.0, 0.0, 0.0]),
    ]
}

fn index(catalog: &[(Document, [f32; 3])]) -> (Index, Vec<Vector>) {
    let documents: Vec<Document> = catalog.iter().map(|(document, _)| document.clone()).collect();
    let vectors = catalog.iter().map(|(_, parts)| Vector::new(parts).unwrap()).collect();
    (Index::build(RankerKind::Hybrid, &documents), vectors)
}

/// Names of the hits, with an encoder that knows the queries given.
fn names(catalog: &[(Document, [f32; 3])], query: &str, known: &Known) -> Vec<String> {
    let (index, vectors) = index(catalog);
    let documents = index.encode("test".into(), |at| vectors.get(at)).unwrap();
    let encoded = EncodedIndex { index: &index, encoding: Encoding { documents: &documents, queries: known } };
    let hits = encoded.hits(query, &Options::default());
    hits.iter().map(|hit| catalog[hit.index].0.name.clone()).collect()
}

fn built_in(catalog: &[(Document, [f32; 3])], query: &str) -> Vec<String> {
    let hits = index(catalog).0.search_with(query, &Options::default());
    hits.iter().map(|hit| catalog[hit.index].0.name.clone()).collect()
}

const QUERY: &str = "write a note";

#[test]
fn what_the_encoder_says_is_near_comes_up() {
    let catalog = catalog();
    assert_eq!(built_in(&catalog, QUERY)[0], "create_note");
    let known = Known::of(&[(QUERY, &[1.0, 0.1, 0.0])]);
    assert!(names(&catalog, QUERY, &known)[..2].contains(&"memo_pad".to_owned()), "no word of the query is in it");
}

#[test]
fn the_order_in_which_tools_are_given_does_not_matter() {
    let mut catalog = catalog();
    let known = Known::of(&[(QUERY, &[0.7, 0.7, 0.1])]);
    let want = names(&catalog, QUERY, &known);
    for _ in 0..catalog.len() {
        catalog.rotate_left(1);
        assert_eq!(names(&catalog, QUERY, &known), want);
    }
    catalog.reverse();
    assert_eq!(names(&catalog, QUERY, &known), want);
}

/// Whatever is missing, the answer is the built-in one, figure for figure.
#[test]
fn without_all_vectors_the_built_in_evidence_counts() {
    let catalog = catalog();
    let (index, vectors) = index(&catalog);
    assert!(index.encode("test".into(), |at| vectors[..5].get(at)).is_none(), "one document has none");
    let documents = index.encode("test".into(), |at| vectors.get(at)).unwrap();
    let want = index.search_with(QUERY, &Options::default());
    let hits = |known: &Known, query: &str| -> Vec<Hit> {
        EncodedIndex { index: &index, encoding: Encoding { documents: &documents, queries: known } }
            .hits(query, &Options::default())
    };
    assert_eq!(hits(&Known::default(), QUERY), want);
    assert_eq!(hits(&Known::of(&[(QUERY, &[1.0, 0.0])]), QUERY), want, "another width");
    assert_eq!(hits(&Known::of(&[(QUERY, &[0.0, 0.0, 0.0])]), QUERY), want, "the encoder knows nothing of the query");
    let two = "write a long note for me. then list all of the fonts";
    let whole = Known::of(&[(two, &[1.0, 0.0, 0.0])]);
    assert_eq!(hits(&whole, two), index.search_with(two, &Options::default()), "a clause has none");
}

#[test]
fn vectors_of_another_index_are_not_used() {
    let catalog = catalog();
    let (small, vectors) = index(&catalog[..3]);
    let documents = small.encode("test".into(), |at| vectors.get(at)).unwrap();
    let (index, _) = index(&catalog);
    let known = Known::of(&[(QUERY, &[1.0, 0.1, 0.0])]);
    let encoding = Encoding { documents: &documents, queries: &known };
    let options = Options { encoding: Some(encoding), ..Options::default() };
    assert_eq!(index.search_with(QUERY, &options), index.search_with(QUERY, &Options::default()));
}

#[test]
fn words_alone_stay_words_alone() {
    let documents: Vec<Document> = catalog().into_iter().map(|(document, _)| document).collect();
    let vectors = index(&catalog()).1;
    for kind in [RankerKind::Lexical, RankerKind::Bm25] {
        assert!(Index::build(kind, &documents).encode("test".into(), |at| vectors.get(at)).is_none());
    }
}

/// An encoder finds something near in any catalog; what no tool answers must stay unanswered.
#[test]
fn nothing_is_handed_out_because_it_is_nearest() {
    let known = Known::of(&[("book a flight to lisbon", &[1.0, 0.0, 0.0])]);
    assert_eq!(names(&catalog(), "book a flight to lisbon", &known), [""; 0]);
}

#[test]
fn reasons_name_the_encoder() {
    let catalog = catalog();
    let (index, vectors) = index(&catalog);
    let documents = index.encode("test model".into(), |at| vectors.get(at)).unwrap();
    let known = Known::of(&[(QUERY, &[1.0, 0.0, 0.0])]);
    let encoding = Encoding { documents: &documents, queries: &known };
    let why = EncodedIndex { index: &index, encoding }.explain(QUERY, 5).unwrap();
    let (by, near) = why.encoded.unwrap();
    assert_eq!((&*by, (near - 1.0).abs() < 0.01), ("test model", true));
    assert_eq!(index.explain(QUERY, 0).unwrap().encoded, None);
}

#[track_caller]
fn check_passage(server: &str, name: &str, title: &str, description: &str, want: &str) {
    let document = Document { title: title.into(), ..document(server, name, description) };
    assert_eq!(document.passage(), want);
}

#[test]
fn a_passage_holds_what_a_tool_says_of_itself() {
    check_passage("github", "github__createIssue", "", " Opens one. ", "github: create issue: Opens one.");
    check_passage("github", "mcp__github__list_prs", "List PRs", "", "github: list prs: List PRs: ");
    check_passage("", "read_file", "", "Reads.", "read file: Reads.");
    check_passage("files", "files", "", "Reads.", "files: files: Reads.");
    check_passage("bing", "bing__网页-搜索", "", "", "bing: 网页 搜索: ");
    let long = Document { description: "ö".repeat(5_000), ..Document::default() };
    assert_eq!(long.passage().chars().count(), 1_500);
}
