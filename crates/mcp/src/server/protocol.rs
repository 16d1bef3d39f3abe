//! Protocol revisions and how a request's era is told.

use std::fmt;

use serde_json::value::RawValue;

use super::params::Params;

/// `_meta` key of the protocol version a modern request speaks.
pub(super) const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// `_meta` key of what the client can do, required on modern requests.
pub(super) const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// `_meta` key of the client's name and version.
pub(super) const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";
/// `_meta` key of the server's name and version on our results.
pub(super) const META_SERVER: &str = "io.modelcontextprotocol/serverInfo";
/// `_meta` key that ties a message to its `subscriptions/listen` request.
pub(super) const META_SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// A revision of MCP that is served, oldest first. All but the last begin with `initialize` ("legacy").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// 2024-11-05
    V2024_11_05,
    /// 2025-03-26, the only one with batches
    V2025_03_26,
    /// 2025-06-18
    V2025_06_18,
    /// 2025-11-25
    V2025_11_25,
    /// 2026-07-28, stateless ("modern")
    V2026_07_28,
}

impl Protocol {
    /// All, newest first: the order they are offered in.
    pub const ALL: [Self; 5] =
        [Self::V2026_07_28, Self::V2025_11_25, Self::V2025_06_18, Self::V2025_03_26, Self::V2024_11_05];

    /// What `initialize` answers to a version it does not know.
    pub const NEWEST_LEGACY: Self = Self::V2025_11_25;

    /// The date that names it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// The revision a date names, if it is served.
    pub fn from_date(date: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|protocol| protocol.as_str() == date)
    }

    /// Whether requests carry version and capabilities themselves, instead of a handshake.
    pub fn is_modern(self) -> bool {
        self >= Self::V2026_07_28
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The protocol version a request's parameters claim in `_meta`, which makes the request a modern one; `None` if they
/// claim none or cannot be read. Not checked against what is served.
pub fn body_version(params: Option<&RawValue>) -> Option<String> {
    Params::read(params).ok()?.meta_text(META_VERSION)
}
