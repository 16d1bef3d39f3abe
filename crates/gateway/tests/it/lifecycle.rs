//! The end: nothing that was accepted is dropped, and nothing holds it up for ever.

use std::time::Duration;

use tokio::net::TcpStream;

use crate::{
    fake::Running,
    http::{Socket, request},
};

const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
const LISTEN: &str = r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
const VERSION: (&str, &str) = ("MCP-Protocol-Version", "2026-07-28");

#[tokio::test]
async fn shutdown_finishes_what_runs_and_ends_streams_in_good_order() {
    let mut gateway = Running::start(|_| {}).await;
    let (mut stream, _) = gateway.open(&[VERSION, ("Mcp-Method", "subscriptions/listen")], LISTEN).await;
    stream.event().await.unwrap();
    let mut idle = Socket::open(&gateway).await;
    let call = [VERSION, ("Mcp-Method", "tools/call"), ("Mcp-Name", "wait")];
    let stop = async {
        gateway.service.started.acquire().await.unwrap().forget();
        gateway.shutdown.cancel();
        assert!(stream.event().await.unwrap().starts_with(r#"{"jsonrpc":"2.0","id":1,"result":"#));
        assert_eq!(stream.event().await, None);
        gateway.service.release.add_permits(1);
    };
    let ((_, answer), ()) = tokio::join!(gateway.open(&call, CALL), stop);
    assert!(answer.body.contains("released"));
    assert!(idle.is_closed().await);
    gateway.ended().await;
    assert!(TcpStream::connect(gateway.address).await.is_err());
}

#[tokio::test]
async fn a_call_that_does_not_end_is_cut_off_at_the_deadline() {
    let mut gateway = Running::start(|settings| settings.drain = Duration::from_millis(30)).await;
    let call = [VERSION, ("Mcp-Method", "tools/call"), ("Mcp-Name", "wait")];
    let host = gateway.host();
    let mut socket = Socket::open(&gateway).await;
    let headers = [&[("Host", host.as_str()), ("Content-Type", "application/json")][..], &call].concat();
    socket.send(request("POST", "/mcp", &headers, CALL)).await;
    gateway.service.started.acquire().await.unwrap().forget();
    gateway.shutdown.cancel();
    gateway.ended().await;
    assert!(socket.is_closed().await);
    gateway.service.cancelled.acquire().await.unwrap().forget();
}

#[tokio::test]
async fn connections_beyond_the_limit_wait_their_turn() {
    let gateway = Running::start(|settings| settings.max_connections = 2).await;
    let held = [Socket::open(&gateway).await, Socket::open(&gateway).await];
    let host = gateway.host();
    let mut waiting = Socket::open(&gateway).await;
    waiting.send(request("GET", "/health", &[("Host", &host)], "")).await;
    tokio::select! {
        _ = waiting.answer() => panic!("there was no place"),
        () = tokio::time::sleep(Duration::from_millis(50)) => {}
    }
    drop(held);
    assert_eq!(waiting.answer().await.unwrap().status, 200);
}

#[tokio::test]
async fn a_client_that_stops_reading_is_let_go() {
    let gateway = Running::start(|settings| {
        settings.write_timeout = Duration::from_millis(40);
        settings.max_connections = 1;
        settings.max_body = 64 << 20;
    })
    .await;
    // An answer larger than what the system buffers.
    let text = "x".repeat(16 << 20);
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{{"t":"{text}"}},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    );
    let host = gateway.host();
    let headers = [
        ("Host", host.as_str()),
        ("Content-Type", "application/json"),
        VERSION,
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "echo"),
    ];
    let mut deaf = Socket::open(&gateway).await;
    deaf.send(request("POST", "/mcp", &headers, &body)).await;
    // The one place there is becomes free again.
    let mut next = Socket::open(&gateway).await;
    next.send(request("GET", "/health", &[("Host", &host)], "")).await;
    assert_eq!(next.answer().await.unwrap().status, 200);
}
