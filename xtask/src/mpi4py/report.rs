//! What a run of mpi4py's tests came to, read from the output of Python's unittest on every rank.
//!
//! Each line begins with the rank in brackets, as `mpiexec -l` writes it. A test passed when it
//! passed on all ranks. The report ends with a line like libtest's, which `cargo xtask test` adds
//! up.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// How a run ended.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// The launcher ended with this status, if not by a signal.
    Exited(Option<i32>),
    /// Nothing was printed for this long.
    Hung(Duration),
    /// All of it took longer than this, and it was ended.
    Late(Duration),
}

/// What one rank said.
#[derive(Debug, Default)]
struct Rank {
    /// The test that began last.
    current: String,
    /// How many tests it ran, once it says so.
    ran: Option<u64>,
    skipped: u64,
    /// The test whose failure is being described.
    describing: Option<String>,
}

/// A test that failed.
#[derive(Debug, Default)]
struct Failed {
    ranks: BTreeSet<usize>,
    /// The last line of its first description.
    reason: String,
}

/// What a run came to.
#[derive(Debug)]
pub struct Report {
    left_out: usize,
    ranks: Vec<Rank>,
    failed: BTreeMap<String, Failed>,
    /// What the launcher said.
    launcher: Vec<String>,
    end: End,
    took: Duration,
    log: PathBuf,
}

impl Report {
    /// Of a run on this many ranks with this many entries in the list of what is left out.
    pub fn new(ranks: u32, left_out: usize) -> Report {
        Report {
            left_out,
            ranks: (0..ranks).map(|_| Rank::default()).collect(),
            failed: BTreeMap::new(),
            launcher: Vec::new(),
            end: End::Exited(None),
            took: Duration::ZERO,
            log: PathBuf::new(),
        }
    }

    /// Takes one line of output.
    pub fn read(&mut self, line: &str) {
        if line.starts_with("oxmpi: ") {
            self.launcher.push(line.to_owned());
        }
        let Some((number, text)) = labelled(line) else {
            return;
        };
        let Some(rank) = self.ranks.get_mut(number) else {
            return;
        };
        if let Some(test) = text
            .strip_prefix("FAIL: ")
            .or_else(|| text.strip_prefix("ERROR: "))
        {
            let name = test_name(test).unwrap_or_else(|| test.to_owned());
            let failed = self.failed.entry(name.clone()).or_default();
            failed.ranks.insert(number);
            rank.describing = Some(name);
        } else if text.starts_with("=====") {
            rank.describing = None;
        } else if let Some(rest) = text.strip_prefix("Ran ") {
            rank.describing = None;
            rank.ran = rest.split(' ').next().and_then(|count| count.parse().ok());
        } else if let Some(count) = text.split("skipped=").nth(1)
            && (text.starts_with("OK") || text.starts_with("FAILED"))
        {
            let digits = count.split(|letter: char| !letter.is_ascii_digit()).next();
            rank.skipped = digits.and_then(|digits| digits.parse().ok()).unwrap_or(0);
        } else if let Some(name) = &rank.describing {
            if let Some(failed) = self.failed.get_mut(name)
                && !text.trim().is_empty()
                && !text.starts_with("-----")
                && failed.ranks.first() == Some(&number)
            {
                text.trim().clone_into(&mut failed.reason);
            }
        } else if let Some(name) = test_name(text) {
            rank.current = name;
        }
    }

    /// The run is over.
    pub fn close(&mut self, end: End, took: Duration, log: PathBuf) {
        (self.end, self.took, self.log) = (end, took, log);
    }

    /// Whether every rank ran all its tests and none failed.
    pub fn is_good(&self) -> bool {
        self.failed.is_empty() && self.is_complete() && self.end == End::Exited(Some(0))
    }

