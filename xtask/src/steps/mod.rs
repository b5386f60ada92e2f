//! Steps: commands that are run, counted and timed, and never waited for without end.
//!
//! Lines of the form "test result: …", as libtest prints them, are added up; any other command
//! counts as one test that passed or failed by its exit status. A line that says that something was
//! left out, because the ranks are on several hosts or the kernel does not permit it, counts as
//! skipped, and a process that a job of ours left behind on a host as failed.
//!
//! Steps follow each other, and what they print passes through. [`Steps::side_by_side`] has several
//! lanes of them at once; there, what a step prints is held back until its end and shown in one
//! piece, and also written to `target/xtask-logs` as it comes. A step that needs the machine for
//! itself runs in [`Steps::alone`].

mod patience;
mod running;
mod times;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Instant;

pub use patience::Patience;
pub use running::{Next, Running};
use times::{Before, Times};

/// How the runner of the C programs, the tests of the Rust API and tests of what not every kernel
/// permits say that one was left out.
const LEFT_OUT: [&str; 3] = [
    ": on several hosts: ",
    ": skipped, it is about one host",
    ": skipped, this host does not permit it",
];

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

/// One lane of a run.
pub struct Steps {
    run: Arc<Run>,
    place: Place,
}

/// Where a lane stands to others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// There is no other.
    Only,
    /// Others run beside it.
    Beside,
    /// Others wait until it lets them.
    Alone,
}

/// What all lanes share.
struct Run {
    only: Option<String>,
    tally: Mutex<Tally>,
    /// Held shared by each step that may have others beside it, and alone by one that may not.
    quiet: RwLock<()>,
    began: Instant,
}

/// The tally of a run.
#[derive(Default)]
struct Tally {
    passed: u64,
    failed: u64,
    ignored: u64,
    skipped: Vec<String>,
    failures: Vec<String>,
    times: Times,
}

impl Steps {
    /// Nothing done yet; with `only`, steps whose name does not contain it are passed over.
    pub fn new(only: Option<String>) -> Steps {
        let run = Run {
            only,
            tally: Mutex::default(),
            quiet: RwLock::new(()),
            began: Instant::now(),
        };
        Steps {
            run: Arc::new(run),
            place: Place::Only,
        }
    }

    /// Runs one command and counts what came of it. After `minutes` of an idle machine's time it is
    /// taken for hanging and ended.
    pub fn run(&mut self, name: &str, minutes: u64, expect: Expect, command: &mut Command) -> bool {
        if !self.selects(name) {
            return true;
        }
        self.run_always(name, minutes, expect, command)
    }

    /// Whether --only lets a step of this name run.
    pub fn selects(&self, name: &str) -> bool {
        let only = self.run.only.as_ref();
        only.is_none_or(|only| name.contains(only.as_str()))
    }

    /// Whether --only was given: such a run also has steps that are too long for every run.
    pub fn is_choosy(&self) -> bool {
        self.run.only.is_some()
    }

    /// Runs a command that other steps need, whatever --only says.
    pub fn run_always(
        &mut self,
        name: &str,
        minutes: u64,
        expect: Expect,
        command: &mut Command,
    ) -> bool {
        let run = Arc::clone(&self.run);
        // Nothing is guarded by the lock but time, so a lane that panicked leaves nothing broken.
        let _beside = (self.place == Place::Beside)
            .then(|| run.quiet.read().unwrap_or_else(PoisonError::into_inner));
        let mut said = Said::new(name, self.place);
        let began = Instant::now();
        let failures = match Running::start(command) {
            Ok(running) => self.follow(name, running, minutes, &expect, &mut said),
            Err(error) => self.count(vec![format!("{command:?} could not be started: {error}")]),
        };
        let (good, time) = (failures.is_empty(), began.elapsed());
        let verdict = if good { "ok" } else { "FAILED" };
        said.close(&format!(
            "=== {name}: {verdict} in {:.1} s",
            time.as_secs_f64()
        ));
        let mut tally = self.tally();
        tally.times.add(name, time, good);
        let failures = failures
            .into_iter()
            .map(|failure| format!("{name}: {failure}"));
        tally.failures.extend(failures);
        good
    }

