//! Hosts and URLs in arguments.
//!
//! Hosts are read as browsers read them (WHATWG, through the `url` crate): user names before `@`, trailing dots, case
//! and international names make no difference, and neither does an IPv4 address inside an IPv6 one. A text that other readers understand differently (a backslash, blanks,
//! a user name) is never good enough for letting a call through.

use std::{fmt, net::Ipv6Addr, str::FromStr};

use serde_json::Value;
use url::{Host, Url};

use super::{
    Match, Side,
    walk::{plain_name, texts},
};

/// Which hosts a rule means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRule {
    text: String,
    form: Form,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    Any,
    /// The host and, unless it is an address, its subdomains.
    Host {
        host: String,
        address: bool,
    },
    Subdomains(String),
}

/// A text that is not a host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a host; write a host such as example.com, .example.com for its subdomains only, or *")]
pub struct HostRuleError(String);

impl FromStr for HostRule {
    type Err = HostRuleError;

    /// Reads `example.com` (that host and its subdomains), `.example.com` or `*.example.com` (only the subdomains), an
    /// IP address (exactly that one), or `*`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let trimmed = text.trim();
        let fail = || HostRuleError(text.chars().take(200).collect());
        let form = if trimmed == "*" {
            Form::Any
        } else {
            let below = trimmed.strip_prefix('.').or_else(|| trimmed.strip_prefix("*."));
            let name = below.unwrap_or(trimmed);
            if name.contains(['*', '@', '/', '\\', '?', '#']) {
                return Err(fail());
            }
            let host = Host::parse(name).map_err(|_| fail())?;
            let address = !matches!(host, Host::Domain(_));
            let host = plain(&host.to_string());
            match below {
                _ if host.is_empty() => return Err(fail()),
                Some(_) if address => return Err(fail()),
                Some(_) => Form::Subdomains(host),
                None => Form::Host { host, address },
            }
        };
        Ok(Self { text: trimmed.to_owned(), form })
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A host in the form in which hosts are compared. An IPv4 address that is written as an IPv6 one (`::ffff:10.0.0.1`) is
/// what it leads to.
fn plain(host: &str) -> String {
    let inner = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let mapped = inner.and_then(|text| text.parse::<Ipv6Addr>().ok()).and_then(|address| address.to_ipv4_mapped());
    mapped.map_or_else(|| host.trim_end_matches('.').to_lowercase(), |address| address.to_string())
}

/// The host of a URL, read as in a web address whatever the scheme: other schemes leave it as written.
fn host_of(url: &Url) -> Option<String> {
    let written = url.host_str().filter(|host| !host.is_empty())?;
    let read = Url::parse(&format!("https://{written}/")).ok();
    Some(read.as_ref().and_then(Url::host_str).unwrap_or(written).to_owned())
}

/// Schemes of addresses that a rule may let through.
fn is_web(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https" | "ws" | "wss")
}

impl HostRule {
    /// Whether the rule means this host, as it stands in a parsed URL.
    pub fn matches_host(&self, host: &str) -> bool {
        let host = plain(host);
        let below = |domain: &str| {
            host.strip_suffix(domain).and_then(|rest| rest.strip_suffix('.')).is_some_and(|rest| !rest.is_empty())
        };
        match &self.form {
            Form::Any => true,
            Form::Host { host: name, address } => host == *name || !address && below(name),
            Form::Subdomains(name) => below(name),
        }
    }

    /// Whether the rule means this URL, whatever its scheme: for rules that deny or ask.
    pub fn matches(&self, url: &Url) -> bool {
        host_of(url).is_some_and(|host| self.matches_host(&host))
    }

    /// Whether the rule means this URL and its scheme is one of the web's (`http`, `https`, `ws`, `wss`): for rules that
    /// let through.
    pub fn allows(&self, url: &Url) -> bool {
        is_web(url) && self.matches(url)
    }

    /// For a rule that lets through: whether the call has URLs, all of them are what the rule means, and none can be
    /// read in two ways.
    pub fn covers(&self, arguments: &UrlArguments) -> bool {
        arguments.matches(Side::Grant, &|url| self.matches(url)) == Match::Yes
    }

