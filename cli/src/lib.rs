//! The commands: `oxmpi`, and under the names people type `mpiexec` and `mpirun`, which are `oxmpi
//! run`, and `mpicc` and `mpicxx`, which are `oxmpi cc` and `oxmpi cxx`.
//!
//! This layer turns words into a [`oxmpi_launch::Job`] and an outcome into an exit status; nothing
//! is started or decided here. `words` splits a command line the way MPI users write it, `foreign`
//! translates options of other launchers, `options` says what ours are, `run` makes the job,
//! `compile` calls the compiler, `info` tells about the installation, `net_info` about the network,
//! `settings` about the environment, `doctor` what to change, `setup_net` how programs are permitted
//! to use all of it, `hosts` makes those of `oxmpi bench papers`, `why` shows where ranks are, `show`
//! writes standard output. Every message on standard error begins with `oxmpi: `.

#![forbid(unsafe_code)]

mod compile;
mod doctor;
mod failure;
mod foreign;
mod hosts;
mod info;
mod net_info;
mod options;
mod run;
mod settings;
mod setup_net;
mod show;
mod soft;
mod why;
mod words;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::compile::Language;
use crate::failure::Failure;
use crate::show::{show, show_line};

/// The hidden command by which the launcher executes a shipped program as a rank.
const PROGRAM: &str = "program";
/// The hidden command by which `oxmpi bench` executes itself as a rank.
const BENCH_RANK: &str = "bench-rank";

/// Message passing for the machines people have.
#[derive(Parser)]
#[command(name = "oxmpi", version, disable_help_subcommand = true)]
enum Oxmpi {
    /// Run a parallel program: oxmpi run -n 4 pi (the same as mpiexec and mpirun)
    Run,
    /// Compile and link C programs (the same as mpicc)
    Cc,
    /// Compile and link C++ programs (the same as mpicxx and mpic++)
    Cxx,
    /// Measure this machine and OxMPI on it
    Bench,
    /// Measure the PM network between two processes: latency, bandwidth, where the time goes
    Pmtest,
    /// Serve a folder to other hosts, or use one that is served
    Fs,
    /// Show the version, this host and the defaults
    Info {
        /// Show all of it: this host, the network, every setting
        #[arg(long, short = 'a', conflicts_with_all = ["net", "settings"])]
        all: bool,
        /// Show the network: addresses of this host, which of them a job uses and why
        #[arg(long)]
        net: bool,
        /// Show every setting: its value here, where the value comes from, what it does
        #[arg(long, conflicts_with = "net")]
        settings: bool,
        /// With --settings: the list of settings as JSON, for programs
        #[arg(long, requires = "settings")]
        json: bool,
    },
    /// Try what jobs need, here and on other hosts, and say what to change
    Doctor,
    /// Say where the ranks of running jobs are, when nothing moves
    Why {
        /// The job's launcher, or one of its ranks; without it, all jobs on this host
        #[arg(value_name = "PID")]
        process: Option<u32>,
    },
    /// Show the version
    Version,
    /// Show this help, or that of a command: oxmpi help run
    Help {
        /// The command
        command: Option<OsString>,
    },
    /// Print the commands that permit programs to use raw Ethernet (--net ethernet)
    SetupNet {
        /// The programs, as paths or as names in PATH
        programs: Vec<OsString>,
    },
}

/// What `oxmpi` does under each of its names.
pub fn main() -> ExitCode {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    if let Some(status) = hosts::serve(&words) {
        return ExitCode::from(status);
    }
    let name = match words.is_empty() {
        true => OsString::new(),
        false => words.remove(0),
    };
    dispatch(&name, &words).unwrap_or_else(Failure::report)
}

fn dispatch(name: &OsStr, words: &[OsString]) -> Result<ExitCode, Failure> {
    let name = Path::new(name).file_name().unwrap_or_default();
    if name == "mpiexec" || name == "mpirun" {
        return run::run(&name.to_string_lossy(), words);
    }
    if let Some(language) = Language::of_wrapper(name) {
        return compile::run(&name.to_string_lossy(), language, words);
    }
    let command = words.first().and_then(|word| word.to_str()).unwrap_or("");
    let rest = words.get(1..).unwrap_or(&[]);
    match command {
        PROGRAM => shipped_program(&texts(rest)),
        oxmpi_launch::AGENT_COMMAND => Ok(ExitCode::from(oxmpi_launch::agent())),
        BENCH_RANK => Ok(oxmpi_bench::rank_main(&texts(rest))),
        "bench" => Ok(oxmpi_bench::main(&texts(rest))),
        "pmtest" => Ok(oxmpi_bench::pmtest::main(&texts(rest))),
        "fs" => Ok(oxmpi_oxfs::main(&texts(rest))),
        "doctor" => doctor::run(rest),
        "run" => run::run("oxmpi run", rest),
        "cc" => compile::run("oxmpi cc", Language::C, rest),
        "cxx" => compile::run("oxmpi cxx", Language::Cxx, rest),
        "fc" => compile::run("oxmpi fc", Language::Fortran, rest),
        // What is left is information, help or a mistake.
        _ => {
            let with_name = [OsString::from("oxmpi")]
                .into_iter()
                .chain(words.iter().cloned());
            let command = Oxmpi::try_parse_from(with_name)
                .map_err(|error| Failure::from_clap(error, "oxmpi"))?;
            match command {
                Oxmpi::Help {
                    command: Some(command),
                } => return dispatch(name, &[command, "--help".into()]),
                Oxmpi::Help { command: None } => show!("{}", Oxmpi::command().render_help()),
                Oxmpi::Why { process } => return why::print(process),
                Oxmpi::Version => show_line!("oxmpi {}", env!("CARGO_PKG_VERSION")),
                Oxmpi::Info { all: true, .. } => {
                    info::print();
                    show_line!("\nnetwork\n");
                    net_info::print()?;
                    show_line!("\nsettings\n");
                    settings::print(false)?;
                }
                Oxmpi::Info { net: true, .. } => net_info::print()?,
                Oxmpi::Info {
                    settings: true,
                    json,
                    ..
                } => settings::print(json)?,
                Oxmpi::SetupNet { programs } => setup_net::print(&programs)?,
                _ => info::print(),
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn shipped_program(words: &[String]) -> Result<ExitCode, Failure> {
    let (name, arguments) = match words {
        [name, arguments @ ..] => (name.as_str(), arguments),
        [] => ("", words),
    };
    oxmpi_programs::run(name, arguments).ok_or_else(|| Failure::no_shipped_program(name))
}

fn texts(words: &[OsString]) -> Vec<String> {
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    words.iter().map(text).collect()
}
