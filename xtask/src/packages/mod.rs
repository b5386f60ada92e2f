//! Packages from Debian's sources that use MPI, from Fortran or by its files, built with the
//! installation's wrappers and run on 4 ranks with their own examples and tests.
//!
//! Everything lies in `target/packages`; what was fetched and built once stays, the programs are
//! linked anew. MUMPS, PARPACK and some tests of PnetCDF are part of every run, the others only of
//! long ones.

mod dbcsr;
mod fftw;
mod files;
mod h5py;
mod mumps;
mod parpack;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::installed;
use crate::steps::{Expect, Steps, target};

const RANKS: u32 = 4;

/// A package: its name in steps, and the step.
type Package = (&'static str, fn(&mut Steps));

/// Those of every run.
const SHORT: [Package; 2] = [
    ("packages: MUMPS", mumps::run),
    ("packages: PARPACK", parpack::run),
];

/// Those of long runs.
const LONG: [Package; 2] = [
    ("packages: FFTW", fftw::run),
    ("packages: DBCSR", dbcsr::run),
];

fn all(long: bool) -> impl Iterator<Item = Package> {
    SHORT
        .into_iter()
        .chain(LONG.into_iter().take(if long { LONG.len() } else { 0 }))
}

/// Builds and runs them.
pub fn run(steps: &mut Steps, long: bool) {
    for (name, package) in all(long) {
        if steps.selects(name) {
            package(steps);
        }
    }
    files::run(steps, long);
    h5py::run(steps, long);
}

/// Whether --only lets one of them run.
pub fn is_wanted(steps: &Steps, long: bool) -> bool {
    all(true).any(|(name, _)| steps.selects(name))
        || files::is_wanted(steps, long)
        || h5py::is_wanted(steps, long)
}

fn folder(package: &str) -> PathBuf {
    target().join("packages").join(package)
}

/// A script in a folder, with the installation's commands in PATH.
fn shell(folder: &Path, script: &str) -> Command {
    let mut shell = Command::new("sh");
    // Steps run in the root of the repository.
    let script = format!("cd \"$0\"\n{script}");
    shell.args(["-ec", &script]).arg(folder);
    installed::with_path(&mut shell);
    shell
}

/// Builds a package. `$1` is a file of this repository.
fn build(steps: &mut Steps, name: &str, folder: &Path, script: &str, file: &Path) -> bool {
    let mut shell = shell(folder, script);
    steps.run(
        &format!("{name}: build"),
        15,
        Expect::Success,
        shell.arg(file),
    )
}
