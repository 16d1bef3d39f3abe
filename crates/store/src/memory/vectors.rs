//! Vectors of texts, in memory.

use std::collections::BTreeMap;

use toolcrib_core::ContentHash;
use toolcrib_engine::{BoxFuture, StoreError, VectorStore};

use super::{MemoryStore, ready};

/// By encoder and key: the bytes, and when they were used last.
pub(super) type Vectors = BTreeMap<(String, [u8; 32]), (Vec<u8>, u64)>;

impl VectorStore for MemoryStore {
    fn vectors<'a>(
        &'a self,
        encoder: &'a str,
        keys: Vec<ContentHash>,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<Vec<Option<Vec<u8>>>, StoreError>> {
        let mut vectors = self.vectors.lock();
        let found = keys.iter().map(|key| {
            let (bytes, used) = vectors.get_mut(&(encoder.to_owned(), *key.as_bytes()))?;
            *used = now_ms.max(*used);
            Some(bytes.clone())
        });
        let found = found.collect();
        ready(Ok(found))
    }

    fn keep_vectors<'a>(
        &'a self,
        encoder: &'a str,
        new: Vec<(ContentHash, Vec<u8>)>,
        now_ms: u64,
        max_rows: usize,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let mut vectors = self.vectors.lock();
        vectors.extend(new.into_iter().map(|(key, bytes)| ((encoder.to_owned(), *key.as_bytes()), (bytes, now_ms))));
        let over = vectors.len().saturating_sub(max_rows);
        if over > 0 {
            let mut oldest: Vec<_> = vectors.iter().map(|(key, (_, used))| (*used, key.clone())).collect();
            oldest.sort_unstable();
            for (_, key) in oldest.into_iter().take(over) {
                vectors.remove(&key);
            }
        }
        ready(Ok(()))
    }
}
