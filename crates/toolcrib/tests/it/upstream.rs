//! A tool server whose every execution leaves a line in a file that toolcrib knows nothing of.

use std::{
    env,
    fs::File,
    io::{BufRead, Write, stdin},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

/// Set for the server only: the file that gets the lines.
pub(crate) const OBSERVED: &str = "TOOLCRIB_TEST_OBSERVED";

/// How a shell starts the server: with its protocol on descriptor 3, because standard output is the test harness's, and
/// without the limit on file sizes that a test may have set for toolcrib.
pub(crate) const START: &str = r#"ulimit -S -f unlimited; exec "$0" "$@" 3>&1 >/dev/null"#;

/// The ways in that have tools of their own, so that what is counted by tool does not mix.
pub(crate) const DOORS: [&str; 8] =
    ["direct", "bridge", "cli", "http", "http_bridge", "mcp_http", "mcp_modern", "library"];

/// Every door has tools of its own, so that what is counted by tool does not mix. Started by the configuration of the other
/// tests, with the file to write into, this is their server.
#[test]
fn upstream() {
    if let Ok(observed) = env::var(OBSERVED) {
        return serve(&File::options().append(true).create(true).open(observed).unwrap());
    }
    let tools = tools();
    let names: std::collections::BTreeSet<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), tools.len(), "no name twice");
    for door in DOORS {
        for kind in ["look", "note", "wipe", "frail"] {
            assert!(names.contains(format!("{kind}_{door}").as_str()), "{kind} for {door}");
        }
    }
}

#[derive(Deserialize)]
struct Message {
    id: Option<Box<RawValue>>,
    method: String,
    params: Option<Box<RawValue>>,
}

/// What a call says.
#[derive(Deserialize)]
struct Call {
    name: String,
    // As written: digits of big numbers count.
    arguments: Box<RawValue>,
}

fn serve(observed: &File) {
    let out = Arc::new(Mutex::new(File::options().write(true).open("/dev/fd/3").unwrap()));
    for line in stdin().lock().lines().map_while(Result::ok) {
        let message: Message = serde_json::from_str(&line).unwrap();
        let Some(id) = message.id else { continue };
        match message.method.as_str() {
            "initialize" => {
                let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "up", "version": "1"}});
                say(&out, &id, &hello.to_string());
            }
            "tools/list" => say(&out, &id, &json!({"tools": tools()}).to_string()),
            "tools/call" => {
                let call: Call = serde_json::from_str(message.params.unwrap().get()).unwrap();
                let (mut observed, out) = (observed.try_clone().unwrap(), out.clone());
                thread::spawn(move || {
                    let result = run(&mut observed, &call.name, call.arguments.get());
                    say(&out, &id, &result);
                });
            }
            _ => say(&out, &id, "{}"),
        }
    }
}

/// Runs a tool: writes the line, takes its time, and gives the result's text.
pub(crate) fn run(observed: &mut File, name: &str, text: &str) -> String {
    let arguments: Value = serde_json::from_str(text).unwrap();
    let key = arguments["key"].as_str().unwrap_or("-");
    // One write to a file opened for appending: lines of two servers do not mix.
    observed.write_all(format!("{key}\n").as_bytes()).unwrap();
    thread::sleep(Duration::from_millis(arguments["delay_ms"].as_u64().unwrap_or(0)));
    if arguments["fault"] == true {
        return "7".to_owned();
    }
    let structured =
        if name.starts_with("echo") { format!(r#","structuredContent":{{"sent":{text}}}"#) } else { String::new() };
    let said = Value::from(if structured.is_empty() { format!("did {key}") } else { text.to_owned() });
    format!(r#"{{"content":[{{"type":"text","text":{said}}}]{structured}}}"#)
}

fn say(out: &Mutex<File>, id: &RawValue, result: &str) {
    // Toolcrib may be gone already.
    let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n");
    let _ = out.lock().unwrap().write_all(line.as_bytes());
}

/// Every tool once for every door.
pub(crate) fn tools() -> Vec<Value> {
    let free = json!({"type": "object"});
    let noted = json!({
        "type": "object",
        "properties": {
            "key": {"type": "string"},
            "n": {"type": "integer"},
            "path": {"type": "string"},
            "url": {"type": "string"},
            "branch": {"type": "string"},
        },
        "required": ["key"],
    });
    let shell = json!({"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]});
    let kinds = [
        ("note", &noted, json!({})),
        ("loose", &free, json!({})),
        ("look", &free, json!({"readOnlyHint": true})),
        ("wipe", &free, json!({"destructiveHint": true})),
        ("shell", &shell, json!({})),
        ("frail", &free, json!({})),
        ("echo", &free, json!({})),
    ];
    let of_door = |door: &str| {
        kinds.each_ref().map(|(kind, schema, hints)| {
            json!({"name": format!("{kind}_{door}"), "description": "Writes a line.", "inputSchema": schema, "annotations": hints})
        })
    };
    // A key that no provider takes as it is.
    let odd = json!({"type": "object", "properties": {"$filter?": {"type": "string"}}, "required": ["$filter?"]});
    let odd = json!({"name": "echo_odd", "description": "Filters a catalogue of plants.", "inputSchema": odd});
    DOORS.into_iter().flat_map(of_door).chain([odd]).collect()
}
