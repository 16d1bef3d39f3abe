//! What the stored questions and pieces of work go by.

use toolcrib_core::ContentHash;
use toolcrib_engine::{
    approval::{ApprovalRequest, RequestState, StoredRequest},
    pending::{Pending, PendingKind, PendingState},
};

/// Equal for two requests of the same principal for the same tool, definition and arguments.
pub(crate) fn subject_of(request: &ApprovalRequest) -> String {
    let principal = &request.principal;
    // A list of JSON texts: no two different ones are written alike.
    let parts = serde_json::json!([
        principal.tenant,
        principal.user,
        principal.agent,
        principal.session,
        request.tool.to_string(),
        request.definition.to_string(),
        request.arguments_digest.to_string(),
    ]);
    ContentHash::of_json(&parts).to_string()
}

pub(crate) fn request_state_word(state: RequestState) -> &'static str {
    match state {
        RequestState::Pending => "pending",
        RequestState::Approved => "approved",
        RequestState::Denied => "denied",
        RequestState::Expired => "expired",
    }
}

pub(crate) fn kind_word(kind: PendingKind) -> &'static str {
    match kind {
        PendingKind::Background => "background",
        PendingKind::Suspended => "suspended",
    }
}

pub(crate) fn pending_state_word(state: PendingState) -> &'static str {
    match state {
        PendingState::Waiting => "waiting",
        PendingState::Ready => "ready",
        PendingState::Delivered => "delivered",
        PendingState::Expired => "expired",
        PendingState::Lost => "lost",
    }
}

/// What a piece of work with this stored state reads as at a time.
pub(crate) fn state_at(piece: &Pending, now_ms: u64) -> PendingState {
    if piece.state == PendingState::Waiting && piece.expires_at_ms <= now_ms {
        PendingState::Expired
    } else {
        piece.state
    }
}

/// What a request with this stored state reads as at a time.
pub(crate) fn state_of_request(stored: &StoredRequest, now_ms: u64) -> RequestState {
    if stored.state == RequestState::Pending && stored.request.expires_at_ms <= now_ms {
        RequestState::Expired
    } else {
        stored.state
    }
}
