//! The egress guard against a real server on loopback (threat T8).

use std::{
    collections::VecDeque,
    io,
    net::IpAddr,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use reqwest::{Method, Request, header::HeaderValue};
use toolcrib_connect::net::{self, EgressClient, EgressPolicy, Fetched, Lookup};
use toolcrib_engine::BoxFuture;

use crate::http_server::{Server, path, redirect, reply};

/// Answers with one list after the other; the last one stays.
struct Scripted(Mutex<VecDeque<Vec<IpAddr>>>);

impl Scripted {
    fn new(answers: &[&[&str]]) -> Arc<Self> {
        let parse = |answer: &&[&str]| answer.iter().map(|address| address.parse().unwrap()).collect();
        Arc::new(Self(Mutex::new(answers.iter().map(parse).collect())))
    }
}

impl Lookup for Scripted {
    fn lookup<'a>(&'a self, _: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let mut answers = self.0.lock().unwrap();
        let answer = if answers.len() > 1 { answers.pop_front().unwrap() } else { answers[0].clone() };
        Box::pin(std::future::ready(Ok(answer)))
    }
}

fn policy(private_hosts: &[&str]) -> EgressPolicy {
    EgressPolicy {
        private_hosts: private_hosts.iter().map(|rule| rule.parse().unwrap()).collect(),
        timeout: Duration::from_secs(5),
        ..EgressPolicy::default()
    }
}

fn client(private_hosts: &[&str]) -> EgressClient {
    net::client(policy(private_hosts)).unwrap()
}

fn get(url: &str) -> Request {
    Request::new(Method::GET, url.parse().unwrap())
}

async fn fetch(client: &EgressClient, url: &str) -> Result<Fetched, String> {
    client.fetch(get(url)).await.map_err(|error| error.to_string())
}

async fn refused(client: &EgressClient, url: &str, part: &str) {
    let error = fetch(client, url).await.unwrap_err();
    assert!(error.contains(part), "{url}: {error}");
}

#[tokio::test]
async fn loopback_is_closed_until_it_is_named() {
    let server = Server::start(|_| reply("200 OK", "", "hello")).await;
    refused(&client(&[]), &server.url("/"), "127.0.0.1 is not a public address (loopback)").await;
    let port = server.port();
    let url = format!("http://localhost:{port}/");
    refused(&client(&[]), &url, "builtin.fetch.allow_hosts").await;
    refused(&client(&["127.0.0.1:1", "localhost:1"]), &url, "builtin.fetch.allow_hosts").await;
    // Whether a name with a final dot is known differs between systems; no system may let it through.
    refused(&client(&[]), &format!("http://LOCALHOST.:{port}/"), "").await;
    assert!(server.requests().is_empty(), "nothing was sent");

    for (rule, host) in [("127.0.0.1", "127.0.0.1"), ("127.0.0.0/8", "localhost"), ("localhost", "localhost")] {
        let fetched = fetch(&client(&[rule]), &format!("http://{host}:{port}/")).await.unwrap();
        assert_eq!(fetched.body, b"hello");
    }
}

#[tokio::test]
async fn a_name_that_leads_inside_is_refused_whatever_it_looks_like() {
    let answers = ["127.0.0.1", "::1", "10.1.2.3", "169.254.169.254", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "0.0.0.0"];
    for answer in answers {
        let policy = EgressPolicy { lookup: Scripted::new(&[&[answer]]), ..policy(&[]) };
        let client = net::client(policy).unwrap();
        for url in ["http://127.0.0.1.nip.example/", "https://api.ok.evil.example/"] {
            refused(&client, url, "resolves to").await;
        }
    }
}

