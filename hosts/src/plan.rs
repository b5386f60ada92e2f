//! What the hosts are to look like: names, addresses, the lines for `ip`, and what a command learns
//! of them.
//!
//! Pure; `switch` and `hold` carry it out. Host h3 has the interface eth0 with 10.77.0.4/16 and
//! fd77::4/64, and its cable ends in port h3 of the switch.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};

/// A Linux bridge has 1024 ports.
pub const HOSTS_MAX: u32 = 1000;
/// The least that IPv6 allows (RFC 8200, section 5).
pub const MTU_MIN: u32 = 1280;
/// As many as anybody trunks.
pub const CARDS_MAX: u32 = 4;
/// The most that a veth takes.
pub const MTU_MAX: u32 = 65535;
/// With more, connections take minutes to come about.
pub const LOST_PER_MILLE_MAX: u32 = 300;
/// The bridge, and the name of the process that holds it.
pub const SWITCH: &str = "switch";
/// Where commands find the processes that hold the namespaces: "switch=1,h0=2,h1=3".
pub const HOLDERS_VARIABLE: &str = "OXMPI_TEST_HOSTS";

/// Hosts that were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How many.
    pub count: u32,
    /// Without IPv4 addresses.
    pub ipv6_only: bool,
    /// Of all interfaces.
    pub mtu: u32,
    /// Interfaces of each host, each on a switch of its own; only the first has addresses.
    pub cards: u32,
    /// The two hosts are joined by cables instead.
    pub cable: bool,
    /// Of a thousand packets that a host receives, so many are lost.
    pub lost_per_mille: u32,
}

impl Plan {
    /// The names, in order.
    pub fn names(&self) -> Vec<String> {
        (0..self.count).map(|host| format!("h{host}")).collect()
    }

    /// What the switch tells `ip -batch`; the processes hold the hosts' namespaces.
    pub fn switch_lines(&self, processes: &[u32]) -> String {
        let mtu = self.mtu;
        let mut lines = String::new();
        for card in 0..self.cards {
            if self.cable
                && let [one, other] = processes
            {
                let _ = writeln!(
                    lines,
                    "link add name eth{card} mtu {mtu} netns {one} type veth peer name eth{card} mtu {mtu} netns {other}"
                );
                continue;
            }
            // Ports of the first switch have the names of their hosts.
            let suffix = match card {
                0 => String::new(),
                _ => format!("-{card}"),
            };
            let _ = writeln!(
                lines,
                "link add name {SWITCH}{suffix} mtu {mtu} type bridge"
            );
            let _ = writeln!(lines, "link set dev {SWITCH}{suffix} up");
            for (name, process) in self.names().iter().zip(processes) {
                let _ = writeln!(
                    lines,
                    "link add name {name}{suffix} mtu {mtu} type veth peer name eth{card} mtu {mtu} netns {process}"
                );
                let _ = writeln!(
                    lines,
                    "link set dev {name}{suffix} master {SWITCH}{suffix} up"
                );
            }
        }
        lines
    }

    /// What a host tells `ip -batch` once it has its interface.
    pub fn host_lines(&self, host: u32, ipv6: bool) -> String {
        let mut lines = "link set dev lo up\n".to_owned();
        for card in 0..self.cards {
            let _ = writeln!(lines, "link set dev eth{card} up");
        }
        if !self.ipv6_only {
            let _ = writeln!(lines, "address add {}/16 dev eth0", ipv4(host));
        }
        if ipv6 || self.ipv6_only {
            // Nobody else has this address; waiting a second to find that out would be a second
            // wasted.
            let _ = writeln!(lines, "address add {}/64 dev eth0 nodad", Plan::ipv6(host));
        }
        lines
    }

    /// What the hosts see as /etc/hosts.
    pub fn hosts_file(&self, ipv6: bool) -> String {
        let mut text = "127.0.0.1 localhost\n::1 localhost ip6-localhost\n".to_owned();
        for (host, name) in (0..).zip(self.names()) {
            if !self.ipv6_only {
                let _ = writeln!(text, "{} {name}", ipv4(host));
            }
            if ipv6 || self.ipv6_only {
                let _ = writeln!(text, "{} {name}", Plan::ipv6(host));
            }
        }
        text
    }

