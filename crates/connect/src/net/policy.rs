//! What may be reached: the policy, rules that name private hosts, and the check of one address.

use std::{fmt, net::IpAddr, str::FromStr, sync::Arc, time::Duration};

use url::{Host, Url};

use super::{
    address::{AddressClass, classify},
    resolver::{Lookup, SystemLookup},
};

/// What outgoing requests may do.
#[derive(Clone)]
pub struct EgressPolicy {
    /// Whether plain `http` is allowed besides `https`. Default true.
    pub allow_http: bool,
    /// Hosts that may be reached although they are not public. Default none.
    pub private_hosts: Vec<HostRule>,
    /// Redirects followed before giving up. Default 5.
    pub max_redirects: usize,
    /// Bytes of a body that are read; the rest is left. Default 5 MiB.
    pub max_bytes: usize,
    /// Time for resolving and connecting. Default 10 s.
    pub connect_timeout: Duration,
    /// Time for the whole exchange, redirects and body included. Default 30 s.
    pub timeout: Duration,
    /// The `User-Agent` sent.
    pub user_agent: String,
    /// How names are resolved. Default: as the operating system does.
    pub lookup: Arc<dyn Lookup>,
}

impl Default for EgressPolicy {
    fn default() -> Self {
        Self {
            allow_http: true,
            private_hosts: Vec::new(),
            max_redirects: 5,
            max_bytes: 5 * 1024 * 1024,
            connect_timeout: Duration::from_secs(10),
            timeout: Duration::from_secs(30),
            user_agent: concat!("toolcrib/", env!("CARGO_PKG_VERSION")).to_owned(),
            lookup: Arc::new(SystemLookup),
        }
    }
}

impl fmt::Debug for EgressPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EgressPolicy")
            .field("allow_http", &self.allow_http)
            .field("private_hosts", &self.private_hosts)
            .field("max_redirects", &self.max_redirects)
            .field("max_bytes", &self.max_bytes)
            .field("connect_timeout", &self.connect_timeout)
            .field("timeout", &self.timeout)
            .field("user_agent", &self.user_agent)
            .finish_non_exhaustive()
    }
}

/// Names hosts that may be reached although they are not public.
///
/// Text forms, each but the range with an optional `:PORT`: a name (`intranet.example`), names below a suffix
/// (`*.corp.example`), an address (`10.0.0.7`, `[fd00::7]:8080`), a range (`10.0.0.0/8`).
///
/// A rule by name opens loopback and private networks for that name; link-local addresses (where clouds keep
/// credentials) open only when an address or range names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRule {
    target: Target,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    Name(String),
    Below(String),
    Range(IpAddr, u8),
}

/// A text that is no [`HostRule`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' names no host: use a name, *.SUFFIX, an address, each with an optional :PORT, or a range such as 10.0.0.0/8"
)]
pub struct HostRuleError(String);

