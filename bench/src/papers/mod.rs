//! `oxmpi bench papers`: the experiments of the papers that OxMPI is made after, on this machine,
//! beside the papers' own figures.
//!
//! `o2g`, `pm`, `ports` and `kernel` have an experiment each, `published` what the papers say,
//! `hosts` where it runs, `execute` how programs run there, `mounted` how a mounted folder is
//! measured; `sheet` is a table of what was found, `text` shows it. Messages, waiting and parts of
//! a round trip are measured by the benchmarks that have them anyway (`suite`, `pmtest`,
//! `against`).

mod arguments;
mod execute;
mod hosts;
mod kernel;
mod mounted;
mod o2g;
mod pm;
mod ports;
mod published;
mod sheet;
mod text;

use std::process::ExitCode;

use serde::Serialize;
use thiserror::Error;

use arguments::Arguments;
use execute::{Environment, ExecuteError, Ran};
use hosts::Hosts;
use sheet::Sheet;

use crate::report::{self, Machine};
use crate::session::{BenchError, Session};

/// The name by which `oxmpi bench` calls it.
pub const NAME: &str = "papers";

/// Why an experiment was not made.
#[derive(Debug, Error)]
pub enum PaperError {
    /// A benchmark.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// A program.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    /// Another library.
    #[error(transparent)]
    Against(#[from] crate::against::AgainstError),
    /// Binaries of NPB.
    #[error(transparent)]
    Arguments(#[from] arguments::ArgumentError),
}

/// Everything that was found.
#[derive(Debug, Serialize)]
pub struct Findings {
    /// Version of oxmpi.
    pub version: &'static str,
    /// Where it ran.
    pub machine: Machine,
    /// On which hosts, for people.
    pub hosts: String,
    /// True for `--quick`.
    pub quick: bool,
    /// What a reader must know.
    pub notes: Vec<String>,
    /// The tables.
    pub sheets: Vec<Sheet>,
}

/// What an experiment has at hand.
struct Lab<'a> {
    session: &'a mut Session,
    hosts: &'a Hosts,
    arguments: &'a Arguments,
}

/// One run of a shipped program: its words, on how many hosts, how many ranks on each.
#[derive(Clone, Copy)]
struct Run<'a> {
    words: &'a [&'a str],
    hosts: usize,
    each: u32,
}

impl Lab<'_> {
    /// How often programs run.
    fn rounds(&self) -> usize {
        if self.arguments.quick { 3 } else { 5 }
    }

    /// Whether so many ranks have a CPU each, so that their time shows what more of them bring.
    fn has_cpus(&self, ranks: usize) -> bool {
        ranks <= oxmpi_launch::usable_cpus() as usize
    }

    /// Runs a program under each of these settings, in turns: by setting, its rounds.
    fn in_turns(
        &mut self,
        run: Run<'_>,
        settings: &[Environment<'_>],
    ) -> Result<Vec<Vec<Ran>>, PaperError> {
        let rounds = self.rounds();
        let what = format!("{}, {}", run.words.join(" "), hosts_name(run.hosts));
        self.session.announce(what, rounds * settings.len());
        let mut found = vec![Vec::new(); settings.len()];
        for round in 0..rounds {
            for turn in 0..settings.len() {
                let which = (round + turn) % settings.len();
                let hosts = self.hosts.first(run.hosts);
                found[which].push(execute::shipped(
                    run.words,
                    hosts,
                    run.each,
                    settings[which],
                )?);
                self.session.step();
            }
        }
        Ok(found)
    }
}

/// "1 host", "16 hosts".
fn hosts_name(count: usize) -> String {
    match count {
        1 => "1 host".to_owned(),
        _ => format!("{count} hosts"),
    }
}

type Experiment = fn(&mut Lab<'_>) -> Result<Vec<Sheet>, PaperError>;

/// The experiments, by paper.
const EXPERIMENTS: [(&str, Experiment); 4] = [
    ("o2g", o2g::run),
    ("pm", pm::run),
    ("ports", ports::run),
    ("kernel", kernel::run),
];

/// `oxmpi bench papers` with the words after it.
pub fn main(words: &[String]) -> ExitCode {
    let arguments = match Arguments::parse(words) {
        Ok(arguments) => arguments,
        Err(error) => return fail(&error, 2),
    };
    if arguments.help {
        print!("{}", arguments::help());
        return ExitCode::SUCCESS;
    }
    if let Some(path) = &arguments.html
        && let Err(error) = report::html::check(path)
    {
        return fail(&format!("cannot write the page: {error}"), 1);
    }
    if let Some(folder) = &arguments.npb
        && let Err(error) = o2g::binaries(folder)
    {
        return fail(&error, 2);
    }
    let mut notes = Vec::new();
    match hosts::elsewhere(words) {
        Some(Ok(status)) => return status,
        Some(Err(reason)) => notes.push(format!(
            "no hosts of its own: {reason}. What is between hosts is left out, or goes over \
             loopback; name hosts in OXMPI_HOST, or run it as root"
        )),
        None => {}
    }
    let hosts = match Hosts::from_env() {
        Ok(hosts) => hosts,
        Err(error) => return fail(&error, 2),
    };
    let mut session = Session::new(arguments.quick, crate::net::Net::ALL.to_vec());
    let mut sheets = Vec::new();
    for (paper, experiment) in EXPERIMENTS {
        if !arguments.wants(paper) {
            continue;
        }
        let mut lab = Lab {
            session: &mut session,
            hosts: &hosts,
            arguments: &arguments,
        };
        match experiment(&mut lab) {
            Ok(found) => sheets.extend(found),
            // The other papers may still work.
            Err(error) => session.failed(paper, &error),
        }
    }
    session.finish();
    notes.append(&mut session.notes);
    let found = Findings {
        version: env!("CARGO_PKG_VERSION"),
        machine: Machine::here(),
        hosts: hosts.about,
        quick: arguments.quick,
        notes,
        sheets,
    };
    if arguments.json {
        let json = serde_json::to_string_pretty(&found);
        println!("{}", json.expect("only strings and finite numbers"));
    } else {
        print!("{}", text::text(&found));
    }
    if let Some(path) = &arguments.html
        && let Err(error) = report::html::write_page(path, &text::page(&found))
    {
        return fail(&format!("cannot write the page: {error}"), 1);
    }
    ExitCode::from(u8::from(session.failures > 0))
}

fn fail(error: &dyn std::fmt::Display, code: u8) -> ExitCode {
    eprintln!("oxmpi bench papers: {error}");
    ExitCode::from(code)
}
