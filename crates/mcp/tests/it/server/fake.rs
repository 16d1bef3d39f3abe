//! A scripted tool service and a client that speaks lines.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{
    sync::{Arc, atomic::AtomicUsize},
    time::Duration,
};

use parking_lot::Mutex;
use serde_json::{Value, json, value::RawValue};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf},
    sync::{Semaphore, watch},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;
use toolcrib_core::ToolResult;
use toolcrib_mcp::{
    server::{
        Answer, BoxFuture, Caller, Elicitor, Progress, Server, ServerOptions, StdioOptions, ToolCall, ToolList,
        ToolService, serve_stdio,
    },
    wire::{RpcError, code},
};

use super::asking;

pub(crate) const MODERN_META: &str =
    r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#;

/// Tools by name: `echo` gives its arguments' text back, `raw` answers with its argument `result`'s text, `wait` ends when
/// released or cancelled, `steps` reports progress, `meta` tells what reached it, `panic` panics; those of
/// [`asking`] ask the user; anything else is an error.
pub(crate) struct Fake {
    pub(crate) tools: Mutex<Vec<String>>,
    pub(crate) generation: watch::Sender<u64>,
    /// Calls of `wait` that started.
    pub(crate) started: Semaphore,
    /// A permit ends one call of `wait`.
    pub(crate) release: Semaphore,
    /// Calls of `wait` that were cancelled.
    pub(crate) cancelled: Semaphore,
    /// What `keep` kept, to be used when the call is over.
    pub(crate) kept: Mutex<Option<Arc<dyn Elicitor>>>,
    pub(crate) lists: AtomicUsize,
    /// Published once, after a list was made and before it is given out.
    pub(crate) meanwhile: Mutex<Option<Vec<String>>>,
}

impl Fake {
    pub(crate) fn new(tools: &[&str]) -> Arc<Self> {
        Arc::new(Self {
            tools: Mutex::new(tools.iter().map(|tool| (*tool).to_owned()).collect()),
            generation: watch::Sender::new(0),
            started: Semaphore::new(0),
            release: Semaphore::new(0),
            cancelled: Semaphore::new(0),
            kept: Mutex::new(None),
            lists: AtomicUsize::new(0),
            meanwhile: Mutex::new(None),
        })
    }

    /// Publishes another list.
    pub(crate) fn publish(&self, tools: &[&str]) {
        *self.tools.lock() = tools.iter().map(|tool| (*tool).to_owned()).collect();
        self.generation.send_modify(|generation| *generation += 1);
    }
}

impl ToolService for Fake {
    fn list(&self, _: &Caller) -> ToolList {
        self.lists.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let tools = self.tools.lock().clone();
        if let Some(next) = self.meanwhile.lock().take() {
            *self.tools.lock() = next;
            self.generation.send_modify(|generation| *generation += 1);
            // Long enough for others to notice.
            std::thread::sleep(Duration::from_millis(20));
        }
        let raw = tools.iter().map(|text| Arc::from(RawValue::from_string(text.clone()).unwrap()));
        ToolList { tools: raw.collect(), hash: tools.join(",") }
    }

    fn call<'a>(&'a self, caller: &'a Caller, call: ToolCall) -> BoxFuture<'a, Result<Answer, RpcError>> {
        Box::pin(async move {
            if let Some(answer) = asking::call(self, caller, &call).await {
                return Ok(answer);
            }
            self.run(caller, call).await.map(Answer::from)
        })
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.generation.subscribe()
    }

    fn instructions(&self, _: &Caller) -> Option<String> {
        Some("say \"please\"".to_owned())
    }
}

impl Fake {
    async fn run(&self, caller: &Caller, call: ToolCall) -> Result<ToolResult, RpcError> {
        let arguments = call.arguments.as_ref().map_or("absent", |raw| raw.get());
        match call.name.as_str() {
            "echo" => Ok(ToolResult::text(arguments)),
            "raw" => {
                let text = serde_json::from_str::<Value>(arguments).unwrap()["result"].as_str().unwrap().to_owned();
                Ok(ToolResult::from_raw(RawValue::from_string(text).unwrap()).unwrap())
            }
            "wait" => {
                self.started.add_permits(1);
                tokio::select! {
                    () = call.cancel.cancelled() => {
                        self.cancelled.add_permits(1);
                        Ok(ToolResult::error("cancelled"))
                    }
                    permit = self.release.acquire() => {
                        permit.unwrap().forget();
                        Ok(ToolResult::text("released"))
                    }
                }
            }
            "steps" => {
                for step in 1..=3 {
                    if let Some(progress) = &call.progress {
                        progress(Progress { params: json!({"progress": step, "progressToken": "theirs"}) });
                    }
                }
                // A sink kept beyond the answer is deaf.
                if let Some(progress) = call.progress {
                    let late = progress.clone();
                    tokio::spawn(async move {
                        tokio::time::sleep(Duration::from_millis(20)).await;
                        late(Progress { params: json!({"progress": 99}) });
                    });
                }
                Ok(ToolResult::text("done"))
            }
            "meta" => {
                let client = caller.client.as_ref().map(|client| format!("{}/{}", client.name, client.version));
                let protocol = caller.protocol.map(|protocol| protocol.to_string());
                Ok(ToolResult::text(json!({"meta": call.meta, "client": client, "protocol": protocol}).to_string()))
            }
            "panic" => panic!("as asked"),
            name => Err(RpcError::new(code::INVALID_PARAMS, format!("unknown tool {name}"))),
        }
    }
}

