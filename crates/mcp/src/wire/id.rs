//! Request ids.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// A JSON-RPC id: a number or a text, kept as its sender wrote it. `7`, `7.0` and `"7"` are three different ids.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Id {
    /// A number, as its JSON text.
    Number(Box<str>),
    /// A text.
    Text(Box<str>),
}

impl Id {
    /// Reads an id from its JSON text; `None` for anything but a number or a text (MCP forbids `null`).
    pub fn from_json(text: &str) -> Option<Self> {
        let text = text.trim();
        match text.as_bytes().first()? {
            b'"' => serde_json::from_str::<String>(text).ok().map(|text| Self::Text(text.into())),
            b'-' | b'0'..=b'9' => {
                serde_json::from_str::<&RawValue>(text).ok().map(|raw| Self::Number(raw.get().into()))
            }
            _ => None,
        }
    }

    /// The number, if this is an id of ours: a plain unsigned integer.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Number(text) => text.parse().ok().filter(|number: &u64| *number.to_string() == **text),
            Self::Text(_) => None,
        }
    }

    /// The JSON text.
    pub fn to_json(&self) -> String {
        match self {
            Self::Number(text) => text.to_string(),
            Self::Text(text) => serde_json::Value::from(&**text).to_string(),
        }
    }
}

impl From<u64> for Id {
    fn from(number: u64) -> Self {
        Self::Number(number.to_string().into())
    }
}

impl From<&str> for Id {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_json())
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Number(text) => RawValue::from_string(text.to_string())
                .map_err(serde::ser::Error::custom)
                .and_then(|raw| raw.serialize(serializer)),
        }
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Self::from_json(raw.get()).ok_or_else(|| serde::de::Error::custom("an id is a number or a text"))
    }
}
