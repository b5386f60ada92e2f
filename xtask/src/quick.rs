//! `cargo xtask quick`: what can be said in minutes, and the first step of `cargo xtask test`.
//!
//! Order: what fails fastest first. Everything that needs no run ([`check`]), then the unit tests
//! of all crates.

use std::process::Command;

use crate::check;
use crate::steps::{Expect, Steps, cargo};

/// The simulator's long run: this many times the seeds of the short one.
const LONG_TIMES: &str = "100";

/// All of it; with `install`, tools that are missing are installed first.
pub fn run(steps: &mut Steps, long: bool, install: bool) {
    check::run(steps, install);
    let mut tests = tests(&["--lib", "--bins"], long);
    steps.run("unit tests", minutes(long, 15), Expect::Tests, &mut tests);
}

/// Tests of all crates, of the targets that the words choose.
///
/// Every build of the debug profile names the whole workspace: the features of common dependencies
/// depend on what is built together, and other features would be another build.
pub fn tests(words: &[&str], long: bool) -> Command {
    let mut command = cargo(&["test", "--workspace", "--locked", "--no-fail-fast"]);
    command.args(words);
    if long {
        command
            .env("OXMPI_SIM_TIMES", LONG_TIMES)
            .env("OXMPI_TEST_LONG", "1")
            .env("PROPTEST_CASES", "20000");
    }
    command
}

/// A limit for tests of which the long run has many times the seeds.
pub fn minutes(long: bool, short: u64) -> u64 {
    if long { 600 } else { short }
}
