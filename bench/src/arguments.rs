//! The command line of `oxmpi bench`: its own benchmarks beside floors, or with `--against` a
//! comparison with other libraries.
//!
//! Names mean benchmarks in the first case and groups of figures in the second, so they are judged
//! when all words are read.

use std::path::PathBuf;

use thiserror::Error;

use crate::against::files::FILES;
use crate::against::memory::MEMORY;
use crate::against::{Request, plan::GROUPS};
use crate::net::{Net, NetError};
use crate::suite::SUITES;

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
pub struct Arguments {
    /// Benchmarks by name; none means all.
    pub names: Vec<String>,
    /// Print JSON instead of tables.
    pub json: bool,
    /// Write a page with plots here.
    pub html: Option<PathBuf>,
    /// Short repetitions, few of them.
    pub quick: bool,
    /// Networks between hosts to measure; none were named if this is the default.
    pub nets: Vec<Net>,
    /// Compare with other libraries instead.
    pub against: Option<Request>,
    /// Explain instead of measuring.
    pub help: bool,
}

/// What is wrong with a command line.
#[derive(Debug, Error)]
pub enum ArgumentError {
    /// No such benchmark.
    #[error("no benchmark is called {name:?}; {} {}", if *.against { "with --against there are" } else { "there are" }, known(*.against))]
    Unknown {
        /// What was given.
        name: String,
        /// Whether in a comparison.
        against: bool,
    },
    /// Not a number of ranks.
    #[error(
        "--ranks {text}: want numbers from 2 to {RANKS_MAX}, separated by commas, such as 2,4,8"
    )]
    Ranks {
        /// What was given.
        text: String,
    },
    /// Not a number of rounds.
    #[error("--rounds {text}: want a number from 1 to {ROUNDS_MAX}")]
    Rounds {
        /// What was given.
        text: String,
    },
    /// An option of the other mode.
    #[error(
        "{option} belongs to --against DIR, the comparison with another MPI library, which is missing"
    )]
    Alone {
        /// Which.
        option: &'static str,
    },
    /// A page of a comparison.
    #[error(
        "--html shows OxMPI beside floors; a comparison with --against is a table, or JSON with --json"
    )]
    Page,
    /// Not a network.
    #[error(transparent)]
    Net(#[from] NetError),
    /// No such option, or one without its value.
    #[error("{0}; try `oxmpi bench --help`")]
    Option(#[from] lexopt::Error),
}

/// Ranks of a comparison at most: beyond, other libraries' jobs take minutes on the machines this
/// is for.
const RANKS_MAX: u32 = 256;
/// Rounds at most: a day on a slow machine.
const ROUNDS_MAX: usize = 1000;

fn known(against: bool) -> String {
    if against {
        GROUPS.map(|(name, _)| name).join(", ")
    } else {
        SUITES.map(|suite| suite.name).join(", ")
    }
}

impl Default for Arguments {
    fn default() -> Arguments {
        Arguments {
            names: Vec::new(),
            json: false,
            html: None,
            quick: false,
            nets: Net::ALL.to_vec(),
            against: None,
            help: false,
        }
    }
}

impl Arguments {
    /// Of the words after `oxmpi bench`.
    pub fn parse(words: &[String]) -> Result<Arguments, ArgumentError> {
        use lexopt::prelude::*;
        let mut arguments = Arguments::default();
        let mut nets = None;
        let mut request = Request::default();
        // The last option that only a comparison has, for the complaint that there is none.
        let mut alone = None;
        let mut parser = lexopt::Parser::from_args(words);
        while let Some(word) = parser.next()? {
            match word {
                Long("json") => arguments.json = true,
                Long("html") => arguments.html = Some(parser.value()?.into()),
                Long("quick") => arguments.quick = true,
                Long("net") => nets = Some(Net::list(&parser.value()?.string()?)?),
                Long("against") => request.peers.push(parser.value()?.into()),
                Long("prefix") => {
                    request.prefix = Some(parser.value()?.into());
                    alone = Some("--prefix");
                }
                Long("ranks") => {
                    request.ranks = ranks(parser.value()?.string()?)?;
                    alone = Some("--ranks");
                }
                Long("rounds") => {
                    request.rounds = rounds(parser.value()?.string()?)?;
                    alone = Some("--rounds");
                }
                Short('h') | Long("help") => arguments.help = true,
                Value(name) => arguments.names.push(name.string()?),
                other => return Err(other.unexpected().into()),
            }
        }
        // The figures of files stand beside plain calls, and those of memory alone say something, so
        // they need no other library.
        let alone_too = arguments.names == [FILES] || arguments.names == [MEMORY];
        let against = !request.peers.is_empty() || alone_too;
        for name in &arguments.names {
            let known = if against {
                GROUPS.iter().any(|(group, _)| group == name)
            } else {
                SUITES.iter().any(|suite| suite.name == name)
            };
            if !known {
                return Err(ArgumentError::Unknown {
                    name: name.clone(),
                    against,
                });
            }
        }
        if against {
            if arguments.html.is_some() {
                return Err(ArgumentError::Page);
            }
            request.groups = arguments.names.clone();
            request.quick = arguments.quick;
            request.nets = nets.clone().unwrap_or_default();
            arguments.against = Some(request);
        } else if let Some(option) = alone {
            return Err(ArgumentError::Alone { option });
        }
        arguments.nets = nets.unwrap_or(arguments.nets);
        Ok(arguments)
    }
}

fn ranks(text: String) -> Result<Vec<u32>, ArgumentError> {
    let counts: Option<Vec<u32>> = text
        .split(',')
        .map(|count| {
            count
                .trim()
                .parse()
                .ok()
                .filter(|count| (2..=RANKS_MAX).contains(count))
        })
        .collect();
    let mut counts = counts.ok_or(ArgumentError::Ranks { text })?;
    counts.sort_unstable();
    counts.dedup();
    Ok(counts)
}

fn rounds(text: String) -> Result<usize, ArgumentError> {
    let count = text
        .parse()
        .ok()
        .filter(|count| (1..=ROUNDS_MAX).contains(count));
    count.ok_or(ArgumentError::Rounds { text })
}

/// The help page.
pub fn help() -> String {
    let mut text = String::from(
        "usage: oxmpi bench [NAMES…] [--json] [--html FILE] [--quick]\n       \
         oxmpi bench --against DIR [--against DIR…] [NAMES…] [--json] [--quick]\n\n\
         Measures OxMPI on this machine, each figure beside the bare mechanism it stands on.\n\n",
    );
    for suite in SUITES {
        text.push_str(&format!("  {:14} {}\n", suite.name, suite.about));
    }
    text.push_str(
        "\n  --json         one JSON object on standard output instead of tables\n  \
           --html FILE    also write a page with plots that needs no network\n  \
           --quick        short repetitions: seconds instead of minutes, wide spread\n  \
           --net LIST     networks between hosts: tcp,udp,ethernet, those of them that work\n\n\
         Without names all run but those that say so. docs/bench.md explains each of them.\n\n\
         With --against, OxMPI and the MPI libraries below the given prefixes run the same C program in turns:\n\n",
    );
    for (name, about) in GROUPS {
        text.push_str(&format!("  {name:14} {about}\n"));
    }
    text.push_str(
        "\n  `oxmpi bench files` and `oxmpi bench memory` run without another library, too.\n\
         \n  --against DIR  another MPI library: the folder above its lib and bin\n  \
           --prefix DIR   the installation of OxMPI, if not the one this command belongs to\n  \
           --ranks LIST   numbers of ranks for collectives: 2,4,8,16\n  \
           --rounds N     how often everything is measured: 5\n  \
           --net LIST     with network: OxMPI by each of tcp,udp,ethernet; without it as `oxmpi run` would choose\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, ArgumentError> {
        Arguments::parse(
            &line
                .split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn names_and_options_mix() {
        let found = parse("latency --json --html out.html bandwidth --quick").unwrap();
        assert_eq!(found.names, ["latency", "bandwidth"]);
        assert!(found.json && found.quick && !found.help);
        assert_eq!(found.html, Some(PathBuf::from("out.html")));
        assert_eq!(parse("").unwrap(), Arguments::default());
    }

    #[test]
    fn errors_say_what_would_be_right() {
        let text = parse("latncy").unwrap_err().to_string();
        assert!(
            text.starts_with("no benchmark is called \"latncy\"; there are ")
                && text.contains("latency"),
            "{text}"
        );
        assert_eq!(
            parse("--fast").unwrap_err().to_string(),
            "invalid option '--fast'; try `oxmpi bench --help`"
        );
        assert!(parse("--html").unwrap_err().to_string().contains("--html"));
    }

    #[test]
    fn a_comparison_has_options_and_names_of_its_own() {
        let line = "--against /a rate --against /b --prefix /o --ranks 4,2,4 --rounds 3 --quick";
        let found = parse(line).unwrap().against.unwrap();
        assert_eq!(found.peers, [PathBuf::from("/a"), PathBuf::from("/b")]);
        assert_eq!(found.prefix, Some(PathBuf::from("/o")));
        assert_eq!(
            (found.groups, found.ranks),
            (vec!["rate".to_owned()], vec![2, 4])
        );
        assert!(found.rounds == 3 && found.quick);
    }

    #[test]
    fn networks_are_those_to_measure_or_those_that_oxmpi_is_compared_by() {
        let alone = parse("network --net udp").unwrap();
        assert_eq!((alone.nets, alone.against), (vec![Net::Udp], None));
        assert_eq!(parse("network").unwrap().nets, Net::ALL);
        let compared = |line| parse(line).unwrap().against.unwrap().nets;
        assert_eq!(compared("--against /a network"), []);
        assert_eq!(
            compared("--against /a network --net udp,tcp"),
            [Net::Udp, Net::Tcp]
        );
        let error = parse("network --net ib").unwrap_err().to_string();
        assert!(error.starts_with("--net ib: want tcp, udp"), "{error}");
    }

    #[test]
    fn options_of_a_comparison_alone_or_with_wrong_values_are_refused() {
        for (line, part) in [
            (
                "--against /a matching",
                "with --against there are latency, bandwidth",
            ),
            ("--ranks 2", "--ranks belongs to --against DIR"),
            (
                "--against /a --ranks 2,x",
                "--ranks 2,x: want numbers from 2 to 256",
            ),
            ("--against /a --ranks 1", "--ranks 1: want"),
            (
                "--against /a --rounds 0",
                "--rounds 0: want a number from 1",
            ),
            ("--against /a --html f", "--html shows OxMPI beside floors"),
        ] {
            let text = parse(line).unwrap_err().to_string();
            assert!(text.contains(part), "{line}: {text}");
        }
    }
}
