//! The command line of `oxmpi pmtest`.

use std::path::PathBuf;

use oxmpi_launch::{Host, HostsError};
use thiserror::Error;

use crate::net::{Net, NetError};

/// What was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    /// Networks, one after the other; none means those of the PM protocol that can be used.
    pub nets: Vec<Net>,
    /// Where the two processes run, if not where the environment says.
    pub hosts: Option<Vec<Host>>,
    /// Print JSON instead of tables.
    pub json: bool,
    /// Write a page with plots here.
    pub html: Option<PathBuf>,
    /// Measure the modes of a link instead.
    pub modes: bool,
    /// Short repetitions, few of them.
    pub quick: bool,
    /// Explain instead of measuring.
    pub help: bool,
}

/// What is wrong with a command line.
#[derive(Debug, Error)]
pub enum ArgumentError {
    /// Not a network.
    #[error(transparent)]
    Net(#[from] NetError),
    /// A network that the protocol does not run on.
    #[error(
        "--net tcp: pmtest measures the PM protocol, which runs on udp and on ethernet, beside bare TCP; `oxmpi bench network --net tcp` measures OxMPI by TCP"
    )]
    Tcp,
    /// Modes need no network.
    #[error(
        "--modes compares ways between two sides on this host: it goes with neither --net nor -host"
    )]
    Modes,
    /// Not hosts.
    #[error(transparent)]
    Hosts(#[from] HostsError),
    /// No such option, or one without its value, or a word too many.
    #[error("{0}; try `oxmpi pmtest --help`")]
    Option(#[from] lexopt::Error),
}

/// The help page.
pub const HELP: &str = "\
usage: oxmpi pmtest [--net udp,ethernet] [-host a,b] [--json] [--html FILE] [--quick]
       oxmpi pmtest --modes [--json] [--html FILE] [--quick]

Measures the PM network between two processes, point to point: latency and bandwidth by message size,
with and without interrupt reaping, beside bare TCP between the same two; where the time of half a round
trip goes; and what the protocol has counted.

With --modes the same protocol between two threads of this host, over mapped rings in both directions
(user-user), mapped one way and system calls the other (user-kernel), system calls both ways
(kernel-kernel): time, bytes copied and system calls by message size.

  --net LIST     udp, ethernet, or both; without it those that work
  -host A,B      the two hosts; without it OXMPI_HOST, or two processes on this one
  --json         one JSON object on standard output instead of tables
  --html FILE    also write a page with plots that needs no network
  --quick        short repetitions: seconds instead of minutes, wide spread

docs/pmtest.md explains the tables.
";

impl Arguments {
    /// Of the words after `oxmpi pmtest`.
    pub fn parse(words: &[String]) -> Result<Arguments, ArgumentError> {
        use lexopt::prelude::*;
        let mut arguments = Arguments::default();
        // The launcher's users write long options with one dash.
        let words = words.iter().map(|word| match word.as_str() {
            "-host" | "-hosts" => "--host",
            other => other,
        });
        let mut parser = lexopt::Parser::from_args(words);
        while let Some(word) = parser.next()? {
            match word {
                Long("net") => arguments.nets = Net::list(&parser.value()?.string()?)?,
                Long("host" | "hosts") | Short('H') => {
                    let list = parser.value()?.string()?;
                    arguments.hosts = Some(Host::list(&list, "-host")?);
                }
                Long("json") => arguments.json = true,
                Long("html") => arguments.html = Some(parser.value()?.into()),
                Long("modes") => arguments.modes = true,
                Long("quick") => arguments.quick = true,
                Short('h') | Long("help") => arguments.help = true,
                other => return Err(other.unexpected().into()),
            }
        }
        if arguments.nets.contains(&Net::Tcp) {
            return Err(ArgumentError::Tcp);
        }
        if arguments.modes && (arguments.hosts.is_some() || !arguments.nets.is_empty()) {
            return Err(ArgumentError::Modes);
        }
        Ok(arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, ArgumentError> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Arguments::parse(&words)
    }

    #[test]
    fn options() {
        let found = parse("--net ethernet -host a,b --json --html p.html --quick").unwrap();
        assert_eq!(found.nets, [Net::Ethernet]);
        assert_eq!(found.hosts.map(|hosts| hosts.len()), Some(2));
        assert!(found.json && found.quick && !found.help);
        assert_eq!(found.html, Some(PathBuf::from("p.html")));
        assert!(parse("--modes --quick").unwrap().modes);
        assert_eq!(parse("").unwrap(), Arguments::default());
    }

    #[test]
    fn errors_say_what_would_be_right() {
        for (line, part) in [
            ("--net tcp", "pmtest measures the PM protocol"),
            ("--net ib", "want tcp, udp, ethernet"),
            ("--modes --net udp", "neither --net nor -host"),
            ("--fast", "try `oxmpi pmtest --help`"),
            ("latency", "try `oxmpi pmtest --help`"),
        ] {
            let text = parse(line).unwrap_err().to_string();
            assert!(text.contains(part), "{line}: {text}");
        }
    }
}
