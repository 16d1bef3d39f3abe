//! A scripted tool service and a running gateway.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use parking_lot::Mutex;
use serde_json::{json, value::RawValue};
use tokio::{
    sync::{Semaphore, watch},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;
use toolcrib_core::ToolResult;
use toolcrib_gateway::{Bound, Gateway, GatewayError, GatewaySettings};
use toolcrib_mcp::{
    server::{Answer, Asking, BoxFuture, Caller, Progress, Question, ToolCall, ToolList, ToolService},
    wire::{RpcError, code},
};

/// Tools by name: `echo` gives its arguments' text back, `who` tells the caller, `wait` ends when released or cancelled,
/// `steps` reports progress and then waits to be released, `ask` asks the user and tells the reply, anything else is an error.
pub(crate) struct Fake {
    tools: Mutex<Vec<String>>,
    generation: watch::Sender<u64>,
    pub(crate) started: Semaphore,
    pub(crate) release: Semaphore,
    pub(crate) cancelled: Semaphore,
    /// Questions that were answered or lost.
    pub(crate) asked: Semaphore,
}

impl Fake {
    fn new() -> Arc<Self> {
        let tools = [
            json!({"name": "echo", "inputSchema": {"type": "object"}}),
            json!({"name": "region", "inputSchema": {"type": "object", "properties": {
                "region": {"type": "string", "x-mcp-header": "Region"}}}}),
        ];
        Arc::new(Self {
            tools: Mutex::new(tools.iter().map(ToString::to_string).collect()),
            generation: watch::Sender::new(0),
            started: Semaphore::new(0),
            release: Semaphore::new(0),
            cancelled: Semaphore::new(0),
            asked: Semaphore::new(0),
        })
    }

    /// Adds a tool.
    pub(crate) fn add(&self, name: &str) {
        self.tools.lock().push(json!({"name": name, "inputSchema": {"type": "object"}}).to_string());
        self.generation.send_modify(|generation| *generation += 1);
    }

    async fn ask(&self, call: &ToolCall) -> Answer {
        let schema = json!({"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]});
        let question = Question { message: "ok?".to_owned(), schema };
        match (&call.asking, &call.resumed) {
            (Asking::Direct(elicitor), _) => {
                self.started.add_permits(1);
                let reply = elicitor.elicit(&question).await;
                self.asked.add_permits(1);
                ToolResult::text(format!("{reply:?}")).into()
            }
            (_, Some(resumed)) => ToolResult::text(format!("{} {:?}", resumed.state, resumed.replies)).into(),
            (Asking::ByResending, None) => {
                Answer::InputRequired { key: "q".to_owned(), question, state: "sealed".to_owned() }
            }
            (Asking::Unable, None) => ToolResult::text("unable").into(),
        }
    }

    async fn wait(&self, call: &ToolCall) -> ToolResult {
        self.started.add_permits(1);
        tokio::select! {
            () = call.cancel.cancelled() => {
                self.cancelled.add_permits(1);
                ToolResult::error("cancelled")
            }
            permit = self.release.acquire() => {
                permit.unwrap().forget();
                ToolResult::text("released")
            }
        }
    }
}

impl ToolService for Fake {
    fn list(&self, _: &Caller) -> ToolList {
        let tools = self.tools.lock();
        let raw = tools.iter().map(|text| Arc::from(RawValue::from_string(text.clone()).unwrap()));
        ToolList { tools: raw.collect(), hash: tools.len().to_string() }
    }

    fn call<'a>(&'a self, caller: &'a Caller, call: ToolCall) -> BoxFuture<'a, Result<Answer, RpcError>> {
        Box::pin(async move {
            let result = match call.name.as_str() {
                "ask" => return Ok(self.ask(&call).await),
                "echo" | "region" => {
                    ToolResult::text(call.arguments.map_or("absent".into(), |raw| raw.get().to_owned()))
                }
                "who" => ToolResult::text(format!("{:?} {:?}", caller.principal, caller.profile)),
                "wait" => self.wait(&call).await,
                "steps" => {
                    for step in 1..=2 {
                        if let Some(progress) = &call.progress {
                            progress(Progress { params: json!({"progress": step}) });
                        }
                    }
                    self.wait(&call).await
                }
                name => return Err(RpcError::new(code::INVALID_PARAMS, format!("unknown tool {name}"))),
            };
            Ok(result.into())
        })
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.generation.subscribe()
    }

    fn instructions(&self, _: &Caller) -> Option<String> {
        None
    }
}

/// A gateway that runs until dropped.
pub(crate) struct Running {
    pub(crate) service: Arc<Fake>,
    pub(crate) address: SocketAddr,
    pub(crate) shutdown: CancellationToken,
    serving: Option<JoinHandle<Result<(), GatewayError>>>,
}

impl Running {
    pub(crate) async fn start(configure: impl FnOnce(&mut GatewaySettings)) -> Self {
        Self::start_with(configure, |bound| bound).await
    }

    pub(crate) async fn start_with(
        configure: impl FnOnce(&mut GatewaySettings),
        extend: impl FnOnce(Bound) -> Bound,
    ) -> Self {
        let mut settings = GatewaySettings::default();
        "1".clone_into(&mut settings.server.version);
        configure(&mut settings);
        let bound = extend(Gateway::bind(settings).await.unwrap());
        let service = Fake::new();
        let shutdown = CancellationToken::new();
        let address = bound.local_addr();
        let serving = tokio::spawn(bound.serve(service.clone(), shutdown.clone()));
        Self { service, address, shutdown, serving: Some(serving) }
    }

    /// The Host a client sends.
    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    /// Waits for the end after shutdown.
    pub(crate) async fn ended(&mut self) {
        let serving = self.serving.take().unwrap();
        tokio::time::timeout(Duration::from_secs(10), serving).await.expect("it did not end").unwrap().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shutdown.cancel();
        if let Some(serving) = self.serving.take() {
            serving.abort();
        }
    }
}
