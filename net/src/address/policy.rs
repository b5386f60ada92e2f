//! What the user says about networks: which to use, which not, and which ports.
//!
//! `OXMPI_NET_INCLUDE` and `OXMPI_NET_EXCLUDE` hold networks (`10.1.0.0/16`, `fd00::/8`, one
//! address) and interface names (`eth0`), separated by commas; `OXMPI_PORT_RANGE` holds `5000-5100`
//! or one port. [`super::offered`] and [`super::order`] apply them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use oxmpi_settings as settings;

use super::Interface;

/// The variable with what is used, and nothing else then.
pub const INCLUDE: &str = settings::NET_INCLUDE.name;
/// The variable with what is not used.
pub const EXCLUDE: &str = settings::NET_EXCLUDE.name;
/// The variable with the ports that processes listen on.
pub const PORT_RANGE: &str = settings::PORT_RANGE.name;

/// Longest name of an interface (IFNAMSIZ without its end).
const NAME_MAX: usize = 15;

/// A network: an address and how many of its leading bits count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    network: IpAddr,
    prefix: u8,
}

impl Cidr {
    /// The network of `address`. Bits behind the prefix are dropped, and so is what a prefix has
    /// too much.
    pub fn new(address: IpAddr, prefix: u8) -> Cidr {
        let prefix = prefix.min(bits(address));
        let network = match address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & mask))
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
            }
        };
        Cidr { network, prefix }
    }

    /// Whether the address lies in it.
    pub fn contains(&self, address: IpAddr) -> bool {
        address.is_ipv4() == self.network.is_ipv4() && Cidr::new(address, self.prefix) == *self
    }
}

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

impl fmt::Display for Cidr {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.network, self.prefix)
    }
}

/// One word of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// Everything in a network.
    Network(Cidr),
    /// Everything on the interface of this name.
    Name(String),
}

impl Selector {
    /// Whether it speaks of this interface.
    pub fn matches(&self, interface: &Interface) -> bool {
        match self {
            Selector::Network(network) => network.contains(interface.address),
            Selector::Name(name) => *name == interface.name,
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Selector::Network(network) => network.fmt(formatter),
            Selector::Name(name) => formatter.write_str(name),
        }
    }
}

impl FromStr for Selector {
    type Err = ();

    fn from_str(word: &str) -> Result<Selector, ()> {
        if let Some((address, prefix)) = word.split_once('/') {
            let address: IpAddr = address.parse().map_err(drop)?;
            let digits = !prefix.is_empty() && prefix.bytes().all(|byte| byte.is_ascii_digit());
            let prefix = prefix
                .parse()
                .ok()
                .filter(|prefix| digits && *prefix <= bits(address));
            return Ok(Selector::Network(Cidr::new(address, prefix.ok_or(())?)));
        }
        if let Ok(address) = word.parse::<IpAddr>() {
            return Ok(Selector::Network(Cidr::new(address, bits(address))));
        }
        // The kernel permits "10.0.0" as a name; whoever writes it means an address.
        let looks_like_address = word.contains(':') || !word.contains(|c: char| c.is_alphabetic());
        let is_name = !word.is_empty()
            && word.len() <= NAME_MAX
            && word.bytes().all(|byte| byte.is_ascii_graphic());
        if is_name && !looks_like_address {
            Ok(Selector::Name(word.to_owned()))
        } else {
            Err(())
        }
    }
}

/// Which of this host's addresses may be used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// If there is anything here, only what it matches is used; of addresses that serve a peer
    /// equally well, those named first come first.
    pub include: Vec<Selector>,
    /// Never used, neither offered nor dialled.
    pub exclude: Vec<Selector>,
}

/// A word in a variable that is neither a network nor a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{variable}={value}: '{word}' is neither a network such as 10.1.0.0/16 or fd00::/8, nor an address, nor the name of an interface such as eth0"
)]
pub struct PolicyError {
    /// The variable.
    pub variable: &'static str,
    /// Its value.
    pub value: String,
    /// The word in it.
    pub word: String,
}

impl Policy {
    /// What the environment says.
    pub fn from_env() -> Result<Policy, PolicyError> {
        Policy::from_variables(from_env)
    }

