//! A card: what a process tells its job about itself, so that others can connect to it.
//!
//! It travels as one word through the launcher's key-value space (`pmi`), which is why its text
//! uses only `[A-Za-z0-9.:_/,@%-]` and stays below [`CARD_BYTES_MAX`]. [`crate::address::offered`]
//! fills it, [`crate::address::order`] reads it. What comes from the launcher is not trusted to be
//! a card: parsing has limits and its errors say what is wrong.
//!
//! `4@node7@9f86d081884c7d65@5000@1b4f0e9851971998@0242ac110002/3/1500@o:10.0.0.7/24,o:2001:db8::7/64,b:172.17.0.1/16,x:127.0.0.1/8`:
//! version, host, machine, port, salt (with an `s` behind it if the process encrypts), Ethernet
//! cards with channel and longest frame, addresses best first, each with the letter of its kind (a
//! capital if the user chose it).

use std::fmt;
use std::str::FromStr;

use super::{Kind, Offered};

/// Longest text of a card: version, a host name of 64, machine, port and salt take at most 108
/// bytes, an Ethernet card 24, and the rest holds 8 IPv6 addresses written out in full or 20 IPv4
/// addresses. PMI-1 guarantees values of 1 KiB in every launcher that matters.
pub const CARD_BYTES_MAX: usize = 512;
/// Longest host name that is told (HOST_NAME_MAX of Linux); it serves messages, not connections.
pub const HOST_BYTES_MAX: usize = 64;
/// The version of the text form.
const VERSION: &str = "4";
/// Ethernet cards that a process may speak through: as many as are trunked.
const WIRES_MAX: usize = 4;

/// What a process tells its job about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// The name of its host, for messages.
    pub host: String,
    /// Equal in two processes exactly when loopback leads from one to the other; 0 if unknown.
    pub machine: u64,
    /// The port it listens on, for TCP and UDP alike.
    pub port: u16,
    /// Drawn when it was opened: part of the keys of its conversations, so that those of another
    /// life differ.
    pub salt: u64,
    /// It encrypts what it sends, and takes nothing else.
    pub encrypted: bool,
    /// Where raw frames reach it; empty if it cannot take any.
    pub wires: Vec<Wire>,
    /// Where it may be reached, best first.
    pub addresses: Vec<Offered>,
}

/// An Ethernet card that a process takes frames from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wire {
    /// Its hardware address.
    pub mac: [u8; 6],
    /// The process's channel on it.
    pub channel: u16,
    /// Longest frame that it sends and takes.
    pub mtu: u16,
}

/// Why a text is not a card.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CardError {
    /// Longer than any card.
    #[error(
        "a process's card of {bytes} bytes is longer than any ({CARD_BYTES_MAX}): another program wrote it"
    )]
    Length {
        /// Its length.
        bytes: usize,
    },
    /// Another version.
    #[error(
        "a process's card has version '{version}' and this process reads version {VERSION}: install the same OxMPI on all hosts"
    )]
    Version {
        /// Its version.
        version: String,
    },
    /// A part of it makes no sense.
    #[error("a process's card has no proper {part}: '{text}'")]
    Part {
        /// Which.
        part: &'static str,
        /// What stands there.
        text: String,
    },
}

impl Card {
    /// The card of a process that listens on `port`; `addresses` come from
    /// [`crate::address::offered`]. What a card cannot carry of the host's name becomes a dash.
    pub fn new(host: &str, machine: u64, port: u16, addresses: Vec<Offered>) -> Card {
        Card {
            host: plain_host(host),
            machine,
            port,
            salt: 0,
            encrypted: false,
            wires: Vec::new(),
            addresses,
        }
    }

    /// The card of a process that also takes frames from these.
    pub fn with_wires(self, wires: Vec<Wire>) -> Card {
        Card { wires, ..self }
    }

    /// The card of a process that drew this salt, and that encrypts or not.
    pub fn with_salt(self, salt: u64, encrypted: bool) -> Card {
        Card {
            salt,
            encrypted,
            ..self
        }
    }

