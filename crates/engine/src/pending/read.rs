//! Reading a piece by its handle, for `tool_result_read`.

use toolcrib_core::ToolResult;

use super::{Delivery, Pending, PendingKind, PendingState, PendingWork, work::owner_of};
use crate::{identity::Principal, store::StoreError};

/// What a handle stands for now.
#[derive(Clone, Debug)]
pub enum Read {
    /// Not finished.
    Waiting(Pending),
    /// Finished, or lost.
    Done(Delivery),
    /// Nothing came in time.
    Expired(Pending),
}

impl Read {
    /// What the model is told.
    pub fn into_result(self) -> ToolResult {
        match self {
            Self::Waiting(piece) if piece.kind == PendingKind::Suspended => {
                ToolResult::text(format!("{} still waits for its answer. Read it again later.", piece.exposed))
            }
            Self::Waiting(piece) => ToolResult::text(format!(
                "{} is still running. Go on with something else, and read it again later.",
                piece.exposed
            )),
            Self::Done(delivery) => delivery.result,
            Self::Expired(piece) => ToolResult::error(format!(
                "{} was given up: nothing came in time, or it was not taken in time.",
                piece.exposed
            )),
        }
    }
}

impl PendingWork {
    /// Reads a piece of this principal's tenant and user; `None` when there is none, or it is somebody else's.
    ///
    /// Whoever reads a result has it: it is not delivered once more as a follow-up. It can be read again.
    pub async fn read(&self, handle: &str, principal: &Principal) -> Result<Option<Read>, StoreError> {
        let now = self.inner.now();
        let Some(piece) = self.inner.store.pending(handle, now).await? else { return Ok(None) };
        if owner_of(&piece.principal) != owner_of(principal) {
            return Ok(None);
        }
        let read = match piece.state {
            PendingState::Waiting => Read::Waiting(piece),
            PendingState::Expired => Read::Expired(piece),
            PendingState::Ready | PendingState::Lost => {
                self.inner.store.deliver(handle, now).await?;
                Read::Done(Delivery::of(piece))
            }
            PendingState::Delivered => Read::Done(Delivery::of(piece)),
        };
        Ok(Some(read))
    }
}
