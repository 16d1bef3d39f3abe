//! What is asked, what may be answered, and what an answer grants.

use serde::{Deserialize, Serialize};
use toolcrib_core::{ContentHash, ToolId, permission::Risk};

use crate::{backend::BoxFuture, identity::Principal};

/// A question to a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// The handle: 128 unguessable bits as text.
    pub id: String,
    /// Who wants to run the tool.
    pub principal: Principal,
    /// The tool.
    pub tool: ToolId,
    /// The name the caller knows it by.
    pub exposed: String,
    /// Hash of the tool's whole definition: another definition needs another approval.
    pub definition: ContentHash,
    /// Digest of the canonical arguments: other arguments need another approval.
    pub arguments_digest: ContentHash,
    /// The canonical arguments as a person sees them, at most 4,000 characters of JSON text: secrets masked with their
    /// lengths, nothing that could be executed hidden, what does not show escaped. What is longer is cut in the middle,
    /// says so, and can be approved once only.
    pub arguments: String,
    /// What will happen, in one or two sentences of ours; at most 512 characters (openclaw case 121 and §1.12).
    pub description: String,
    /// Why this is asked.
    pub reason: String,
    /// How much could go wrong.
    pub risk: Risk,
    /// How far an approval may reach.
    pub offers: Vec<Reach>,
    /// Wider patterns that may be granted instead of these arguments (this path, this host).
    pub patterns: Vec<GrantPattern>,
    /// When it was asked, milliseconds since the Unix epoch.
    pub created_at_ms: u64,
    /// When it can no longer be answered.
    pub expires_at_ms: u64,
}

/// How far an answer reaches (`once | session | always`; a denial that reaches always is `never`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// This call, once.
    Once,
    /// Until the caller's session ends.
    Session,
    /// Until it is revoked.
    Always,
}

impl Reach {
    /// The word for it, as answers write it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Session => "session",
            Self::Always => "always",
        }
    }
}

/// Which arguments a grant covers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum GrantPattern {
    /// Arguments with exactly this digest (64 hexadecimal digits).
    Exact {
        /// The digest.
        digest: String,
    },
    /// Any arguments of this tool.
    Any,
    /// Calls whose path arguments all lie in this folder.
    Within {
        /// The folder, normalised.
        root: String,
    },
    /// Calls whose addresses all go to this host.
    Host {
        /// The host name.
        host: String,
    },
    /// Calls whose whole command line consists of this program (`git:*`).
    Command {
        /// The rule, in the form that permission rules have.
        rule: String,
    },
}

/// A person's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case", deny_unknown_fields)]
pub enum Answer {
    /// Let it run.
    Approve {
        /// How far.
        reach: Reach,
        /// Which arguments, where more than those asked about; only patterns that the request offered are taken.
        #[serde(default)]
        pattern: Option<GrantPattern>,
    },
    /// Do not.
    Deny {
        /// How far: `always` means never ask again.
        reach: Reach,
    },
}

/// What an answer leaves behind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Its handle.
    pub id: String,
    /// The request it answers.
    pub request: String,
    /// Whose calls. For [`Reach::Session`] the session counts, else only tenant and user.
    pub principal: Principal,
    /// The tool's identity as text, or [`ANY_TOOL`].
    pub tool: String,
    /// Hash of the definition as text.
    pub definition: String,
    /// Which arguments.
    pub pattern: GrantPattern,
    /// How far.
    pub reach: Reach,
    /// True: such calls run. False: such calls are refused without asking.
    pub allow: bool,
    /// Uses left; `None` = any number.
    pub uses_left: Option<u32>,
    /// When it was given, milliseconds since the Unix epoch.
    pub created_at_ms: u64,
    /// When it ends; `None` = never.
    pub expires_at_ms: Option<u64>,
    /// Who gave it, as the route that brought the answer says (`terminal`, `http:KEY`, `client`, …).
    pub by: String,
}

/// Stands for every tool, and for every user of the tenant, in a refusal of which nothing more can be read.
pub const ANY_TOOL: &str = "*";

/// Who gave a grant that cannot be read.
const NOBODY_KNOWN: &str = "a stored answer that cannot be read";

impl Grant {
    /// What a store gives in place of a grant that is damaged and may have been a refusal: nothing runs by leave of what
    /// cannot be read, until a person takes the row away by its handle. The principal has
    /// a session if it was for that one only.
    pub fn unreadable(
        id: String,
        principal: Principal,
        tool: Option<String>,
        created_at_ms: u64,
        expires_at_ms: Option<u64>,
    ) -> Self {
        Self {
            id,
            request: String::new(),
            reach: if principal.session.is_some() { Reach::Session } else { Reach::Always },
            principal,
            tool: tool.unwrap_or_else(|| ANY_TOOL.to_owned()),
            definition: String::new(),
            pattern: GrantPattern::Any,
            allow: false,
            uses_left: None,
            created_at_ms,
            expires_at_ms,
            by: NOBODY_KNOWN.to_owned(),
        }
    }

    /// Whether it stands for one that cannot be read.
    pub fn is_unreadable(&self) -> bool {
        self.by == NOBODY_KNOWN
    }
}

/// Where a request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestState {
    /// Nobody has answered.
    Pending,
    /// Answered: let it run.
    Approved,
    /// Answered: do not.
    Denied,
    /// Nobody answered in time.
    Expired,
}

/// A request as the store has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredRequest {
    /// The question.
    #[serde(flatten)]
    pub request: ApprovalRequest,
    /// Where it stands.
    pub state: RequestState,
    /// When it was answered.
    pub answered_at_ms: Option<u64>,
    /// By whom.
    pub answered_by: Option<String>,
}

/// A way to reach a person during the call.
pub trait Asker: Send + Sync + 'static {
    /// The route's name, for the record (`client`, `terminal`, `callback`).
    fn route(&self) -> &str;
    /// Puts the question and waits for the answer. Dropping the future takes the question back. The caller limits how
    /// long it takes.
    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Result<Answer, AskError>>;
    /// Whether questions can still be put through it when the caller has its reply, by the part of a call that goes on in
    /// the background. Where they cannot, that call asks before it goes there.
    fn outlives_call(&self) -> bool {
        true
    }
}

/// Why there is no answer. All of them deny; they differ in what the record says and in whether the request stays open.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// The route cannot show questions at the moment.
    #[error("the question could not be shown: {0}")]
    Unreachable(String),
    /// Something came back that is no answer to the question.
    #[error("the answer cannot be used: {0}")]
    Unusable(String),
    /// The answer comes with another call (MCP multi-round requests): this call ends with the question.
    #[error("the answer comes with the next call")]
    Later,
}
