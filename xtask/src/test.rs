//! `cargo xtask test`.
//!
//! Order: what fails fastest first. The workspace's tests, loom's search of the rings, the programs on real ranks from a
//! release build as a newcomer would run them, a quick run of every benchmark, an installation as C and Python users get it, with the C programs of
//! `conformance` and mpi4py's own tests, all of it again on several hosts, jobs under the launchers of others, the kernel's module in a guest, and the checks.

use std::process::Command;

use crate::check;
use crate::installed;
use crate::kernel;
use crate::launchers;
use crate::mpi4py;
use crate::spread;
use crate::steps::{Expect, Steps, cargo, target};

/// The simulator's long run: this many times the seeds of the short one.
const LONG_TIMES: &str = "100";

/// Programs on real ranks: words after `oxmpi`, and the text by which they say that the result was checked.
const PROGRAMS: [(&str, &str); 10] = [
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
];

/// All of it.
pub fn run(steps: &mut Steps, long: bool) {
    // The C programs need an installation, which is made further down.
    let mut tests = cargo(&[
        "test",
        "--workspace",
        "--exclude",
        "oxmpi-conformance",
        "--locked",
        "--no-fail-fast",
    ]);
    if long {
        tests
            .env("OXMPI_SIM_TIMES", LONG_TIMES)
            .env("OXMPI_TEST_LONG", "1")
            .env("PROPTEST_CASES", "20000");
    }
    steps.run(
        "tests",
        if long { 600 } else { 25 },
        Expect::Tests,
        &mut tests,
    );
    steps.run(
        "loom",
        if long { 600 } else { 15 },
        Expect::Tests,
        &mut loom(long),
    );

    let mut build = cargo(&["build", "--release", "--locked", "--package", "oxmpi-cli"]);
    if !steps.run("release build", 20, Expect::Success, &mut build) {
        return;
    }
    for (words, text) in PROGRAMS {
        let name = format!("oxmpi {words}");
        steps.run(&name, 3, Expect::Text(text), oxmpi().args(words.split(' ')));
    }
    steps.run(
        "oxmpi bench --quick",
        15,
        Expect::Text("targets met"),
        oxmpi().args(["bench", "--quick"]),
    );
    let is_installed = installed::install(steps);
    if is_installed {
        installed::run(steps);
        let mut conformance = cargo(&["test", "--package", "oxmpi-conformance", "--locked"]);
        conformance.env("OXMPI_TEST_PREFIX", installed::prefix());
        steps.run("conformance", 10, Expect::Tests, &mut conformance);
        mpi4py::run(steps);
    }
    spread::run(steps, is_installed, long);
    if is_installed {
        launchers::run(steps);
    }
    kernel::test(steps, long);
    check::cheap(steps);
}

/// The release build's launcher.
fn oxmpi() -> Command {
    Command::new(target().join("release/oxmpi"))
}

/// loom replaces the atomics at compile time, so it has a build folder of its own; it explores in release mode because
/// it runs each test tens of thousands of times.
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
