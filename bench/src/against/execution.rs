//! One job of one library under one setting: started, limited in time, and its answers read.
//!
//! The program prints an object per line for each figure as soon as it has it, so what a job
//! measured before it failed or was ended is kept. Launchers print lines of their own; whatever is
//! not such an object is not read.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use oxmpi_settings::{HOST, HOSTFILE, MAP_BY, PPN};
use serde::Deserialize;
use thiserror::Error;

use super::hosts::Hosts;
use super::installation::{Family, Installation};
use super::plan::{Job, STARTUP, Which};
use super::program::Program;
use super::setting::{self, Setting};
use crate::figure::Unit;

/// How long figures are measured.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Of one figure.
    pub figure: Duration,
    /// After which a job begins no more figures.
    pub job: Duration,
    /// The same for a job with slow operations.
    pub slow_job: Duration,
    /// From the end of a job's time until it is ended from outside: its last figure, starting and
    /// finishing.
    pub grace: Duration,
    /// The same for a job with slow operations, of which the last may be given up.
    pub slow_grace: Duration,
}

/// From asking a launcher to end until it is killed, and from its end until its output is taken as
/// complete.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a job found.
#[derive(Debug, Default, PartialEq)]
pub struct Found {
    /// The library's name for itself.
    pub library: Option<String>,
    /// Values by figure.
    pub values: BTreeMap<String, (f64, Unit)>,
    /// Figures without a value, and why.
    pub missing: BTreeMap<String, String>,
}

/// Why a job found nothing, or not everything.
#[derive(Debug, Error)]
pub enum ExecutionError {
    /// It did not start.
    #[error("cannot start {launcher}: {error}")]
    Start {
        /// Its launcher.
        launcher: String,
        /// Why not.
        error: std::io::Error,
    },
    /// It failed.
    #[error("{ranks} ranks ended with {status}: {said}")]
    Failed {
        /// How many.
        ranks: u32,
        /// Exit status or signal.
        status: String,
        /// What it complained of.
        said: String,
    },
    /// It took too long.
    #[error("{ranks} ranks were ended after {} s", .after.as_secs())]
    Late {
        /// How many.
        ranks: u32,
        /// How long they had.
        after: Duration,
    },
}

/// A line of the program.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Value {
        figure: String,
        unit: Unit,
        value: f64,
    },
    Missing {
        figure: String,
        missing: String,
    },
    Library {
        library: String,
    },
}

/// Everything the program said, among whatever else was printed.
pub fn parse(output: &str) -> Found {
    let mut found = Found::default();
    for line in output.lines() {
        match serde_json::from_str(line.trim()) {
            Ok(Line::Value {
                figure,
                unit,
                value,
            }) if value.is_finite() && value > 0.0 => {
                found.values.insert(figure, (value, unit));
            }
            Ok(Line::Value { figure, value, .. }) => {
                let reason = format!("the program gave the value {value}");
                found.missing.insert(figure, reason);
            }
            Ok(Line::Missing { figure, missing }) => {
                found.missing.insert(figure, missing);
            }
            Ok(Line::Library { library }) => found.library = Some(library),
            Err(_) => {}
        }
    }
    found
}

/// Runs a job to its end. Figures of a job that failed come with the error.
pub fn run(
    job: &Job,
    installation: &Installation,
    program: &Program,
    hosts: Option<&Hosts>,
    setting: &Setting,
    pace: Pace,
) -> (Found, Option<ExecutionError>) {
    let pace = match job.is_slow() {
        true => Pace {
            job: pace.slow_job,
            grace: pace.slow_grace,
            ..pace
        },
        false => pace,
    };
    let mut command = command(job, installation, program, hosts, setting, pace);
    let after = pace.job + pace.grace;
    let ended = match execute(&mut command, after) {
        Ok(ended) => ended,
        Err(error) => {
            let launcher = installation.launcher.display().to_string();
            return (
                Found::default(),
                Some(ExecutionError::Start { launcher, error }),
            );
        }
    };
    let mut found = parse(&ended.stdout);
    if ended.late {
        let ranks = job.ranks;
        return (found, Some(ExecutionError::Late { ranks, after }));
    }
    if !ended.status.success() {
        let said = complaint(&ended.stderr);
        let error = ExecutionError::Failed {
            ranks: job.ranks,
            status: ended.status.to_string(),
            said,
        };
        return (found, Some(error));
    }
    if job.figures.is_empty() {
        let milliseconds = ended.wall.as_secs_f64() * 1e3;
        found
            .values
            .insert(STARTUP.to_owned(), (milliseconds, Unit::Milliseconds));
    }
    (found, None)
}

