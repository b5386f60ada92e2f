//! `oxmpi info --net`: the addresses of this host, which of them a job uses and why, and how others
//! try them.
//!
//! `oxmpi_net::address` decides everything that is told here, with the environment that `oxmpi
//! info` was called in; a job may be given another. The text is made without looking at the host,
//! so that its tests bring their own.

use std::fmt;
use std::net::IpAddr;

use oxmpi_net::Card;
use oxmpi_net::address::{
    Candidate, EXCLUDE, INCLUDE, Interface, Kind, Local, Offered, PORT_RANGE, Policy, PortRange,
    Selector, Use, judge, offered, order,
};
use oxmpi_net::choice::{Mode, NET};
use oxmpi_net::device::{ethernet, oxk};

use crate::failure::Failure;
use crate::show::show;

/// Prints it all. What keeps a job from using this host at all is an error, after the table that
/// shows why.
pub(crate) fn print() -> Result<(), Failure> {
    let policy = Policy::from_env().map_err(|error| Failure::usage(error.to_string()))?;
    let ports = PortRange::from_env().map_err(|error| Failure::usage(error.to_string()))?;
    let local = Local::read().map_err(|error| Failure::Message {
        text: error.to_string(),
        code: 1,
    })?;
    let mode = Mode::from_env().map_err(|error| Failure::usage(error.to_string()))?;
    let host = oxmpi_launch::host_name();
    let network = Network {
        host: &host,
        local: &local,
        policy: &policy,
        ports,
    };
    let offered = offered(&local.interfaces, &policy);
    show!("{network}");
    match offered {
        Ok(addresses) => {
            let kernel = oxk::permitted().map_err(|error| error.to_string());
            show!("{}", networks(mode, ethernet_here(&local, &policy), kernel));
            show!("{}", network.attempts(addresses));
            Ok(())
        }
        Err(nothing) => Err(Failure::usage(nothing.to_string())),
    }
}

/// What is shown.
struct Network<'a> {
    host: &'a str,
    local: &'a Local,
    policy: &'a Policy,
    ports: PortRange,
}

impl fmt::Display for Network<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "network of {}\n", self.host)?;
        let heading = ["interface", "address", "kind", "speed", "used"].map(str::to_owned);
        let rows = self
            .local
            .interfaces
            .iter()
            .map(|interface| self.row(interface));
        write_table(formatter, std::iter::once(heading).chain(rows).collect())?;
        writeln!(formatter, "\nsettings")?;
        let ports = match self.ports {
            PortRange::ANY => "not set: any free port".to_owned(),
            range => format!("{range}: one port for every rank of the host"),
        };
        let settings = [
            [
                INCLUDE.to_owned(),
                setting(&self.policy.include, "all interfaces"),
            ],
            [
                EXCLUDE.to_owned(),
                setting(&self.policy.exclude, "nothing is left out"),
            ],
            [PORT_RANGE.to_owned(), ports],
        ];
        write_table(formatter, settings.to_vec())
    }
}

impl Network<'_> {
    fn row(&self, interface: &Interface) -> [String; 5] {
        [
            interface.name.clone(),
            format!("{}/{}", interface.address, interface.prefix),
            interface.kind.to_string(),
            interface.speed_mbit.map_or("unknown".to_owned(), speed),
            use_text(interface, judge(interface, self.policy)),
        ]
    }

    /// How a process on another host would try the addresses offered.
    fn attempts(&self, addresses: Vec<Offered>) -> String {
        // The port does not matter to the order, and is not shown.
        let card = Card::new(self.host, self.local.machine, 1, addresses);
        let candidates = order(&card, &neighbour(self.local), self.policy);
        if candidates.is_empty() {
            return "\na process on another host finds no address to try: this host offers only loopback\n"
                .to_owned();
        }
        let mut text = "\na process on another host of the same networks tries\n".to_owned();
        let row = |(index, candidate): (usize, Candidate)| {
            let address = candidate.address.ip().to_string();
            [(index + 1).to_string(), address, candidate.why.to_string()]
        };
        let rows = candidates.into_iter().enumerate().map(row).collect();
        // Writing into a string does not fail.
        let _ = write_table(&mut text, rows);
        text
    }
}

