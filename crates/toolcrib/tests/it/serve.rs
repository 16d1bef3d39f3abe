//! `serve --stdio` as a client sees it, with another toolcrib as its upstream: reloads, and what they leave alone.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, sync_channel},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(30);

/// A client on the standard input and output of a toolcrib of its own.
pub(crate) struct Client {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<Value>,
    notified: usize,
    next: u64,
}

impl Client {
    fn start(folder: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolcrib"));
        command.args(["serve", "--stdio", "--config", "toolcrib.toml"]);
        command.current_dir(folder).env("TOOLCRIB_STORE", ":memory:");
        Self::of(&mut command)
    }

    /// Starts the command and shakes hands.
    pub(crate) fn of(command: &mut Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = sync_channel(1024);
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let value = serde_json::from_str(&line).expect("nothing but protocol on standard output");
                if send.send(value).is_err() {
                    return;
                }
            }
        });
        let mut client = Self { child, stdin, lines, notified: 0, next: 0 };
        let hello =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        client.request("initialize", &hello);
        writeln!(client.stdin, r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#).unwrap();
        client
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.request_text(method, &params.to_string())
    }

    /// Sends parameters as they are written; gives the whole answer.
    pub(crate) fn request_text(&mut self, method: &str, params: &str) -> Value {
        self.next += 1;
        writeln!(self.stdin, r#"{{"jsonrpc":"2.0","id":{},"method":"{method}","params":{params}}}"#, self.next)
            .unwrap();
        let until = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(message) if message["id"] == self.next => return message,
                Ok(message) => self.count(&message),
                Err(RecvTimeoutError::Timeout) => panic!("no answer to {method}"),
                Err(RecvTimeoutError::Disconnected) => panic!("toolcrib ended"),
            }
        }
    }

    fn count(&mut self, message: &Value) {
        self.notified += usize::from(message["method"] == "notifications/tools/list_changed");
    }

    /// The process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn names(&mut self) -> Vec<String> {
        let reply = self.request("tools/list", &json!({}));
        let tools = reply["result"]["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    fn call(&mut self, name: &str) -> Value {
        self.request("tools/call", &json!({"name": name, "arguments": {}}))
    }

    /// Asks again until the condition holds; a reload takes its time.
    #[track_caller]
    pub(crate) fn until(&mut self, what: &str, mut holds: impl FnMut(&mut Self) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !holds(self) {
            assert!(Instant::now() < until, "{what}: never");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Process ids of the servers started under this toolcrib (each behind its guard).
    fn descendants(&self) -> Vec<String> {
        let children = |pid: &str| {
            let file = format!("/proc/{pid}/task/{pid}/children");
            fs::read_to_string(file).unwrap_or_default().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        children(&self.child.id().to_string())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
    }
}

fn write(folder: &Path, text: &str) {
    // As editors do: beside the file, then renamed over it.
    fs::write(folder.join("new"), text).unwrap();
    fs::rename(folder.join("new"), folder.join("toolcrib.toml")).unwrap();
}

#[test]
fn a_reload_touches_what_changed_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("empty.toml"), "").unwrap();
    let inner = format!(
        "[servers.inner]\ncommand = '{}'\nargs = ['serve', '--stdio', '--config', 'empty.toml']\nenv = {{ TOOLCRIB_STORE = ':memory:' }}\n",
        env!("CARGO_BIN_EXE_toolcrib")
    );
    write(folder, "");
    let mut client = Client::start(folder);
    assert!(!client.names().contains(&"tool_search".to_owned()), "built-in tools alone need no bridge");

    write(folder, &inner);
    client.until("the new server can be called", |client| {
        client.call("inner__current_time")["result"]["isError"] == Value::Null
            && client.call("inner__current_time")["result"]["content"][0]["text"].is_string()
    });
    assert!(client.names().contains(&"tool_search".to_owned()));
    assert!(client.notified > 0, "clients are told");

    let processes = client.descendants();
    assert!(!processes.is_empty(), "the server is a process");
    write(folder, &format!("{inner}description = 'a nested counter'\nexclude = ['fetch_url']\n"));
    client.until("the excluded tool is gone", |client| client.call("inner__fetch_url")["error"]["code"] == -32602);
    assert_eq!(client.descendants(), processes, "new filters do not restart the server");

    write(folder, "this is = = no TOML");
    // Longer than the reload waits for further changes, or it would never have looked at this one.
    std::thread::sleep(Duration::from_secs(1));
    assert!(client.call("inner__current_time")["result"]["content"].is_array(), "a broken file changes nothing");

    write(folder, "[policy]\ndeny = ['fetch_url']\n");
    client.until("the server is gone", |client| client.call("inner__current_time")["error"]["code"] == -32602);
    client.until("the denied tool is gone", |client| !client.names().contains(&"fetch_url".to_owned()));
    client.until("its process is gone", |client| client.descendants().is_empty());
}
