//! `serve --http`, and a client that sends what it is told to.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
    sync::mpsc::sync_channel,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::scene::Scene;

const PATIENCE: Duration = Duration::from_secs(30);

/// A toolcrib that serves over HTTP.
pub(crate) struct Served {
    child: Child,
    pub(crate) address: String,
    /// Sent with every request.
    key: Option<&'static str>,
}

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: String,
}

impl Answer {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Served {
    /// Started, with the scene's tools there.
    pub(crate) fn start(scene: &Scene, key: Option<&'static str>) -> Self {
        Self::start_with(scene, key, &[])
    }

    /// The same with more words on the command line.
    pub(crate) fn start_with(scene: &Scene, key: Option<&'static str>, more: &[&str]) -> Self {
        let words = [&["serve", "--http", "127.0.0.1:0"], more].concat();
        let mut command: Command = scene.command(&words, false);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (send, lines) = sync_channel(1_000);
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                // Whoever does not listen any more does not keep it from being read.
                let _ = send.try_send(line);
            }
        });
        let mut said = String::new();
        let address = loop {
            let line = lines.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("it does not listen: {said}"));
            let found = line.split_once("listening on http://").and_then(|(_, rest)| rest.strip_suffix("/mcp"));
            if let Some(address) = found {
                break address.to_owned();
            }
            said.push_str(&line);
        };
        let served = Self { child, address, key };
        let until = Instant::now() + PATIENCE;
        while !served.get("/v1/tools").body.contains("up__look_") {
            assert!(Instant::now() < until, "no tools: {:?}", served.get("/v1/tools"));
            std::thread::sleep(Duration::from_millis(20));
        }
        served
    }

    /// The process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], "")
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Answer {
        self.send("POST", path, &[], body)
    }

    /// One request on a connection of its own. A header that is given takes the place of the usual one.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = self.begin(method, path, headers, body);
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{method} {path}: no answer"));
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
        Answer { status, headers, body: body.to_owned() }
    }

    /// The same, without waiting for the answer.
    pub(crate) fn begin(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let key = self.key.map(|key| format!("Bearer {key}"));
        let length = body.len().to_string();
        let mut all = vec![
            ("Host", self.address.as_str()),
            ("Connection", "close"),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("Content-Length", &length),
        ];
        all.extend(key.as_deref().map(|key| ("Authorization", key)));
        all.retain(|(name, _)| !headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name)));
        all.extend(headers);
        let lines: Vec<String> = all.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // An answer that comes early ends the connection before all was sent.
        let _ = stream.write_all(format!("{method} {path} HTTP/1.1\r\n{}\r\n{body}", lines.concat()).as_bytes());
        stream
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
    }
}