impl FromStr for HostRule {
    type Err = HostRuleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fail = || HostRuleError(text.chars().take(200).collect());
        if let Some((base, bits)) = text.split_once('/') {
            let base: IpAddr = base.parse().map_err(|_| fail())?;
            let bits: u8 = bits.parse().map_err(|_| fail())?;
            let target = Target::Range(base, bits);
            return if bits <= width(base) { Ok(Self { target, port: None }) } else { Err(fail()) };
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self { target: Target::Range(address, width(address)), port: None });
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse::<u16>().map_err(|_| fail())?)),
            None => (text, None),
        };
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
        if let Ok(address) = bare.parse::<IpAddr>() {
            return Ok(Self { target: Target::Range(address, width(address)), port });
        }
        let (below, name) = host.strip_prefix("*.").map_or((false, host), |suffix| (true, suffix));
        let name = match Host::parse(name) {
            Ok(Host::Domain(name)) => canonical_name(&name),
            Ok(Host::Ipv4(_) | Host::Ipv6(_)) | Err(_) => return Err(fail()),
        };
        if name.contains('*') || name.is_empty() {
            return Err(fail());
        }
        Ok(Self { target: if below { Target::Below(name) } else { Target::Name(name) }, port })
    }
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn canonical_name(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

impl HostRule {
    fn names(&self, host: &str) -> bool {
        match &self.target {
            Target::Name(name) => name == host,
            Target::Below(suffix) => host.strip_suffix(suffix.as_str()).is_some_and(|rest| rest.ends_with('.')),
            Target::Range(..) => false,
        }
    }

    fn holds(&self, address: IpAddr) -> bool {
        let Target::Range(base, bits) = self.target else { return false };
        match (base, address) {
            (IpAddr::V4(base), IpAddr::V4(address)) => {
                same_prefix(u128::from(base.to_bits()) << 96, u128::from(address.to_bits()) << 96, bits)
            }
            (IpAddr::V6(base), IpAddr::V6(address)) => same_prefix(base.to_bits(), address.to_bits(), bits),
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }

    fn takes_port(&self, port: u16) -> bool {
        self.port.is_none_or(|own| own == port)
    }
}

fn same_prefix(left: u128, right: u128, bits: u8) -> bool {
    bits == 0 || (left ^ right) >> (128 - u32::from(bits)) == 0
}

/// How a name that passed [`EgressPolicy::check`] is resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Public addresses and named ranges only.
    Public,
    /// A rule names the host: private networks too.
    Named,
}

/// Why an address is not requested at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlRefusal {
    /// Not `http` or `https`.
    #[error("the scheme '{0}' is not allowed; use https")]
    Scheme(String),
    /// A user or password before the host: credentials belong in headers, and it is how addresses are disguised.
    #[error("the address holds a user name or password before the host; remove it")]
    Credentials,
    /// No host.
    #[error("the address has no host")]
    NoHost,
    /// A host that may not be reached.
    #[error(
        "{host} is not a public address ({class}); only hosts named in builtin.fetch.allow_hosts may be reached there"
    )]
    Address {
        /// The host as the request had it.
        host: String,
        /// Why it is refused.
        class: AddressClass,
    },
}

impl EgressPolicy {
    /// Checks an address before it is requested: scheme, credentials, literal addresses. Names are checked when they
    /// are resolved.
    pub(crate) fn check(&self, url: &Url) -> Result<Reach, UrlRefusal> {
        match url.scheme() {
            "https" => {}
            "http" if self.allow_http => {}
            other => return Err(UrlRefusal::Scheme(other.to_owned())),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(UrlRefusal::Credentials);
        }
        let port = url.port_or_known_default().unwrap_or(0);
        let literal = |address: IpAddr| {
            let class = classify(address);
            let named = self.private_hosts.iter().any(|rule| rule.holds(address) && rule.takes_port(port));
            if class == AddressClass::Public || named {
                Ok(Reach::Public)
            } else {
                Err(UrlRefusal::Address { host: address.to_string(), class })
            }
        };
        match url.host().ok_or(UrlRefusal::NoHost)? {
            Host::Ipv4(address) => literal(address.into()),
            Host::Ipv6(address) => literal(address.into()),
            Host::Domain(name) => {
                let name = canonical_name(name);
                if name.is_empty() {
                    return Err(UrlRefusal::NoHost);
                }
                let named = self.private_hosts.iter().any(|rule| rule.names(&name) && rule.takes_port(port));
                Ok(if named { Reach::Named } else { Reach::Public })
            }
        }
    }

    /// Whether a name of this reach may be connected to at this address.
    pub(crate) fn admits(&self, reach: Reach, address: IpAddr) -> bool {
        match (classify(address), reach) {
            (AddressClass::Public, _) | (AddressClass::Loopback | AddressClass::Private, Reach::Named) => true,
            _ => self.private_hosts.iter().any(|rule| rule.port.is_none() && rule.holds(address)),
        }
    }
}

#[cfg(test)]
mod tests;
