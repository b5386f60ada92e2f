//! The hosts of a comparison across hosts: which there are, and how each library's launcher is
//! told.
//!
//! They come from OXMPI_HOST or OXMPI_HOSTFILE, as OxMPI's own launcher takes them. Ranks are dealt
//! out in blocks, the same number on each host and in the same order for every library. OxMPI's
//! launcher goes there by OXMPI_LAUNCHER if that is set, the others by `ssh`.

use oxmpi_launch::Spread;
use oxmpi_net::address::{self, Kind, Local, Policy};
use thiserror::Error;

use super::installation::Family;

/// Stands in a setting for the interface between the hosts.
pub const INTERFACE: &str = "{interface}";

/// Why there are no hosts to compare between.
#[derive(Debug, Error)]
pub enum HostsError {
    /// Too few.
    #[error(
        "network compares libraries between hosts, and there {}; name two or four of them (OXMPI_HOST=a,b oxmpi bench network --against DIR), \
         or make some on this machine (cargo xtask hosts 4 -- oxmpi bench network --against DIR)",
        .given.first().map_or_else(|| "are none: OXMPI_HOST is not set".to_owned(), |name| format!("is only {name}"))
    )]
    Few {
        /// What there is.
        given: Vec<String>,
    },
    /// A mistake in the list.
    #[error(transparent)]
    List(#[from] oxmpi_launch::HostsError),
    /// No interface that others could be told to use.
    #[error(
        "no network interface of this host leads to others ({0}); `oxmpi info --net` shows them all"
    )]
    NoInterface(String),
}

/// Hosts and the way between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    names: Vec<String>,
    interface: String,
}

impl Hosts {
    /// As the environment and this host's interfaces say.
    pub fn from_env() -> Result<Hosts, HostsError> {
        let hosts = Spread::default().or_env()?.hosts.unwrap_or_default();
        let mut names: Vec<String> = Vec::new();
        for host in hosts {
            if !names.contains(&host.name) {
                names.push(host.name);
            }
        }
        if names.len() < 2 {
            return Err(HostsError::Few { given: names });
        }
        Ok(Hosts {
            names,
            interface: interface()?,
        })
    }

    /// How many.
    pub fn count(&self) -> u32 {
        self.names.len() as u32
    }

    /// Words for a family's launcher that put `ranks` ranks on the first `hosts` hosts.
    pub fn words(&self, family: Family, hosts: u32, ranks: u32) -> Vec<String> {
        let option = match family {
            Family::OpenMpi => "--host",
            Family::Mpich | Family::Intel => "-hosts",
            Family::Oxmpi | Family::Unknown => "-host",
        };
        let slots = ranks.div_ceil(hosts);
        let list: Vec<String> = self.names[..hosts as usize]
            .iter()
            .map(|name| match family {
                // Hydra's list takes no number in Intel's version; it fills hosts by -ppn.
                Family::Intel => name.clone(),
                _ => format!("{name}:{slots}"),
            })
            .collect();
        let mut words = vec![option.to_owned(), list.join(",")];
        if family == Family::Intel {
            words.extend(["-ppn".to_owned(), slots.to_string()]);
        }
        words
    }

    /// A word of a setting with the interface in it.
    pub fn fill(&self, word: &str) -> String {
        word.replace(INTERFACE, &self.interface)
    }
}

/// The name of the interface that OxMPI itself would offer first.
fn interface() -> Result<String, HostsError> {
    let nothing = |error: &dyn std::fmt::Display| HostsError::NoInterface(error.to_string());
    let policy = Policy::from_env().map_err(|error| nothing(&error))?;
    let local = Local::read().map_err(|error| nothing(&error))?;
    let offered = address::offered(&local.interfaces, &policy).map_err(|error| nothing(&error))?;
    offered
        .iter()
        .filter(|offered| offered.kind != Kind::Loopback)
        .find_map(|offered| {
            local
                .interfaces
                .iter()
                .find(|interface| interface.address == offered.address)
        })
        .map(|interface| interface.name.clone())
        .ok_or_else(|| nothing(&"only loopback is up"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_launcher_is_told_in_its_own_words() {
        let hosts = Hosts {
            names: ["h0", "h1", "h2", "h3"].map(String::from).into(),
            interface: "eth0".into(),
        };
        let words = |family, count, ranks| hosts.words(family, count, ranks).join(" ");
        assert_eq!(words(Family::Oxmpi, 2, 4), "-host h0:2,h1:2");
        assert_eq!(words(Family::Mpich, 4, 16), "-hosts h0:4,h1:4,h2:4,h3:4");
        assert_eq!(words(Family::OpenMpi, 2, 2), "--host h0:1,h1:1");
        assert_eq!(words(Family::Intel, 2, 4), "-hosts h0,h1 -ppn 2");
        assert_eq!(hosts.fill("{interface}"), "eth0");
    }

    #[test]
    fn errors_say_how_to_get_hosts() {
        let text = |given: &[&str]| {
            let given = given.iter().map(|name| (*name).to_owned()).collect();
            HostsError::Few { given }.to_string()
        };
        assert!(text(&[]).contains("OXMPI_HOST is not set"));
        assert!(text(&["h0"]).contains("there is only h0; name two"));
        assert!(text(&[]).contains("cargo xtask hosts 4 -- oxmpi bench network"));
    }
}