    /// Whether loopback leads from `machine` to this process.
    pub fn is_on(&self, machine: u64) -> bool {
        machine != 0 && self.machine == machine
    }
}

/// A host name as a card can carry it.
fn plain_host(host: &str) -> String {
    let plain = |c: char| if is_host_char(c) { c } else { '-' };
    let name: String = host.chars().take(HOST_BYTES_MAX).map(plain).collect();
    if name.is_empty() {
        "-".to_owned()
    } else {
        name
    }
}

fn is_host_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}

impl fmt::Display for Card {
    /// Leaves out the last addresses, which are the least useful, where the text would become too
    /// long.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (host, machine, port) = (plain_host(&self.host), self.machine, self.port);
        let (salt, sealed) = (self.salt, if self.encrypted { "s" } else { "" });
        let mut text = format!("{VERSION}@{host}@{machine:016x}@{port}@{salt:016x}{sealed}@");
        for (index, wire) in self.wires.iter().take(WIRES_MAX).enumerate() {
            let Wire { mac, channel, mtu } = wire;
            text += if index == 0 { "" } else { "," };
            mac.iter().for_each(|byte| text += &format!("{byte:02x}"));
            text += &format!("/{channel}/{mtu}");
        }
        text.push('@');
        for (index, offered) in self.addresses.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let (letter, address, prefix) = (letter(offered), offered.address, offered.prefix);
            let item = format!("{comma}{letter}:{address}/{prefix}");
            if text.len() + item.len() > CARD_BYTES_MAX {
                break;
            }
            text += &item;
        }
        formatter.write_str(&text)
    }
}

impl FromStr for Card {
    type Err = CardError;

    fn from_str(text: &str) -> Result<Card, CardError> {
        if text.len() > CARD_BYTES_MAX {
            return Err(CardError::Length { bytes: text.len() });
        }
        let mut parts = text.splitn(7, '@');
        let mut part = || parts.next().unwrap_or("");
        let wrong = |part, text: &str| CardError::Part {
            part,
            text: text.to_owned(),
        };
        let version = part();
        if version != VERSION {
            return Err(CardError::Version {
                version: version.to_owned(),
            });
        }
        let host = part();
        if host.is_empty() || host.len() > HOST_BYTES_MAX || !host.chars().all(is_host_char) {
            return Err(wrong("host name", host));
        }
        let machine = part();
        let port = part();
        let salt = part();
        let wires = part();
        if wires.split(',').count() > WIRES_MAX {
            return Err(wrong("number of Ethernet cards", wires));
        }
        let addresses = part();
        Ok(Card {
            host: host.to_owned(),
            machine: hexadecimal(machine).ok_or_else(|| wrong("machine", machine))?,
            port: decimal(port)
                .and_then(|port| u16::try_from(port).ok())
                .filter(|port| *port > 0)
                .ok_or_else(|| wrong("port", port))?,
            salt: hexadecimal(salt.strip_suffix('s').unwrap_or(salt))
                .ok_or_else(|| wrong("salt", salt))?,
            encrypted: salt.ends_with('s'),
            wires: wires
                .split(',')
                .filter(|_| !wires.is_empty())
                .map(|item| parse_wire(item).ok_or_else(|| wrong("Ethernet card", item)))
                .collect::<Result<_, _>>()?,
            addresses: addresses
                .split(',')
                .filter(|_| !addresses.is_empty())
                .map(|item| parse_offered(item).ok_or_else(|| wrong("address", item)))
                .collect::<Result<_, _>>()?,
        })
    }
}

fn parse_wire(text: &str) -> Option<Wire> {
    let (mac, rest) = text.split_once('/')?;
    let (channel, mtu) = rest.split_once('/')?;
    if mac.len() != 12 || !mac.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mac = u64::from_str_radix(mac, 16).ok()?.to_be_bytes();
    Some(Wire {
        mac: [mac[2], mac[3], mac[4], mac[5], mac[6], mac[7]],
        channel: decimal(channel)?.try_into().ok()?,
        mtu: decimal(mtu)?.try_into().ok()?,
    })
}

