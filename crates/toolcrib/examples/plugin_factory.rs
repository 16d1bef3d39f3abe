//! A plugin that is code within this program: a manifest says what it offers, a factory makes it when somebody can see it.
//!
//! ```text
//! cargo run -p toolcrib --example plugin_factory             # calls it a few times
//! cargo run -p toolcrib --example plugin_factory -- --serve  # is an MCP server on standard input and output
//! ```
#![allow(clippy::print_stderr, reason = "an example says what it does")]

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::json;
use tokio_util::sync::CancellationToken;
use toolcrib::{
    connect::plugins::{FactoryContext, FactoryTools, HostSettings, Manifest, PluginFactory, PluginHost, survey},
    core::{Scope, ToolResult},
    engine::{
        Backend, BoxFuture, CallReply, CallRequest, Door, Engine, EngineSettings, Hub, HubLimits, Invocation,
        InvokeError, Trust,
    },
    mcp::server::{Caller, EngineTools, Server, ServerOptions, StdioOptions, serve_stdio},
};

/// What a folder would hold as `plugin.toml`.
const MANIFEST: &str = r#"
id = "counter"
version = "1.0.0"
description = "Counts"

[run]
factory = "counter"

[[tools]]
name = "count"
description = "Count one up and tell the number"

[[tools]]
name = "reset_count"
description = "Begin at zero again"
optional = true
"#;

/// Makes the tools. Called when the plugin is started, and again when it is reloaded.
struct CounterFactory;

impl PluginFactory for CounterFactory {
    fn make(&self, context: FactoryContext) -> BoxFuture<'_, Result<Option<FactoryTools>, String>> {
        Box::pin(async move {
            let first = context.settings.config.get("first").and_then(serde_json::Value::as_u64).unwrap_or(0);
            let definitions = context.manifest.tools.iter().map(|tool| json!({"name": tool.name})).collect();
            Ok(Some(FactoryTools { definitions, backend: Arc::new(Counter(AtomicU64::new(first))) }))
        })
    }
}

/// Runs them.
struct Counter(AtomicU64);

impl Backend for Counter {
    fn invoke<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolResult, InvokeError>> {
        Box::pin(async move {
            let number = if invocation.tool.name() == "count" {
                self.0.fetch_add(1, Ordering::Relaxed) + 1
            } else {
                self.0.store(0, Ordering::Relaxed);
                0
            };
            Ok(ToolResult::text(number.to_string()))
        })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let hub = Hub::new(HubLimits::default());
    let serves = std::env::args().any(|argument| argument == "--serve");
    let mut settings = EngineSettings::default();
    if serves {
        // The one who starts this program is the one who calls: everything may run.
        settings.permissions.trust = Trust::All;
    }
    let engine = Engine::new(hub.clone(), settings, None, vec![]);

    // Whom this program serves: what none of these scopes can see is never made.
    let (asked, scopes) = (engine.clone(), vec![Scope::default()]);
    let seen = Arc::new(move |catalog: &_, came: &[_]| survey(catalog, &asked.settings().assemble, &scopes, came));
    let host = PluginHost::builder(hub, seen)
        .embed(Manifest::parse(MANIFEST, Path::new("plugin.toml"))?)
        .factory("counter", Arc::new(CounterFactory))
        .build();
    host.apply(HostSettings { enabled: true, ..HostSettings::default() }).await;

    if serves {
        let server = Server::new(Arc::new(EngineTools::new(engine, Scope::default())), ServerOptions::default());
        let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
        serve_stdio(&server, Caller::default(), input, output, StdioOptions::default(), CancellationToken::new())
            .await?;
        host.shutdown().await;
        return Ok(());
    }
    for _ in 0..3 {
        let report = engine.call_report(CallRequest::new("count", None, Scope::default(), Door::Library)).await;
        if let CallReply::Result(result) = &report.reply {
            assert_eq!(report.outcome.word(), "ok", "{}", result.to_text());
            eprintln!("count says {}", result.to_text());
        }
    }
    // Optional, and no list names it.
    let told = engine.explain(&Scope::default(), "plugin:counter/reset_count")?;
    eprintln!("{}", told.first().map(toolcrib::core::explain::Explanation::sentence).unwrap_or_default());
    host.shutdown().await;
    Ok(())
}
