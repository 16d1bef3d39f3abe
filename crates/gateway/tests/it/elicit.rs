//! Asking the user something in the middle of a call, over sockets.

use std::time::Duration;

use serde_json::Value;
use toolcrib_gateway::AccessKey;

use crate::{fake::Running, http::Socket};

const SESSION: &str = "Mcp-Session-Id";
const FORMS: &str = r#"{"elicitation":{}}"#;
const ASK: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask"}}"#;
const YES: &str = r#""result":{"action":"accept","content":{"ok":true}}"#;

async fn initialize(gateway: &Running, capabilities: &str, headers: &[(&str, &str)]) -> String {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{capabilities}}}}}"#
    );
    let answer = gateway.post(headers, &body).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.header("mcp-session-id").unwrap().to_owned()
}

/// A call whose question came first on its stream, and the id of that as JSON text.
async fn asked(gateway: &Running, headers: &[(&str, &str)]) -> (Socket, String) {
    let (mut socket, answer) = gateway.open(headers, ASK).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/event-stream")));
    let id = question(&socket.event().await.unwrap());
    (socket, id)
}

#[track_caller]
fn question(event: &str) -> String {
    let message: Value = serde_json::from_str(event).unwrap();
    assert_eq!(message["method"], "elicitation/create", "{event}");
    assert_eq!(message["params"]["mode"], "form", "{event}");
    message["id"].to_string()
}

