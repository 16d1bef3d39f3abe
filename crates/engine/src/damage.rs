//! Stored rows that cannot be read: which there are, and how whoever looks after the store learns of them.

use serde::Serialize;

use crate::{backend::BoxFuture, store::StoreError};

/// Most damaged rows of one table that are named; further ones are counted.
pub const MOST_NAMED: usize = 100;

/// A row that cannot be read. It stays as it is, for a person to look at, and affects no other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DamagedRow {
    /// What it goes by: a handle, or the place of a journal record.
    pub row: String,
    /// What is wrong with it, without anything of what it says.
    pub cause: String,
}

/// The damaged rows of one table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DamagedTable {
    /// The table (`grants`, `approvals`, `pending`, `journal`, …).
    pub table: &'static str,
    /// How many there are.
    pub count: u64,
    /// The first of them, at most [`MOST_NAMED`].
    pub rows: Vec<DamagedRow>,
}

/// Tells of rows that cannot be read. Whatever reads the store goes on without them; one that may have been a person's
/// refusal counts as one.
pub trait DamageReport: Send + Sync + 'static {
    /// Those that were met so far while other things were read or written, by table. Each is also logged once, when it is
    /// met first. Tables without any are left out.
    fn damage_met(&self) -> Vec<DamagedTable>;
    /// Reads every row there is, of the journal the newest 100,000 and the open intents, and tells all that are damaged.
    fn look_for_damage(&self) -> BoxFuture<'_, Result<Vec<DamagedTable>, StoreError>>;
}
