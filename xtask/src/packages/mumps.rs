//! MUMPS, a solver of sparse systems: mpif.h in fixed form, and C that calls it.
//!
//! It is built for double precision without ScaLAPACK, which it wants only for the last, dense part
//! of large systems: those names come from its own `libseq`, whose procedures of MPI are left out.

use std::fs;
use std::path::Path;

use super::{RANKS, build, folder, shell};
use crate::debian;
use crate::steps::{Expect, Steps};

/// Its settings; the libraries lie beside the source.
const MAKEFILE: &str = "\
LPORDDIR = $(topdir)/PORD/lib/
IPORD = -I$(topdir)/PORD/include/
LPORD = -L$(LPORDDIR) -lpord
ORDERINGSF = -Dpord
ORDERINGSC = $(ORDERINGSF)
LORDERINGS = $(LPORD)
IORDERINGSC = $(IPORD)
LIBEXT = .a
OUTC = -o # a blank follows
OUTF = -o # a blank follows
RM = rm -f
CC = mpicc
FC = mpif90
FL = mpif90
AR = ar r # a blank follows
RANLIB = ranlib
LIBS = $(topdir)/absent.o $(topdir)/../root/lib/lapack/liblapack.a
LIBBLAS = $(topdir)/../root/lib/blas/libblas.a
LIBOTHERS = -lpthread
CDEFS = -DAdd_
OPTF = -O0 -w
OPTC = -O0 -w
OPTL =
";

/// `absent.f` gets the program units of `libseq/mpi.f` that are not MPI's.
const BUILD: &str = r#"
    cd source
    tr 'A-Z' 'a-z' < libseq/mpi.f | awk '
        /^[c!]/ { next }
        !inside && /^ +(subroutine|(integer|real|double precision|logical) +function) / {
            inside = 1; keep = $0 !~ /(subroutine|function) +(mpi_|mumps_)/ }
        inside && keep { print }
        /^ +end( (subroutine|function).*)? *$/ { inside = 0 }' > absent.f
    mpif90 -w -c absent.f
    rm -f examples/dsimpletest examples/c_example
    make -j2 d
"#;

/// Its programs, what they read, and the places in the line of the solution: word 3, in C word 5,
/// has the first number, which is 1, the next one is 2, and so on.
const EXAMPLES: [(&str, &str, &str); 3] = [
    ("dsimpletest", "input_simpletest_real", "3 5"),
    ("c_example", "/dev/null", "5 2"),
    ("c_example_save_restore", "/dev/null", "5 2"),
];

/// `$1` is the input, `$2` and `$3` say where the solution is and of how many numbers, the rest is
/// the command.
const RUN: &str = r#"
    input=$1; first=$2; count=$3; shift 3
    "$@" < "$input" > said; cat said
    awk -v first="$first" -v count="$count" '
        /Solution is/ {
            good = 1
            for (i = 0; i < count; i++) {
                by = $(first + i) - (i + 1)
                if (by > 1e-9 || by < -1e-9) good = 0
            }
        }
        END { print good ? "correct" : "wrong" }' said
"#;

/// Builds it and runs its examples.
pub fn run(steps: &mut Steps) {
    let name = "packages: MUMPS";
    let folder = folder("mumps");
    let libraries = ["libblas-dev", "liblapack-dev"];
    let fetched = debian::unpacked(&folder, &libraries, "lib/lapack/liblapack.a")
        .and_then(|()| debian::source(&folder, "mumps", "src/dmumps_driver.F"));
    if let Err(reason) = fetched {
        return steps.skip(name, &reason);
    }
    let settings = folder.join("source/Makefile.inc");
    if let Err(error) = fs::write(&settings, MAKEFILE) {
        steps.judge(name, Err(format!("{}: {error}", settings.display())));
        return;
    }
    if !build(steps, name, &folder, BUILD, Path::new("")) {
        return;
    }
    let examples = folder.join("source/examples");
    for (program, input, places) in EXAMPLES {
        let mut job = shell(&examples, RUN);
        job.arg(input)
            .args(places.split(' '))
            .args(["mpiexec", "-n", &RANKS.to_string()])
            .arg(examples.join(program));
        let name = format!("{name}: {program}");
        steps.run(&name, 2, Expect::Text("correct"), &mut job);
    }
}
