//! Bounds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::clamp;
use crate::Diagnostic;

/// Bounds on what servers may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LimitsConfig {
    /// Largest schema of a tool in bytes, 1024 to 1048576. A tool over it is quarantined.
    #[schemars(range(min = 1_024, max = 1024 * 1024))]
    pub schema_bytes: u64,
    /// Most tools of one server, 1 to 100000.
    #[schemars(range(min = 1, max = 100_000))]
    pub tools_per_server: u64,
    /// Largest message of a server in bytes, 65536 to 268435456.
    #[schemars(range(min = 65_536, max = 256 * 1024 * 1024))]
    pub message_bytes: u64,
    /// Largest result of a call in bytes, 1024 to 268435456.
    #[schemars(range(min = 1_024, max = 256 * 1024 * 1024))]
    pub result_bytes: u64,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            schema_bytes: 65_536,
            tools_per_server: 10_000,
            message_bytes: 16 * 1024 * 1024,
            result_bytes: 8 * 1024 * 1024,
        }
    }
}

impl LimitsConfig {
    pub(crate) fn settle(&mut self, findings: &mut Vec<Diagnostic>) {
        clamp(&mut self.schema_bytes, 1_024, 1024 * 1024, "limits.schema_bytes", findings);
        clamp(&mut self.tools_per_server, 1, 100_000, "limits.tools_per_server", findings);
        clamp(&mut self.message_bytes, 65_536, 256 * 1024 * 1024, "limits.message_bytes", findings);
        clamp(&mut self.result_bytes, 1_024, 256 * 1024 * 1024, "limits.result_bytes", findings);
    }
}

/// How much of a result a model is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ResultsConfig {
    /// Most characters of text, 1000 to 10000000; the rest is kept behind a handle.
    #[schemars(range(min = 1_000, max = 10_000_000))]
    pub max_chars: u64,
    /// Characters of the preview of a cut result, 100 to 100000.
    #[schemars(range(min = 100, max = 100_000))]
    pub preview_chars: u64,
    /// Milliseconds that the rest can be read, 1000 to 604800000.
    #[schemars(range(min = 1_000, max = 604_800_000))]
    pub keep_ms: u64,
    /// Bytes of such rests that are kept in all, 65536 to 17179869184; the oldest go first.
    #[schemars(range(min = 65_536, max = 17_179_869_184_u64))]
    pub keep_bytes: u64,
    /// Most characters of text of all results of one turn, 1000 to 10000000. Left out: twice `max_chars`. Calls count as
    /// one turn while less than a second lies between them.
    #[schemars(range(min = 1_000, max = 10_000_000))]
    pub turn_chars: Option<u64>,
    /// Which secrets are masked in results.
    pub redact: RedactMode,
    /// How results of servers are marked as text that nobody vouches for.
    pub untrusted: UntrustedMark,
}

/// Which secrets are masked in results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RedactMode {
    /// None.
    Off,
    /// Those of this configuration: keys, bearer tokens, and what servers are given under a secret's name.
    #[default]
    Known,
    /// Also what looks like one (keys of well-known services, tokens, private keys).
    Patterns,
}

/// How results of servers are marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UntrustedMark {
    /// Not at all.
    Off,
    /// For programs, in `_meta`.
    #[default]
    Meta,
    /// For the model too: texts stand between marks.
    Text,
}

impl Default for ResultsConfig {
    fn default() -> Self {
        Self {
            max_chars: 100_000,
            preview_chars: 1_500,
            keep_ms: 3_600_000,
            keep_bytes: 256 * 1024 * 1024,
            turn_chars: None,
            redact: RedactMode::default(),
            untrusted: UntrustedMark::default(),
        }
    }
}

impl ResultsConfig {
    pub(crate) fn settle(&mut self, findings: &mut Vec<Diagnostic>) {
        clamp(&mut self.max_chars, 1_000, 10_000_000, "results.max_chars", findings);
        clamp(&mut self.preview_chars, 100, 100_000, "results.preview_chars", findings);
        clamp(&mut self.keep_ms, 1_000, 604_800_000, "results.keep_ms", findings);
        clamp(&mut self.keep_bytes, 65_536, 17_179_869_184, "results.keep_bytes", findings);
        if let Some(chars) = &mut self.turn_chars {
            clamp(chars, 1_000, 10_000_000, "results.turn_chars", findings);
        }
    }
}
