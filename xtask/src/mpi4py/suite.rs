//! One run of mpi4py's tests on a number of ranks.
//!
//! The tests run verbosely, so the log says at any moment which test each rank is in. A run in
//! which nothing is printed for a while hangs, and is ended; so is one that takes too long. The
//! whole output goes to a log file, and `report` keeps what matters.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::report::{End, Report};
use super::{MINUTES_MAX, folder, python, sources};
use crate::steps::{Next, Patience, Running, root};

/// The longest test of mpi4py takes some seconds; nothing at all for this long means that ranks
/// wait for each other.
const QUIET_MAX: Duration = Duration::from_secs(60);

/// Why no tests were run.
#[derive(Debug)]
pub enum SuiteError {
    /// mpi4py was not built.
    NotBuilt { missing: PathBuf },
    /// The list of what is left out has an entry without a reason.
    NoReason { line: usize, entry: String },
    /// The file system or the launcher.
    System { what: String, error: std::io::Error },
}

impl std::fmt::Display for SuiteError {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SuiteError::NotBuilt { missing } => write!(
                to,
                "{} is not there; cargo xtask test --only mpi4py builds mpi4py first",
                missing.display()
            ),
            SuiteError::NoReason { line, entry } => write!(
                to,
                "xtask/mpi4py.skip, line {line}: {entry} has no reason; write the test, a space and why it is left out"
            ),
            SuiteError::System { what, error } => write!(to, "{what}: {error}"),
        }
    }
}

/// Runs the tests, or those whose name contains one of `words`, also if the list leaves them out.
pub fn run(prefix: &Path, ranks: u32, words: &[String]) -> Result<Report, SuiteError> {
    let failed = |what: &str| {
        let what = what.to_owned();
        move |error| SuiteError::System { what, error }
    };
    for needed in [python(), sources(), prefix.join("bin/mpiexec")] {
        if !needed.exists() {
            return Err(SuiteError::NotBuilt { missing: needed });
        }
    }
    let list = std::fs::read_to_string(root().join("xtask/mpi4py.skip"))
        .map_err(failed("cannot read xtask/mpi4py.skip"))?;
    let patterns = patterns(&list)?;
    let pattern_file = folder().join("left-out");
    std::fs::write(&pattern_file, patterns.join("\n"))
        .map_err(failed("cannot write the list of what is left out"))?;
    let log_path = folder().join(format!("{ranks}-ranks.log"));
    let mut log = std::fs::File::create(&log_path).map_err(failed("cannot write the log"))?;

    let mut command = Command::new(prefix.join("bin/mpiexec"));
    command
        .args(["-l", "-n", &ranks.to_string(), "-wdir"])
        .arg(sources())
        .arg(python())
        .args(["-u", "test/main.py", "-v"])
        .env("LD_LIBRARY_PATH", prefix.join("lib"));
    if words.is_empty() {
        command.arg("--xfile").arg(&pattern_file);
        // Whole modules are not even loaded: some open a file or a window at once.
        for module in patterns.iter().filter_map(|pattern| whole_module(pattern)) {
            command.args(["-e", &format!("^{module}\\.py$")]);
        }
    }
    for word in words {
        command.args(["-k", word]);
    }
    let began = Instant::now();
    let mut running = Running::start(&mut command).map_err(failed("cannot start mpiexec"))?;
    let mut report = Report::new(ranks, patterns.len());
    let mut patience = Patience::minutes(MINUTES_MAX);
    let end = loop {
        match running.next(&mut Patience::new(QUIET_MAX)) {
            Next::Line(line) => {
                // A log that cannot be written is missed by nobody but the reader of a failure.
                let _ = writeln!(log, "{line}");
                report.read(&line);
            }
            Next::Late => {
                running.kill();
                break End::Hung(QUIET_MAX);
            }
            Next::End => {
                let status = running.wait().map_err(failed("cannot wait for mpiexec"))?;
                break End::Exited(status.code());
            }
        }
        if patience.is_over() {
            running.kill();
            break End::Late(Duration::from_secs(60 * MINUTES_MAX));
        }
    };
    report.close(end, began.elapsed(), log_path);
    Ok(report)
}

/// The module of a pattern that stands for all of it.
fn whole_module(pattern: &str) -> Option<&str> {
    pattern
        .strip_suffix(".*")
        .filter(|module| !module.contains(['.', '*']))
}

/// The patterns of the list, which has one per line, followed by the reason.
fn patterns(list: &str) -> Result<Vec<String>, SuiteError> {
    let mut patterns = Vec::new();
    for (index, line) in list.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match line.split_once(char::is_whitespace) {
            Some((pattern, _reason)) => patterns.push(pattern.to_owned()),
            None => {
                return Err(SuiteError::NoReason {
                    line: index + 1,
                    entry: line.to_owned(),
                });
            }
        }
    }
    Ok(patterns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_of_the_list_has_a_reason() {
        let list = "# what\n\ntest_rma.*  one-sided\n test_io.* files\n";
        assert_eq!(patterns(list).unwrap(), ["test_rma.*", "test_io.*"]);
        let error = patterns("test_rma.*\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "xtask/mpi4py.skip, line 1: test_rma.* has no reason; write the test, a space and why it is left out"
        );
        let list = std::fs::read_to_string(root().join("xtask/mpi4py.skip")).unwrap();
        patterns(&list).unwrap();
    }
}
