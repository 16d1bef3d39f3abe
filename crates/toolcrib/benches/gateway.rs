//! What the gateway adds to a call, how fast it starts and what it keeps in memory: the real binary over its real
//! transports, beside the same calls made directly, in one run.
//!
//! `cargo bench -p toolcrib --bench gateway`. The upstream is this program itself, started with `--echo`.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark may stop at the first surprise, and printing is its job"
)]

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

const CALLS: usize = 3_000;
const WARM_UP: usize = 300;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if args.get(1).is_some_and(|arg| arg == "--echo") {
        return echo(
            args.get(2).and_then(|n| n.parse().ok()).unwrap_or(1),
            args.get(3).and_then(|n| n.parse().ok()).unwrap_or(0),
        );
    }
    let scratch = tempfile::tempdir().expect("a scratch folder");
    for trusted in [true, false] {
        stdio(scratch.path(), trusted);
        http(scratch.path(), trusted);
    }
    start(scratch.path());
    memory(scratch.path());
}

/// A server that answers `tools/call` with what it was given; lists `tools` tools, after waiting `delay_ms` at start.
fn echo(tools: usize, delay_ms: u64) {
    std::thread::sleep(Duration::from_millis(delay_ms));
    let stdin = std::io::stdin().lock();
    let mut stdout = std::io::stdout().lock();
    for line in stdin.lines() {
        let Ok(line) = line else { return };
        let Ok(request) = serde_json::from_str::<Value>(&line) else { continue };
        let Some(id) = request.get("id") else { continue };
        let reply = match request["method"].as_str() {
            Some("initialize") => {
                json!({"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "echo", "version": "1"}}})
            }
            Some("tools/list") => {
                let list: Vec<Value> = (0..tools).map(tool).collect();
                json!({"result": {"tools": list}})
            }
            Some("tools/call") => {
                json!({"result": {"content": [{"type": "text", "text": request["params"]["arguments"].to_string()}]}})
            }
            _ => json!({"error": {"code": -32601, "message": "no such method"}}),
        };
        let mut reply = reply;
        reply["jsonrpc"] = "2.0".into();
        reply["id"] = id.clone();
        let _ = writeln!(stdout, "{reply}");
        let _ = stdout.flush();
    }
}

fn tool(number: usize) -> Value {
    json!({
        "name": format!("echo_{number}"),
        "description": format!("Gives back what it is given, variant {number} of a rather ordinary tool with a sentence of description."),
        "inputSchema": {"type": "object", "properties": {
            "text": {"type": "string", "description": "What to give back."},
            "count": {"type": "integer", "minimum": 0, "description": "How often."},
            "mode": {"type": "string", "enum": ["plain", "loud", "quiet"]}
        }, "required": ["text"]},
        "annotations": {"readOnlyHint": true}
    })
}

/// A process that speaks JSON-RPC a line.
struct Peer {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    next: u64,
}

impl Peer {
    fn start(mut command: Command) -> Self {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("starts");
        let stdin = child.stdin.take().expect("piped");
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        let mut peer = Self { child, stdin, stdout, next: 0 };
        peer.request("initialize", &json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}));
        writeln!(peer.stdin, r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#).expect("writes");
        peer
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        writeln!(self.stdin, "{request}").expect("writes");
        let mut line = String::new();
        loop {
            line.clear();
            assert!(self.stdout.read_line(&mut line).expect("reads") > 0, "the process ended");
            let reply: Value = serde_json::from_str(&line).expect("JSON");
            if reply["id"] == self.next {
                return reply;
            }
        }
    }

    fn call(&mut self, name: &str) -> Value {
        // Another call each time, or the guard against repetition would rightly step in.
        let arguments = json!({"text": "hello", "count": self.next, "mode": "plain"});
        self.request("tools/call", &json!({"name": name, "arguments": arguments}))
    }

    /// Waits until a call succeeds: the upstream behind a gateway may still be starting.
    fn until_ready(&mut self, name: &str) {
        let until = Instant::now() + Duration::from_mins(1);
        while self.call(name)["result"]["content"].is_null() {
            assert!(Instant::now() < until, "{name} cannot be called");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // SIGTERM, so that a gateway ends its own children.
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
    }
}

fn this() -> PathBuf {
    std::env::current_exe().expect("our own path")
}

fn echo_command(tools: usize) -> Command {
    let mut command = Command::new(this());
    command.args(["--echo", &tools.to_string()]);
    command
}

fn toolcrib(scratch: &Path, config: &Value, args: &[&str]) -> Command {
    let file = scratch.join("bench.mcp.json");
    fs::write(&file, config.to_string()).expect("writes the configuration");
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolcrib"));
    command.arg("serve").args(args).arg("--config").arg(&file).current_dir(scratch);
    command.env("TOOLCRIB_STORE", scratch.join("state.db"));
    command
}

fn servers(count: usize, tools: usize, delay_ms: u64) -> Value {
    servers_with(count, tools, delay_ms, false)
}

/// `trusted`: the servers' word that their tools only read is believed, so that no intent is written before a call.
fn servers_with(count: usize, tools: usize, delay_ms: u64, trusted: bool) -> Value {
    let list: serde_json::Map<String, Value> = (0..count)
        .map(|index| {
            let name = if count == 1 { "up".to_owned() } else { format!("up{index}") };
            let args = ["--echo".to_owned(), tools.to_string(), delay_ms.to_string()];
            (name, json!({"command": this(), "args": args, "trust_hints": trusted}))
        })
        .collect();
    json!({"mcpServers": list})
}

/// p50 and p99 in microseconds.
fn times(mut call: impl FnMut()) -> (f64, f64) {
    for _ in 0..WARM_UP {
        call();
    }
    let mut samples: Vec<f64> = (0..CALLS)
        .map(|_| {
            let start = Instant::now();
            call();
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    samples.sort_by(f64::total_cmp);
    (samples[CALLS / 2], samples[CALLS * 99 / 100])
}

/// CPU time of a process in microseconds (user and system).
fn cpu(pid: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: f64 = fields.get(11..13).into_iter().flatten().filter_map(|n| n.parse::<f64>().ok()).sum();
    ticks * 10_000.0
}

fn rss_mb(pid: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<f64>().ok()).unwrap_or_default() / 1024.0
}

fn report(what: &str, direct: (f64, f64), through: (f64, f64), cpu_per_call: f64) {
    println!(
        "{what}: direct p50 {:.0} µs p99 {:.0} µs, through p50 {:.0} µs p99 {:.0} µs, added p50 {:.0} µs, ratio {:.2}, CPU of toolcrib {:.0} µs a call",
        direct.0,
        direct.1,
        through.0,
        through.1,
        through.0 - direct.0,
        through.0 / direct.0,
        cpu_per_call
    );
}

fn kind(trusted: bool) -> &'static str {
    if trusted { "reading calls" } else { "calls that may change something (an intent is written first)" }
}

fn stdio(scratch: &Path, trusted: bool) {
    let mut direct = Peer::start(echo_command(1));
    let direct_times = times(|| drop(direct.call("echo_0")));
    let mut through = Peer::start(toolcrib(scratch, &servers_with(1, 1, 0, trusted), &["--stdio"]));
    through.until_ready("up__echo_0");
    let before = cpu(through.child.id());
    let through_times = times(|| drop(through.call("up__echo_0")));
    let spent = (cpu(through.child.id()) - before) / (CALLS + WARM_UP) as f64;
    report(&format!("stdio, {}", kind(trusted)), direct_times, through_times, spent);
}

fn http(scratch: &Path, trusted: bool) {
    let mut direct = Peer::start(echo_command(1));
    let direct_times = times(|| drop(direct.call("echo_0")));
    let mut command = toolcrib(scratch, &servers_with(1, 1, 0, trusted), &["--http", "127.0.0.1:0"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("starts");
    let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    let address = loop {
        let line = lines.next().expect("it says where it listens").expect("text");
        if let Some(rest) = line.strip_prefix("listening on http://") {
            break rest.trim_end_matches("/mcp").to_owned();
        }
    };
    let request = |count: usize| {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "up__echo_0", "arguments": {"text": "hello", "count": count, "mode": "plain"},
            "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
        }})
        .to_string();
        format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: up__echo_0\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let mut count = 0;
    let mut stream = TcpStream::connect(&address).expect("connects");
    stream.set_nodelay(true).expect("a socket option");
    let mut call = || {
        count += 1;
        stream.write_all(request(count).as_bytes()).expect("writes");
        read_response(&mut stream)
    };
    let until = Instant::now() + Duration::from_secs(30);
    while !call().contains("hello") {
        assert!(Instant::now() < until, "the tool cannot be called over HTTP: {}", call());
        std::thread::sleep(Duration::from_millis(50));
    }
    let before = cpu(child.id());
    let through_times = times(|| drop(call()));
    let spent = (cpu(child.id()) - before) / (CALLS + WARM_UP) as f64;
    report(&format!("HTTP (direct = the upstream's stdio), {}", kind(trusted)), direct_times, through_times, spent);
    let _ = Command::new("kill").arg(child.id().to_string()).status();
    let _ = child.wait();
}

fn read_response(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::with_capacity(1024);
    let mut chunk = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                line.to_lowercase().strip_prefix("content-length:").map(|n| n.trim().parse::<usize>().unwrap_or(0))
            });
            if length.is_some_and(|length| body.len() >= length) {
                return body.to_owned();
            }
        }
        let read = stream.read(&mut chunk).expect("reads");
        assert!(read > 0, "the connection was closed: {text}");
        bytes.extend_from_slice(&chunk[..read]);
    }
}

