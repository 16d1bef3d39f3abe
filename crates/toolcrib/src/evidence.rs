//! What goes into the journal about people's answers, whichever way they come.

use toolcrib_engine::{
    Engine,
    approval::{Answer, ApprovalRequest, Grant, Reach},
    journal::{JournalRecord, JournalStore, Kind},
};

use crate::callers::now_ms;

/// The run under which commands record, which make no calls of their own.
const TERMINAL: &str = "terminal";

/// A person answered a request.
pub(crate) fn answered(request: &ApprovalRequest, answer: &Answer, by: &str) -> JournalRecord {
    let word = match answer {
        Answer::Approve { reach, .. } => format!("approved, {}", reach_word(*reach)),
        Answer::Deny { reach: Reach::Always } => "never".to_owned(),
        Answer::Deny { reach } => format!("denied, {}", reach_word(*reach)),
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

/// Records within a serving process.
pub(crate) async fn note(engine: &Engine, mut record: JournalRecord) {
    let Some(journal) = engine.journal() else { return };
    journal.run().clone_into(&mut record.run);
    if let Err(error) = journal.note(record).await {
        tracing::warn!(%error, "an answer waits for the journal");
    }
}

/// Records from a command.
pub(crate) async fn append(journal: &dyn JournalStore, record: JournalRecord) {
    if let Err(error) = journal.append(vec![record]).await {
        crate::print::note(format!("warning: this is not in the journal: {error}"));
    }
}

/// The word of a reach.
pub(crate) fn reach_word(reach: Reach) -> &'static str {
    match reach {
        Reach::Once => "once",
        Reach::Session => "session",
        Reach::Always => "always",
    }
}
