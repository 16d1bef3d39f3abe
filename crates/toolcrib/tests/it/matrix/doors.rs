//! The ways in, and how each says what became of a call.

use std::process::Command;

use serde_json::Value;
use toolcrib::engine::Outcome;

use super::{
    Want,
    library::{Library, Made},
};
use crate::{
    http::Served,
    scene::{Scene, fill_disk_of},
    serve::Client,
};

/// A way in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    /// `tools/call` over stdio.
    Direct,
    /// `tool_call` over stdio.
    Bridge,
    /// `toolcrib call`.
    Cli,
    /// `POST /v1/calls`.
    Http,
    /// The same with `tool_call`.
    HttpBridge,
    /// `tools/call` over HTTP, in a session.
    McpHttp,
    /// The same as a request that stands alone (2026-07-28).
    McpModern,
    /// In process.
    Library,
}

impl Door {
    pub(crate) const ALL: [Self; 8] = [
        Self::Direct,
        Self::Bridge,
        Self::Cli,
        Self::Http,
        Self::HttpBridge,
        Self::McpHttp,
        Self::McpModern,
        Self::Library,
    ];

    /// The end of its tools' names.
    pub(crate) fn word(self) -> &'static str {
        crate::upstream::DOORS[Self::ALL.iter().position(|door| *door == self).unwrap()]
    }

    /// Its name in records.
    pub(crate) fn recorded(self) -> &'static str {
        match self {
            Self::Direct | Self::McpHttp | Self::McpModern => "direct",
            Self::Bridge => "bridge",
            Self::Cli => "cli",
            Self::Http | Self::HttpBridge => "http",
            Self::Library => "library",
        }
    }
}

/// What a caller sees.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) text: String,
    how: How,
}

#[derive(Debug, PartialEq)]
enum How {
    /// `isError`, or a protocol error's code.
    Mcp {
        error: bool,
        code: Option<i64>,
    },
    /// Exit code.
    Cli(i32),
    /// Status and `outcome`.
    Http(u16, String),
    Library(Outcome),
}

impl Seen {
    pub(crate) fn library(outcome: Outcome, text: String) -> Self {
        Self { text, how: How::Library(outcome) }
    }

    fn mcp(reply: &Value) -> Self {
        let code = reply["error"]["code"].as_i64();
        let how = How::Mcp { error: reply["result"]["isError"] == true, code };
        Self { text: text(&reply["result"], &reply["error"]), how }
    }

    /// It ran, and well.
    pub(crate) fn is_ok(&self) -> bool {
        match &self.how {
            How::Mcp { error, code } => !error && code.is_none(),
            How::Cli(code) => *code == 0,
            How::Http(status, outcome) => *status == 200 && outcome == "ok",
            How::Library(outcome) => *outcome == Outcome::Ok,
        }
    }

    /// It ended as it should, in the words of this door.
    pub(crate) fn agrees(&self, want: Want, door: Door) -> Result<(), String> {
        let expected = match (door, want) {
            (Door::Direct | Door::Bridge | Door::McpHttp | Door::McpModern, want) => {
                let unreadable = want == Want::Unreadable || want == Want::NoSuchTool && door != Door::Bridge;
                let code = unreadable.then_some(-32602);
                How::Mcp { error: want != Want::Earlier && code.is_none(), code }
            }
            (Door::Cli, Want::Denied | Want::TooFast) => How::Cli(3),
            (Door::Cli, Want::Invalid | Want::Unreadable | Want::NoSuchTool) => How::Cli(1),
            (Door::Cli, Want::Unavailable) => How::Cli(4),
            (Door::Cli, Want::Earlier) => How::Cli(0),
            (Door::Http | Door::HttpBridge, want) => {
                let status = match want {
                    Want::Denied => 403,
                    Want::TooFast => 429,
                    Want::Invalid | Want::Unreadable => 422,
                    Want::NoSuchTool => 404,
                    Want::Unavailable => 503,
                    Want::Earlier => 200,
                };
                How::Http(status, want.word().to_owned())
            }
            (Door::Library, want) => How::Library(match want {
                Want::Denied | Want::TooFast => Outcome::Denied,
                Want::Invalid | Want::Unreadable | Want::NoSuchTool => Outcome::Invalid,
                Want::Unavailable => Outcome::Unavailable,
                Want::Earlier => Outcome::Ok,
            }),
        };
        if self.how == expected { Ok(()) } else { Err(format!("{want:?} should look like {expected:?}: {self:?}")) }
    }
}

