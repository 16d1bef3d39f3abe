//! What may still come of a call whose caller is told that there is no result.

use parking_lot::Mutex;
use toolcrib_core::ToolResult;

use super::{BoxFuture, InvokeError};

/// Where a backend that gives up a call leaves what goes on without it: a future that ends with the answer, should one
/// come after all. The journal takes note of what it gives (oneringai §2.13); nobody else hears of it. Only together with
/// [`InvokeError::TimedOut`] or [`InvokeError::Cancelled`].
///
/// What a backend runs by itself needs none: dropping the call's future stops that. This is for what cannot be stopped,
/// such as a server that answers a request that was withdrawn.
#[derive(Default)]
pub struct Late {
    wanted: bool,
    running: Mutex<Option<BoxFuture<'static, Result<ToolResult, InvokeError>>>>,
}

impl Late {
    /// A place that is looked into afterwards, or one that is not.
    pub fn new(wanted: bool) -> Self {
        Self { wanted, running: Mutex::default() }
    }

    /// Whether anybody would take note.
    pub fn is_wanted(&self) -> bool {
        self.wanted
    }

    /// Leaves what goes on; it is waited for 10 minutes by default
    /// ([`JournalSettings::late`](crate::journal::JournalSettings::late)). Dropped at once where nobody would take note.
    pub fn leave(&self, running: impl Future<Output = Result<ToolResult, InvokeError>> + Send + 'static) {
        if self.wanted {
            *self.running.lock() = Some(Box::pin(running));
        }
    }

    /// Takes out what was left.
    pub fn take(&mut self) -> Option<BoxFuture<'static, Result<ToolResult, InvokeError>>> {
        self.running.get_mut().take()
    }
}

/// A copy is another place, which nobody looks into.
impl Clone for Late {
    fn clone(&self) -> Self {
        Self::default()
    }
}
