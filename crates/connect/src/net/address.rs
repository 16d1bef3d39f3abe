//! Which addresses are publicly routable, and what the others are.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

/// What kind of network an address belongs to (the IANA special-purpose registries for IPv4 and IPv6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressClass {
    /// Reachable by anybody.
    Public,
    /// This machine.
    Loopback,
    /// A private network, a carrier's shared space, or unique-local IPv6.
    Private,
    /// One network segment; also where cloud machines find their metadata service.
    LinkLocal,
    /// Group addresses and broadcast.
    Multicast,
    /// The unspecified address and the rest of "this network".
    Unspecified,
    /// IPv6 forms that carry an IPv4 address and so might lead anywhere: mapped, compatible, NAT64, 6to4, Teredo.
    Embedded,
    /// Documentation, benchmarks, reserved and unassigned space.
    Reserved,
}

impl fmt::Display for AddressClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Public => "public",
            Self::Loopback => "loopback",
            Self::Private => "private",
            Self::LinkLocal => "link-local",
            Self::Multicast => "multicast",
            Self::Unspecified => "unspecified",
            Self::Embedded => "an IPv4 address inside an IPv6 one",
            Self::Reserved => "reserved",
        })
    }
}

/// The class of an address.
pub fn classify(address: IpAddr) -> AddressClass {
    match address {
        IpAddr::V4(address) => classify_v4(address),
        IpAddr::V6(address) => classify_v6(address),
    }
}

fn classify_v4(address: Ipv4Addr) -> AddressClass {
    match address.octets() {
        [0, ..] => AddressClass::Unspecified,
        [127, ..] => AddressClass::Loopback,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => AddressClass::Private,
        [169, 254, ..] => AddressClass::LinkLocal,
        [224..=239, ..] | [255, 255, 255, 255] => AddressClass::Multicast,
        [192, 0, 0 | 2, _]
        | [192, 88, 99, _]
        | [198, 18 | 19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _]
        | [240..=255, ..] => AddressClass::Reserved,
        _ => AddressClass::Public,
    }
}

fn classify_v6(address: Ipv6Addr) -> AddressClass {
    if address.is_loopback() {
        return AddressClass::Loopback;
    }
    if address.is_unspecified() {
        return AddressClass::Unspecified;
    }
    match address.segments() {
        // Compatible (::a.b.c.d), mapped (::ffff:0:0/96), translated (::ffff:0:0:0/96); NAT64 in both prefixes; 6to4;
        // Teredo.
        [0, 0, 0, 0, 0, ..] | [0, 0, 0, 0, 0xffff, 0, ..] | [0x64, 0xff9b, ..] | [0x2002, ..] | [0x2001, 0, ..] => {
            AddressClass::Embedded
        }
        [0xff00..=0xffff, ..] => AddressClass::Multicast,
        // Link-local and the abandoned site-local.
        [0xfe80..=0xfeff, ..] => AddressClass::LinkLocal,
        [0xfc00..=0xfdff, ..] => AddressClass::Private,
        // Protocol assignments (benchmarks, ORCHID, …) and documentation inside the global range.
        [0x2001, 1..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => AddressClass::Reserved,
        [0x2000..=0x3fff, ..] => AddressClass::Public,
        _ => AddressClass::Reserved,
    }
}

#[cfg(test)]
mod tests;
