use serde_json::json;

use super::*;

#[track_caller]
fn check(rule: &str, url: &str, want: bool) {
    let rule: HostRule = rule.parse().unwrap();
    let hit = Url::parse(url).is_ok_and(|url| rule.matches(&url));
    assert_eq!(hit, want, "{rule} on {url}");
}

#[test]
fn a_host_means_itself_and_its_subdomains() {
    check("example.com", "https://example.com/x", true);
    check("example.com", "https://api.example.com", true);
    check("example.com", "https://badexample.com", false);
    check("example.com", "https://example.com.evil.org", false);
    check("example.com", "http://example.com:8080/", true);
    // A scheme makes no other host of it.
    for scheme in ["ftp", "ws", "wss", "sftp", "git+ssh", "custom"] {
        check("example.com", &format!("{scheme}://Example.com/"), true);
        check("127.0.0.1", &format!("{scheme}://0x7f.1/"), true);
    }
    check("example.com", "file:///example.com", false);
    check(".example.com", "https://example.com", false);
    check(".example.com", "https://a.b.example.com", true);
    check("*.example.com", "https://a.example.com", true);
    check("*", "https://anything.org", true);
    check("*", "ftp://anything.org", true);
    check("EXAMPLE.com.", "https://example.COM./x", true);
    check("example.com", "https://example.com@evil.org/", false);
    check("evil.org", "https://example.com:x@evil.org/", true);
    check("example.com", r"https://evil.org\@example.com/", false);
    check("example.com", "https://evil.org#@example.com", false);
    check("example.com", "https://evil.org?.example.com", false);
    check("bücher.de", "https://xn--bcher-kva.de/", true);
    check("xn--bcher-kva.de", "https://BÜCHER.de/", true);
    check("127.0.0.1", "http://127.0.0.1:9/", true);
    check("127.0.0.1", "http://0x7f.1/", true);
    check("127.0.0.1", "http://2130706433/", true);
    check("0.0.1", "http://127.0.0.1/", false);
    check("[::1]", "http://[::1]:80/", true);
    check("[::1]", "http://[0:0:0:0:0:0:0:1]/", true);
    check("localhost", "http://localhost:3000", true);
    check("10.0.0.1", "http://[::ffff:10.0.0.1]/", true);
    check("10.0.0.1", "http://[::ffff:a00:1]:80/", true);
    check("[::ffff:10.0.0.1]", "http://10.0.0.1/", true);
    check("[::1]", "http://0.0.0.1/", false);
}

#[test]
fn what_is_no_host_is_refused() {
    for text in ["", ".", "https://example.com", "a@b.c", "ex*mple.com", "a/b", ".127.0.0.1", "a b"] {
        assert!(text.parse::<HostRule>().is_err(), "{text}");
    }
}

#[track_caller]
fn call(arguments: &Value, covered: bool, touched: Match) {
    let rule: HostRule = "example.com".parse().unwrap();
    let found = collect_urls(arguments);
    assert_eq!(rule.covers(&found), covered, "allow on {arguments}");
    assert_eq!(rule.touches(&found), touched, "deny on {arguments}");
}

#[test]
fn all_urls_count_for_allowing_and_any_for_denying() {
    call(&json!({"url": "https://example.com/x"}), true, Match::Yes);
    call(&json!({"url": "https://evil.org"}), false, Match::No);
    call(&json!({"a": ["https://example.com", "https://evil.org"]}), false, Match::Yes);
    call(&json!({"q": {"deep": "HTTPS://Example.com"}}), true, Match::Yes);
    call(&json!({"q": "see https://example.com"}), false, Match::No);
    call(&json!({"url": "example.com/x"}), true, Match::Yes);
    call(&json!({"url": "example.com:8080/x"}), true, Match::Yes);
    call(&json!({"url": "//example.com/x"}), true, Match::Yes);
    call(&json!({"url": "https:example.com"}), true, Match::Yes);
    call(&json!({"text": "example.com"}), false, Match::No);
    call(&json!({"url": "javascript:alert(1)"}), false, Match::No);
    // What other readers may read otherwise never lets through.
    call(&json!({"url": r"https://evil.org\@example.com"}), false, Match::Uncertain);
    call(&json!({"url": "https://ada:x@example.com"}), false, Match::Yes);
    call(&json!({"url": "https://evil.org@example.com"}), false, Match::Yes);
    call(&json!({"url": "https://exa\tmple.com"}), false, Match::Yes);
    call(&json!({"url": "https://"}), false, Match::Uncertain);
    call(&json!({"url": ["https://example.com", "https://["]}), false, Match::Yes);
    call(&json!({}), false, Match::No);
    // Any scheme denies; only the web's are let through.
    call(&json!({"q": "wss://example.com/x"}), true, Match::Yes);
    call(&json!({"q": "FTP://example.com/x"}), false, Match::Yes);
    call(&json!({"q": "sftp://example.com/x"}), false, Match::Yes);
    call(&json!({"q": "blob:https://example.com/1"}), false, Match::Yes);
    call(&json!({"q": "view-source:https://example.com/"}), false, Match::Yes);
    call(&json!({"q": "view-source:blob:wss://example.com/"}), false, Match::Yes);
    call(&json!({"q": "blob:https://evil.org/1"}), false, Match::Uncertain);
    call(&json!({"q": "url: the place where it is"}), false, Match::No);
    // A bare host denies; it lets nothing through, and keeps other addresses from it.
    for name in ["host", "hostname", "domain", "server", "webhook", "serverName"] {
        call(&json!({(name): "example.com"}), false, Match::Yes);
        call(&json!({(name): "API.example.com:443"}), false, Match::Yes);
        call(&json!({(name): "ada@example.com:/srv"}), false, Match::Yes);
        call(&json!({(name): "evil.org"}), false, Match::No);
        call(&json!({(name): "evil.org", "url": "https://example.com"}), false, Match::Yes);
        call(&json!({(name): "example.com", "url": "https://example.com"}), true, Match::Yes);
        call(&json!({(name): "github", "url": "https://example.com"}), true, Match::Yes);
        call(&json!({(name): "a sentence, with example.com"}), false, Match::No);
    }
    call(&json!({"endpoint": "example.com"}), true, Match::Yes);
    call(&json!({"to": "example.com"}), false, Match::No);
}

#[test]
fn bare_addresses_are_hosts_too() {
    for (rule, text, want) in [
        ("10.0.0.1", "10.0.0.1", true),
        ("10.0.0.1", "::ffff:10.0.0.1", true),
        ("10.0.0.1", "[::ffff:10.0.0.1]:80", true),
        ("10.0.0.1", "0xa.1", true),
        ("localhost", "localhost", true),
        ("[::1]", "::1", true),
        ("10.0.0.1", "10.0.0.2", false),
    ] {
        let rule: HostRule = rule.parse().unwrap();
        let hit = rule.touches(&collect_urls(&json!({"host": text})));
        assert_eq!(hit, Match::from_bool(want), "{rule} on {text}");
    }
}
