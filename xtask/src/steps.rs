//! Steps: commands that are run one after the other, counted, and never waited for without end.
//!
//! Output passes through as it comes. Lines of the form "test result: …", as libtest prints them, are added up;
//! any other command counts as one test that passed or failed by its exit status. A line that says that something was left
//! out because the ranks are on several hosts counts as skipped, and a process that a job of ours left behind on a host as failed.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::signals;

/// How the runner of the C programs and the tests of the Rust API say that one was left out.
const LEFT_OUT: [&str; 2] = [": on several hosts: ", ": skipped, it is about one host"];

/// How `hosts` says that the command left a process behind.
const LEFT_BEHIND: &str = "xtask hosts: left behind";

/// What a step's output must look like.
pub enum Expect {
    /// libtest's lines, to be counted.
    Tests,
    /// A successful status is enough.
    Success,
    /// A successful status, and this text somewhere in the output.
    Text(&'static str),
}

/// The tally of a run.
pub struct Steps {
    only: Option<String>,
    passed: u64,
    failed: u64,
    ignored: u64,
    skipped: Vec<String>,
    failures: Vec<String>,
    began: Instant,
}

impl Steps {
    /// Nothing done yet; with `only`, steps whose name does not contain it are passed over.
    pub fn new(only: Option<String>) -> Steps {
        let (skipped, failures) = (Vec::new(), Vec::new());
        Steps {
            only,
            passed: 0,
            failed: 0,
            ignored: 0,
            skipped,
            failures,
            began: Instant::now(),
        }
    }

    /// Runs one command, at most `minutes` long, and counts what came of it.
    pub fn run(&mut self, name: &str, minutes: u64, expect: Expect, command: &mut Command) -> bool {
        if !self.selects(name) {
            return true;
        }
        self.run_always(name, minutes, expect, command)
    }

    /// Whether --only lets a step of this name run.
    pub fn selects(&self, name: &str) -> bool {
        let only = self.only.as_ref();
        only.is_none_or(|only| name.contains(only.as_str()))
    }

    /// Runs a command that other steps need, whatever --only says.
    pub fn run_always(
        &mut self,
        name: &str,
        minutes: u64,
        expect: Expect,
        command: &mut Command,
    ) -> bool {
        println!("\n=== {name}");
        let before = self.failed;
        let began = Instant::now();
        match Running::start(command) {
            Ok(running) => self.follow(name, running, minutes, &expect),
            Err(error) => self.fail(name, &format!("{command:?} could not be started: {error}")),
        }
        let good = self.failed == before;
        let verdict = if good { "ok" } else { "FAILED" };
        println!(
            "=== {name}: {verdict} in {:.1} s",
            began.elapsed().as_secs_f64()
        );
        good
    }

    /// Counts a step that cannot be run on this machine.
    pub fn skip(&mut self, name: &str, reason: &str) {
        println!("\n=== {name}: SKIPPED, {reason}");
        self.skipped.push(format!("{name}: {reason}"));
    }

    fn follow(&mut self, name: &str, mut running: Running, minutes: u64, expect: &Expect) {
        let end = Instant::now() + Duration::from_secs(60 * minutes);
        let mut found = matches!(expect, Expect::Success);
        let (mut counted, mut failed_here) = (0, 0);
        loop {
            match running
                .lines
                .recv_timeout(end.saturating_duration_since(Instant::now()))
            {
                Ok(line) => {
                    println!("{line}");
                    if let (Expect::Tests, Some([passed, failed, ignored])) = (expect, tally(&line))
                    {
                        self.passed += passed;
                        self.failed += failed;
                        self.ignored += ignored;
                        counted += passed + failed;
                        failed_here += failed;
                    }
                    // What the daemons of other launchers do when their job has ended is not ours to judge.
                    if line.starts_with(LEFT_BEHIND) && name.starts_with("hosts: ") {
                        self.fail(name, &line);
                    }
                    if LEFT_OUT.iter().any(|text| line.contains(text)) {
                        self.skipped.push(format!("{name}: {line}"));
                    }
                    found |= matches!(expect, Expect::Text(text) if line.contains(text));
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    running.kill();
                    return self.fail(
                        name,
                        &format!("took longer than {minutes} minutes and was ended"),
                    );
                }
            }
        }
        let status = match running.wait() {
            Ok(status) => status,
            Err(error) => return self.fail(name, &format!("cannot be waited for: {error}")),
        };
        match expect {
            _ if failed_here > 0 => self
                .failures
                .push(format!("{name}: {failed_here} tests failed")),
            _ if !status.success() => self.fail(name, &format!("ended with {status}")),
            Expect::Tests if counted == 0 => self.fail(name, "ran no test at all"),
            Expect::Text(text) if !found => self.fail(name, &format!("did not print {text:?}")),
            Expect::Tests => {}
            Expect::Success | Expect::Text(_) => self.passed += 1,
        }
    }

