//! Where requests and grants are kept.

use super::request::{ApprovalRequest, Grant, RequestState, StoredRequest};
use crate::{backend::BoxFuture, identity::Principal, journal::JournalRecord, store::StoreError};

/// What became of a request that was to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parked {
    /// It is kept under its own id.
    New,
    /// The same principal had asked for the same tool, definition and arguments already and nobody has answered: that
    /// request stands, with this id.
    Standing(String),
}

/// Which requests to list.
#[derive(Clone, Debug, Default)]
pub struct RequestFilter {
    /// Only of this tenant.
    pub tenant: Option<String>,
    /// Only in this state.
    pub state: Option<RequestState>,
    /// At most this many, newest first.
    pub limit: usize,
}

/// An answer to be recorded.
#[derive(Clone, Debug)]
pub struct RecordedAnswer {
    /// Whether the call may run.
    pub approved: bool,
    /// What the answer grants or forbids from now on; `None` for a plain denial.
    pub grant: Option<Grant>,
    /// Who answered.
    pub by: String,
    /// What is appended to the journal in the same step, if the answer counts, by stores that keep one.
    pub evidence: Option<JournalRecord>,
}

/// What became of an answer. Of two racing answers exactly one is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerOutcome {
    /// It counts.
    Recorded,
    /// Somebody was first, or it had expired: the state the request has.
    Settled(RequestState),
    /// There is no such request.
    Unknown,
}

/// Keeps approvals. Every method is one atomic step, also between processes that share the store.
pub trait ApprovalStore: Send + Sync + 'static {
    /// Keeps a request. Refuses with [`StoreError::Quota`] when the same tenant and user have `most_pending` open.
    fn park(
        &self,
        request: ApprovalRequest,
        most_pending: usize,
        now_ms: u64,
    ) -> BoxFuture<'_, Result<Parked, StoreError>>;
    /// Reads a request; one that is past its time reads as expired.
    fn request<'a>(&'a self, id: &'a str, now_ms: u64) -> BoxFuture<'a, Result<Option<StoredRequest>, StoreError>>;
    /// Lists requests, newest first.
    fn requests(&self, filter: RequestFilter, now_ms: u64) -> BoxFuture<'_, Result<Vec<StoredRequest>, StoreError>>;
    /// Records an answer, its grant and its evidence together.
    fn answer<'a>(
        &'a self,
        id: &'a str,
        answer: RecordedAnswer,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<AnswerOutcome, StoreError>>;
    /// Grants in force (not expired, not used up, not revoked) of one tenant, or of all: those that forbid before those
    /// that allow, so that no limit cuts off a refusal as long as it lets an approval through; then newest first; at most
    /// `limit`.
    ///
    /// A stored grant that cannot be read and does not certainly allow reads as one that forbids ([`Grant::unreadable`]).
    fn grants<'a>(
        &'a self,
        tenant: Option<&'a str>,
        limit: usize,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<Vec<Grant>, StoreError>>;
    /// Grants in force that may speak of this principal's calls of a tool (the tool's identity as text): of its tenant and
    /// user, those for one session only if it is this one. Those that forbid come first, then newest first, at most
    /// [`super::MOST_GRANTS`]. Looks them up by what they cover: however many grants there are, a refusal is found.
    fn grants_for<'a>(
        &'a self,
        principal: &'a Principal,
        tool: &'a str,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<Vec<Grant>, StoreError>>;
    /// One grant in force.
    fn grant<'a>(&'a self, id: &'a str, now_ms: u64) -> BoxFuture<'a, Result<Option<Grant>, StoreError>>;
    /// Takes one use of a grant. True for exactly as many callers as it has uses left.
    fn take<'a>(&'a self, grant: &'a str, now_ms: u64) -> BoxFuture<'a, Result<bool, StoreError>>;
    /// Ends a grant; false when there was none in force. Stores that keep a journal append `evidence` to it in the same
    /// step, if there was one.
    fn revoke<'a>(
        &'a self,
        grant: &'a str,
        evidence: Option<JournalRecord>,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;
    /// A number that changes whenever anything above changed, also when another process changed it. Cheap: it is asked
    /// several times a second while somebody waits.
    fn version(&self) -> BoxFuture<'_, Result<u64, StoreError>>;
    /// Drops what was settled or ended before `before_ms`; returns how many rows.
    fn prune(&self, before_ms: u64) -> BoxFuture<'_, Result<u64, StoreError>>;
}
