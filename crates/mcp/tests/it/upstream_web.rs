//! A scripted MCP server over HTTP on the loopback interface: raw sockets, so that it can misbehave at any point.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use toolcrib_mcp::upstream::{Transport, UpstreamSettings};

use crate::upstream::quick;

/// One request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) verb: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Value,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    pub(crate) fn rpc(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }

    /// The tool called, if it is a call.
    pub(crate) fn tool(&self) -> &str {
        if self.rpc() == "tools/call" { self.body["params"]["name"].as_str().unwrap_or_default() } else { "" }
    }

    /// A good answer to this request.
    pub(crate) fn result(&self, result: &Value) -> Value {
        json!({"jsonrpc": "2.0", "id": self.body["id"], "result": result})
    }

    pub(crate) fn error(&self, code: i64, message: &str) -> Value {
        json!({"jsonrpc": "2.0", "id": self.body["id"], "error": {"code": code, "message": message}})
    }
}

/// What is sent back.
pub(crate) enum Reply {
    /// Status, headers, body.
    Whole(u16, Vec<(&'static str, String)>, String),
    /// An event stream.
    Events(Vec<Step>),
    /// Closes the connection without an answer.
    Drop,
    /// Says nothing until the client goes away.
    Hang,
}

/// A piece of an event stream. After the last one the stream ends.
pub(crate) enum Step {
    /// A message as an event.
    Message(Value),
    /// Bytes as they are.
    Raw(String),
    /// So many bytes of filling.
    Filling(usize),
    /// Waits until the client goes away.
    Hold,
    /// Waits for a signal from the test.
    Await(Arc<tokio::sync::Notify>),
    /// Cuts the connection within the stream.
    Cut,
}

pub(crate) fn json_reply(body: &Value) -> Reply {
    Reply::Whole(200, vec![("content-type", "application/json".into())], body.to_string())
}

pub(crate) fn status(status: u16, body: impl Into<String>) -> Reply {
    Reply::Whole(status, vec![("content-type", "text/plain".into())], body.into())
}

type Handler = dyn Fn(&Request) -> Option<Reply> + Send + Sync;

/// A running server.
pub(crate) struct Web {
    pub(crate) url: String,
    pub(crate) seen: Arc<Mutex<Vec<Request>>>,
    /// Streams that the client left.
    pub(crate) left: Arc<AtomicU64>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Web {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Web {
    /// Serves with `special` first and `usual` for what it leaves.
    pub(crate) async fn start(
        usual: impl Fn(&Request) -> Reply + Send + Sync + 'static,
        special: impl Fn(&Request) -> Option<Reply> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::serve(listener, usual, special)
    }

    pub(crate) fn serve(
        listener: TcpListener,
        usual: impl Fn(&Request) -> Reply + Send + Sync + 'static,
        special: impl Fn(&Request) -> Option<Reply> + Send + Sync + 'static,
    ) -> Self {
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let left = Arc::new(AtomicU64::new(0));
        let handler: Arc<Handler> = Arc::new(move |request| special(request).or_else(|| Some(usual(request))));
        let (log, count) = (seen.clone(), left.clone());
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                connections.spawn(connection(socket, handler.clone(), log.clone(), count.clone()));
            }
        });
        Self { url, seen, left, task }
    }

    pub(crate) fn settings(&self) -> UpstreamSettings {
        quick(Transport::Http { url: self.url.clone(), headers: Vec::new(), bearer: None })
    }

    /// How many requests had this method.
    pub(crate) fn count(&self, method: &str) -> usize {
        self.seen.lock().iter().filter(|request| request.rpc() == method).count()
    }

    pub(crate) fn last(&self, method: &str) -> Request {
        self.seen.lock().iter().rev().find(|request| request.rpc() == method).cloned().unwrap()
    }
}

async fn connection(
    mut socket: TcpStream,
    handler: Arc<Handler>,
    seen: Arc<Mutex<Vec<Request>>>,
    left: Arc<AtomicU64>,
) {
    let mut buffer = Vec::new();
    while let Some(request) = read_request(&mut socket, &mut buffer).await {
        seen.lock().push(request.clone());
        let Some(reply) = handler(&request) else { return };
        match reply {
            Reply::Whole(status, headers, body) => {
                let more: Vec<String> = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
                let head = format!("HTTP/1.1 {status} Status\r\ncontent-length: {}\r\n{}", body.len(), more.concat());
                if socket.write_all(format!("{head}\r\n{body}").as_bytes()).await.is_err() {
                    return;
                }
            }
            Reply::Events(steps) => {
                if !stream(&mut socket, steps, &left).await {
                    return;
                }
            }
            Reply::Drop => return,
            Reply::Hang => {
                gone(&mut socket).await;
                left.fetch_add(1, Ordering::Relaxed);
                return;
            }
        }
    }
}

async fn gone(socket: &mut TcpStream) {
    let mut byte = [0; 64];
    while let Ok(1..) = socket.read(&mut byte).await {}
}

/// False when the connection cannot be used again.
async fn stream(socket: &mut TcpStream, steps: Vec<Step>, left: &AtomicU64) -> bool {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    if socket.write_all(head.as_bytes()).await.is_err() {
        return false;
    }
    for step in steps {
        let bytes = match step {
            Step::Message(message) => format!("event: message\r\ndata: {message}\r\n\r\n"),
            Step::Raw(text) => text,
            Step::Filling(mut bytes) => {
                let chunk = "x".repeat(64 * 1024);
                while bytes > 0 {
                    if socket.write_all(format!("{:x}\r\n{chunk}\r\n", chunk.len()).as_bytes()).await.is_err() {
                        left.fetch_add(1, Ordering::Relaxed);
                        return false;
                    }
                    bytes = bytes.saturating_sub(chunk.len());
                }
                continue;
            }
            Step::Hold => {
                gone(socket).await;
                left.fetch_add(1, Ordering::Relaxed);
                return false;
            }
            Step::Await(signal) => {
                signal.notified().await;
                continue;
            }
            Step::Cut => return false,
        };
        if socket.write_all(format!("{:x}\r\n{bytes}\r\n", bytes.len()).as_bytes()).await.is_err() {
            return false;
        }
    }
    socket.write_all(b"0\r\n\r\n").await.is_ok()
}

async fn read_request(socket: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Request> {
    let end = loop {
        if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if socket.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let verb = lines.next()?.split(' ').next()?.to_owned();
    let headers: HashMap<String, String> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length: usize = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    buffer.drain(..end + 4);
    while buffer.len() < length {
        if socket.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
    let body: Vec<u8> = buffer.drain(..length).collect();
    Some(Request { verb, headers, body: serde_json::from_slice(&body).unwrap_or_default() })
}

pub(crate) const TOOLS: [&str; 3] = ["echo", "slow", "odd"];

fn tools() -> Value {
    let tools = TOOLS.map(|name| json!({"name": name, "inputSchema": {"type": "object"}}));
    json!({"tools": tools})
}

fn echo(request: &Request) -> Value {
    let arguments = &request.body["params"]["arguments"];
    json!({"content": [{"type": "text", "text": arguments.to_string()}]})
}

/// A legacy server with sessions; it knows the session `session-1` only and has no standing stream.
pub(crate) fn legacy(request: &Request) -> Reply {
    match (request.verb.as_str(), request.rpc()) {
        ("POST", "initialize") => Reply::Whole(
            200,
            vec![("content-type", "application/json; charset=utf-8".into()), ("mcp-session-id", "session-1".into())],
            request
                .result(&json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": true}},
                    "serverInfo": {"name": "web"}}))
                .to_string(),
        ),
        ("GET", _) => status(405, "no stream here"),
        ("DELETE", _) => status(200, ""),
        _ if request.header("mcp-session-id") != Some("session-1") => {
            status(400, "Bad Request: Server not initialized")
        }
        (_, "tools/list") => Reply::Events(vec![Step::Message(request.result(&tools()))]),
        (_, "tools/call") => json_reply(&request.result(&echo(request))),
        (_, "ping") => json_reply(&request.result(&json!({}))),
        (_, method) if method.starts_with("notifications/") => status(202, ""),
        _ => json_reply(&request.error(-32601, "Method not found")),
    }
}

/// A modern server that checks its headers against the body.
pub(crate) fn modern(request: &Request) -> Reply {
    let typed = |mut result: Value| {
        result["resultType"] = "complete".into();
        json_reply(&request.result(&result))
    };
    let meta = &request.body["params"]["_meta"];
    let version = meta["io.modelcontextprotocol/protocolVersion"].as_str();
    if request.verb != "POST" {
        return status(405, "");
    }
    if version.is_none()
        || version != request.header("mcp-protocol-version")
        || request.header("mcp-method") != Some(request.rpc())
    {
        let body = request.error(-32020, "Header mismatch").to_string();
        return Reply::Whole(400, vec![("content-type", "application/json".into())], body);
    }
    match request.rpc() {
        "server/discover" => typed(json!({"supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {"listChanged": true}}, "ttlMs": 0, "cacheScope": "private", "instructions": "be quick"})),
        "tools/list" => typed(tools()),
        "tools/call" => typed(echo(request)),
        "subscriptions/listen" => Reply::Events(vec![
            Step::Message(
                json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": {}}),
            ),
            Step::Hold,
        ]),
        _ => {
            let body = request.error(-32601, "Method not found").to_string();
            Reply::Whole(404, vec![("content-type", "application/json".into())], body)
        }
    }
}

/// Waits for something that has no other signal.
#[track_caller]
pub(crate) fn eventually(mut what: impl FnMut() -> bool) -> impl Future<Output = ()> {
    let caller = std::panic::Location::caller();
    async move {
        let wait = async {
            while !what() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        assert!(tokio::time::timeout(crate::upstream::PATIENCE, wait).await.is_ok(), "{caller}: never happened");
    }
}
