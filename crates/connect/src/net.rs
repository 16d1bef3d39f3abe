//! The egress guard: the only way out for built-in tools and connectors.
//!
//! What it holds (threats T8 and T17 of the security reference):
//! - only `http` and `https`, never with a user or password in the address;
//! - the address that was checked is the one connected to: names are resolved by the guard itself and everything that
//!   is not publicly routable is dropped, so an answer that changes between check and use gains nothing;
//! - literal addresses in any notation are checked in their parsed form;
//! - each redirect passes the same checks; at most [`EgressPolicy::max_redirects`]; headers that may hold credentials
//!   and bodies never follow to another origin; where somebody allowed a host, redirects to another one are not followed
//!   ([`EgressClient::fetch_from_host`]);
//! - no proxy is taken from the environment, nothing is decompressed, bytes and time are capped.
//!
//! A private host is reachable only if configuration names it ([`HostRule`]).

mod address;
mod client;
mod policy;
mod resolver;
mod tls;

pub use address::{AddressClass, classify};
pub use client::{EgressClient, EgressError, Fetched, client};
pub use policy::{EgressPolicy, HostRule, HostRuleError, UrlRefusal};
pub use resolver::{Lookup, SystemLookup};
