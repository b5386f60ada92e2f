//! PnetCDF, files of arrays over MPI's files: its library in C with Fortran above it, and its tests
//! of `use mpi`.

use std::path::Path;

use super::{RANKS, build, folder, shell};
use crate::debian;
use crate::installed;
use crate::steps::{Expect, Steps};

/// The package has no configure; what makes it is fetched.
const BUILD: &str = r#"
    cd source
    if [ ! -e configure ]; then autoreconf -i; fi
    if [ ! -e config.status ]; then
        ./configure -q --disable-cxx --disable-shared --enable-static MPICC=mpicc \
            MPIF77=mpif77 MPIF90=mpif90 CFLAGS=-O0 FFLAGS=-O0 FCFLAGS=-O0
    fi
    make -s -j2
    make -s -C test/common tests
"#;

/// Its parallel tests of `use mpi`. Left out: f90tst_parallel3 and the examples; most of them write
/// through a filetype that lies in the file once and whose copies would overlap; set_view refuses
/// that for now.
const TESTS: &str = "f90tst_parallel f90tst_parallel2 f90tst_parallel4";

/// Builds it and runs the tests.
pub fn run(steps: &mut Steps) {
    let name = "packages: PnetCDF";
    let folder = folder("pnetcdf");
    let tools = "autoconf automake libtool m4";
    if !installed::provide(steps, name, "autoreconf", tools) {
        return;
    }
    if let Err(reason) = debian::source(&folder, "pnetcdf", "configure.ac") {
        return steps.skip(name, &reason);
    }
    if !build(steps, name, &folder, BUILD, Path::new("")) {
        return;
    }
    let script = format!("make ptest PARALLEL_PROGS='{TESTS}' TESTMPIRUN='mpiexec -n NP'");
    let mut make = shell(&folder.join("source/test/F90"), &script);
    let name = format!("{name}: tests on {RANKS} ranks");
    steps.run(&name, 10, Expect::Success, &mut make);
}
