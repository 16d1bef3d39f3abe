//! The pure part of toolcrib: what a tool is, who may see it, what it is called, how it is shown and found.
//!
//! Nothing here touches a file, a socket, a clock or an async runtime: every function maps values to values, so the
//! same input always gives the same bytes (invariants 3 and 8 of `ARCHITECTURE.md`).

pub mod args;
pub mod assemble;
pub mod backoff;
pub mod breaker;
pub mod bridge;
pub mod catalog;
pub mod categories;
pub mod conversation;
pub mod disclosure;
mod elapsed;
pub mod estimate;
pub mod evaluate;
pub mod explain;
pub mod find;
pub mod hash;
pub mod histogram;
pub mod ingest;
mod json_text;
pub mod labels;
pub mod lint;
pub mod model;
pub mod name;
pub mod permission;
pub mod provider;
pub mod rate;
pub mod redact;
pub mod render;
pub mod result;
pub mod schema;
pub mod search;
pub mod select;
pub mod selector;
pub mod shape;
pub mod shortlist;
pub mod source;
pub mod tokens;
pub mod tool;
pub mod usage;

pub use catalog::{Catalog, SourceEntry, SourceState};
pub use hash::ContentHash;
pub use ingest::{IngestLimits, Quarantine, QuarantineReason};
pub use labels::Labels;
pub use result::ToolResult;
pub use select::Scope;
pub use source::{Source, SourceParseError, ToolId};
pub use tool::{Annotations, Tool};
