//! Calling the store's code, which may be anybody's.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;

use crate::store::StoreError;

/// Runs an operation of the store; one that panics has failed, and takes nothing else along.
pub(super) async fn guarded<T>(
    operation: &'static str,
    work: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    // What the store leaves behind is its own; nothing of ours is touched inside.
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| {
        Err(StoreError::Failed { operation, cause: "the store's code panicked; see the log".to_owned() })
    })
}
