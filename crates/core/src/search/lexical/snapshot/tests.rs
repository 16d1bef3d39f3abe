//! A snapshot saves reading and changes nothing; what is no snapshot of this program is refused.

use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;

use super::SnapshotError;
use crate::{
    ContentHash,
    search::{Corpus, Document, Index, Ranker, RankerKind, Shelf, tests::golden},
};

const QUERIES: &[&str] = &[
    "create issue",
    "serach isues",
    "k8s list pods",
    "send a mail, then create a calendar event",
    "löschen branch",
    "slack: post",
    "nothing that is there at all",
];

/// An index over the documents, and how many of them were read for it.
fn build(shelf: &Shelf, kind: RankerKind, documents: &[Document]) -> (Index, usize) {
    let reads = AtomicUsize::new(0);
    let key = |at: usize| ContentHash::of_bytes(format!("{:?}", documents[at]).as_bytes());
    let document = |at: usize| {
        reads.fetch_add(1, Ordering::Relaxed);
        documents[at].clone()
    };
    let index = Index::build_from(kind, shelf, &Corpus { len: documents.len(), key: &key, document: &document });
    (index, reads.into_inner())
}

fn answers(index: &Index) -> Vec<(usize, u64)> {
    let hits = QUERIES.iter().flat_map(|query| index.search(query, 10));
    hits.map(|hit| (hit.index, hit.score.to_bits())).collect()
}

fn kinds() -> impl Iterator<Item = RankerKind> {
    RankerKind::ALL.iter().copied().filter(|kind| *kind != RankerKind::Bm25)
}

#[test]
fn a_restored_shelf_answers_alike_without_reading_again() {
    let documents = golden::documents("large");
    for kind in kinds() {
        let shelf = Shelf::new(2);
        assert_eq!((shelf.unsaved(kind), shelf.snapshot(kind)), (0, None));
        let (index, _) = build(&shelf, kind, &documents);
        assert_eq!(shelf.unsaved(kind), documents.len());
        let bytes = shelf.snapshot(kind).unwrap();
        assert_eq!(shelf.unsaved(kind), 0);
        let other = Shelf::new(1);
        assert_eq!(other.restore(kind, &bytes), Ok(documents.len()));
        let (restored, reads) = build(&other, kind, &documents);
        assert_eq!((reads, answers(&restored)), (0, answers(&index)), "{kind}");
        assert_eq!(other.unsaved(kind), 0);
        // What it held is written again as it was, and new tools join it.
        assert_eq!(other.snapshot(kind).unwrap(), bytes);
        let mut more = documents[3..].to_vec();
        more.push(Document { name: "brandNew__tool".to_owned(), ..Document::default() });
        let (grown, reads) = build(&other, kind, &more);
        assert_eq!((reads, answers(&grown)), (1, answers(&Index::build(kind, &more))), "{kind}");
    }
}

#[test]
fn what_is_no_snapshot_of_this_ranker_is_refused() {
    let documents = golden::documents("small");
    for kind in kinds() {
        let shelf = Shelf::new(1);
        build(&shelf, kind, &documents);
        let bytes = shelf.snapshot(kind).unwrap();
        let refused = |bytes: &[u8]| Shelf::new(1).restore(kind, bytes).unwrap_err();
        assert_eq!(refused(b""), SnapshotError::Damaged);
        assert_eq!(refused(b"nothing like it, but long enough to hold a checksum"), SnapshotError::Foreign);
        assert_eq!(refused(&bytes[..bytes.len() - 1]), SnapshotError::Damaged);
        for other in kinds().filter(|other| *other != kind) {
            assert_eq!(Shelf::new(1).restore(other, &bytes), Err(SnapshotError::Foreign));
        }
        assert_eq!(shelf.restore(kind, &bytes), Ok(0), "too late");
        assert_eq!(Shelf::new(1).restore(RankerKind::Bm25, &bytes), Ok(0));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Bytes that were changed are refused; even with a checksum to match, they never lead to a panic.
    #[test]
    fn changed_bytes_do_no_harm(at in any::<prop::sample::Index>(), value: u8, cut in 0usize..9) {
        let documents = golden::documents("small");
        let kind = RankerKind::default();
        let shelf = Shelf::new(1);
        build(&shelf, kind, &documents);
        let bytes = shelf.snapshot(kind).unwrap();
        let mut changed = bytes.clone();
        changed.truncate(bytes.len() - 32);
        changed.truncate(changed.len() - cut);
        let at = at.index(changed.len());
        changed[at] = value;
        let mut unsigned = changed.clone();
        unsigned.extend_from_slice(&bytes[bytes.len() - 32..]);
        prop_assert!(unsigned == bytes || Shelf::new(1).restore(kind, &unsigned).is_err());
        let checksum = ContentHash::of_bytes(&changed);
        changed.extend_from_slice(checksum.as_bytes());
        let other = Shelf::new(1);
        if other.restore(kind, &changed).is_ok() {
            answers(&build(&other, kind, &documents).0);
        }
    }
}
