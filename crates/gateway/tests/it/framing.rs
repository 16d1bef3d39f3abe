//! Bytes that are not quite HTTP, too many of them, or too slow (T16, T24, F4).

use std::time::Duration;

use crate::{
    fake::Running,
    http::{BOTH, JSON, Socket, request},
};

const PING: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}"#;

// What became of a raw request: its status, or 0 when the connection just ended.
async fn sent(gateway: &Running, head: &str, body: &str) -> u16 {
    let mut socket = Socket::open(gateway).await;
    let base = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nAccept: */*\r\nContent-Type: application/json\r\n{head}\r\n{body}",
        gateway.host()
    );
    socket.send(base).await;
    socket.answer().await.map_or(0, |answer| answer.status)
}

#[tokio::test]
async fn ambiguous_framing_is_refused() {
    let gateway = Running::start(|_| {}).await;
    let length = PING.len();
    let chunked = format!("{length:x}\r\n{PING}\r\n0\r\n\r\n");
    assert_eq!(sent(&gateway, &format!("Content-Length: {length}\r\n"), PING).await, 200);
    assert_eq!(sent(&gateway, "Transfer-Encoding: chunked\r\n", &chunked).await, 200);
    let extended = format!("{length:x};name=value\r\n{PING}\r\n0\r\nTrailer: x\r\n\r\n");
    assert_eq!(sent(&gateway, "Transfer-Encoding: chunked\r\n", &extended).await, 200);
    for (head, body) in [
        (format!("Content-Length: {length}\r\nContent-Length: {}\r\n", length + 1), PING),
        (format!("Content-Length: {length}, {}\r\n", length + 1), PING),
        (format!("Content-Length: +{length}\r\n"), PING),
        ("Content-Length: -1\r\n".to_owned(), PING),
        ("Content-Length: 0x10\r\n".to_owned(), PING),
        (format!("Content-Length: {length}\r\n folded: value\r\n"), PING),
        (format!("Content-Length : {length}\r\n"), PING),
        ("Transfer-Encoding: gzip\r\n".to_owned(), PING),
        ("Transfer-Encoding: chunked, gzip\r\n".to_owned(), chunked.as_str()),
        ("Transfer-Encoding: chunked\r\n".to_owned(), "zz\r\n"),
        ("Bad Name: x\r\n".to_owned(), PING),
        ("X: a\0b\r\n".to_owned(), PING),
    ] {
        let status = sent(&gateway, &head, body).await;
        assert!(matches!(status, 0 | 400), "{head:?}: {status}");
    }
}

#[tokio::test]
async fn what_hides_behind_a_chunked_body_is_not_taken_for_a_request() {
    let gateway = Running::start(|_| {}).await;
    let host = gateway.host();
    let hidden = request("POST", "/mcp", &[("Host", &host), BOTH, JSON], PING);
    for lengths in
        ["Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"]
    {
        let mut socket = Socket::open(&gateway).await;
        let outer = format!(
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n{lengths}\r\n0\r\n\r\n{hidden}"
        );
        socket.send(outer).await;
        assert_eq!(socket.answer().await.map(|answer| answer.status), Some(400), "an empty body is no message");
        assert!(socket.answer().await.is_none());
    }
    // Two plain requests in a row are two requests.
    let mut socket = Socket::open(&gateway).await;
    socket.send(format!("{hidden}{hidden}")).await;
    for _ in 0..2 {
        assert_eq!(socket.answer().await.map(|answer| answer.status), Some(200));
    }
}

#[tokio::test]
async fn sizes_are_limited_before_anything_is_read() {
    let gateway = Running::start(|settings| {
        settings.max_body = 1_000;
        settings.max_head = 8 << 10;
        settings.max_headers = 20;
    })
    .await;
    let spaces = |count: usize| format!("{PING}{}", " ".repeat(count - PING.len()));
    for (length, wants) in [(1_000, 200), (1_001, 413), (100_000, 413)] {
        let answer = gateway.post(&[], &spaces(length)).await;
        assert_eq!(answer.status, wants, "{length}");
    }
    // Announced or not.
    assert_eq!(sent(&gateway, "Content-Length: 99999999999\r\n", "").await, 413);
    let chunk = format!("3e8\r\n{}\r\n", " ".repeat(1_000));
    assert_eq!(sent(&gateway, "Transfer-Encoding: chunked\r\n", &chunk.repeat(2)).await, 413);
    let many = "X-Many: y\r\n".repeat(30);
    assert!(matches!(sent(&gateway, &format!("{many}Content-Length: {}\r\n", PING.len()), PING).await, 0 | 431));
    let big = format!("X: {}\r\n", "y".repeat(20_000));
    assert!(matches!(sent(&gateway, &format!("{big}Content-Length: {}\r\n", PING.len()), PING).await, 0 | 431));
    assert_eq!(gateway.post(&[], PING).await.status, 200);
}

#[tokio::test]
async fn slow_clients_are_let_go() {
    let gateway = Running::start(|settings| {
        settings.head_timeout = Duration::from_millis(40);
        settings.body_timeout = Duration::from_millis(40);
        settings.max_connections = 4;
    })
    .await;
    // All places are taken by clients that never finish their heads, one of them silent.
    let mut slow = Vec::new();
    for beginning in ["", "POST", "POST /mcp HTTP/1.1\r\n", "POST /mcp HTTP/1.1\r\nHost: x\r\nX: "] {
        let mut socket = Socket::open(&gateway).await;
        socket.send(beginning).await;
        slow.push(socket);
    }
    // And yet the next one is served soon.
    assert_eq!(gateway.post(&[], PING).await.status, 200);
    for mut socket in slow {
        assert!(socket.answer().await.is_none_or(|answer| answer.status == 408));
    }
    assert_eq!(sent(&gateway, "Content-Length: 100\r\n", "{").await, 408);
}

#[tokio::test]
async fn broken_messages_get_an_error_with_status_400() {
    let gateway = Running::start(|_| {}).await;
    for (body, wants) in [
        ("{", r#"{"jsonrpc":"2.0","error":{"code":-32700,"#),
        (r#"{"jsonrpc":"2.0","id":7}"#, r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"#),
        (r#"[{"jsonrpc":"2.0","id":7,"method":"ping"}]"#, r#"{"jsonrpc":"2.0","error":{"code":-32600,"#),
        (r#"{"jsonrpc":"2.0","id":7,"method":"ping","method":"x"}"#, r#"{"jsonrpc":"2.0","error":{"code":-32600,"#),
    ] {
        let answer = gateway.post(&[], body).await;
        assert_eq!(answer.status, 400, "{body}");
        assert!(answer.body.starts_with(wants), "{}", answer.body);
    }
    assert_eq!(gateway.post(&[("Accept", "text/html")], PING).await.status, 406);
}
