//! Tools that wait to be resumed from outside: the signal, what is kept, and resuming exactly once.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use serde_json::Value;
use toolcrib_core::ToolResult;

use super::{
    Delivery, Origin, Pending, PendingError, PendingKind, PendingState, PendingWork, Prompter, ResumeAs,
    settings::millis,
    work::{new_handle, owner_of},
};
use crate::store::StoreError;

/// Longest correlation id, in characters.
const MAX_CORRELATION: usize = 200;
/// Largest metadata, in bytes of JSON.
pub(super) const MAX_METADATA: usize = 16 * 1024;

/// A tool's wish to be resumed later.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspension {
    /// What the outside will know it by: 1 to 200 characters, no control characters.
    pub correlation: String,
    /// How what comes back is given to the model.
    pub resume_as: ResumeAs,
    /// How long it can be resumed; `None` takes the configured 7 days, which is also the most.
    pub ttl: Option<Duration>,
    /// The tool's own notes; at most 16 KiB of JSON.
    pub metadata: Value,
}

impl Suspension {
    /// One with everything but the id as by default.
    pub fn new(correlation: impl Into<String>) -> Self {
        Self { correlation: correlation.into(), resume_as: ResumeAs::default(), ttl: None, metadata: Value::Null }
    }

    /// Checks what the tool gave.
    pub fn check(&self) -> Result<(), SuspensionError> {
        let length = self.correlation.chars().count();
        if self.correlation.trim().is_empty() {
            return Err(SuspensionError::NoCorrelation);
        }
        if length > MAX_CORRELATION || self.correlation.chars().any(char::is_control) {
            return Err(SuspensionError::BadCorrelation(length));
        }
        let bytes = toolcrib_core::ingest::json_len(&self.metadata);
        if bytes > MAX_METADATA {
            return Err(SuspensionError::Metadata(bytes));
        }
        if self.ttl == Some(Duration::ZERO) {
            return Err(SuspensionError::NoTime);
        }
        Ok(())
    }
}

/// A signal that cannot be honoured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SuspensionError {
    /// There is no correlation id.
    #[error("the tool asked to be suspended without a correlation id; it must give one")]
    NoCorrelation,
    /// It cannot be used.
    #[error(
        "the correlation id of {0} characters is not usable; give at most {MAX_CORRELATION} characters, none of them control characters"
    )]
    BadCorrelation(usize),
    /// The metadata is too large.
    #[error("the metadata of the suspension takes {0} bytes; at most {MAX_METADATA} are kept")]
    Metadata(usize),
    /// It would expire at once.
    #[error("the suspension lives for 0 ms; give a longer time, or none for the default")]
    NoTime,
    /// The caller cannot suspend calls.
    #[error("this call cannot be suspended here; run the tool where calls can be resumed")]
    Refused,
}

/// The cell a tool signals through. Clones share it; give calls of one turn the same one, and the first of them to signal
/// wins (oneringai case 125). The default refuses, and costs nothing.
#[derive(Clone, Default)]
pub struct Suspender {
    cell: Option<Arc<Mutex<Cell>>>,
    /// The call that signals through this clone; 0 where that is not known.
    call: u64,
    prompter: Option<Arc<dyn Prompter>>,
}

impl std::fmt::Debug for Suspender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Suspender").field("cell", &self.cell).field("call", &self.call).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
enum Cell {
    #[default]
    Open,
    Signalled(Suspension, u64),
    Closed,
}

impl Suspender {
    /// A cell that takes one signal.
    pub fn accepting() -> Self {
        Self { cell: Some(Arc::default()), call: 0, prompter: None }
    }

    /// The same with a way to a person during the call, for which a tool need not wait outside of it.
    #[must_use]
    pub fn asking_through(mut self, prompter: Arc<dyn Prompter>) -> Self {
        self.prompter = Some(prompter);
        self
    }

    /// The way to a person during the call.
    pub fn prompter(&self) -> Option<&Arc<dyn Prompter>> {
        self.prompter.as_ref()
    }

    /// Whether a signal would be taken.
    pub fn is_open(&self) -> bool {
        self.cell.as_ref().is_some_and(|cell| matches!(*cell.lock(), Cell::Open))
    }

    /// Signals. True for the first signal; false, without effect, for later ones.
    pub fn suspend(&self, suspension: Suspension) -> Result<bool, SuspensionError> {
        let cell = self.cell.as_ref().ok_or(SuspensionError::Refused)?;
        suspension.check()?;
        let mut cell = cell.lock();
        let first = matches!(*cell, Cell::Open);
        if first {
            *cell = Cell::Signalled(suspension, self.call);
        }
        Ok(first)
    }

    /// The same cell in the hands of one call's tool, so that another call of the turn does not take its signal.
    pub(crate) fn of_call(&self, call: u64) -> Self {
        Self { cell: self.cell.clone(), call, prompter: self.prompter.clone() }
    }

