//! `cargo xtask`: the one entry point for people and CI.
//!
//! `quick` says in minutes whether a change is sound; `test` runs every test there is and does its
//! own set-up; `bench-gate` measures; `fuzz` looks for input that a parser does not bear; `check`
//! looks at the code without running it; `install` lays OxMPI out for those who use it from C, C++
//! and Python; `hosts` runs a command with several hosts; `kernel` builds and tries the
//! kernel modules. Tasks made of steps end with a line that says how many passed and failed, and with a
//! status that says the same. A step that cannot run here (a missing target, a missing tool) says
//! so and is counted as skipped, never as passed.

mod bench_gate;
mod check;
mod cross;
mod debian;
mod fuzz;
mod hpcc;
mod install;
mod installed;
mod kernel;
mod launchers;
mod layers;
mod mpi4py;
mod package;
mod packages;
mod quick;
mod signals;
mod spread;
mod steps;
mod test;

use std::path::PathBuf;
use std::process::ExitCode;

use oxmpi_test_hosts as hosts;

const HELP: &str = "\
usage: cargo xtask quick [--install]
       cargo xtask test [--long] [--only WORD]
       cargo xtask bench-gate [--quick] [--rounds N] [--against PREFIX|COMMIT] [--only WORD]
       cargo xtask fuzz [--seconds N] [--jobs N] [TARGET]...
       cargo xtask check [--install]
       cargo xtask layers
       cargo xtask package
       cargo xtask install --prefix FOLDER [--soname0] [--fortran COMPILER]... [--destdir FOLDER]
             [--libdir FOLDER] [--strip] [--static-agent]
       cargo xtask uninstall --prefix FOLDER
       cargo xtask mpi4py [--ranks N]... [--prefix FOLDER] [TEST]...
       cargo xtask hosts N [--ipv6] [--mtu M] [--loss P%] -- COMMAND...
       cargo xtask kernel build|test [--kernel 6.1|6.12|debug] [--cpus N] [--only CASE]...

  quick    check, and the unit tests: minutes
  test     quick, then all tests there are, side by side where they allow it (docs/testing.md)
    --long      all seeds and matrices, deeper searches: hours, not minutes
    --only WORD only the steps whose name contains WORD (see the names a run prints)
  bench-gate  every benchmark, on a machine that does nothing else
    --quick     in seconds each, with a wide spread
    --rounds N  of the comparison, at least 3; 5 without it, 3 with --quick
    --against   compare with this installation or commit instead of the newest tag v*; what became worse is a failure
  fuzz     every parser on mutated input, guided by coverage; with TARGET, those (fuzz/targets has them)
    --seconds N for each target; 5 without it
    --jobs N    so many processes for each target; 1 without it
  check    rustfmt, clippy, documentation, no_std build, cargo-deny
    --install   install what is missing (the no_std target, cargo-deny) first
  layers   crates and modules use only what ARCHITECTURE.md lets them use
  package  the crates that are to be published, each built from its package
  install  build in release mode and lay out bin, include, lib and share below a folder, which can be moved later
    --soname0   also libmpi_abi.so.0, for programs linked against early releases of other libraries
    --fortran   make the modules mpi and mpi_f08 for this compiler; without it, for those that PATH has
    --destdir   put the files at their places below this folder, for packages
    --libdir    the folder of libraries below the prefix, such as lib64; lib without it
    --strip     debug information in files of its own (.debug); needs binutils
    --static-agent  also bin/oxmpi-static, which runs on any host without another file
  uninstall  remove what install put there
  mpi4py   the tests of the mpi4py that `cargo xtask test` built; with TEST, those whose name contains it
    --ranks N   on N ranks; may be given several times; 1, 2, 3 and 4 without it
    --prefix    with this installation instead of the one that `cargo xtask test` made
  hosts    run a command with N hosts, h0, h1 and so on, that exist until it ends; needs root (docs/test-hosts.md)
    --ipv6      without IPv4 addresses
    --mtu M     of all interfaces; 1500 without it
  kernel   the modules in target/kernel/RELEASE, for Debian's kernels
    build       build them
    test        build them, boot each kernel in QEMU and run the cases of kernel/battery there, on 1 and 2 CPUs
    --kernel    for this one alone; debug is one that checks memory and locks, and is first built from source, which takes long
    --only CASE only this case; may be given several times
";

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().collect();
    if let Some(status) = hosts::serve(&words, "xtask") {
        return ExitCode::from(status);
    }
    if words.get(1).is_some_and(|word| word == "hosts") {
        return ExitCode::from(on_hosts(&words[2..]));
    }
    signals::prepare();
    match run() {
        Ok(passed) => ExitCode::from(u8::from(!passed)),
        Err(error) => {
            eprintln!("cargo xtask: {error}\n\n{HELP}");
            ExitCode::from(2)
        }
    }
}

