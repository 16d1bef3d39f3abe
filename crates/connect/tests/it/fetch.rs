//! `fetch_url` against a real server on loopback. Where it may go is tested in `egress.rs`.

use std::time::Duration;

use serde_json::json;
use toolcrib_connect::{builtin::BuiltinSettings, net::EgressPolicy};

use crate::{
    http_server::{Server, path, redirect, reply},
    tools::Tools,
};

fn tools() -> Tools {
    let policy = EgressPolicy {
        private_hosts: vec!["127.0.0.1".parse().unwrap()],
        max_bytes: 100_000,
        timeout: Duration::from_secs(5),
        ..EgressPolicy::default()
    };
    Tools::new(BuiltinSettings { fetch: Some(policy), ..BuiltinSettings::default() })
}

fn typed(media: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let header = if media.is_empty() { String::new() } else { format!("Content-Type: {media}\r\n") };
    reply("200 OK", &header, body)
}

async fn server() -> Server {
    Server::start(|request| match path(request) {
        "/html" => typed("text/html; charset=utf-8", "<title>T</title><p>Ünï <a href='/x'>x</a><script>no</script>"),
        "/latin" => typed("text/html; charset=ISO-8859-1", b"<p>caf\xe9"),
        "/meta" => typed("text/html", b"<meta charset=\"windows-1251\"><p>\xcf\xf0\xe8\xe2\xe5\xf2"),
        "/utf16" => typed("text/plain", b"\xff\xfeh\0i\0"),
        "/plain" => typed("text/plain", "<b> stays\n as it is"),
        "/json" => typed("application/json", "{\"a\": 1}"),
        "/problem" => reply("404 Not Found", "Content-Type: text/html\r\n", "<h1>No such thing</h1>"),
        "/broken" => reply("500 Internal Server Error", "Content-Type: image/png\r\n", [0, 1]),
        "/image" => typed("image/png", [0x89, b'P', b'N', b'G']),
        "/untyped" => typed("", "<!DOCTYPE html><p>page</p>"),
        "/untyped-binary" => typed("", [0, 1, 2]),
        "/moved" => redirect("302 Found", "/plain"),
        "/long" => typed("text/plain", "word ".repeat(10_000)),
        "/huge" => typed("text/plain", "x".repeat(150_000)),
        _ => typed("text/plain", ""),
    })
    .await
}

#[tokio::test]
async fn pages_become_text() {
    let (server, tools) = (server().await, tools());
    let base = server.url("");
    for (path, expected) in [
        ("/html", format!("# T\n\nÜnï [x]({base}/x)")),
        ("/latin", "café".to_owned()),
        ("/meta", "Привет".to_owned()),
        ("/utf16", "hi".to_owned()),
        ("/plain", "<b> stays\n as it is".to_owned()),
        ("/json", "{\"a\": 1}".to_owned()),
        ("/untyped", "page".to_owned()),
        ("/moved", format!("[redirected to {base}/plain]\n<b> stays\n as it is")),
        ("/empty", String::new()),
    ] {
        assert_eq!(tools.ok("fetch_url", json!({"url": server.url(path)})).await, expected, "{path}");
    }
}

/// A rule on hosts sees only the address of the call: another host takes another call.
#[tokio::test]
async fn a_redirect_to_another_host_is_told_and_not_followed() {
    let other = Server::start(|_| typed("text/plain", "secret page")).await;
    let target = other.url("/x?y=1");
    let moved = target.clone();
    let server = Server::start(move |request| match path(request) {
        "/twice" => redirect("302 Found", "/moved"),
        "/moved" => redirect("302 Found", &moved),
        "/name" => redirect("302 Found", "http://localhost/x"),
        "/private" => redirect("302 Found", "http://127.0.0.2/x"),
        _ => redirect("302 Found", &format!("https://example.com/{}", "x".repeat(5_000))),
    })
    .await;
    let tools = tools();
    for path in ["/moved", "/twice"] {
        assert_eq!(
            tools.ok("fetch_url", json!({"url": server.url(path)})).await,
            format!(
                "[redirected to {target}, which is another host and was not fetched; call fetch_url with that address if it is wanted]"
            ),
            "{path}"
        );
    }
    let named = tools.ok("fetch_url", json!({"url": server.url("/name")})).await;
    assert!(named.starts_with("[redirected to http://localhost/x, which is another host"), "{named}");
    for (path, part) in [("/private", "not a public address"), ("/long", "too long")] {
        let text = tools.err("fetch_url", json!({"url": server.url(path)})).await;
        assert!(text.contains(part), "{path}: {text}");
    }
    assert!(other.requests().is_empty(), "nothing was asked of the other host");
}

#[tokio::test]
async fn what_is_no_page_is_an_error_that_says_so() {
    let (server, tools) = (server().await, tools());
    for (path, expected) in [
        ("/problem", "the server answered 404 Not Found:\n# No such thing"),
        ("/broken", "the server answered 500 Internal Server Error"),
        ("/image", "this is not text but 'image/png' of 4 bytes"),
        ("/untyped-binary", "this is not text but 'application/octet-stream' of 3 bytes"),
    ] {
        assert_eq!(tools.err("fetch_url", json!({"url": server.url(path)})).await, expected, "{path}");
    }
    for (url, part) in [
        ("example.com", "begin with https://"),
        ("", "begin with https://"),
        ("file:///etc/passwd", "scheme 'file'"),
        ("http://user@127.0.0.1/", "user name"),
        ("http://127.0.0.2/", "not a public address"),
        ("http://[::1]/", "not a public address"),
        ("http://169.254.169.254/latest/meta-data/", "not a public address"),
    ] {
        let text = tools.err("fetch_url", json!({"url": url})).await;
        assert!(text.contains(part), "{url}: {text}");
    }
}

#[tokio::test]
async fn long_pages_are_cut_and_say_how_to_get_more() {
    let (server, tools) = (server().await, tools());
    let get = async |path: &str, max_chars: u32| {
        tools.ok("fetch_url", json!({"url": server.url(path), "max_chars": max_chars})).await
    };
    assert_eq!(get("/long", 9).await, "word word\n[cut at 9 characters; ask for more with max_chars, at most 200000]");
    assert_eq!(get("/long", 60_000).await.len(), 50_000);
    let default = tools.ok("fetch_url", json!({"url": server.url("/long")})).await;
    assert!(default.contains("[cut at 20000 characters"), "{}", default.len());
    assert!(get("/huge", 200_000).await.ends_with("[cut: the page is longer than can be fetched]"));
}
