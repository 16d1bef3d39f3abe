//! What changed, as it happens.

use std::sync::Arc;

use serde::Serialize;
use toolcrib_core::{Labels, ToolId};

use super::Adjustment;
use crate::event::Outcome;

/// Events kept for a subscriber that is slow. One that falls further behind is told how many it missed, and reads the
/// state anew.
pub const EVENTS: usize = 1_024;

/// A change. Sent after it happened, in the order of the changes, and only if something did change (oneringai §2.1).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// A tool was registered (case 1).
    Registered {
        /// The tool.
        id: ToolId,
        /// Its namespace.
        namespace: Arc<str>,
        /// Whether it is switched on.
        enabled: bool,
    },
    /// A registered tool was replaced by one with another definition or other labels.
    Replaced {
        /// The tool.
        id: ToolId,
        /// Its namespace now.
        namespace: Arc<str>,
        /// Whether it is switched on now.
        enabled: bool,
    },
    /// A registration was taken back.
    Unregistered {
        /// The tool.
        id: ToolId,
    },
    /// All registrations were taken back.
    Cleared {
        /// How many.
        removed: usize,
    },
    /// A tool was switched on.
    Enabled {
        /// The tool.
        id: ToolId,
    },
    /// A tool was switched off.
    Disabled {
        /// The tool.
        id: ToolId,
    },
    /// Something else was said of a tool.
    Adjusted {
        /// The tool.
        id: ToolId,
        /// All that is said of it by hand now.
        adjustment: Adjustment,
    },
    /// A whole namespace was switched on; the events of its tools came before.
    NamespaceEnabled {
        /// Its name.
        namespace: Arc<str>,
        /// How many tools that changed.
        changed: usize,
    },
    /// A whole namespace was switched off; the events of its tools came before.
    NamespaceDisabled {
        /// Its name.
        namespace: Arc<str>,
        /// How many tools that changed.
        changed: usize,
    },
    /// A call of a tool ended.
    Executed {
        /// The tool.
        id: ToolId,
        /// How.
        outcome: Outcome,
        /// How long it took, from the door to the reply, microseconds.
        took_us: u64,
    },
}

pub(super) fn namespace_of(labels: &Labels) -> Arc<str> {
    labels.namespace.clone().unwrap_or_else(|| toolcrib_core::labels::DEFAULT_NAMESPACE.into())
}
