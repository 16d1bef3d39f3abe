//! A call whose intent is written and whose end is not recorded yet.

use std::sync::Arc;

use super::{
    record::{JournalRecord, Kind},
    store::ClaimResult,
    writer::Journal,
};
use crate::{clock::now_ms, event::Outcome, store::StoreError};

/// Owner and key of a claim.
type ClaimKey = (String, String);

/// Sees to it that a call whose intent is written gets an outcome, whoever is dropped and when: `cancelled`, with its key
/// free again, as long as nobody has taken it over, because then nothing can have left; afterwards `unknown`, with its key
/// taken.
#[must_use = "dropping it records the call's outcome as unknown"]
pub struct Unsettled {
    journal: Journal,
    /// The intent with owner and key of its claim, until the outcome is on its way.
    open: Option<(Arc<JournalRecord>, Option<ClaimKey>)>,
    /// Whether somebody has it who may send the call.
    taken_over: bool,
}

impl Unsettled {
    /// Of an intent that was just written; nobody has it yet. `claim` is owner and key of the intent's claim.
    pub(super) fn new(journal: Journal, intent: Arc<JournalRecord>, claim: Option<ClaimKey>) -> Self {
        Self { journal, open: Some((intent, claim)), taken_over: false }
    }

    /// Whoever has it may send the call from now on.
    pub(super) fn taken_over(mut self) -> Self {
        self.taken_over = true;
        self
    }

    /// What is recorded when nobody says how the call ended.
    fn fallback(&mut self) -> Option<(JournalRecord, Option<ClaimResult>)> {
        let (intent, claim) = self.open.take()?;
        let mut record = ended(intent);
        let (outcome, reason) = if self.taken_over {
            (Outcome::Unknown, "the call was abandoned before its end was known")
        } else {
            (Outcome::Cancelled, "the caller was gone before the call left")
        };
        record.outcome = Some(outcome);
        record.reason = Some(reason.to_owned());
        let release = !self.taken_over;
        let claim = claim.map(|(owner, key)| ClaimResult { owner, key, result: None, release });
        Some((record, claim))
    }

    /// Records what it would record if it were dropped, and waits for that.
    pub(super) async fn close(mut self) {
        if let Some((record, claim)) = self.fallback() {
            // What the store does not take is owed.
            let _ = self.journal.finish(record, claim).await;
        }
    }

    /// The outcome of this call, to be filled in and given to [`Self::finish`] or [`Self::finish_soon`]: of the intent's
    /// run, number, principal and tool, now.
    pub fn outcome(&self) -> Option<JournalRecord> {
        self.open.as_ref().map(|(intent, _)| intent.after(Kind::Outcome, now_ms()))
    }

    /// Records the outcome with the next batch. A process that dies before leaves the call as `unknown`.
    pub fn finish_soon(mut self, outcome: JournalRecord) {
        self.open = None;
        self.journal.note_or_owe(outcome);
    }

    /// Records the outcome that `fill` makes of the intent, with the next batch: as [`Self::outcome`] and
    /// [`Self::finish_soon`], without a copy of the intent where nobody else holds it any more.
    pub(crate) fn finish_soon_with(mut self, fill: impl FnOnce(&mut JournalRecord)) {
        if let Some((intent, _)) = self.open.take() {
            let mut record = ended(intent);
            fill(&mut record);
            self.journal.note_or_owe(record);
        }
    }

    /// As [`Journal::finish`].
    pub fn finish(
        mut self,
        outcome: JournalRecord,
        claim: Option<ClaimResult>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send + use<> {
        self.open = None;
        self.journal.finish(outcome, claim)
    }
}

/// An outcome that goes on where the intent left off.
fn ended(intent: Arc<JournalRecord>) -> JournalRecord {
    let intent = Arc::unwrap_or_clone(intent);
    intent.into_after(Kind::Outcome, now_ms())
}

impl Drop for Unsettled {
    fn drop(&mut self) {
        if let Some((record, claim)) = self.fallback() {
            self.journal.owe(Arc::new(record), claim);
        }
    }
}
