//! Vectors of texts.

use toolcrib_core::ContentHash;

use super::Store;

/// A day, after which a read marks what it found as used.
const DAY: u64 = 24 * 60 * 60 * 1_000;

fn key(text: &str) -> ContentHash {
    ContentHash::of_bytes(text.as_bytes())
}

async fn keep(store: &impl Store, encoder: &str, texts: &[&str], now_ms: u64, max_rows: usize) {
    let rows = texts.iter().map(|text| (key(text), text.as_bytes().to_vec())).collect();
    store.keep_vectors(encoder, rows, now_ms, max_rows).await.unwrap();
}

/// Those of the texts that are kept.
async fn kept(store: &impl Store, encoder: &str, texts: &[&'static str], now_ms: u64) -> Vec<&'static str> {
    let found = store.vectors(encoder, texts.iter().map(|text| key(text)).collect(), now_ms).await.unwrap();
    assert_eq!(found.len(), texts.len());
    for (text, bytes) in texts.iter().zip(&found) {
        assert!(bytes.as_deref().is_none_or(|bytes| bytes == text.as_bytes()), "{text}");
    }
    texts.iter().zip(found).filter(|(_, bytes)| bytes.is_some()).map(|(text, _)| *text).collect()
}

pub(crate) async fn vectors_come_back_by_encoder_and_key(store: impl Store) {
    keep(&store, "one", &["a", "b"], 5, 100).await;
    keep(&store, "other", &["b", "c"], 5, 100).await;
    assert_eq!(kept(&store, "one", &["a", "b", "c", "a"], 6).await, ["a", "b", "a"]);
    assert_eq!(kept(&store, "other", &["a", "b", "c"], 6).await, ["b", "c"]);
    assert_eq!(kept(&store, "third", &["a"], 6).await, [""; 0]);
    assert_eq!(kept(&store, "one", &[], 6).await, [""; 0]);
    store.keep_vectors("one", vec![(key("a"), vec![0, 0xff, 7])], 7, 100).await.unwrap();
    assert_eq!(store.vectors("one", vec![key("a")], 8).await.unwrap(), [Some(vec![0, 0xff, 7])], "the last one counts");
}

pub(crate) async fn what_was_not_used_for_longest_makes_room(store: impl Store) {
    keep(&store, "old", &["a", "b"], 1, 4).await;
    keep(&store, "new", &["a", "b"], 2, 4).await;
    assert_eq!(kept(&store, "old", &["a"], 3 + 2 * DAY).await, ["a"]);
    keep(&store, "new", &["c"], 4 + 2 * DAY, 4).await;
    assert_eq!(kept(&store, "old", &["a", "b"], 5).await, ["a"], "what was read stays");
    assert_eq!(kept(&store, "new", &["a", "b", "c"], 5).await, ["a", "b", "c"]);
    keep(&store, "new", &["d", "e", "f"], 6 + 2 * DAY, 2).await;
    let (old, new) =
        (kept(&store, "old", &["a", "b"], 7).await, kept(&store, "new", &["a", "b", "c", "d", "e", "f"], 7).await);
    assert_eq!((old.len(), new.len()), (0, 2), "no more than wanted, even of those that are new");
}
