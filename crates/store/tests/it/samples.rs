//! Requests, grants, records and pieces of work as the tests need them.

use std::sync::Arc;

use serde_json::json;
use toolcrib_core::{ContentHash, ToolId, permission::Risk};
use toolcrib_engine::{
    Door, Outcome, Principal,
    approval::{ApprovalRequest, Grant, GrantPattern, Reach, RecordedAnswer},
    journal::{Claim, ClaimResult, JournalFilter, JournalRecord, Kind, StoredRecord, link},
    pending::{Pending, PendingKind, PendingState, ResumeAs},
};

use crate::suite::LATER;

/// Records as a store is given them.
pub(crate) fn shared(records: impl IntoIterator<Item = JournalRecord>) -> Vec<Arc<JournalRecord>> {
    records.into_iter().map(Arc::new).collect()
}

pub(crate) fn principal(tenant: &str, user: &str) -> Principal {
    Principal {
        tenant: tenant.to_owned(),
        user: (!user.is_empty()).then(|| user.to_owned()),
        agent: Some("agent".to_owned()),
        session: Some("session".to_owned()),
    }
}

/// A request with arguments of its own.
pub(crate) fn request(id: &str) -> ApprovalRequest {
    ApprovalRequest {
        id: id.to_owned(),
        principal: principal("t", "ann"),
        tool: "mcp:files/write/deep".parse::<ToolId>().unwrap(),
        exposed: "files__write".to_owned(),
        definition: ContentHash::of_bytes(b"definition"),
        arguments_digest: ContentHash::of_bytes(id.as_bytes()),
        arguments: r#"{"path":"/tmp/é"}"#.to_owned(),
        description: "Writes a file.".to_owned(),
        reason: "it may change something".to_owned(),
        risk: Risk::High,
        offers: vec![Reach::Once, Reach::Session],
        patterns: vec![GrantPattern::Within { root: "/tmp".to_owned() }],
        created_at_ms: 1_000,
        expires_at_ms: LATER,
    }
}

pub(crate) fn grant(id: &str, uses_left: Option<u32>) -> Grant {
    Grant {
        id: id.to_owned(),
        request: format!("request of {id}"),
        principal: principal("t", "ann"),
        tool: "mcp:files/write/deep".to_owned(),
        definition: "d".repeat(64),
        pattern: GrantPattern::Exact { digest: "a".repeat(64) },
        reach: Reach::Once,
        allow: true,
        uses_left,
        created_at_ms: 1_000,
        expires_at_ms: None,
        by: "terminal".to_owned(),
    }
}

pub(crate) fn yes(grant: Option<Grant>) -> RecordedAnswer {
    RecordedAnswer { approved: true, grant, by: "terminal".to_owned(), evidence: None }
}

pub(crate) fn no() -> RecordedAnswer {
    RecordedAnswer { approved: false, grant: None, by: "http:key".to_owned(), evidence: None }
}

pub(crate) fn intent(run: &str, call: u64) -> JournalRecord {
    JournalRecord {
        call,
        principal: principal("t", "ann"),
        door: Some(Door::Bridge),
        tool: Some("mcp:files/write".to_owned()),
        name: "files__write".to_owned(),
        definition: Some("d".repeat(64)),
        arguments: Some("a".repeat(64)),
        mutating: true,
        ..JournalRecord::new(Kind::Intent, 1_000 + call, run)
    }
}

pub(crate) fn outcome(run: &str, call: u64, outcome: Outcome) -> JournalRecord {
    JournalRecord {
        kind: Kind::Outcome,
        outcome: Some(outcome),
        output: Some("o".repeat(64)),
        result_bytes: 12,
        backend_us: 345,
        total_us: 400,
        ..intent(run, call)
    }
}

pub(crate) fn claim(key: &str) -> Claim {
    Claim { owner: "t/ann".to_owned(), key: key.to_owned(), digest: format!("digest of {key}"), expires_at_ms: LATER }
}

pub(crate) fn kept(key: &str, result: Option<&str>) -> ClaimResult {
    ClaimResult { owner: "t/ann".to_owned(), key: key.to_owned(), result: result.map(str::to_owned), release: false }
}

pub(crate) fn everything() -> JournalFilter {
    JournalFilter { limit: usize::MAX, ..JournalFilter::default() }
}

/// Whether every record follows from the one before it, and the first from the anchor.
#[track_caller]
pub(crate) fn holds(anchor: (u64, String), records: &[StoredRecord]) {
    let (mut seq, mut hash) = anchor;
    for stored in records {
        seq += 1;
        assert_eq!(stored.seq, seq, "places have no gap");
        assert_eq!(stored.hash, link(&hash, seq, &stored.record), "record {seq} is chained to the one before");
        hash.clone_from(&stored.hash);
    }
}

pub(crate) fn piece(handle: &str, kind: PendingKind) -> Pending {
    Pending {
        handle: handle.to_owned(),
        kind,
        principal: principal("t", "ann"),
        run: "run".to_owned(),
        call: 7,
        tool: "mcp:files/scan".to_owned(),
        exposed: "files__scan".to_owned(),
        correlation: Some(format!("c-{handle}")),
        resume_as: ResumeAs::UserMessage,
        state: PendingState::Waiting,
        result: None,
        created_at_ms: 1_000,
        expires_at_ms: LATER,
        metadata: json!({"z": 1, "a": ["é"]}),
    }
}
