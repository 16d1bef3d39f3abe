//! Closing what dead processes left open.

use std::{collections::HashSet, sync::Arc};

use super::{
    record::{JournalRecord, Kind},
    store::JournalStore,
};
use crate::{clock::now_ms, event::Outcome, store::StoreError};

/// Intents read at a time.
const PAGE: usize = 256;

/// Records every unfinished call of a dead process as ended with an unknown outcome. The record carries the run and
/// call number of the intent, by which the store finds the claim and lets it remember the outcome; the key stays taken,
/// because the call may have taken effect. Returns how many there were.
pub(super) async fn recover(store: &dyn JournalStore, run: &str) -> Result<u64, StoreError> {
    let mut seen = HashSet::new();
    loop {
        let page = store.unfinished(PAGE).await?;
        let fresh: Vec<_> = page.into_iter().filter(|intent| seen.insert(intent.seq)).collect();
        if fresh.is_empty() {
            break;
        }
        for intent in fresh {
            let mut record: JournalRecord = intent.record.after(Kind::Recovered, now_ms());
            record.outcome = Some(Outcome::Unknown);
            record.reason = Some("the process ended before the call's end was recorded".to_owned());
            // Of an intent that could not be read the store says so.
            let damaged = intent.record.detail.as_ref().map(|detail| format!("; {detail}")).unwrap_or_default();
            record.detail = Some(format!("found by run {run}{damaged}"));
            let record = Arc::new(record);
            match store.finish(record.clone(), None).await {
                // Too long with what was added to it: that it ended matters more.
                Err(StoreError::Quota(_)) => store.finish(Arc::new(record.shortened()), None).await?,
                written => written?,
            }
        }
    }
    let recovered = seen.len() as u64;
    if recovered > 0 {
        tracing::warn!(recovered, "calls of a process that died were recorded as ended with an unknown outcome");
    }
    Ok(recovered)
}