    /// Counts something that was looked at without a command.
    pub fn judge(&mut self, name: &str, verdict: Result<(), String>) -> bool {
        if !self.selects(name) {
            return true;
        }
        let mut said = Said::new(name, self.place);
        let good = verdict.is_ok();
        let mut tally = self.tally();
        match verdict {
            Ok(()) => tally.passed += 1,
            Err(reason) => {
                said.line(&reason);
                tally.failed += 1;
                tally.failures.push(format!("{name}: {reason}"));
            }
        }
        drop(tally);
        said.close(&format!(
            "=== {name}: {}",
            if good { "ok" } else { "FAILED" }
        ));
        good
    }

    /// Counts a step that cannot be run on this machine.
    pub fn skip(&mut self, name: &str, reason: &str) {
        println!("\n=== {name}: SKIPPED, {reason}");
        self.tally().skipped.push(format!("{name}: {reason}"));
    }

    /// Runs several lanes at once, and waits for all of them.
    pub fn side_by_side(&mut self, lanes: Vec<Lane>) {
        std::thread::scope(|scope| {
            for lane in lanes {
                let run = Arc::clone(&self.run);
                let mut steps = Steps {
                    run,
                    place: Place::Beside,
                };
                scope.spawn(move || lane(&mut steps));
            }
        });
    }

    /// Runs steps that need the machine for themselves: they measure.
    pub fn alone(&mut self, steps: impl FnOnce(&mut Steps)) {
        let run = Arc::clone(&self.run);
        let _alone = run.quiet.write().unwrap_or_else(PoisonError::into_inner);
        let run = Arc::clone(&self.run);
        steps(&mut Steps {
            run,
            place: Place::Alone,
        });
    }

    /// Follows a command to its end; what failed.
    fn follow(
        &self,
        name: &str,
        mut running: Running,
        minutes: u64,
        expect: &Expect,
        said: &mut Said,
    ) -> Vec<String> {
        let mut patience = Patience::minutes(minutes);
        let mut failures = Vec::new();
        let mut found = matches!(expect, Expect::Success);
        let (mut counted, mut failed_tests) = (0, 0);
        loop {
            let line = match running.next(&mut patience) {
                Next::Line(line) => line,
                Next::End => break,
                Next::Late => {
                    running.kill();
                    let text = "took longer than {} minutes and was ended";
                    failures.push(text.replace("{}", &minutes.to_string()));
                    return self.count(failures);
                }
            };
            said.line(&line);
            if let (Expect::Tests, Some([passed, failed, ignored])) = (expect, tally(&line)) {
                let mut tally = self.tally();
                tally.passed += passed;
                tally.failed += failed;
                tally.ignored += ignored;
                counted += passed + failed;
                failed_tests += failed;
            }
            // What the daemons of other launchers do when their job has ended is not ours to judge.
            if line.starts_with(LEFT_BEHIND) && name.starts_with("hosts: ") {
                failures.push(line);
            } else if LEFT_OUT.iter().any(|text| line.contains(text)) {
                self.tally().skipped.push(format!("{name}: {line}"));
            } else {
                found |= matches!(expect, Expect::Text(text) if line.contains(text));
            }
        }
        let ended = running.wait();
        let reason = match (ended, expect) {
            (Err(error), _) => format!("cannot be waited for: {error}"),
            (_, _) if failed_tests > 0 => {
                failures = self.count(failures);
                // libtest has counted them.
                failures.push(format!("{failed_tests} tests failed"));
                return failures;
            }
            (Ok(status), _) if !status.success() => format!("ended with {status}"),
            (_, Expect::Tests) if counted == 0 => "ran no test at all".to_owned(),
            (_, Expect::Text(text)) if !found => format!("did not print {text:?}"),
            (_, Expect::Tests) => return self.count(failures),
            (_, Expect::Success | Expect::Text(_)) => {
                self.tally().passed += 1;
                return self.count(failures);
            }
        };
        failures.push(reason);
        self.count(failures)
    }