fn text(result: &Value, error: &Value) -> String {
    let mut all = error["message"].as_str().unwrap_or_default().to_owned();
    for block in result["content"].as_array().into_iter().flatten() {
        all.push_str(block["text"].as_str().unwrap_or_default());
    }
    all
}

/// Everything that can be called, started when it is needed.
pub(crate) struct Doors<'s> {
    scene: &'s Scene,
    stdio: Option<Client>,
    http: Option<Served>,
    session: Option<String>,
    made: Made,
    library: Option<Library>,
    full: bool,
}

impl<'s> Doors<'s> {
    pub(crate) fn new(scene: &'s Scene, made: Made) -> Self {
        Self { scene, stdio: None, http: None, session: None, made, library: None, full: false }
    }

    /// Calls a tool with arguments as they are written.
    pub(crate) fn call(&mut self, door: Door, tool: &str, arguments: &str) -> Seen {
        let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
        match door {
            Door::Direct => Seen::mcp(&self.stdio().request_text("tools/call", &params)),
            Door::Bridge => {
                let params = format!(r#"{{"name":"tool_call","arguments":{params}}}"#);
                Seen::mcp(&self.stdio().request_text("tools/call", &params))
            }
            Door::Cli => self.cli(tool, arguments),
            Door::Http => self.api(&params),
            Door::HttpBridge => self.api(&format!(r#"{{"name":"tool_call","arguments":{params}}}"#)),
            Door::McpHttp => self.mcp_http(&params),
            Door::McpModern => {
                let about = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#;
                let params = format!(r#"{{"_meta":{{{about}}},"name":"{tool}","arguments":{arguments}}}"#);
                let headers =
                    [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", tool)];
                self.mcp(&headers, &params)
            }
            Door::Library => self.library().call(tool, arguments),
        }
    }

    /// From now on, or no more, nothing can be written to the disk by what is behind this door.
    pub(crate) fn fill_disk(&mut self, door: Door, full: bool) {
        match door {
            Door::Direct | Door::Bridge => fill_disk_of(self.stdio().id(), full),
            Door::Cli => self.full = full,
            Door::Http | Door::HttpBridge | Door::McpHttp | Door::McpModern => fill_disk_of(self.http().id(), full),
            Door::Library => self.library().fill_disk(full),
        }
    }

    fn stdio(&mut self) -> &mut Client {
        let scene = self.scene;
        self.stdio.get_or_insert_with(|| {
            let mut client = Client::of(&mut scene.command(&["serve", "--stdio"], false));
            client
                .until("the tools are there", |client| client.names().iter().any(|name| name.starts_with("up__look_")));
            client
        })
    }

    fn http(&mut self) -> &mut Served {
        let scene = self.scene;
        self.http.get_or_insert_with(|| Served::start(scene, Some("key-of-bot")))
    }

    fn library(&mut self) -> &mut Library {
        let (scene, made) = (self.scene, &self.made);
        self.library.get_or_insert_with(|| Library::new(scene, made))
    }

    fn cli(&self, tool: &str, arguments: &str) -> Seen {
        let mut command: Command = self.scene.command(&["call", tool, arguments, "--json"], self.full);
        let ran = command.output().unwrap();
        let said: Value = serde_json::from_slice(&ran.stdout).unwrap_or_default();
        let warned = String::from_utf8_lossy(&ran.stderr);
        let text = format!("{}{warned}", text(&said, &said["error"]));
        Seen { text, how: How::Cli(ran.status.code().unwrap_or(-1)) }
    }

    fn mcp_http(&mut self, params: &str) -> Seen {
        if self.session.is_none() {
            let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
            let answer = self.http().post("/mcp", hello);
            self.session = Some(answer.headers["mcp-session-id"].clone());
        }
        let session = self.session.clone().unwrap();
        let headers = [("Mcp-Session-Id", session.as_str()), ("MCP-Protocol-Version", "2025-11-25")];
        self.mcp(&headers, params)
    }

    fn mcp(&mut self, headers: &[(&str, &str)], params: &str) -> Seen {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        Seen::mcp(&self.http().send("POST", "/mcp", headers, &body).json())
    }

    fn api(&mut self, body: &str) -> Seen {
        let answer = self.http().post("/v1/calls", body);
        let (status, body) = (answer.status, answer.json());
        let outcome = body["outcome"].as_str().unwrap_or_default().to_owned();
        Seen { text: text(&body["result"], &body["error"]), how: How::Http(status, outcome) }
    }
}
