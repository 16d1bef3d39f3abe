//! Results that arrive when their caller has already been told that there is none.

use toolcrib_core::{ContentHash, ToolResult};

use super::{record::JournalRecord, writer::Journal};
use crate::{backend::InvokeError, clock::now_ms, event::Outcome};

impl Journal {
    /// Goes on waiting for a call whose caller was told that it timed out or was cancelled, at most
    /// [`JournalSettings::late`](super::JournalSettings::late), and records what comes of it as
    /// [`Kind::Late`](super::Kind::Late): with the digest of the result, or that nothing ran after all. Other failures say
    /// nothing that the outcome does not say already. `of` is the intent or the outcome of the call. False, and `running` is dropped, when too much is being waited for or the journal was shut down.
    pub fn await_late(
        &self,
        of: JournalRecord,
        running: impl Future<Output = Result<ToolResult, InvokeError>> + Send + 'static,
    ) -> bool {
        let journal = self.clone();
        let limit = self.late_limit();
        self.observe_work(async move {
            let Ok(ended) = tokio::time::timeout(limit, running).await else { return };
            let (outcome, output, bytes) = match ended {
                Ok(result) => {
                    let text = result.raw().get();
                    let outcome = if result.is_error() { Outcome::ToolError } else { Outcome::Ok };
                    (outcome, Some(ContentHash::of_bytes(text.as_bytes()).to_string()), text.len() as u64)
                }
                Err(InvokeError::Unavailable(_)) => (Outcome::Unavailable, None, 0),
                Err(InvokeError::Refused { .. }) => (Outcome::ToolError, None, 0),
                Err(
                    InvokeError::TimedOut(_)
                    | InvokeError::Cancelled
                    | InvokeError::Unknown(_)
                    | InvokeError::Broken(_)
                    | InvokeError::BadAnswer(_),
                ) => return,
            };
            tracing::info!(run = of.run, call = of.call, outcome = outcome.word(), "a result came late");
            if let Err(error) = journal.note(of.late(now_ms(), outcome, output, bytes)).await {
                tracing::warn!(%error, call = of.call, "a late result is not in the journal yet");
            }
        })
    }
}
