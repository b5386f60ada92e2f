//! Every Fortran program with every compiler and interface: on OxMPI, below our Fortran library on
//! MPICH's C library, and on MPICH's own Fortran as the reference.
//!
//! What cannot be run, a compiler that is not installed included, is said on standard error.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use oxmpi_conformance::fortran::{self, Compiler, Face, FortranProgram};
use oxmpi_conformance::library::Library;
use oxmpi_conformance::trial::{self, Outcome};

/// No program is longer: one topic each.
const LINES_MAX: usize = 120;

/// Compilers that are tried.
const COMPILERS: [&str; 2] = ["gfortran", "flang-new-19"];

fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fortran");
    let _ = std::fs::create_dir_all(&folder);
    folder
}

fn is_long() -> bool {
    std::env::var_os("OXMPI_TEST_LONG").is_some()
}

#[test]
fn programs_name_their_clause_and_are_short() {
    let programs = fortran::programs().unwrap();
    assert!(programs.len() >= 17, "only {} programs", programs.len());
    for FortranProgram { program, .. } in &programs {
        let text = std::fs::read_to_string(&program.source).unwrap();
        let title = &program.name;
        assert!(
            program.explanation.contains("MPI 5.0"),
            "{title} does not name the clause"
        );
        assert!(
            text.lines().count() <= LINES_MAX,
            "{title} has more than {LINES_MAX} lines"
        );
    }
}

#[test]
fn on_oxmpi() {
    let library = match Library::oxmpi(&folder()) {
        Ok(library) => library,
        Err(reason) => return eprintln!("conformance: SKIPPED: no OxMPI: {reason}"),
    };
    for name in COMPILERS {
        match Compiler::of_oxmpi(&library, name) {
            Some(compiler) => every(&compiler, &Face::ALL),
            None => eprintln!("conformance: SKIPPED: {name} is not installed"),
        }
    }
}

/// Programs compiled once, with our Fortran library above MPICH's C library of the standard ABI.
#[test]
fn on_the_c_library_of_mpich() {
    let (oxmpi, mpich) = match (Library::oxmpi(&folder()), Library::mpich(&folder())) {
        (Ok(oxmpi), Ok(mpich)) => (oxmpi, mpich),
        (Err(reason), _) | (_, Err(reason)) => {
            return eprintln!("conformance: SKIPPED: MPICH below libmpifort_abi: {reason}");
        }
    };
    let Some(mut compiler) = Compiler::of_oxmpi(&oxmpi, COMPILERS[0]) else {
        return eprintln!("conformance: SKIPPED: {} is not installed", COMPILERS[0]);
    };
    compiler.libraries = vec![mpich];
    compiler.name.push_str("-above-mpich");
    every(&compiler, if is_long() { &Face::ALL } else { &[Face::F08] });
}

/// The reference must agree with the programs.
#[test]
fn on_the_fortran_of_mpich() {
    match Compiler::of_mpich() {
        Some(compiler) => every(&compiler, if is_long() { &Face::ALL } else { &[Face::Mpi] }),
        None => eprintln!("conformance: SKIPPED: Debian's mpich is not installed"),
    }
}

/// Compiles and runs all programs, two at a time; fails with the list of those that failed.
fn every(compiler: &Compiler, faces: &[Face]) {
    let mut work = VecDeque::new();
    for program in fortran::programs().unwrap() {
        let wanted = program.faces.iter().filter(|face| faces.contains(face));
        work.extend(wanted.map(|&face| (program.program.clone(), face)));
    }
    let (work, failures) = (Mutex::new(work), Mutex::new(String::new()));
    let next = || work.lock().unwrap().pop_front();
    std::thread::scope(|scope| {
        for _ in 0..trial::TRIALS_MAX {
            scope.spawn(|| {
                while let Some((program, face)) = next() {
                    let bad = one(compiler, &program, face);
                    failures.lock().unwrap().push_str(&bad);
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{failures}");
}

/// What went wrong with one program; empty if nothing did.
fn one(compiler: &Compiler, program: &oxmpi_conformance::program::Program, face: Face) -> String {
    let mut failures = String::new();
    let what = format!("{} with {}, {}", program.name, compiler.name, face.word());
    let skipped = compiler
        .name
        .contains("mpich")
        .then(|| program.skip_mpich.clone())
        .flatten();
    if let Some(reason) = skipped {
        eprintln!("conformance: SKIPPED: {what}: {reason}");
        return failures;
    }
    let binary = match compiler.compile(&folder(), program, face) {
        Ok(binary) => binary,
        Err(said) => return format!("{what} does not compile:\n{said}\n"),
    };
    for library in &compiler.libraries {
        for &ranks in &program.ranks {
            if let Outcome::Failed { reason, output } = trial::run(program, &binary, library, ranks)
            {
                let name = &library.name;
                writeln!(
                    failures,
                    "{what}, {ranks} ranks on {name}: {reason}\n{output}"
                )
                .expect("a String takes it");
            }
        }
    }
    failures
}
