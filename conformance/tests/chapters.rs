//! Every C program on every library there is, a test per chapter.
//!
//! A failure lists each program that failed, with the library, the number of ranks and the output.
//! What could not be run, a library that is not to be had included, is said on standard error
//! whether or not the test passes.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, OnceLock};

use oxmpi_conformance::library::{Library, PREFIX_VARIABLE, is_spread};
use oxmpi_conformance::program::{self, Program};
use oxmpi_conformance::trial::{self, Outcome, TRIALS_MAX, Workshop};

/// No program is longer: one topic each.
const LINES_MAX: usize = 120;

/// The same for programs that draw what they do, by seed, and keep an oracle of all of it.
const LINES_MAX_RANDOM: usize = 500;

/// There are at least this many.
const PROGRAMS_MIN: usize = 75;

/// A test per chapter, and the list of them.
macro_rules! chapters {
    ($($name:ident)*) => {
        const CHAPTERS: &[&str] = &[$(stringify!($name)),*];
        $(#[test] fn $name() { chapter(stringify!($name)); })*
    };
}

chapters! {
    attributes bad_input collectives communicators datatypes environment errors files groups info neighbourhood ops pmpi
    point_to_point requests topologies windows
}

#[test]
fn every_program_belongs_to_a_tested_chapter_and_derives_its_result() {
    assert_eq!(program::chapters().unwrap(), CHAPTERS);
    let programs: Vec<Program> = CHAPTERS
        .iter()
        .flat_map(|name| program::chapter(name).unwrap())
        .collect();
    assert!(
        programs.len() >= PROGRAMS_MIN,
        "only {} programs",
        programs.len()
    );
    for program in &programs {
        let text = std::fs::read_to_string(&program.source).unwrap();
        let title = program.title();
        assert!(
            program.explanation.contains("MPI 5.0"),
            "{title} does not name the clause"
        );
        let lines_max = match program.name.starts_with("random_") {
            true => LINES_MAX_RANDOM,
            false => LINES_MAX,
        };
        assert!(
            text.lines().count() <= lines_max,
            "{title} is longer than {lines_max} lines"
        );
        assert_eq!(
            program.threads,
            text.contains("pthread_create"),
            "{title}: /* threads */"
        );
    }
}

/// Chapters whose programs run on MPICH in long runs only (OXMPI_TEST_LONG).
const SLOW_ON_MPICH: [&str; 2] = ["files", "windows"];

fn is_long() -> bool {
    std::env::var_os("OXMPI_TEST_LONG").is_some()
}

/// What all chapters share: the libraries, and where binaries are made.
struct Bench {
    libraries: Vec<Library>,
    workshop: Option<Workshop>,
}

fn bench() -> &'static Bench {
    static BENCH: OnceLock<Bench> = OnceLock::new();
    BENCH.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("conformance");
        let _ = std::fs::create_dir_all(&folder);
        let oxmpi = Library::oxmpi(&folder);
        // A prefix that somebody named is there to be tested: without it nothing is.
        if std::env::var_os(PREFIX_VARIABLE).is_some() {
            oxmpi
                .as_ref()
                .unwrap_or_else(|error| panic!("{PREFIX_VARIABLE}: {error}"));
        }
        let mut libraries = Vec::new();
        let mut add = |name, library| match library {
            Ok(library) => libraries.push(library),
            Err(error) => say(&format!("SKIPPED: no program runs on {name}: {error}")),
        };
        add("oxmpi", oxmpi);
        if is_spread() {
            say("SKIPPED: no program runs on mpich: its launcher knows nothing of OXMPI_HOST");
        } else {
            add("mpich", Library::mpich(&folder));
        }
        // `cargo xtask test` runs the programs on one host and on several at the same time.
        let workshop = folder.join(if is_spread() { "bin-hosts" } else { "bin" });
        let workshop = libraries
            .first()
            .map(|library| Workshop::new(&workshop, library).unwrap());
        Bench {
            libraries,
            workshop,
        }
    })
}

fn chapter(name: &str) {
    let Bench {
        libraries,
        workshop: Some(workshop),
    } = bench()
    else {
        return say(&format!("SKIPPED: {name}: there is no library"));
    };
    // The reference takes minutes for these, most of them asleep in targets that compute.
    let libraries = match SLOW_ON_MPICH.contains(&name) && !is_long() {
        true => &libraries[..1],
        false => libraries,
    };
    let programs = program::chapter(name).unwrap();
    let next = Mutex::new(programs.iter());
    let (failures, runs) = (Mutex::new(String::new()), Mutex::new(0));
    std::thread::scope(|scope| {
        for _ in 0..TRIALS_MAX {
            scope.spawn(|| {
                loop {
                    let Some(program) = next.lock().unwrap().next() else {
                        break;
                    };
                    let (report, count) = try_everywhere(program, workshop, libraries);
                    failures.lock().unwrap().push_str(&report);
                    *runs.lock().unwrap() += count;
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    let (count, runs) = (programs.len(), runs.into_inner().unwrap());
    say(&format!(
        "{name}: {count} programs, {runs} runs on {} libraries",
        libraries.len()
    ));
    assert!(failures.is_empty(), "these failed:\n{failures}");
}

/// Runs one program on all libraries; the report is empty if nothing failed.
fn try_everywhere(
    program: &Program,
    workshop: &Workshop,
    libraries: &[Library],
) -> (String, usize) {
    let (mut report, mut runs) = (String::new(), 0);
    let title = program.title();
    let binary = match workshop.compile(program) {
        Ok(binary) => binary,
        Err(words) => return (format!("\n== {title}: does not compile\n{words}"), 0),
    };
    for library in libraries {
        for &ranks in &program.ranks {
            match trial::run(program, &binary, library, ranks) {
                Outcome::Passed => runs += 1,
                Outcome::Skipped(reason) => {
                    say(&format!("skipped on {}: {title}: {reason}", library.name));
                    break;
                }
                Outcome::Failed { reason, output } => {
                    runs += 1;
                    let _ = write!(
                        report,
                        "\n== {title} on {} with {ranks} ranks: {reason}\n{output}",
                        library.name
                    );
                }
            }
        }
    }
    (report, runs)
}

/// Says something that is to be seen even if the test passes, which printed lines are not.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "conformance: {text}");
}
