//! Revisions with a handshake.

use tokio::sync::mpsc;
use toolcrib_mcp::server::{Caller, Connection, Framing, Server, ServerOptions, StdioOptions};

use super::fake::{Client, Fake};

const TOOLS: [&str; 2] = [
    r#"{ "name":"a", "inputSchema":{"type":"object"}, "x-unknown":1.0 }"#,
    r#"{"name":"b","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}}"#,
];

#[tokio::test]
async fn versions_are_negotiated() {
    for (asked, given) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
        // The modern revision has no handshake.
        ("2026-07-28", "2025-11-25"),
    ] {
        let mut client = Client::connect(&Fake::new(&TOOLS));
        client
            .exchange(
                &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"{asked}","capabilities":{{}},"clientInfo":{{"name":"c","version":"2"}}}}}}"#),
                &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":"{given}","capabilities":{{"tools":{{"listChanged":true}}}},"serverInfo":{{"name":"toolcrib","version":"1"}},"instructions":"say \"please\""}}}}"#),
            )
            .await;
    }
}

#[tokio::test]
async fn before_initialize_only_ping_and_discovery_are_answered() {
    let mut client = Client::connect(&Fake::new(&TOOLS));
    client.exchange(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).await;
    for method in ["tools/list", "tools/call", "logging/setLevel", "nonsense"] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":2,"method":"{method}"}}"#);
        client
            .exchange(&line, r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"…send initialize first…"}}"#)
            .await;
    }
    client
        .exchange(
            r#"{"jsonrpc":"2.0","id":3,"method":"server/discover"}"#,
            r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"params._meta is missing…"}}"#,
        )
        .await;
    client.initialize("2025-06-18").await;
    client
        .exchange(
            r#"{"jsonrpc":"2.0","id":4,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}"#,
            r#"{"jsonrpc":"2.0","id":4,"error":{"code":-32600,"message":"initialize came a second time…"}}"#,
        )
        .await;
}

