//! Programs that try o2g.ko and oxk.ko, run as root in a guest by `cargo xtask kernel test`.
//!
//! ```text
//! oxmpi-battery [all | NAME…] [--seed N]
//! ```
//!
//! Each case is a line on standard output, `ok NAME`, `FAIL NAME: why` or `skip NAME: why`, and a
//! process of its own with its own time, so that one that crashes or hangs does not end the others;
//! after it nothing may be left in the module. Counts are lines `count NAME=VALUE`. The exit status
//! is 0 if nothing failed.
//!
//! Walk: [`cases`] (what is tried) → [`ground`] (a context with connected peers) → [`packet`] (what
//! a peer sends) → [`sys`] (calls of the system). Of oxk.ko: [`raw_peer`], [`user_endpoint`],
//! [`stream_device`] and [`pm_device`] in place of a ground.

mod cases;
mod failslab;
mod ground;
mod packet;
mod pm_device;
mod random;
mod raw_peer;
mod runner;
mod stream_device;
mod sys;
mod user_endpoint;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut names = Vec::new();
    let mut seed = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            // Executed by the case `exec` in place of a process that had the driver open.
            cases::processes::FOREIGN => {
                let fd = arguments.next().and_then(|fd| fd.parse().ok());
                return cases::processes::foreign(fd);
            }
            "--seed" => match arguments.next().and_then(|seed| seed.parse().ok()) {
                Some(number) => seed = Some(number),
                None => return usage("--seed takes a number"),
            },
            "all" => {}
            name if cases::all().any(|case| is_meant(case.name, name)) => {
                names.push(name.to_owned());
            }
            other => return usage(&format!("there is no case {other}")),
        }
    }
    if let Err(error) = sys::bring_up_loopback() {
        println!("FAIL loopback: the interface lo cannot be brought up: {error}");
        return ExitCode::FAILURE;
    }
    let seed = seed.unwrap_or_else(random::seed_of_the_clock);
    let is_chosen = |case: &str| names.iter().any(|name| is_meant(case, name));
    let chosen = cases::all().filter(|case| names.is_empty() || is_chosen(case.name));
    match runner::run(chosen, seed) {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// A case is meant by its name, or by how its name begins and a star.
fn is_meant(case: &str, name: &str) -> bool {
    match name.strip_suffix('*') {
        Some(start) => case.starts_with(start),
        None => case == name,
    }
}

fn usage(why: &str) -> ExitCode {
    eprintln!("{why}\nusage: oxmpi-battery [all | NAME… | START*…] [--seed N]\ncases:");
    for case in cases::all() {
        eprintln!("  {}", case.name);
    }
    ExitCode::from(2)
}
