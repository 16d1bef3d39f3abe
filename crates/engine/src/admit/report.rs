//! Circuits as they are shown.

use std::{fmt, str::FromStr};

use serde::Serialize;
use toolcrib_core::{
    Source, SourceParseError, ToolId,
    breaker::{BreakerPolicy, BreakerSnapshot, Transition},
};

use crate::journal::{JournalRecord, Kind};

/// What a circuit stands before. As text: `mcp:github` or `mcp:github/create_issue`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Guarded {
    /// A whole source.
    Source(Source),
    /// One tool.
    Tool(ToolId),
}

impl Guarded {
    /// The source, or the tool's source.
    pub fn source(&self) -> &Source {
        match self {
            Self::Source(source) => source,
            Self::Tool(tool) => &tool.source,
        }
    }
}

impl fmt::Display for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(source) => source.fmt(f),
            Self::Tool(tool) => tool.fmt(f),
        }
    }
}

impl FromStr for Guarded {
    type Err = SourceParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.contains('/') { text.parse().map(Self::Tool) } else { text.parse().map(Self::Source) }
    }
}

impl Serialize for Guarded {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// One circuit: what it stands before, and for calls with which credentials (F26).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct BreakerKey {
    /// What it stands before.
    pub guarded: Guarded,
    /// The class of credentials, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<String>,
}

impl fmt::Display for BreakerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.credentials {
            None => self.guarded.fmt(f),
            Some(class) => write!(f, "{} with credentials {class}", self.guarded),
        }
    }
}

/// A circuit at the time of asking.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BreakerReport {
    /// Which one.
    #[serde(flatten)]
    pub key: BreakerKey,
    /// Its policy.
    pub policy: BreakerPolicy,
    /// Its state and counters.
    #[serde(flatten)]
    pub snapshot: BreakerSnapshot,
}

/// A circuit that changed its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BreakerChange {
    /// When, milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// Which one.
    #[serde(flatten)]
    pub key: BreakerKey,
    /// What it did.
    pub transition: Transition,
    /// Text of the last fault.
    pub last_error: Option<String>,
}

impl BreakerChange {
    /// The journal record of the change.
    pub fn record(&self, run: &str) -> JournalRecord {
        let mut record = JournalRecord::new(Kind::Breaker, self.at_ms, run);
        record.tool = Some(self.key.guarded.to_string());
        record.reason.clone_from(&self.last_error);
        let word = match self.transition {
            Transition::Opened => "opened",
            Transition::HalfOpened => "half-open",
            Transition::Closed => "closed",
        };
        record.detail = Some(match &self.key.credentials {
            None => word.to_owned(),
            Some(class) => format!("{word}, for credentials {class}"),
        });
        record
    }
}
