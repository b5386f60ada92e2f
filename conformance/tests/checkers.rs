//! Programs under the tools that look for mistakes of memory and threads: compiled with
//! AddressSanitizer (and its search for leaks) or ThreadSanitizer, or run by valgrind.
//!
//! A program that is right must get no report because of the library. The library itself is not
//! instrumented, so these tests are about what its users see: memory without a pointer to it at the
//! end, accesses outside of blocks, bytes without a value given to system calls. A few programs in
//! every run, all that end well in long ones (OXMPI_TEST_LONG).

use std::path::Path;
use std::process::Command;

use oxmpi_conformance::library::{Library, PREFIX_VARIABLE, is_spread};
use oxmpi_conformance::program::{self, Expect, Program};
use oxmpi_conformance::trial::{self, Outcome, Workshop};

/// What is tried in every run, one program for each part of the library that keeps memory.
const FEW: [&str; 8] = [
    "collectives/allreduce",
    "communicators/dup_and_compare",
    "datatypes/",
    "errors/mixed_types_silent",
    "groups/",
    "point_to_point/persistent",
    "requests/get_status",
    "windows/fence",
];

/// Of each word of `FEW` that names several programs, so many.
const OF_SEVERAL: usize = 2;

/// These check by themselves what a tool changes: the time that things take, memory that is handed
/// out, or limits of the process.
fn is_about_the_tool(title: &str) -> bool {
    ["large_message", "large_count", "many", "passive"]
        .iter()
        .any(|word| title.contains(word))
}

fn programs() -> Vec<Program> {
    let all: Vec<Program> = program::chapters()
        .unwrap()
        .iter()
        .flat_map(|chapter| program::chapter(chapter).unwrap())
        .filter(|program| !matches!(program.expect, Expect::Fatal(_)))
        .filter(|program| !is_about_the_tool(&program.title()))
        .collect();
    if std::env::var_os("OXMPI_TEST_LONG").is_some() {
        return all;
    }
    let few = FEW.iter().flat_map(|word| {
        let named = all
            .iter()
            .filter(move |program| program.title().contains(word));
        named.take(OF_SEVERAL).cloned()
    });
    few.collect()
}

/// Runs the programs as compiled with `options`, by `launcher` words before their names.
fn check(name: &str, options: &[&str], under: &str) {
    if is_spread() {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("conformance");
    std::fs::create_dir_all(&folder).unwrap();
    let library = match Library::oxmpi(&folder) {
        Ok(library) => library,
        Err(error) if std::env::var_os(PREFIX_VARIABLE).is_some() => panic!("{error}"),
        Err(error) => return eprintln!("conformance: SKIPPED: {name}: {error}"),
    };
    let mpiexec = library.prefix.join("bin/mpiexec");
    let library = library.started_by(&format!("{} -n {{ranks}} {under}", mpiexec.display()));
    let workshop = Workshop::new(&folder.join(name), &library).unwrap();
    let mut failures = String::new();
    let mut options = options.to_vec();
    options.push("-g");
    for program in programs() {
        let binary = workshop.compile_with(&program, &options).unwrap();
        let ranks = *program.ranks.iter().min().unwrap();
        if let Outcome::Failed { reason, output } = trial::run(&program, &binary, &library, ranks) {
            let title = program.title();
            failures += &format!("{title} on {ranks} ranks: {reason}\n{output}\n");
        }
    }
    assert!(failures.is_empty(), "{name}:\n{failures}");
}

fn is_there(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output();
    found.is_ok_and(|output| output.status.success())
}

/// Whether the compiler has the run-time library of a sanitizer.
fn is_sanitizer_there(option: &str) -> bool {
    let folder = std::env::temp_dir().join(format!("oxmpi-checkers-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let source = folder.join("empty.c");
    std::fs::write(&source, "int main(void) { return 0; }\n").unwrap();
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let made = Command::new(compiler)
        .arg(option)
        .arg(&source)
        .arg("-o")
        .arg(folder.join("empty"))
        .output();
    let _ = std::fs::remove_dir_all(&folder);
    made.is_ok_and(|output| output.status.success())
}

fn sanitizer(name: &str, option: &str, under: &str) {
    match is_sanitizer_there(option) {
        true => check(name, &[option], under),
        false => eprintln!("conformance: SKIPPED: {name}: the compiler does not take {option}"),
    }
}

#[test]
fn address_sanitizer_and_its_search_for_leaks_report_nothing() {
    sanitizer("address", "-fsanitize=address", "");
}

/// ThreadSanitizer sees what the driver thread writes into a receive's buffer, but not the atomics
/// by which the library, which is not instrumented, orders that before the end of the receive.
#[test]
fn thread_sanitizer_reports_nothing() {
    sanitizer("thread", "-fsanitize=thread", "env OXMPI_DRIVER=off");
}

#[test]
fn valgrind_reports_nothing() {
    if !is_there("valgrind") {
        return eprintln!("conformance: SKIPPED: valgrind is not installed");
    }
    // "Possibly lost" is left out: hash tables keep a pointer into the middle of their block, which
    // is all that valgrind means by it.
    let words = "valgrind -q --leak-check=full --show-leak-kinds=definite \
                 --errors-for-leak-kinds=definite --error-exitcode=99";
    check("valgrind", &[], words);
}
