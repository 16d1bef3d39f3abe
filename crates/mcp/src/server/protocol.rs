//! Protocol revisions and how a request's era is told.

use std::fmt;

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

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

/// What a transport must know of a request's parameters before it hands the request on. Read leniently: the strict reading,
/// which refuses keys given twice, comes when the request is taken.
#[derive(Debug, Default)]
pub struct Peek {
    /// The protocol version claimed in `_meta`, which makes the request a modern one. Not checked against what is served.
    pub version: Option<String>,
    /// `name`, if it is a text.
    pub name: Option<String>,
    /// `arguments` as written.
    pub arguments: Option<Box<RawValue>>,
}

impl Peek {
    /// Looks at the parameters of a request.
    pub fn at(params: Option<&RawValue>) -> Self {
        #[derive(Deserialize)]
        struct Shape {
            #[serde(default, rename = "_meta")]
            meta: Option<Box<RawValue>>,
            #[serde(default)]
            name: Option<Value>,
            #[serde(default)]
            arguments: Option<Box<RawValue>>,
        }
        #[derive(Deserialize)]
        struct Meta {
            #[serde(default, rename = "io.modelcontextprotocol/protocolVersion")]
            version: Option<Value>,
        }
        let Some(shape) = params.and_then(|raw| serde_json::from_str::<Shape>(raw.get()).ok()) else {
            return Self::default();
        };
        let meta = shape.meta.and_then(|raw| serde_json::from_str::<Meta>(raw.get()).ok());
        let text = |value: Option<Value>| match value {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        Self { version: text(meta.and_then(|meta| meta.version)), name: text(shape.name), arguments: shape.arguments }
    }
}
