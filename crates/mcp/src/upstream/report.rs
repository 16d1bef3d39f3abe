//! What is known of one upstream, for `doctor` and the console.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;
use toolcrib_core::SourceState;

use super::settings::Era;

/// A look at one upstream. Holds no secrets.
#[derive(Clone, Debug, Serialize)]
pub struct UpstreamReport {
    /// `mcp:NAME`.
    pub source: String,
    /// How it is doing.
    pub state: SourceState,
    /// Which era it speaks, once known.
    pub era: Option<Era>,
    /// The protocol version agreed on.
    pub version: Option<String>,
    /// The server's own words on what it is. Untrusted.
    pub server_info: Option<Value>,
    /// Process id of the child (of its guard, where there is one).
    pub pid: Option<u32>,
    /// Tools of the last good listing.
    pub tools: Option<usize>,
    /// How often it was started or connected again.
    pub restarts: u64,
    /// Lines on stdout, or events, that were no protocol messages; over-long ones included.
    pub stray_lines: u64,
    /// Answers nobody waited for: unknown ids, second answers, late ones.
    pub dropped_replies: u64,
    /// Listings made.
    pub listings: u64,
    /// Tools left out because their `x-mcp-header` annotations break the rules, each with the reason.
    pub refused_tools: Vec<String>,
    /// The last thing that went wrong.
    pub last_error: Option<String>,
    /// Last lines of stderr.
    pub stderr_tail: Vec<String>,
}

/// Counters and facts that outlive a connection.
#[derive(Default)]
pub(super) struct Facts {
    pub(super) restarts: AtomicU64,
    pub(super) stray_lines: AtomicU64,
    pub(super) dropped_replies: AtomicU64,
    pub(super) listings: AtomicU64,
    pub(super) now: Mutex<Now>,
}

/// The changing part of [`Facts`].
#[derive(Default)]
pub(super) struct Now {
    pub(super) era: Option<Era>,
    pub(super) version: Option<String>,
    pub(super) server_info: Option<Value>,
    pub(super) pid: Option<u32>,
    pub(super) tools: Option<usize>,
    pub(super) refused_tools: Vec<String>,
    pub(super) last_error: Option<String>,
}

pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

pub(super) fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
