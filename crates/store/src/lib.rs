//! Where toolcrib keeps things: [`SqliteStore`] (one local file) and [`MemoryStore`] (nothing survives), both behind
//! the engine's store traits and held to one conformance suite (`tests/it/suite.rs`).
//!
//! Never knows: what the kept data means, who asks for it, MCP, HTTP.

mod bounds;
mod memory;
mod sqlite;
mod subject;

pub use memory::MemoryStore;
pub use sqlite::{SqliteSettings, SqliteStore, SyncLevel, Warning};

/// Cap on the bytes of all kept results together, unless set otherwise: 64 MiB.
pub const DEFAULT_RESULT_BYTES: u64 = 64 * 1024 * 1024;

/// Configurations of one source whose definitions are kept; the one saved longest ago makes room.
const FINGERPRINTS_PER_SOURCE: usize = 8;

/// The wall clock in milliseconds since the Unix epoch, for expiry; 0 if the clock stands before it.
fn now_ms() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |elapsed| u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
}
