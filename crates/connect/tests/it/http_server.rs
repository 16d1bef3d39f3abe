//! A small HTTP server on loopback whose answers are written out byte for byte.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    task::JoinHandle,
};

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// Answers each request (its head and the body as far as `Content-Length` tells) with what `answer` makes of it.
    /// An answer that ends with `HANG` leaves the connection open.
    pub(crate) async fn start(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, answer) = (requests.clone(), Arc::new(answer));
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (seen, answer) = (seen.clone(), answer.clone());
                tokio::spawn(async move {
                    let mut bytes = Vec::new();
                    while !is_complete(&bytes) {
                        if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
                            return;
                        }
                    }
                    let request = String::from_utf8_lossy(&bytes).into_owned();
                    seen.lock().unwrap().push(request.clone());
                    let reply = answer(&request);
                    let (reply, hang) = reply.strip_suffix(b"HANG").map_or((&reply[..], false), |rest| (rest, true));
                    let _ = stream.write_all(reply).await;
                    if hang {
                        let _ = stream.read(&mut [0]).await;
                    }
                });
            }
        });
        Self { address, requests, task }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// The requests so far, lower-cased.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().iter().map(|request| request.to_lowercase()).collect()
    }
}

fn is_complete(bytes: &[u8]) -> bool {
    // A TLS greeting: answered at once, as by a server that does not know TLS.
    if bytes.first() == Some(&0x16) {
        return true;
    }
    let text = String::from_utf8_lossy(bytes).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    body.len() >= length.map_or(0, |length| length.trim().parse().unwrap())
}

/// A whole answer that closes the connection.
pub(crate) fn reply(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let mut bytes =
        format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n", body.len())
            .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// A redirect.
pub(crate) fn redirect(status: &str, location: &str) -> Vec<u8> {
    reply(status, &format!("Location: {location}\r\n"), "")
}

/// The path of a request.
pub(crate) fn path(request: &str) -> &str {
    request.split(' ').nth(1).unwrap()
}
