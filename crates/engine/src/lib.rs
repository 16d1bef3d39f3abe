//! The embeddable heart of toolcrib: sources publish into a catalog, scopes see a view of it, calls run through one path.
//!
//! Never knows: MCP, SQL, HTTP, configuration files. Nothing here is global; every [`Hub`] stands alone.

pub mod backend;
pub mod hub;
pub mod store;

pub use backend::{Backend, BoxFuture, CallContext, Invocation, InvokeError, Progress, ProgressSink};
pub use hub::{Hub, Publisher, SourceOptions};
pub use store::{DefinitionStore, KeyValueStore, StoreError, StoredDefinitions};
