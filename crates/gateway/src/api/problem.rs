//! What goes wrong, in the one form that all errors over HTTP have: problem details (RFC 9457) with a stable code.

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::wire::CallOutcome;

/// The media type of problem details.
pub(crate) const MEDIA_TYPE: &str = "application/problem+json";

macro_rules! codes {
    ($($(#[doc = $meaning:literal])+ $name:ident = $word:literal, $status:literal, $title:literal;)+) => {
        /// What went wrong, as a word that programs may rely on.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
        pub enum Code {
            $($(#[doc = $meaning])+ #[serde(rename = $word)] $name,)+
        }

        impl Code {
            /// All codes, in the order of their statuses.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The code's word.
            pub fn word(self) -> &'static str {
                match self { $(Self::$name => $word,)+ }
            }

            /// The HTTP status that comes with it.
            pub fn status(self) -> u16 {
                match self { $(Self::$name => $status,)+ }
            }

            /// What it is called.
            pub fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)+ }
            }

            /// What it means and what helps.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$name => concat!($($meaning),+).trim_ascii_start(),)+ }
            }
        }
    };
}

codes! {
    /// The body, the query or a header is not what the route takes; `errors` says where.
    NotRead = "not_read", 400, "The request cannot be read";
    /// No key was sent, or none that is known.
    KeyNeeded = "key_needed", 401, "A key is needed";
    /// The key has not the scope that the route needs.
    ScopeNeeded = "scope_needed", 403, "The key does not open this";
    /// Nothing can be shown to this scope: its profile is unknown or the key is bound to another.
    ScopeRefused = "scope_refused", 403, "The scope cannot be served";
    /// The `Host` is not one that is served here.
    HostNotServed = "host_not_served", 403, "The host is not served";
    /// A web page of another site asked.
    CrossSite = "cross_site", 403, "Another site may not ask";
    /// Policy does not let the call run. Do not send it again.
    Denied = "denied", 403, "The call was denied";
    /// Who made a call may not let it run (`approvals.four_eyes`). Somebody with another key has to answer.
    OwnCall = "own_call", 403, "Somebody else has to approve this";
    /// A person has to approve the call first; `approval` is the request's handle. Send the same call again afterwards.
    ApprovalNeeded = "approval_needed", 403, "The call needs an approval";
    /// There is no such route.
    NotFound = "not_found", 404, "There is no such route";
    /// The caller has no tool of this name.
    UnknownTool = "unknown_tool", 404, "There is no such tool";
    /// There is no such request, grant or piece of work, or it is not the caller's.
    Unknown = "unknown", 404, "There is no such thing";
    /// This part is switched off by the configuration.
    SwitchedOff = "switched_off", 404, "This is switched off here";
    /// The route has other methods; `Allow` names them.
    MethodNotAllowed = "method_not_allowed", 405, "The method does not fit the route";
    /// `Accept` allows neither JSON nor a stream of events.
    NotAcceptable = "not_acceptable", 406, "No acceptable form of answer";
    /// The body did not arrive in time.
    TooSlow = "too_slow", 408, "The request took too long to arrive";
    /// It was answered before, or has expired.
    Settled = "settled", 409, "It is settled already";
    /// A call with the same key is still running. Ask again later.
    StillRunning = "still_running", 409, "The call is still running";
    /// The body is larger than `gateway.max_body_bytes`.
    TooLarge = "too_large", 413, "The request is too large";
    /// The body is no JSON: `Content-Type` must be `application/json`.
    NotJson = "not_json", 415, "The request is not JSON";
    /// The arguments do not fit the tool's schema, which `result` shows. Nothing was run.
    InvalidArguments = "invalid_arguments", 422, "The arguments do not fit";
    /// The header `Idempotency-Key` and the body give different keys. Nothing was run.
    KeyConflict = "key_conflict", 422, "Two idempotency keys for one call";
    /// The idempotency key was used for another call. Nothing was run.
    KeyReused = "key_reused", 422, "The idempotency key was used before";
    /// The answer is none that the approval request offers.
    NotOffered = "not_offered", 422, "The request does not offer this answer";
    /// A tool that the client brings has the name of one that is there already.
    NameTaken = "name_taken", 422, "The name is taken";
    /// A value is of the right form and names nothing, or cannot be used; `errors` says which.
    NotUsable = "not_usable", 422, "A value cannot be used";
    /// A provider's response cannot be read as one of the target's.
    BadResponse = "bad_response", 422, "The provider's response cannot be read";
    /// Too many requests of this key wait, or too many calls run. `Retry-After` says when to try again.
    TooMany = "too_many", 429, "Too many at once";
    /// A rate for this tool is used up. `Retry-After` says when to try again.
    TooFast = "too_fast", 429, "Too many calls in a short time";
    /// The caller went away or took the call back.
    Cancelled = "cancelled", 499, "The call was cancelled";
    /// Something failed inside the gateway; its log says what.
    Broken = "broken", 500, "The gateway failed";
    /// The connection to the tool broke after the call was sent: whether it ran is not known. Do not send it again blindly.
    UnknownOutcome = "unknown_outcome", 502, "What came of the call is not known";
    /// What the call needs is not available at the moment. Nothing was run.
    Unavailable = "unavailable", 503, "Not available at the moment";
    /// The gateway's store cannot be read or written at the moment.
    StoreUnavailable = "store_unavailable", 503, "The store is not available";
    /// The tool did not answer in time: whether it ran is not known. Do not send it again blindly.
    TimedOut = "timed_out", 504, "The tool did not answer in time";
}

/// One thing that is wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Fault {
    /// Where in the body, as a JSON Pointer; or the name of a query parameter or header.
    pub at: String,
    /// What is wrong there.
    pub detail: String,
}

/// Problem details (RFC 9457). A call that did not end well carries its outcome here too.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Problem {
    /// Identifies the kind of problem: `urn:toolcrib:problem:CODE`.
    #[serde(rename = "type")]
    kind: String,
    /// The kind in words.
    title: &'static str,
    /// The HTTP status.
    status: u16,
    /// What happened this time and what helps.
    detail: String,
    /// The kind as a word.
    code: Code,
    /// Seconds after which it may be tried again, as in `Retry-After`.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<u64>,
    /// What is wrong with the request, and where.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    errors: Vec<Fault>,
    #[serde(flatten)]
    call: Option<Box<CallOutcome>>,
}

impl Problem {
    /// A problem in the code's status.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            kind: format!("urn:toolcrib:problem:{}", code.word()),
            title: code.title(),
            status: code.status(),
            detail: detail.into(),
            code,
            retry_after: None,
            errors: Vec::new(),
            call: None,
        }
    }

    /// With the place of what is wrong.
    #[must_use]
    pub fn at(mut self, at: impl Into<String>, detail: impl Into<String>) -> Self {
        self.errors.push(Fault { at: at.into(), detail: detail.into() });
        self
    }

    /// With when to try again, seconds.
    #[must_use]
    pub fn retry_after(mut self, seconds: Option<u64>) -> Self {
        self.retry_after = seconds;
        self
    }

    /// With the outcome of the call that it is about.
    #[must_use]
    pub(crate) fn of_call(mut self, call: CallOutcome) -> Self {
        self.call = Some(Box::new(call));
        self
    }

    /// The code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// What happened.
    pub fn detail(&self) -> &str {
        &self.detail
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_string(&self).unwrap_or_default();
        let kind = [(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE))];
        let mut response = (status, kind, Body::from(body)).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if status == StatusCode::PAYLOAD_TOO_LARGE || status == StatusCode::REQUEST_TIMEOUT {
            // The rest of the body must not be taken for the next request.
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}
