//! Checking the hash chain from end to end.

use serde::Serialize;

use super::{
    chain::{self, ChainFault},
    store::JournalStore,
};
use crate::store::StoreError;

/// Records read at a time.
const PAGE: usize = 1_000;

/// A chain that holds. That its newest records were cut off shows only in comparison with a head noted elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// How many records there are.
    pub records: u64,
    /// Place of the first one, if there is one; above 1 when older ones were dropped by the retention rule.
    pub first: Option<u64>,
    /// Place of the last one.
    pub last: Option<u64>,
    /// Hash of the last record, or what it would be chained to.
    pub head_hash: String,
}

/// A journal that could not be verified.
#[derive(Clone, Debug, thiserror::Error)]
pub enum VerifyError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The chain does not hold.
    #[error("the journal was tampered with or is damaged: {0}")]
    Chain(#[from] ChainFault),
}

/// Checks every record from the anchor on, page by page.
///
/// # Errors
/// At the first place where the chain does not hold, or when the store fails.
pub async fn verify(store: &dyn JournalStore) -> Result<Verified, VerifyError> {
    loop {
        let anchor = store.anchor().await?;
        match from_anchor(store, anchor.clone()).await {
            // Pruned meanwhile: what is missing is missing rightly.
            Err(VerifyError::Chain(_)) if store.anchor().await?.0 > anchor.0 => {}
            result => return result,
        }
    }
}

async fn from_anchor(store: &dyn JournalStore, anchor: (u64, String)) -> Result<Verified, VerifyError> {
    let start = anchor.0;
    let (mut seq, mut hash) = anchor;
    loop {
        let page = store.chained(seq, PAGE).await?;
        if page.is_empty() {
            break;
        }
        (seq, hash) = chain::check((seq, &hash), &page)?;
    }
    let records = seq - start;
    let place = |seq| (records > 0).then_some(seq);
    Ok(Verified { records, first: place(start + 1), last: place(seq), head_hash: hash })
}
