//! Requests that stand alone.

use std::time::Duration;

use crate::{
    fake::Running,
    http::{Answer, Socket},
};

const VERSION: (&str, &str) = ("MCP-Protocol-Version", "2026-07-28");
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#;

fn body(method: &str, members: &str) -> String {
    let comma = if members.is_empty() { "" } else { "," };
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{META}}}{comma}{members}}}}}"#)
}

async fn open(gateway: &Running, method: &str, members: &str) -> (Socket, Answer) {
    gateway.open(&[VERSION, ("Mcp-Method", method)], &body(method, members)).await
}

async fn call(gateway: &Running, name: &str) -> (Socket, Answer) {
    let members = format!(r#""name":"{name}""#);
    gateway.open(&[VERSION, ("Mcp-Method", "tools/call"), ("Mcp-Name", name)], &body("tools/call", &members)).await
}

#[tokio::test]
async fn methods_and_their_statuses() {
    let gateway = Running::start(|_| {}).await;
    for (method, status, wants) in [
        ("server/discover", 200, r#""supportedVersions":["2026-07-28""#),
        ("tools/list", 200, r#""resultType":"complete","tools":["#),
        ("initialize", 404, "-32601"),
        ("ping", 404, "-32601"),
        ("nope", 404, "-32601"),
        ("tools/call", 400, "params.name is missing"),
    ] {
        let (_, answer) = open(&gateway, method, "").await;
        assert_eq!(answer.status, status, "{method}");
        assert!(
            answer.body.contains(wants) && answer.body.starts_with(r#"{"jsonrpc":"2.0","id":1,"#),
            "{}",
            answer.body
        );
        assert!(answer.header("mcp-session-id").is_none());
    }
    assert!(call(&gateway, "echo").await.1.body.contains(r#""resultType":"complete""#));
    assert_eq!(call(&gateway, "gone").await.1.status, 400);
    let note = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    assert_eq!(gateway.post(&[VERSION], note).await.status, 202);
    assert_eq!(gateway.post(&[VERSION], r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).await.status, 400);
    for method in ["GET", "DELETE"] {
        let (_, answer) = gateway.open_as(method, &[VERSION, ("Mcp-Session-Id", "x")], "").await;
        assert_eq!((answer.status, answer.header("allow")), (405, Some("POST")));
    }
}

#[tokio::test]
async fn headers_mirror_the_body() {
    let gateway = Running::start(|_| {}).await;
    let method = ("Mcp-Method", "tools/call");
    let echo = body("tools/call", r#""name":"echo""#);
    let region = body("tools/call", r#""name":"region","arguments":{"region":"eu"}"#);
    let named = ("Mcp-Name", "region");
    let many: Vec<(String, String)> =
        (0..1_000).map(|number| (format!("Mcp-Param-{number}"), "x".to_owned())).collect();
    for (headers, body, wants) in [
        (&[VERSION, method, ("Mcp-Name", "echo")][..], &echo, 200),
        (&[VERSION, ("mcp-METHOD", "tools/call"), ("MCP-NAME", "  echo  ")], &echo, 200),
        (&[VERSION, method, ("Mcp-Name", "=?base64?ZWNobw==?=")], &echo, 200),
        (&[VERSION, method, ("Mcp-Name", "echo"), ("Mcp-Param-Unknown", "x")], &echo, 200),
        (&[method, ("Mcp-Name", "echo")], &echo, 400),
        (&[VERSION, ("Mcp-Name", "echo")], &echo, 400),
        (&[VERSION, method], &echo, 400),
        (&[("MCP-Protocol-Version", "2025-11-25"), method, ("Mcp-Name", "echo")], &echo, 400),
        (&[VERSION, ("Mcp-Method", "tools/list"), ("Mcp-Name", "echo")], &echo, 400),
        (&[VERSION, ("Mcp-Method", "TOOLS/CALL"), ("Mcp-Name", "echo")], &echo, 400),
        (&[VERSION, method, ("Mcp-Name", "other")], &echo, 400),
        (&[VERSION, method, ("Mcp-Name", "=?base64?ZWNobw?=")], &echo, 400),
        (&[VERSION, method, method, ("Mcp-Name", "echo")], &echo, 400),
        (&[VERSION, VERSION, method, ("Mcp-Name", "echo")], &echo, 400),
        (&[VERSION, method, ("Mcp-Name", "echo"), ("Mcp-Name", "other")], &echo, 400),
        (&[VERSION, method, named, ("Mcp-Param-Region", "eu")], &region, 200),
        (&[VERSION, method, named, ("Mcp-Param-Region", "us")], &region, 400),
        (&[VERSION, method, named, ("Mcp-Param-Region", "=?base64?!!?=")], &region, 400),
        (&[VERSION, method, named], &region, 400),
    ] {
        let answer = gateway.post(headers, body).await;
        assert_eq!(answer.status, wants, "{headers:?} {}", answer.body);
        assert_eq!(wants == 400, answer.body.contains(r#""code":-32020"#), "{headers:?} {}", answer.body);
    }
    let mut headers = vec![VERSION, method, ("Mcp-Name", "echo")];
    headers.extend(many.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    assert_eq!(gateway.post(&headers, &echo).await.status, 431);
}

#[tokio::test]
async fn versions_and_envelopes_are_told_apart() {
    let gateway = Running::start(|_| {}).await;
    let meta = |version: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"{version}","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
        )
    };
    let discover = ("Mcp-Method", "server/discover");
    let bare = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}"#.to_owned();
    let twice = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{},"_meta":{}}}"#.to_owned();
    for (version, body, wants) in [
        (VERSION.1, meta(VERSION.1), "supportedVersions"),
        ("v999", meta("v999"), r#""code":-32022,"#),
        (VERSION.1, meta("v999"), r#""code":-32020,"#),
        ("v999", meta(VERSION.1), r#""code":-32020,"#),
        ("v999", bare.clone(), r#""code":-32022,"#),
        ("2025-11-25", meta("2025-11-25"), r#""code":-32022,"#),
        (VERSION.1, bare, r#""code":-32602,"#),
        (VERSION.1, twice, r#""code":-32602,"message":"params: key \"_meta\" is given twice""#),
    ] {
        let answer = gateway.post(&[("MCP-Protocol-Version", version), discover], &body).await;
        assert!(answer.body.contains(wants), "{version} {body} {}", answer.body);
        assert_eq!(answer.status, if wants.starts_with('"') { 400 } else { 200 });
    }
}

#[tokio::test]
async fn a_client_that_goes_away_cancels_its_call() {
    let gateway = Running::start(|_| {}).await;
    // Before anything was answered, and in the middle of a stream.
    tokio::select! {
        _ = call(&gateway, "wait") => panic!("it was answered"),
        permit = gateway.service.started.acquire() => permit.unwrap().forget(),
    }
    gateway.service.cancelled.acquire().await.unwrap().forget();
    let members = r#""name":"steps""#;
    let with_token = body("tools/call", members).replace(r#""clientCapabilities":{}"#, "").replace(
        r#""io.modelcontextprotocol/clientCapabilities":{}"#,
        r#""io.modelcontextprotocol/clientCapabilities":{},"progressToken":1"#,
    );
    let headers = [VERSION, ("Mcp-Method", "tools/call"), ("Mcp-Name", "steps")];
    let (mut socket, answer) = gateway.open(&headers, &with_token).await;
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    socket.event().await.unwrap();
    drop(socket);
    gateway.service.cancelled.acquire().await.unwrap().forget();
    // One that stays gets its answer.
    gateway.service.release.add_permits(1);
    assert!(call(&gateway, "wait").await.1.body.contains("released"));
}

#[tokio::test]
async fn ids_of_different_clients_may_be_the_same() {
    let gateway = Running::start(|_| {}).await;
    gateway.service.release.add_permits(2);
    let (one, two) = tokio::join!(call(&gateway, "wait"), call(&gateway, "wait"));
    assert_eq!((one.1.status, two.1.status), (200, 200));
}

#[tokio::test]
async fn overload_is_told_at_once_with_a_hint() {
    let gateway = Running::start(|settings| (settings.running, settings.waiting) = (1, 0)).await;
    let occupy = async {
        gateway.service.started.acquire().await.unwrap().forget();
        let (_, refused) = call(&gateway, "wait").await;
        assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")));
        assert!(refused.body.contains(r#""code":429"#));
        // What is not a call goes on.
        assert_eq!(open(&gateway, "tools/list", "").await.1.status, 200);
        gateway.service.release.add_permits(1);
    };
    let (admitted, ()) = tokio::join!(call(&gateway, "wait"), occupy);
    assert!(admitted.1.body.contains("released"));
    gateway.service.release.add_permits(1);
    assert_eq!(call(&gateway, "wait").await.1.status, 200);
}

#[tokio::test]
async fn subscriptions_hear_of_changes() {
    let gateway = Running::start(|settings| settings.heartbeat = Duration::from_millis(500)).await;
    let (mut socket, answer) =
        open(&gateway, "subscriptions/listen", r#""notifications":{"toolsListChanged":true}"#).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/event-stream")));
    assert!(socket.event().await.unwrap().contains("notifications/subscriptions/acknowledged"));
    gateway.service.add("one");
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}"#;
    assert_eq!(socket.event().await.as_deref(), Some(changed));
}

#[tokio::test]
async fn unread_streams_are_bounded_and_harm_no_one() {
    let gateway = Running::start(|settings| settings.max_streams = 40).await;
    let mut open_streams = Vec::new();
    for _ in 0..40 {
        let (socket, answer) =
            open(&gateway, "subscriptions/listen", r#""notifications":{"toolsListChanged":true}"#).await;
        assert_eq!(answer.status, 200);
        open_streams.push(socket);
    }
    let (_, refused) = open(&gateway, "subscriptions/listen", r#""notifications":{}"#).await;
    assert_eq!(refused.status, 429);
    for number in 0..100 {
        gateway.service.add(&format!("tool{number}"));
    }
    assert_eq!(call(&gateway, "echo").await.1.status, 200);
    // Room is given back.
    drop(open_streams);
    let mut status = 429;
    for _ in 0..200 {
        status = open(&gateway, "subscriptions/listen", r#""notifications":{}"#).await.1.status;
        if status == 200 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(status, 200);
}
