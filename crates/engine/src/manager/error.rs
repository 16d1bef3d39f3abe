//! Why the manager did not do what was asked.

use toolcrib_core::{QuarantineReason, Source, ToolId, select::SelectError};

use super::BadLabel;

/// Why the manager did not do what was asked. Nothing was changed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ManagerError {
    /// There is no such tool.
    #[error("there is no tool '{0}'; `query` and `toolcrib tools` list those there are")]
    NotFound(String),
    /// Several tools go by this name.
    #[error("several tools are called '{name}': {}; name one by its identity", list(.ids))]
    Ambiguous {
        /// The name.
        name: String,
        /// The tools.
        ids: Vec<ToolId>,
    },
    /// A tool of this identity is registered already.
    #[error("'{0}' is registered already; remove it first, or register with OnConflict::Replace or ::Merge")]
    Taken(ToolId),
    /// Somebody else publishes the source's tools.
    #[error("the source '{0}' is published by somebody else; register under a source of your own, such as custom:NAME")]
    ForeignSource(Source),
    /// The source has as many tools as one may have.
    #[error("the source '{source_name}' has {limit} tools, which is the most; raise HubLimits::tools_per_source")]
    Full {
        /// The source.
        source_name: Source,
        /// The limit.
        limit: usize,
    },
    /// The definition cannot be used.
    #[error("the definition of '{name}' cannot be used: {reason}")]
    Definition {
        /// The name it gives itself.
        name: String,
        /// Why.
        reason: QuarantineReason,
    },
    /// A label cannot be used.
    #[error(transparent)]
    Label(#[from] BadLabel),
    /// More tools are adjusted than can be.
    #[error("more than {0} tools are adjusted; reset some")]
    TooManyAdjusted(usize),
    /// The state was written by a later version.
    #[error("the state has version {0}, this program reads up to {1}; use a newer one")]
    NewerState(u32, u32),
    /// The tools cannot be looked at.
    #[error(transparent)]
    Scope(#[from] SelectError),
    /// The manager was shut down.
    #[error("the tool manager was shut down; make a new one")]
    ShutDown,
}

fn list(ids: &[ToolId]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
