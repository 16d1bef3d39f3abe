//! Tools written in Rust as an MCP server on standard input and output.

use std::{sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;
use toolcrib::{
    core::{Scope, Source, disclosure::Switch},
    engine::{
        Engine, EngineSettings, Hub, HubLimits, SourceOptions, Trust,
        authoring::{About, Json, NoArguments, ToolError, Toolbox, tool_fn},
    },
    mcp::server::{Caller, EngineTools, Server, ServerOptions, StdioOptions, serve_stdio},
};

#[derive(Deserialize, JsonSchema)]
struct Numbers {
    /// At least one number.
    numbers: Vec<f64>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mean =
        tool_fn(About::new("mean", "The mean of some numbers.").reads().closed(), |given: Numbers, _| async move {
            if given.numbers.is_empty() {
                return Err(ToolError::told("there is no mean of no numbers; give at least one"));
            }
            Ok(Json(given.numbers.iter().sum::<f64>() / given.numbers.len() as f64))
        });
    let wait = tool_fn(About::new("wait", "Waits a second.").reads().closed(), |_: NoArguments, context| async move {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_secs(1)) => Ok("waited"),
            () = context.cancel.cancelled() => Err(ToolError::told("given up")),
        }
    });
    let hub = Hub::new(HubLimits::default());
    let toolbox = Toolbox::builder().tool(mean).tool(wait).build()?;
    toolbox.publish(&hub, Source::Custom("maths".into()), SourceOptions::default());

    let mut settings = EngineSettings::default();
    // The one who starts this program is the one who calls: everything may run.
    settings.permissions.trust = Trust::All;
    // Two tools need no searching: both are listed. More of them are better found than listed, which is the default.
    settings.assemble.disclosure.enabled = Switch::Off;
    let engine = Engine::new(hub, settings, None, vec![]);
    let server = Server::new(Arc::new(EngineTools::new(engine, Scope::default())), ServerOptions::default());
    let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
    serve_stdio(&server, Caller::default(), input, output, StdioOptions::default(), CancellationToken::new()).await?;
    Ok(())
}
