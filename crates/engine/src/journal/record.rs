//! One record of the journal. Holds digests, never arguments or results.

use serde::{Deserialize, Serialize};

use crate::{
    event::{Door, Outcome},
    identity::Principal,
};

/// What a record tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A call that may change something is about to leave.
    Intent,
    /// A call has ended.
    Outcome,
    /// A result arrived after its caller had been told that there was none.
    Late,
    /// A question stays open: nobody could be asked or nobody answered during the call, or the answer comes with the next.
    Asked,
    /// A person answered, or the question was taken back because its call was cancelled.
    Answered,
    /// A grant was taken back.
    Grant,
    /// A circuit breaker changed its state.
    Breaker,
    /// A process found calls of a dead one unfinished and closed them.
    Recovered,
    /// Records before this point were dropped by the retention rule.
    Pruned,
    /// Tools were searched for; the detail holds the queries, masked, and the first tools that they found.
    Search,
    /// Somebody says something else of a tool from now on: it is switched, labelled, or that is taken back.
    Adjusted,
    /// Records are missing here: the store could not be written for longer than there was room to keep them.
    Gap,
}

impl Kind {
    /// The kind's word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Intent => "intent",
            Self::Outcome => "outcome",
            Self::Late => "late",
            Self::Asked => "asked",
            Self::Answered => "answered",
            Self::Grant => "grant",
            Self::Breaker => "breaker",
            Self::Recovered => "recovered",
            Self::Pruned => "pruned",
            Self::Search => "search",
            Self::Adjusted => "adjusted",
            Self::Gap => "gap",
        }
    }
}

/// A record as the call path writes it. Field order is part of the chain's input: add new fields at the end, optional.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalRecord {
    /// What it tells.
    pub kind: Kind,
    /// When, milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// The process's run, 26 characters, unguessable.
    pub run: String,
    /// The call's number within the run; 0 where no call is concerned.
    pub call: u64,
    /// Whose call.
    pub principal: Principal,
    /// Which way it came in.
    pub door: Option<Door>,
    /// The tool's identity as text, where the name led to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The name as the caller wrote it, at most 128 characters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Hash of the tool's definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    /// Digest of the canonical arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    /// Whether the call may change something.
    #[serde(default)]
    pub mutating: bool,
    /// How the call ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Why; secrets masked, at most 500 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The rule or approval that let the call through or stopped it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority: Option<String>,
    /// Digest of the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Size of the result, bytes.
    #[serde(default)]
    pub result_bytes: u64,
    /// Time inside the backend, microseconds.
    #[serde(default)]
    pub backend_us: u64,
    /// Time from the door to the reply, microseconds.
    #[serde(default)]
    pub total_us: u64,
    /// The caller's trace id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// Further detail of kinds other than calls; at most 2,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl JournalRecord {
    /// A record with nothing but its kind, time and run.
    pub fn new(kind: Kind, at_ms: u64, run: impl Into<String>) -> Self {
        Self {
            kind,
            at_ms,
            run: run.into(),
            call: 0,
            principal: Principal::default(),
            door: None,
            tool: None,
            name: String::new(),
            definition: None,
            arguments: None,
            mutating: false,
            outcome: None,
            reason: None,
            authority: None,
            output: None,
            result_bytes: 0,
            backend_us: 0,
            total_us: 0,
            trace: None,
            detail: None,
        }
    }
}

impl JournalRecord {
    /// The record that begins where `self`, an intent, left off: same run, call, principal and tool, another kind.
    #[must_use]
    pub fn after(&self, kind: Kind, at_ms: u64) -> Self {
        self.clone().into_after(kind, at_ms)
    }

    /// The same, of an intent that is no longer needed.
    pub(super) fn into_after(self, kind: Kind, at_ms: u64) -> Self {
        Self {
            kind,
            at_ms,
            outcome: None,
            reason: None,
            output: None,
            result_bytes: 0,
            backend_us: 0,
            total_us: 0,
            detail: None,
            ..self
        }
    }

    /// The same with every free text cut to 200 characters, for stores that find it too long: that a call ended, and how,
    /// matters more than why.
    #[must_use]
    pub(super) fn shortened(&self) -> Self {
        let cut = |text: &String| -> String { text.chars().take(200).collect() };
        let optional = |text: &Option<String>| text.as_ref().map(cut);
        Self {
            principal: Principal {
                tenant: cut(&self.principal.tenant),
                user: optional(&self.principal.user),
                agent: optional(&self.principal.agent),
                session: optional(&self.principal.session),
            },
            tool: optional(&self.tool),
            name: cut(&self.name),
            reason: optional(&self.reason),
            authority: optional(&self.authority),
            trace: optional(&self.trace),
            detail: optional(&self.detail),
            ..self.clone()
        }
    }

    /// A result that arrived when its caller had already been told that there was none: of `self`, the intent or the
    /// outcome of that call. `output` is the digest of what arrived.
    #[must_use]
    pub fn late(&self, at_ms: u64, outcome: Outcome, output: Option<String>, result_bytes: u64) -> Self {
        Self { outcome: Some(outcome), output, result_bytes, ..self.after(Kind::Late, at_ms) }
    }
}

/// A record as the store has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoredRecord {
    /// Its place; grows by one.
    pub seq: u64,
    /// Its hash over the record and the hash before it, 64 hexadecimal digits.
    pub hash: String,
    /// The record.
    #[serde(flatten)]
    pub record: JournalRecord,
}
