//! Sessions.

use std::time::Duration;

use toolcrib_gateway::AccessKey;

use crate::fake::Running;

const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
const WAIT: &str = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"wait"}}"#;
const SESSION: &str = "Mcp-Session-Id";

async fn initialize(gateway: &Running, version: &str, headers: &[(&str, &str)]) -> String {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{}},"clientInfo":{{"name":"t","version":"0"}}}}}}"#
    );
    let answer = gateway.post(headers, &body).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    answer.header("mcp-session-id").unwrap().to_owned()
}

#[tokio::test]
async fn a_session_from_beginning_to_end() {
    let gateway = Running::start(|_| {}).await;
    let id = initialize(&gateway, "2025-06-18", &[]).await;
    let session = [(SESSION, id.as_str()), ("MCP-Protocol-Version", "2025-06-18")];
    let note = gateway.post(&session, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    assert_eq!((note.status, note.body.as_str()), (202, ""));
    let list = gateway.post(&session, LIST).await;
    assert!(list.body.starts_with(r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"echo""#), "{}", list.body);
    // An answered request is a success, whatever the answer.
    let unknown = gateway.post(&session, r#"{"jsonrpc":"2.0","id":4,"method":"nope"}"#).await;
    assert_eq!(unknown.status, 200);
    assert!(unknown.body.contains("-32601"));
    assert_eq!(gateway.post(&session, r#"{"jsonrpc":"2.0","id":9,"result":{}}"#).await.status, 202);
    assert_eq!(gateway.open_as("DELETE", &session, "").await.1.status, 204);
    assert_eq!(gateway.open_as("DELETE", &session, "").await.1.status, 404);
    assert_eq!(gateway.post(&session, LIST).await.status, 404);
    assert_eq!(gateway.open_as("GET", &session, "").await.1.status, 404);
}

#[tokio::test]
async fn requests_that_name_no_session_or_a_wrong_one() {
    let gateway = Running::start(|_| {}).await;
    let id = initialize(&gateway, "2025-11-25", &[]).await;
    let good = (SESSION, id.as_str());
    for (headers, body, wants) in [
        (&[good][..], LIST, 200),
        (&[good, ("MCP-Protocol-Version", "2025-11-25")], LIST, 200),
        (&[], LIST, 400),
        (&[good, good], LIST, 400),
        (&[(SESSION, "guess")], LIST, 404),
        (&[good, ("MCP-Protocol-Version", "1999-01-01")], LIST, 400),
        (&[good, ("MCP-Protocol-Version", "2025-11-25"), ("MCP-Protocol-Version", "2025-11-25")], LIST, 400),
        // One session, one handshake.
        (&[good], r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#, 400),
    ] {
        let answer = gateway.post(headers, body).await;
        assert_eq!(answer.status, wants, "{headers:?} {body} {}", answer.body);
    }
    assert_eq!(gateway.open_as("GET", &[], "").await.1.status, 405);
    assert_eq!(gateway.open_as("GET", &[good, ("Accept", "application/json")], "").await.1.status, 406);
    assert_eq!(gateway.open_as("PUT", &[good], LIST).await.1.status, 405);
    // A handshake that fails opens no session.
    let failed = gateway.post(&[], r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#).await;
    assert!(failed.body.contains("-32602") && failed.header("mcp-session-id").is_none());
}

#[tokio::test]
async fn a_session_belongs_to_the_key_that_opened_it() {
    let key = |name: &str| AccessKey::caller(name.to_owned(), format!("secret-{name}"));
    let gateway = Running::start(|settings| settings.keys = vec![key("ann"), key("bob")]).await;
    let (ann, bob) = (("Authorization", "Bearer secret-ann"), ("Authorization", "Bearer secret-bob"));
    let id = initialize(&gateway, "2025-11-25", &[ann]).await;
    let session = (SESSION, id.as_str());
    assert_eq!(gateway.post(&[bob, session], LIST).await.status, 404);
    assert_eq!(gateway.open_as("DELETE", &[bob, session], "").await.1.status, 404);
    assert_eq!(gateway.post(&[ann, session], LIST).await.status, 200);
}

#[tokio::test]
async fn headers_of_the_other_era_may_only_repeat_the_body() {
    let gateway = Running::start(|_| {}).await;
    let id = initialize(&gateway, "2025-11-25", &[]).await;
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo"}}"#;
    for (header, wants) in [
        (("X-Other", "x"), 200),
        (("Mcp-Method", "tools/call"), 200),
        (("Mcp-Name", "echo"), 200),
        (("Mcp-Method", "tools/list"), 400),
        (("Mcp-Name", "safe"), 400),
        (("mcp-param-region", "eu"), 400),
    ] {
        let answer = gateway.post(&[(SESSION, &id), header], call).await;
        assert_eq!(answer.status, wants, "{header:?}");
        assert_eq!(wants == 400, answer.body.contains("-32020"), "{}", answer.body);
    }
    let list = gateway.post(&[(SESSION, &id), ("Mcp-Name", "echo")], LIST).await;
    assert_eq!(list.status, 400, "there is nothing to repeat");
}

#[tokio::test]
async fn batches_mix_what_is_allowed_and_what_is_not() {
    let gateway = Running::start(|_| {}).await;
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"nope"}]"#;
    let id = initialize(&gateway, "2025-03-26", &[]).await;
    let answer = gateway.post(&[(SESSION, &id)], batch).await;
    assert_eq!(answer.status, 200);
    assert!(
        answer
            .body
            .starts_with(r#"[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"error":{"code":-32601"#)
    );
    let silent = r#"[{"jsonrpc":"2.0","method":"notifications/x"}]"#;
    assert_eq!(gateway.post(&[(SESSION, &id)], silent).await.status, 202);
    assert_eq!(gateway.post(&[(SESSION, &id), ("Mcp-Method", "ping")], batch).await.status, 400);
    let id = initialize(&gateway, "2025-06-18", &[]).await;
    assert_eq!(gateway.post(&[(SESSION, &id)], batch).await.status, 400);
}

#[tokio::test]
async fn progress_turns_the_answer_into_a_stream() {
    let gateway = Running::start(|_| {}).await;
    let id = initialize(&gateway, "2025-11-25", &[]).await;
    let call =
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"steps","_meta":{"progressToken":5}}}"#;
    let (mut socket, answer) = gateway.open(&[(SESSION, &id)], call).await;
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    assert_eq!(answer.header("x-accel-buffering"), Some("no"));
    for step in 1..=2 {
        let wants = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":5,"progress":{step}}}}}"#
        );
        assert_eq!(socket.event().await, Some(wants));
    }
    gateway.service.release.add_permits(1);
    assert!(socket.event().await.unwrap().contains("released"));
    assert_eq!(socket.event().await, None);
    // A client that reads no stream gets the answer alone; one that reads only streams gets a stream.
    gateway.service.release.add_permits(2);
    let plain = gateway.post(&[(SESSION, &id), ("Accept", "application/json")], call).await;
    assert!(plain.body.contains("released"), "{plain:?}");
    let (mut socket, answer) = gateway.open(&[(SESSION, &id), ("Accept", "text/event-stream")], LIST).await;
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    assert!(socket.event().await.unwrap().contains("tools"));
}

#[tokio::test]
async fn a_long_call_becomes_a_stream_with_heartbeats() {
    let gateway = Running::start(|settings| {
        settings.stream_after = Duration::from_millis(10);
        settings.heartbeat = Duration::from_millis(10);
    })
    .await;
    let id = initialize(&gateway, "2025-11-25", &[]).await;
    let (mut socket, answer) = gateway.open(&[(SESSION, &id)], WAIT).await;
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    assert_eq!(socket.event().await.as_deref(), Some(":"));
    gateway.service.release.add_permits(1);
    let mut last = socket.event().await.unwrap();
    while last == ":" {
        last = socket.event().await.unwrap();
    }
    assert!(last.contains("released"), "{last}");
}

#[tokio::test]
async fn a_lost_connection_is_no_cancellation_but_a_notification_is() {
    let gateway = Running::start(|_| {}).await;
    let id = initialize(&gateway, "2025-11-25", &[]).await;
    let session = (SESSION, id.as_str());
    let open = async {
        let _ = gateway.open(&[session], WAIT).await;
    };
    // The client goes away as soon as the call runs.
    tokio::select! {
        () = open => panic!("it was answered"),
        permit = gateway.service.started.acquire() => permit.unwrap().forget(),
    }
    // Its id is still taken: sending it again does not run it again (F13).
    let again = gateway.post(&[session], WAIT).await;
    assert!(again.body.contains("id 3 belongs"), "{}", again.body);
    assert_eq!(gateway.service.cancelled.available_permits(), 0);
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#;
    assert_eq!(gateway.post(&[session], cancel).await.status, 202);
    gateway.service.cancelled.acquire().await.unwrap().forget();
}

#[tokio::test]
async fn a_cancelled_call_ends_its_request_without_an_answer() {
    let gateway = Running::start(|_| {}).await;
    let id = initialize(&gateway, "2025-11-25", &[]).await;
    let session = (SESSION, id.as_str());
    let cancel = async {
        gateway.service.started.acquire().await.unwrap().forget();
        let note = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#;
        gateway.post(&[session], note).await
    };
    let wait = [session];
    let ((mut socket, answer), _) = tokio::join!(gateway.open(&wait, WAIT), cancel);
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/event-stream")));
    assert_eq!(socket.event().await, None);
}

#[tokio::test]
async fn changes_are_told_on_the_sessions_stream_and_made_up_for_when_it_comes_late() {
    const CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let gateway = Running::start(|settings| settings.heartbeat = Duration::from_millis(10)).await;
    let id = initialize(&gateway, "2025-11-25", &[]).await;
    let session = [(SESSION, id.as_str())];
    gateway.post(&session, LIST).await;
    let (mut first, answer) = gateway.open_as("GET", &session, "").await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/event-stream")));
    assert_eq!(first.event().await.as_deref(), Some(":"), "nothing has changed");
    gateway.service.add("one");
    let mut event = first.event().await;
    while event.as_deref() == Some(":") {
        event = first.event().await;
    }
    assert_eq!(event.as_deref(), Some(CHANGED));
    // A new stream takes over, and the old one ends.
    let (second, _) = gateway.open_as("GET", &session, "").await;
    while first.event().await.is_some() {}
    drop(second);
    gateway.post(&session, LIST).await;
    // The client is away while the list changes.
    tokio::time::sleep(Duration::from_millis(20)).await;
    gateway.service.add("two");
    tokio::time::sleep(Duration::from_millis(20)).await;
    let (mut third, _) = gateway.open_as("GET", &session, "").await;
    assert_eq!(third.event().await.as_deref(), Some(CHANGED));
}

#[tokio::test]
async fn the_table_of_sessions_is_bounded() {
    let gateway = Running::start(|settings| settings.max_sessions = 2).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(initialize(&gateway, "2025-11-25", &[]).await);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut statuses = Vec::new();
    for id in &ids {
        statuses.push(gateway.post(&[(SESSION, id)], LIST).await.status);
    }
    assert_eq!(statuses, [404, 200, 200]);
}
