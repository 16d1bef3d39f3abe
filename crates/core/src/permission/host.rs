//! Hosts and URLs in arguments.
//!
//! Hosts are read as browsers read them (WHATWG, through the `url` crate): user names before `@`, trailing dots, case
//! and international names make no difference. A text that other readers understand differently (a backslash, blanks,
//! a user name) is never good enough for letting a call through.

use std::{fmt, str::FromStr};

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

fn plain(host: &str) -> String {
    host.trim_end_matches('.').to_lowercase()
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

    /// Whether the rule means this URL; only `http` and `https` ever are.
    pub fn matches(&self, url: &Url) -> bool {
        matches!(url.scheme(), "http" | "https") && url.host_str().is_some_and(|host| self.matches_host(host))
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
    /// Whether there is one that cannot be read, or that other readers may read otherwise, or the arguments were too
    /// deep or too many.
    pub unclear: bool,
}

impl UrlArguments {
    pub(super) fn matches(&self, side: Side, hit: &dyn Fn(&Url) -> bool) -> Match {
        match side {
            Side::Grant => Match::from_bool(!self.unclear && !self.urls.is_empty() && self.urls.iter().all(hit)),
            Side::Restrict if self.urls.iter().any(hit) => Match::Yes,
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

/// Collects the URLs of a call: every text that starts with `http:` or `https:`, at any depth, and every argument named
/// like a URL (read with `https://` in front when it has no scheme).
pub fn collect_urls(arguments: &Value) -> UrlArguments {
    let mut found = UrlArguments::default();
    let complete = texts(arguments, &mut |key, text| {
        // Browsers drop these, other readers do not.
        let trimmed = text.trim_matches(|c: char| c <= ' ');
        let web = ["http:", "https:"]
            .iter()
            .any(|scheme| trimmed.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
        if !web && (trimmed.is_empty() || !is_url_name(key)) {
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

fn looks_like_port(path: &str) -> bool {
    let digits = path.bytes().take_while(u8::is_ascii_digit).count();
    digits > 0 && path[digits..].chars().next().is_none_or(|c| matches!(c, '/' | '?' | '#'))
}

#[cfg(test)]
mod tests;
