//! The command line of `oxmpi bench`.

use std::path::PathBuf;

use thiserror::Error;

use crate::suite::SUITES;

/// What was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    /// Benchmarks by name; none means all.
    pub names: Vec<String>,
    /// Print JSON instead of tables.
    pub json: bool,
    /// Write a page with plots here.
    pub html: Option<PathBuf>,
    /// Short repetitions, few of them.
    pub quick: bool,
    /// Explain instead of measuring.
    pub help: bool,
}

/// What is wrong with a command line.
#[derive(Debug, Error)]
pub enum ArgumentError {
    /// No such benchmark.
    #[error("no benchmark is called {name:?}; there are {}", known())]
    Unknown {
        /// What was given.
        name: String,
    },
    /// No such option, or one without its value.
    #[error("{0}; try `oxmpi bench --help`")]
    Option(#[from] lexopt::Error),
}

fn known() -> String {
    SUITES.map(|suite| suite.name).join(", ")
}

impl Arguments {
    /// Of the words after `oxmpi bench`.
    pub fn parse(words: &[String]) -> Result<Arguments, ArgumentError> {
        use lexopt::prelude::*;
        let mut arguments = Arguments::default();
        let mut parser = lexopt::Parser::from_args(words);
        while let Some(word) = parser.next()? {
            match word {
                Long("json") => arguments.json = true,
                Long("html") => arguments.html = Some(parser.value()?.into()),
                Long("quick") => arguments.quick = true,
                Short('h') | Long("help") => arguments.help = true,
                Value(name) => {
                    let name = name.string()?;
                    if !SUITES.iter().any(|suite| suite.name == name) {
                        return Err(ArgumentError::Unknown { name });
                    }
                    arguments.names.push(name);
                }
                other => return Err(other.unexpected().into()),
            }
        }
        Ok(arguments)
    }
}

/// The help page.
pub fn help() -> String {
    let mut text = String::from(
        "usage: oxmpi bench [NAMES…] [--json] [--html FILE] [--quick]\n\n\
         Measures OxMPI on this machine, each figure beside the bare mechanism it stands on.\n\n",
    );
    for suite in SUITES {
        text.push_str(&format!("  {:14} {}\n", suite.name, suite.about));
    }
    text.push_str(
        "\n  --json         one JSON object on standard output instead of tables\n  \
           --html FILE    also write a page with plots that needs no network\n  \
           --quick        short repetitions: seconds instead of minutes, wide spread\n\n\
         Without names every benchmark runs. docs/bench.md explains each of them.\n",
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
}
