//! Runs conformance programs by hand, on any library of the standard ABI.
//!
//! `cargo run -p oxmpi-conformance -- [--launcher WORDS] PREFIX [WORD]...` compiles the programs
//! whose "chapter/name" contains one of the words (all without words) against the library installed
//! at PREFIX and runs them on it, one after the other, saying how each ended. The status is 1 if
//! one failed. Jobs are started by the library's own mpiexec, or by the words given, in which
//! `{ranks}` stands for the number of ranks: 'srun --mpi=pmi2 -n {ranks}'.

#![forbid(unsafe_code)]

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use oxmpi_conformance::library::{Kind, Library};
use oxmpi_conformance::program::{Program, chapter, chapters};
use oxmpi_conformance::trial::{Outcome, Workshop, run};

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1).peekable();
    let launcher = words.next_if_eq("--launcher").and_then(|_| words.next());
    let Some(prefix) = words.next().filter(|word| !word.starts_with('-')) else {
        eprintln!(
            "usage: cargo run -p oxmpi-conformance -- [--launcher WORDS] PREFIX [WORD]...\n\nPREFIX has bin/mpiexec and lib/libmpi_abi.so.1; words choose programs by chapter/name; a launcher's words have {{ranks}} where the number of ranks stands"
        );
        return ExitCode::from(2);
    };
    let words = words.collect::<Vec<_>>();
    match try_all(Path::new(&prefix), launcher.as_deref(), &words) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("conformance: {error}");
            ExitCode::from(2)
        }
    }
}

/// Runs what the words choose; gives the number of failures.
fn try_all(
    prefix: &Path,
    launcher: Option<&str>,
    words: &[String],
) -> Result<usize, Box<dyn Error + Send + Sync>> {
    // MPICH is told by the header that only it has.
    let mpich = prefix.join("include/mpi_abi.h").exists();
    let (kind, name) = if mpich {
        (Kind::Mpich, "mpich")
    } else {
        (Kind::OxMpi, "library")
    };
    let mut library = Library::at(kind, name, prefix)?;
    if let Some(launcher) = launcher {
        library = library.started_by(launcher);
    }
    let folder = std::env::temp_dir().join(format!("oxmpi-conformance-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let result = try_chosen(&folder, &library, words);
    let _ = std::fs::remove_dir_all(&folder);
    result
}

fn try_chosen(
    folder: &Path,
    library: &Library,
    words: &[String],
) -> Result<usize, Box<dyn Error + Send + Sync>> {
    let workshop = Workshop::new(folder, library)?;
    let (mut runs, mut failures) = (0, 0);
    for name in chapters()? {
        for program in chapter(&name)? {
            let title = program.title();
            if words.is_empty() || words.iter().any(|word| title.contains(word.as_str())) {
                let (more, bad) = try_one(&workshop, library, &program);
                runs += more;
                failures += bad;
            }
        }
    }
    println!("{runs} runs, {failures} failed");
    Ok(failures)
}

/// Gives the number of runs and of failures.
fn try_one(workshop: &Workshop, library: &Library, program: &Program) -> (usize, usize) {
    let title = program.title();
    let binary = match workshop.compile(program) {
        Ok(binary) => binary,
        Err(words) => {
            println!("{title}: does not compile\n{words}");
            return (1, 1);
        }
    };
    let mut failures = 0;
    for &ranks in &program.ranks {
        match run(program, &binary, library, ranks) {
            Outcome::Passed => println!("{title}, {ranks} ranks: passed"),
            Outcome::Skipped(reason) => println!("{title}, {ranks} ranks: skipped: {reason}"),
            Outcome::Failed { reason, output } => {
                failures += 1;
                println!("{title}, {ranks} ranks: {reason}\n{output}");
            }
        }
    }
    (program.ranks.len(), failures)
}
