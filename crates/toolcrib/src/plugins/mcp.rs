//! Plugins that are MCP servers: an upstream that publishes to a hub of its own, from where the plugin's host takes what
//! it offers.

use std::sync::Arc;

use serde_json::Value;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolcrib_connect::plugins::{Launcher, News, Running, Start, Vitals};
use toolcrib_core::{Source, SourceState, ToolId, ToolResult};
use toolcrib_engine::{Backend, BoxFuture, Hub, HubLimits, Invocation, InvokeError, SourceOptions};
use toolcrib_mcp::upstream::{Transport, Upstream, UpstreamLimits, UpstreamSettings};

/// The variable in which such a plugin finds its configuration, as JSON: MCP has no greeting that could carry it.
const CONFIG: &str = "TOOLCRIB_PLUGIN_CONFIG";

/// Starts plugins that are MCP servers.
pub(crate) struct McpLauncher {
    /// Limits on what is taken in.
    pub(crate) limits: HubLimits,
}

impl Launcher for McpLauncher {
    fn launch(&self, start: Start) -> Arc<dyn Running> {
        let id = start.manifest.id.clone();
        let mut words = start.manifest.run.command().unwrap_or_default().iter().cloned();
        let mut env = start.settings.env.clone();
        if !start.settings.config.is_empty() {
            env.entry(CONFIG.to_owned()).or_insert_with(|| Value::from(start.settings.config.clone()).to_string());
        }
        let transport = Transport::Stdio {
            command: words.next().unwrap_or_default(),
            args: words.collect(),
            env,
            cwd: start.folder.clone(),
        };
        let settings = UpstreamSettings {
            connect_timeout: start.manifest.start_timeout,
            secrets: start.settings.env.values().cloned().collect(),
            guard: start.guard.clone(),
            limits: UpstreamLimits {
                message_bytes: start.limits.frame_bytes,
                in_flight: start.limits.in_flight,
                ..UpstreamLimits::default()
            },
            ..UpstreamSettings::new(id.clone(), transport)
        };
        let hub = Hub::new(self.limits);
        let upstream = Upstream::spawn(settings, &hub, SourceOptions::default(), None, String::new());
        let (stop, tracker) = (CancellationToken::new(), TaskTracker::new());
        tracker.spawn(follow(hub.clone(), Source::Mcp(id.clone()), start, stop.clone()));
        tracker.close();
        Arc::new(Served { upstream, hub, source: Source::Mcp(id), stop, tracker })
    }
}

struct Served {
    upstream: Arc<Upstream>,
    hub: Hub,
    source: Source,
    stop: CancellationToken,
    tracker: TaskTracker,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.cancel();
        // The hub holds the upstream.
        self.hub.remove(&self.source);
    }
}

/// Tells the plugin's host what becomes of the server.
async fn follow(hub: Hub, source: Source, start: Start, stop: CancellationToken) {
    let mut changes = hub.watch();
    let mut last = None;
    loop {
        let catalog = hub.catalog();
        if let Some(entry) = catalog.sources().get(&source) {
            let now = (entry.state.clone(), entry.stale, entry.hash());
            if last.as_ref() != Some(&now) {
                let news = match &entry.state {
                    SourceState::Ready => {
                        for refused in entry.quarantined.iter() {
                            start
                                .listener
                                .hear(News::Odd(format!("'{}' is dropped: {}", refused.name, refused.reason)));
                        }
                        News::Ready(entry.tools.iter().map(|tool| Value::clone(tool.definition())).collect())
                    }
                    SourceState::Down { reason } => News::Down(reason.clone()),
                    SourceState::Starting | SourceState::Disabled => News::Starting,
                };
                let listener = start.listener.clone();
                // Schemas are checked on the way.
                let _ = tokio::task::spawn_blocking(move || listener.hear(news)).await;
                last = Some(now);
            }
        }
        tokio::select! {
            () = stop.cancelled() => return,
            changed = changes.changed() => if changed.is_err() {
                return;
            },
        }
    }
}

impl Backend for Served {
    fn invoke<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolResult, InvokeError>> {
        Box::pin(async move {
            // The server's own definition may say how arguments travel.
            let id = ToolId::new(self.source.clone(), invocation.tool.name());
            match self.hub.catalog().get(&id) {
                Some(own) => self.upstream.invoke(Invocation { tool: own, ..invocation }).await,
                None => self.upstream.invoke(invocation).await,
            }
        })
    }
}

impl Running for Served {
    fn stop(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.stop.cancel();
            self.upstream.shutdown().await;
            self.tracker.wait().await;
        })
    }

    fn wake(&self) -> bool {
        self.upstream.wake()
    }

    fn vitals(&self) -> Vitals {
        let report = self.upstream.report();
        Vitals { pid: report.pid, restarts: report.restarts, bad_lines: report.stray_lines, stderr: report.stderr_tail }
    }
}
