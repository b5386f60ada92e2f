//! The networks between hosts that a run can be told to use, by the names that `--net` and
//! OXMPI_NET give them.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The variable that tells ranks which network to use.
pub const VARIABLE: &str = oxmpi_settings::NET.name;

/// A network between hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Net {
    /// Connections.
    Tcp,
    /// The PM protocol in datagrams.
    Udp,
    /// The PM protocol in raw frames.
    Ethernet,
}

/// A name that is none of them.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("--net {text}: want tcp, udp, ethernet, or several of them separated by commas")]
pub struct NetError {
    /// What was given.
    pub text: String,
}

impl Net {
    /// All of them.
    pub const ALL: [Net; 3] = [Net::Tcp, Net::Udp, Net::Ethernet];

    /// As on a command line, and in OXMPI_NET.
    pub fn word(self) -> &'static str {
        match self {
            Net::Tcp => "tcp",
            Net::Udp => "udp",
            Net::Ethernet => "ethernet",
        }
    }

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Net::Tcp => "TCP",
            Net::Udp => "UDP",
            Net::Ethernet => "Ethernet",
        }
    }

    /// The environment of ranks that are to use it.
    pub fn environment(self) -> [(&'static str, &'static str); 1] {
        [(VARIABLE, self.word())]
    }

    /// A list as given on a command line, each once.
    pub fn list(text: &str) -> Result<Vec<Net>, NetError> {
        let mut nets = Vec::new();
        for word in text.split(',') {
            let net = Net::ALL
                .into_iter()
                .find(|net| net.word() == word.trim())
                .ok_or_else(|| NetError { text: text.into() })?;
            if !nets.contains(&net) {
                nets.push(net);
            }
        }
        Ok(nets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_listed_by_name() {
        assert_eq!(
            Net::list("udp, ethernet,udp"),
            Ok(vec![Net::Udp, Net::Ethernet])
        );
        for text in ["", "udp,", "infiniband"] {
            let error = Net::list(text).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("--net {text}: want tcp")),
                "{error}"
            );
        }
    }
}
