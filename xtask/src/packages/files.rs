//! Libraries that many programs use MPI's files through, with their own tests: PnetCDF (C and
//! Fortran), parallel HDF5, and netCDF-4 above that HDF5.
//!
//! Their authors test MPI libraries with them, which is their value. What was fetched and configured
//! once stays, and what depends on mpi.h is built again when that changes. A few of PnetCDF's tests
//! are part of every run; the others take minutes, so they belong to `--long`, and to runs that name
//! them: `cargo xtask test --only pnetcdf`.

use std::fs;
use std::path::{Path, PathBuf};

use super::{folder, shell};
use crate::debian;
use crate::installed;
use crate::steps::{Expect, Steps};

/// A library with tests of its own.
struct Library {
    /// The word of its steps, and its folder.
    name: &'static str,
    /// Debian's name of its source package.
    package: &'static str,
    /// It belongs to every run.
    is_short: bool,
    /// What its build needs besides a compiler: programs or files, and Debian's packages of them.
    tools: &'static [(&'static str, &'static str)],
    /// A library of this list that is built before it.
    above: Option<&'static str>,
    /// Makes the Makefiles.
    configure: &'static str,
    /// Builds the library and its test programs.
    build: &'static str,
    /// Its tests: what they are, how they are run, minutes on an idle machine.
    tests: &'static [(&'static str, &'static str, u64)],
}

/// Without it HDF5 has no compression, which netCDF-4 wants.
const ZLIB: (&str, &str) = ("/usr/include/zlib.h", "zlib1g-dev");

const AUTOTOOLS: (&str, &str) = ("autoreconf", "autoconf automake libtool m4");

/// Debian's name of HDF5.
const HDF5: &str = "hdf5";

/// Optimising takes longer than it saves, and warnings are about code of others.
const LIBRARIES: [Library; 4] = [
    Library {
        name: "pnetcdf-c",
        package: "pnetcdf",
        is_short: true,
        tools: &[AUTOTOOLS],
        above: None,
        configure: "autoreconf -i && ./configure MPICC=mpicc CFLAGS='-O0 -w' --disable-fortran \
                    --disable-cxx --disable-shared --disable-dependency-tracking",
        build: "make -j2 -C src && make -C test/common && \
                make -C test/C pres_temp_4D_wr pres_temp_4D_rd && \
                make -C test/testcases check_striping mix_collectives ivarn flexible_varm nonblocking",
        tests: &[(
            "seven of them",
            "cd test/C; for one in pres_temp_4D_wr pres_temp_4D_rd; do \
             mpiexec -n 4 ./$one data.nc; done; cd ../testcases; \
             for one in check_striping mix_collectives ivarn flexible_varm nonblocking; do \
             mpiexec -n 4 ./$one data.nc; done",
            2,
        )],
    },
    Library {
        name: "pnetcdf",
        package: "pnetcdf",
        is_short: false,
        tools: &[AUTOTOOLS],
        above: None,
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
        name: HDF5,
        package: HDF5,
        is_short: false,
        tools: &[("make", "make"), ZLIB],
        above: None,
        // Shared, because Python loads it; its folder is `../prefix` for what is built above it.
        configure: "CC=mpicc CFLAGS='-O0 -w' ./configure --prefix=\"$PWD/../prefix\" \
                    --enable-parallel --disable-cxx --disable-fortran --disable-static \
                    --disable-tools --disable-dependency-tracking",
        build: "make -j2 -C src install && make -j2 -C hl/src install && \
                make -j2 -C test libh5test.la && make -j2 -C testpar t_mpi testphdf5 t_cache \
                t_cache_image t_pread t_shapesame t_filters_parallel t_prestart t_pshutdown \
                t_init_term t_pflush1 t_pflush2 t_bigio",
        tests: &[
            ("t_mpi", "cd testpar && mpiexec -n 4 ./t_mpi", 5),
            ("testphdf5", "cd testpar && mpiexec -n 4 ./testphdf5", 20),
            ("t_cache", "cd testpar && mpiexec -n 4 ./t_cache", 20),
            (
                "t_cache_image",
                "cd testpar && mpiexec -n 4 ./t_cache_image",
                20,
            ),
            ("t_pread", "cd testpar && mpiexec -n 4 ./t_pread", 5),
            ("t_init_term", "cd testpar && mpiexec -n 4 ./t_init_term", 2),
            (
                "t_pshutdown and t_prestart",
                "cd testpar && mpiexec -n 4 ./t_pshutdown && mpiexec -n 4 ./t_prestart",
                5,
            ),
            // The first ends without MPI_Finalize on purpose; the second looks at what it left.
            (
                "t_pflush1 and t_pflush2",
                "cd testpar && { mpiexec -n 4 ./t_pflush1 || true; } && mpiexec -n 4 ./t_pflush2",
                5,
            ),
            (
                "t_shapesame",
                "cd testpar && HDF5TestExpress=3 mpiexec -n 4 ./t_shapesame",
                20,
            ),
            (
                "t_filters_parallel",
                "cd testpar && HDF5TestExpress=3 mpiexec -n 4 ./t_filters_parallel",
                20,
            ),
            ("t_bigio", "cd testpar && mpiexec -n 4 ./t_bigio", 20),
        ],
    },
    Library {
        name: "netcdf",
        package: "netcdf",
        is_short: false,
        tools: &[("make", "make"), ("m4", "m4"), ZLIB],
        above: Some(HDF5),
        configure: "below=$PWD/../../hdf5/prefix; CC=mpicc CFLAGS='-O0 -w' \
                    CPPFLAGS=\"-I$below/include\" \
                    LDFLAGS=\"-L$below/lib -Wl,-rpath,$below/lib\" ./configure \
                    --enable-parallel-tests --with-mpiexec=mpiexec --disable-dap \
                    --disable-byterange --disable-utilities --disable-libxml2 --disable-nczarr \
                    --disable-filter-testing --disable-static --disable-dependency-tracking",
        build: "make -j2 && make -j2 -C h5_test tst_h_par tst_h_par_compress && \
                make -j2 -C nc_test4 tst_mpi_parallel tst_parallel tst_parallel3 tst_parallel4 \
                tst_parallel5 tst_nc4perf tst_mode tst_simplerw_coll_r tst_parallel_zlib \
                tst_parallel_compress tst_quantize_par tst_parallel6",
        tests: &[
            ("of HDF5", "cd h5_test && sh -e ./run_par_tests.sh", 5),
            ("of netCDF-4", "cd nc_test4 && sh ./run_par_test.sh", 20),
        ],
    },
];

