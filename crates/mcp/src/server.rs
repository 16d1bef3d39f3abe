//! Serving MCP clients: the protocol of both eras over a service that lists and runs tools.
//!
//! Owns the seam ([`ToolService`]), version negotiation, admission, cancellation, progress, questions to the user
//! ([`Asking`]), change notifications and what each era adds to or must not see in a result. Knows neither the engine nor
//! HTTP: a transport hands messages to a [`Connection`] and carries the [`Frame`]s it gets back. Every queue and table
//! here is bounded.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json, value::RawValue};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
pub use toolcrib_engine::{BoxFuture, Progress, ProgressSink};

use crate::wire::RpcError;

mod admission;
mod call;
mod connection;
mod elicit;
mod engine;
mod frame;
mod legacy;
mod listing;
mod modern;
mod oversize;
mod params;
mod protocol;
mod questions;
mod splice;
mod stdio;
mod subscription;

pub use admission::{Admission, Ticket, Turn};
pub use connection::{Connection, Framing, WayBack};
pub use elicit::{Answer, Asking, ElicitError, Elicitor, MAX_STATE, Question, Reply, Resumed};
pub use engine::EngineTools;
pub use frame::{Frame, FrameKind, Outbox, error_frame};
pub use protocol::{Peek, Protocol};
pub use stdio::{StdioOptions, serve_stdio};

/// JSON-RPC error code for "too busy, try again": outside the range JSON-RPC and MCP reserve (MCP 2026-07-28, error
/// codes), and the number people know for it.
pub const BUSY: i64 = 429;

/// Lists and runs tools for callers. The one thing the protocol needs to know of what is behind it.
pub trait ToolService: Send + Sync + 'static {
    /// The tools as this caller sees them.
    fn list(&self, caller: &Caller) -> ToolList;

    /// Runs a tool. Must end soon after `call.cancel` fires. `Err` becomes a JSON-RPC error; a failure inside the tool
    /// is a result that says so (MCP 2025-11-25). How the person behind the client can be asked something meanwhile,
    /// `call.asking` says.
    fn call<'a>(&'a self, caller: &'a Caller, call: ToolCall) -> BoxFuture<'a, Result<Answer, RpcError>>;

    /// Wakes when any caller's list may have changed.
    fn changes(&self) -> watch::Receiver<u64>;

    /// What the client should tell its model about this server, if anything.
    fn instructions(&self, caller: &Caller) -> Option<String>;
}

/// A caller's tools.
#[derive(Clone, Debug)]
pub struct ToolList {
    /// MCP tool definitions, each the text of a JSON object, in the order they are listed.
    pub tools: Arc<[Arc<RawValue>]>,
    /// Changes if and only if `tools` does. Cursors and change notifications hang on it.
    pub hash: String,
}

/// Who is asking. Everything in it came with the request or its session; nothing of it is verified but `principal`.
#[derive(Clone, Debug, Default)]
pub struct Caller {
    /// The client software, as it calls itself.
    pub client: Option<ClientInfo>,
    /// The name of the key the client authenticated with.
    pub principal: Option<String>,
    /// The profile asked for.
    pub profile: Option<String>,
    /// The protocol revision spoken; `None` before it is known.
    pub protocol: Option<Protocol>,
    /// Whether the client declared that it shows forms to its user, in a revision that has them. Whether a certain call
    /// can ask is [`ToolCall::asking`].
    pub can_elicit: bool,
    /// An unguessable name of the connection, the same as long as it lasts: of a stdio client, whatever era it speaks, or
    /// of a legacy HTTP session. Not what the client names its session by, so it gives no access to it. `None` for modern
    /// requests over HTTP, which have nothing in common, and when the system has no randomness. Set by
    /// [`Connection::open`] alone.
    pub session: Option<String>,
}

/// The client's name for itself. Never a basis for a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientInfo {
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
}

/// One call, as the client sent it.
pub struct ToolCall {
    /// The name the client knows the tool by.
    pub name: String,
    /// The arguments: the exact text of a JSON object in which no key is given twice (T18).
    pub arguments: Option<Box<RawValue>>,
    /// The request's `_meta` less the keys MCP reserves for a single hop; `None` when nothing is left.
    pub meta: Option<Value>,
    /// Fires when nobody waits for the answer any more.
    pub cancel: CancellationToken,
    /// Where progress goes, if the client asked for it. Closed once the answer is out.
    pub progress: Option<ProgressSink>,
    /// How the person behind the client can be asked.
    pub asking: Asking,
    /// What came with a call that is sent again after [`Answer::InputRequired`]; `None` for a first one.
    pub resumed: Option<Resumed>,
}

/// How the server introduces itself, and its limits.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Name for programs. Default `toolcrib`.
    pub name: String,
    /// Name for people. Default none.
    pub title: Option<String>,
    /// Version. Default this crate's.
    pub version: String,
    /// Most tools on one page of `tools/list`. Default 1,000.
    pub page: usize,
    /// Calls of one connection that run at once. Default 512: several times what one server may hold up
    /// ([`crate::upstream::UpstreamLimits::in_flight`]), so that a stuck one does not hold up the others.
    pub running: usize,
    /// Calls of one connection that wait for a place; one more is refused as busy. Default 512.
    pub waiting: usize,
    /// Open `subscriptions/listen` streams of one connection. Default 32.
    pub subscriptions: usize,
    /// Questions to the user of one connection that are open at once; one more is refused as busy. Default 32.
    pub questions: usize,
    /// How long a modern client may keep a tool list. Default 5 s: lists change while servers start.
    pub list_ttl: Duration,
    /// How long a modern client may keep what `server/discover` told. Default 60 s.
    pub discover_ttl: Duration,
    /// How long a call may go on after it was cancelled before it is dropped. Default 30 s.
    pub cancel_grace: Duration,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            name: "toolcrib".to_owned(),
            title: None,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            page: 1_000,
            running: 512,
            waiting: 512,
            subscriptions: 32,
            questions: 32,
            list_ttl: Duration::from_secs(5),
            discover_ttl: Duration::from_mins(1),
            cancel_grace: Duration::from_secs(30),
        }
    }
}

/// A service with a name and limits: what all connections share.
pub struct Server {
    service: Arc<dyn ToolService>,
    options: ServerOptions,
    // The `Implementation` object as JSON text.
    info: String,
}

impl Server {
    /// A server for `service`.
    pub fn new(service: Arc<dyn ToolService>, options: ServerOptions) -> Arc<Self> {
        let mut info = json!({"name": options.name, "version": options.version});
        if let Some(title) = &options.title {
            info["title"] = title.as_str().into();
        }
        Arc::new(Self { service, info: info.to_string(), options })
    }

    /// The service.
    pub fn service(&self) -> &Arc<dyn ToolService> {
        &self.service
    }

    /// The limits.
    pub fn options(&self) -> &ServerOptions {
        &self.options
    }

    /// The error for a protocol version that is not served (MCP 2026-07-28).
    pub fn unsupported_version(&self, requested: &str) -> RpcError {
        modern::unsupported_version(requested)
    }

    /// Room for the calls of one connection.
    pub fn admission(&self) -> Arc<Admission> {
        Admission::new(self.options.running, self.options.waiting)
    }
}
