use axum::http::Method;

use super::*;

fn guard(configure: impl FnOnce(&mut GatewaySettings)) -> Guard {
    let mut settings = GatewaySettings::default();
    configure(&mut settings);
    Guard::new(&settings, SocketAddr::from(([127, 0, 0, 1], 8080)))
}

#[track_caller]
fn verdict(guard: &Guard, target: &str, headers: &[(&str, &str)], wants: Result<Option<&str>, u16>) {
    let mut builder = Request::builder().method(Method::POST).uri(target);
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    let request = builder.body(axum::body::Body::empty()).unwrap();
    let got = guard.admit(request.uri(), request.headers());
    let got = got.map(|(principal, _)| principal.0).map_err(|refusal| refusal.into_response().status().as_u16());
    assert_eq!(got, wants.map(|name| name.map(Arc::from)), "{headers:?}");
}

#[test]
fn the_host_is_one_that_is_served_with_its_port() {
    let host = |host, wants| verdict(&guard(|_| {}), "/mcp", &[("host", host)], wants);
    for good in ["127.0.0.1:8080", "localhost:8080", "LOCALHOST:8080", "[::1]:8080"] {
        host(good, Ok(None));
    }
    for bad in [
        "evil.test",
        "evil.test:8080",
        "localhost.evil.test:8080",
        "127.0.0.1",
        "127.0.0.1:80",
        "127.0.0.1:08080",
        "localhost.:8080",
        "user@localhost:8080",
        "localhost:8080, evil.test",
        "",
    ] {
        host(bad, Err(403));
    }
    verdict(&guard(|_| {}), "/mcp", &[], Err(400));
    verdict(&guard(|_| {}), "/mcp", &[("host", "localhost:8080"), ("host", "localhost:8080")], Err(400));
    verdict(&guard(|_| {}), "http://localhost:8080/mcp", &[("host", "localhost:8080")], Ok(None));
    verdict(&guard(|_| {}), "http://evil.test/mcp", &[("host", "localhost:8080")], Err(400));
}

#[test]
fn configured_hosts_are_added_to_the_loopback_names() {
    let guard =
        guard(|settings| settings.hosts = vec!["Tools.Example.com".to_owned(), "tools.example.com:8443".to_owned()]);
    for (host, wants) in [
        ("tools.example.com", Ok(None)),
        ("tools.example.com:8443", Ok(None)),
        ("localhost:8080", Ok(None)),
        ("tools.example.com:8080", Err(403)),
        ("x.tools.example.com", Err(403)),
    ] {
        verdict(&guard, "/mcp", &[("host", host)], wants);
    }
}

#[test]
fn web_pages_of_others_are_kept_out() {
    let guard = guard(|settings| settings.origins = vec!["https://app.example.com".to_owned()]);
    let origin = |headers: &[(&str, &str)], wants| {
        let all: Vec<_> = [("host", "localhost:8080")].iter().chain(headers).copied().collect();
        verdict(&guard, "/mcp", &all, wants);
    };
    for good in ["http://localhost:8080", "http://127.0.0.1:8080", "https://app.example.com", "HTTPS://APP.example.com"]
    {
        origin(&[("origin", good)], Ok(None));
    }
    for bad in [
        "null",
        "",
        "http://evil.test",
        "http://localhost",
        "http://localhost:3000",
        "http://localhost:8080/",
        "ftp://localhost:8080",
        "http://app.example.com",
        "https://app.example.com:444",
        "https://app.example.com.evil.test",
    ] {
        origin(&[("origin", bad)], Err(403));
    }
    origin(&[("origin", "http://localhost:8080"), ("origin", "http://localhost:8080")], Err(403));
    for (site, wants) in
        [("same-origin", Ok(None)), ("none", Ok(None)), ("cross-site", Err(403)), ("Cross-Site", Err(403))]
    {
        origin(&[("sec-fetch-site", site)], wants);
    }
}

#[test]
fn a_configured_key_is_needed() {
    let guard = guard(|settings| {
        settings.keys = [("ann", "k-one"), ("bob", "k-two")]
            .map(|(name, secret)| AccessKey::caller(name.to_owned(), secret.to_owned()))
            .to_vec();
    });
    for (header, wants) in [
        ("Bearer k-one", Ok(Some("ann"))),
        ("bearer k-two", Ok(Some("bob"))),
        ("Bearer  k-two", Ok(Some("bob"))),
        ("Bearer k-on", Err(401)),
        ("Bearer k-onee", Err(401)),
        ("Bearer", Err(401)),
        ("Bearer ", Err(401)),
        ("k-one", Err(401)),
        ("Basic k-one", Err(401)),
    ] {
        verdict(&guard, "/mcp", &[("host", "localhost:8080"), ("authorization", header)], wants);
    }
    verdict(&guard, "/mcp", &[("host", "localhost:8080")], Err(401));
    let twice = [("host", "localhost:8080"), ("authorization", "Bearer k-one"), ("authorization", "Bearer k-one")];
    verdict(&guard, "/mcp", &twice, Err(401));
    // The host comes first: a page of another site learns nothing about keys.
    verdict(&guard, "/mcp", &[("host", "evil.test"), ("authorization", "Bearer k-one")], Err(403));
}

#[test]
fn keys_do_not_show() {
    let key = AccessKey::caller("ann".to_owned(), "hunter2".to_owned());
    assert!(!format!("{key:?}").contains("hunter2"));
}

/// An operator's key opens more to whoever shows it, and closes nothing to others.
#[test]
fn operators_are_told_apart() {
    let key = |name: &str| AccessKey::caller(name.to_owned(), format!("secret-{name}"));
    let shown = |callers: &[&str], shown: Option<&str>| {
        let guard = guard(|settings| {
            settings.keys = callers.iter().map(|name| key(name)).collect();
            settings.operator_keys = vec![AccessKey::operator("operator", "secret-operator")];
        });
        let mut headers = HeaderMap::new();
        headers.insert("host", HeaderValue::from_static("localhost:8080"));
        if let Some(shown) = shown {
            headers.insert("authorization", format!("Bearer secret-{shown}").parse().unwrap());
        }
        let admitted = guard.admit(&Uri::from_static("/v1/calls"), &headers);
        admitted
            .ok()
            .map(|(principal, scopes)| (principal.0.as_deref().map(str::to_owned), scopes.has(KeyScope::Approve)))
    };
    let named = |name: &str, operator| Some((Some(name.to_owned()), operator));
    assert_eq!(shown(&["ann"], Some("ann")), named("ann", false));
    assert_eq!(shown(&["ann"], Some("operator")), named("operator", true));
    assert_eq!(shown(&["ann"], Some("bob")), None);
    assert_eq!(shown(&["ann"], None), None);
    assert_eq!(shown(&[], Some("operator")), named("operator", true));
    assert_eq!(shown(&[], Some("bob")), Some((None, false)));
    assert_eq!(shown(&[], None), Some((None, false)));
}
