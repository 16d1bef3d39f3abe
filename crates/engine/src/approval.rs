//! Approvals: a person is asked, and the answer means exactly what the person saw.
//!
//! A [`ApprovalRequest`] names the tool, the hash of its definition and the digest of the canonical arguments; an
//! answer becomes a [`Grant`] bound to all three unless the person granted more. Requests and grants are in an
//! [`ApprovalStore`] and outlive the process. Nothing here is answerable by a model.

mod request;
mod store;

pub use request::{Answer, ApprovalRequest, Asker, AskError, Grant, GrantPattern, Reach, RequestState, StoredRequest};
pub use store::{AnswerOutcome, ApprovalStore, Parked, RecordedAnswer, RequestFilter};