    /// For a rule that denies or asks: whether any URL of the call is, or may be, what the rule means.
    pub fn touches(&self, arguments: &UrlArguments) -> Match {
        arguments.matches(Side::Restrict, &|url| self.matches(url))
    }
}

/// The URLs in the arguments of a call.
#[derive(Clone, Debug, Default)]
pub struct UrlArguments {
    /// Those that can be read, of any scheme.
    pub urls: Vec<Url>,
    /// Arguments that name a host without being an address (`host: "example.com"`), as the address `https://HOST/`. They
    /// count for rules that deny or ask; beside addresses, a rule that lets through has to mean those with a dot as well.
    pub names: Vec<Url>,
    /// Whether there is one that cannot be read, or that other readers may read otherwise, or the arguments were too
    /// deep or too many.
    pub unclear: bool,
}

impl UrlArguments {
    pub(super) fn matches(&self, side: Side, hit: &dyn Fn(&Url) -> bool) -> Match {
        match side {
            Side::Grant => {
                // A name without a dot need not be a host.
                let names =
                    self.names.iter().filter(|url| url.host_str().is_some_and(|host| host.contains(['.', ':'])));
                let all = self.urls.iter().all(|url| is_web(url) && hit(url)) && { names }.all(hit);
                Match::from_bool(!self.unclear && !self.urls.is_empty() && all)
            }
            Side::Restrict if self.urls.iter().chain(&self.names).any(hit) => Match::Yes,
            Side::Restrict if self.unclear => Match::Uncertain,
            Side::Restrict => Match::No,
        }
    }
}

/// Whether an argument of that name is a URL.
pub fn is_url_name(name: &str) -> bool {
    matches!(
        plain_name(name).as_str(),
        "url"
            | "urls"
            | "uri"
            | "uris"
            | "href"
            | "link"
            | "endpoint"
            | "baseurl"
            | "websiteurl"
            | "pageurl"
            | "targeturl"
    )
}

/// Whether an argument of that name is a host, when its value is one.
fn is_host_name(name: &str) -> bool {
    matches!(
        plain_name(name).as_str(),
        "host"
            | "hosts"
            | "hostname"
            | "hostnames"
            | "domain"
            | "domains"
            | "domainname"
            | "fqdn"
            | "server"
            | "servers"
            | "servername"
            | "webhook"
            | "webhooks"
            | "endpoints"
            | "remotehost"
            | "ip"
            | "ipaddress"
            | "proxy"
            | "origin"
    )
}

/// Schemes whose address is another address; readers open what is inside.
const AROUND: [&str; 7] = ["blob:", "view-source:", "filesystem:", "feed:", "jar:", "url:", "wyciwyg:"];

fn starts_with(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
}

/// Whether a text is an address by its look: `http:` and its like, or any scheme with two slashes.
fn looks_like_url(text: &str) -> bool {
    let scheme = text.split_once("://").is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    });
    scheme || ["http:", "https:", "ws:", "wss:", "ftp:"].iter().any(|start| starts_with(text, start))
}

/// Collects the URLs of a call: every text that starts with a scheme (`https:`, `ws:`, `ftp:`, any with `://`), at any
/// depth, and every argument named like a URL (read with `https://` in front when it has no scheme). An address around
/// another (`blob:`, `view-source:`) is the inner one, and unclear.
pub fn collect_urls(arguments: &Value) -> UrlArguments {
    let mut found = UrlArguments::default();
    let complete = texts(arguments, &mut |key, text| {
        // Browsers drop these, other readers do not.
        let mut trimmed = text.trim_matches(|c: char| c <= ' ');
        while let Some(around) = AROUND.iter().find(|around| starts_with(trimmed, around)) {
            let inner = &trimmed[around.len()..];
            // `url: x` in a text about something else.
            if !looks_like_url(inner) && !AROUND.iter().any(|around| starts_with(inner, around)) {
                break;
            }
            found.unclear = true;
            trimmed = inner;
        }
        if !looks_like_url(trimmed) && (trimmed.is_empty() || !is_url_name(key)) {
            if is_host_name(key) {
                found.names.extend(bare_host(trimmed));
            }
            return;
        }
        let url = match Url::parse(trimmed) {
            // `example.com:8080/x` looks like a scheme.
            Ok(url) if url.host().is_none() && looks_like_port(url.path()) => Url::parse(&format!("https://{trimmed}")),
            Err(url::ParseError::RelativeUrlWithoutBase) => {
                Url::parse(&format!("https://{}", trimmed.trim_start_matches(['/', '\\'])))
            }
            parsed => parsed,
        };
        let ambiguous = trimmed.chars().any(|c| c == '\\' || c.is_control() || c.is_whitespace());
        match url {
            Ok(url) => {
                found.unclear |= ambiguous || !url.username().is_empty() || url.password().is_some();
                found.urls.push(url);
            }
            Err(_) => found.unclear = true,
        }
    });
    found.unclear |= !complete;
    found
}

/// A host as an address, without the user, port and path that may stand beside it.
fn bare_host(text: &str) -> Option<Url> {
    let text = text.trim_start_matches(['/', '\\']);
    let text = text.split(['/', '\\', '?', '#']).next()?;
    let text = text.rsplit('@').next()?;
    if text.parse::<Ipv6Addr>().is_ok() {
        return Url::parse(&format!("https://[{text}]/")).ok();
    }
    let host = match text.strip_prefix('[') {
        Some(rest) => format!("[{}]", rest.split(']').next()?),
        None => text.split(':').next()?.to_owned(),
    };
    // More than a name: a sentence, a list.
    let one = !host.is_empty() && !host.contains(|c: char| c.is_whitespace() || c == ',' || c == '%');
    one.then(|| Url::parse(&format!("https://{host}/")).ok()).flatten()
}

fn looks_like_port(path: &str) -> bool {
    let digits = path.bytes().take_while(u8::is_ascii_digit).count();
    digits > 0 && path[digits..].chars().next().is_none_or(|c| matches!(c, '/' | '?' | '#'))
}

#[cfg(test)]
mod tests;
