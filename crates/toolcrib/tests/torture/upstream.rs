//! The tool server: writes a line for every execution into a file that toolcrib knows nothing of.

use std::{
    env,
    fs::File,
    io::{BufRead, Write, stdin},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

/// Speaks MCP on standard input and descriptor 3 (standard output is the test harness's) if the last word of the command
/// line is an absolute path; that file gets the lines.
/// Whether it was asked.
pub(crate) fn serve_if_asked() -> bool {
    let Some(observed) = env::args().next_back().filter(|path| path.starts_with('/') && env::args().len() > 3) else {
        return false;
    };
    let observed = File::options().append(true).create(true).open(observed).unwrap();
    let out = File::options().write(true).open("/dev/fd/3").unwrap();
    let (observed, out) = (Arc::new(observed), Arc::new(Mutex::new(out)));
    for line in stdin().lock().lines().map_while(Result::ok) {
        let message: Value = serde_json::from_str(&line).unwrap();
        let Some(id) = message.get("id").cloned() else { continue };
        let reply = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({"result": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "torture", "version": "1"},
            }}),
            "ping" => json!({"result": {}}),
            "tools/list" => json!({"result": {"tools": tools()}}),
            "tools/call" => {
                let (observed, out) = (observed.clone(), out.clone());
                let arguments = message["params"]["arguments"].clone();
                thread::spawn(move || {
                    let key = arguments["key"].as_str().unwrap();
                    let half = Duration::from_millis(arguments["delay_ms"].as_u64().unwrap_or(0)) / 2;
                    thread::sleep(half);
                    // One write to a file opened for appending: lines of two servers do not mix.
                    (&*observed).write_all(format!("{key}\n").as_bytes()).unwrap();
                    thread::sleep(half);
                    let text = format!("did {key}");
                    say(&out, &id, json!({"result": {"content": [{"type": "text", "text": text}]}}));
                });
                continue;
            }
            _ => json!({"error": {"code": -32601, "message": "no such method"}}),
        };
        say(&out, &id, reply);
    }
    // One of those that do not notice that nobody is there any more: toolcrib has to see to its end.
    thread::sleep(Duration::from_mins(2));
    true
}

pub(crate) fn tools() -> [Value; 2] {
    [tool("add", false), tool("wipe", true)]
}

fn tool(name: &str, destructive: bool) -> Value {
    json!({
        "name": name,
        "description": "Writes a line.",
        "inputSchema": {
            "type": "object",
            "properties": {"key": {"type": "string"}, "delay_ms": {"type": "integer"}},
            "required": ["key"],
        },
        "annotations": {"destructiveHint": destructive},
    })
}

fn say(out: &Mutex<File>, id: &Value, mut reply: Value) {
    reply["jsonrpc"] = json!("2.0");
    reply["id"] = id.clone();
    // Toolcrib may be dead already.
    let _ = out.lock().unwrap().write_all(format!("{reply}\n").as_bytes());
}
