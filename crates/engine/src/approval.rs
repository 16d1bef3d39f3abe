//! Approvals: a person is asked, and the answer means exactly what the person saw.
//!
//! A [`ApprovalRequest`] names the tool, the hash of its definition and the digest of the canonical arguments; an
//! answer becomes a [`Grant`] bound to all three unless the person granted more. Requests and grants are in an
//! [`ApprovalStore`] and outlive the process. Nothing here is answerable by a model. [`Approvals`] is the broker.

mod answer;
mod ask;
mod broker;
mod cache;
mod coverage;
mod describe;
mod offer;
mod prompts;
mod request;
mod settings;
mod store;
mod watch;

use crate::handle;

pub use answer::{AnswerError, Answered, Responder};
pub use ask::{Asked, Asking};
pub use broker::{Approvals, Covered, GrantUse};
pub use cache::MOST_GRANTS;
pub use describe::{ARGUMENTS_CHARS, DESCRIPTION_CHARS, TITLE_CHARS, visible};
pub use request::{
    ANY_TOOL, Answer, ApprovalRequest, AskError, Asker, Grant, GrantPattern, Reach, RequestState, StoredRequest,
};
pub use settings::{ApprovalSettings, MOST_WAIT};
pub use store::{AnswerOutcome, ApprovalStore, Parked, RecordedAnswer, RequestFilter};
pub use watch::Watch;