async fn reply(gateway: &Running, headers: &[(&str, &str)], id: &str, answer: &str) -> u16 {
    gateway.post(headers, &format!(r#"{{"jsonrpc":"2.0","id":{id},{answer}}}"#)).await.status
}

#[tokio::test]
async fn the_question_goes_out_on_the_calls_stream_and_the_answer_comes_as_a_post() {
    let gateway = Running::start(|_| {}).await;
    let id = initialize(&gateway, FORMS, &[]).await;
    let session = [(SESSION, id.as_str())];
    for (answer, wants) in [
        (YES, r#"Ok(Accept({\"ok\": Bool(true)}))"#),
        (r#""result":{"action":"decline"}"#, "Ok(Decline)"),
        (r#""result":{"action":"cancel"}"#, "Ok(Cancel)"),
        (r#""result":{"action":"accept","content":{"ok":1}}"#, "Err(Refused("),
        (r#""result":{}"#, "Err(Refused("),
        (r#""error":{"code":-32603,"message":"broken"}"#, "Err(Refused("),
    ] {
        let (mut socket, id) = asked(&gateway, &session).await;
        assert_eq!(reply(&gateway, &session, &id, answer).await, 202);
        let event = socket.event().await.unwrap();
        assert!(
            event.starts_with(r#"{"jsonrpc":"2.0","id":2,"result":"#) && event.contains(wants),
            "{answer}: {event}"
        );
        assert_eq!(socket.event().await, None);
        // Once more: nobody waits for it, and nobody is told off.
        assert_eq!(reply(&gateway, &session, &id, YES).await, 202);
    }
}

#[tokio::test]
async fn a_spoilt_answer_is_refused_and_ends_the_waiting() {
    let gateway = Running::start(|_| {}).await;
    let id = initialize(&gateway, FORMS, &[]).await;
    let session = [(SESSION, id.as_str())];
    let (mut socket, id) = asked(&gateway, &session).await;
    let spoilt = r#""result":{"action":"accept"},"error":{"code":1,"message":""}"#;
    assert_eq!(reply(&gateway, &session, r#""ask-1""#, spoilt).await, 400);
    assert_eq!(gateway.service.asked.available_permits(), 0);
    assert_eq!(reply(&gateway, &session, &id, spoilt).await, 400);
    assert!(socket.event().await.unwrap().contains("Err(Refused("));
}

#[tokio::test]
async fn a_client_without_forms_or_without_a_stream_is_not_asked() {
    let gateway = Running::start(|_| {}).await;
    let (able, unable) = (initialize(&gateway, FORMS, &[]).await, initialize(&gateway, "{}", &[]).await);
    let url = initialize(&gateway, r#"{"elicitation":{"url":{}}}"#, &[]).await;
    for headers in
        [&[(SESSION, &*unable)][..], &[(SESSION, &*url)], &[(SESSION, &*able), ("Accept", "application/json")]]
    {
        let answer = gateway.post(headers, ASK).await;
        assert!(answer.body.contains("unable"), "{headers:?} {}", answer.body);
    }
}

#[tokio::test]
async fn only_the_session_and_the_key_that_were_asked_can_answer() {
    let key = |name: &str| AccessKey::caller(name.to_owned(), format!("secret-{name}"));
    let gateway = Running::start(|settings| settings.keys = vec![key("ann"), key("bob")]).await;
    let (ann, bob) = (("Authorization", "Bearer secret-ann"), ("Authorization", "Bearer secret-bob"));
    let anns = initialize(&gateway, FORMS, &[ann]).await;
    let other = initialize(&gateway, FORMS, &[ann]).await;
    let bobs = initialize(&gateway, FORMS, &[bob]).await;
    let (mut socket, id) = asked(&gateway, &[ann, (SESSION, &anns)]).await;
    let (mut others, others_id) = asked(&gateway, &[ann, (SESSION, &other)]).await;
    for (headers, status) in [
        (&[bob, (SESSION, &*bobs)][..], 202),
        (&[ann, (SESSION, &*other)], 202),
        (&[bob, (SESSION, &*anns)], 404),
        (&[ann], 400),
        (&[(SESSION, &*anns)], 401),
    ] {
        assert_eq!(reply(&gateway, headers, &id, YES).await, status, "{headers:?}");
    }
    assert_eq!(gateway.service.asked.available_permits(), 0, "nothing of that was an answer");
    assert_eq!(reply(&gateway, &[ann, (SESSION, &anns)], &id, r#""result":{"action":"decline"}"#).await, 202);
    assert!(socket.event().await.unwrap().contains("Ok(Decline)"));
    assert_eq!(reply(&gateway, &[ann, (SESSION, &other)], &others_id, YES).await, 202);
    assert!(others.event().await.unwrap().contains("Ok(Accept"));
}

#[tokio::test]
async fn a_cancelled_call_takes_its_question_back() {
    let gateway = Running::start(|_| {}).await;
    let id = initialize(&gateway, FORMS, &[]).await;
    let session = [(SESSION, id.as_str())];
    let (mut socket, id) = asked(&gateway, &session).await;
    let note = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#;
    assert_eq!(gateway.post(&session, note).await.status, 202);
    let event = socket.event().await.unwrap();
    let wants = format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"#);
    assert!(event.starts_with(&wants), "{event}");
    assert_eq!(socket.event().await, None);
}

#[tokio::test]
async fn a_lost_stream_loses_its_question_and_not_the_call() {
    let gateway = Running::start(|settings| settings.heartbeat = Duration::from_millis(10)).await;
    let id = initialize(&gateway, FORMS, &[]).await;
    let session = [(SESSION, id.as_str())];
    let (socket, id) = asked(&gateway, &session).await;
    drop(socket);
    gateway.service.asked.acquire().await.unwrap().forget();
    assert_eq!(reply(&gateway, &session, &id, YES).await, 202);
    // The session goes on.
    let (mut socket, id) = asked(&gateway, &session).await;
    assert_eq!(reply(&gateway, &session, &id, YES).await, 202);
    assert!(socket.event().await.unwrap().contains("Ok(Accept"));
}

#[tokio::test]
async fn the_end_of_a_session_or_of_the_gateway_ends_its_questions() {
    let mut gateway = Running::start(|_| {}).await;
    let id = initialize(&gateway, FORMS, &[]).await;
    let session = [(SESSION, id.as_str())];
    let (mut socket, _) = asked(&gateway, &session).await;
    assert_eq!(gateway.open_as("DELETE", &session, "").await.1.status, 204);
    assert!(socket.event().await.unwrap().contains("notifications/cancelled"));
    assert_eq!(socket.event().await, None);
    let id = initialize(&gateway, FORMS, &[]).await;
    let (mut socket, _) = asked(&gateway, &[(SESSION, &id)]).await;
    gateway.shutdown.cancel();
    assert!(socket.event().await.unwrap().contains("notifications/cancelled"));
    assert!(socket.event().await.unwrap().contains("Err(Lost)"), "the call itself ends in good order");
    gateway.ended().await;
}

#[tokio::test]
async fn a_modern_call_ends_with_the_question_and_is_sent_again() {
    let gateway = Running::start(|_| {}).await;
    let body = |capabilities: &str, members: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{capabilities}}},"name":"ask"{members}}}}}"#
        )
    };
    let headers = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "ask")];
    let resent = r#","requestState":"sealed","inputResponses":{"q":{"action":"accept","content":{"ok":true}}}"#;
    for accept in ["application/json, text/event-stream", "application/json"] {
        let headers = [&headers[..], &[("Accept", accept)]].concat();
        for (capabilities, members, status, wants) in [
            ("{}", "", 200, "unable"),
            (
                FORMS,
                "",
                200,
                r#""result":{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","#,
            ),
            (FORMS, "", 200, r#""requestState":"sealed""#),
            (FORMS, resent, 200, r#"sealed {\"q\": Accept({\"ok\": Bool(true)})}"#),
            (FORMS, r#","inputResponses":{"q":{"action":"decline"}}"#, 400, "-32602"),
            (FORMS, r#","requestState":"s","inputResponses":{"q":{}}"#, 400, "-32602"),
        ] {
            let answer = gateway.post(&headers, &body(capabilities, members)).await;
            assert_eq!(answer.status, status, "{}", answer.body);
            assert!(answer.body.contains(wants), "{}", answer.body);
        }
    }
}