    /// What these variables say.
    pub fn from_variables(
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Policy, PolicyError> {
        let read = |name| selectors(name, &variable(name).unwrap_or_default());
        Ok(Policy {
            include: read(INCLUDE)?,
            exclude: read(EXCLUDE)?,
        })
    }

    /// The place in the include list of the first word that matches.
    pub fn included_by(&self, interface: &Interface) -> Option<usize> {
        self.include.iter().position(|word| word.matches(interface))
    }

    /// The word that excludes the interface.
    pub fn excluded_by(&self, interface: &Interface) -> Option<&Selector> {
        self.exclude.iter().find(|word| word.matches(interface))
    }

    /// The network that excludes a peer's address; the names of a peer's interfaces are the peer's
    /// own matter.
    pub fn excludes_address(&self, address: IpAddr) -> Option<&Selector> {
        self.exclude.iter().find(|word| match word {
            Selector::Network(network) => network.contains(address),
            Selector::Name(_) => false,
        })
    }
}

fn selectors(variable: &'static str, value: &str) -> Result<Vec<Selector>, PolicyError> {
    let words = value
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty());
    words
        .map(|word| {
            word.parse().map_err(|()| PolicyError {
                variable,
                value: value.to_owned(),
                word: word.to_owned(),
            })
        })
        .collect()
}

/// The ports that a process may listen on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortRange {
    /// First and last; None: the kernel chooses.
    range: Option<(u16, u16)>,
}

/// A range that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{PORT_RANGE}={value}: expected two ports from 1 to 65535 such as 5000-5100, the lower first, or one port"
)]
pub struct PortRangeError {
    /// The value.
    pub value: String,
}

impl PortRange {
    /// Whatever the kernel gives.
    pub const ANY: PortRange = PortRange { range: None };

    /// What the environment says; [`PortRange::ANY`] if nothing.
    pub fn from_env() -> Result<PortRange, PortRangeError> {
        PortRange::from_variables(from_env)
    }

    /// What these variables say.
    pub fn from_variables(
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<PortRange, PortRangeError> {
        match variable(PORT_RANGE) {
            Some(value) if !value.trim().is_empty() => value.parse(),
            _ => Ok(PortRange::ANY),
        }
    }

    /// The ports in the order in which a process should try to listen on them. Ranks that start at
    /// once begin at different places, so that they do not all fight for the first port. Port 0
    /// stands for the kernel's choice.
    pub fn attempts(self, rank: u32) -> impl Iterator<Item = u16> {
        let (first, last) = self.range.unwrap_or((0, 0));
        let count = u32::from(last - first) + 1;
        // Both summands are below 2^16, and so is the sum after the modulus.
        (0..count).map(move |index| first + ((rank % count + index) % count) as u16)
    }
}

impl FromStr for PortRange {
    type Err = PortRangeError;

    fn from_str(text: &str) -> Result<PortRange, PortRangeError> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let port = |text: &str| text.trim().parse::<u16>().ok().filter(|port| *port > 0);
        let range = port(first)
            .zip(port(last))
            .filter(|(first, last)| first <= last);
        match range {
            Some(_) => Ok(PortRange { range }),
            None => Err(PortRangeError {
                value: text.to_owned(),
            }),
        }
    }
}

impl fmt::Display for PortRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.range {
            None => formatter.write_str("any"),
            Some((first, last)) if first == last => write!(formatter, "{first}"),
            Some((first, last)) => write!(formatter, "{first}-{last}"),
        }
    }
}