fn parse_offered(text: &str) -> Option<Offered> {
    let (letter, rest) = text.split_once(':')?;
    let (address, prefix) = rest.rsplit_once('/')?;
    let address: std::net::IpAddr = address.parse().ok()?;
    let prefix = u8::try_from(decimal(prefix)?).ok()?;
    let bits = if address.is_ipv4() { 32 } else { 128 };
    let lower = letter.to_ascii_lowercase();
    let kind = Kind::ALL
        .into_iter()
        .find(|kind| kind_letter(*kind) == lower)?;
    (prefix <= bits).then_some(Offered {
        address,
        prefix,
        kind,
        chosen: letter != lower,
    })
}

/// Digits only: what `parse` of the standard library takes beyond that ("+5") no card contains.
fn decimal(text: &str) -> Option<u32> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}

fn hexadecimal(text: &str) -> Option<u64> {
    let digits = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    digits.then(|| u64::from_str_radix(text, 16).ok())?
}

fn kind_letter(kind: Kind) -> &'static str {
    match kind {
        Kind::Ordinary => "o",
        Kind::LinkLocal => "l",
        Kind::Tunnel => "t",
        Kind::Bridge => "b",
        Kind::Loopback => "x",
    }
}

fn letter(offered: &Offered) -> String {
    let letter = kind_letter(offered.kind);
    if offered.chosen {
        letter.to_ascii_uppercase()
    } else {
        letter.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn offered(text: &str) -> Offered {
        parse_offered(text).unwrap()
    }

    #[test]
    fn golden_text() {
        let addresses = [
            "o:10.0.0.7/24",
            "o:2001:db8::7/64",
            "l:fe80::7/64",
            "T:10.8.0.2/32",
            "b:172.17.0.1/16",
            "x:127.0.0.1/8",
        ];
        let card = Card::new(
            "node7.example",
            0x9f86_d081_884c_7d65,
            5000,
            addresses.map(offered).to_vec(),
        )
        .with_wires(vec![Wire {
            mac: [2, 0x42, 0xac, 0x11, 0, 2],
            channel: 3,
            mtu: 1500,
        }])
        .with_salt(0x1b4f_0e98_5197_1998, true);
        let text = "4@node7.example@9f86d081884c7d65@5000@1b4f0e9851971998s@0242ac110002/3/1500@o:10.0.0.7/24,o:2001:db8::7/64,l:fe80::7/64,T:10.8.0.2/32,b:172.17.0.1/16,x:127.0.0.1/8";
        assert_eq!(card.to_string(), text);
        assert!(text.len() < 220);
        assert!(card.addresses[3].chosen && card.addresses[3].kind == Kind::Tunnel);
        assert_eq!(text.parse(), Ok(card));
    }

    #[test]
    fn a_long_card_loses_its_last_addresses() {
        let address =
            |index: usize| offered(&format!("o:2001:db8:1111:2222:3333:4444:5555:{index:x}/64"));
        let card = Card::new(
            &"n".repeat(100),
            1,
            65535,
            (0x1000..0x1040).map(address).collect(),
        );
        let text = card.to_string();
        assert!(text.len() <= CARD_BYTES_MAX, "{}", text.len());
        let read: Card = text.parse().unwrap();
        assert_eq!(read.host.len(), HOST_BYTES_MAX);
        assert!(read.addresses.len() >= 8, "{}", read.addresses.len());
        assert_eq!(read.addresses[..], card.addresses[..read.addresses.len()]);
    }

    #[test]
    fn odd_host_names_are_made_plain() {
        assert_eq!(
            Card::new("a b@\u{e9}", 1, 1, Vec::new()).to_string(),
            "4@a-b--@0000000000000001@1@0000000000000000@@"
        );
        assert_eq!(Card::new("", 1, 1, Vec::new()).host, "-");
    }

    #[test]
    fn an_unknown_machine_equals_none() {
        let card = Card::new("a", 0, 1, Vec::new());
        assert!(!card.is_on(0) && !card.is_on(7));
        assert!(Card::new("a", 7, 1, Vec::new()).is_on(7));
    }

    #[test]
    fn what_is_not_a_card_is_said() {
        let good = "4@a@0000000000000001@1@0000000000000002@@o:10.0.0.7/24";
        assert!(good.parse::<Card>().is_ok());
        for (text, error) in [
            (
                "",
                "a process's card has version '' and this process reads version 4: install the same OxMPI on all hosts",
            ),
            (
                "1@x",
                "a process's card has version '1' and this process reads version 4: install the same OxMPI on all hosts",
            ),
            ("4@", "a process's card has no proper host name: ''"),
            ("4@a@1@1@", "a process's card has no proper machine: '1'"),
            (
                "4@a@0000000000000001@0@",
                "a process's card has no proper port: '0'",
            ),
            (
                "4@a@0000000000000001@+1@",
                "a process's card has no proper port: '+1'",
            ),
            (
                "4@a@0000000000000001@@",
                "a process's card has no proper port: ''",
            ),
            (
                "4@a@0000000000000001@1@2s@@",
                "a process's card has no proper salt: '2s'",
            ),
            (
                "4@a@0000000000000001@1@0000000000000002@0242ac11000/3/1500@",
                "a process's card has no proper Ethernet card: '0242ac11000/3/1500'",
            ),
            (
                "4@a@0000000000000001@1@0000000000000002@@o:10.0.0.7/33",
                "a process's card has no proper address: 'o:10.0.0.7/33'",
            ),
            (
                "4@a@0000000000000001@1@0000000000000002@@o:10.0.0.7/24,",
                "a process's card has no proper address: ''",
            ),
            (
                "4@a@0000000000000001@1@0000000000000002@@q:10.0.0.7/24",
                "a process's card has no proper address: 'q:10.0.0.7/24'",
            ),
        ] {
            assert_eq!(text.parse::<Card>().unwrap_err().to_string(), error);
        }
        let long = format!("{good}{}", ",o:10.0.0.7/24".repeat(50));
        assert_eq!(
            long.parse::<Card>().unwrap_err().to_string(),
            "a process's card of 754 bytes is longer than any (512): another program wrote it"
        );
    }

    prop_compose! {
        fn any_offered()(address: std::net::IpAddr, prefix in 0u8..=32, kind in 0..Kind::ALL.len(), chosen: bool) -> Offered {
            Offered { address, prefix, kind: Kind::ALL[kind], chosen }
        }
    }

    prop_compose! {
        fn any_wire()(mac: [u8; 6], channel: u16, mtu: u16) -> Wire {
            Wire { mac, channel, mtu }
        }
    }

    proptest! {
        #[test]
        fn text_round_trips(
            host in "[A-Za-z0-9._-]{1,64}",
            machine: u64,
            port in 1u16..,
            salt: u64,
            encrypted: bool,
            wires in proptest::collection::vec(any_wire(), 0..3),
            addresses in proptest::collection::vec(any_offered(), 0..6),
        ) {
            let card = Card::new(&host, machine, port, addresses)
                .with_wires(wires)
                .with_salt(salt, encrypted);
            let text = card.to_string();
            prop_assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".:_/,@%-".contains(&byte)), "{}", text);
            prop_assert_eq!(text.parse::<Card>(), Ok(card));
        }

        #[test]
        fn arbitrary_text_never_panics(text in ".{0,80}", cut in 0usize..60) {
            let _ = text.parse::<Card>();
            let good = "4@a@0000000000000001@1@0000000000000002@@o:10.0.0.7/24,x:::1/128";
            let _ = format!("{}{text}", &good[..cut.min(good.len())]).parse::<Card>();
        }
    }
}
