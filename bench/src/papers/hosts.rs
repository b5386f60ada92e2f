//! The hosts of the experiments: those that are named, or made on this machine, or none.

use std::net::{Ipv4Addr, ToSocketAddrs};
use std::process::{Command, ExitCode, Stdio};

use oxmpi_launch::Spread;

/// As many as the papers have.
pub const HOSTS_MAX: usize = 16;

/// Says to this program, started again on the first of the hosts that it made, that it is there.
const MADE_VARIABLE: &str = "OXMPI_TEST_PAPERS";

/// Where the experiments run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    /// Names, this one first; none where there is only loopback.
    pub names: Vec<String>,
    /// For people.
    pub about: String,
}

impl Hosts {
    /// Those that the environment names.
    pub fn from_env() -> Result<Hosts, oxmpi_launch::HostsError> {
        let mut names: Vec<String> = Vec::new();
        for host in Spread::default().or_env()?.hosts.unwrap_or_default() {
            if !names.contains(&host.name) {
                names.push(host.name);
            }
        }
        names.truncate(HOSTS_MAX);
        let about = match (std::env::var_os(MADE_VARIABLE), names.len()) {
            (Some(_), count) => format!("{count} hosts, made on this machine for the purpose"),
            (None, 0 | 1) => "one host: between ranks by TCP over loopback".to_owned(),
            (None, count) => format!("{count} hosts: {}", names.join(", ")),
        };
        if names.len() < 2 {
            names.clear();
        }
        Ok(Hosts { names, about })
    }

    /// The first so many; none for one host without a name.
    pub fn first(&self, count: usize) -> &[String] {
        &self.names[..count.min(self.names.len())]
    }

    /// Those of these numbers of hosts that there are.
    pub fn counts(&self, wanted: &[usize]) -> Vec<usize> {
        let has = |count: &&usize| **count <= self.names.len().max(1);
        wanted.iter().filter(has).copied().collect()
    }

    /// The second one's address.
    pub fn other(&self) -> Option<Ipv4Addr> {
        let name = self.names.get(1)?;
        let addresses = (name.as_str(), 0).to_socket_addrs().ok()?;
        addresses
            .map(|address| address.ip())
            .find_map(|ip| match ip {
                std::net::IpAddr::V4(ip) => Some(ip),
                std::net::IpAddr::V6(_) => None,
            })
    }
}

/// Runs this command again where there are 16 hosts, if none are named and this user may make
/// them; the error says why not.
pub fn elsewhere(words: &[String]) -> Option<Result<ExitCode, String>> {
    let named = [&oxmpi_settings::HOST, &oxmpi_settings::HOSTFILE]
        .iter()
        .any(|setting| std::env::var_os(setting.name).is_some());
    if named || std::env::var_os(MADE_VARIABLE).is_some() {
        return None;
    }
    Some(make(words))
}

fn make(words: &[String]) -> Result<ExitCode, String> {
    let program = oxmpi_test_hosts::own_program().map_err(|error| error.to_string())?;
    let hosts = |count: usize| {
        let mut command = Command::new(&program);
        command.args(["hosts", &count.to_string(), "--"]);
        command
    };
    // What forbids two forbids sixteen, and says so before anything is measured.
    let trial = hosts(2)
        .arg("true")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    if !trial.status.success() {
        let said = String::from_utf8_lossy(&trial.stderr);
        let said = said.lines().next().unwrap_or("hosts cannot be made");
        return Err(said.trim_start_matches("oxmpi hosts: ").to_owned());
    }
    let status = hosts(HOSTS_MAX)
        .arg(&program)
        .args(["bench", "papers"])
        .args(words)
        .env(MADE_VARIABLE, "1")
        .status()
        .map_err(|error| error.to_string())?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_hosts_are_used_as_there_are() {
        let hosts = |count: usize| Hosts {
            names: (0..count).map(|host| format!("h{host}")).collect(),
            about: String::new(),
        };
        assert_eq!(hosts(0).counts(&[1, 2, 16]), [1]);
        assert_eq!(hosts(4).counts(&[1, 2, 4, 16]), [1, 2, 4]);
        assert_eq!(hosts(4).first(2), ["h0", "h1"]);
        assert!(hosts(0).first(1).is_empty());
        assert_eq!(hosts(0).other(), None);
    }
}