/// Builds those that are wanted and runs their tests.
pub(super) fn run(steps: &mut Steps, long: bool) {
    for library in &LIBRARIES {
        if library.is_wanted(steps, long) && library.build(steps) {
            library.test(steps);
        }
    }
}

/// Whether one of them is to run.
pub(super) fn is_wanted(steps: &Steps, long: bool) -> bool {
    LIBRARIES
        .iter()
        .any(|library| library.is_wanted(steps, long))
}

/// Parallel HDF5 for a step that is built above it: the folder of its headers and libraries.
pub(super) fn hdf5(steps: &mut Steps) -> Option<PathBuf> {
    let library = LIBRARIES.iter().find(|library| library.name == HDF5)?;
    library
        .build(steps)
        .then(|| folder(library.name).join("prefix"))
}

impl Library {
    fn test_name(&self, test: &str) -> String {
        format!("packages: {}: its tests, {test}", self.name)
    }

    /// In every run, or in long ones and those that name it.
    fn is_wanted(&self, steps: &Steps, long: bool) -> bool {
        let mut tests = self.tests.iter();
        let selected = tests.any(|(test, ..)| steps.selects(&self.test_name(test)));
        selected && (self.is_short || long || steps.is_choosy())
    }

    /// Whether it is there, after an attempt to build it.
    fn build(&self, steps: &mut Steps) -> bool {
        let name = format!("packages: {}", self.name);
        let below = LIBRARIES
            .iter()
            .find(|below| Some(below.name) == self.above);
        if below.is_some_and(|below| !below.build(steps)) {
            steps.skip(&name, "the library below it is not there");
            return false;
        }
        for (tool, packages) in self.tools {
            if !installed::fetch(steps, tool, packages) {
                steps.skip(&name, &format!("{tool} is not installed"));
                return false;
            }
        }
        let folder = folder(self.name);
        if let Err(reason) = debian::source(&folder, self.package, "configure.ac") {
            steps.skip(&name, &reason);
            return false;
        }
        let source = folder.join("source");
        let build = match is_built_with_this_header(&source) {
            true => self.build.to_owned(),
            // With the stamp, a build that is interrupted goes on where it stopped.
            false => format!(
                "{} && {{ make clean; cp \"$1\" '{STAMP}'; {}; }}",
                self.configure, self.build
            ),
        };
        let mut build = shell(&source, &build);
        build.arg(header());
        steps.run_always(&format!("{name}: build"), 20, Expect::Success, &mut build)
    }

    fn test(&self, steps: &mut Steps) {
        let source = folder(self.name).join("source");
        for (test, script, minutes) in self.tests {
            let mut job = shell(&source, script);
            steps.run(&self.test_name(test), *minutes, Expect::Success, &mut job);
        }
    }
}

/// A copy of the header that the library was configured with; nothing is older than that.
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
