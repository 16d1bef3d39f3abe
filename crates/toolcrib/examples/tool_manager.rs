//! The tool manager in a few lines; docs/tools.md shows this program.

use std::sync::Arc;

use serde_json::json;
use toolcrib::{
    core::{Source, ToolId, ToolResult},
    engine::{
        Backend, BoxFuture, Hub, HubLimits, Invocation, InvokeError,
        manager::{Filter, Manager, ManagerError, OnConflict, Registration},
    },
};

struct Greet;

impl Backend for Greet {
    fn invoke<'a>(&'a self, _: Invocation<'a>) -> BoxFuture<'a, Result<ToolResult, InvokeError>> {
        Box::pin(async { Ok(ToolResult::text("hello")) })
    }
}

fn main() -> Result<(), ManagerError> {
    let manager = Manager::new(Hub::new(HubLimits::default()));
    let definition = json!({"name": "greet", "description": "Greets."});
    let greet = Registration::new(Source::Custom("shop".into()), definition, Arc::new(Greet));
    manager.insert(greet.namespace("talk").priority(5), OnConflict::Error)?;
    let id = ToolId::new(Source::Custom("shop".into()), "greet");
    assert!(manager.set_enabled(&id, false)?);
    assert!(manager.query(&Filter::enabled())?.is_empty());
    manager.namespace("talk").set_enabled(true)?;
    let chosen = manager.select()?.matching("greet somebody").within(8_000).pick();
    assert_eq!(chosen.tools().len(), 1);
    let saved = manager.state()?;
    assert!(manager.apply(&saved)?.applied.is_empty());
    Ok(())
}