    /// Counts failures that no test has counted.
    fn count(&self, failures: Vec<String>) -> Vec<String> {
        self.tally().failed += failures.len() as u64;
        failures
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        // Every change of it is a single one, so a lane that panicked leaves a sum that is right.
        self.run
            .tally
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints the closing lines, the last of which is all that CI reads; true when nothing failed.
    pub fn close(&self) -> bool {
        let tally = self.tally();
        let place = target().join("xtask-times.tsv");
        let before = Before::read(&place);
        println!("\n{}", tally.times.table(&before));
        if let Err(error) = tally.times.keep(&place, &before) {
            println!("the times are not kept: {}: {error}", place.display());
        }
        for line in &tally.skipped {
            println!("skipped  {line}");
        }
        for line in &tally.failures {
            println!("FAILED   {line}");
        }
        let seconds = self.run.began.elapsed().as_secs_f64();
        println!("{} tests ignored, {seconds:.0} s in all", tally.ignored);
        let (passed, failed, skipped) = (tally.passed, tally.failed, tally.skipped.len());
        println!("{passed} passed, {failed} failed, {skipped} skipped");
        failed == 0
    }
}

/// Steps that follow each other, beside those of other lanes.
pub type Lane<'a> = Box<dyn FnOnce(&mut Steps) + Send + 'a>;

/// What a step prints.
struct Said {
    /// Lines that are held back, and the file that has them already; None: they are shown at once.
    held: Option<(String, Option<std::fs::File>)>,
}

impl Said {
    fn new(name: &str, place: Place) -> Said {
        if place != Place::Beside {
            println!("\n=== {name}");
            return Said { held: None };
        }
        println!("... {name}");
        let folder = target().join("xtask-logs");
        let word = |letter: char| {
            if letter.is_alphanumeric() {
                letter
            } else {
                '-'
            }
        };
        let file: String = name.chars().map(word).collect();
        // A log that cannot be written is missed only if the run is interrupted.
        let _ = std::fs::create_dir_all(&folder);
        let file = std::fs::File::create(folder.join(file + ".log")).ok();
        Said {
            held: Some((format!("\n=== {name}\n"), file)),
        }
    }

    fn line(&mut self, line: &str) {
        let Some((text, file)) = &mut self.held else {
            println!("{line}");
            return;
        };
        text.push_str(line);
        text.push('\n');
        if let Some(file) = file {
            let _ = writeln!(file, "{line}");
        }
    }

    fn close(mut self, last: &str) {
        self.line(last);
        if let Some((text, _)) = self.held {
            print!("{text}");
        }
    }
}

/// Passed, failed and ignored of a line like "test result: ok. 3 passed; 0 failed; 1 ignored; 0
/// measured; …".
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
        assert!(!steps.judge("judged", Err("bad".to_owned())));
        assert!(steps.judge("judged", Ok(())));
        let said = "echo a_test: skipped, this host does not permit it: no bpf >&2";
        assert!(steps.run("left out", 1, Expect::Success, &mut shell(said)));
        let tally = steps.tally();
        let line = "left out: a_test: skipped, this host does not permit it: no bpf";
        assert_eq!(tally.skipped, [line]);
        assert_eq!(
            (tally.passed, tally.failed, tally.failures.len()),
            (3, 6, 6)
        );
    }

    #[test]
    fn lanes_run_at_once_unless_one_needs_the_machine_for_itself() {
        let mut steps = Steps::new(None);
        let folder = std::env::temp_dir().join(format!("xtask-lanes-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        // Each makes its file and waits for the other's, so one after the other would never end.
        let meet = |mine: &str, other: &str| {
            let script = format!(": >{mine}; until [ -e {other} ]; do sleep 0.01; done");
            let mut command = Command::new("sh");
            command.args(["-c", &format!("cd {} && {script}", folder.display())]);
            command
        };
        let [mut one, mut other] = [meet("a", "b"), meet("b", "a")];
        let quiet = std::sync::atomic::AtomicBool::new(false);
        let counted = |lane: &mut Steps, command: &mut Command, name: &str| {
            assert!(lane.run(name, 1, Expect::Success, command));
            lane.alone(|lane| {
                assert!(!quiet.swap(true, std::sync::atomic::Ordering::Relaxed));
                let mut sleep = Command::new("sleep");
                assert!(lane.run("quiet", 1, Expect::Success, sleep.arg("0.1")));
                quiet.store(false, std::sync::atomic::Ordering::Relaxed);
            });
        };
        steps.side_by_side(vec![
            Box::new(|lane: &mut Steps| counted(lane, &mut one, "one")),
            Box::new(|lane: &mut Steps| counted(lane, &mut other, "other")),
        ]);
        std::fs::remove_dir_all(&folder).unwrap();
        let tally = steps.tally();
        assert_eq!((tally.passed, tally.failed), (4, 0));
    }
}