    fn is_complete(&self) -> bool {
        self.ranks.iter().all(|rank| rank.ran.is_some())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, failed) in &self.failed {
            let ranks: Vec<String> = failed.ranks.iter().map(usize::to_string).collect();
            writeln!(
                to,
                "FAILED {name} on rank {}: {}",
                ranks.join(", "),
                failed.reason
            )?;
        }
        let mut failures = self.failed.len() as u64;
        if !self.is_good() {
            for line in &self.launcher {
                writeln!(to, "{line}")?;
            }
        }
        if !self.is_complete() || (failures == 0 && !self.is_good()) {
            failures += 1;
            match self.end {
                End::Late(time) => writeln!(to, "ENDED after {} s", time.as_secs())?,
                End::Hung(quiet) => writeln!(to, "HUNG: nothing for {} s", quiet.as_secs())?,
                End::Exited(Some(code)) => writeln!(to, "ENDED EARLY with status {code}")?,
                End::Exited(None) => writeln!(to, "ENDED EARLY by a signal")?,
            }
            for (number, rank) in self.ranks.iter().enumerate() {
                match (rank.ran, rank.current.as_str()) {
                    (Some(_), _) => writeln!(to, "  rank {number} was through")?,
                    (None, "") => writeln!(to, "  rank {number} had not begun a test")?,
                    (None, test) => writeln!(to, "  rank {number} was in {test}")?,
                }
            }
        }
        if failures > 0 {
            writeln!(to, "the whole output is in {}", self.log.display())?;
        }
        let ran = self
            .ranks
            .iter()
            .filter_map(|rank| rank.ran)
            .max()
            .unwrap_or(0);
        // A test that only some ranks skip ran on the others.
        let skipped = self
            .ranks
            .iter()
            .map(|rank| rank.skipped)
            .min()
            .unwrap_or(0);
        let passed = ran
            .saturating_sub(skipped)
            .saturating_sub(self.failed.len() as u64);
        writeln!(
            to,
            "mpi4py on {} rank{} in {:.0} s: {passed} passed, {failures} failed, {skipped} skipped by mpi4py itself; xtask/mpi4py.skip has {} entries",
            self.ranks.len(),
            if self.ranks.len() == 1 { "" } else { "s" },
            self.took.as_secs_f64(),
            self.left_out
        )?;
        let verdict = if failures == 0 { "ok" } else { "FAILED" };
        writeln!(
            to,
            "test result: {verdict}. {passed} passed; {failures} failed; {skipped} ignored; 0 measured"
        )
    }
}

/// `[2] text` is what rank 2 said.
fn labelled(line: &str) -> Option<(usize, &str)> {
    let (number, text) = line.strip_prefix('[')?.split_once(']')?;
    let text = text.strip_prefix(' ').unwrap_or(text);
    Some((number.trim().parse().ok()?, text))
}

/// "testSend (test_p2p_buf.TestP2PBufWorld.testSend) ... ok" names the test in brackets; Pythons
/// before 3.11 leave the method out there.
fn test_name(text: &str) -> Option<String> {
    let (method, rest) = text.split_once(" (")?;
    let (class, _) = rest.split_once(')')?;
    if method.contains(' ') || !class.starts_with("test_") {
        return None;
    }
    if method.starts_with("test") && !class.ends_with(&format!(".{method}")) {
        return Some(format!("{class}.{method}"));
    }
    Some(if method.starts_with("test") {
        class.to_owned()
    } else {
        format!("{class} ({method})")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(lines: &str, end: End) -> String {
        let mut report = Report::new(2, 3);
        lines.lines().for_each(|line| report.read(line));
        report.close(end, Duration::from_secs(7), "LOG".into());
        report.to_string()
    }

    #[test]
    fn counts_are_of_tests_not_of_ranks() {
        let lines = "\
[0] testA (test_x.TestX.testA) ... ok
[1] testA (test_x.TestX.testA) ... ok
[0] Ran 10 tests in 1.0s
[0] OK (skipped=3)
[1] Ran 10 tests in 1.0s
[1] OK (skipped=2)";
        assert_eq!(
            report(lines, End::Exited(Some(0))),
            "mpi4py on 2 ranks in 7 s: 8 passed, 0 failed, 2 skipped by mpi4py itself; xtask/mpi4py.skip has 3 entries\n\
             test result: ok. 8 passed; 0 failed; 2 ignored; 0 measured\n"
        );
    }

    #[test]
    fn failures_have_ranks_and_a_reason() {
        let lines = "\
[0] testA (test_x.TestX.testA) ... FAIL
[0] ======================
[0] FAIL: testA (test_x.TestX.testA)
[0] ----------------------
[0] Traceback (most recent call last):
[0] AssertionError: 1 != 2
[0] 
[1] ERROR: testA (test_x.TestX.testA)
[1] mpi4py.MPI.Exception: no
[0] Ran 10 tests in 1.0s
[0] FAILED (failures=1, skipped=3)
[1] Ran 10 tests in 1.0s
[1] FAILED (errors=1, skipped=3)";
        let text = report(lines, End::Exited(Some(1)));
        assert!(text.starts_with("FAILED test_x.TestX.testA on rank 0, 1: AssertionError: 1 != 2\nthe whole output is in LOG\n"), "{text}");
        assert!(
            text.ends_with("test result: FAILED. 6 passed; 1 failed; 3 ignored; 0 measured\n"),
            "{text}"
        );
    }

    #[test]
    fn a_hang_names_the_tests_that_ranks_were_in() {
        let lines = "\
[0] testA (test_x.TestX.testA) ... ok
[0] testB (test_x.TestX) ...
[1] testA (test_x.TestX.testA) ...";
        let text = report(lines, End::Hung(Duration::from_secs(60)));
        assert!(text.starts_with("HUNG: nothing for 60 s\n  rank 0 was in test_x.TestX.testB\n  rank 1 was in test_x.TestX.testA\n"), "{text}");
        assert!(
            text.ends_with("test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured\n"),
            "{text}"
        );
    }
}
