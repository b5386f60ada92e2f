//! `oxmpi bench`: measurements as ratios to the machine's own floors.
//!
//! A benchmark has three parts, each in a folder: `suite` decides what is measured and what stands
//! beside it, `rank` measures with OxMPI inside the ranks of a job, `floor` measures the bare
//! mechanism with two processes and no library. `session` alternates the two, `figure` says what a
//! result is and `report` shows it, `net` names the networks. `against` is the other mode: OxMPI
//! beside other MPI libraries, through the C ABI. `pmtest` is `oxmpi pmtest`, which measures the PM
//! network with the same tools; `papers` repeats the papers' experiments with all of them.
//!
//! The crate may use everything below `cli`: the public crate `oxmpi` in ranks, `launch` to start
//! them, `matching` for the queues alone. It promises that every figure comes with its spread, its
//! floor from the same moments of the same run, and a note about whatever was unusual.

mod against;
mod answer;
mod arguments;
pub mod figure;
pub mod floor;
mod job;
mod net;
mod papers;
pub mod pmtest;
mod rank;
pub mod report;
mod session;
mod suite;

use std::process::ExitCode;

use arguments::Arguments;
use report::{Machine, Report};
pub use session::BenchError;
use session::Session;
use suite::{SUITES, Suite};

/// The command by which `oxmpi` becomes a rank of a benchmark job, followed by its probe.
pub(crate) const RANK: &str = "bench-rank";
/// Only word of the command line of a process that shall end at once.
pub(crate) const BARE: &str = "--bare";

/// `oxmpi bench` with the words after it.
pub fn main(words: &[String]) -> ExitCode {
    if words.first().is_some_and(|word| word == BARE) {
        return ExitCode::SUCCESS;
    }
    if words.first().is_some_and(|word| word == papers::NAME) {
        return papers::main(&words[1..]);
    }
    let arguments = match Arguments::parse(words) {
        Ok(arguments) => arguments,
        Err(error) => return fail(&error, 2),
    };
    if arguments.help {
        print!("{}", arguments::help());
        return ExitCode::SUCCESS;
    }
    if let Some(request) = &arguments.against {
        return compare(request, arguments.json);
    }
    if let Some(path) = &arguments.html
        && let Err(error) = report::html::check(path)
    {
        return fail(&format!("cannot write the page: {error}"), 1);
    }
    let mut session = Session::new(arguments.quick, arguments.nets.clone());
    let chosen = |suite: &Suite| {
        let named = arguments.names.iter().any(|name| name == suite.name);
        named || (!suite.by_name && arguments.names.is_empty())
    };
    let suites: Vec<Suite> = SUITES.into_iter().filter(chosen).collect();
    let steps: Vec<u64> = suites
        .iter()
        .map(|suite| session.rehearse(suite.run))
        .collect();
    session.expect(steps.iter().sum());
    let mut rows = Vec::new();
    for (done, suite) in suites.iter().enumerate() {
        session.reached(steps[..done].iter().sum());
        match (suite.run)(&mut session) {
            Ok(found) => rows.extend(found),
            // The other benchmarks may still work; what was asked for and is missing stands in the
            // notes and the status.
            Err(error) => session.failed(suite.name, &error),
        }
    }
    session.note_learned();
    session.finish();
    let report = Report {
        title: "oxmpi bench",
        version: env!("CARGO_PKG_VERSION"),
        machine: Machine::here(),
        transport: session.transport,
        quick: arguments.quick,
        notes: session.notes,
        rows,
    };
    if arguments.json {
        println!("{}", report.to_json());
    } else {
        print!("{}", report::table::render(&report));
    }
    if let Some(path) = arguments.html
        && let Err(error) = report::html::write(&path, &report)
    {
        return fail(&format!("cannot write the page: {error}"), 1);
    }
    if session.failures > 0 {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// What two ranks of this host learn about copying in a few milliseconds, for `oxmpi info`: names
/// and values.
pub fn learned() -> Result<Vec<(String, String)>, BenchError> {
    Session::new(true, Vec::new()).learned()
}

/// `oxmpi bench --against`.
fn compare(request: &against::Request, json: bool) -> ExitCode {
    let (report, failures) = match against::run(request) {
        Ok(found) => found,
        Err(error) => return fail(&error, 1),
    };
    if json {
        println!("{}", report.to_json());
    } else {
        print!("{}", report.to_text());
    }
    if failures > 0 {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// A rank of a benchmark job; its probe is the only word.
pub fn rank_main(words: &[String]) -> ExitCode {
    let probe = words.first().map_or("", String::as_str);
    match rank::run(probe) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error, 1),
    }
}

fn fail(error: &dyn std::fmt::Display, code: u8) -> ExitCode {
    eprintln!("oxmpi bench: {error}");
    ExitCode::from(code)
}
