//! `cargo xtask fuzz`: parsers on input that is mutated under the guidance of coverage.
//!
//! `fuzz` is a workspace by itself: libFuzzer's loop, and a program per parser around the same
//! property that the tests of the parser's crate check. The compiler's own pass counts edges and
//! comparisons (`-Cpasses=sancov-module`), so a stable toolchain is enough. What a run finds new
//! goes to `target/fuzz/corpus`; the corpora of the repository are only read. A crash is kept in
//! `target/fuzz/crashes`, and printed with the command that repeats it.

use std::path::PathBuf;
use std::process::Command;
use std::time::SystemTime;

use crate::steps::{Expect, Steps, cargo, root, target};

/// Seconds for each target in `cargo xtask test`.
pub const SECONDS_SHORT: u64 = 5;

/// What has the compiler count edges and comparisons for libFuzzer. One unit of code generation,
/// because the tables of several would be merged wrongly.
const FLAGS: [&str; 8] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
    "--cfg",
    "fuzzing",
];

/// Named, so that the flags are for the target and not for build scripts.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// One property takes microseconds; one that takes this long hangs.
const HANG_SECONDS: u64 = 60;

/// As the short step of `cargo xtask test`.
pub fn short(steps: &mut Steps) {
    run(steps, &[], SECONDS_SHORT, 1);
}

/// Each target, or those that are named, for some seconds in some processes.
pub fn run(steps: &mut Steps, names: &[String], seconds: u64, jobs: u32) {
    let targets = targets();
    for name in names.iter().filter(|name| !targets.contains(name)) {
        let known = targets.join(", ");
        steps.judge(
            &title(name),
            Err(format!("there is no target {name}; there are {known}")),
        );
    }
    let wanted = |target: &&String| {
        (names.is_empty() || names.contains(target)) && steps.selects(&title(target))
    };
    let wanted: Vec<&String> = targets.iter().filter(wanted).collect();
    if wanted.is_empty() {
        return;
    }
    if !steps.run_always("fuzz: build", 20, Expect::Success, &mut build()) {
        return;
    }
    for name in wanted {
        let began = SystemTime::now();
        let mut fuzz = command(name, seconds, jobs);
        steps.run(&title(name), 5 + seconds / 30, Expect::Success, &mut fuzz);
        for crash in crashes(name, began) {
            println!("kept: {}", crash.display());
            println!(
                "to repeat it: {} {}",
                program(name).display(),
                crash.display()
            );
        }
    }
}

fn title(target: &str) -> String {
    format!("fuzz: {target}")
}

/// The names of the targets, which are those of the files in fuzz/targets.
fn targets() -> Vec<String> {
    let listed = std::fs::read_dir(root().join("fuzz/targets"));
    let paths = listed
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let mut names: Vec<String> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    names
}

fn build() -> Command {
    let mut build = cargo(&["build", "--locked", "--release", "--manifest-path"]);
    build
        .args(["fuzz/Cargo.toml", "--target", TARGET])
        .env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\x1f"))
        .env("CARGO_TARGET_DIR", folder());
    build
}

fn command(name: &str, seconds: u64, jobs: u32) -> Command {
    let found = folder().join("corpus").join(name);
    let crash_folder = crash_folder(name);
    for folder in [&found, &crash_folder] {
        // libFuzzer says so if it cannot write there.
        let _ = std::fs::create_dir_all(folder);
    }
    let mut fuzz = Command::new(program(name));
    fuzz.arg(format!("-max_total_time={seconds}"));
    fuzz.arg(format!("-timeout={HANG_SECONDS}"));
    // Without a line for each input that is worth keeping.
    fuzz.args(["-verbosity=0", "-print_final_stats=1"]);
    fuzz.arg(format!("-artifact_prefix={}/", crash_folder.display()));
    if jobs > 1 {
        fuzz.arg(format!("-fork={jobs}"));
    }
    // What is new goes to the first folder.
    fuzz.arg(found).arg(root().join("fuzz/corpus").join(name));
    fuzz
}

/// What made a target crash since a moment.
fn crashes(name: &str, since: SystemTime) -> Vec<PathBuf> {
    let listed = std::fs::read_dir(crash_folder(name)).into_iter().flatten();
    let is_new = |path: &PathBuf| {
        let written = path.metadata().and_then(|file| file.modified());
        written.is_ok_and(|written| written >= since)
    };
    listed
        .flatten()
        .map(|entry| entry.path())
        .filter(is_new)
        .collect()
}

fn program(name: &str) -> PathBuf {
    folder().join(TARGET).join("release").join(name)
}

fn crash_folder(name: &str) -> PathBuf {
    folder().join("crashes").join(name)
}

/// Everything that fuzzing makes.
fn folder() -> PathBuf {
    target().join("fuzz")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_has_a_corpus() {
        let targets = targets();
        assert!(!targets.is_empty());
        for name in targets {
            let corpus = root().join("fuzz/corpus").join(&name);
            let files = std::fs::read_dir(&corpus).map_or(0, |files| files.count());
            assert!(files > 0, "{} has no file", corpus.display());
        }
    }
}
