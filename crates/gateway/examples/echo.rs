//! A small server to try clients against: `echo [ADDRESS]`, or `echo --stdio`.

use std::{sync::Arc, time::Duration};

use serde_json::{json, value::to_raw_value};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use toolcrib_core::ToolResult;
use toolcrib_gateway::{Gateway, GatewaySettings};
use toolcrib_mcp::{
    server::{
        Answer, Asking, BoxFuture, Caller, Progress, Question, Reply, Server, ServerOptions, StdioOptions, ToolCall,
        ToolList, ToolService, serve_stdio,
    },
    wire::{RpcError, code},
};

struct Echo {
    generation: watch::Sender<u64>,
}

impl ToolService for Echo {
    fn list(&self, _: &Caller) -> ToolList {
        let generation = *self.generation.borrow();
        let empty = json!({"type": "object", "properties": {}});
        let tools = [
            json!({"name": "echo", "description": "Gives its arguments back.", "inputSchema": {
                "type": "object", "properties": {"text": {"type": "string"}}}}),
            json!({"name": "count", "description": "Counts to three, with progress.", "inputSchema": empty}),
            json!({"name": "region", "description": "Mirrors an argument.", "inputSchema": {
                "type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}}),
            json!({"name": "numbers", "description": "Gives an array.", "inputSchema": empty,
                "outputSchema": {"type": "array", "items": {"type": "integer"}}}),
            json!({"name": "ask", "description": "Asks whether to go on.", "inputSchema": empty}),
            json!({"name": "test_trigger_tool_change", "description": format!("Changes this text ({generation})."),
                "inputSchema": empty}),
        ];
        let tools = tools.iter().filter_map(|tool| to_raw_value(tool).ok()).map(Arc::from).collect();
        ToolList { tools, hash: generation.to_string() }
    }

    fn call<'a>(&'a self, _: &'a Caller, call: ToolCall) -> BoxFuture<'a, Result<Answer, RpcError>> {
        Box::pin(async move {
            match call.name.as_str() {
                "echo" | "region" => {
                    Ok(ToolResult::text(call.arguments.map_or("{}".into(), |raw| raw.get().to_owned())).into())
                }
                "count" => {
                    for step in 1..=3 {
                        if let Some(progress) = &call.progress {
                            progress(Progress { params: json!({"progress": step, "total": 3}) });
                        }
                        tokio::time::sleep(Duration::from_millis(30)).await;
                    }
                    Ok(ToolResult::text("three").into())
                }
                "numbers" => Ok(ToolResult::structured(&json!([1, 2, 3])).into()),
                "ask" => Ok(ask(&call).await),
                "test_trigger_tool_change" => {
                    self.generation.send_modify(|generation| *generation += 1);
                    Ok(ToolResult::text("changed").into())
                }
                name => Err(RpcError::new(code::INVALID_PARAMS, format!("no tool {name:?}"))),
            }
        })
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.generation.subscribe()
    }

    fn instructions(&self, _: &Caller) -> Option<String> {
        Some("Try echo.".to_owned())
    }
}

async fn ask(call: &ToolCall) -> Answer {
    let schema =
        json!({"type": "object", "required": ["on"], "properties": {"on": {"type": "boolean", "title": "Go on"}}});
    let question = Question { message: "Shall it go on?".to_owned(), schema };
    let reply = match (&call.asking, &call.resumed) {
        (Asking::Direct(elicitor), _) => elicitor.elicit(&question).await.map_err(|error| error.to_string()),
        // A real service seals its state, checks it, and checks the reply against the question.
        (_, Some(resumed)) => resumed.replies.get("on").cloned().ok_or_else(|| "no reply".to_owned()),
        (Asking::ByResending, None) => {
            return Answer::InputRequired { key: "on".to_owned(), question, state: "asked".to_owned() };
        }
        (Asking::Unable, None) => Err("this client cannot be asked".to_owned()),
    };
    match reply {
        Ok(Reply::Accept(content)) => ToolResult::structured(&content.into()).into(),
        Ok(Reply::Decline | Reply::Cancel) => ToolResult::text("no").into(),
        Err(why) => ToolResult::error(why).into(),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let service = Arc::new(Echo { generation: watch::Sender::new(0) });
    let shutdown = CancellationToken::new();
    let stop = shutdown.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            stop.cancel();
        }
    });
    match std::env::args().nth(1).as_deref() {
        Some("--stdio") => {
            let server = Server::new(service, ServerOptions::default());
            let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
            serve_stdio(&server, Caller::default(), input, output, StdioOptions::default(), shutdown).await?;
            std::process::exit(0);
        }
        address => {
            let listen = address.unwrap_or("127.0.0.1:8321").parse()?;
            let bound = Gateway::bind(GatewaySettings { listen, ..GatewaySettings::default() }).await?;
            bound.serve(service, shutdown).await?;
        }
    }
    Ok(())
}
