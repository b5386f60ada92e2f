//! The server under real clients: MPICH's own library and Slurm's libpmi2, started by the example
//! `serve`; and what is declared of PMIx against an installed header.
//!
//! They need libraries that not every machine has, so they are ignored by default: `cargo test -p
//! oxmpi-pmi -- --ignored`.

mod found;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use found::{check_whoami, example, run};

/// Names the prefix of an MPICH 5, with bin/mpicc_abi; without it, one in PATH serves.
const MPICH_VARIABLE: &str = "OXMPI_TEST_MPICH";

/// A compiled C program of tests/programs, removed when dropped.
struct Program(PathBuf);

impl Program {
    fn compile(compiler: impl AsRef<Path>, source: &str, arguments: &[&str]) -> Program {
        let name = format!(
            "oxmpi-pmi-{source}-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        );
        let path = std::env::temp_dir().join(name.replace(['(', ')'], ""));
        let source = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/programs")
            .join(format!("{source}.c"));
        let output = Command::new(compiler.as_ref())
            .arg(source)
            .arg("-o")
            .arg(&path)
            .args(arguments)
            .output()
            .unwrap_or_else(|error| panic!("{}: {error}", compiler.as_ref().display()));
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        Program(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("a path of text")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Nothing depends on it; the system's folder for temporary files is cleaned by others, too.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn lines(output: &Output) -> Vec<String> {
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}{errors}", output.status);
    let mut lines: Vec<String> = said.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn our_own_client() {
    let whoami = example("whoami");
    let whoami = whoami.to_str().expect("a path of text");
    for (protocol, said) in [("pmi1", "PMI-1"), ("pmi2", "PMI-2")] {
        for (hosts, ranks) in [
            ("3", &[0, 0, 0][..]),
            ("0,0,1,1", &[0, 0, 1, 1]),
            ("0,1,0,1,0", &[0, 1, 0, 1, 0]),
        ] {
            let output = run(
                example("serve"),
                &[hosts, whoami],
                &[("OXMPI_PMI", protocol)],
            );
            check_whoami(&output, said, ranks);
        }
        let output = run(
            example("serve"),
            &["3", whoami, "--abort", "7"],
            &[("OXMPI_PMI", protocol)],
        );
        assert_eq!(output.status.code(), Some(7), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            said.contains("rank 2 ends the job with 7: whoami was told to"),
            "{said}"
        );
    }
}

#[test]
#[ignore = "needs MPICH 5 for the standard ABI (Python package mpich; OXMPI_TEST_MPICH names its prefix): cargo test -p oxmpi-pmi --test served -- --ignored"]
fn a_program_on_mpich() {
    let prefix = std::env::var(MPICH_VARIABLE).ok();
    let compiler = prefix.as_ref().map_or("mpicc_abi".into(), |prefix| {
        format!("{prefix}/bin/mpicc_abi")
    });
    let program = Program::compile(compiler, "hello", &[]);
    let libraries = prefix.map_or_else(String::new, |prefix| format!("{prefix}/lib"));
    let environment = [("LD_LIBRARY_PATH", libraries.as_str())];
    for (hosts, local) in [("4", 4), ("0,0,1,1", 2), ("0,1,0,1", 2)] {
        let output = run(example("serve"), &[hosts, program.path()], &environment);
        let expected: Vec<String> = (0..4)
            .map(|rank| format!("rank {rank} of 4, {local} on this host, sum 10"))
            .collect();
        assert_eq!(lines(&output), expected);
    }
}

#[test]
#[ignore = "needs libpmi2.so.0 (Debian: libpmi2-0) and cc: cargo test -p oxmpi-pmi --test served -- --ignored"]
fn a_program_on_slurms_libpmi2() {
    let program = Program::compile("cc", "pmi2", &["-l:libpmi2.so.0"]);
    let output = run(example("serve"), &["4", program.path()], &[]);
    let expected: Vec<String> = (0..4)
        .map(|rank| format!("rank {rank} of 4, (vector,(0,1,4))"))
        .collect();
    assert_eq!(lines(&output), expected);
}

#[test]
#[ignore = "needs pmix.h (Debian: libpmix-dev) and cc: cargo test -p oxmpi-pmi --test served -- --ignored"]
fn declarations_of_pmix_agree_with_its_header() {
    let flags = Command::new("pkg-config")
        .args(["--cflags", "pmix"])
        .output();
    let flags = flags
        .ok()
        .filter(|output| output.status.success())
        .map(|output| output.stdout);
    let flags = String::from_utf8(flags.unwrap_or_default()).expect("flags are text");
    let flags: Vec<&str> = flags.split_whitespace().collect();
    let program = Program::compile("cc", "layout", &flags);
    let output = run(program.path(), &[], &[]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}
