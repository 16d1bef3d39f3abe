//! The hash chain: changing, dropping or inserting a record breaks every link after it.

use toolcrib_core::ContentHash;

use super::record::{JournalRecord, StoredRecord};

/// What the first record is chained to.
pub const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The hash of a record at place `seq` whose predecessor has the hash `previous`.
pub fn link(previous: &str, seq: u64, record: &JournalRecord) -> String {
    // Serialising plain data cannot fail; an empty text would still be bound to place and predecessor.
    link_text(previous, seq, &serde_json::to_string(record).unwrap_or_default())
}

/// As [`link`], of a record's JSON text as `serde_json` writes it: for stores, which have it at hand.
pub fn link_text(previous: &str, seq: u64, text: &str) -> String {
    ContentHash::of_bytes(format!("{previous}\n{seq}\n{text}").as_bytes()).to_string()
}

/// Where a chain does not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainFault {
    /// A record's hash does not follow from it and its predecessor.
    #[error("record {0} was changed, or the one before it")]
    Changed(u64),
    /// Places are missing.
    #[error("records {0} to {1} are missing")]
    Missing(u64, u64),
}

/// Checks consecutive records against the hash of the one before the first.
pub(crate) fn check(previous: (u64, &str), records: &[StoredRecord]) -> Result<(u64, String), ChainFault> {
    let (mut seq, mut hash) = (previous.0, previous.1.to_owned());
    for stored in records {
        if stored.seq <= seq {
            return Err(ChainFault::Changed(stored.seq));
        }
        if stored.seq != seq + 1 {
            return Err(ChainFault::Missing(seq + 1, stored.seq.saturating_sub(1)));
        }
        if stored.hash != link(&hash, stored.seq, &stored.record) {
            return Err(ChainFault::Changed(stored.seq));
        }
        (seq, hash) = (stored.seq, stored.hash.clone());
    }
    Ok((seq, hash))
}