#[tokio::test]
async fn requests_and_their_answers() {
    let mut client = Client::legacy(&Fake::new(&TOOLS), "2025-11-25").await;
    for (line, wants) in [
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{ "name":"a", "inputSchema":{"type":"object"}, "x-unknown":1.0 },{"name":"b","inputSchema":{"type":"object"}}]}}"#,
        ),
        // Ids come back as they were written.
        (r#"{"jsonrpc":"2.0","id":"x\u0041","method":"ping"}"#, r#"{"jsonrpc":"2.0","id":"xA","result":{}}"#),
        (r#"{"jsonrpc":"2.0","id":-7.50,"method":"ping","params":{}}"#, r#"{"jsonrpc":"2.0","id":-7.50,"result":{}}"#),
        // Arguments reach the tool byte for byte.
        (
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{ "n":1.0,"big":123456789012345678901234567890 }}}"#,
            r#"{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"{ \"n\":1.0,\"big\":123456789012345678901234567890 }"}]}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo"}}"#,
            r#"{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"absent"}]}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":null,"task":{"ttl":1}}}"#,
            r#"{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"absent"}]}}"#,
        ),
        // Results reach the client byte for byte, on one line.
        (
            r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"raw","arguments":{"result":"{\n \"content\":[{\"type\":\"image\",\"data\":\"AA==\",\"y\":1}],\n\"_meta\":{\"n\":10000000000000000000000}}"}}}"#,
            r#"{"jsonrpc":"2.0","id":4,"result":{  "content":[{"type":"image","data":"AA==","y":1}], "_meta":{"n":10000000000000000000000}}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"raw","arguments":{"result":"{\"resultType\":\"complete\",\"content\":[],\"structuredContent\":[1]}"}}}"#,
            r#"{"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"text","text":"[1]"}]}}"#,
        ),
        // The service's errors are passed on.
        (
            r#"{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"gone","arguments":{}}}"#,
            r#"{"jsonrpc":"2.0","id":6,"error":{"code":-32602,"message":"unknown tool gone"}}"#,
        ),
        // Who calls, and what of `_meta` goes further.
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"meta","_meta":{"traceparent":"t","dev.mcp/x":1}}}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"{\"meta\":{\"traceparent\":\"t\"},\"client\":\"test/0\",\"protocol\":\"2025-11-25\"}"}]}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":8,"method":"logging/setLevel","params":{"level":"debug"}}"#,
            r#"{"jsonrpc":"2.0","id":8,"result":{}}"#,
        ),
        // Bad parameters.
        (
            r#"{"jsonrpc":"2.0","id":9,"method":"logging/setLevel","params":{"level":"loud"}}"#,
            r#"{"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"params.level \"loud\" is none of debug,…"}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"arguments":{}}}"#,
            r#"{"jsonrpc":"2.0","id":10,"error":{"code":-32602,"message":"params.name is missing"}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":11,"method":"tools/call","params":{"name":"echo","arguments":[]}}"#,
            r#"{"jsonrpc":"2.0","id":11,"error":{"code":-32602,"message":"params.arguments is not an object"}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"echo","n\u0061me":"b"}}"#,
            r#"{"jsonrpc":"2.0","id":12,"error":{"code":-32602,"message":"params: key \"name\" is given twice"}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":13,"method":"tools/call","params":{"name":"echo","arguments":{"p":"/ok","p":"/etc"}}}"#,
            r#"{"jsonrpc":"2.0","id":13,"error":{"code":-32602,"message":"params: key \"p\" is given twice"}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":14,"method":"tools/list","params":{"cursor":"made up"}}"#,
            r#"{"jsonrpc":"2.0","id":14,"error":{"code":-32602,"message":"params.cursor…"}}"#,
        ),
        // Unknown methods, those of the other era included.
        (
            r#"{"jsonrpc":"2.0","id":15,"method":"prompts/list"}"#,
            r#"{"jsonrpc":"2.0","id":15,"error":{"code":-32601,"message":"method \"prompts/list\" is not served here"}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":16,"method":"subscriptions/listen","params":{"notifications":{}}}"#,
            r#"{"jsonrpc":"2.0","id":16,"error":{"code":-32601,…}}"#,
        ),
        // Broken envelopes. Without a readable id there is none in the answer.
        (r#"{"jsonrpc":"2.0","id":17"#, r#"{"jsonrpc":"2.0","error":{"code":-32700,…}}"#),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, r#"{"jsonrpc":"2.0","error":{"code":-32600,…}}"#),
        (r#"{"jsonrpc":"1.0","id":18,"method":"ping"}"#, r#"{"jsonrpc":"2.0","id":18,"error":{"code":-32600,…}}"#),
        (
            r#"{"jsonrpc":"2.0","id":19,"method":"ping","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":19,"error":{"code":-32600,…}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":20,"method":"ping","method":"tools/list"}"#,
            r#"{"jsonrpc":"2.0","error":{"code":-32600,…}}"#,
        ),
        (r#"{"jsonrpc":"2.0","id":21,"method":"ping"} {}"#, r#"{"jsonrpc":"2.0","error":{"code":-32700,…}}"#),
        (
            r#"[{"jsonrpc":"2.0","id":22,"method":"ping"}]"#,
            r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"a JSON-RPC batch…"}}"#,
        ),
        // A panic costs its own request.
        (
            r#"{"jsonrpc":"2.0","id":23,"method":"tools/call","params":{"name":"panic"}}"#,
            r#"{"jsonrpc":"2.0","id":23,"error":{"code":-32603,…}}"#,
        ),
    ] {
        client.exchange(line, wants).await;
    }
    // What asks for no answer gets none.
    for line in [
        r#"{"jsonrpc":"2.0","method":"notifications/whatever","params":{"a":1,"a":2}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}"#,
        "",
        "   ",
    ] {
        client.send(line).await;
        client.expect_silence().await;
    }
}

#[tokio::test]
async fn long_lists_come_in_pages() {
    let service = Fake::new(&["1", "2", "3"]);
    let options = ServerOptions { page: 2, ..ServerOptions::default() };
    let mut client = Client::connect_with(&service, options, StdioOptions::default());
    client.initialize("2025-11-25").await;
    client.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
    let first: serde_json::Value = serde_json::from_str(&client.receive().await).unwrap();
    assert_eq!(first["result"]["tools"].to_string(), "[1,2]");
    let next = format!(
        r#"{{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{{"cursor":{}}}}}"#,
        first["result"]["nextCursor"]
    );
    client.exchange(&next, r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[3]}}"#).await;
    // The list changed in between: tools would be skipped.
    *service.tools.lock() = vec!["0".to_owned(), "1".to_owned(), "2".to_owned()];
    client.exchange(&next, r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"…has changed since…"}}"#).await;
}

