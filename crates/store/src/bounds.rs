//! Bounds that both stores hold to, and the words for going beyond them.

use toolcrib_engine::{
    StoreError,
    store_tools::{Quota, Usage},
};

/// Most entries that a list gives, whatever limit was asked for.
pub(crate) const LIST: usize = 10_000;

/// Most bytes of results that a list of pending work gives, the first piece excepted: 64 MiB.
pub(crate) const LIST_BYTES: usize = 64 * 1024 * 1024;

/// Largest result kept under an idempotency key: 1 MiB. A larger one is not kept, the key is.
pub(crate) const CLAIM_RESULT_BYTES: usize = 1024 * 1024;

/// Most results kept under idempotency keys; the oldest make room.
pub(crate) const CLAIM_RESULTS: usize = 1_024;

/// Most idempotency keys.
pub(crate) const CLAIMS: usize = 100_000;

/// Most idempotency keys of one owner, so that none can use up everybody's.
pub(crate) const CLAIMS_PER_OWNER: usize = 10_000;

/// Most grants that a list gives: what the engine holds, and one more that tells it that there are more.
pub(crate) const GRANTS: usize = toolcrib_engine::approval::MOST_GRANTS + 1;

/// Largest record of the journal: 64 KiB of JSON.
pub(crate) const RECORD_BYTES: usize = 64 * 1024;

/// Largest question to a person: 64 KiB of JSON.
pub(crate) const REQUEST_BYTES: usize = 64 * 1024;

/// Largest notes of a piece of pending work: 16 KiB of JSON.
pub(crate) const METADATA_BYTES: usize = 16 * 1024;

/// Most tenants that are listed as having learnt something.
pub(crate) const TENANTS: usize = 1_000;

/// How many of a tenant's learnt pairs stay when there are more than `max`: a tenth less, so that room is seldom made.
pub(crate) fn kept_pairs(max: usize) -> usize {
    max - max / 10
}

/// A learnt pair's weight and time when it was seen once more.
pub(crate) fn seen_again((weight, at_ms): (f64, u64), now_ms: u64, half_life_ms: u64) -> (f64, u64) {
    let latest = at_ms.max(now_ms);
    let now = |weight: f64, at_ms: u64| toolcrib_core::usage::decayed(weight, latest - at_ms, half_life_ms);
    (now(weight, at_ms) + now(1.0, now_ms), latest)
}

/// Longest name of a run.
const RUN_CHARS: usize = 64;

/// Counts what a list gives and ends it when it has enough.
#[derive(Default)]
pub(crate) struct Given {
    pieces: usize,
    bytes: usize,
}

impl Given {
    /// Whether a piece with a result of this many bytes is still given.
    pub(crate) fn takes(&mut self, bytes: usize) -> bool {
        self.bytes = self.bytes.saturating_add(bytes);
        self.pieces += 1;
        self.pieces == 1 || self.bytes <= LIST_BYTES
    }
}

/// Refuses what is longer than it may be.
pub(crate) fn within(what: &str, bytes: usize, most: usize) -> Result<(), StoreError> {
    if bytes <= most {
        return Ok(());
    }
    Err(StoreError::Quota(format!("{what} has {bytes} bytes, more than the {most} that are kept; shorten it")))
}

/// A run's name becomes a file's name.
pub(crate) fn check_run(run: &str) -> Result<(), StoreError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if !run.is_empty() && run.len() <= RUN_CHARS && run.bytes().all(plain) {
        return Ok(());
    }
    Err(StoreError::Failed {
        operation: "open run",
        cause: format!("a run's name has 1 to {RUN_CHARS} letters, digits, '-' and '_'; give it one"),
    })
}

/// `next_ms` is when the first of the keys expires.
pub(crate) fn too_many_claims(next_ms: u64, now_ms: u64) -> StoreError {
    StoreError::Quota(format!(
        "there are already {CLAIMS} idempotency keys of all callers together, the most that are kept; the first of them ends in {}",
        seconds(next_ms, now_ms)
    ))
}

/// As [`too_many_claims`], of one owner's keys.
pub(crate) fn too_many_claims_of(owner: &str, next_ms: u64, now_ms: u64) -> StoreError {
    StoreError::Quota(format!(
        "this caller (owner '{}') already has {CLAIMS_PER_OWNER} idempotency keys, the most that are kept for one; the first of them ends in {}",
        owner.chars().take(100).collect::<String>(),
        seconds(next_ms, now_ms)
    ))
}

fn seconds(end_ms: u64, now_ms: u64) -> String {
    format!("{} s", end_ms.saturating_sub(now_ms).div_ceil(1_000))
}

pub(crate) fn too_many_requests(most: usize) -> StoreError {
    StoreError::Quota(format!("there are already {most} unanswered approval requests of this user; answer some first"))
}

pub(crate) fn too_much_pending(most: usize) -> StoreError {
    StoreError::Quota(format!("there are already {most} unfinished pieces of work of this user; wait for some to end"))
}

pub(crate) fn exists_already(operation: &'static str) -> StoreError {
    StoreError::Failed { operation, cause: "there is one with this id already; use a fresh one".to_owned() }
}

/// Refuses an entry that would take a shelf beyond its quota. `bytes` are those of the new entry, `replaced` those of the
/// one it takes the place of.
pub(crate) fn check_shelf(
    store: &str,
    held: Usage,
    fresh: bool,
    bytes: u64,
    replaced: u64,
    quota: Quota,
) -> Result<(), StoreError> {
    if fresh && held.entries >= quota.entries {
        return Err(StoreError::Quota(format!(
            "store '{store}' already has {} entries, the most that are kept for one user; delete some first",
            held.entries
        )));
    }
    let after = held.bytes.saturating_sub(replaced).saturating_add(bytes);
    // What makes it smaller is let through, also where the quota was lowered since.
    if after > quota.bytes && bytes > replaced {
        return Err(StoreError::Quota(format!(
            "store '{store}' would have {after} bytes, at most {} are kept for one user; delete or shorten some entries",
            quota.bytes
        )));
    }
    Ok(())
}