/// The interface that raw frames would take, or why there are none.
fn ethernet_here(local: &Local, policy: &Policy) -> Result<String, String> {
    ethernet::permitted().map_err(|error| error.to_string())?;
    let addresses = offered(&local.interfaces, policy).map_err(|error| error.to_string())?;
    let first = addresses.first().map(|first| first.address);
    let ours = |interface: &&Interface| Some(interface.address) == first;
    let name = local.interfaces.iter().find(ours);
    let name = name.map_or(String::new(), |interface| interface.name.clone());
    let card = ethernet::Interface::named(&name).map_err(|error| error.to_string())?;
    match card.is_suitable() {
        true => Ok(format!("{name}, frames of up to {} bytes", card.mtu)),
        false => Err(format!("{name} carries no Ethernet frames")),
    }
}

/// Which network a job takes, as far as this host decides it.
fn networks(mode: Mode, frames: Result<String, String>, kernel: Result<(), String>) -> String {
    let wanted = |modes: &[Mode]| modes.contains(&mode);
    let not_asked = || format!("no: {NET}={mode}");
    let ethernet = match frames {
        _ if !wanted(&[Mode::Auto, Mode::Ethernet, Mode::Xdp]) => not_asked(),
        Ok(card) => format!("yes, by {card}"),
        Err(reason) => format!("no: {reason}"),
    };
    let udp = match wanted(&[Mode::Tcp, Mode::PmKernel]) {
        true => not_asked(),
        false => "yes".to_owned(),
    };
    let kernel = match kernel {
        Ok(()) if mode == Mode::PmKernel => "yes".to_owned(),
        Ok(()) => format!("if {NET}=pm-kernel asks for it"),
        Err(reason) => format!("no: {reason}"),
    };
    let tcp = match wanted(&[Mode::Auto, Mode::Tcp]) {
        true => "yes".to_owned(),
        false => not_asked(),
    };
    let mut text = "\nnetworks, the first that works for all hosts is used\n".to_owned();
    let rows = [
        ["ethernet", &ethernet],
        ["udp", &udp],
        ["tcp", &tcp],
        ["pm-kernel", &kernel],
    ];
    // Writing into a string does not fail.
    let _ = write_table(&mut text, rows.map(|row| row.map(str::to_owned)).to_vec());
    text
}

/// A made-up host beside this one: on the same networks, under the nearest addresses that this one
/// does not have.
fn neighbour(local: &Local) -> Local {
    let is_free = |address: &IpAddr| local.interfaces.iter().all(|ours| ours.address != *address);
    let nearest = |address: IpAddr| {
        let mut changed = (1u32..).map(|change| match address {
            IpAddr::V4(address) => IpAddr::V4((address.to_bits() ^ change).into()),
            IpAddr::V6(address) => IpAddr::V6((address.to_bits() ^ u128::from(change)).into()),
        });
        // A host has fewer addresses than there are numbers.
        changed.find(is_free).unwrap_or(address)
    };
    let beside = |interface: &Interface| Interface {
        address: nearest(interface.address),
        ..interface.clone()
    };
    Local {
        machine: 0,
        interfaces: local.interfaces.iter().map(beside).collect(),
    }
}

fn use_text(interface: &Interface, judgement: Use) -> String {
    match judgement {
        Use::Chosen if interface.kind == Kind::Loopback => {
            format!("only on this machine, by {INCLUDE}")
        }
        Use::Chosen => format!("yes, by {INCLUDE}"),
        Use::Offered => match interface.kind {
            Kind::Ordinary => "yes".to_owned(),
            Kind::Loopback => "only on this machine".to_owned(),
            Kind::LinkLocal | Kind::Tunnel | Kind::Bridge => {
                "only if nothing else works".to_owned()
            }
        },
        Use::Down => "no: it is down".to_owned(),
        Use::Inner => format!("no: link-local on a {}", interface.kind),
        Use::NotIncluded => format!("no: not in {INCLUDE}"),
        Use::Excluded(word) => format!("no: {word} is in {EXCLUDE}"),
    }
}

