//! FFTW's transforms over MPI: its own verification in C, and a Fortran program that uses its
//! Fortran 2003 interface (`packages/fftw_mpi.f90`).
//!
//! Only the part for MPI is built; the serial library is Debian's, of the same version.

use super::{RANKS, build, folder};
use crate::debian;
use crate::installed;
use crate::steps::{Expect, Steps, root};

const BUILD: &str = r#"
    mkdir -p build; cd build
    if [ ! -e libtool ]; then
        ../source/configure -q --enable-mpi --disable-doc --disable-shared CFLAGS=-O1
    fi
    make -s -C libbench2
    rm -rf mpi-objects; mkdir mpi-objects; cd mpi-objects
    source=../../source
    for each in . kernel api dft rdft mpi libbench2 tests; do
        include="$include -I$source/$each"
    done
    ls $source/mpi/*.c $source/tests/hook.c $source/tests/fftw-bench.c | grep -v testsched |
        xargs -P 2 -n 9 mpicc -O1 -w -c -DHAVE_CONFIG_H -I.. $include
    library="../../root/lib/libfftw3.a -lm"
    mpicc *.o -o ../mpi-bench ../libbench2/libbench2.a $library
    rm mpi-bench.o hook.o fftw-bench.o
    sed 's/C_MPI_FINT/C_INT32_T/' $source/mpi/fftw3-mpi.f03.in > fftw3-mpi.f03
    mpifort -I. -I../../root/usr/include "$1" -o ../fftw_mpi *.o $library
"#;

/// Problems of its verification: complex and real, in place and not, transposed, two and three
/// dimensions; it ends with an error if one differs from what it computes itself.
const PROBLEMS: [&str; 6] = [
    "ok16x12",
    "obc30x24",
    "ibc12x10x6",
    "ofr18x12",
    "obr24x10",
    "ic60x8",
];

/// Builds it and runs both programs.
pub fn run(steps: &mut Steps) {
    let name = "packages: FFTW";
    let folder = folder("fftw3");
    let fetched = debian::unpacked(&folder, &["libfftw3-dev"], "lib/libfftw3.a")
        .and_then(|()| debian::source(&folder, "fftw3", "mpi/mpi-bench.c"));
    if let Err(reason) = fetched {
        return steps.skip(name, &reason);
    }
    let program = root().join("xtask/packages/fftw_mpi.f90");
    if !build(steps, name, &folder, BUILD, &program) {
        return;
    }
    let mut job = installed::mpiexec(RANKS);
    job.arg(folder.join("build/fftw_mpi"));
    steps.run(
        &format!("{name}: Fortran"),
        2,
        Expect::Text("correct"),
        &mut job,
    );
    for problem in PROBLEMS {
        let mut job = installed::mpiexec(RANKS);
        job.arg(folder.join("build/mpi-bench"))
            .args(["--verify", problem]);
        steps.run(
            &format!("{name}: mpi-bench {problem}"),
            2,
            Expect::Success,
            &mut job,
        );
    }
}
