//! Where requests go, and what all of them carry.

use std::time::Duration;

use reqwest::{
    Client, Method, RequestBuilder,
    header::{ACCEPT_ENCODING, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue},
    redirect,
};
use url::{Host, Url};

use super::super::tls;

// Set by us or by the HTTP library; a configured value could make header and body disagree (T20).
const RESERVED: [&str; 12] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "last-event-id",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// An address with its client. Cheap to clone.
#[derive(Clone)]
pub(in super::super) struct Target {
    client: Client,
    url: Url,
    headers: HeaderMap,
}

impl Target {
    /// Checks the settings. An error is permanent: it names what to correct and no secret.
    pub(in super::super) fn new(
        url: &str,
        headers: &[(String, String)],
        bearer: Option<&str>,
        connect: Duration,
    ) -> Result<Self, String> {
        let url = Url::parse(url).map_err(|error| format!("the address is no URL ({error}); correct 'url'"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("the address has scheme '{}'; use http or https", url.scheme()));
        }
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let lower = name.to_ascii_lowercase();
            if RESERVED.contains(&lower.as_str()) || lower.starts_with("mcp-") {
                return Err(format!("header '{lower}' belongs to the protocol; remove it from 'headers'"));
            }
            let name = HeaderName::try_from(lower.as_str())
                .map_err(|_| format!("'{lower}' is no header name; correct 'headers'"))?;
            map.append(name, secret_value(value).ok_or_else(|| {
                format!("the value of header '{lower}' cannot be sent (line break or control character); correct 'headers'")
            })?);
        }
        if let Some(bearer) = bearer {
            let value = secret_value(&format!("Bearer {bearer}"))
                .ok_or("the bearer token cannot be sent (line break or control character); correct it")?;
            map.insert(AUTHORIZATION, value);
        }
        // What is not compressed cannot be a compression bomb (T17).
        map.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));

        let tls = tls::client_config(url.scheme() == "https")
            .map_err(|error| format!("the platform's certificates cannot be used: {error}"))?;
        let mut client = Client::builder()
            .tls_backend_preconfigured(tls)
            .user_agent(concat!("toolcrib/", env!("CARGO_PKG_VERSION")))
            // Credentials must not travel to wherever a server points.
            .redirect(redirect::Policy::none())
            .referer(false)
            .retry(reqwest::retry::never())
            .connect_timeout(connect)
            .tcp_keepalive(Duration::from_mins(1));
        if is_loopback(&url) {
            client = client.no_proxy();
        }
        let client = client.build().map_err(|error| format!("no HTTP client: {error}"))?;
        Ok(Self { client, url, headers: map })
    }

    /// A request with the configured headers.
    pub(super) fn request(&self, method: Method) -> RequestBuilder {
        self.client.request(method, self.url.clone()).headers(self.headers.clone())
    }
}

fn secret_value(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refuses(url: &str, header: (&str, &str), reason: &str) {
        let headers = [(header.0.to_owned(), header.1.to_owned())];
        let error = Target::new(url, &headers, None, Duration::from_secs(1)).err().unwrap();
        assert!(error.contains(reason) && !error.contains("s3cret"), "{error}");
    }

    #[test]
    fn settings_that_cannot_work_are_explained() {
        refuses("not a url", ("x", "y"), "no URL");
        refuses("file:///etc/passwd", ("x", "y"), "scheme 'file'");
        for name in
            ["Mcp-Session-Id", "MCP-Protocol-Version", "mcp-param-x", "Host", "Content-Length", "Accept-Encoding"]
        {
            refuses("http://127.0.0.1/mcp", (name, "s3cret"), "belongs to the protocol");
        }
        refuses("http://127.0.0.1/mcp", ("bad name", "s3cret"), "no header name");
        refuses("http://127.0.0.1/mcp", ("x-key", "s3cret\r\nX: y"), "cannot be sent");
        assert!(Target::new("https://example.com/mcp", &[], Some("t"), Duration::from_secs(1)).is_ok());
    }
}
