//! One connection to a server, whatever the transport, and how a request on it can fail.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::value::RawValue;
use tokio::{sync::oneshot, time::Instant};
use tokio_util::sync::CancellationToken;
use toolcrib_engine::ProgressSink;

use super::{
    http::HttpLink,
    inbox::{Answer, Inbox},
    stdio::StdioLink,
};
use crate::wire::RpcError;

/// Why a request has no result.
#[derive(Clone, Debug)]
pub(super) enum Failure {
    /// It never left, so nothing ran.
    NotSent(String),
    /// The same, because nobody is there to connect to.
    Unreachable(String),
    /// The server rejected it before running anything, for want of credentials: HTTP 401 or 403.
    NeedsCredentials { status: u16, text: String },
    /// The server does not know the session; nothing ran.
    SessionExpired(String),
    /// An HTTP status that says nothing about the protocol. `ran` is whether the tool may have run all the same.
    Status { status: u16, text: String, ran: bool },
    /// The connection broke after it left: it may have run.
    Lost(String),
    /// A JSON-RPC error.
    Rpc(RpcError),
    /// No answer in time.
    TimedOut,
    /// The caller gave up.
    Cancelled,
    /// An answer that cannot be used.
    Unusable(String),
}

impl Failure {
    /// In words, without secrets masked.
    pub(super) fn text(&self) -> String {
        match self {
            Self::NotSent(text)
            | Self::Unreachable(text)
            | Self::NeedsCredentials { text, .. }
            | Self::SessionExpired(text)
            | Self::Status { text, .. }
            | Self::Lost(text)
            | Self::Unusable(text) => text.clone(),
            Self::Rpc(error) => format!("{} (code {})", error.message, error.code),
            Self::TimedOut => "no answer in time".to_owned(),
            Self::Cancelled => "cancelled".to_owned(),
        }
    }
}

/// A request on its way.
pub(super) struct Outgoing<'a> {
    /// From [`Link::next_id`].
    pub(super) id: u64,
    pub(super) method: &'a str,
    /// The text of a JSON object.
    pub(super) params: Box<RawValue>,
    /// Value of `Mcp-Name`.
    pub(super) name: Option<&'a str>,
    /// `Mcp-Param-*` headers.
    pub(super) headers: Vec<(String, String)>,
    pub(super) deadline: Instant,
    pub(super) cancel: Option<&'a CancellationToken>,
    pub(super) progress: Option<ProgressSink>,
    /// Whether the server is told when we stop waiting. Not for the handshake, which must not be cancelled.
    pub(super) tell_cancel: bool,
    /// Takes what an answer comes by that comes after the request was given up; `None` = nobody takes note of it.
    pub(super) late: Option<&'a mut Option<oneshot::Receiver<Answer>>>,
}

/// A connection.
#[derive(Clone)]
pub(super) enum Link {
    Stdio(Arc<StdioLink>),
    Http(Arc<HttpLink>),
}

impl Link {
    /// Sends a request and waits for its answer until the deadline, the cancellation, or the connection's end.
    pub(super) async fn request(&self, outgoing: Outgoing<'_>) -> Result<Box<RawValue>, Failure> {
        match self {
            Self::Stdio(link) => link.request(outgoing).await,
            Self::Http(link) => Box::pin(link.request(outgoing)).await,
        }
    }

    /// Sends a notification; true when it went out.
    pub(super) async fn notify(&self, method: &str, params: Option<Box<RawValue>>) -> bool {
        match self {
            Self::Stdio(link) => link.notify(method, params),
            Self::Http(link) => link.notify(method, params).await,
        }
    }

    pub(super) fn inbox(&self) -> &Arc<Inbox> {
        match self {
            Self::Stdio(link) => link.inbox(),
            Self::Http(link) => link.inbox(),
        }
    }

    /// The next id: ours, never the client's, and not used again on later connections either (F11).
    pub(super) fn next_id(&self) -> u64 {
        match self {
            Self::Stdio(link) => link.ids(),
            Self::Http(link) => link.ids(),
        }
        .fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn is_http(&self) -> bool {
        matches!(self, Self::Http(_))
    }
}

/// Ids of one upstream over all its connections.
pub(super) type Ids = Arc<AtomicU64>;

/// Ends with the cancellation; never without one.
pub(super) async fn cancelled(token: Option<&CancellationToken>) {
    match token {
        Some(token) => token.cancelled().await,
        None => std::future::pending().await,
    }
}

/// As good as for ever, without overflow.
pub(super) fn far_future() -> Instant {
    Instant::now() + Duration::from_hours(30 * 365 * 24)
}
