//! toolcrib as a library: the crates it is made of, under one roof.
//!
//! ```
//! use std::sync::Arc;
//! use toolcrib::{
//!     core::{Scope, Source, SourceState, ToolResult},
//!     engine::{Backend, BoxFuture, CallRequest, Door, Engine, EngineSettings, Hub, HubLimits, Invocation, InvokeError, PermissionSettings, SourceOptions},
//! };
//!
//! struct Greeter;
//!
//! impl Backend for Greeter {
//!     fn invoke<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolResult, InvokeError>> {
//!         Box::pin(async move { Ok(ToolResult::text(format!("hello {}", invocation.arguments.get()))) })
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let hub = Hub::new(HubLimits::default());
//! let publisher = hub.register(Source::Custom("me".into()), SourceOptions::default(), Arc::new(Greeter));
//! publisher.tools(SourceState::Ready, vec![serde_json::json!({"name": "greet"})], None, false);
//!
//! // Nothing runs that no rule allows: what a program publishes by itself is not trusted by default.
//! let permissions = PermissionSettings { allow: vec!["me__greet".parse().unwrap()], ..PermissionSettings::default() };
//! let engine = Engine::new(hub, EngineSettings { permissions, ..EngineSettings::default() }, None, vec![]);
//! let report = engine.call_report(CallRequest::new("me__greet", None, Scope::default(), Door::Library)).await;
//! assert_eq!(report.outcome.word(), "ok");
//! # }
//! ```

pub use toolcrib_config as config;
pub use toolcrib_connect as connect;
pub use toolcrib_core as core;
pub use toolcrib_engine as engine;
pub use toolcrib_gateway as gateway;
pub use toolcrib_mcp as mcp;
pub use toolcrib_store as store;
