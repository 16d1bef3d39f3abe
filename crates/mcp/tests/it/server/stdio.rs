//! The byte stream: framing, ends, limits.

use std::time::Duration;

use toolcrib_mcp::server::{ServerOptions, StdioOptions};

use super::fake::{Client, Fake, matches};

const WAIT: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}}"#;
const RELEASED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"released"}]}}"#;

fn short() -> StdioOptions {
    StdioOptions { drain: Duration::from_millis(30), flush: Duration::from_millis(30), ..StdioOptions::default() }
}

#[tokio::test]
async fn lines_may_end_and_begin_oddly() {
    let mut client = Client::connect(&Fake::new(&[]));
    client
        .send_bytes(b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n")
        .await;
    assert_eq!(client.receive().await, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    assert_eq!(client.receive().await, r#"{"jsonrpc":"2.0","id":2,"result":{}}"#);
    client.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"p\xff\"}\n").await;
    assert!(matches(&client.receive().await, r#"{"jsonrpc":"2.0","error":{"code":-32700,…}}"#));
    // In pieces, and the last one without an end.
    client.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":4,").await;
    client.send_bytes(b"\"method\":\"ping\"}").await;
    client.close_input().await;
    assert_eq!(client.rest().await, [r#"{"jsonrpc":"2.0","id":4,"result":{}}"#]);
}

#[tokio::test]
async fn a_line_over_the_limit_is_refused_and_the_next_is_served() {
    let stdio = StdioOptions { max_line: 100, ..StdioOptions::default() };
    let mut client = Client::connect_with(&Fake::new(&[]), ServerOptions::default(), stdio);
    let blob = "x".repeat(100_000);
    client
        .exchange(
            &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":"{blob}"}}}}"#),
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"a message of … bytes is over the limit of 100 bytes"}}"#,
        )
        .await;
    client.exchange(&blob, r#"{"jsonrpc":"2.0","error":{"code":-32600,…}}"#).await;
    client.expect_silence().await;
}

#[tokio::test]
async fn the_end_of_the_input_lets_running_calls_finish() {
    let service = Fake::new(&[]);
    let mut client = Client::legacy(&service, "2025-11-25").await;
    client.send(WAIT).await;
    service.started.acquire().await.unwrap().forget();
    client.close_input().await;
    service.release.add_permits(1);
    assert_eq!(client.rest().await, [RELEASED]);
}

#[tokio::test]
async fn shutdown_lets_running_calls_finish_and_takes_no_more() {
    let service = Fake::new(&[]);
    let mut client = Client::legacy(&service, "2025-11-25").await;
    client.send(WAIT).await;
    service.started.acquire().await.unwrap().forget();
    client.shutdown.cancel();
    service.release.add_permits(1);
    assert_eq!(client.rest().await, [RELEASED]);
}

#[tokio::test]
async fn a_call_that_does_not_finish_in_time_is_cancelled() {
    let service = Fake::new(&[]);
    let mut client = Client::connect_with(&service, ServerOptions::default(), short());
    client.initialize("2025-11-25").await;
    client.send(WAIT).await;
    service.started.acquire().await.unwrap().forget();
    client.shutdown.cancel();
    assert!(client.rest().await.is_empty());
    service.cancelled.acquire().await.unwrap().forget();
}

#[tokio::test]
async fn a_client_that_went_away_cancels_its_calls() {
    let service = Fake::new(&[]);
    let mut client = Client::legacy(&service, "2025-11-25").await;
    client.send(WAIT).await;
    service.started.acquire().await.unwrap().forget();
    drop(client);
    // Reading ends, and what runs is drained; an answer then finds no reader.
    service.release.add_permits(1);
    tokio::time::timeout(Duration::from_secs(5), async {
        while service.release.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_client_that_reads_nothing_stops_being_read_and_can_still_be_ended() {
    let service = Fake::new(&[]);
    let stdio = StdioOptions { queue: 4, ..short() };
    let mut client = Client::connect_with(&service, ServerOptions::default(), stdio);
    let line = r#"{"jsonrpc":"2.0","id":1,"method":"nope"}"#;
    // 64 KiB each way and four frames: far less than this.
    let flood = async {
        for _ in 0..20_000 {
            client.send(line).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_millis(50), flood).await.is_err(), "there was no back-pressure");
    client.shutdown.cancel();
    let rest = client.rest().await;
    assert!(rest.len() < 5_000, "{} answers were kept", rest.len());
}
