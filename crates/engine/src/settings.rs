//! Resolved settings of an engine. Plain data: whoever embeds the library fills it, from a configuration or not.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use toolcrib_core::{
    Source,
    assemble::AssembleSettings,
    selector::{Groups, Selector},
    shape::ShapeLimits,
};

/// Whom a call is trusted to without further asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// Every call needs an allow rule.
    None,
    /// Tools of sources that the user wrote into the configuration run.
    #[default]
    Configured,
    /// Everything runs.
    All,
}

/// Who may run what.
#[derive(Clone, Debug, Default)]
pub struct Permissions {
    /// The trust level.
    pub trust: Trust,
    /// Tools that may run whatever the trust level is.
    pub allow: Vec<Selector>,
    /// Groups those selectors may name.
    pub groups: Groups,
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
    /// How much of a result is shown.
    pub shape: ShapeLimits,
    /// How long the rest of a cut result can be read. Default 1 h.
    pub keep_results: Duration,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            default_timeout: Duration::from_mins(1),
            max_timeout: Duration::from_mins(10),
            source_timeouts: BTreeMap::new(),
            shape: ShapeLimits::default(),
            keep_results: Duration::from_hours(1),
        }
    }
}

/// Everything an engine goes by. Replaced whole on reload.
#[derive(Clone, Default)]
pub struct EngineSettings {
    /// What scopes see.
    pub assemble: AssembleSettings,
    /// What may run.
    pub permissions: Permissions,
    /// Limits on calls.
    pub limits: CallLimits,
    /// Sources whose own instructions are passed on to clients. Untrusted text, so none by default.
    pub relay_instructions: BTreeSet<Source>,
}
