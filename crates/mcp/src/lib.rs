//! MCP in both directions and both protocol eras, over stdio and streamable HTTP, with results kept as raw JSON.
//!
//! Never knows: axum, SQL. The era of a connection does not leak past this crate.

pub mod server;
pub mod upstream;
pub mod wire;
