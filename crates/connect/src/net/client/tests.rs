use super::*;

#[track_caller]
fn stays(from: &str, to: &str, want: bool) {
    let (from, to) = (Url::parse(from).unwrap(), Url::parse(from).unwrap().join(to).unwrap());
    assert_eq!(is_same_host(&from, &to), want, "{from} to {to}");
}

#[test]
fn what_counts_as_the_same_host() {
    stays("https://a.example/x", "/y?z", true);
    stays("https://a.example/x", "https://A.example:443/y", true);
    stays("http://a.example/x", "https://a.example/y", true);
    stays("http://a.example:80/x", "https://a.example:443/y", true);
    stays("http://127.1:8080/", "http://127.0.0.1:8080/x", true);
    stays("https://a.example/x", "http://a.example/y", false);
    stays("http://a.example:8080/x", "https://a.example/y", false);
    stays("http://a.example/x", "https://a.example:8443/y", false);
    stays("http://a.example/x", "http://a.example:9000/y", false);
    stays("https://a.example/x", "https://www.a.example/y", false);
    stays("https://a.example/x", "https://a.example.evil.example/y", false);
    stays("https://a.example/x", "//b.example/y", false);
    stays("https://a.example/x", "file:///etc/passwd", false);
}