/// From the start of the process to the first list, 10,000 tools known from before and their server slow to start.
fn start(scratch: &Path) {
    let mut first = Peer::start(toolcrib(scratch, &servers(1, 10_000, 0), &["--stdio"]));
    first.until_ready("up__echo_9999");
    drop(first);
    let mut samples: Vec<f64> = (0..5)
        .map(|_| {
            let begun = Instant::now();
            let mut peer = Peer::start(toolcrib(scratch, &servers(1, 10_000, 0), &["--stdio"]));
            peer.request("tools/list", &json!({}));
            begun.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    samples.sort_by(f64::total_cmp);
    println!(
        "start with 10,000 known tools to the first list: median {:.0} ms (min {:.0}, max {:.0})",
        samples[2], samples[0], samples[4]
    );
}

fn memory(scratch: &Path) {
    let mut idle = Peer::start(toolcrib(scratch, &json!({"mcpServers": {}}), &["--stdio"]));
    idle.request("tools/list", &json!({}));
    let idle_mb = rss_mb(idle.child.id());
    drop(idle);
    let mut full = Peer::start(toolcrib(scratch, &servers(100, 100, 0), &["--stdio"]));
    for index in 0..100 {
        full.until_ready(&format!("up{index}__echo_99"));
    }
    let listed = rss_mb(full.child.id());
    full.call("tool_search");
    full.request("tools/call", &json!({"name": "tool_search", "arguments": {"query": "give back what it is given"}}));
    let searched = rss_mb(full.child.id());
    println!(
        "resident: idle {idle_mb:.1} MB; 10,000 tools and 100 idle upstreams {listed:.1} MB, {searched:.1} MB with the search index"
    );
}
