//! Name resolution that hands the connector checked addresses only.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use toolcrib_engine::BoxFuture;

use super::{
    address::{AddressClass, classify},
    policy::{EgressPolicy, Reach},
};

/// Turns a host name into addresses. The guard checks what comes back.
pub trait Lookup: Send + Sync + 'static {
    /// All addresses of `host`.
    fn lookup<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The operating system's resolution (hosts file, DNS, …).
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemLookup;

impl Lookup for SystemLookup {
    fn lookup<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move { Ok(tokio::net::lookup_host((host, 0)).await?.map(|address| address.ip()).collect()) })
    }
}

/// A name that leads to no address that may be reached.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{host} resolves to {address}, which is not a public address ({class})")]
pub(crate) struct Blocked {
    pub(crate) host: String,
    pub(crate) address: IpAddr,
    pub(crate) class: AddressClass,
}

pub(crate) struct GuardedResolver {
    pub(crate) policy: Arc<EgressPolicy>,
    pub(crate) reach: Reach,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (policy, reach) = (self.policy.clone(), self.reach);
        Box::pin(async move {
            let host = name.as_str();
            let found = policy.lookup.lookup(host).await?;
            // Refused addresses are dropped rather than failing the name: a network with NAT64 adds one to every
            // answer, and only what stays is connected to.
            let (admitted, refused): (Vec<_>, Vec<_>) =
                found.into_iter().partition(|address| policy.admits(reach, *address));
            match (admitted.is_empty(), refused.first()) {
                (false, _) => {
                    let addresses: Addrs = Box::new(admitted.into_iter().map(|address| SocketAddr::new(address, 0)));
                    Ok(addresses)
                }
                (true, Some(address)) => {
                    Err(Blocked { host: host.to_owned(), address: *address, class: classify(*address) }.into())
                }
                (true, None) => Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address").into()),
            }
        })
    }
}
