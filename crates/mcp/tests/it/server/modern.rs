//! The stateless revision.

use super::fake::{Client, Fake, MODERN_META};

const TOOL: &str = r#"{ "name":"a", "inputSchema":{"type":"object"}, "outputSchema":true }"#;
const SERVER: &str = r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"toolcrib","version":"1"}}"#;

fn request(id: u32, method: &str, members: &str) -> String {
    let comma = if members.is_empty() { "" } else { "," };
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"_meta":{{{MODERN_META}}}{comma}{members}}}}}"#
    )
}

#[tokio::test]
async fn requests_stand_alone_and_their_results_say_so() {
    let mut client = Client::connect(&Fake::new(&[TOOL]));
    for (line, wants) in [
        (
            request(1, "server/discover", ""),
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"capabilities":{{"tools":{{"listChanged":true}}}},"instructions":"say \"please\"","ttlMs":60000,"cacheScope":"private",{SERVER}}}}}"#),
        ),
        (
            request(2, "tools/list", ""),
            format!(r#"{{"jsonrpc":"2.0","id":2,"result":{{"resultType":"complete","tools":[{TOOL}],"ttlMs":5000,"cacheScope":"private",{SERVER}}}}}"#),
        ),
        (
            request(3, "tools/call", r#""name":"echo","arguments":{ "n":1.0 }"#),
            r#"{"jsonrpc":"2.0","id":3,"result":{"resultType":"complete","content":[{"type":"text","text":"{ \"n\":1.0 }"}]}}"#.to_owned(),
        ),
        (
            request(4, "tools/call", r#""name":"raw","arguments":{"result":"{ \"structuredContent\":[1] }"}"#),
            r#"{"jsonrpc":"2.0","id":4,"result":{"resultType":"complete", "structuredContent":[1] }}"#.to_owned(),
        ),
        (
            request(5, "tools/call", r#""name":"raw","arguments":{"result":"{\"resultType\":\"task\",\"x\":1}"}"#),
            r#"{"jsonrpc":"2.0","id":5,"result":{"resultType":"task","x":1}}"#.to_owned(),
        ),
        (
            request(6, "tools/call", r#""name":"gone""#),
            r#"{"jsonrpc":"2.0","id":6,"error":{"code":-32602,"message":"unknown tool gone"}}"#.to_owned(),
        ),
        (
            request(7, "tools/call", ""),
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"params.name is missing"}}"#.to_owned(),
        ),
    ] {
        client.exchange(&line, &wants).await;
    }
    // What is gone with the handshake is gone.
    for method in ["initialize", "ping", "logging/setLevel", "resources/subscribe", "prompts/list", "unknown/method"] {
        client.exchange(&request(8, method, ""), r#"{"jsonrpc":"2.0","id":8,"error":{"code":-32601,…}}"#).await;
    }
}

#[tokio::test]
async fn the_envelope_is_checked() {
    let mut client = Client::connect(&Fake::new(&[TOOL]));
    for (params, wants) in [
        ("{}", r#"{"code":-32602,"message":"params._meta is missing…"}"#),
        (r#"{"_meta":null}"#, r#"{"code":-32602,"message":"params._meta is missing…"}"#),
        (r#"{"_meta":7}"#, r#"{"code":-32602,"message":"params._meta is not an object"}"#),
        (
            r#"{"_meta":{}}"#,
            r#"{"code":-32602,"message":"params._meta does not carry io.modelcontextprotocol/protocolVersion"}"#,
        ),
        (
            r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":1,"io.modelcontextprotocol/clientCapabilities":{}}}"#,
            r#"{"code":-32602,"message":"…is not a text"}"#,
        ),
        (
            r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#,
            r#"{"code":-32602,"message":"…does not carry io.modelcontextprotocol/clientCapabilities"}"#,
        ),
        (
            r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":[]}}"#,
            r#"{"code":-32602,"message":"…is not an object"}"#,
        ),
        (
            r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":{}}}"#,
            r#"{"code":-32022,"message":"…","data":{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":"2099-01-01"}}"#,
        ),
        // A revision that has a handshake is not spoken without one.
        (
            r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25","io.modelcontextprotocol/clientCapabilities":{}}}"#,
            r#"{"code":-32022,…}"#,
        ),
    ] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":"q","method":"server/discover","params":{params}}}"#);
        client.exchange(&line, &format!(r#"{{"jsonrpc":"2.0","id":"q","error":{wants}}}"#)).await;
    }
}

#[tokio::test]
async fn nothing_is_remembered_between_requests() {
    let mut client = Client::connect(&Fake::new(&[TOOL]));
    let call = |client: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"meta","_meta":{{{MODERN_META}{client},"baggage":"b"}}}}}}"#
        )
    };
    let named = call(r#","io.modelcontextprotocol/clientInfo":{"name":"n","version":"v"}"#);
    client.exchange(&named, r#"…{\"meta\":{\"baggage\":\"b\"},\"client\":\"n/v\",\"protocol\":\"2026-07-28\"}…"#).await;
    client.exchange(&call(""), r#"…\"client\":null…"#).await;
    // Both eras on one connection, request by request.
    client.initialize("2025-06-18").await;
    let legacy = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"meta"}}"#;
    client
        .exchange(
            legacy,
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":…\"client\":\"test/0\",\"protocol\":\"2025-06-18\"…"#,
        )
        .await;
    client.exchange(&call(""), r#"…"resultType":"complete"…\"client\":null,\"protocol\":\"2026-07-28\"…"#).await;
}

#[tokio::test]
async fn a_subscription_is_acknowledged_and_hears_of_changes_until_it_is_cancelled() {
    const ACK: &str = r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":9},"notifications":{"toolsListChanged":true}}}"#;
    const CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":9}}}"#;
    let service = Fake::new(&["1"]);
    let mut client = Client::connect(&service);
    let listen =
        request(9, "subscriptions/listen", r#""notifications":{"toolsListChanged":true,"promptsListChanged":true}"#);
    client.exchange(&listen, ACK).await;
    service.publish(&["2"]);
    assert_eq!(client.receive().await, CHANGED);
    // Not another list.
    service.publish(&["2"]);
    client.expect_silence().await;
    // Its id is taken as long as it is open.
    client.exchange(&listen, r#"{"jsonrpc":"2.0","id":9,"error":{"code":-32600,…}}"#).await;
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}"#).await;
    client.expect_silence().await;
    service.publish(&["3"]);
    client.expect_silence().await;
}

#[tokio::test]
async fn a_subscription_to_nothing_we_have_stays_silent_and_ends_with_a_result() {
    let service = Fake::new(&["1"]);
    let mut client = Client::connect(&service);
    client
        .exchange(
            &request(9, "subscriptions/listen", r#""notifications":{"promptsListChanged":true}"#),
            r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":9},"notifications":{}}}"#,
        )
        .await;
    service.publish(&["2"]);
    client.expect_silence().await;
    client.shutdown.cancel();
    let last = client.rest().await;
    assert_eq!(
        last,
        [
            r#"{"jsonrpc":"2.0","id":9,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":9,"io.modelcontextprotocol/serverInfo":{"name":"toolcrib","version":"1"}}}}"#
        ]
    );
}

#[tokio::test]
async fn a_filter_is_needed_to_subscribe() {
    let mut client = Client::connect(&Fake::new(&["1"]));
    for members in ["", r#""notifications":[]"#, r#""notifications":{"toolsListChanged":"yes"}"#] {
        client
            .exchange(
                &request(1, "subscriptions/listen", members),
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,…}}"#,
            )
            .await;
    }
}
