//! What the engine needs kept; implementations live in other crates.

use serde_json::Value;
use toolcrib_core::{ContentHash, usage::Pair};

use crate::backend::BoxFuture;

/// A store that could not do what was asked. The text names the operation and the cause, never a value.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// Full, read-only, locked or damaged.
    #[error("store {operation} failed: {cause}")]
    Failed {
        /// What was tried.
        operation: &'static str,
        /// Why it failed.
        cause: String,
    },
    /// A quota was reached.
    #[error("{0}")]
    Quota(String),
}

/// The last definitions a source gave, together with the fingerprint of the configuration they were obtained under.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredDefinitions {
    /// Fingerprint of the source's configuration. Each has definitions of its own: another project may use the same
    /// source name for another server.
    pub fingerprint: String,
    /// The raw tool definitions.
    pub tools: Vec<Value>,
    /// The server's instructions.
    pub instructions: Option<String>,
    /// When they were obtained, milliseconds since the Unix epoch.
    pub fetched_at_ms: u64,
}

/// Keeps last-known definitions so that a slow or absent server's tools can be listed at once.
pub trait DefinitionStore: Send + Sync + 'static {
    /// Loads what is known of `source` (its text form) under the configuration with this fingerprint.
    fn load<'a>(
        &'a self,
        source: &'a str,
        fingerprint: &'a str,
    ) -> BoxFuture<'a, Result<Option<StoredDefinitions>, StoreError>>;
    /// Replaces what is known of `source` under the fingerprint in `definitions`. Only a few fingerprints of a source
    /// are kept; the one saved longest ago makes room.
    fn save<'a>(&'a self, source: &'a str, definitions: StoredDefinitions) -> BoxFuture<'a, Result<(), StoreError>>;
    /// Forgets `source` under every configuration.
    fn forget<'a>(&'a self, source: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;
}

/// A small persistent map, for the key-value built-in tools. Keys and values are text; `namespace` separates owners.
pub trait KeyValueStore: Send + Sync + 'static {
    /// Reads a value.
    fn get<'a>(&'a self, namespace: &'a str, key: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>>;
    /// Writes a value; refuses with [`StoreError::Quota`] when `namespace` would hold more than `max_keys`.
    fn set<'a>(
        &'a self,
        namespace: &'a str,
        key: &'a str,
        value: &'a str,
        max_keys: usize,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
    /// Removes a value; false when there was none.
    fn delete<'a>(&'a self, namespace: &'a str, key: &'a str) -> BoxFuture<'a, Result<bool, StoreError>>;
    /// Keys that start with `prefix`, in order, at most `limit`, after `after`.
    fn list<'a>(
        &'a self,
        namespace: &'a str,
        prefix: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>>;
}

/// That a tool was called upon a query with these words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Learnt {
    /// The query's words, as stems.
    pub words: Vec<String>,
    /// The tool's identity.
    pub tool: String,
    /// When, milliseconds since the Unix epoch.
    pub at_ms: u64,
}

/// Keeps what was learnt from use: by tenant, pairs of a word and a tool with how often they were seen, of which half is
/// forgotten after a half-life ([`toolcrib_core::usage::decayed`]).
pub trait ExperienceStore: Send + Sync + 'static {
    /// Adds one to every pair, decayed up to then. A tenant has at most `max_pairs`: the weakest make room.
    fn learn<'a>(
        &'a self,
        tenant: &'a str,
        learnt: Vec<Learnt>,
        half_life_ms: u64,
        max_pairs: usize,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
    /// A tenant's pairs, those seen last first, at most `limit`.
    fn experience<'a>(&'a self, tenant: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<Pair>, StoreError>>;
    /// Tenants with pairs, and how many, in the order of their names, at most 1,000.
    fn experienced(&self) -> BoxFuture<'_, Result<Vec<(String, u64)>, StoreError>>;
    /// Forgets a tenant's pairs; returns how many.
    fn forget_experience<'a>(&'a self, tenant: &'a str) -> BoxFuture<'a, Result<u64, StoreError>>;
}

/// Keeps vectors of texts by the encoder that made them and the hash of the text. What is kept saves time and nothing else: a
/// vector that is gone, or that cannot be read, is made again.
pub trait VectorStore: Send + Sync + 'static {
    /// The kept bytes of each of the keys, at most 1,000 of them, which count as used at `now_ms` then.
    fn vectors<'a>(
        &'a self,
        encoder: &'a str,
        keys: Vec<ContentHash>,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<Vec<Option<Vec<u8>>>, StoreError>>;
    /// Keeps bytes by key, at most 1,000 at a time. Of all encoders together at most `max_rows` are kept: those that were
    /// not used for longest make room.
    fn keep_vectors<'a>(
        &'a self,
        encoder: &'a str,
        vectors: Vec<(ContentHash, Vec<u8>)>,
        now_ms: u64,
        max_rows: usize,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
}

/// Keeps whole results that were too large to show, until somebody reads the rest through a handle.
///
/// A handle is 128 unguessable bits and only works together with the scope it was made for: knowing somebody else's
/// handle gives nothing. Both a wrong scope and an expired or evicted text read as absent.
pub trait ResultStore: Send + Sync + 'static {
    /// Keeps `text` for whoever holds `scope` until `expires_at_ms` (milliseconds since the Unix epoch) and returns
    /// the handle. Makes room by dropping the oldest texts; refuses with [`StoreError::Quota`] a text that alone is
    /// larger than the store's cap.
    fn put<'a>(&'a self, scope: &'a str, text: String, expires_at_ms: u64)
    -> BoxFuture<'a, Result<String, StoreError>>;
    /// Reads a kept text.
    fn get<'a>(&'a self, scope: &'a str, handle: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>>;
}
