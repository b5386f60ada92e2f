//! What a job is: programs with their counts, settings, and what came of it.
//!
//! This is the layer's face towards `cli` and `bench`; `run` has what `Job::run` does.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use oxmpi_join::RANKS_MAX;
use oxmpi_ports::SegmentError;

use crate::bind::Bind;
use crate::hosts::{HostsError, Spread};
use crate::outlet::FilePatterns;
use crate::program::{Executable, ProgramError};

/// Some ranks that execute the same program.
#[derive(Clone, Debug)]
pub struct AppContext {
    /// The program.
    pub executable: Executable,
    /// Its arguments, without its name.
    pub arguments: Vec<OsString>,
    /// How many ranks execute it.
    pub ranks: u32,
    /// Where they run; None is where the launcher runs.
    pub wdir: Option<PathBuf>,
    /// Their own environment variables, over the job's.
    pub env: Vec<(OsString, OsString)>,
}

/// Which ranks read the launcher's standard input; the others have nothing to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stdin {
    /// None of them.
    Null,
    /// This one.
    Rank(u32),
    /// All of them; each reads all of it.
    All,
}

impl Stdin {
    /// Whether a rank is one of them.
    pub(crate) fn includes(self, rank: u32) -> bool {
        match self {
            Stdin::Null => false,
            Stdin::Rank(reader) => rank == reader,
            Stdin::All => true,
        }
    }
}

/// Where the ranks' output goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// To the launcher's own standard output and standard error.
    #[default]
    Inherit,
    /// Into the outcome, the launcher's messages in its stderr.
    Capture,
}

/// How a job is run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Environment variables of all ranks, over those of the launcher.
    pub env: Vec<(OsString, OsString)>,
    /// Put the rank before every line.
    pub label: bool,
    /// Put the time of day before every line.
    pub time: bool,
    /// Labels have colours.
    pub colour: bool,
    /// Files for the output of each rank.
    pub files: FilePatterns,
    /// End the job after this time.
    pub timeout: Option<Duration>,
    /// Bind ranks to CPUs.
    pub bind: Bind,
    /// Let the others go on when a rank dies.
    pub keep_going: bool,
    /// How long ranks that were asked to end may take before they are killed.
    pub grace: Duration,
    /// Which ranks read the launcher's standard input.
    pub stdin: Stdin,
    /// Say how every rank ended when the job is over.
    pub exit_codes: bool,
    /// Say of every rank where it runs.
    pub verbose: bool,
    /// Where output goes.
    pub output: Output,
    /// On which hosts the ranks run.
    pub spread: Spread,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            env: Vec::new(),
            label: false,
            time: false,
            colour: false,
            files: FilePatterns::default(),
            timeout: None,
            bind: Bind::default(),
            keep_going: false,
            grace: Duration::from_secs(2),
            stdin: Stdin::Rank(0),
            exit_codes: false,
            verbose: false,
            output: Output::Inherit,
            spread: Spread::default(),
        }
    }
}

impl Settings {
    /// Whether it is told where ranks have crashed, or hang.
    pub(crate) fn wants_backtraces(&self) -> bool {
        let name = oxmpi_settings::BACKTRACE.name;
        let said = self.env.iter().rev().find(|(said, _)| said == name);
        let value = said.map(|(_, value)| value.clone());
        let value = value.or_else(|| std::env::var_os(name)).unwrap_or_default();
        value != "off" && value != "0"
    }
}

/// A job: what runs, and how. Ranks are numbered through the programs in order.
#[derive(Clone, Debug, Default)]
pub struct Job {
    /// The programs.
    pub apps: Vec<AppContext>,
    /// The settings.
    pub settings: Settings,
}

/// What came of a job.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The exit status the launcher should have: 0, or that of the first failing rank.
    pub code: u8,
    /// The signal the launcher was asked to end by, when the ranks ended because of it.
    pub signal: Option<i32>,
    /// From the call until nothing of the job was left.
    pub wall: Duration,
    /// Captured standard output of all ranks.
    pub stdout: Vec<u8>,
    /// Captured standard error of all ranks, and the launcher's messages.
    pub stderr: Vec<u8>,
}

impl Outcome {
    /// Every rank ended well.
    pub fn success(&self) -> bool {
        self.code == 0
    }
}

/// Why a job could not be started or watched.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// Nothing to run.
    #[error("a job of 0 ranks: -n needs at least 1")]
    NoRanks,
    /// More than a job may have.
    #[error("a job of {asked} ranks: a job has at most {RANKS_MAX}")]
    TooManyRanks {
        /// The ranks asked for.
        asked: u64,
    },
    /// The hosts cannot be used.
    #[error(transparent)]
    Hosts(#[from] HostsError),
    /// The program cannot be run.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The working directory cannot be entered.
    #[error("cannot use {} as working directory: {why}", .path.display())]
    Wdir {
        /// The directory given.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A name or value with a NUL byte, which no environment or argument list can hold.
    #[error("{what} contains a NUL byte")]
    Nul {
        /// Which argument, variable or path.
        what: String,
    },
    /// Pipes for so many ranks do not fit the limit.
    #[error(
        "{ranks} ranks need up to {needed} open files and the limit is {limit}: raise it (ulimit -n) or start fewer ranks"
    )]
    OpenFiles {
        /// The ranks of the job.
        ranks: u32,
        /// What they need at most.
        needed: u64,
        /// What is allowed.
        limit: u64,
    },
    /// The shared segment could not be made.
    #[error("cannot make the shared segment of {ranks} ranks: {error}")]
    Segment {
        /// The ranks of the job.
        ranks: u32,
        /// Why.
        error: SegmentError,
    },
    /// A system call failed.
    #[error("cannot {what}: {error}")]
    System {
        /// What was being done.
        what: &'static str,
        /// What the system said.
        error: io::Error,
    },
}

impl LaunchError {
    /// The exit status for a job that did not start.
    pub fn exit_code(&self) -> u8 {
        match self {
            LaunchError::Program(error) => error.exit_code(),
            LaunchError::NoRanks
            | LaunchError::TooManyRanks { .. }
            | LaunchError::Hosts(_)
            | LaunchError::Wdir { .. }
            | LaunchError::Nul { .. } => 2,
            LaunchError::OpenFiles { .. }
            | LaunchError::Segment { .. }
            | LaunchError::System { .. } => 1,
        }
    }

    pub(crate) fn system(what: &'static str) -> impl FnOnce(io::Error) -> LaunchError {
        move |error| LaunchError::System { what, error }
    }
}

impl Job {
    /// The ranks of all programs together.
    pub fn ranks(&self) -> Result<u32, LaunchError> {
        let asked: u64 = self.apps.iter().map(|app| u64::from(app.ranks)).sum();
        if self.apps.is_empty() || self.apps.iter().any(|app| app.ranks == 0) {
            return Err(LaunchError::NoRanks);
        }
        if asked > u64::from(RANKS_MAX) {
            return Err(LaunchError::TooManyRanks { asked });
        }
        Ok(asked as u32)
    }
}
