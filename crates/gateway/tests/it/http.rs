//! A client that sends exactly the bytes it is told to.

use std::{collections::HashMap, fmt::Write as _, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::fake::Running;

const PATIENCE: Duration = Duration::from_secs(10);

/// An answer's head and, for answers with a length, its body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// One connection.
pub(crate) struct Socket {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Socket {
    pub(crate) async fn open(gateway: &Running) -> Self {
        Self { stream: TcpStream::connect(gateway.address).await.unwrap(), buffer: Vec::new() }
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).await.unwrap();
    }

    // `false` at the end of the stream.
    async fn fill(&mut self) -> bool {
        let read = tokio::time::timeout(PATIENCE, self.stream.read_buf(&mut self.buffer)).await;
        // A reset is an end too.
        read.expect("no answer came").is_ok_and(|count| count > 0)
    }

    async fn take_until(&mut self, end: &[u8]) -> Option<Vec<u8>> {
        loop {
            if let Some(at) = self.buffer.windows(end.len()).position(|window| window == end) {
                return Some(self.buffer.drain(..at + end.len()).collect());
            }
            if !self.fill().await {
                return None;
            }
        }
    }

    /// The next answer; `None` when the connection ended instead. A streamed body is left to [`Socket::event`].
    pub(crate) async fn answer(&mut self) -> Option<Answer> {
        let head = String::from_utf8(self.take_until(b"\r\n\r\n").await?).unwrap();
        let mut lines = head.trim_end().split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers: HashMap<String, String> = lines
            .map(|line| line.split_once(':').unwrap())
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
        while self.buffer.len() < length {
            assert!(self.fill().await, "the body was cut off");
        }
        let body = String::from_utf8(self.buffer.drain(..length).collect()).unwrap();
        Some(Answer { status, headers, body })
    }

    /// The next chunk of a streamed body, as the data of its event or as a comment line; `None` at its end.
    pub(crate) async fn event(&mut self) -> Option<String> {
        let size = String::from_utf8(self.take_until(b"\r\n").await?).unwrap();
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        while self.buffer.len() < size + 2 {
            assert!(self.fill().await, "a chunk was cut off");
        }
        let chunk: Vec<u8> = self.buffer.drain(..size + 2).take(size).collect();
        if size == 0 {
            return None;
        }
        let chunk = String::from_utf8(chunk).unwrap();
        let text = chunk.strip_suffix("\n\n").unwrap();
        Some(text.strip_prefix("event: message\ndata: ").unwrap_or(text).to_owned())
    }

    /// Whether the other side has closed, or does so soon.
    pub(crate) async fn is_closed(&mut self) -> bool {
        self.buffer.clear();
        !self.fill().await
    }
}

/// A request's bytes.
pub(crate) fn request(method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> String {
    let mut text = format!("{method} {target} HTTP/1.1\r\n");
    for (name, value) in headers {
        write!(text, "{name}: {value}\r\n").unwrap();
    }
    if !body.is_empty() {
        write!(text, "Content-Length: {}\r\n", body.len()).unwrap();
    }
    text.push_str("\r\n");
    text.push_str(body);
    text
}

pub(crate) const BOTH: (&str, &str) = ("Accept", "application/json, text/event-stream");
pub(crate) const JSON: (&str, &str) = ("Content-Type", "application/json");

impl Running {
    /// A POST to `/mcp` with what every client sends, on a connection of its own.
    pub(crate) async fn open(&self, headers: &[(&str, &str)], body: &str) -> (Socket, Answer) {
        self.open_as("POST", headers, body).await
    }

    pub(crate) async fn open_as(&self, method: &str, headers: &[(&str, &str)], body: &str) -> (Socket, Answer) {
        let host = self.host();
        let mut all = vec![("Host", host.as_str())];
        for default in [BOTH, JSON] {
            if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(default.0)) {
                all.push(default);
            }
        }
        all.extend(headers);
        let mut socket = Socket::open(self).await;
        socket.send(request(method, "/mcp", &all, body)).await;
        let answer = socket.answer().await.expect("the connection ended without an answer");
        (socket, answer)
    }

    pub(crate) async fn post(&self, headers: &[(&str, &str)], body: &str) -> Answer {
        self.open(headers, body).await.1
    }
}