/// `cargo xtask hosts`. The folder with ssh lies beside this program, where builds keep such things.
fn on_hosts(words: &[std::ffi::OsString]) -> u8 {
    let status = hosts::own_program()
        .map_err(|error| hosts::HostsError::Words(format!("cannot find my own program: {error}")))
        .and_then(|program| hosts::run(words, &program.with_file_name("hosts-ssh")));
    status.unwrap_or_else(|error| {
        eprintln!("cargo xtask hosts: {error}");
        if let hosts::HostsError::Words(_) = error {
            eprintln!(
                "usage: cargo xtask hosts N [--ipv6] [--mtu M] [--cards C] [--cable] -- COMMAND..."
            );
        }
        2
    })
}

fn run() -> Result<bool, lexopt::Error> {
    use lexopt::prelude::*;
    let mut words = lexopt::Parser::from_env();
    let (mut command, mut long, mut install, mut only) = (None, false, false, None);
    let (mut seconds, mut jobs, mut quick) = (fuzz::SECONDS_SHORT, 1, false);
    let mut wishes = install::Wishes::default();
    let (mut prefix, mut ranks, mut names) = (None, Vec::new(), Vec::new());
    let (mut against, mut rounds) = (None, None);
    while let Some(word) = words.next()? {
        match word {
            Long("long") => long = true,
            Long("install") => install = true,
            Long("quick") => quick = true,
            Long("seconds") => seconds = words.value()?.parse()?,
            Long("jobs") => jobs = words.value()?.parse()?,
            Long("only") => only = Some(words.value()?.string()?),
            Long("prefix") => prefix = Some(PathBuf::from(words.value()?)),
            Long("rounds") => rounds = Some(rounds_of(&words.value()?.string()?)?),
            Long("against") => against = Some(words.value()?.string()?),
            Long("soname0") => wishes.soname0 = true,
            Long("strip") => wishes.strip = true,
            Long("static-agent") => wishes.static_agent = true,
            Long("destdir") => wishes.destdir = Some(PathBuf::from(words.value()?)),
            Long("libdir") => wishes.libdir = Some(PathBuf::from(words.value()?)),
            Long("fortran") => wishes.fortran.push(words.value()?.string()?),
            Long("ranks") => ranks.push(words.value()?.parse()?),
            Short('h') | Long("help") => {
                print!("{HELP}");
                return Ok(true);
            }
            Value(name) if command.is_none() && name == "kernel" => return kernel::run(&mut words),
            Value(name) if command.is_none() => command = Some(name.string()?),
            Value(name) if takes_names(command.as_deref()) => names.push(name.string()?),
            other => return Err(other.unexpected()),
        }
    }
    if command.as_deref() == Some("mpi4py") {
        let prefix = prefix.unwrap_or_else(installed::prefix);
        return Ok(mpi4py::run_alone(&prefix, &ranks, &names));
    }
    let prefix = || prefix.ok_or("where to? --prefix FOLDER");
    match command.as_deref() {
        Some("install") => return Ok(install::run(&prefix()?, &wishes)),
        Some("layers") => return Ok(layers::run()),
        Some("package") => return Ok(package::run()),
        Some("uninstall") => return Ok(install::remove(&prefix()?)),
        _ => {}
    }
    let mut steps = steps::Steps::new(only);
    match command.as_deref() {
        Some("quick") => quick::run(&mut steps, long, install),
        Some("test") => test::run(&mut steps, long),
        Some("bench-gate") => {
            let wishes = bench_gate::Wishes {
                against: against.as_deref(),
                rounds,
                quick,
            };
            bench_gate::run(&mut steps, wishes);
        }
        Some("fuzz") => fuzz::run(&mut steps, &names, seconds, jobs),
        Some("check") => check::run(&mut steps, install),
        Some(other) => return Err(format!("there is no task {other:?}").into()),
        None => return Err("which task?".into()),
    }
    Ok(steps.close())
}

/// How many rounds a comparison is to have.
fn rounds_of(text: &str) -> Result<u64, String> {
    let least = bench_gate::ROUNDS_MIN;
    let rounds = text.parse().ok().filter(|rounds| *rounds >= least);
    rounds.ok_or_else(|| {
        format!("--rounds {text}: want a number from {least} on, for fewer allow no verdict")
    })
}

/// Whether words that follow a task are names.
fn takes_names(task: Option<&str>) -> bool {
    matches!(task, Some("mpi4py" | "fuzz"))
}
