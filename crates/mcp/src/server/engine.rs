//! An engine's tools for MCP clients, for programs that embed one: who asks is what the program says of a caller, and nobody
//! is asked anything during a call.

use std::sync::Arc;

use tokio::sync::watch;
use toolcrib_core::{Scope, ToolResult};
use toolcrib_engine::{BoxFuture, CallReply, CallRequest, Door, Engine, Identity};

use super::{Answer, Caller, ToolCall, ToolList, ToolService};
use crate::wire::RpcError;

/// Serves the tools that an engine has for a caller.
///
/// A call that a person has to approve first is refused with the request's handle: it runs when it is sent again after
/// somebody approved it. The `toolcrib` command has a service of its own that puts such questions to the client.
pub struct EngineTools {
    engine: Engine,
    scope: Box<dyn Fn(&Caller) -> Scope + Send + Sync>,
    instructions: Option<String>,
}

impl EngineTools {
    /// Everybody is in the same scope.
    pub fn new(engine: Engine, scope: Scope) -> Self {
        Self::by_caller(engine, move |_| scope.clone())
    }

    /// Callers are in the scope that the function says.
    pub fn by_caller(engine: Engine, scope: impl Fn(&Caller) -> Scope + Send + Sync + 'static) -> Self {
        Self { engine, scope: Box::new(scope), instructions: None }
    }

    /// What clients should tell their models about the server.
    #[must_use]
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }
}

impl ToolList {
    /// What an engine has for a scope.
    pub fn of(engine: &Engine, scope: &Scope) -> Self {
        match engine.view(scope) {
            Ok(view) => Self { tools: view.rendered().clone(), hash: view.set.shown_hash.to_string() },
            Err(error) => {
                // Nothing is the only safe answer to a scope that cannot be judged; calls say why.
                tracing::warn!(error = %error.for_operators(), "a caller's scope cannot be served");
                Self { tools: Arc::from([]), hash: error.to_string() }
            }
        }
    }
}

impl ToolService for EngineTools {
    fn list(&self, caller: &Caller) -> ToolList {
        ToolList::of(&self.engine, &self.engine.in_session((self.scope)(caller), caller.session.as_deref()))
    }

    fn call<'a>(&'a self, caller: &'a Caller, call: ToolCall) -> BoxFuture<'a, Result<Answer, RpcError>> {
        Box::pin(async move {
            let mut request = CallRequest::new(call.name, call.arguments, (self.scope)(caller), Door::Direct);
            request.identity = Arc::new(Identity { session: caller.session.clone(), ..Identity::default() });
            request.cancel = call.cancel;
            request.progress = call.progress;
            request.meta = call.meta;
            match self.engine.call(request).await {
                CallReply::Protocol { code, message, data } => Err(RpcError::of(code, message, data.as_ref())),
                reply => Ok(ToolResult::from(reply).into()),
            }
        })
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.engine.hub().watch()
    }

    fn instructions(&self, _caller: &Caller) -> Option<String> {
        self.instructions.clone()
    }
}
