//! Talking to MCP servers: one supervised [`Upstream`] per configured server, over a child's stdio or streamable HTTP.
//!
//! Owns starting, detecting the era, listing, calling, reconnecting and ending; see `supervisor` for the life of a
//! connection and `call` for the life of a call. Nothing a server does reaches another server: each has its own task,
//! process group, queues and limits.

mod call;
mod connect;
mod environment;
pub mod guard;
mod handshake;
mod header;
mod http;
mod inbox;
mod link;
mod listing;
mod mask;
mod process;
mod report;
mod session;
mod settings;
mod stderr;
mod stdio;
mod supervisor;
mod tls;

pub use report::UpstreamReport;
pub use settings::{Era, EraChoice, Timing, Transport, UpstreamLimits, UpstreamSettings};
pub use supervisor::Upstream;