    /// Takes the signal if it is this call's.
    pub(crate) fn take_of(&self, call: u64) -> Option<Suspension> {
        let mut cell = self.cell.as_ref()?.lock();
        match std::mem::replace(&mut *cell, Cell::Closed) {
            Cell::Signalled(suspension, by) if by == call => Some(suspension),
            other => {
                *cell = other;
                None
            }
        }
    }

    /// Takes the signal, if there is one; signals after that have no effect. Without one the cell stays open, for other
    /// calls of the turn.
    pub fn take(&self) -> Option<Suspension> {
        let mut cell = self.cell.as_ref()?.lock();
        match std::mem::take(&mut *cell) {
            Cell::Open => None,
            Cell::Closed => {
                *cell = Cell::Closed;
                None
            }
            Cell::Signalled(suspension, _) => {
                *cell = Cell::Closed;
                Some(suspension)
            }
        }
    }
}

/// Why nothing was resumed.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// Nothing waits under this correlation id.
    #[error("nothing waits under this correlation id; check the id and the tenant")]
    Unknown,
    /// It waited too long.
    #[error("the call that waited under this correlation id has expired; start it again")]
    Expired,
    /// Somebody was first.
    #[error("the call that waited under this correlation id was resumed or cancelled already")]
    AlreadyResumed,
    /// The store failed; whether it was resumed shows when it is tried again.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl PendingWork {
    /// Keeps a suspended call until it is resumed or expires.
    pub async fn suspend(&self, origin: Origin, suspension: Suspension) -> Result<Pending, PendingError> {
        suspension.check()?;
        let settings = self.inner.settings.load_full();
        let now = self.inner.now();
        let ttl = suspension.ttl.unwrap_or(settings.suspension_ttl).min(settings.suspension_ttl);
        let pending = Pending {
            handle: new_handle()?,
            kind: PendingKind::Suspended,
            principal: origin.principal,
            run: origin.run,
            call: origin.call,
            tool: origin.tool,
            exposed: origin.exposed,
            correlation: Some(suspension.correlation),
            resume_as: suspension.resume_as,
            state: PendingState::Waiting,
            result: None,
            created_at_ms: now,
            expires_at_ms: now.saturating_add(millis(ttl)),
            metadata: suspension.metadata,
        };
        self.inner.store.open(pending.clone(), settings.most, now).await?;
        Ok(pending)
    }

    /// Keeps what came back for the oldest call that waits under a correlation id, and leaves it for the call's own side:
    /// it is read by its handle, or delivered to [`super::Deliveries::with_replies`]. Only the first reply counts.
    pub async fn reply(&self, tenant: &str, correlation: &str, payload: ToolResult) -> Result<Pending, ResumeError> {
        let now = self.inner.now();
        let found = self.inner.store.by_correlation(tenant, correlation, now).await?;
        let mut piece = found.ok_or(ResumeError::Unknown)?;
        match piece.state {
            PendingState::Waiting => {}
            PendingState::Expired => return Err(ResumeError::Expired),
            PendingState::Ready | PendingState::Delivered | PendingState::Lost => {
                return Err(ResumeError::AlreadyResumed);
            }
        }
        let text = payload.raw().get().to_owned();
        if !self.inner.store.settle(&piece.handle, text.clone(), now).await? {
            return Err(ResumeError::AlreadyResumed);
        }
        piece.state = PendingState::Ready;
        piece.result = Some(text);
        self.inner.changed(&owner_of(&piece.principal));
        Ok(piece)
    }

    /// Resumes the oldest call that waits under a correlation id, with what came back. Exactly one caller gets the
    /// delivery, also across processes and restarts; it continues the conversation with it.
    ///
    /// If a process ended after it had kept what came back but before it took the delivery, the next caller gets that.
    pub async fn resume(&self, tenant: &str, correlation: &str, payload: ToolResult) -> Result<Delivery, ResumeError> {
        let now = self.inner.now();
        let found = self.inner.store.by_correlation(tenant, correlation, now).await?;
        let mut piece = found.ok_or(ResumeError::Unknown)?;
        match piece.state {
            PendingState::Waiting => {
                let text = payload.raw().get().to_owned();
                if !self.inner.store.settle(&piece.handle, text.clone(), now).await? {
                    return Err(ResumeError::AlreadyResumed);
                }
                piece.result = Some(text);
            }
            PendingState::Ready => {}
            PendingState::Expired => return Err(ResumeError::Expired),
            PendingState::Delivered | PendingState::Lost => return Err(ResumeError::AlreadyResumed),
        }
        if !self.inner.store.deliver(&piece.handle, now).await? {
            return Err(ResumeError::AlreadyResumed);
        }
        Ok(Delivery::of(piece))
    }
}
