//! Who may come in (T9).

use std::net::SocketAddr;

use axum::{Extension, Router, routing::get};
use toolcrib_gateway::{AccessKey, Gateway, GatewaySettings, Principal};

use crate::{
    fake::Running,
    http::{BOTH, JSON, Socket, request},
};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}"#;

async fn status(gateway: &Running, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> u16 {
    let mut socket = Socket::open(gateway).await;
    socket.send(request(method, target, headers, body)).await;
    socket.answer().await.map_or(0, |answer| {
        assert!(answer.headers.keys().all(|name| !name.starts_with("access-control-")), "{answer:?}");
        answer.status
    })
}

#[tokio::test]
async fn a_web_page_cannot_reach_a_local_gateway() {
    let gateway = Running::start(|_| {}).await;
    let (host, other) = (gateway.host(), "127.0.0.1:1".to_owned());
    let good = ("Host", host.as_str());
    let post = |headers: Vec<(&'static str, String)>| {
        let gateway = &gateway;
        async move {
            let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
            status(gateway, "POST", "/mcp", &[&headers[..], &[BOTH, JSON]].concat(), PING).await
        }
    };
    let own = format!("http://{host}");
    assert_eq!(post(vec![("Host", host.clone())]).await, 200);
    assert_eq!(post(vec![("Host", host.clone()), ("Origin", own.clone())]).await, 200);
    for bad in ["evil.test".to_owned(), "localhost.evil.test".to_owned(), other] {
        assert_eq!(post(vec![("Host", bad.clone())]).await, 403, "{bad}");
    }
    assert_eq!(post(vec![]).await, 400);
    assert_eq!(post(vec![("Host", host.clone()), ("Host", host.clone())]).await, 400);
    for bad in ["null", "http://evil.test", "http://127.0.0.1"] {
        assert_eq!(post(vec![("Host", host.clone()), ("Origin", bad.to_owned())]).await, 403, "{bad}");
    }
    assert_eq!(post(vec![("Host", host.clone()), ("Origin", own.clone()), ("Origin", own)]).await, 403);
    assert_eq!(post(vec![("Host", host.clone()), ("Sec-Fetch-Site", "cross-site".to_owned())]).await, 403);
    // A form needs no preflight, so it must not count.
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=b", ""] {
        assert_eq!(status(&gateway, "POST", "/mcp", &[good, BOTH, ("Content-Type", kind)], PING).await, 415, "{kind}");
    }
    assert_eq!(status(&gateway, "POST", "/mcp", &[good, BOTH], PING).await, 415);
    let charset = ("Content-Type", "application/json; charset=utf-8");
    assert_eq!(status(&gateway, "POST", "/mcp", &[good, BOTH, charset], PING).await, 200);
    // A preflight gets no permission, an upgrade does not happen.
    let preflight = [good, ("Origin", "http://evil.test"), ("Access-Control-Request-Method", "POST")];
    assert_eq!(status(&gateway, "OPTIONS", "/mcp", &preflight, "").await, 403);
    assert_eq!(status(&gateway, "OPTIONS", "/mcp", &[good], "").await, 405);
    let upgrade = [good, ("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13")];
    assert_eq!(status(&gateway, "GET", "/mcp", &upgrade, "").await, 405);
    // The target may name the host itself, but only the same.
    assert_eq!(status(&gateway, "POST", &format!("http://{host}/mcp"), &[good, BOTH, JSON], PING).await, 200);
    assert_eq!(status(&gateway, "POST", "http://evil.test/mcp", &[good, BOTH, JSON], PING).await, 400);
    assert_eq!(status(&gateway, "GET", "/", &[good], "").await, 404);
    assert_eq!(status(&gateway, "GET", "/", &[("Host", "evil.test")], "").await, 403);
}

