//! PnetCDF, files of arrays over MPI's files: its library in C with Fortran above it, its tests and
//! examples of `use mpi` and mpif.h.

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

/// Folders with programs, and what `make` is to do there.
const PROGRAMS: [(&str, &str); 4] = [
    ("test/F90", "tests"),
    ("test/F90", "ptest"),
    ("examples/F90", "ptest"),
    ("examples/F77", "ptest"),
];

/// Builds it and runs them.
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
    for (place, target) in PROGRAMS {
        let mut make = shell(
            &folder.join("source").join(place),
            &format!("make {target} TESTMPIRUN='mpiexec -n NP' TESTOUTDIR=."),
        );
        let name = format!("{name}: {place}, {target} on {RANKS} ranks");
        steps.run(&name, 10, Expect::Success, &mut make);
    }
}
