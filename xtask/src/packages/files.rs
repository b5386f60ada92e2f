//! Libraries that many programs use MPI's files through, with their own tests: PnetCDF (C and
//! Fortran) and parallel HDF5.
//!
//! Their authors test MPI libraries with them, which is their value. What was fetched and configured
//! once stays, and what depends on mpi.h is built again when that changes. Both take minutes, so
//! they belong to `--long`, and to runs that name them: `cargo xtask test --only pnetcdf`.

use std::fs;
use std::path::{Path, PathBuf};

use super::{folder, shell};
use crate::debian;
use crate::installed;
use crate::steps::{Expect, Steps};

/// A library with tests of its own.
struct Library {
    /// Debian's name of its source package, and the word of its steps.
    package: &'static str,
    /// What its build needs besides a compiler: a program and Debian's packages.
    tool: (&'static str, &'static str),
    /// Makes the Makefiles.
    configure: &'static str,
    /// Builds the library and its test programs.
    build: &'static str,
    /// Its tests: what they are, how they are run, minutes on an idle machine.
    tests: &'static [(&'static str, &'static str, u64)],
}

/// Optimising takes longer than it saves, and warnings are about code of others.
const LIBRARIES: [Library; 2] = [
    Library {
        package: "pnetcdf",
        tool: ("autoreconf", "autoconf automake libtool m4"),
        configure: "autoreconf -i && ./configure MPICC=mpicc MPIF77=mpif77 MPIF90=mpif90 \
                    CFLAGS='-O0 -w' FFLAGS=-O0 FCFLAGS=-O0 --disable-cxx --disable-shared \
                    --disable-dependency-tracking TESTMPIRUN='mpiexec -n NP' \
                    TESTSEQRUN='mpiexec -n 1'",
        build: "make -j2 && make -j2 tests",
        tests: &[
            ("on 1 rank", "make -k check", 10),
            ("on 4 ranks", "make ptest", 15),
        ],
    },
    Library {
        package: "hdf5",
        tool: ("make", "make"),
        configure: "CC=mpicc CFLAGS='-O0 -w' ./configure --enable-parallel --disable-hl \
                    --disable-cxx --disable-fortran --disable-shared --disable-tools \
                    --disable-dependency-tracking --with-zlib=no",
        build: "make -j2 -C src && make -j2 -C test libh5test.la && \
                make -j2 -C testpar t_mpi testphdf5 t_cache t_pread t_shapesame t_prestart \
                t_pshutdown t_init_term",
        tests: &[
            ("t_mpi", "cd testpar && mpiexec -n 4 ./t_mpi", 5),
            ("testphdf5", "cd testpar && mpiexec -n 4 ./testphdf5", 20),
            ("t_cache", "cd testpar && mpiexec -n 4 ./t_cache", 20),
            ("t_pread", "cd testpar && mpiexec -n 4 ./t_pread", 5),
            ("t_init_term", "cd testpar && mpiexec -n 4 ./t_init_term", 2),
            (
                "t_pshutdown and t_prestart",
                "cd testpar && mpiexec -n 4 ./t_pshutdown && mpiexec -n 4 ./t_prestart",
                5,
            ),
            (
                "t_shapesame",
                "cd testpar && mpiexec -n 4 ./t_shapesame",
                20,
            ),
        ],
    },
];

/// Builds those that are wanted and runs their tests.
pub(super) fn run(steps: &mut Steps, long: bool) {
    for library in LIBRARIES {
        if library.is_wanted(steps, long) {
            library.run(steps);
        }
    }
}

/// Whether one of them is to run.
pub(super) fn is_wanted(steps: &Steps, long: bool) -> bool {
    LIBRARIES
        .iter()
        .any(|library| library.is_wanted(steps, long))
}

impl Library {
    fn test_name(&self, test: &str) -> String {
        format!("packages: {}: its tests, {test}", self.package)
    }

    /// In long runs, and in those that name it.
    fn is_wanted(&self, steps: &Steps, long: bool) -> bool {
        let mut tests = self.tests.iter();
        let selected = tests.any(|(test, ..)| steps.selects(&self.test_name(test)));
        selected && (long || steps.is_choosy())
    }

    fn run(&self, steps: &mut Steps) {
        let name = format!("packages: {}", self.package);
        let (tool, packages) = self.tool;
        if !installed::provide(steps, &name, tool, packages) {
            return;
        }
        let folder = folder(self.package);
        if let Err(reason) = debian::source(&folder, self.package, "configure.ac") {
            return steps.skip(&name, &reason);
        }
        let source = folder.join("source");
        let build = match is_built_with_this_header(&source) {
            true => self.build.to_owned(),
            false => format!("{} && {{ make clean; {}; }}", self.configure, self.build),
        };
        let mut build = shell(&source, &build);
        if !steps.run_always(&format!("{name}: build"), 20, Expect::Success, &mut build) {
            return;
        }
        // Without the stamp the next run builds again, and that is all that can go wrong.
        let _ = fs::copy(header(), source.join(STAMP));
        for (test, script, minutes) in self.tests {
            let mut job = shell(&source, script);
            steps.run(&self.test_name(test), *minutes, Expect::Success, &mut job);
        }
    }
}

/// A copy of the header that the library was built with.
const STAMP: &str = "built with this mpi.h";

fn header() -> PathBuf {
    installed::prefix().join("include/mpi.h")
}

fn is_built_with_this_header(source: &Path) -> bool {
    match (fs::read(header()), fs::read(source.join(STAMP))) {
        (Ok(header), Ok(stamp)) => header == stamp && source.join("Makefile").exists(),
        _ => false,
    }
}