fn setting(selectors: &[Selector], otherwise: &str) -> String {
    if selectors.is_empty() {
        return format!("not set: {otherwise}");
    }
    let words: Vec<String> = selectors.iter().map(Selector::to_string).collect();
    words.join(",")
}

fn speed(mbit: u32) -> String {
    if mbit >= 1000 {
        format!("{} Gbit/s", f64::from(mbit) / 1000.0)
    } else {
        format!("{mbit} Mbit/s")
    }
}

/// Columns as wide as their widest word; the last one ends where its text ends.
fn write_table<const N: usize>(out: &mut impl fmt::Write, rows: Vec<[String; N]>) -> fmt::Result {
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    for row in &rows {
        let cells = row
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("  {cell:<width$}"));
        writeln!(out, "{}", cells.collect::<String>().trim_end())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(name: &str, address: &str, prefix: u8, kind: Kind) -> Interface {
        Interface {
            name: name.to_owned(),
            index: 2,
            address: address.parse().unwrap(),
            prefix,
            kind,
            up: true,
            speed_mbit: None,
        }
    }

    fn shown(interfaces: Vec<Interface>, include: &str, exclude: &str, ports: &str) -> String {
        let local = Local {
            machine: 7,
            interfaces,
        };
        let variable = |name: &str| {
            let value = match name {
                INCLUDE => include,
                EXCLUDE => exclude,
                _ => ports,
            };
            Some(value.to_owned())
        };
        let policy = Policy::from_variables(variable).unwrap();
        let network = Network {
            host: "node7",
            local: &local,
            policy: &policy,
            ports: PortRange::from_variables(variable).unwrap(),
        };
        let addresses = offered(&local.interfaces, &policy).unwrap();
        format!("{network}{}", network.attempts(addresses))
    }

    fn usual() -> Vec<Interface> {
        let mut interfaces = vec![
            interface("lo", "127.0.0.1", 8, Kind::Loopback),
            interface("eth0", "10.1.0.7", 16, Kind::Ordinary),
            interface("eth0", "2001:db8::7", 64, Kind::Ordinary),
            interface("eth0", "fe80::7", 64, Kind::LinkLocal),
            interface("eth1", "192.168.7.7", 24, Kind::Ordinary),
            interface("docker0", "172.17.0.1", 16, Kind::Bridge),
            interface("docker0", "fe80::42", 64, Kind::Bridge),
            interface("wg0", "10.8.0.2", 32, Kind::Tunnel),
        ];
        interfaces[1].speed_mbit = Some(2500);
        interfaces[2].speed_mbit = Some(2500);
        interfaces[3].speed_mbit = Some(2500);
        interfaces[4].up = false;
        interfaces
    }

    #[test]
    fn a_usual_host() {
        let expected = "\
network of node7

  interface  address         kind        speed       used
  lo         127.0.0.1/8     loopback    unknown     only on this machine
  eth0       10.1.0.7/16     ordinary    2.5 Gbit/s  yes
  eth0       2001:db8::7/64  ordinary    2.5 Gbit/s  yes
  eth0       fe80::7/64      link-local  2.5 Gbit/s  only if nothing else works
  eth1       192.168.7.7/24  ordinary    unknown     no: it is down
  docker0    172.17.0.1/16   bridge      unknown     only if nothing else works
  docker0    fe80::42/64     bridge      unknown     no: link-local on a bridge
  wg0        10.8.0.2/32     tunnel      unknown     only if nothing else works

settings
  OXMPI_NET_INCLUDE  not set: all interfaces
  OXMPI_NET_EXCLUDE  not set: nothing is left out
  OXMPI_PORT_RANGE   not set: any free port

a process on another host of the same networks tries
  1  10.1.0.7     same network as eth0
  2  2001:db8::7  same network as eth0
  3  fe80::7      link-local, only if nothing else reaches it
  4  10.8.0.2     tunnel, only if nothing else reaches it
  5  172.17.0.1   bridge, only if nothing else reaches it
";
        assert_eq!(shown(usual(), "", "", ""), expected);
    }

    #[test]
    fn a_host_with_settings() {
        let expected = "\
network of node7

  interface  address         kind        speed       used
  lo         127.0.0.1/8     loopback    unknown     no: not in OXMPI_NET_INCLUDE
  eth0       10.1.0.7/16     ordinary    2.5 Gbit/s  yes, by OXMPI_NET_INCLUDE
  eth0       2001:db8::7/64  ordinary    2.5 Gbit/s  no: 2001:db8::/32 is in OXMPI_NET_EXCLUDE
  eth0       fe80::7/64      link-local  2.5 Gbit/s  no: not in OXMPI_NET_INCLUDE
  eth1       192.168.7.7/24  ordinary    unknown     no: not in OXMPI_NET_INCLUDE
  docker0    172.17.0.1/16   bridge      unknown     no: not in OXMPI_NET_INCLUDE
  docker0    fe80::42/64     bridge      unknown     no: not in OXMPI_NET_INCLUDE
  wg0        10.8.0.2/32     tunnel      unknown     yes, by OXMPI_NET_INCLUDE

settings
  OXMPI_NET_INCLUDE  wg0,10.1.0.0/16
  OXMPI_NET_EXCLUDE  2001:db8::/32
  OXMPI_PORT_RANGE   5000-5100: one port for every rank of the host

a process on another host of the same networks tries
  1  10.1.0.7  same network as eth0
  2  10.8.0.2  by routing
";
        assert_eq!(
            shown(usual(), "wg0,10.1.0.0/16", "2001:db8::/32", "5000-5100"),
            expected
        );
    }

    #[test]
    fn networks_and_why_not() {
        let expected = "
networks, the first that works for all hosts is used
  ethernet   no: CAP_NET_RAW is missing
  udp        yes
  tcp        yes
  pm-kernel  if OXMPI_NET=pm-kernel asks for it
";
        let missing = Err("CAP_NET_RAW is missing".to_owned());
        assert_eq!(networks(Mode::Auto, missing, Ok(())), expected);
        let there = || Ok("eth0, frames of up to 1500 bytes".to_owned());
        let text = networks(Mode::Ethernet, there(), Err("no module".to_owned()));
        assert!(text.contains("pm-kernel  no: no module"), "{text}");
        assert!(text.contains("ethernet   yes, by eth0"), "{text}");
        assert!(text.contains("tcp        no: OXMPI_NET=ethernet"), "{text}");
        let text = networks(Mode::Tcp, there(), Ok(()));
        assert!(text.contains("ethernet   no: OXMPI_NET=tcp"), "{text}");
        let text = networks(Mode::PmKernel, there(), Ok(()));
        assert!(
            text.contains("udp        no: OXMPI_NET=pm-kernel"),
            "{text}"
        );
        assert!(text.ends_with("pm-kernel  yes\n"), "{text}");
    }

    #[test]
    fn a_host_without_a_network() {
        let text = shown(
            vec![interface("lo", "127.0.0.1", 8, Kind::Loopback)],
            "",
            "",
            "",
        );
        assert!(
            text.ends_with(
                "\na process on another host finds no address to try: this host offers only loopback\n"
            ),
            "{text}"
        );
    }

    #[test]
    fn a_host_with_neighbouring_addresses() {
        let interfaces = vec![
            interface("eth0", "10.1.0.2", 16, Kind::Ordinary),
            interface("eth0", "10.1.0.3", 16, Kind::Ordinary),
        ];
        let text = shown(interfaces, "", "", "");
        let expected = "\
  1  10.1.0.2  same network as eth0
  2  10.1.0.3  same network as eth0
";
        assert!(text.ends_with(expected), "{text}");
    }
}
