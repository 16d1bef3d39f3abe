//! Five generic tools over any number of stores: `store_get`, `store_set`, `store_delete`, `store_list`, `store_action`
//! (oneringai §2.8). A store describes itself ([`StoreSpec`]); schemas and descriptions of the five tools are written from
//! the stores that are there, so that a model learns one way to keep things, whatever keeps them.
//!
//! - [`Store`] is what a store does, [`Router`] finds the one a call is for and is the tools' [`Backend`](crate::Backend).
//! - [`EntryStore`] is what stores that keep entries need kept; `toolcrib-store` keeps it in SQLite.
//!
//! Everything is apart by [`Owner`]: tenant and user of the call. Deleting and actions that destroy ask a person where
//! other calls that may destroy something do (`toolcrib_core::permission::risk`).

mod arguments;
mod definitions;
mod entries;
mod overview;
mod router;
mod spec;

pub use self::{
    arguments::check_key,
    definitions::{STORE_ACTION, STORE_DELETE, STORE_GET, STORE_LIST, STORE_SET, STORE_TOOLS},
    entries::{EntryStore, MAX_FOUND, NewEntry, Quota, Shelf, StoredEntry, Usage},
    router::{Duplicate, PromptView, Router, RouterBuilder},
    spec::{ActionSpec, BadSpec, StoreSpec},
};

use serde_json::{Map, Value};
use toolcrib_core::Scope;

use crate::backend::{BoxFuture, CallContext};

/// Whose things a call sees. Two callers that differ in either never see each other's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Owner {
    /// The tenant; empty on a single-user machine.
    pub tenant: String,
    /// The authenticated user; empty if there is none.
    pub user: String,
}

impl Owner {
    /// The owner of what a scope's calls keep.
    pub fn of(scope: &Scope) -> Self {
        Self { tenant: scope.tenant.clone(), user: scope.user.clone().unwrap_or_default() }
    }
}

/// Why a store did not do what was asked. The text is for the model: what is wrong and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StoreFault(String);

impl StoreFault {
    /// A fault with a text for the model.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl From<crate::StoreError> for StoreFault {
    fn from(error: crate::StoreError) -> Self {
        Self(error.to_string())
    }
}

/// What to list.
#[derive(Clone, Debug, Default)]
pub struct ListQuery {
    /// What the entries must be like, in the store's own fields. Empty = all.
    pub filter: Map<String, Value>,
    /// Continue after this key: [`Listing::next`] of the page before.
    pub after: Option<String>,
    /// Most entries of the page; the router holds it within 1 to 200.
    pub limit: usize,
}

/// One page of a list.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// A short form of each entry, in the order of their keys. Each has a `key`.
    pub entries: Vec<Value>,
    /// How many there are in all, where the store knows without looking at every one.
    pub total: Option<u64>,
    /// Where the next page begins; absent on the last one.
    pub next: Option<String>,
}

/// Something that keeps entries under keys for the five tools.
///
/// Keys are checked by the router (1 to 512 bytes, no control characters). Everything kept must be apart by owner, bounded,
/// and survive a caller that goes away. A panic is caught by the engine.
pub trait Store: Send + Sync + 'static {
    /// What the store is. Read once, when it is added.
    fn spec(&self) -> StoreSpec;

    /// One entry whole.
    fn get<'a>(&'a self, owner: &'a Owner, key: &'a str) -> BoxFuture<'a, Result<Option<Value>, StoreFault>>;

    /// Writes an entry from the fields given; what comes back says what was kept, in short.
    fn set<'a>(
        &'a self,
        owner: &'a Owner,
        key: &'a str,
        fields: Map<String, Value>,
    ) -> BoxFuture<'a, Result<Value, StoreFault>>;

    /// Removes an entry; false when there was none.
    fn delete<'a>(&'a self, owner: &'a Owner, key: &'a str) -> BoxFuture<'a, Result<bool, StoreFault>>;

    /// A page of entries, in short.
    fn list<'a>(&'a self, owner: &'a Owner, query: ListQuery) -> BoxFuture<'a, Result<Listing, StoreFault>>;

    /// Does one of the actions that [`StoreSpec::actions`] declares; the router lets no others through, and a destructive
    /// one only with `confirm: true`. Default: there are none.
    fn act<'a>(
        &'a self,
        _owner: &'a Owner,
        action: &'a str,
        _params: Map<String, Value>,
        _context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Value, StoreFault>> {
        Box::pin(async move { Err(StoreFault::new(format!("this store has no action '{action}'"))) })
    }
}

#[cfg(test)]
mod tests;
