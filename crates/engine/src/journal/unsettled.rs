//! A call whose intent is written and whose end is not recorded yet.

use super::{
    record::{JournalRecord, Kind},
    store::ClaimResult,
    writer::Journal,
};
use crate::{clock::now_ms, event::Outcome, store::StoreError};

/// Sees to it that a call whose intent is written gets an outcome, whoever is dropped and when: `cancelled`, with its key
/// free again, as long as nobody has taken it over, because then nothing can have left; afterwards `unknown`, with its key
/// taken.
#[must_use = "dropping it records the call's outcome as unknown"]
pub struct Unsettled {
    journal: Journal,
    fallback: Option<(JournalRecord, Option<ClaimResult>)>,
}

impl Unsettled {
    /// Of an intent that was just written; nobody has it yet. `claim` is owner and key of the intent's claim.
    pub(super) fn new(journal: Journal, intent: &JournalRecord, claim: Option<(String, String)>) -> Self {
        let mut record = intent.after(Kind::Outcome, 0);
        record.outcome = Some(Outcome::Cancelled);
        record.reason = Some("the caller was gone before the call left".to_owned());
        let claim = claim.map(|(owner, key)| ClaimResult { owner, key, result: None, release: true });
        Self { journal, fallback: Some((record, claim)) }
    }

    /// Whoever has it may send the call from now on.
    pub(super) fn taken_over(mut self) -> Self {
        if let Some((record, claim)) = &mut self.fallback {
            record.outcome = Some(Outcome::Unknown);
            record.reason = Some("the call was abandoned before its end was known".to_owned());
            if let Some(claim) = claim {
                claim.release = false;
            }
        }
        self
    }

    /// Records what it would record if it were dropped, and waits for that.
    pub(super) async fn close(mut self) {
        if let Some((mut record, claim)) = self.fallback.take() {
            record.at_ms = now_ms();
            // What the store does not take is owed.
            let _ = self.journal.finish(record, claim).await;
        }
    }

    /// Records the outcome with the next batch. A process that dies before leaves the call as `unknown`.
    pub fn finish_soon(mut self, outcome: JournalRecord) {
        self.fallback = None;
        self.journal.note_or_owe(outcome);
    }

    /// As [`Journal::finish`].
    pub fn finish(
        mut self,
        outcome: JournalRecord,
        claim: Option<ClaimResult>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send + use<> {
        self.fallback = None;
        self.journal.finish(outcome, claim)
    }
}

impl Drop for Unsettled {
    fn drop(&mut self) {
        if let Some((mut record, claim)) = self.fallback.take() {
            record.at_ms = now_ms();
            self.journal.owe(record, claim);
        }
    }
}
