//! Programs that try oxfs.ko, run as root in a guest by `cargo xtask kernel test --only oxfs`.
//!
//! ```text
//! oxfs-battery all | NAME…           runs cases
//! oxfs-battery fs serve FOLDER …     is `oxmpi fs serve`
//! oxfs-battery mount FOLDER [OPTIONS]
//! oxfs-battery count FOLDER PID      counts what a mount of NFS costs, whose server is a process
//! ```
//!
//! Each case is a line on standard output, `ok NAME`, `FAIL NAME: why` or `skip NAME: why`, and a
//! process of its own with its own time. It has a server of its own, in the network namespace of
//! the host `a` (`/bin/into a`), and mounts its folder in this one.
//!
//! Walk: [`cases`] (what is tried) → [`world`] (server, mounts, keys) → [`sys`] (system calls).

mod cases;
mod check;
#[path = "../../../battery/src/failslab.rs"]
mod failslab;
mod sys;
mod tracing;
mod world;

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use cases::Case;

/// The word before a case's name in the process that runs it.
const ALONE: &str = "--case";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let names: Vec<&str> = words.iter().map(String::as_str).collect();
    match names.as_slice() {
        ["fs", ..] => oxmpi_oxfs::main(&words[1..]),
        [ALONE, name] => match cases::all().find(|case| case.name == *name) {
            Some(case) => alone(case),
            None => ExitCode::from(2),
        },
        ["mount", folder, rest @ ..] => mount(folder, rest.first().unwrap_or(&"")),
        ["count", folder, server] => count(folder, server),
        ["all"] => run(cases::all().collect()),
        [] => usage(),
        names => {
            let chosen: Vec<_> = cases::all()
                .filter(|case| names.contains(&case.name))
                .collect();
            match chosen.len() == names.len() {
                true => run(chosen),
                false => usage(),
            }
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: oxfs-battery all | NAME…\ncases:");
    for case in cases::all() {
        eprintln!("  {}", case.name);
    }
    ExitCode::from(2)
}

fn mount(folder: &str, options: &str) -> ExitCode {
    let mounted = world::add_key().and_then(|()| world::mount(folder.as_ref(), options));
    match mounted {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("oxfs-battery mount: {why}");
            ExitCode::FAILURE
        }
    }
}

fn count(folder: &str, server: &str) -> ExitCode {
    let server = server.parse().map_err(|_| format!("no process {server:?}"));
    let counted = server.and_then(|server| cases::count_nfs(folder.as_ref(), server));
    match counted {
        Ok(()) => println!("ok oxfs-nfs/counts"),
        Err(why) => {
            println!("FAIL oxfs-nfs/counts: {why}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn run(chosen: Vec<&'static Case>) -> ExitCode {
    let mut failed = 0;
    for case in chosen {
        let begun = Instant::now();
        let Err(why) = run_apart(case) else {
            println!("ok oxfs/{} ({} s)", case.name, begun.elapsed().as_secs());
            continue;
        };
        match check::skipped(&why) {
            Some(why) => println!("skip oxfs/{}: {why}", case.name),
            None => {
                failed += 1;
                println!("FAIL oxfs/{}: {}", case.name, why.replace('\n', " | "));
            }
        }
    }
    ExitCode::from(u8::from(failed > 0))
}

/// The case in a process of its own; a case that hangs is killed, with what it started.
fn run_apart(case: &Case) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut child = Command::new(program);
    sys::lead_group(&mut child);
    let child = child
        .args([ALONE, case.name])
        .stdout(std::process::Stdio::piped());
    let mut child = child.spawn().map_err(|error| error.to_string())?;
    let mut running = world::Running::begin();
    let time_s = case.time_s * world::slowness();
    let ended = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(ended) => break ended,
            None if running.time() > Duration::from_secs(time_s) => {
                sys::kill_group(child.id());
                world::clean_up();
                return Err(format!("no end after {time_s} s"));
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    sys::kill_group(child.id());
    let mut said = String::new();
    if let Some(mut pipe) = child.stdout.take() {
        use std::io::Read;
        let _ = pipe.read_to_string(&mut said);
    }
    for line in said.lines().filter(|line| line.starts_with("count ")) {
        println!("{line}");
    }
    world::clean_up();
    match ended.success() {
        true => Ok(()),
        false => match said.lines().find(|line| check::skipped(line).is_some()) {
            Some(line) => Err(line.to_owned()),
            None => Err(format!("{} ({ended})", said.trim())),
        },
    }
}

fn alone(case: &Case) -> ExitCode {
    match world::add_key().and_then(|()| (case.run)()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            println!("{why}");
            ExitCode::FAILURE
        }
    }
}
