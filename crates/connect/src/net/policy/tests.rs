use super::*;

fn policy(rules: &[&str]) -> EgressPolicy {
    let private_hosts = rules.iter().map(|rule| rule.parse().unwrap()).collect();
    EgressPolicy { private_hosts, ..EgressPolicy::default() }
}

#[track_caller]
fn refused(policy: &EgressPolicy, url: &str, part: &str) {
    let text = policy.check(&url.parse().unwrap()).unwrap_err().to_string();
    assert!(text.contains(part), "{url}: {text}");
}

// T8, the literal forms: every notation ends up as the same parsed address.
#[test]
fn literal_addresses_are_seen_through() {
    for (url, part) in [
        ("http://127.0.0.1", "loopback"),
        ("http://127.1/", "loopback"),
        ("http://0x7f.1/", "loopback"),
        ("http://0x7f000001/", "loopback"),
        ("http://2130706433/", "loopback"),
        ("http://017700000001/", "loopback"),
        ("http://127.0.0.1./", "loopback"),
        ("http://１２７.０.０.１/", "loopback"),
        ("http://①②⑦.0.0.1/", "loopback"),
        ("http://0/", "unspecified"),
        ("http://[::]/", "unspecified"),
        ("http://[::1]:80/", "loopback"),
        ("http://[::ffff:169.254.169.254]/latest/meta-data", "inside an IPv6"),
        ("http://[::ffff:7f00:1]/", "inside an IPv6"),
        ("http://[64:ff9b::a9fe:a9fe]/", "inside an IPv6"),
        ("http://[2002:7f00:1::]/", "inside an IPv6"),
        ("http://169.254.169.254/", "link-local"),
        ("http://0251.0376.0251.0376/", "link-local"),
        ("http://10.0.0.1/", "private"),
        ("http://[fd00::1]/", "private"),
        ("https://192.0.2.1/", "reserved"),
        ("https://224.0.0.1/", "multicast"),
        ("https://255.255.255.255/", "multicast"),
    ] {
        refused(&policy(&[]), url, part);
    }
}

#[test]
fn other_schemes_and_credentials_are_refused() {
    for url in
        ["file:///etc/passwd", "ftp://example.com/", "gopher://example.com/", "data:text/plain,x", "ws://example.com"]
    {
        refused(&policy(&[]), url, "scheme");
    }
    refused(&policy(&[]), "https://api.ok@evil.example/", "user name");
    refused(&policy(&[]), "https://u:p@example.com/", "user name");
    refused(&policy(&[]), "https://:p@example.com/", "user name");
    let secure = EgressPolicy { allow_http: false, ..EgressPolicy::default() };
    refused(&secure, "http://example.com/", "use https");
}

#[test]
fn public_hosts_pass() {
    for url in
        ["https://example.com/", "http://8.8.8.8:8080/x?y", "https://[2606:4700::1111]/", "https://exämple.example/"]
    {
        assert_eq!(policy(&[]).check(&url.parse().unwrap()), Ok(Reach::Public), "{url}");
    }
}

#[test]
fn rules_open_exactly_what_they_name() {
    #[track_caller]
    fn check(rule: &str, url: &str, expected: Option<Reach>) {
        assert_eq!(policy(&[rule]).check(&url.parse().unwrap()).ok(), expected, "{rule} {url}");
    }
    let (public, named) = (Some(Reach::Public), Some(Reach::Named));
    check("127.0.0.1", "http://127.0.0.1:9/", public);
    check("127.0.0.1", "http://0x7f.1:9/", public);
    check("127.0.0.1:80", "http://127.0.0.1/", public);
    check("127.0.0.1:80", "http://127.0.0.1:81/", None);
    check("127.0.0.1", "http://127.0.0.2/", None);
    check("10.0.0.0/8", "http://10.255.0.1/", public);
    check("10.0.0.0/8", "http://11.0.0.1/", public);
    check("10.0.0.0/8", "http://192.168.0.1/", None);
    check("[fd00::7]:8080", "http://[fd00::7]:8080/", public);
    check("[fd00::7]:8080", "http://[fd00::7]/", None);
    check("fd00::/8", "http://[fd12::7]/", public);
    check("localhost", "http://localhost/", named);
    check("localhost", "http://LOCALHOST./", named);
    check("localhost", "http://notlocalhost/", Some(Reach::Public));
    check("localhost:8080", "http://localhost:8081/", Some(Reach::Public));
    check("*.corp.example", "http://a.b.corp.example/", named);
    check("*.corp.example", "http://corp.example/", Some(Reach::Public));
    check("*.corp.example", "http://evilcorp.example/", Some(Reach::Public));
    check("api.ok", "http://api.ok.evil/", Some(Reach::Public));
    check("localhost", "http://127.0.0.1/", None);
}

#[test]
fn resolved_addresses_are_admitted_by_class_rule_and_reach() {
    #[track_caller]
    fn check(rules: &[&str], reach: Reach, address: &str, expected: bool) {
        assert_eq!(policy(rules).admits(reach, address.parse().unwrap()), expected, "{rules:?} {reach:?} {address}");
    }
    check(&[], Reach::Public, "8.8.8.8", true);
    check(&[], Reach::Public, "127.0.0.1", false);
    check(&[], Reach::Named, "127.0.0.1", true);
    check(&[], Reach::Named, "100.64.0.1", true);
    check(&[], Reach::Named, "fd00::1", true);
    check(&[], Reach::Named, "169.254.169.254", false);
    check(&[], Reach::Named, "::ffff:127.0.0.1", false);
    check(&[], Reach::Named, "0.0.0.0", false);
    check(&["169.254.0.0/16"], Reach::Public, "169.254.169.254", true);
    check(&["10.0.0.1:80"], Reach::Public, "10.0.0.1", false);
}

#[test]
fn rules_that_name_nothing_are_refused() {
    for text in
        ["", "*", "*.", "a b", "10.0.0.0/33", "x/8", "host:port", "host:99999", "*.*.example", "http://x", "0x7f.1"]
    {
        let outcome: Result<HostRule, _> = text.parse();
        assert!(outcome.is_err(), "{text}: {outcome:?}");
    }
}
