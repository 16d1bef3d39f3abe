//! What runs the tools of a registered source: each registration's own backend, until the manager is shut down.

use std::sync::{Arc, Weak};

use serde_json::value::RawValue;
use toolcrib_core::{Scope, Tool, ToolResult, schema::Violation};

use super::Inner;
use crate::backend::{Backend, BoxFuture, Invocation, InvokeError};

pub(super) struct Dispatch {
    pub(super) manager: Weak<Inner>,
}

impl Backend for Dispatch {
    fn invoke<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolResult, InvokeError>> {
        let id = invocation.tool.id();
        let gone = |what: &str| Err(InvokeError::Unavailable(format!("{id} {what}")));
        let Some(manager) = self.manager.upgrade() else {
            return Box::pin(std::future::ready(gone("is not there any more")));
        };
        let found = manager.table.read().registered(id).map(|found| (found.backend.clone(), found.tool.hash()));
        let Some((backend, hash)) = found else {
            return Box::pin(std::future::ready(gone("was removed")));
        };
        // Its arguments were held against another schema.
        if hash != invocation.tool.hash() {
            let gone = gone("was replaced while the call was on its way; look at its definition again");
            return Box::pin(std::future::ready(gone));
        }
        let stop = manager.stop.clone();
        let running = manager.running.track_future(async move {
            tokio::select! {
                biased;
                () = stop.cancelled() => {
                    Err(InvokeError::Unknown("the tool manager was shut down while the tool ran".to_owned()))
                }
                result = backend.invoke(invocation) => result,
            }
        });
        Box::pin(running)
    }

    fn check(&self, tool: &Tool, arguments: &RawValue, scope: &Scope) -> Result<(), Violation> {
        self.backend(tool).map_or(Ok(()), |backend| backend.check(tool, arguments, scope))
    }

    fn describe_call(&self, tool: &Tool, arguments: &RawValue, scope: &Scope) -> Option<String> {
        self.backend(tool)?.describe_call(tool, arguments, scope)
    }
}

impl Dispatch {
    /// What runs the tool, as long as it is the one that is registered.
    fn backend(&self, tool: &Tool) -> Option<Arc<dyn Backend>> {
        let manager = self.manager.upgrade()?;
        let table = manager.table.read();
        let found = table.registered(tool.id()).filter(|found| found.tool.hash() == tool.hash());
        found.map(|found| found.backend.clone())
    }
}
