//! Where requests may be sent whose address others have chosen. Whoever may name one has this server talk to it, from
//! behind whatever firewall it stands: so it must be a public one, by https and to a port of the web, unless the operator
//! has allowed it.
//!
//! This decides about URLs and addresses and does not look anything up. A host is judged by all addresses that its name
//! stands for, at the moment when they are connected to: a name may stand for others a minute later.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use ureq::http::Uri;

/// Longest URL in bytes.
const MAX_URL: usize = 2048;
/// Where receivers listen on the internet.
const PORTS: [u16; 2] = [443, 8443];

/// Why nothing is sent to a URL. No address stands in it, and a name that is not known is not told from one of an internal
/// network: whoever reads it need not know which there are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("{0}")]
    InvalidUrl(&'static str),
    #[error("`{host}` has no public address; check the name, or have the operator allow it with the setting {setting}")]
    NotPublic { host: String, setting: &'static str },
    #[error(
        "public addresses are reached by https, at port 443 or 8443; others are allowed by the operator, with the \
         setting {setting} and the host's name"
    )]
    Insecure { setting: &'static str },
}

impl Refusal {
    /// Stable, machine-readable reason.
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidUrl(_) => "invalid_url",
            Self::NotPublic { .. } => "no_public_address",
            Self::Insecure { .. } => "insecure_url",
        }
    }
}

/// An entry of the operator's list that is neither a network nor a host name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is neither a network such as 10.0.0.0/8 nor a host name")]
pub struct InvalidEntry(String);

/// A network or a host that the operator has allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Allowed {
    Network(IpAddr, u8),
    Host(String),
}

/// Decides where requests may be sent.
#[derive(Clone, Debug)]
pub struct Guard {
    allowed: Arc<[Allowed]>,
    /// What the operator writes its entries into.
    setting: &'static str,
}

/// The host and the port that a URL names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// In brackets when it is an IPv6 address.
    pub host: String,
    pub port: u16,
    pub is_https: bool,
}

impl Target {
    /// Reads an absolute http or https URL.
    pub fn of(url: &str) -> Result<Self, Refusal> {
        let invalid = |detail| Err(Refusal::InvalidUrl(detail));
        if url.len() > MAX_URL || url.contains('#') {
            return invalid("a URL has at most 2048 bytes and no fragment");
        }
        let Ok(uri) = url.parse::<Uri>() else {
            return invalid("not a URL; write names of other scripts in their ASCII form (xn--...)");
        };
        let (is_https, default) = match uri.scheme_str() {
            Some("https") => (true, 443),
            Some("http") => (false, 80),
            _ => return invalid("a URL begins with https:// or http://"),
        };
        let Some(authority) = uri.authority() else { return invalid("the URL names no host") };
        if authority.as_str().contains('@') {
            return invalid("a URL holds no user and no password; receivers check the signature instead");
        }
        let host = authority.host();
        let after_host = authority.as_str().strip_prefix(host).unwrap_or_default();
        let port = match after_host.strip_prefix(':') {
            None if after_host.is_empty() => default,
            Some(port) => port.parse().unwrap_or(0),
            None => 0,
        };
        if host.is_empty() || port == 0 {
            return invalid("the URL names no host, or a port that there is not");
        }
        Ok(Self { host: host.to_owned(), port, is_https })
    }
}

impl Guard {
    /// Public addresses and what `entries` of the operator's `setting` allow besides: networks (`10.0.0.0/8`), addresses
    /// and host names.
    pub fn new(entries: &[String], setting: &'static str) -> Result<Self, InvalidEntry> {
        let allowed: Result<Arc<[Allowed]>, InvalidEntry> =
            entries.iter().map(|entry| entry.trim()).filter(|entry| !entry.is_empty()).map(allowed).collect();
        Ok(Self { allowed: allowed?, setting })
    }

    /// What is said of a target whose addresses are not known, or not to be told.
    pub fn not_public(&self, target: &Target) -> Refusal {
        Refusal::NotPublic { host: target.host.clone(), setting: self.setting }
    }