#[tokio::test]
async fn a_client_hears_of_a_change_only_when_its_list_is_another() {
    const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    const CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let service = Fake::new(&["1"]);
    let mut client = Client::legacy(&service, "2025-06-18").await;
    // It has seen nothing yet.
    service.publish(&["2"]);
    client.expect_silence().await;
    client.exchange(LIST, r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[2]}}"#).await;
    // Something changed, but not for this client.
    service.publish(&["2"]);
    client.expect_silence().await;
    service.publish(&["2", "3"]);
    assert_eq!(client.receive().await, CHANGED);
    // Told once.
    service.publish(&["2", "3"]);
    client.expect_silence().await;
    client.exchange(LIST, r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[2,3]}}"#).await;
    service.publish(&["2"]);
    assert_eq!(client.receive().await, CHANGED);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_while_a_list_is_given_out_is_told_after_it() {
    const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let service = Fake::new(&["1"]);
    let mut client = Client::legacy(&service, "2025-06-18").await;
    *service.meanwhile.lock() = Some(vec!["2".to_owned()]);
    client.exchange(LIST, r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[1]}}"#).await;
    assert_eq!(client.receive().await, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
}

#[tokio::test]
async fn a_change_is_told_when_there_is_room_again() {
    let service = Fake::new(&["1"]);
    let server = Server::new(service.clone(), ServerOptions::default());
    let (out, mut answers) = mpsc::channel(8);
    let (events, mut told) = mpsc::channel(1);
    let connection =
        Connection::open(&server, Framing::Legacy, Caller::default(), server.admission(), Some(events.clone()));
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
    ] {
        connection.take_bytes(line.as_bytes(), &out).await;
        let answer = answers.recv().await.unwrap();
        // Fills the one place.
        let _ = events.try_send(answer);
    }
    for tools in [["2"], ["3"]] {
        service.publish(&tools);
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    told.recv().await.unwrap();
    let wait = std::time::Duration::from_secs(5);
    let note = tokio::time::timeout(wait, told.recv()).await.expect("told").unwrap();
    assert_eq!(note.json, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    // Once: it is about the list as it is now. What waits with a stream that is replaced is told on the next one.
    service.publish(&["4"]);
    let (later, mut told_later) = mpsc::channel(1);
    events.try_send(note.clone()).unwrap();
    connection.attach_events(later);
    let again = tokio::time::timeout(wait, told_later.recv()).await.expect("told").unwrap();
    assert_eq!(again.json, note.json);
    drop(events);
    assert_eq!(told.recv().await.unwrap().json, note.json);
    assert!(told.recv().await.is_none(), "the stream before has ended");
    connection.close();
    assert!(told_later.recv().await.is_none());
}

#[tokio::test]
async fn batches_are_for_the_one_revision_that_has_them() {
    let mut client = Client::legacy(&Fake::new(&TOOLS), "2025-03-26").await;
    for (line, wants) in [
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":2,"method":"nope"}]"#,
            r#"[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"error":{"code":-32601,…}}]"#,
        ),
        (
            r#"[{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo"}}]"#,
            r#"[{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"absent"}]}}]"#,
        ),
        (
            r#"[{"jsonrpc":"2.0","id":4,"method":"initialize"},7]"#,
            r#"[{"jsonrpc":"2.0","id":4,"error":{"code":-32600,…}},{"jsonrpc":"2.0","error":{"code":-32600,…}}]"#,
        ),
        ("[]", r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"a batch has 1 to 64 messages"}}"#),
        ("[1", r#"{"jsonrpc":"2.0","error":{"code":-32700,…}}"#),
    ] {
        client.exchange(line, wants).await;
    }
    client.send(r#"[{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":1,"result":{}}]"#).await;
    client.expect_silence().await;
}
