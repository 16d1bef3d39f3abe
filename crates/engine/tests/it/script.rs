//! A backend that does what the called tool's name says.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use serde_json::{Value, json, value::RawValue};
use toolcrib_core::{Scope, Source, SourceState, ToolResult};
use toolcrib_engine::{
    Backend, BoxFuture, CallEvent, CallReport, CallRequest, Door, Engine, EngineSettings, EventSink, Hub, HubLimits,
    Invocation, InvokeError, SourceOptions,
};

/// Tool names are commands; see [`Script::run`].
#[derive(Default)]
pub(crate) struct Script {
    pub(crate) runs: AtomicUsize,
    pub(crate) last_arguments: Mutex<String>,
}

impl Script {
    async fn run(&self, invocation: &Invocation<'_>) -> Result<ToolResult, InvokeError> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        invocation.arguments.get().clone_into(&mut self.last_arguments.lock());
        match invocation.tool.name() {
            "echo" => Ok(ToolResult::text(invocation.arguments.get())),
            "fail" => Ok(ToolResult::error("disk on fire")),
            "panic" => panic!("scripted"),
            "hang" => {
                invocation.context.cancel.cancelled().await;
                tokio::time::sleep(Duration::from_hours(1)).await;
                Ok(ToolResult::text("never"))
            }
            "down" => Err(InvokeError::Unavailable("connection refused".into())),
            "lost" => Err(InvokeError::Unknown("broken pipe".into())),
            "refused" => Err(InvokeError::Refused { code: -32000, message: "no".into(), data: Some(json!({"x": 1})) }),
            "refused_at_length" => Err(InvokeError::Refused {
                code: -32000,
                message: "é".repeat(3_000_000),
                data: Some(json!("d".repeat(3_000_000))),
            }),
            "huge" => Ok(ToolResult::text("line\n".repeat(100_000))),
            other => Ok(ToolResult::text(other)),
        }
    }
}

impl Backend for Script {
    fn invoke<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolResult, InvokeError>> {
        assert!(invocation.tool.name() != "panic_early", "scripted");
        Box::pin(async move { self.run(&invocation).await })
    }
}

/// Remembers events.
#[derive(Default)]
pub(crate) struct Events(pub(crate) Mutex<Vec<CallEvent>>);

impl EventSink for Events {
    fn record(&self, event: &CallEvent) {
        self.0.lock().push(event.clone());
    }
}

/// An engine with one MCP source `s` that offers the scripted tools.
pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) script: Arc<Script>,
    pub(crate) events: Arc<Events>,
}

impl World {
    pub(crate) fn new(settings: EngineSettings) -> Self {
        let hub = Hub::new(HubLimits::default());
        let script = Arc::new(Script::default());
        let publisher = hub.register(Source::Mcp("s".into()), SourceOptions::default(), script.clone());
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}, "t": {"type": "string"}}, "required": ["n"], "additionalProperties": false});
        let mut tools = vec![json!({"name": "echo", "description": "Says it back.", "inputSchema": schema})];
        tools.extend(
            ["fail", "panic", "panic_early", "hang", "down", "lost", "refused", "refused_at_length", "huge"]
                .map(|name| json!({"name": name})),
        );
        publisher.tools(SourceState::Ready, tools, None, false);
        let events = Arc::new(Events::default());
        Self { engine: Engine::new(hub, settings, None, vec![events.clone()]), script, events }
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> CallReport {
        self.call_raw(name, &arguments.to_string()).await
    }

    pub(crate) async fn call_raw(&self, name: &str, arguments: &str) -> CallReport {
        let arguments = RawValue::from_string(arguments.to_owned()).unwrap();
        let request = CallRequest::new(name, Some(arguments), Scope::default(), Door::Direct);
        self.engine.call_report(request).await
    }

    pub(crate) fn runs(&self) -> usize {
        self.script.runs.load(Ordering::SeqCst)
    }
}
