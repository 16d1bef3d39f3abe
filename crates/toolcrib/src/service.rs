//! The engine as a service for MCP clients.

use std::sync::Arc;

use tokio::sync::watch;
use toolcrib_core::Scope;
use toolcrib_engine::{BoxFuture, CallReply, CallRequest, Door, Engine};
use toolcrib_mcp::{
    server::{Answer, Caller, ToolCall, ToolList, ToolService},
    wire::RpcError,
};

/// What every client is told. Fixed text: it is part of the prompt prefix that clients cache.
const INSTRUCTIONS: &str = "This server gathers the tools of several servers. Only a few are listed; the others are found with tool_search, \
looked at with tool_describe and run with tool_call. Before you say that something cannot be done, search for it.";

/// Most characters of a server's own instructions that are passed on.
const MAX_RELAYED: usize = 2_000;

/// Serves an engine's tools to MCP clients.
pub(crate) struct EngineService {
    engine: Engine,
    base: Scope,
}

impl EngineService {
    /// A service whose callers start from `base`, narrowed by who they are.
    pub(crate) fn new(engine: Engine, base: Scope) -> Arc<Self> {
        Arc::new(Self { engine, base })
    }

    fn scope(&self, caller: &Caller) -> Scope {
        let mut scope = self.base.clone();
        scope.user.clone_from(&caller.principal);
        if scope.profile.is_none() {
            scope.profile.clone_from(&caller.profile);
        }
        scope
    }
}

impl ToolService for EngineService {
    fn list(&self, caller: &Caller) -> ToolList {
        match self.engine.view(&self.scope(caller)) {
            Ok(view) => ToolList { tools: view.rendered().clone(), hash: view.set.shown_hash.to_string() },
            Err(error) => {
                // Nothing is the only safe answer to a scope that cannot be judged; calls say why.
                tracing::warn!(%error, "a caller's scope cannot be served");
                ToolList { tools: Arc::from([]), hash: error.to_string() }
            }
        }
    }

    fn call<'a>(&'a self, caller: &'a Caller, call: ToolCall) -> BoxFuture<'a, Result<Answer, RpcError>> {
        Box::pin(async move {
            let request = CallRequest {
                name: call.name,
                arguments: call.arguments,
                scope: self.scope(caller),
                door: Door::Direct,
                timeout: None,
                cancel: call.cancel,
                progress: call.progress,
                meta: call.meta,
            };
            match self.engine.call(request).await.reply {
                CallReply::Result(result) => Ok(result.into()),
                CallReply::Protocol { code, message, data } => Err(RpcError {
                    code,
                    message,
                    data: data.and_then(|data| serde_json::value::to_raw_value(&data).ok()),
                }),
            }
        })
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.engine.hub().watch()
    }

    fn instructions(&self, caller: &Caller) -> Option<String> {
        let view = self.engine.view(&self.scope(caller)).ok()?;
        let mut text = if view.set.disclosure.active { INSTRUCTIONS.to_owned() } else { String::new() };
        let catalog = self.engine.hub().catalog();
        for source in self.engine.settings().relay_instructions.iter().filter(|source| view.knows(source)) {
            let Some(own) = catalog.sources().get(source).and_then(|entry| entry.instructions.as_deref()) else {
                continue;
            };
            // Marked as the server's words, so that nobody takes them for ours.
            let own: String = toolcrib_core::shape::sanitize_text(own).chars().take(MAX_RELAYED).collect();
            let break_ = if text.is_empty() { "" } else { "\n\n" };
            text.push_str(&format!("{break_}The server {} says of itself: {own}", source.group()));
        }
        (!text.is_empty()).then_some(text)
    }
}