#[tokio::test]
async fn of_several_addresses_only_public_ones_are_connected_to() {
    let server = Server::start(|_| reply("200 OK", "", "inside")).await;
    // The public address is from no network: connecting to it fails, and loopback must not stand in for it.
    let policy = EgressPolicy { lookup: Scripted::new(&[&["127.0.0.1", "240.0.0.1"]]), ..policy(&["240.0.0.1"]) };
    let client = net::client(policy).unwrap();
    fetch(&client, &format!("http://mixed.example:{}/", server.port())).await.unwrap_err();
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn an_answer_that_changes_gains_nothing() {
    let server = Server::start(|_| reply("200 OK", "", "inside")).await;
    let url = format!("http://rebind.example:{}/", server.port());
    // First an address that is allowed by range and where the server listens, then a plain loopback one.
    let policy = EgressPolicy { lookup: Scripted::new(&[&["127.0.0.1"], &["127.0.0.2"]]), ..policy(&["127.0.0.1"]) };
    let client = net::client(policy).unwrap();
    assert_eq!(fetch(&client, &url).await.unwrap().body, b"inside");
    refused(&client, &url, "resolves to 127.0.0.2").await;
}

#[tokio::test]
async fn redirects_are_checked_like_first_requests() {
    let server = Server::start(|request| match path(request) {
        "/metadata" => redirect("302 Found", "http://169.254.169.254/latest/meta-data/"),
        "/file" => redirect("302 Found", "file:///etc/passwd"),
        "/credentials" => redirect("302 Found", "http://u:p@127.0.0.1/"),
        "/decimal" => redirect("301 Moved", "http://2130706434/"),
        "/protocol-relative" => redirect("302 Found", "//10.0.0.1/"),
        "/named" => redirect("302 Found", "http://localhost/"),
        "/loop" => redirect("302 Found", "/loop"),
        "/bad" => redirect("302 Found", "http://[::1"),
        "/once" => redirect("303 See Other", "end"),
        _ => reply("200 OK", "", "end"),
    })
    .await;
    let client = client(&["127.0.0.1"]);
    for (path, part) in [
        ("/metadata", "169.254.169.254 is not a public address (link-local)"),
        ("/file", "scheme 'file'"),
        ("/credentials", "user name or password"),
        ("/decimal", "127.0.0.2 is not a public"),
        ("/protocol-relative", "10.0.0.1 is not a public"),
        ("/loop", "more than 5 redirects"),
        ("/bad", "cannot be understood"),
    ] {
        refused(&client, &server.url(path), part).await;
    }
    let fetched = fetch(&client, &server.url("/once")).await.unwrap();
    assert_eq!((fetched.url.path(), &fetched.body[..]), ("/end", &b"end"[..]));
}

#[tokio::test]
async fn credentials_stay_with_their_origin() {
    let other = Server::start(|_| reply("200 OK", "", "other")).await;
    let target = other.url("/take");
    let server = Server::start(move |request| match path(request) {
        "/same" => redirect("302 Found", "/end"),
        "/other" => redirect("302 Found", &target),
        "/other-with-body" => redirect("307 Temporary Redirect", &target),
        "/same-with-body" => redirect("307 Temporary Redirect", "/end"),
        _ => reply("200 OK", "", "end"),
    })
    .await;
    let client = client(&["127.0.0.1"]);
    let secret = |url: String, method: Method| {
        let mut request = Request::new(method, url.parse().unwrap());
        for name in ["authorization", "cookie", "x-api-key", "proxy-authorization"] {
            request.headers_mut().insert(name, HeaderValue::from_static("canary"));
        }
        request.headers_mut().insert("accept", HeaderValue::from_static("text/plain"));
        request
    };
    client.fetch(secret(server.url("/same"), Method::GET)).await.unwrap();
    let requests = server.requests();
    assert_eq!(requests[1].matches("canary").count(), 4, "same origin keeps them: {}", requests[1]);

    client.fetch(secret(server.url("/other"), Method::GET)).await.unwrap();
    let taken = &other.requests()[0];
    assert!(!taken.contains("canary") && taken.contains("accept: text/plain"), "{taken}");

    let mut post = secret(server.url("/same-with-body"), Method::POST);
    *post.body_mut() = Some("payload".into());
    client.fetch(post).await.unwrap();
    let last = server.requests().pop().unwrap();
    assert!(last.starts_with("post /end") && last.ends_with("payload"), "{last}");

    let mut post = secret(server.url("/other-with-body"), Method::POST);
    *post.body_mut() = Some("payload".into());
    let error = client.fetch(post).await.unwrap_err().to_string();
    assert!(error.contains("body to another origin"), "{error}");
    assert_eq!(other.requests().len(), 1);

    let mut post = secret(server.url("/other"), Method::POST);
    *post.body_mut() = Some("payload".into());
    client.fetch(post).await.unwrap();
    let taken = &other.requests()[1];
    assert!(taken.starts_with("get /take") && !taken.contains("payload") && !taken.contains("canary"), "{taken}");
}

// T17.
#[tokio::test]
async fn nothing_is_decompressed_and_bodies_are_cut() {
    let server = Server::start(|request| match path(request) {
        "/gzip" => reply("200 OK", "Content-Encoding: gzip\r\n", [0x1f, 0x8b, 8, 0]),
        "/endless" => format!("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{}", "x".repeat(300_000)).into_bytes(),
        _ => reply("200 OK", "Content-Encoding: identity\r\n", "x".repeat(1_000)),
    })
    .await;
    let client = net::client(EgressPolicy { max_bytes: 1_000, ..policy(&["127.0.0.1"]) }).unwrap();
    refused(&client, &server.url("/gzip"), "encoded as 'gzip'").await;
    let exact = fetch(&client, &server.url("/exact")).await.unwrap();
    assert_eq!((exact.body.len(), exact.truncated), (1_000, false));
    let cut = fetch(&client, &server.url("/endless")).await.unwrap();
    assert_eq!((cut.body.len(), cut.truncated), (1_000, true));
    assert!(server.requests()[0].contains("accept-encoding: identity"));
}

#[tokio::test]
async fn silence_has_an_end() {
    let server = Server::start(|request| match path(request) {
        "/head" => b"HANG".to_vec(),
        _ => b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nxHANG".to_vec(),
    })
    .await;
    let policy = EgressPolicy { timeout: Duration::from_millis(60), ..policy(&["127.0.0.1"]) };
    let client = net::client(policy).unwrap();
    let started = Instant::now();
    refused(&client, &server.url("/head"), "did not answer within 0.06 s").await;
    refused(&client, &server.url("/body"), "did not answer within 0.06 s").await;
    assert!(started.elapsed() < Duration::from_secs(3));
}

#[tokio::test]
async fn errors_name_the_host_and_never_the_query() {
    let server = Server::start(|_| b"garbage".to_vec()).await;
    let client = client(&["127.0.0.1"]);
    let error = fetch(&client, &server.url("/path?token=canary")).await.unwrap_err();
    assert!(
        error.contains(&server.address.to_string()) && !error.contains("canary") && !error.contains("path"),
        "{error}"
    );
    let port = server.port();
    drop(server);
    let error = fetch(&client, &format!("http://127.0.0.1:{port}/?token=canary")).await;
    assert!(error.is_err_and(|error| !error.contains("canary")));
}

#[tokio::test]
async fn https_is_spoken_and_unknown_certificates_fail() {
    // Not a TLS server: what arrives must be a TLS greeting, and the answer must not be taken for one.
    let server = Server::start(|_| reply("200 OK", "", "plain")).await;
    let client = client(&["127.0.0.1"]);
    let error = fetch(&client, &server.url("/").replace("http:", "https:")).await.unwrap_err();
    assert!(error.contains("127.0.0.1"), "{error}");
}