#[tokio::test]
async fn a_key_is_asked_for_and_names_the_caller() {
    let gateway = Running::start_with(
        |settings| {
            settings.keys = vec![AccessKey::caller("ann".to_owned(), "secret-1".to_owned())];
            settings.profile = Some("dev".to_owned());
        },
        |bound| {
            let who = async |Extension(principal): Extension<Principal>| format!("{:?}", principal.0);
            bound.with_routes(Router::new().route("/v1/who", get(who)))
        },
    )
    .await;
    let refused = gateway.post(&[], PING).await;
    assert_eq!((refused.status, refused.header("www-authenticate")), (401, Some("Bearer")));
    assert_eq!(gateway.post(&[("Authorization", "Bearer secret-2")], PING).await.status, 401);
    let key = ("Authorization", "Bearer secret-1");
    let admitted = gateway.post(&[key], PING).await;
    assert_eq!(admitted.status, 200);
    let session = admitted.header("mcp-session-id").unwrap();
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"who"}}"#;
    let answer = gateway.post(&[key, ("Mcp-Session-Id", session)], call).await;
    assert!(answer.body.contains(r#"Some(\"ann\") Some(\"dev\")"#), "{}", answer.body);
    // Added routes are behind the same guards, the probes are not.
    let host = gateway.host();
    let host = ("Host", host.as_str());
    assert_eq!(status(&gateway, "GET", "/v1/who", &[host], "").await, 401);
    assert_eq!(status(&gateway, "GET", "/v1/who", &[host, key], "").await, 200);
    for probe in ["/health", "/ready"] {
        assert_eq!(status(&gateway, "GET", probe, &[("Host", "10.0.0.7")], "").await, 200);
    }
}

#[tokio::test]
async fn beyond_loopback_nothing_starts_without_a_key() {
    let settings = |keys: &[(&str, &str)]| GatewaySettings {
        listen: SocketAddr::from(([0, 0, 0, 0], 0)),
        keys: keys.iter().map(|(name, secret)| AccessKey::caller((*name).to_owned(), (*secret).to_owned())).collect(),
        ..GatewaySettings::default()
    };
    let error = Gateway::bind(settings(&[])).await.unwrap_err().to_string();
    assert!(error.starts_with("refusing to listen on 0.0.0.0:0 without a key"), "{error}");
    assert!(Gateway::bind(settings(&[("ann", "k")])).await.is_ok());
}

#[test]
fn a_key_that_cannot_do_its_work_keeps_the_gateway_from_starting() {
    let keys = |keys: &[(&str, &str)]| -> Vec<AccessKey> {
        let key = |&(name, secret): &(&str, &str)| AccessKey::caller(name.to_owned(), secret.to_owned());
        keys.iter().map(key).collect()
    };
    let check = |callers: &[(&str, &str)], operators: &[(&str, &str)], told: &str| {
        let settings =
            GatewaySettings { keys: keys(callers), operator_keys: keys(operators), ..GatewaySettings::default() };
        let said = settings.check().err().map(|error| error.to_string()).unwrap_or_default();
        assert!(said.starts_with(told) && told.is_empty() == said.is_empty(), "{callers:?} {operators:?}: {said}");
    };
    check(&[("ann", "k"), ("bob", "a b~")], &[("eve", "o")], "");
    for empty in ["", " ", "\n"] {
        check(&[("ann", "k"), ("bob", empty)], &[], "key \"bob (keys)\" is empty; give it a value or remove it");
        check(&[], &[("eve", empty)], "key \"eve (operator_keys)\" is empty");
    }
    for mute in ["k\n", " k", "schlüssel", "a\tb", "a\u{0}b"] {
        check(&[("ann", mute)], &[], "no request can show key \"ann (keys)\"");
    }
    // Else the later of the two would decide who it is, and whether it may do what operators may.
    check(&[("ann", "k"), ("bob", "k")], &[], "keys \"ann (keys)\" and \"bob (keys)\" are the same");
    check(&[("ann", "k")], &[("eve", "k")], "keys \"ann (keys)\" and \"eve (operator_keys)\" are the same");
}

#[tokio::test]
async fn a_taken_port_is_named() {
    let gateway = Running::start(|_| {}).await;
    let again = GatewaySettings { listen: gateway.address, ..GatewaySettings::default() };
    let error = Gateway::bind(again).await.unwrap_err().to_string();
    assert!(error.starts_with(&format!("cannot listen on {}", gateway.address)), "{error}");
}
