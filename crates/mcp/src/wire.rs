//! JSON-RPC messages over raw JSON, bounded line framing and the event-stream parser.
//!
//! Owns the envelope only: `params`, `result` and `error.data` stay the JSON text their sender wrote, so unknown keys,
//! key order and number text survive (reference standards.md §0.1, §2.2).

mod id;
mod line;
mod message;
mod sse;

pub use id::Id;
pub use line::{DEFAULT_MAX_LINE, EDGE, Line, LineReader};
pub use message::{Message, RpcError, WireError, code, parse, split_batch, write};
pub use sse::{SseEvent, SseItem, SseParser};

#[cfg(test)]
mod tests;
