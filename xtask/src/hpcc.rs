//! HPC Challenge, from Debian's source package, built with the installation's mpicc and run on 2 to
//! 16 ranks with a small problem.
//!
//! Its RandomAccess takes messages from MPI_Testany, posts each receive again at once and relies on
//! the order in which they come: a wrong order shows as wrong memory locations. Its PTRANS, HPL and
//! FFT check their results, too. Everything lies in `target/hpcc`; what was fetched once stays.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::debian;
use crate::installed;
use crate::steps::{Expect, Steps, target};

/// The library of linear algebra that it is linked with: plain C, in one archive.
const ALGEBRA: &str = "libgsl-dev";

/// Runs: rows and columns of the grid of ranks, and the order of the matrix, by which the program
/// takes its measure for everything else.
const RUNS: [(u32, u32, u32); 3] = [(1, 2, 200), (2, 3, 512), (4, 4, 256)];

/// What the program is compiled with. It still calls two functions by names that MPI 3.0 removed.
const MAKEFILE: &str = "\
CD = cd
CP = cp
LN_S = ln -s
MKDIR = mkdir -p
RM = rm -f
TOUCH = touch
ARCH = $(arch)
TOPdir = ../../..
INCdir = $(TOPdir)/include
LIBdir = $(TOPdir)/lib/$(ARCH)
HPLlib = $(LIBdir)/libhpl.a
HPL_INCLUDES = -I$(INCdir) -I$(INCdir)/$(ARCH)
HPL_LIBS = $(HPLlib) $(ALGEBRA) -lm
HPL_OPTS = -DHPL_CALL_CBLAS -DMPI_Address=MPI_Get_address -DMPI_Type_struct=MPI_Type_create_struct
HPL_DEFS = $(HPL_OPTS) $(HPL_INCLUDES)
CC = mpicc
CCNOOPT = $(HPL_DEFS) -w
CCFLAGS = $(HPL_DEFS) -w -O2
LINKER = mpicc
LINKFLAGS = $(CCFLAGS)
ARCHIVER = ar
ARFLAGS = r
RANLIB = echo
";

/// Builds it with the installation of `installed` and runs it.
pub fn run(steps: &mut Steps) {
    let name = |(rows, columns, _): (u32, u32, u32)| format!("hpcc on {} ranks", rows * columns);
    if !is_wanted(steps) {
        return;
    }
    let source = match provide() {
        Ok(source) => source,
        Err(reason) => return steps.skip("hpcc", &reason),
    };
    let program = source.join("hpcc");
    // It is linked anew: with the mpicc of this run.
    let _ = fs::remove_file(&program);
    let mut make = Command::new("make");
    make.args(["arch=oxmpi", "-j2", "-C"]).arg(&source);
    installed::with_path(&mut make);
    if !steps.run("hpcc: build", 10, Expect::Success, &mut make) {
        return;
    }
    for run in RUNS {
        let name = name(run);
        if !steps.selects(&name) {
            continue;
        }
        let place = match prepare(&source, run) {
            Ok(place) => place,
            Err(error) => {
                steps.judge(&name, Err(format!("its input cannot be written: {error}")));
                continue;
            }
        };
        let mut job = installed::mpiexec(run.0 * run.1);
        job.arg("-wdir").arg(&place).arg(&program);
        if steps.run(&name, 5, Expect::Success, &mut job) {
            let text = fs::read_to_string(place.join("hpccoutf.txt")).unwrap_or_default();
            steps.judge(&format!("{name}: its results"), judge(&text));
        }
    }
}

/// Whether --only lets it run.
pub fn is_wanted(steps: &Steps) -> bool {
    steps.selects("hpcc: build")
        || RUNS.iter().any(|run| {
            let (rows, columns, _) = run;
            steps.selects(&format!("hpcc on {} ranks", rows * columns))
        })
}

fn folder() -> PathBuf {
    target().join("hpcc")
}

/// The program's source, ready to be built; why not, if it cannot be had.
fn provide() -> Result<PathBuf, String> {
    let folder = folder();
    let source = folder.join("source");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let algebra = algebra(&folder)?;
    if !source.join("Makefile").exists() {
        debian::fetch_source(&folder, "hpcc", &source)?;
    }
    let makefile = format!("ALGEBRA = {}\n{MAKEFILE}", algebra.display());
    let place = source.join("hpl/Make.oxmpi");
    fs::write(&place, makefile).map_err(|error| format!("{}: {error}", place.display()))?;
    Ok(source)
}

