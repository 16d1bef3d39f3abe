//! Many calls at once: order, progress, cancellation, limits.

use std::sync::Arc;

use toolcrib_mcp::server::{ServerOptions, StdioOptions};

use super::fake::{Client, Fake, MODERN_META, matches};

fn wait(id: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"wait"}}}}"#)
}

fn released(id: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"released"}}]}}}}"#)
}

fn cancel(id: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"r"}}}}"#)
}

#[tokio::test]
async fn a_slow_call_holds_up_nothing() {
    let service = Fake::new(&[]);
    let mut client = Client::legacy(&service, "2025-11-25").await;
    client.send(&wait(1)).await;
    client
        .exchange(
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo"}}"#,
            r#"{"jsonrpc":"2.0","id":2,"result":…}"#,
        )
        .await;
    service.release.add_permits(1);
    assert_eq!(client.receive().await, released(1));
}

#[tokio::test]
async fn a_cancelled_call_is_told_and_not_answered() {
    let service = Fake::new(&[]);
    let mut client = Client::legacy(&service, "2025-11-25").await;
    client.send(&wait(1)).await;
    client.send(&wait(2)).await;
    service.started.acquire_many(2).await.unwrap().forget();
    client.send(&cancel(1)).await;
    service.cancelled.acquire().await.unwrap().forget();
    client.expect_silence().await;
    // The other one goes on, and the id is free again.
    service.release.add_permits(1);
    assert_eq!(client.receive().await, released(2));
    client.send(&wait(1)).await;
    service.release.add_permits(1);
    assert_eq!(client.receive().await, released(1));
}

#[tokio::test]
async fn modern_calls_are_cancelled_by_the_same_notification() {
    let service = Fake::new(&[]);
    let mut client = Client::connect(&service);
    let line = format!(
        r#"{{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{{"name":"wait","_meta":{{{MODERN_META}}}}}}}"#
    );
    client.send(&line).await;
    service.started.acquire().await.unwrap().forget();
    // A number is not a text.
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#).await;
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}"#).await;
    service.cancelled.acquire().await.unwrap().forget();
    client.expect_silence().await;
}

#[tokio::test]
async fn a_waiting_call_can_be_cancelled_too() {
    let service = Fake::new(&[]);
    let options = ServerOptions { running: 1, waiting: 1, ..ServerOptions::default() };
    let mut client = Client::connect_with(&service, options, StdioOptions::default());
    client.initialize("2025-11-25").await;
    client.send(&wait(1)).await;
    service.started.acquire().await.unwrap().forget();
    client.send(&wait(2)).await;
    client.send(&cancel(2)).await;
    client.expect_silence().await;
    service.release.add_permits(1);
    assert_eq!(client.receive().await, released(1));
    // It never started.
    client.expect_silence().await;
    assert_eq!(service.started.available_permits(), 0);
}

#[tokio::test]
async fn one_call_too_many_is_refused_and_the_others_run() {
    let service = Fake::new(&[]);
    let options = ServerOptions { running: 1, waiting: 1, ..ServerOptions::default() };
    let mut client = Client::connect_with(&service, options, StdioOptions::default());
    client.initialize("2025-11-25").await;
    client.send(&wait(1)).await;
    service.started.acquire().await.unwrap().forget();
    client.send(&wait(2)).await;
    client
        .exchange(
            &wait(3),
            r#"{"jsonrpc":"2.0","id":3,"error":{"code":429,"message":"busy: 1 calls run and 1 wait;…","data":{"retryAfterMs":1000}}}"#,
        )
        .await;
    service.release.add_permits(2);
    assert_eq!(client.receive().await, released(1));
    assert_eq!(client.receive().await, released(2));
    client.send(&wait(3)).await;
    service.release.add_permits(1);
    assert_eq!(client.receive().await, released(3));
}

#[tokio::test]
async fn an_id_in_use_is_refused() {
    let service = Fake::new(&[]);
    let mut client = Client::legacy(&service, "2025-11-25").await;
    client.send(&wait(1)).await;
    for method in ["tools/call", "ping"] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"name":"echo"}}}}"#);
        client.exchange(&line, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"id 1 belongs…"}}"#).await;
    }
    // Another type is another id.
    client.exchange(r#"{"jsonrpc":"2.0","id":"1","method":"ping"}"#, r#"{"jsonrpc":"2.0","id":"1","result":{}}"#).await;
    service.release.add_permits(1);
    assert_eq!(client.receive().await, released(1));
}

#[tokio::test]
async fn progress_comes_in_order_under_the_clients_token_and_never_after_the_answer() {
    let service = Fake::new(&[]);
    let mut client = Client::legacy(&service, "2025-11-25").await;
    client
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"steps","_meta":{"progressToken":"tök"}}}"#)
        .await;
    for step in 1..=3 {
        let wants = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":"tök","progress":{step}}}}}"#
        );
        assert_eq!(client.receive().await, wants);
    }
    assert!(matches(&client.receive().await, r#"{"jsonrpc":"2.0","id":1,"result":…}"#));
    // The tool reports once more, 20 ms later.
    tokio::time::sleep(std::time::Duration::from_millis(40)).await;
    client.expect_silence().await;
    // Who asks for none gets none.
    client
        .exchange(
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"steps"}}"#,
            r#"{"jsonrpc":"2.0","id":2,"result":…}"#,
        )
        .await;
}

#[tokio::test]
async fn hundreds_of_calls_are_each_answered_once() {
    const CALLS: u32 = 300;
    let service = Fake::new(&[]);
    let options = ServerOptions { running: 8, waiting: CALLS as usize, ..ServerOptions::default() };
    let mut client = Client::connect_with(&service, options, StdioOptions::default());
    client.initialize("2025-11-25").await;
    for id in 0..CALLS {
        client.send(&wait(id)).await;
    }
    let releasing = Arc::clone(&service);
    releasing.release.add_permits(CALLS as usize);
    let mut seen = vec![false; CALLS as usize];
    for _ in 0..CALLS {
        let answer: serde_json::Value = serde_json::from_str(&client.receive().await).unwrap();
        let id = usize::try_from(answer["id"].as_u64().unwrap()).unwrap();
        assert!(!std::mem::replace(&mut seen[id], true), "{id} twice");
    }
    client.expect_silence().await;
}
