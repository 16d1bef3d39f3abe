//! Taking records out: all at once, or as they come.

use std::{
    io::{self, Write},
    ops::ControlFlow,
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use super::{
    record::StoredRecord,
    store::{JournalFilter, JournalStore},
};
use crate::store::StoreError;

/// Records read at a time.
const PAGE: usize = 1_000;

/// An export that did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The destination failed.
    #[error("the exported records could not be written: {0}")]
    Write(#[from] io::Error),
}

/// Writes records as one JSON object a line (place, hash and all fields of the record), page by page; returns how many.
/// A limit of 0 means all.
///
/// # Errors
/// When the store or the destination fails; lines up to then are written.
pub async fn export(
    store: &dyn JournalStore,
    filter: JournalFilter,
    out: &mut (dyn Write + Send),
) -> Result<u64, ExportError> {
    let mut left = if filter.limit == 0 { usize::MAX } else { filter.limit };
    let mut written = 0;
    // The newest ones are a number of their own: nothing to page through.
    let page = if filter.newest { left } else { left.min(PAGE) };
    let mut filter = JournalFilter { limit: page, ..filter };
    loop {
        let records = store.records(filter.clone()).await?;
        for stored in &records {
            serde_json::to_writer(&mut *out, stored).map_err(io::Error::from)?;
            out.write_all(b"\n")?;
        }
        written += records.len() as u64;
        left = left.saturating_sub(records.len());
        let Some(last) = records.last().filter(|_| left > 0 && !filter.newest) else { break };
        filter.after = last.seq;
        filter.limit = left.min(PAGE);
    }
    out.flush()?;
    Ok(written)
}

/// Hands out records that fit the filter, and then those that come, until `cancel`, or until `take` breaks off. Looks
/// for new ones every `every`. With `newest` in the filter it begins with the last `limit` ones, else after `after`.
///
/// # Errors
/// When the store fails.
pub async fn follow(
    store: &dyn JournalStore,
    filter: JournalFilter,
    every: Duration,
    cancel: &CancellationToken,
    mut take: impl FnMut(StoredRecord) -> ControlFlow<()> + Send,
) -> Result<(), StoreError> {
    let mut filter = filter;
    if !filter.newest {
        filter.limit = PAGE;
    }
    loop {
        let records = store.records(filter.clone()).await?;
        let more = records.len() == PAGE;
        for stored in records {
            filter.after = stored.seq;
            if take(stored).is_break() {
                return Ok(());
            }
        }
        (filter.newest, filter.limit) = (false, PAGE);
        if !more {
            tokio::select! {
                () = cancel.cancelled() => return Ok(()),
                () = tokio::time::sleep(every) => {}
            }
        } else if cancel.is_cancelled() {
            return Ok(());
        }
    }
}
