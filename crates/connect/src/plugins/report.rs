//! What there is to see of plugins.

use std::path::PathBuf;

use serde::Serialize;

use super::running::Vitals;

/// How a plugin stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum PluginState {
    /// It runs and its tools can be called.
    Ready,
    /// It is being started.
    Starting,
    /// It cannot be used at the moment.
    Down {
        /// Why.
        reason: String,
    },
    /// It is not started, because nothing of it could be seen by anybody.
    Unseen {
        /// Why.
        reason: String,
    },
    /// It wants to offer nothing.
    OptedOut,
}

impl PluginState {
    /// The state's word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Starting => "starting",
            Self::Down { .. } => "down",
            Self::Unseen { .. } => "not started",
            Self::OptedOut => "opted out",
        }
    }

    /// Why it cannot be used.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Down { reason } | Self::Unseen { reason } => Some(reason),
            Self::Ready | Self::Starting | Self::OptedOut => None,
        }
    }
}

/// One plugin.
#[derive(Clone, Debug, Serialize)]
pub struct PluginReport {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: String,
    /// What it is for.
    pub description: String,
    /// Its folder; none for one that the program brings along.
    pub folder: Option<PathBuf>,
    /// How it runs: `mcp`, `lines` or `factory`.
    pub run: &'static str,
    /// How it stands.
    #[serde(flatten)]
    pub state: PluginState,
    /// Which generation of it this is; grows with every reload of it.
    pub generation: u64,
    /// Its declared tools.
    pub tools: Vec<ToolReport>,
    /// What is odd about it.
    pub findings: Vec<String>,
    /// Its process.
    pub vitals: Vitals,
}

impl PluginReport {
    /// How many of the declared tools are offered and seen by somebody, as `2 of 3`.
    pub fn tally(&self) -> String {
        let usable = self.tools.iter().filter(|tool| tool.offered == Some(true) && tool.unseen.is_none());
        format!("{} of {}", usable.count(), self.tools.len())
    }
}

impl PluginsReport {
    /// Whether something is wrong: a plugin that is down, refused or not there in time, a folder that cannot be read. What is
    /// not started because nobody may see it is as it should be.
    pub fn has_errors(&self) -> bool {
        let amiss = |plugin: &PluginReport| matches!(plugin.state, PluginState::Down { .. } | PluginState::Starting);
        self.plugins.iter().any(amiss) || !self.refused.is_empty() || !self.findings.is_empty()
    }
}

/// One declared tool.
#[derive(Clone, Debug, Serialize)]
pub struct ToolReport {
    /// Its name.
    pub name: String,
    /// Whether it is optional.
    pub optional: bool,
    /// Whether the running plugin offers it with a definition that can be used; unknown until it has said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offered: Option<bool>,
    /// Why nobody sees it, if nobody does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unseen: Option<String>,
}

/// A folder whose plugin is not used at all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RefusedPlugin {
    /// The folder; none for one that the program brings along.
    pub folder: Option<PathBuf>,
    /// Its id, if its manifest could be read.
    pub id: Option<String>,
    /// Why, and what would help.
    pub reason: String,
}

/// All plugins.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PluginsReport {
    /// Whether plugins are on at all.
    pub enabled: bool,
    /// Those that are known, by id.
    pub plugins: Vec<PluginReport>,
    /// Those that are not used at all.
    pub refused: Vec<RefusedPlugin>,
    /// What else is odd, such as folders that cannot be read.
    pub findings: Vec<String>,
}