    fn fail(&mut self, name: &str, reason: &str) {
        self.failed += 1;
        self.failures.push(format!("{name}: {reason}"));
    }

    /// Prints the closing lines; true when nothing failed.
    pub fn close(&self) -> bool {
        println!();
        for line in &self.skipped {
            println!("skipped  {line}");
        }
        for line in &self.failures {
            println!("FAILED   {line}");
        }
        println!(
            "{} passed, {} failed, {} ignored, {} skipped in {:.0} s",
            self.passed,
            self.failed,
            self.ignored,
            self.skipped.len(),
            self.began.elapsed().as_secs_f64()
        );
        self.failed == 0
    }
}

/// A command in a process group of its own, its output as lines.
pub struct Running {
    child: Child,
    /// What it prints, on both streams; ends when the last process that could print has ended.
    pub lines: mpsc::Receiver<String>,
}

impl Running {
    /// Starts it, in the workspace.
    pub fn start(command: &mut Command) -> std::io::Result<Running> {
        command
            .current_dir(root())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.process_group(0).spawn()?;
        signals::running(child.id());
        let (sender, lines) = mpsc::channel();
        let out = child
            .stdout
            .take()
            .map(|out| Box::new(out) as Box<dyn std::io::Read + Send>);
        let error = child
            .stderr
            .take()
            .map(|error| Box::new(error) as Box<dyn std::io::Read + Send>);
        for stream in [out, error].into_iter().flatten() {
            let sender = sender.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(stream).split(b'\n').map_while(Result::ok) {
                    // The receiver is gone only when the step was ended; then nobody wants the rest.
                    if sender
                        .send(String::from_utf8_lossy(&line).into_owned())
                        .is_err()
                    {
                        break;
                    }
                }
            });
        }
        Ok(Running { child, lines })
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> std::io::Result<std::process::ExitStatus> {
        let status = self.child.wait();
        signals::running(0);
        status
    }

    /// Ends the whole group: a hanging test has children of its own.
    pub fn kill(&mut self) {
        signals::kill_group(self.child.id());
        // It was killed, so there is nothing left to learn from its status.
        let _ = self.child.wait();
    }
}

/// Passed, failed and ignored of a line like "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; …".
fn tally(line: &str) -> Option<[u64; 3]> {
    let counts = line.trim_start().strip_prefix("test result: ")?;
    let count = |what: &str| {
        let part = counts
            .split([';', '.'])
            .find(|part| part.trim_end().ends_with(what))?;
        part.trim().strip_suffix(what)?.trim().parse().ok()
    };
    Some([count("passed")?, count("failed")?, count("ignored")?])
}

/// The workspace.
pub fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map(PathBuf::from).unwrap_or(here)
}

/// The cargo that runs us, in the workspace.
pub fn cargo(words: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(words);
    command
}

/// Where cargo builds.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The path of this program. Building the tests of the workspace may put a new one in its place; the kernel then calls the one that runs deleted, and the new one
/// does as well.
pub fn own_program() -> std::io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    let text = path.to_string_lossy();
    Ok(match text.strip_suffix(" (deleted)") {
        Some(replaced) => PathBuf::from(replaced),
        None => path,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_libtest_are_counted() {
        let line = "test result: FAILED. 12 passed; 2 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.02s";
        assert_eq!(tally(line), Some([12, 2, 1]));
        assert_eq!(tally("test engine::result ... ok"), None);
    }

    #[test]
    fn a_step_is_judged_by_status_text_and_time() {
        let mut steps = Steps::new(None);
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        };
        assert!(steps.run("fine", 1, Expect::Text("pi is"), &mut shell("echo pi is 3")));
        assert!(!steps.run("silent", 1, Expect::Text("pi is"), &mut shell("true")));
        assert!(!steps.run("no tests", 1, Expect::Tests, &mut shell("true")));
        assert!(!steps.run("hangs", 0, Expect::Success, &mut shell("sleep 1000 & wait")));
        assert!(!steps.run("fails", 1, Expect::Success, &mut shell("exit 3")));
        assert!(!steps.run(
            "missing",
            1,
            Expect::Success,
            &mut Command::new("/no/such/tool")
        ));
        assert_eq!((steps.passed, steps.failed), (1, 5));
        assert!(!steps.close());
    }
}
