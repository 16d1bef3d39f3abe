//! A toolcrib process and the way calls go in: MCP on its standard streams, or its JSON API.

use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, ChildStdin, Stdio},
    sync::{Arc, Mutex, mpsc::Sender},
    thread,
    time::Duration,
};

use serde_json::{Value, json, value::RawValue};

use super::scene::{CONFIG, Scene};

/// Which way calls go in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Stdio,
    Http,
}

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    /// The tool ran and said so.
    pub(crate) ok: bool,
    pub(crate) text: String,
}

/// What happens on the outside of a process.
#[derive(Debug)]
pub(crate) enum Event {
    /// Calls can be sent; over HTTP, to this address.
    Ready(Option<String>),
    /// The answer to call `id`; none if the connection broke.
    Reply(u64, Option<Reply>),
    /// Something that is no protocol.
    Garbage(String),
    /// The process has closed its side.
    Closed,
    /// A person's approval of request `id` was given, or why not.
    Approved { call: usize, done: Result<(), String> },
    /// Another toolcrib that uses the same store has done its work, or why not.
    Beside(Result<(), String>),
}

/// Events with the round they belong to.
pub(crate) type Events = Sender<(u32, Event)>;

/// One call on its way in.
pub(crate) struct Outgoing<'a> {
    pub(crate) id: u64,
    pub(crate) tool: &'a str,
    /// JSON text.
    pub(crate) arguments: &'a str,
    pub(crate) idempotency: Option<&'a str>,
}

/// A running toolcrib.
pub(crate) struct Door {
    kind: Kind,
    round: u32,
    child: Child,
    stdin: Option<ChildStdin>,
    address: Option<String>,
    events: Events,
    said: Arc<Mutex<VecDeque<String>>>,
}

const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"torture","version":"1"}}}"#;
const HELLO_DONE: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

impl Door {
    /// Starts it; what happens is sent with the round's number.
    pub(crate) fn open(kind: Kind, scene: &Scene, round: u32, events: &Events) -> Self {
        let words: &[&str] = match kind {
            Kind::Stdio => &["serve", "--stdio", "--trust", "configured"],
            Kind::Http => &["serve", "--http", "127.0.0.1:0", "--trust", "configured"],
        };
        let mut command = scene.command(CONFIG, words);
        command.stderr(Stdio::piped());
        if kind == Kind::Stdio {
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
        }
        let mut child = command.spawn().unwrap();
        let said = Arc::new(Mutex::new(VecDeque::new()));
        {
            let stderr = BufReader::new(child.stderr.take().unwrap());
            let (said, events) = (said.clone(), events.clone());
            thread::spawn(move || {
                for line in stderr.lines().map_while(Result::ok) {
                    let address =
                        line.split_once("listening on http://").and_then(|(_, rest)| rest.strip_suffix("/mcp"));
                    if let Some(address) = address.filter(|_| kind == Kind::Http) {
                        let _ = events.send((round, Event::Ready(Some(address.to_owned()))));
                    }
                    let mut said = said.lock().unwrap();
                    said.push_back(line);
                    if said.len() > 40 {
                        said.pop_front();
                    }
                }
                if kind == Kind::Http {
                    let _ = events.send((round, Event::Closed));
                }
            });
        }
        if let Some(stdout) = child.stdout.take() {
            let events = events.clone();
            thread::spawn(move || {
                read_replies(BufReader::new(stdout), |event| {
                    let _ = events.send((round, event));
                });
            });
        }
        let mut door =
            Self { kind, round, stdin: child.stdin.take(), child, address: None, events: events.clone(), said };
        if kind == Kind::Stdio {
            door.write(HELLO);
        }
        door
    }

    /// To be told of [`Event::Ready`].
    pub(crate) fn ready(&mut self, address: Option<String>) {
        self.address = address;
        if self.kind == Kind::Stdio {
            self.write(HELLO_DONE);
        }
    }

    pub(crate) fn send(&mut self, call: &Outgoing<'_>) {
        let arguments = RawValue::from_string(call.arguments.to_owned()).unwrap();
        match self.kind {
            Kind::Stdio => {
                let params = json!({"name": call.tool, "arguments": arguments});
                let line = json!({"jsonrpc": "2.0", "id": call.id, "method": "tools/call", "params": params});
                self.write(&line.to_string());
            }
            Kind::Http => {
                let mut body = json!({"name": call.tool, "arguments": arguments, "session": "torture"});
                if let Some(key) = call.idempotency {
                    body["idempotency_key"] = json!(key);
                }
                let (address, id) = (self.address.clone().unwrap(), call.id);
                let (events, round) = (self.events.clone(), self.round);
                thread::spawn(move || {
                    let _ = events.send((round, Event::Reply(id, post(&address, &body.to_string()))));
                });
            }
        }
    }

    fn write(&mut self, line: &str) {
        // A process that has just ended is noticed by its closed output.
        let _ = self.stdin.as_mut().unwrap().write_all(format!("{line}\n").as_bytes());
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// SIGKILL, to this process only.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ends it in the ordinary way; false if it does not end within 20 s, or not well.
    pub(crate) fn close(&mut self) -> bool {
        drop(self.stdin.take());
        if self.kind == Kind::Http {
            std::process::Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        }
        for _ in 0..1_000 {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.success();
            }
            thread::sleep(Duration::from_millis(20));
        }
        false
    }

    /// The last lines on standard error.
    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap().iter().cloned().collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_replies(mut stdout: impl BufRead, tell: impl Fn(Event)) {
    let mut line = String::new();
    // A last line without its end was cut off by the kill: no reply.
    while stdout.read_line(&mut line).is_ok_and(|read| read > 0) && line.ends_with('\n') {
        match serde_json::from_str::<Value>(&line) {
            Ok(message) if message["id"] == 0 && message["result"].is_object() => tell(Event::Ready(None)),
            Ok(message) if message["id"].is_u64() && message["method"].is_null() => {
                let result = &message["result"];
                let text = result["content"][0]["text"].as_str().or(message["error"]["message"].as_str());
                let ok = result.is_object() && result["isError"] != json!(true);
                let reply = Reply { ok, text: text.unwrap_or(&line).to_owned() };
                tell(Event::Reply(message["id"].as_u64().unwrap(), Some(reply)));
            }
            Ok(message) if message["method"].is_string() => {}
            _ => tell(Event::Garbage(line.clone())),
        }
        line.clear();
    }
    tell(Event::Closed);
}

fn post(address: &str, body: &str) -> Option<Reply> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(30))).ok()?;
    let head = format!(
        "POST /v1/calls HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let body: Value = serde_json::from_str(body).ok()?;
    let text = body["result"]["content"][0]["text"].as_str().or(body["error"]["message"].as_str());
    let ok = head.starts_with("HTTP/1.1 200 ") && body["outcome"] == "ok";
    Some(Reply { ok, text: text.map_or_else(|| body.to_string(), str::to_owned) })
}