/// The archive of linear algebra.
fn algebra(folder: &Path) -> Result<PathBuf, String> {
    let place = folder.join("algebra/libgslcblas.a");
    if place.exists() {
        return Ok(place);
    }
    let script = format!(
        "set -e; rm -rf algebra; mkdir algebra; cd algebra; apt-get -q download {ALGEBRA}; \
         dpkg-deb -x {ALGEBRA}_*.deb .; cp usr/lib/*/libgslcblas.a ."
    );
    debian::shell(folder, &script).map(|()| place)
}

/// A folder with the input for one run.
fn prepare(source: &Path, (rows, columns, order): (u32, u32, u32)) -> io::Result<PathBuf> {
    let place = folder().join(format!("{}-ranks", rows * columns));
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place)?;
    let given = fs::read_to_string(source.join("_hpccinf.txt"))?;
    fs::write(
        place.join("hpccinf.txt"),
        input(&given, rows, columns, order),
    )?;
    Ok(place)
}

/// The input that comes with the source, for another grid and another order. Its lines have fixed
/// places, and what follows the first word is for people.
fn input(given: &str, rows: u32, columns: u32, order: u32) -> String {
    let lines = given.lines().enumerate().map(|(at, line)| match at + 1 {
        6 => format!("{order} Ns"),
        8 => "32 NBs".to_owned(),
        11 => format!("{rows} Ps"),
        12 => format!("{columns} Qs"),
        _ => line.to_owned(),
    });
    lines.map(|line| line + "\n").collect()
}

/// Whether the results are right, by what the program says of them.
fn judge(text: &str) -> Result<(), String> {
    let value = |key: &str| {
        let mut lines = text.lines();
        lines.find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
    };
    for (key, wanted) in [
        ("Success", "1"),
        ("MPIRandomAccess_Errors", "0"),
        ("MPIRandomAccess_LCG_Errors", "0"),
    ] {
        if value(key) != Some(wanted) {
            let found = value(key).unwrap_or("nothing");
            return Err(format!("{key} is {found}, not {wanted}"));
        }
    }
    let is_bad = |line: &&str| {
        line.contains("FAILED") || line.starts_with("Found ") && !line.starts_with("Found 0 errors")
    };
    if let Some(line) = text.lines().find(is_bad) {
        return Err(line.trim().to_owned());
    }
    match text.lines().filter(|line| line.contains("PASSED")).count() {
        0 => Err("it checked nothing: no line says PASSED".to_owned()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "Found 0 errors in 8192 locations (passed).\nWALL 50 PASSED 0.02\nSuccess=1\n\
        MPIRandomAccess_LCG_Errors=0\nMPIRandomAccess_Errors=0\n";

    #[test]
    fn results_are_judged_by_every_check_of_the_program() {
        assert_eq!(judge(GOOD), Ok(()));
        for (good, bad, said) in [
            ("Success=1", "Success=0", "Success is 0, not 1"),
            (
                "_LCG_Errors=0",
                "_LCG_Errors=7",
                "MPIRandomAccess_LCG_Errors is 7, not 0",
            ),
            (
                "Found 0",
                "Found 12",
                "Found 12 errors in 8192 locations (passed).",
            ),
            ("WALL", "CPU FAILED\nWALL", "CPU FAILED"),
            ("PASSED", "", "it checked nothing: no line says PASSED"),
        ] {
            assert_eq!(judge(&GOOD.replacen(good, bad, 1)), Err(said.to_owned()));
        }
        assert!(judge("").is_err());
    }

    #[test]
    fn the_input_has_grid_and_order_at_their_places() {
        let given: String = (1..=14).map(|at| format!("line {at}\n")).collect();
        let text = input(&given, 2, 3, 100);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines[5], lines[10], lines[11]), ("100 Ns", "2 Ps", "3 Qs"));
        assert_eq!(
            (lines[0], lines[13], lines.len()),
            ("line 1", "line 14", 14)
        );
    }
}
