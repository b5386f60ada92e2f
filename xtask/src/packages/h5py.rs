//! h5py on parallel HDF5: built from its source distribution against OxMPI, with mpi4py's
//! communicators, its own tests and a program that all ranks write one file with.
//!
//! It needs the HDF5 of [`files`], so it is part of long runs, and of those that name
//! it. Its virtual environment is its own; mpi4py comes from the one that its tests use.

use std::process::Command;

use super::{files, folder, shell};
use crate::installed;
use crate::mpi4py;
use crate::steps::{Expect, Steps, root};

/// Pinned, as mpi4py is; it takes HDF5 from 1.10.4 on.
const VERSION: &str = "3.12.1";

const NAME: &str = "packages: h5py";

/// The steps: what they are, how they are run, minutes.
const TESTS: [(&str, &str, u64); 2] = [
    (
        "its tests of MPI",
        "mpiexec -n 4 venv/bin/python -m pytest -q --with-mpi --pyargs h5py.tests.test_file -k MPI",
        5,
    ),
    (
        "a program",
        "mpiexec -n 4 venv/bin/python \"$1\" data.h5",
        5,
    ),
];

/// $1 is the folder of HDF5.
const BUILD: &str = "
    rm -rf venv; python3 -m venv venv
    venv/bin/pip install -q --no-cache-dir 'numpy<2.3' 'cython<3.1' setuptools pkgconfig wheel pytest \
        pytest-mpi
    # What its build wants of mpi4py is another release than ours, which its own check does not mind.
    CC=mpicc CFLAGS='-O0 -g0 -w' HDF5_MPI=ON HDF5_DIR=\"$1\" venv/bin/pip install -q \
        --no-cache-dir --no-deps --no-build-isolation --no-binary h5py h5py==";

fn test_name(test: &str) -> String {
    format!("{NAME}: {test}")
}

/// In long runs, and in those that name it.
pub(super) fn is_wanted(steps: &Steps, long: bool) -> bool {
    let selected = TESTS
        .iter()
        .any(|(test, ..)| steps.selects(&test_name(test)));
    selected && (long || steps.is_choosy())
}

/// Builds it if it is wanted, and runs its tests.
pub(super) fn run(steps: &mut Steps, long: bool) {
    if !is_wanted(steps, long) || !mpi4py::provide(steps, NAME) {
        return;
    }
    let Some(hdf5) = files::hdf5(steps) else {
        return steps.skip(NAME, "parallel HDF5 is not there");
    };
    let folder = folder("h5py");
    if let Err(error) = std::fs::create_dir_all(&folder) {
        return steps.skip(NAME, &format!("{}: {error}", folder.display()));
    }
    let mut build = shell(&folder, &format!("{BUILD}{VERSION}"));
    with_mpi4py(build.arg(hdf5));
    let name = format!("{NAME}: build");
    if !steps.run_always(&name, 20, Expect::Success, &mut build) {
        return;
    }
    for (test, script, minutes) in TESTS {
        let mut job = shell(&folder, script);
        with_mpi4py(job.arg(root().join("xtask/h5py/program.py")));
        steps.run(&test_name(test), minutes, Expect::Success, &mut job);
    }
}

/// The packages of the environment that has mpi4py, behind the interpreter's own.
fn with_mpi4py(command: &mut Command) {
    let environment = mpi4py::python()
        .ancestors()
        .nth(2)
        .map(|path| path.join("lib"));
    let folders = environment.and_then(|lib| std::fs::read_dir(lib).ok());
    let mut packages = folders
        .into_iter()
        .flatten()
        .flatten()
        .map(|python| python.path().join("site-packages"));
    if let Some(packages) = packages.find(|packages| packages.join("mpi4py").exists()) {
        command.env("PYTHONPATH", packages);
    }
    installed::with_path(command);
}
