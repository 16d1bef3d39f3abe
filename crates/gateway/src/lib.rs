//! The HTTP face: MCP over streamable HTTP for both protocol eras, and the guards every request passes.
//!
//! Owns the accept loop with its limits, the Host, Origin and key checks, the session table of legacy clients, and the
//! translation between protocol frames and HTTP answers. The only crate that names axum. Never knows: the engine, SQL,
//! any concrete backend.
//!
//! ```no_run
//! # async fn run(service: std::sync::Arc<dyn toolcrib_mcp::server::ToolService>) -> Result<(), toolcrib_gateway::GatewayError> {
//! use toolcrib_gateway::{Gateway, GatewaySettings};
//!
//! let bound = Gateway::bind(GatewaySettings::default()).await?;
//! println!("http://{}/mcp", bound.local_addr());
//! bound.serve(service, tokio_util::sync::CancellationToken::new()).await
//! # }
//! ```

mod accept;
pub mod api;
mod bind;
mod guard;
mod mcp;
mod mirror;
mod reply;
mod sessions;
mod settings;
mod stall;

pub use bind::{Bound, Gateway};
pub use guard::Principal;
pub use settings::{AccessKey, GatewayError, GatewaySettings, KeyScope, KeyScopes};
