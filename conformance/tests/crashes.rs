//! Programs that crash: the launcher says where, and nothing else changes.
//!
//! Each program is compiled as people do and crashes in one rank. The launcher's exit status, the
//! line about the death and the backtrace below it are looked at.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use oxmpi_conformance::library::{Library, PREFIX_VARIABLE, is_spread};

const CRASHING: &str = r#"
#include <assert.h>
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile int zero;
static const char *program;
typedef void function(void);

__attribute__((noinline)) static void store(volatile int *place) {
    *place = 1;
    zero++;
}

__attribute__((noinline)) static int deeper(int depth) {
    volatile char room[4096];
    memset((void *)room, depth, sizeof room);
    return deeper(depth + 1) + room[depth % 4096];
}

static void *thread(void *argument) {
    store(argument);
    return argument;
}

__attribute__((noinline)) static void crash(const char *how) {
    if (!strcmp(how, "null")) store(NULL);
    if (!strcmp(how, "address")) store((volatile int *)0x1000);
    if (!strcmp(how, "assert")) assert(zero == 1);
    if (!strcmp(how, "divide")) zero = 7 / zero;
    if (!strcmp(how, "call")) ((function *volatile)NULL)();
    if (!strcmp(how, "deep")) zero = deeper(0);
    if (!strcmp(how, "raise")) raise(SIGSEGV);
    if (!strcmp(how, "thread")) {
        pthread_t other;
        pthread_create(&other, NULL, thread, NULL);
        pthread_join(other, NULL);
    }
    if (!strcmp(how, "pair")) {
        pthread_t others[2];
        for (int i = 0; i < 2; i++) pthread_create(others + i, NULL, thread, NULL);
        for (int i = 0; i < 2; i++) pthread_join(others[i], NULL);
    }
    if (!strcmp(how, "impossible")) store((volatile int *)(1ULL << 63));
    if (!strcmp(how, "deleted")) store((volatile int *)(long)unlink(program));
    if (!strcmp(how, "generated")) {
        int all = PROT_READ | PROT_WRITE | PROT_EXEC;
        char *code = mmap(NULL, 4096, all, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#ifdef __x86_64__
        memcpy(code, "\x0f\x0b", 2); /* elsewhere, 0 is no instruction either */
#endif
        ((function *)code)();
    }
    if (!strcmp(how, "handled")) {
        signal(SIGSEGV, SIG_DFL);
        store(NULL);
    }
    zero++;
}

int main(int count, char **words) {
    int rank, number = 0;
    MPI_Init(&count, &words);
    program = words[0];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1) crash(words[1]);
    MPI_Bcast(&number, 1, MPI_INT, 1, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
"#;

/// The library's commands, and a folder for what is made.
struct Place {
    prefix: PathBuf,
    folder: PathBuf,
}

fn place() -> Option<Place> {
    if is_spread() {
        return None;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("crashes");
    std::fs::create_dir_all(&folder).unwrap();
    match Library::oxmpi(&folder) {
        Ok(library) => Some(Place {
            prefix: library.prefix,
            folder,
        }),
        Err(error) if std::env::var_os(PREFIX_VARIABLE).is_some() => panic!("{error}"),
        Err(error) => {
            eprintln!("conformance: SKIPPED: crashes: {error}");
            None
        }
    }
}

impl Place {
    fn compile(&self, name: &str, options: &[&str]) -> PathBuf {
        let source = self.folder.join(format!("{name}.c"));
        std::fs::write(&source, CRASHING).unwrap();
        let binary = self.folder.join(name);
        let made = Command::new(self.prefix.join("bin/mpicc"))
            .args(options)
            .arg("-pthread")
            .arg(&source)
            .arg("-o")
            .arg(&binary)
            .status();
        assert!(made.unwrap().success());
        binary
    }

    fn run(&self, options: &[&str], binary: &Path, how: &str) -> Ran {
        let mpiexec = self.prefix.join("bin/mpiexec");
        let mut command = Command::new(mpiexec);
        command.args(["-n", "2"]).args(options).arg(binary).arg(how);
        let Output { status, stderr, .. } = command.output().unwrap();
        Ran {
            code: status.code(),
            said: String::from_utf8_lossy(&stderr).into_owned(),
        }
    }
}

struct Ran {
    code: Option<i32>,
    said: String,
}

impl Ran {
    /// Ended by `signal`, with these words in this order.
    fn check(&self, signal: i32, words: &[&str]) {
        let Ran { code, said } = self;
        assert_eq!(*code, Some(128 + signal), "{said}");
        let mut rest = said.as_str();
        for word in words {
            let place = rest.find(word);
            let place = place.unwrap_or_else(|| panic!("no '{word}' in order in:\n{said}"));
            rest = &rest[place..];
        }
    }
}

#[test]
fn a_crash_is_told_with_functions_files_and_lines() {
    let Some(place) = place() else { return };
    for (name, options) in [("plain", &["-g", "-O0"]), ("optimised", &["-g", "-O2"])] {
        let binary = place.compile(name, options);
        let ran = place.run(&[], &binary, "null");
        let lines = [
            "rank 1 (",
            "signal 11",
            "a NULL pointer",
            "#0 store at",
            ".c:16",
        ];
        ran.check(11, &lines);
        ran.check(11, &["#0 store", "crash at", "main at", ".c:71"]);
        let ran = place.run(&[], &binary, "address");
        ran.check(11, &["the address was 0x1000", "#0 store at"]);
        place
            .run(&[], &binary, "assert")
            .check(6, &["abort", "crash at", "main at"]);
        place
            .run(&[], &binary, "divide")
            .check(8, &["signal 8", "#0 crash at", "main at"]);
        place
            .run(&[], &binary, "call")
            .check(11, &["#0 0x0, where no code is", "crash at"]);
        place
            .run(&[], &binary, "raise")
            .check(11, &["raise", "crash at", "main at"]);
        place
            .run(&[], &binary, "thread")
            .check(11, &["#0 store at", "#1 thread at"]);
        place
            .run(&[], &binary, "pair")
            .check(11, &["a NULL pointer", "#0 store at", "#1 thread at"]);
        let ran = place.run(&[], &binary, "impossible");
        ran.check(11, &["#0 store at", "main at"]);
        assert!(!ran.said.contains("NULL"), "{}", ran.said);
    }
}

#[test]
fn code_of_no_readable_file_is_called_that() {
    let Some(place) = place() else { return };
    let binary = place.compile("generated", &["-g", "-O0"]);
    let ran = place.run(&[], &binary, "generated");
    ran.check(4, &["signal 4", "#0 0x", "of an unknown file"]);
    let binary = place.compile("deleted", &["-g", "-O0"]);
    let ran = place.run(&[], &binary, "deleted");
    ran.check(
        11,
        &["#0 0x", "in a file that cannot be read: /", "deleted"],
    );
    assert!(!ran.said.contains("no code"), "{}", ran.said);
    assert!(!ran.said.contains("-g"), "{}", ran.said);
}

#[test]
fn an_endless_recursion_is_told_too() {
    let Some(place) = place() else { return };
    let binary = place.compile("deep", &["-g", "-O0"]);
    let ran = place.run(&[], &binary, "deep");
    ran.check(11, &["signal 11", "deeper at", "deeper at", "… and more"]);
}

#[test]
fn without_debug_information_functions_are_named_and_the_remedy_too() {
    let Some(place) = place() else { return };
    let binary = place.compile("bare", &["-O1"]);
    let ran = place.run(&[], &binary, "null");
    ran.check(11, &["#0 store in bare", "main in bare", "compile with -g"]);
    let stripped = place.compile("stripped", &["-O1", "-s"]);
    place
        .run(&[], &stripped, "null")
        .check(11, &["#0 0x", " in stripped"]);
}

#[test]
fn debug_information_in_a_file_of_its_own_is_found() {
    let Some(place) = place() else { return };
    let binary = place.compile("separate", &["-g", "-O1"]);
    let debug = binary.with_extension("debug");
    let objcopy = |words: &[&str]| {
        let done = Command::new("objcopy").args(words).status();
        assert!(done.unwrap().success(), "objcopy {words:?}");
    };
    let (binary_name, debug_name) = (binary.to_str().unwrap(), debug.to_str().unwrap());
    objcopy(&["--only-keep-debug", binary_name, debug_name]);
    objcopy(&[
        "--strip-all",
        &format!("--add-gnu-debuglink={debug_name}"),
        binary_name,
    ]);
    place
        .run(&[], &binary, "null")
        .check(11, &["#0 store at", "main at"]);
}

#[test]
fn who_wants_no_backtrace_gets_none() {
    let Some(place) = place() else { return };
    let binary = place.compile("silent", &["-g"]);
    let silent = place.run(&["--no-backtrace"], &binary, "null");
    silent.check(11, &["signal 11"]);
    // The other rank may tell what it waited for.
    assert!(!silent.said.contains("#0"), "{}", silent.said);
    let own = place.run(&[], &binary, "handled");
    assert!(
        !own.said.contains("#0"),
        "the program's choice: {}",
        own.said
    );
    own.check(11, &["signal 11"]);
}

/// A program that a wrapper starts is still a rank's program.
#[test]
fn a_crash_below_a_shell_is_told() {
    let Some(place) = place() else { return };
    let binary = place.compile("below", &["-g"]);
    let script = format!("{} null; exit $?", binary.display());
    let mpiexec = place.prefix.join("bin/mpiexec");
    let output = Command::new(mpiexec)
        .args(["-n", "2", "sh", "-c", &script])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(139), "{said}");
    assert!(said.contains("exited with status 139"), "{said}");
    assert!(said.contains("#0 store at"), "{said}");
}
