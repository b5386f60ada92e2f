//! `cargo xtask test`.
//!
//! Order: what fails fastest first. [`quick`], then all builds, then three lanes side by side on
//! what was built. The first has what keeps both cores busy: the tests of the workspace and those on
//! several hosts. The second has what often waits, or uses one core: the programs as a newcomer runs
//! them, an installation as C and Python users get it, jobs under the launchers of others, the
//! kernel's modules in a guest. The third sleeps most of its time: hosts that fall silent.
//!
//! Nothing here measures speed; that is [`bench_gate`](crate::bench_gate).

use std::process::Command;

use crate::cross;
use crate::fuzz;
use crate::hpcc;
use crate::install;
use crate::installed;
use crate::kernel;
use crate::launchers;
use crate::mpi4py;
use crate::packages;
use crate::quick::{self, minutes, tests};
use crate::spread;
use crate::steps::{Expect, Steps, cargo, target};

/// Programs on real ranks: words after `oxmpi`, and the text by which they say that the result was
/// checked. The last ones only show that measuring works, twenty seconds for a paper.
const PROGRAMS: [(&str, &str); 15] = [
    ("run -n 1 pi", "correct"),
    ("run -n 4 pi", "correct"),
    ("run -n 16 pi", "correct"),
    ("run -n 4 mm", "correct"),
    ("run -n 4 lu", "correct"),
    ("run -n 4 is --class S", "verification successful"),
    ("run -n 2 is --class A", "verification successful"),
    ("run -n 2 ring", "correct"),
    ("run -n 8 ring", "correct"),
    ("program pi", "correct"),
    ("bench --quick latency", "targets met"),
    ("bench papers kernel --quick", "modules of this kernel"),
    ("bench papers o2g --quick", "what a rank spends"),
    ("bench papers pm --quick", "round trip by layer"),
    ("bench papers ports --quick", "half a round trip by mode"),
];

/// All of it.
pub fn run(steps: &mut Steps, long: bool) {
    quick::run(steps, long, false);
    // Examples and programs included, which some tests start.
    let mut build = tests(&["--no-run"], long);
    steps.run("build of the tests", 25, Expect::Success, &mut build);
    let is_released = release(steps, long);
    let is_installed = is_released && wants_installation(steps, long) && installed::install(steps);
    launchers::fetch(steps, is_installed);
    steps.side_by_side(vec![
        Box::new(move |steps: &mut Steps| {
            workspace(steps, long);
            spread::run(steps, is_installed, long);
            fuzz::short(steps);
        }),
        Box::new(move |steps: &mut Steps| {
            // First, because the other lane wants what it builds.
            if is_installed {
                mpi4py::run(steps, long);
            }
            cross::run(steps, long);
            steps.run("loom", minutes(long, 15), Expect::Tests, &mut loom(long));
            if is_released {
                programs(steps);
            }
            if is_installed {
                installed::run(steps);
                conformance(steps, long);
                hpcc::run(steps);
                packages::run(steps, long);
                launchers::run(steps);
            }
            kernel::test(steps, long);
        }),
        Box::new(move |steps: &mut Steps| spread::run_waiting(steps, is_installed, long)),
    ]);
}

/// The tests that start processes or explore, and those in the documentation.
fn workspace(steps: &mut Steps, long: bool) {
    if steps.selects("tests") {
        // Tests of files make file systems; without the tools they pass over them.
        installed::fetch(steps, "mkfs.xfs", "xfsprogs");
        installed::fetch(steps, "mkfs.btrfs", "btrfs-progs");
    }
    // The C programs need the installation.
    let mut whole = tests(&["--exclude", "oxmpi-conformance", "--test", "*"], long);
    steps.run("tests", minutes(long, 25), Expect::Tests, &mut whole);
    let mut documentation = tests(&["--doc"], long);
    steps.run(
        "tests in documentation",
        10,
        Expect::Tests,
        &mut documentation,
    );
}

/// Builds what users run; false when it does not build.
fn release(steps: &mut Steps, long: bool) -> bool {
    let names = PROGRAMS.map(|(words, _)| program_name(words));
    if !names.iter().any(|name| steps.selects(name)) && !wants_installation(steps, long) {
        return false;
    }
    steps.run_always("release build", 20, Expect::Success, &mut install::build())
}

/// Whether a step will use the installation.
fn wants_installation(steps: &Steps, long: bool) -> bool {
    ["installed", "conformance", "mpi4py"]
        .iter()
        .any(|step| steps.selects(step))
        || hpcc::is_wanted(steps)
        || packages::is_wanted(steps, long)
        || spread::wants_installation(steps)
        || launchers::wants_installation(steps)
}

fn programs(steps: &mut Steps) {
    for (words, text) in PROGRAMS {
        let mut program = Command::new(target().join("release/oxmpi"));
        program.args(words.split(' '));
        let mut run = |steps: &mut Steps| {
            steps.run(&program_name(words), 3, Expect::Text(text), &mut program);
        };
        match words.starts_with("bench") {
            true => steps.alone(run),
            false => run(steps),
        }
    }
}

fn program_name(words: &str) -> String {
    format!("oxmpi {words}")
}

fn conformance(steps: &mut Steps, long: bool) {
    for (name, test) in [
        ("conformance", "chapters"),
        ("conformance in Fortran", "fortran"),
        ("conformance under sanitizers and valgrind", "checkers"),
        ("backtraces of crashes", "crashes"),
    ] {
        let mut conformance = cargo(&["test", "--workspace", "--locked", "--test", test]);
        conformance.env("OXMPI_TEST_PREFIX", installed::prefix());
        if long {
            conformance.env("OXMPI_TEST_LONG", "1");
        }
        steps.run(name, minutes(long, 15), Expect::Tests, &mut conformance);
    }
}

/// loom replaces the atomics at compile time, so it has a build folder of its own; it explores in
/// release mode because it runs each test tens of thousands of times.
fn loom(long: bool) -> Command {
    let mut command = cargo(&[
        "test",
        "--release",
        "--locked",
        "--package",
        "oxmpi-ports",
        "loom",
    ]);
    command
        .env("RUSTFLAGS", "--cfg loom")
        // What is shipped is not built here; linking without these takes a fraction of the time.
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
        .env("LOOM_MAX_PREEMPTIONS", if long { "6" } else { "3" })
        .env("CARGO_TARGET_DIR", target().join("loom"));
    command
}
