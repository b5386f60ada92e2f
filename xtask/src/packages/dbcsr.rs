//! DBCSR, products of sparse matrices of blocks: modern Fortran with mpi_f08, which CMake finds.
//!
//! It is built without OpenMP, which would only make its tests longer.

use std::path::Path;

use super::{RANKS, build, folder};
use crate::debian;
use crate::installed;
use crate::steps::{Expect, Steps};

const BUILD: &str = r#"
    mkdir -p build; cd build
    libraries=$PWD/../root/lib
    cmake ../source -DCMAKE_Fortran_COMPILER=mpifort -DCMAKE_C_COMPILER=mpicc \
        -DCMAKE_CXX_COMPILER=mpicxx -DCMAKE_BUILD_TYPE=None \
        -DCMAKE_Fortran_FLAGS='-O1 -ffree-line-length-none -w' \
        -DFYPP_EXECUTABLE="$(command -v fypp)" \
        -DBLAS_LIBRARIES="$libraries/blas/libblas.a" \
        -DLAPACK_LIBRARIES="$libraries/lapack/liblapack.a;$libraries/blas/libblas.a" \
        -DUSE_MPI_F08=ON -DUSE_OPENMP=OFF -DWITH_C_API=OFF -DWITH_EXAMPLES=OFF
    make -j2
"#;

/// Its tests, each of which ends with an error if a result is wrong, and their minutes.
const TESTS: [(&str, u64); 7] = [
    ("dbcsr_unittest1", 5),
    ("dbcsr_unittest2", 5),
    ("dbcsr_unittest3", 5),
    ("dbcsr_unittest4", 2),
    ("dbcsr_tas_unittest", 2),
    ("dbcsr_tensor_unittest", 2),
    ("dbcsr_test_csr_conversions", 2),
];

/// Builds it and runs its tests.
pub fn run(steps: &mut Steps) {
    let name = "packages: DBCSR";
    let folder = folder("dbcsr");
    for (tool, package) in [("cmake", "cmake"), ("fypp", "fypp")] {
        if !installed::fetch(steps, tool, package) {
            return steps.skip(name, &format!("{tool} is not installed"));
        }
    }
    let libraries = ["libblas-dev", "liblapack-dev"];
    let fetched = debian::unpacked(&folder, &libraries, "lib/lapack/liblapack.a")
        .and_then(|()| debian::source(&folder, "dbcsr", "src/mpi/dbcsr_mpiwrap.F"));
    if let Err(reason) = fetched {
        return steps.skip(name, &reason);
    }
    if !build(steps, name, &folder, BUILD, Path::new("")) {
        return;
    }
    for (test, minutes) in TESTS {
        let mut job = installed::mpiexec(RANKS);
        job.arg(folder.join("build/tests").join(test));
        let name = format!("{name}: {test}");
        steps.run(&name, minutes, Expect::Success, &mut job);
    }
}
