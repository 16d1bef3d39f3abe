//! Resolved settings of an engine. Plain data: whoever embeds the library fills it, from a configuration or not.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use toolcrib_core::{Source, assemble::AssembleSettings, redact::Redactor, selector::Selector, shape::ShapeLimits};

use crate::{admit::AdmissionSettings, permission::PermissionSettings};

/// Whom a call is trusted to without further asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// Every call needs an allow rule or a person's approval.
    None,
    /// Tools of sources that the user wrote into the configuration run, except dangerous ones, which ask.
    #[default]
    Configured,
    /// Everything runs that no rule denies.
    All,
}

/// Limits on calls.
#[derive(Clone, Debug)]
pub struct CallLimits {
    /// Deadline of a call whose caller and source set none. Default 60 s.
    pub default_timeout: Duration,
    /// Longest deadline anybody may set. Default 10 min.
    pub max_timeout: Duration,
    /// Deadlines by source.
    pub source_timeouts: BTreeMap<Source, Duration>,
    /// Deadlines by tool; the first that fits counts, before the source's.
    pub tool_timeouts: Vec<(Selector, Duration)>,
    /// How much of a result is shown.
    pub shape: ShapeLimits,
    /// Most characters of all results of one turn; `None` = twice those of one result.
    pub turn_chars: Option<usize>,
    /// How long the rest of a cut result can be read. Default 1 h.
    pub keep_results: Duration,
    /// How long a call of a tool that may destroy something is not run again with the same arguments. Zero = it is.
    /// Default 60 s (reliability reference §2.2).
    pub duplicates: Duration,
    /// Tools that answer with a handle at once and run in the background.
    pub background: Vec<Selector>,
    /// Tools that may run twice: lost on the way, they are tried once more.
    pub idempotent: Vec<Selector>,
    /// Whether calls that change nothing are in the journal too. Default yes.
    pub journal_reads: bool,
    /// Whether searches are in the journal, with their queries masked. Default yes.
    pub journal_searches: bool,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            default_timeout: Duration::from_mins(1),
            max_timeout: Duration::from_mins(10),
            source_timeouts: BTreeMap::new(),
            shape: ShapeLimits::default(),
            tool_timeouts: Vec::new(),
            turn_chars: None,
            keep_results: Duration::from_hours(1),
            duplicates: Duration::from_mins(1),
            background: Vec::new(),
            idempotent: Vec::new(),
            journal_reads: true,
            journal_searches: true,
        }
    }
}

/// How results of servers are marked as text that nobody vouches for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Untrusted {
    /// Not at all.
    Off,
    /// For programs, in `_meta`.
    #[default]
    Meta,
    /// For the model too: texts stand between marks.
    Text,
}

/// What is done to results.
#[derive(Clone, Debug, Default)]
pub struct ResultSettings {
    /// What masks results; `None` = nothing does. Apart from the redactor for records: what a record must not hold, a
    /// model may well have asked for.
    pub redactor: Option<Arc<Redactor>>,
    /// Whether names and forms of secrets count in results too, or known values only. Default known values only.
    pub forms: bool,
    /// How results of servers are marked.
    pub untrusted: Untrusted,
}

/// Everything an engine goes by. Replaced whole on reload.
#[derive(Clone, Default)]
pub struct EngineSettings {
    /// What scopes see.
    pub assemble: AssembleSettings,
    /// What may run.
    pub permissions: PermissionSettings,
    /// What runs when.
    pub admission: AdmissionSettings,
    /// Limits on calls.
    pub limits: CallLimits,
    /// What is done to results.
    pub results: ResultSettings,
    /// Finds secrets in what people are shown of arguments, in reasons and in errors. `None`: one that knows
    /// common names and forms, and no values.
    pub redactor: Option<Arc<Redactor>>,
    /// Sources whose own instructions are passed on to clients. Untrusted text, so none by default.
    pub relay_instructions: BTreeSet<Source>,
}
