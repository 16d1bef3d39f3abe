//! Exit codes; scripts rely on them.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// The tool or check reported failure.
    Failed,
    /// Usage or configuration error.
    Usage,
    /// Denied by policy or approval.
    Denied,
    /// A source or server is not available.
    Unavailable,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Denied => 3,
            Exit::Unavailable => 4,
        })
    }
}
