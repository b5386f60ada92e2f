//! The command line of `oxmpi bench papers`.

use std::path::PathBuf;

use thiserror::Error;

/// The papers, by the words that choose them, with what they are.
pub const PAPERS: [(&str, &str); 4] = [
    (
        "o2g",
        "MPI's queues in the protocol handler: integer sort, overlap, connections, calls",
    ),
    (
        "pm",
        "a light protocol beside IP: round trip, bandwidth, where the time goes, integer sort",
    ),
    (
        "ports",
        "messages at user level: modes of a link; pi, mm and lu on 1 to 16 hosts",
    ),
    (
        "kernel",
        "messages between kernels: the modules that are loaded, and where the counts are",
    ),
];

/// What was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    /// Papers; none means all.
    pub papers: Vec<&'static str>,
    /// Print JSON instead of tables.
    pub json: bool,
    /// Write a page here.
    pub html: Option<PathBuf>,
    /// Short repetitions, few of them.
    pub quick: bool,
    /// Where binaries of NPB are.
    pub npb: Option<PathBuf>,
    /// Prefixes of other libraries.
    pub against: Vec<PathBuf>,
    /// Prefix of OxMPI, if not this executable's own.
    pub prefix: Option<PathBuf>,
    /// Explain instead of measuring.
    pub help: bool,
}

/// What is wrong with a command line.
#[derive(Debug, Error)]
pub enum ArgumentError {
    /// No such paper.
    #[error("no paper is called {name:?}; there are o2g, pm, ports and kernel")]
    Unknown {
        /// What was given.
        name: String,
    },
    /// An option of one paper without that paper.
    #[error(
        "{option} belongs to the paper o2g, which is not among those asked for: oxmpi bench papers o2g {option} DIR"
    )]
    Other {
        /// Which option.
        option: &'static str,
    },
    /// Nothing to run there.
    #[error(
        "--npb {}: no binaries such as cg.S.x there, nor in its folder bin; docs/nas.md says how to make them", .folder.display()
    )]
    NoBinaries {
        /// What was given.
        folder: PathBuf,
    },
    /// No such option, or one without its value.
    #[error("{0}; try `oxmpi bench papers --help`")]
    Option(#[from] lexopt::Error),
}

impl Arguments {
    /// Of the words after `oxmpi bench papers`.
    pub fn parse(words: &[String]) -> Result<Arguments, ArgumentError> {
        use lexopt::prelude::*;
        let mut arguments = Arguments::default();
        let mut parser = lexopt::Parser::from_args(words);
        while let Some(word) = parser.next()? {
            match word {
                Long("json") => arguments.json = true,
                Long("html") => arguments.html = Some(parser.value()?.into()),
                Long("quick") => arguments.quick = true,
                Long("npb") => arguments.npb = Some(parser.value()?.into()),
                Long("against") => arguments.against.push(parser.value()?.into()),
                Long("prefix") => arguments.prefix = Some(parser.value()?.into()),
                Short('h') | Long("help") => arguments.help = true,
                Value(name) => {
                    let name = name.string()?;
                    let known = PAPERS.iter().find(|(paper, _)| *paper == name);
                    let (paper, _) = known.ok_or(ArgumentError::Unknown { name })?;
                    arguments.papers.push(paper);
                }
                other => return Err(other.unexpected().into()),
            }
        }
        if !arguments.wants("o2g") {
            let given = [
                ("--npb", arguments.npb.is_some()),
                ("--against", !arguments.against.is_empty()),
                ("--prefix", arguments.prefix.is_some()),
            ];
            if let Some((option, _)) = given.into_iter().find(|(_, given)| *given) {
                return Err(ArgumentError::Other { option });
            }
        }
        Ok(arguments)
    }

    /// Whether a paper was asked for.
    pub fn wants(&self, paper: &str) -> bool {
        self.papers.is_empty() || self.papers.contains(&paper)
    }
}

/// The help page.
pub fn help() -> String {
    let mut text = String::from(
        "usage: oxmpi bench papers [o2g|pm|ports|kernel]… [--quick] [--json] [--html FILE]\n       \
         oxmpi bench papers o2g [--npb DIR] [--against DIR]… [--prefix DIR]\n\n\
         Repeats the experiments of the papers that OxMPI is made after, on this machine, and prints\n\
         their figures beside ours where they are known. Without names all of them:\n\n",
    );
    for (name, about) in PAPERS {
        text.push_str(&format!("  {name:14} {about}\n"));
    }
    text.push_str(
        "\n  --quick        short repetitions: at most two minutes a paper, wide spread\n  \
           --json         one JSON object on standard output instead of tables\n  \
           --html FILE    also write a page that needs no network\n  \
           --npb DIR      also NPB's benchmarks whose binaries are in DIR or DIR/bin\n  \
           --against DIR  also another MPI library: the folder above its lib and bin\n  \
           --prefix DIR   the installation of OxMPI for --against, if not this command's own\n\n\
         Hosts are those of OXMPI_HOST. Without it root makes 16 on this machine for as long as it\n\
         takes; who may not gets loopback. docs/bench.md explains the tables.\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, ArgumentError> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Arguments::parse(&words)
    }

    #[test]
    fn papers_and_options_mix() {
        let found = parse("pm --quick o2g --npb /n --against /a --html p.html").unwrap();
        assert_eq!(found.papers, ["pm", "o2g"]);
        assert!(found.quick && found.wants("o2g") && !found.wants("ports"));
        assert_eq!(found.npb, Some(PathBuf::from("/n")));
        assert!(parse("").unwrap().wants("kernel"));
    }

    #[test]
    fn errors_say_what_would_be_right() {
        for (line, text) in [
            (
                "oxfs",
                "no paper is called \"oxfs\"; there are o2g, pm, ports and kernel",
            ),
            (
                "pm --npb /n",
                "--npb belongs to the paper o2g, which is not among those asked for: oxmpi bench papers o2g --npb DIR",
            ),
            (
                "--fast",
                "invalid option '--fast'; try `oxmpi bench papers --help`",
            ),
        ] {
            assert_eq!(parse(line).unwrap_err().to_string(), text);
        }
    }

    #[test]
    fn the_help_has_every_paper() {
        for (name, about) in PAPERS {
            assert!(help().contains(&format!("  {name:14} {about}")));
        }
    }
}
