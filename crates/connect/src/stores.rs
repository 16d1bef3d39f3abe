//! The stores that come along for the five store tools: values, notes, tasks and files. One file a store; what three of
//! them share is in [`shelf`] and [`words`].
//!
//! All are persistent, apart by tenant and user, and bounded ([`StoreSettings`]).

mod fields;
mod files;
mod notes;
mod shelf;
mod tasks;
mod values;
mod words;

use std::sync::Arc;

use toolcrib_engine::{
    KeyValueStore,
    store_tools::{EntryStore, Quota, Store},
};

pub use self::{files::Files, notes::Notes, tasks::Tasks, values::Values};

/// Bounds of one store and one user.
#[derive(Clone, Copy, Debug)]
pub struct StoreSettings {
    /// Entries and bytes. Default 2,000 entries, 16 MiB.
    pub quota: Quota,
    /// Largest entry, in bytes of its JSON. Default 1 MiB.
    pub max_entry_bytes: usize,
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self { quota: Quota { entries: 2_000, bytes: 16 * 1024 * 1024 }, max_entry_bytes: 1024 * 1024 }
    }
}

/// The ids of the stores that come along, sorted.
pub const STORES: [&str; 4] = [files::ID, notes::ID, tasks::ID, values::ID];

/// The store of this id, `None` if there is no such one. `values` shows what the `kv_` tools keep.
pub fn store(
    id: &str,
    entries: &Arc<dyn EntryStore>,
    values: &Arc<dyn KeyValueStore>,
    settings: StoreSettings,
) -> Option<Arc<dyn Store>> {
    Some(match id {
        files::ID => Arc::new(Files::new(entries.clone(), settings)),
        notes::ID => Arc::new(Notes::new(entries.clone(), settings)),
        tasks::ID => Arc::new(Tasks::new(entries.clone(), settings)),
        values::ID => Arc::new(Values::new(values.clone(), settings)),
        _ => return None,
    })
}