    /// Refuses a target unless all addresses of its host may be sent to.
    pub fn admit(&self, target: &Target, addresses: impl IntoIterator<Item = IpAddr>) -> Result<(), Refusal> {
        let by_name = self.allowed.iter().any(|entry| match entry {
            Allowed::Host(name) => name.eq_ignore_ascii_case(target.host.trim_end_matches('.')),
            Allowed::Network(..) => false,
        });
        let (mut any, mut public) = (false, false);
        for address in addresses {
            any = true;
            if by_name || self.allows(address) {
                continue;
            }
            public = true;
            if !is_global(address) {
                return Err(self.not_public(target));
            }
        }
        match (any, public) {
            (false, _) => Err(self.not_public(target)),
            (true, true) if !target.is_https || !PORTS.contains(&target.port) => {
                Err(Refusal::Insecure { setting: self.setting })
            }
            (true, _) => Ok(()),
        }
    }

    fn allows(&self, address: IpAddr) -> bool {
        self.allowed.iter().any(|entry| match entry {
            Allowed::Network(network, bits) => contains(*network, *bits, address.to_canonical()),
            Allowed::Host(_) => false,
        })
    }
}

fn allowed(entry: &str) -> Result<Allowed, InvalidEntry> {
    let invalid = || InvalidEntry(entry.to_owned());
    let (address, bits) = entry.split_once('/').map_or((entry, None), |(address, bits)| (address, Some(bits)));
    if let Ok(address) = address.parse::<IpAddr>() {
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), |bits| bits.parse().map_err(|_| invalid()))?;
        return if bits <= most { Ok(Allowed::Network(address, bits)) } else { Err(invalid()) };
    }
    let plain = entry.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '.');
    if plain { Ok(Allowed::Host(entry.trim_end_matches('.').to_owned())) } else { Err(invalid()) }
}

/// Whether the first `bits` of a network and of an address are the same.
fn contains(network: IpAddr, bits: u8, address: IpAddr) -> bool {
    let same = |a: u128, b: u128, width: u32| {
        let rest = width - u32::from(bits);
        rest == width || a >> rest == b >> rest
    };
    match (network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) => same(network.to_bits().into(), address.to_bits().into(), 32),
        // A shift by all 128 bits is the one that `same` avoids.
        (IpAddr::V6(network), IpAddr::V6(address)) => same(network.to_bits(), address.to_bits(), 128),
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
    }
}

/// Networks of IPv4 that are not global unicast: the special-purpose registry of IANA, multicast and class E.
const V4_REFUSED: &[([u8; 4], u8)] = &[
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 88, 99, 0], 24),
    ([192, 168, 0, 0], 16),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    ([224, 0, 0, 0], 4),
    ([240, 0, 0, 0], 4),
];

/// Networks within 2000::/3, all that is global unicast of IPv6, that are not: those of protocols (Teredo among them)
/// and of documentation.
const V6_REFUSED: &[([u16; 8], u8)] = &[
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23),
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32),
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20),
];

/// Whether anyone on the internet could reach the address.
pub fn is_global(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => !V4_REFUSED.iter().any(|(network, bits)| {
            let network = IpAddr::V4(Ipv4Addr::from(*network));
            contains(network, *bits, IpAddr::V4(v4))
        }),
        IpAddr::V6(v6) => is_global_v6(v6),
    }
}

