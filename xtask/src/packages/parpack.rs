//! PARPACK, the part of ARPACK for MPI, which finds eigenvalues: mpif.h in fixed form, reductions of
//! four kinds of numbers, and a test that uses communicators of its own.
//!
//! Its examples print eigenvalues and how far each is from being one, and judge nothing themselves.

use std::path::Path;

use super::{RANKS, build, folder, shell};
use crate::debian;
use crate::steps::{Expect, Steps};

/// Programs that are there already stay; the library they are linked with may be another.
const BUILD: &str = r#"
    mkdir -p objects; cd objects
    echo '#define INTERFACE64 0' > arpackdef.h
    source=../source
    if [ ! -e ../libparpack.a ]; then
        ls $source/SRC/*.f $source/UTIL/*.f $source/PARPACK/SRC/MPI/*.f \
            $source/PARPACK/UTIL/MPI/*.f |
            xargs -P 2 -n 12 mpif77 -O1 -w -c -I. -I$source
        ar rcs ../libparpack.a *.o
    fi
    ls $source/PARPACK/EXAMPLES/MPI/*.f $source/PARPACK/TESTS/MPI/*.f |
        while read program; do
            name=${program##*/}
            mpif77 -O1 -w -I$source $program -o ../${name%.f} ../libparpack.a \
                ../root/lib/lapack/liblapack.a ../root/lib/blas/libblas.a
        done
"#;

/// Its programs, and how far from an eigenvalue what they find may be: single precision, or double.
const PROGRAMS: [(&str, &str); 9] = [
    ("pssdrv1", "1e-3"),
    ("psndrv1", "1e-3"),
    ("psndrv3", "1e-3"),
    ("pcndrv1", "1e-3"),
    ("pdsdrv1", "1e-10"),
    ("pdndrv1", "1e-10"),
    ("pdndrv3", "1e-10"),
    ("pzndrv1", "1e-10"),
    ("issue46", "1e-10"),
];

/// `$1` is the limit, the rest the command. The last number of each row is the distance.
const RUN: &str = r#"
    limit=$1; shift
    "$@" > said; cat said
    awk -v limit="$limit" '
        /^ *Row +[0-9]+:/ { rows++; by = $NF; gsub("D", "E", by); if (!(by + 0 < limit)) bad++ }
        END { print (rows >= 4 && !bad ? "correct" : "wrong") }' said
"#;

/// Builds it and runs its examples and its test.
pub fn run(steps: &mut Steps) {
    let name = "packages: PARPACK";
    let folder = folder("parpack");
    let libraries = ["libblas-dev", "liblapack-dev"];
    let fetched = debian::unpacked(&folder, &libraries, "lib/lapack/liblapack.a")
        .and_then(|()| debian::source(&folder, "arpack", "PARPACK/SRC/MPI/pdsaupd.f"));
    if let Err(reason) = fetched {
        return steps.skip(name, &reason);
    }
    if !build(steps, name, &folder, BUILD, Path::new("")) {
        return;
    }
    for (program, limit) in PROGRAMS {
        let mut job = shell(&folder, RUN);
        job.arg(limit)
            .args(["mpiexec", "-n", &RANKS.to_string()])
            .arg(folder.join(program));
        let name = format!("{name}: {program}");
        steps.run(&name, 2, Expect::Text("correct"), &mut job);
    }
}
