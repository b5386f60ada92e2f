//! The parallel programs shipped with OxMPI: `oxmpi run -n 4 pi`.
//!
//! They are examples of the crate `oxmpi`, and proofs that it works: each one checks its result
//! against a reference, says so, and ends with a status other than zero when it is wrong. They use
//! nothing but the public API. `names` lists them for the command line, `run` is what a rank calls,
//! `counts` says what a run has cost.

mod arguments;
mod counts;
mod is;
mod lu;
mod mm;
mod pi;
mod random;
mod ring;

use std::fmt;
use std::process::ExitCode;

use oxmpi::Mpi;

use arguments::{Arguments, Choice};

/// One of the programs.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// What `oxmpi run` calls it.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
}

/// A program with its options and its entry point.
struct Entry {
    program: Program,
    options: &'static [Choice],
    main: fn(&Mpi, &Arguments) -> Result<(), Failure>,
}

/// How a program fails.
#[derive(Debug)]
enum Failure {
    /// The arguments cannot be used; every rank comes to the same conclusion.
    Usage(String),
    /// The result is wrong.
    Wrong(String),
    /// The library reported an error.
    Mpi(oxmpi::Error),
}

impl Failure {
    /// The exit status: 2 for arguments, as other commands have it, 1 for the rest.
    fn status(&self) -> u8 {
        match self {
            Failure::Usage(_) => 2,
            Failure::Wrong(_) | Failure::Mpi(_) => 1,
        }
    }
}

impl From<oxmpi::Error> for Failure {
    fn from(error: oxmpi::Error) -> Self {
        Failure::Mpi(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(text) => write!(f, "{text}; --help lists the options"),
            Failure::Wrong(text) => write!(f, "WRONG RESULT: {text}"),
            Failure::Mpi(error) => error.fmt(f),
        }
    }
}

const PROGRAMS: [Program; 5] = [
    pi::ENTRY.program,
    mm::ENTRY.program,
    lu::ENTRY.program,
    is::ENTRY.program,
    ring::ENTRY.program,
];

const ENTRIES: [Entry; 5] = [pi::ENTRY, mm::ENTRY, lu::ENTRY, is::ENTRY, ring::ENTRY];

/// The programs, in the order in which a newcomer may try them.
pub fn names() -> &'static [Program] {
    const { &PROGRAMS }
}

/// Runs a program as one rank of a job. `None` when there is no program of that name.
pub fn run(name: &str, args: &[String]) -> Option<ExitCode> {
    let entry = ENTRIES.iter().find(|entry| entry.program.name == name)?;
    Some(run_entry(entry, args))
}

fn run_entry(entry: &Entry, args: &[String]) -> ExitCode {
    let name = entry.program.name;
    let mpi = match oxmpi::init() {
        Ok(mpi) => mpi,
        Err(error) => {
            eprintln!("{name}: {error}");
            return ExitCode::FAILURE;
        }
    };
    // All ranks get the same arguments and come to the same conclusion, so one of them speaks (and
    // fails) for all.
    let speaks = mpi.world().rank() == 0;
    let counted = args.iter().any(|arg| arg == counts::OPTION);
    let own: Vec<String> = args
        .iter()
        .filter(|arg| *arg != counts::OPTION)
        .cloned()
        .collect();
    let outcome = match Arguments::parse(&own, entry.options) {
        Ok(Some(arguments)) if counted => count(&mpi, || (entry.main)(&mpi, &arguments)),
        Ok(Some(arguments)) => (entry.main)(&mpi, &arguments),
        Ok(None) => {
            if speaks {
                print!("{}", arguments::help(&entry.program, entry.options));
            }
            Ok(())
        }
        Err(text) => Err(Failure::Usage(text)),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Usage(_)) if !speaks => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{name}: {failure}");
            ExitCode::from(failure.status())
        }
    }
}

/// Runs a program and says what it has cost.
fn count(mpi: &Mpi, run: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    mpi.world().barrier()?;
    let before = counts::Counts::now(mpi);
    run()?;
    if let Some(line) = before.since(mpi)? {
        println!("{line}");
    }
    Ok(())
}

/// "4 ranks on node7, ports, single copy": who took part and how they talked.
fn setting(mpi: &Mpi) -> String {
    let size = mpi.world().size();
    let ranks = if size == 1 { "rank" } else { "ranks" };
    format!("{size} {ranks} on {}, {}", mpi.host(), mpi.transport())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_program_has_an_entry() {
        assert_eq!(names().len(), ENTRIES.len());
        for (program, entry) in names().iter().zip(&ENTRIES) {
            assert_eq!(program.name, entry.program.name);
            assert!(!program.about.is_empty());
        }
        assert!(run("nonsense", &[]).is_none());
    }
}
