//! Questions to a person, answers, and what answers leave behind.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{More, Number, Object, records::Principal};

/// `GET /v1/approvals`
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ApprovalsQuery {
    /// Only those in this state. Default: those that wait.
    pub state: Option<RequestState>,
    /// Most of them, newest first.
    pub limit: Option<Number<1, 1_000>>,
}

/// Where a request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequestState {
    /// Nobody has answered.
    Pending,
    /// Answered: it may run.
    Approved,
    /// Answered: it may not.
    Denied,
    /// Nobody answered in time.
    Expired,
    /// Any of them (in a query only).
    All,
}

/// Requests.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Requests {
    /// Newest first.
    pub approvals: Vec<Request>,
}

/// A question to a person.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// Its handle.
    pub id: String,
    /// Where it stands.
    pub state: RequestState,
    /// Who wants to run the tool.
    pub principal: Principal,
    /// The tool's identity.
    pub tool: String,
    /// The name the caller knows it by.
    pub exposed: String,
    /// The arguments as JSON text, secrets masked.
    pub arguments: String,
    /// What will happen, in one or two sentences.
    pub description: String,
    /// Why it is asked.
    pub reason: String,
    /// How much could go wrong: `low`, `medium`, `high`, `critical`.
    pub risk: String,
    /// How far an approval may reach.
    pub offers: Vec<Reach>,
    /// Wider patterns that may be granted instead.
    #[serde(default)]
    pub patterns: Vec<GrantPattern>,
    /// When it was asked, milliseconds since the Unix epoch.
    pub created_at_ms: u64,
    /// When it ends unanswered.
    pub expires_at_ms: u64,
    /// When and by whom it was answered; hashes of what it is bound to.
    #[serde(flatten)]
    pub more: More,
}

/// How far an answer reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// This call, once.
    Once,
    /// Until the caller's session ends.
    Session,
    /// Until it is revoked.
    Always,
}

/// Which arguments a grant covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum GrantPattern {
    /// Arguments with exactly this digest.
    Exact {
        /// The digest.
        digest: String,
    },
    /// Any arguments of this tool.
    Any {},
    /// Calls whose paths all lie in this folder.
    Within {
        /// The folder.
        root: String,
    },
    /// Calls whose addresses all go to this host.
    Host {
        /// The host.
        host: String,
    },
    /// Calls whose whole command line consists of this program.
    Command {
        /// The rule.
        rule: String,
    },
}

/// `POST /v1/approvals/{id}`
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "answer", rename_all = "snake_case", deny_unknown_fields)]
pub enum Verdict {
    /// Let it run.
    Approve {
        /// How far; one of those that the request offers.
        reach: Reach,
        /// A wider pattern, one of those that the request offers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pattern: Option<Object<GrantPattern>>,
    },
    /// Do not.
    Deny {
        /// How far; `always` means never.
        reach: Reach,
    },
}

/// What became of an answer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Answered {
    /// True: it counts.
    pub recorded: bool,
    /// What it leaves behind.
    pub grant: Option<Grant>,
}

/// What an answer leaves behind.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Grant {
    /// Its handle.
    pub id: String,
    /// The request it answers.
    pub request: String,
    /// Whose calls.
    pub principal: Principal,
    /// The tool's identity.
    pub tool: String,
    /// Which arguments.
    pub pattern: GrantPattern,
    /// How far.
    pub reach: Reach,
    /// True: such calls run. False: they are refused without asking.
    pub allow: bool,
    /// Uses left; null: any number.
    pub uses_left: Option<u32>,
    /// When it was given, milliseconds since the Unix epoch.
    pub created_at_ms: u64,
    /// When it ends; null: never.
    pub expires_at_ms: Option<u64>,
    /// Who gave it.
    pub by: String,
    /// The hash of the definition it is bound to.
    #[serde(flatten)]
    pub more: More,
}

/// Grants.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Grants {
    /// Those in force.
    pub grants: Vec<Grant>,
}

/// `DELETE /v1/grants/{id}`
#[derive(Debug, Serialize, JsonSchema)]
pub struct Revoked {
    /// True.
    pub revoked: bool,
}