fn from_env(name: &str) -> Option<String> {
    settings::find(name)?.read().text()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn policy(include: &str, exclude: &str) -> Result<Policy, PolicyError> {
        Policy::from_variables(|name| match name {
            INCLUDE => Some(include.to_owned()),
            EXCLUDE => Some(exclude.to_owned()),
            _ => None,
        })
    }

    fn contains(network: &str, address: &str) -> bool {
        match network.parse() {
            Ok(Selector::Network(network)) => network.contains(address.parse().unwrap()),
            other => panic!("{network}: {other:?}"),
        }
    }

    #[test]
    fn networks_contain_their_addresses() {
        assert!(contains("10.1.0.0/16", "10.1.255.3"));
        assert!(!contains("10.1.0.0/16", "10.2.0.3"));
        // Bits behind the prefix do not matter, as in routing tables written by hand.
        assert!(contains("10.1.2.3/16", "10.1.0.1"));
        assert!(contains("0.0.0.0/0", "192.0.2.1"));
        assert!(!contains("0.0.0.0/0", "2001:db8::1"));
        assert!(contains("::/0", "2001:db8::1"));
        assert!(contains("fd00::/8", "fdff::1"));
        assert!(!contains("fd00::/8", "fe80::1"));
        assert!(contains("192.0.2.7", "192.0.2.7"));
        assert!(!contains("192.0.2.7", "192.0.2.6"));
        assert!(contains("2001:db8::7/128", "2001:db8::7"));
    }

    #[test]
    fn words_are_networks_or_names() {
        let policy = policy(" eth0, 10.0.0.0/8,", "docker0,fe80::/10,eth0.100").unwrap();
        let words = |selectors: &[Selector]| -> Vec<String> {
            selectors.iter().map(Selector::to_string).collect()
        };
        assert_eq!(words(&policy.include), ["eth0", "10.0.0.0/8"]);
        assert_eq!(words(&policy.exclude), ["docker0", "fe80::/10", "eth0.100"]);
        assert_eq!(Policy::from_variables(|_| None), Ok(Policy::default()));
        assert_eq!(
            Policy::from_variables(|_| Some(String::new())),
            Ok(Policy::default())
        );
    }

    #[test]
    fn what_is_neither_is_named() {
        for word in [
            "10.0.0",
            "10.0.0.0/33",
            "fd00::/129",
            "10.0.0.0/",
            "10.0.0.0/+8",
            "eth0/24",
            "fd00",
            "a name",
            "fd00::1::2",
            "name-of-sixteen-",
        ] {
            // A word of hexadecimal digits and nothing else may well be a name.
            assert_eq!(word.parse::<Selector>().is_ok(), word == "fd00", "{word}");
        }
        assert_eq!(
            policy("eth0,10.1.0.0/40", "").unwrap_err().to_string(),
            "OXMPI_NET_INCLUDE=eth0,10.1.0.0/40: '10.1.0.0/40' is neither a network such as 10.1.0.0/16 or fd00::/8, nor an address, nor the name of an interface such as eth0"
        );
    }

    #[test]
    fn ports_come_from_the_range() {
        let attempts = |text: &str, rank| -> Vec<u16> {
            text.parse::<PortRange>().unwrap().attempts(rank).collect()
        };
        assert_eq!(attempts("5000-5003", 0), [5000, 5001, 5002, 5003]);
        assert_eq!(attempts("5000-5003", 6), [5002, 5003, 5000, 5001]);
        assert_eq!(attempts("5000", 17), [5000]);
        assert_eq!(attempts("1-65535", u32::MAX).len(), 65535);
        assert_eq!(PortRange::ANY.attempts(3).collect::<Vec<_>>(), [0]);
        for (text, shown) in [
            ("5000-5003", "5000-5003"),
            (" 5000 - 5001 ", "5000-5001"),
            ("7-7", "7"),
        ] {
            assert_eq!(text.parse::<PortRange>().unwrap().to_string(), shown);
        }
        for text in [
            "0",
            "5100-5000",
            "0-10",
            "5000-",
            "-5000",
            "65536",
            "5000-5100-5200",
            "ssh",
        ] {
            assert!(text.parse::<PortRange>().is_err(), "{text}");
        }
        assert_eq!(
            PortRange::from_variables(|_| Some("5100-5000".to_owned()))
                .unwrap_err()
                .to_string(),
            "OXMPI_PORT_RANGE=5100-5000: expected two ports from 1 to 65535 such as 5000-5100, the lower first, or one port"
        );
        assert_eq!(PortRange::from_variables(|_| None), Ok(PortRange::ANY));
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in ".{0,40}") {
            let _ = policy(&text, &text);
            let _ = text.parse::<PortRange>();
        }

        #[test]
        fn a_network_contains_what_it_was_made_of(bits: u128, v4: bool, prefix: u8) {
            let address: IpAddr = if v4 {
                Ipv4Addr::from_bits(bits as u32).into()
            } else {
                Ipv6Addr::from_bits(bits).into()
            };
            let network = Cidr::new(address, prefix);
            prop_assert!(network.contains(address));
            prop_assert_eq!(network.to_string().parse(), Ok(Selector::Network(network)));
        }

        #[test]
        fn every_port_is_tried_once(first in 1u16..1000, more in 0u16..500, rank: u32) {
            let range: PortRange = format!("{first}-{}", first + more).parse().unwrap();
            let mut ports: Vec<u16> = range.attempts(rank).collect();
            ports.sort();
            prop_assert_eq!(ports, (first..=first + more).collect::<Vec<_>>());
        }
    }
}
