//! What stores that keep entries need kept.

use crate::{StoreError, backend::BoxFuture};

/// Most entries that [`EntryStore::find`] gives.
pub const MAX_FOUND: usize = 200;

/// One owner's part of one store.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Shelf {
    /// The tenant; may be empty.
    pub tenant: String,
    /// The user; may be empty.
    pub user: String,
    /// The store's id.
    pub store: String,
}

/// An entry as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEntry {
    /// Its key.
    pub key: String,
    /// Its value, as JSON text.
    pub value: String,
    /// When it was first written, milliseconds since the Unix epoch.
    pub created_at_ms: u64,
    /// When it was last written.
    pub updated_at_ms: u64,
    /// How often it was written: 1 at first.
    pub revision: u64,
}

/// What one shelf may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Most entries.
    pub entries: u64,
    /// Most bytes of keys and values together.
    pub bytes: u64,
}

/// What one shelf holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Entries.
    pub entries: u64,
    /// Bytes of keys and values together.
    pub bytes: u64,
}

/// An entry to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEntry {
    /// Its key.
    pub key: String,
    /// Its value, as JSON text.
    pub value: String,
    /// The words it is found by, one space apart; may be empty. Each is found as it is written here: lower case and
    /// stemming are the writer's.
    pub words: String,
    /// Write only over this revision (0: only if there is none). `None`: whatever is there.
    pub over: Option<u64>,
}

/// Keeps entries by owner and store.
pub trait EntryStore: Send + Sync + 'static {
    /// Reads one entry.
    fn read<'a>(&'a self, shelf: &'a Shelf, key: &'a str) -> BoxFuture<'a, Result<Option<StoredEntry>, StoreError>>;

    /// Writes one entry. `None`: it has another revision than [`NewEntry::over`], nothing was written. Refuses with
    /// [`StoreError::Quota`] when the shelf would hold more than the quota.
    fn write<'a>(
        &'a self,
        shelf: &'a Shelf,
        entry: NewEntry,
        quota: Quota,
    ) -> BoxFuture<'a, Result<Option<StoredEntry>, StoreError>>;

    /// Removes an entry, where `over` is given only if it has that revision; false when nothing was removed.
    fn remove<'a>(
        &'a self,
        shelf: &'a Shelf,
        key: &'a str,
        over: Option<u64>,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Entries whose keys start with `prefix`, in the order of their keys' bytes, after `after`, at most `limit`.
    fn page<'a>(
        &'a self,
        shelf: &'a Shelf,
        prefix: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StoredEntry>, StoreError>>;

    /// Entries that have at least one of these words, at most [`MAX_FOUND`], those with more and rarer ones first where
    /// there are more. How they are ranked beyond that is the asker's.
    fn find<'a>(&'a self, shelf: &'a Shelf, words: &'a [String])
    -> BoxFuture<'a, Result<Vec<StoredEntry>, StoreError>>;

    /// What the shelf holds.
    fn usage<'a>(&'a self, shelf: &'a Shelf) -> BoxFuture<'a, Result<Usage, StoreError>>;

    /// Removes everything on the shelf and says how many entries that were.
    fn clear<'a>(&'a self, shelf: &'a Shelf) -> BoxFuture<'a, Result<u64, StoreError>>;
}
