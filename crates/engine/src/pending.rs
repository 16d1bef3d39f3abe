//! Work that outlives its call: tools that do not block and tools that wait for a person (oneringai §2.10). What is kept
//! about them, and where; [`PendingWork`] runs the former and resumes the latter.
//!
//! The store is the only truth: whether a piece waits, is ready or was delivered is decided there, in atomic steps, so
//! that each result reaches somebody exactly once, whichever process asks and whatever was restarted in between.

mod deliver;
mod read;
mod settings;
mod supervise;
mod suspend;
mod user_input;
mod work;

pub use deliver::{Deliveries, Delivery};
pub use read::Read;
pub use settings::PendingSettings;
pub use suspend::{ResumeError, Suspender, Suspension, SuspensionError};
pub use user_input::{Prompter, Shown, USER_INPUT_TOOL, UserInput, UserInputDelivery, UserPrompt};
pub use work::{Finished, Origin, PendingError, PendingWork, Started};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{backend::BoxFuture, identity::Principal, store::StoreError};

/// What is being waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PendingKind {
    /// A tool that runs in the background.
    Background,
    /// A tool that waits to be resumed from outside.
    Suspended,
}

/// How what comes back is given to the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResumeAs {
    /// As the result of the call that began it.
    ToolResult,
    /// As a message of the user's (the default, oneringai §2.10).
    #[default]
    UserMessage,
}

/// Where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PendingState {
    /// Not finished.
    Waiting,
    /// The result is there and has not been taken.
    Ready,
    /// The result was taken.
    Delivered,
    /// Nothing came in time.
    Expired,
    /// The process that ran it ended.
    Lost,
}

/// One piece of such work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pending {
    /// The handle: 128 unguessable bits as text.
    pub handle: String,
    /// What is being waited for.
    pub kind: PendingKind,
    /// Whose it is.
    pub principal: Principal,
    /// The run that began it.
    pub run: String,
    /// The call that began it.
    pub call: u64,
    /// The tool's identity as text.
    pub tool: String,
    /// The name it was called by.
    pub exposed: String,
    /// What the outside knows it by (suspended tools).
    pub correlation: Option<String>,
    /// How what comes back is given to the model.
    pub resume_as: ResumeAs,
    /// Where it stands.
    pub state: PendingState,
    /// The result's JSON text, once there.
    pub result: Option<String>,
    /// When it began, milliseconds since the Unix epoch.
    pub created_at_ms: u64,
    /// When it is given up.
    pub expires_at_ms: u64,
    /// The tool's own notes; at most 16 KiB of JSON.
    pub metadata: Value,
}

/// Which pieces to list, oldest first.
#[derive(Clone, Debug, Default)]
pub struct PendingFilter {
    /// Only of this tenant and user.
    pub owner: Option<(String, Option<String>)>,
    /// Only in this state.
    pub state: Option<PendingState>,
    /// Only of this kind.
    pub kind: Option<PendingKind>,
    /// At most this many.
    pub limit: usize,
}

/// Keeps work that outlives its call. Every method is one atomic step, also between processes.
pub trait PendingStore: Send + Sync + 'static {
    /// Keeps a new piece. Refuses with [`StoreError::Quota`] when the owner (tenant and user) has `most` unfinished ones.
    fn open(&self, pending: Pending, most: usize, now_ms: u64) -> BoxFuture<'_, Result<(), StoreError>>;
    /// Reads one by its handle; past its time it reads as expired.
    fn pending<'a>(&'a self, handle: &'a str, now_ms: u64) -> BoxFuture<'a, Result<Option<Pending>, StoreError>>;
    /// Reads the oldest waiting one with this correlation id, within a tenant. When none waits any more, the latest of any
    /// state, so that whoever comes late can be told why.
    fn by_correlation<'a>(
        &'a self,
        tenant: &'a str,
        correlation: &'a str,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<Option<Pending>, StoreError>>;
    /// Sets the result of a waiting piece. True for the first caller only; false when it is not waiting any more.
    fn settle<'a>(&'a self, handle: &'a str, result: String, now_ms: u64) -> BoxFuture<'a, Result<bool, StoreError>>;
    /// Marks a ready or lost piece as delivered. True for exactly one caller.
    fn deliver<'a>(&'a self, handle: &'a str, now_ms: u64) -> BoxFuture<'a, Result<bool, StoreError>>;
    /// Lists.
    fn list_pending(&self, filter: PendingFilter, now_ms: u64) -> BoxFuture<'_, Result<Vec<Pending>, StoreError>>;
    /// Marks the waiting background work of runs whose process is gone as lost; returns the pieces.
    fn lose_dead(&self, now_ms: u64) -> BoxFuture<'_, Result<Vec<Pending>, StoreError>>;
    /// Drops what was finished or given up before `before_ms`.
    fn prune_pending(&self, before_ms: u64) -> BoxFuture<'_, Result<u64, StoreError>>;
}
