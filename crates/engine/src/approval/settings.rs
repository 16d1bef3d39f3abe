//! How approvals behave. Plain data.

use std::time::Duration;

/// Longest a call may wait for an answer, whatever the settings say (openclaw §1.12).
pub const MOST_WAIT: Duration = Duration::from_mins(10);

/// Limits and times of approvals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalSettings {
    /// How long a call waits for an answer; at most [`MOST_WAIT`]. Zero: it is refused at once and can be approved
    /// afterwards. Default 120 s (openclaw §1.12).
    pub wait: Duration,
    /// How long a question can be answered. Default 1 h.
    pub open: Duration,
    /// How long an approval of one call is good for. Default 10 min.
    pub once: Duration,
    /// How long an approval for a session is good for at most. Default 12 h.
    pub session: Duration,
    /// Most open questions of one tenant and user; further calls are refused. Default 50.
    pub most_pending: usize,
    /// Most questions a minute for one tenant and user; further calls are refused. Default 20 (T21 of the security
    /// reference).
    pub prompts_per_minute: u32,
    /// Whether "always" is offered for tools that may destroy something. Default no (T21).
    pub always_for_destructive: bool,
    /// Whether who approves a call must go by another name than who made it; it holds where the route knows the name
    /// ([`super::Responder::user`]). Default no.
    pub four_eyes: bool,
    /// Whether other processes can see the questions and answer them, as `toolcrib approvals` does: false where the store
    /// keeps nothing. Only what is told of a call that waits depends on it. Default yes.
    pub reachable: bool,
}

impl Default for ApprovalSettings {
    fn default() -> Self {
        Self {
            wait: Duration::from_mins(2),
            open: Duration::from_hours(1),
            once: Duration::from_mins(10),
            session: Duration::from_hours(12),
            most_pending: 50,
            prompts_per_minute: 20,
            always_for_destructive: false,
            four_eyes: false,
            reachable: true,
        }
    }
}

/// A duration in whole milliseconds.
pub(super) fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
