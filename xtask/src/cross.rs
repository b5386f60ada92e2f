//! OxMPI for another processor, 64-bit ARM: everything that users run is compiled for it, and the
//! unit tests of the crates at the bottom run under QEMU's emulation of a process.
//!
//! Only in long runs and when it is asked for: everything is compiled a second time. The emulation
//! shows what the compiler and the layout of types do, not how a weakly ordered memory behaves:
//! QEMU keeps most of the order of this machine. It lies in `target/aarch64`.

use std::process::Command;

use crate::installed::fetch;
use crate::steps::{Expect, Steps, cargo, target};

const TRIPLE: &str = "aarch64-unknown-linux-gnu";
const LINKER: &str = "aarch64-linux-gnu-gcc";
const EMULATOR: &str = "qemu-aarch64-static";
/// Debian's packages with both, and with the C library that the linker wants.
const PACKAGES: [(&str, &str); 2] = [
    (LINKER, "gcc-aarch64-linux-gnu libc6-dev-arm64-cross"),
    (EMULATOR, "qemu-user-static"),
];

/// What is compiled; what these use comes along.
const PROGRAMS: [&str; 2] = ["abi", "launch"];
/// Whose unit tests run.
const TESTED: [&str; 7] = [
    "wire",
    "matching",
    "link",
    "ports",
    "settings",
    "handshake",
    "pmi",
];

const COMPILED: &str = "aarch64: library and launcher compile";
const EMULATED: &str = "aarch64: unit tests under emulation";

/// Both steps.
pub fn run(steps: &mut Steps, long: bool) {
    if !long && !steps.is_choosy() || ![COMPILED, EMULATED].iter().any(|step| steps.selects(step)) {
        return;
    }
    let mut add = Command::new("rustup");
    let mut add_target = || add.args(["target", "add", TRIPLE]).output();
    if !add_target().is_ok_and(|output| output.status.success()) {
        let reason = format!("the standard library for {TRIPLE} cannot be had");
        [COMPILED, EMULATED]
            .iter()
            .for_each(|step| steps.skip(step, &reason));
        return;
    }
    let mut check = cross("check", &PROGRAMS);
    steps.run(COMPILED, 25, Expect::Success, &mut check);
    if !steps.selects(EMULATED) {
        return;
    }
    for (tool, packages) in PACKAGES {
        if !fetch(steps, tool, packages) {
            steps.skip(EMULATED, &format!("{tool} is not installed"));
            return;
        }
    }
    let mut tests = cross("test", &TESTED);
    // The emulation lacks the call that reads the memory of another process.
    tests.args(["--lib", "--", "--skip", "fetch::tests"]);
    steps.run(EMULATED, 25, Expect::Tests, &mut tests);
}

/// A command of Cargo for these crates.
fn cross(command: &str, crates: &[&str]) -> Command {
    let mut cross = cargo(&[command, "--locked", "--target", TRIPLE]);
    for name in crates {
        cross.args(["--package", &format!("oxmpi-{name}")]);
    }
    let variable = |what: &str| {
        let triple = TRIPLE.to_ascii_uppercase().replace('-', "_");
        format!("CARGO_TARGET_{triple}_{what}")
    };
    cross
        .env(variable("LINKER"), LINKER)
        .env(
            variable("RUNNER"),
            format!("{EMULATOR} -L /usr/aarch64-linux-gnu"),
        )
        .env("CARGO_TARGET_DIR", target().join("aarch64"));
    cross
}