fn is_global_v6(address: Ipv6Addr) -> bool {
    let embedded = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        is_global(IpAddr::V4(Ipv4Addr::new(a, b, c, d)))
    };
    match address.segments() {
        // ::ffff:0:0/96 is IPv4 written as IPv6, and 64:ff9b::/96 is IPv4 behind a translator.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        // 6to4 carries packets to the IPv4 address within.
        [0x2002, high, low, ..] => embedded(high, low),
        [first, ..] => {
            first >> 13 == 1
                && !V6_REFUSED
                    .iter()
                    .any(|(network, bits)| contains(IpAddr::V6(Ipv6Addr::from(*network)), *bits, IpAddr::V6(address)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(entries: &[&str]) -> Guard {
        Guard::new(&entries.iter().map(|entry| (*entry).to_owned()).collect::<Vec<_>>(), "a_setting").unwrap()
    }

    #[test]
    fn only_global_unicast_addresses_are_public() {
        let public = "1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.1 \
            169.253.255.255 172.15.255.255 172.32.0.0 192.0.1.0 192.167.255.255 192.169.0.0 198.17.255.255 \
            198.20.0.0 223.255.255.255 2606:4700:4700::1111 2001:4860:4860::8888 2a00:1450::1 ::ffff:8.8.8.8 \
            64:ff9b::808:808 2002:808:808::1";
        let private = "0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.254 \
            169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.8 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 \
            198.19.255.255 198.51.100.7 203.0.113.9 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 :: ::1 \
            ::7f00:1 ::808:808 ::ffff:127.0.0.1 ::ffff:10.1.2.3 64:ff9b::7f00:1 64:ff9b::a00:1 64:ff9b:1::1 100::1 \
            2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:2::1 2001:10::1 2001:20::1 2001:db8::1 2002:7f00:1::1 \
            2002:a9fe:a9fe:: 3fff::1 4000::1 5f00::1 fc00::1 fd12::1 fe80::1 fec0::1 ff02::1";
        for (addresses, expected) in [(public, true), (private, false)] {
            for text in addresses.split_whitespace() {
                assert_eq!(is_global(text.parse().unwrap()), expected, "{text}");
            }
        }
    }

    #[test]
    fn one_private_address_among_many_is_enough_to_refuse() {
        let addresses = ["1.1.1.1", "10.0.0.1"].map(|text| text.parse::<IpAddr>().unwrap());
        let target = |url| Target::of(url).unwrap();
        let refused = guard(&[]).admit(&target("https://example.org"), addresses).unwrap_err();
        assert_eq!(refused.code(), "no_public_address");
        assert!(!refused.to_string().contains("10.0.0.1"));
        let unknown = guard(&[]).admit(&target("https://example.org"), []);
        assert_eq!(unknown, Err(refused), "nobody learns which names are known");
        for (url, allowed, expected) in [
            ("https://example.org/", "ci.internal", Ok(())),
            ("https://example.org:8443/", "ci.internal", Ok(())),
            ("https://example.org:6379/", "ci.internal", Err(Refusal::Insecure { setting: "a_setting" })),
            ("http://example.org/", "ci.internal", Err(Refusal::Insecure { setting: "a_setting" })),
            ("http://example.org:81/", "example.org", Ok(())),
        ] {
            assert_eq!(guard(&[allowed]).admit(&target(url), addresses[..1].to_vec()), expected, "{url}");
        }
    }

    #[test]
    fn the_operator_allows_networks_and_hosts_and_nothing_beside_them() {
        for (entry, host, address, expected) in [
            ("127.0.0.1/32", "localhost", "127.0.0.1", true),
            ("127.0.0.1/32", "localhost", "::ffff:127.0.0.1", true),
            ("127.0.0.1/32", "localhost", "127.0.0.2", false),
            ("127.0.0.1", "localhost", "::1", false),
            ("10.1.0.0/16", "a", "10.1.255.255", true),
            ("10.1.0.0/16", "a", "10.2.0.0", false),
            ("0.0.0.0/0", "a", "10.2.0.0", true),
            ("::/0", "a", "fd00::1", true),
            ("::/0", "a", "10.2.0.0", false),
            ("fd00::/8", "a", "fdff::1", true),
            ("fd00::/8", "a", "fe80::1", false),
            ("ci.internal", "CI.internal.", "10.0.0.1", true),
            ("ci.internal", "ci.internal.example.org", "10.0.0.1", false),
        ] {
            let address: IpAddr = address.parse().unwrap();
            let target = Target { host: host.to_owned(), port: 443, is_https: true };
            assert_eq!(guard(&[entry]).admit(&target, [address]).is_ok(), expected, "{entry} {host} {address}");
        }
        for wrong in ["10.0.0.0/33", "10.0.0.0/x", "a/8", "http://a", "::/129"] {
            assert!(Guard::new(&[wrong.to_owned()], "a_setting").is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_url_names_a_host_over_http_and_no_user() {
        for (url, host, port) in [
            ("https://example.org/hook?a=b", "example.org", 443),
            ("http://example.org", "example.org", 80),
            ("https://example.org:8443/", "example.org", 8443),
            ("http://[2606:4700::1]:81/", "[2606:4700::1]", 81),
        ] {
            let is_https = url.starts_with("https");
            assert_eq!(Target::of(url), Ok(Target { host: host.to_owned(), port, is_https }), "{url}");
        }
        let long = format!("https://example.org/{}", "a".repeat(2048));
        for url in [
            "",
            "example.org",
            "/hook",
            "ftp://example.org",
            "file:///etc/passwd",
            "https://",
            "https://user@example.org",
            "https://user:pass@example.org/",
            "https://example.org:0/",
            "https://example.org:99999/",
            "https://example.org:/",
            "https://example.org/#a",
            "https://exam ple.org/",
            "https://exämple.org/",
            &long,
        ] {
            assert_eq!(Target::of(url).map_err(|refusal| refusal.code()), Err("invalid_url"), "{url}");
        }
    }
}