/// The client's end of a connection.
pub(crate) struct Client {
    pub(crate) shutdown: CancellationToken,
    serving: JoinHandle<std::io::Result<()>>,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: Option<WriteHalf<DuplexStream>>,
}

impl Client {
    pub(crate) fn connect(service: &Arc<Fake>) -> Self {
        Self::connect_with(service, ServerOptions::default(), StdioOptions::default())
    }

    pub(crate) fn connect_with(service: &Arc<Fake>, options: ServerOptions, stdio: StdioOptions) -> Self {
        let server = Server::new(service.clone(), ServerOptions { version: "1".to_owned(), ..options });
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (their_reader, their_writer) = tokio::io::split(theirs);
        let shutdown = CancellationToken::new();
        let token = shutdown.clone();
        let serving = tokio::spawn(async move {
            serve_stdio(&server, Caller::default(), their_reader, their_writer, stdio, token).await
        });
        let (reader, writer) = tokio::io::split(ours);
        let lines = BufReader::new(reader).lines();
        Self { shutdown, serving, lines, writer: Some(writer) }
    }

    /// A connection on which `initialize` is done.
    pub(crate) async fn legacy(service: &Arc<Fake>, version: &str) -> Self {
        let mut client = Self::connect(service);
        client.initialize(version).await;
        client
    }

    pub(crate) async fn initialize(&mut self, version: &str) {
        self.initialize_with(version, "{}").await;
    }

    pub(crate) async fn initialize_with(&mut self, version: &str, capabilities: &str) {
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":"init","method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{capabilities},"clientInfo":{{"name":"test","version":"0"}}}}}}"#
        );
        self.send(&line).await;
        assert!(self.receive().await.contains(r#""id":"init","result""#));
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    }

    pub(crate) async fn send(&mut self, line: &str) {
        self.send_bytes(format!("{line}\n").as_bytes()).await;
    }

    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        self.writer.as_mut().unwrap().write_all(bytes).await.unwrap();
    }

    /// The next line; fails the test if none comes.
    pub(crate) async fn receive(&mut self) -> String {
        let line = tokio::time::timeout(Duration::from_secs(10), self.lines.next_line()).await;
        line.expect("no answer came").unwrap().expect("the output ended")
    }

    #[track_caller]
    pub(crate) fn exchange<'a>(&'a mut self, line: &'a str, wants: &'a str) -> impl Future<Output = ()> + 'a {
        let caller = std::panic::Location::caller();
        async move {
            self.send(line).await;
            let got = self.receive().await;
            assert!(matches(&got, wants), "at {caller}\n sent {line}\n got  {got}\n want {wants}");
        }
    }

    /// Asserts that nothing is on its way: the next line answers a ping sent now.
    pub(crate) async fn expect_silence(&mut self) {
        self.send(r#"{"jsonrpc":"2.0","id":"quiet","method":"ping"}"#).await;
        assert_eq!(self.receive().await, r#"{"jsonrpc":"2.0","id":"quiet","result":{}}"#);
    }

    /// The lines that still come until the server has ended.
    pub(crate) async fn rest(mut self) -> Vec<String> {
        let mut rest = Vec::new();
        let collect = async {
            while let Ok(Some(line)) = self.lines.next_line().await {
                rest.push(line);
            }
        };
        tokio::time::timeout(Duration::from_secs(10), collect).await.expect("the output stayed open");
        self.serving.await.unwrap().unwrap();
        rest
    }

    pub(crate) async fn close_input(&mut self) {
        self.writer.as_mut().unwrap().shutdown().await.unwrap();
    }
}

/// Whether `got` is `wants`, where `…` stands for any text.
pub(crate) fn matches(got: &str, wants: &str) -> bool {
    let mut parts = wants.split('…');
    let Some(mut rest) = parts.next().and_then(|first| got.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}