fn command(
    job: &Job,
    installation: &Installation,
    program: &Program,
    hosts: Option<&Hosts>,
    setting: &Setting,
    pace: Pace,
) -> Command {
    let mut command = Command::new(&installation.launcher);
    // SAFETY: geteuid has no preconditions and cannot fail.
    let root = unsafe { libc::geteuid() } == 0;
    let fill = |word: &str| hosts.map_or_else(|| word.to_owned(), |hosts| hosts.fill(word));
    // Where ranks run stands on the command line, for every library alike.
    for setting in [&HOST, &HOSTFILE, &MAP_BY, &PPN] {
        command.env_remove(setting.name);
    }
    command
        .args(setting::always(installation.family, root))
        .args(setting.options.iter().map(|word| fill(word)))
        .envs(
            setting
                .environment
                .iter()
                .map(|(name, value)| (name, fill(value))),
        )
        .env("LD_LIBRARY_PATH", library_path(program))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let (true, Some(hosts)) = (job.hosts > 1, hosts) {
        command.args(hosts.words(installation.family, job.hosts, job.ranks));
        if installation.family == Family::OpenMpi {
            // Its launcher hands on only variables that are named.
            command.args(["-x", "LD_LIBRARY_PATH"]);
        }
    }
    command
        .args(["-n", &job.ranks.to_string()])
        .arg(&program.path);
    match job.program {
        Which::Messages | Which::OneSided | Which::Files | Which::Memory => command
            .args([pace.figure, pace.job].map(|time| time.as_secs_f64().to_string()))
            .args(&job.figures),
        // Its word is the class.
        Which::Sort => command.args(
            job.figures
                .iter()
                .filter_map(|figure| figure.split(':').nth(1)),
        ),
    };
    command
}

/// The program's folders before the user's, whose libraries might be needed by the library.
fn library_path(program: &Program) -> OsString {
    let mut path = program.library_path.clone();
    if let Some(already) = std::env::var_os("LD_LIBRARY_PATH").filter(|path| !path.is_empty()) {
        path.push(":");
        path.push(already);
    }
    path
}

/// The line that says most: of an error rather than of a frame around it.
fn complaint(stderr: &str) -> String {
    let lines = || stderr.lines().map(str::trim);
    let telling = lines().find(|line| {
        let line = line.to_ascii_lowercase();
        ["error", "fail", "cannot", "not ", "benchmark", "is: "]
            .iter()
            .any(|word| line.contains(word))
    });
    let any = lines().find(|line| line.contains(char::is_alphabetic));
    telling.or(any).unwrap_or("without a word").to_owned()
}

struct Ended {
    status: std::process::ExitStatus,
    stdout: String,
    stderr: String,
    wall: Duration,
    late: bool,
}

/// Waits for a process without polling, since its wall time can be the figure; another thread minds
/// the clock.
fn execute(command: &mut Command, limit: Duration) -> std::io::Result<Ended> {
    let began = Instant::now();
    let mut child = command.spawn()?;
    let stdout = drain(child.stdout.take());
    let stderr = drain(child.stderr.take());
    let (done, watched) = mpsc::channel::<()>();
    let process = child.id() as libc::pid_t;
    let watchdog = std::thread::spawn(move || {
        let mut late = false;
        for (patience, signal) in [(limit, libc::SIGTERM), (PATIENCE, libc::SIGKILL)] {
            if watched.recv_timeout(patience) != Err(RecvTimeoutError::Timeout) {
                break;
            }
            late = true;
            // SAFETY: kill has no memory effects. The process is this one's child; it is reaped by
            // `wait` below, whose return is announced on `done` at once, and a number is not given
            // away again within that moment.
            unsafe { libc::kill(process, signal) };
        }
        late
    });
    let status = child.wait();
    let wall = began.elapsed();
    drop(done);
    let late = watchdog.join().unwrap_or(false);
    // A rank that outlives its launcher can hold the pipe open for ever.
    let text = |pipe: mpsc::Receiver<Vec<u8>>| {
        let bytes = pipe.recv_timeout(PATIENCE).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Ok(Ended {
        status: status?,
        stdout: text(stdout),
        stderr: text(stderr),
        wall,
        late,
    })
}

/// Reads a pipe to its end in the background.
fn drain(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // Bytes read before an error are still worth reading.
            let _ = pipe.read_to_end(&mut bytes);
        }
        let _ = sender.send(bytes);
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_among_a_launchers_own_words() {
        let found = parse(
            "[proxy:0:0@host] warning\n\
             {\"library\":\"MPICH Version:      5.0.2\"}\n\
             {\"figure\":\"latency:8\",\"unit\":\"ns\",\"value\":832.5,\"count\":7}\r\n\
             {\"figure\":\"threads:4\",\"missing\":\"no threads\"}\n\
             {\"figure\":\"rate:8\",\"unit\":\"M/s\",\"value\":0,\"count\":1}\n\
             {\"figure\":\"barrier\",\"unit\":\"furlongs\",\"value\":1}\n\
             {\"figure\":\"cut of",
        );
        assert_eq!(found.library.as_deref(), Some("MPICH Version:      5.0.2"));
        assert_eq!(found.values.len(), 1);
        assert_eq!(found.values["latency:8"], (832.5, Unit::Nanoseconds));
        assert_eq!(found.missing["threads:4"], "no threads");
        assert!(found.missing["rate:8"].contains("value 0"));
    }

    #[test]
    fn the_most_telling_line_is_quoted() {
        let text = "------\nThere are not enough slots available\n  ./a\n------\n";
        assert_eq!(complaint(text), "There are not enough slots available");
        assert_eq!(complaint(""), "without a word");
    }

    #[test]
    fn a_process_that_stays_is_ended_and_what_it_said_is_kept() {
        let mut command = Command::new("sh");
        command
            .args(["-c", "echo early; exec sleep 60"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let ended = execute(&mut command, Duration::from_millis(200)).unwrap();
        assert!(ended.late && ended.wall < Duration::from_secs(10));
        assert_eq!(ended.stdout, "early\n");
    }
}
