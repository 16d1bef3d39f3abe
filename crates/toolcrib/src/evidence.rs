//! What goes into the journal about people's answers, whichever way they come. The store writes it in one step with the
//! answer, so that no grant is without it.

use toolcrib_core::ToolId;
use toolcrib_engine::{
    Engine,
    approval::{Answer, ApprovalRequest, Grant, Reach},
    journal::{JournalRecord, Kind},
    manager::Adjustment,
};

use crate::callers::now_ms;

/// The run under which commands record, which make no calls of their own.
const TERMINAL: &str = "terminal";

/// A person answered a request.
pub(crate) fn answered(request: &ApprovalRequest, answer: &Answer, by: &str) -> JournalRecord {
    let word = match answer {
        Answer::Approve { reach, .. } => format!("approved, {}", reach.word()),
        Answer::Deny { reach: Reach::Always } => "never".to_owned(),
        Answer::Deny { reach } => format!("denied, {}", reach.word()),
    };
    let mut record = JournalRecord::new(Kind::Answered, now_ms(), TERMINAL);
    record.principal = request.principal.clone();
    record.tool = Some(request.tool.to_string());
    record.definition = Some(request.definition.to_string());
    record.arguments = Some(request.arguments_digest.to_string());
    record.authority = Some(by.to_owned());
    record.detail = Some(format!("request {}: {word}", request.id));
    record
}

/// A person took a grant back.
pub(crate) fn revoked(grant: &Grant, by: &str) -> JournalRecord {
    let mut record = JournalRecord::new(Kind::Grant, now_ms(), TERMINAL);
    record.principal = grant.principal.clone();
    record.tool = Some(grant.tool.clone());
    record.definition = Some(grant.definition.clone());
    record.authority = Some(by.to_owned());
    record.detail = Some(format!("grant {} of request {}: revoked", grant.id, grant.request));
    record
}

/// Something else is said of a tool from now on.
pub(crate) fn adjusted(tool: &ToolId, said: &Adjustment, by: &str) -> JournalRecord {
    let mut record = JournalRecord::new(Kind::Adjusted, now_ms(), TERMINAL);
    record.tool = Some(tool.to_string());
    record.authority = Some(by.to_owned());
    record.detail = Some(said.summary().chars().take(2_000).collect());
    record
}

/// That was recorded, but did not happen.
pub(crate) fn not_adjusted(record: &JournalRecord, why: &str) -> JournalRecord {
    let mut record = record.after(Kind::Adjusted, now_ms());
    record.detail = Some("not done: what was said before holds".to_owned());
    record.reason = Some(why.chars().take(500).collect());
    record
}

/// The same from a serving process, for its own run; nothing where no journal is kept.
pub(crate) fn of_run(engine: &Engine, mut record: JournalRecord) -> Option<JournalRecord> {
    engine.journal()?.run().clone_into(&mut record.run);
    Some(record)
}

/// Shows observers what the store has appended together with an answer.
pub(crate) fn tell(engine: &Engine, record: Option<&JournalRecord>) {
    if let (Some(journal), Some(record)) = (engine.journal(), record) {
        journal.tell(record);
    }
}