    /// What a command on a host finds in its environment, beside what it inherits.
    pub fn environment(&self, task: &str, processes: &[u32]) -> Vec<(&'static str, OsString)> {
        let names = self.names();
        let mut holders = format!("{SWITCH}=1");
        for (name, process) in names.iter().zip(processes) {
            let _ = write!(holders, ",{name}={process}");
        }
        // A template is split into words as a shell would.
        let quote = if task.contains(' ') { "'" } else { "" };
        vec![
            ("OXMPI_HOST", names.join(",").into()),
            (
                "OXMPI_LAUNCHER",
                format!("{quote}{task}{quote} enter {{host}}").into(),
            ),
            (HOLDERS_VARIABLE, holders.into()),
        ]
    }

    fn ipv6(host: u32) -> Ipv6Addr {
        // At most HOSTS_MAX, which is far below 16 bits.
        Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, (host + 1) as u16)
    }
}

/// 10.77.0.1 to 10.77.0.250, 10.77.1.1 and so on: no address that a careless eye takes for a
/// network's or a broadcast.
fn ipv4(host: u32) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, (host / 250) as u8, (host % 250 + 1) as u8)
}

/// The process that holds a host, out of the variable's text; the error is for people.
pub fn holder(text: Option<&str>, host: &str) -> Result<u32, String> {
    let Some(text) = text else {
        return Err(format!(
            "{HOLDERS_VARIABLE} is not set: this works only below `cargo xtask hosts N -- COMMAND`"
        ));
    };
    let pairs = || text.split(',').filter_map(|pair| pair.split_once('='));
    let process = pairs()
        .find(|(name, _)| *name == host)
        .and_then(|(_, process)| process.parse().ok());
    process.ok_or_else(|| {
        let names: Vec<&str> = pairs()
            .map(|(name, _)| name)
            .filter(|name| *name != SWITCH)
            .collect();
        format!("there is no host {host:?}; there are {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: Plan = Plan {
        count: 2,
        ipv6_only: false,
        mtu: 1500,
        cards: 1,
        cable: false,
        lost_per_mille: 0,
    };

    #[test]
    fn the_lines_for_ip() {
        assert_eq!(
            TWO.switch_lines(&[7, 8]),
            "link add name switch mtu 1500 type bridge\n\
             link set dev switch up\n\
             link add name h0 mtu 1500 type veth peer name eth0 mtu 1500 netns 7\n\
             link set dev h0 master switch up\n\
             link add name h1 mtu 1500 type veth peer name eth0 mtu 1500 netns 8\n\
             link set dev h1 master switch up\n"
        );
        assert_eq!(
            TWO.host_lines(1, true),
            "link set dev lo up\nlink set dev eth0 up\naddress add 10.77.0.2/16 dev eth0\naddress add fd77::2/64 dev eth0 nodad\n"
        );
        let two_cables = Plan {
            cards: 2,
            cable: true,
            ..TWO
        };
        assert_eq!(
            two_cables.switch_lines(&[7, 8]),
            "link add name eth0 mtu 1500 netns 7 type veth peer name eth0 mtu 1500 netns 8\n\
             link add name eth1 mtu 1500 netns 7 type veth peer name eth1 mtu 1500 netns 8\n"
        );
        let alone = Plan {
            ipv6_only: true,
            ..TWO
        };
        assert!(!alone.host_lines(1, true).contains("10.77"));
        assert!(!alone.hosts_file(true).contains("10.77"));
    }

    #[test]
    fn addresses_differ() {
        let last = HOSTS_MAX - 1;
        assert_eq!(ipv4(0).to_string(), "10.77.0.1");
        assert_eq!(ipv4(250).to_string(), "10.77.1.1");
        assert_eq!(ipv4(last).to_string(), "10.77.3.250");
        assert_eq!(Plan::ipv6(last).to_string(), "fd77::3e8");
    }

    #[test]
    fn a_command_finds_the_hosts() {
        let environment = TWO.environment("/a b/xtask", &[2, 3]);
        let value = |name| {
            let found = environment.iter().find(|(each, _)| *each == name);
            found.unwrap().1.to_str().unwrap()
        };
        assert_eq!(value("OXMPI_HOST"), "h0,h1");
        assert_eq!(value("OXMPI_LAUNCHER"), "'/a b/xtask' enter {host}");
        let holders = value(HOLDERS_VARIABLE);
        assert_eq!(holder(Some(holders), "h1"), Ok(3));
        assert_eq!(holder(Some(holders), SWITCH), Ok(1));
        assert_eq!(
            holder(Some(holders), "h2").unwrap_err(),
            "there is no host \"h2\"; there are h0, h1"
        );
        assert!(holder(None, "h2").unwrap_err().contains("not set"));
    }
}
