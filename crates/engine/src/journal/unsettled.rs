//! A call that has left and whose end is not recorded yet.

use super::{
    record::{JournalRecord, Kind},
    store::ClaimResult,
    writer::Journal,
};
use crate::{clock::now_ms, event::Outcome, store::StoreError};

/// Sees to it that a call that has begun gets an outcome even if the task that runs it is dropped: then `unknown`.
#[must_use = "dropping it records the call's outcome as unknown"]
pub struct Unsettled {
    journal: Journal,
    fallback: Option<(JournalRecord, Option<ClaimResult>)>,
}

impl Unsettled {
    pub(super) fn new(journal: Journal, intent: &JournalRecord, claim: Option<(String, String)>) -> Self {
        let mut record = intent.after(Kind::Outcome, 0);
        record.outcome = Some(Outcome::Unknown);
        record.reason = Some("the call was abandoned before its end was known".to_owned());
        let claim = claim.map(|(owner, key)| ClaimResult { owner, key, result: None, release: false });
        Self { journal, fallback: Some((record, claim)) }
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
