//! `oxmpi bench --against`: OxMPI beside other MPI libraries, through the C ABI, with one program.
//!
//! `installation` finds the libraries, `program` compiles the benchmark for them, `plan` says which jobs there are and `setting`
//! how each library likes to be run; `execution` runs one job, `compare` all of them in turns, and `table` shows the result.
//! Nothing is measured inside this process, and what is measured uses only functions of the MPI standard.

mod compare;
mod execution;
mod installation;
pub(crate) mod plan;
mod program;
mod setting;
mod table;

use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use compare::{Library, Rounds};
use execution::Pace;
use installation::{Installation, InstallationError};
use program::{ProgramError, Workshop};
use table::Report;

use crate::report::Machine;

/// What was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Prefixes of the other libraries.
    pub peers: Vec<PathBuf>,
    /// Prefix of OxMPI, if not this executable's own.
    pub prefix: Option<PathBuf>,
    /// Groups of figures; none means all.
    pub groups: Vec<String>,
    /// Numbers of ranks for collectives; none means the usual ones.
    pub ranks: Vec<u32>,
    /// Rounds; 0 means as many as usual.
    pub rounds: usize,
    /// Short measurements, few rounds.
    pub quick: bool,
}

/// Why there is no comparison at all. A job that fails is a note of the report.
#[derive(Debug, Error)]
pub enum AgainstError {
    /// A library.
    #[error(transparent)]
    Installation(#[from] InstallationError),
    /// The program.
    #[error(transparent)]
    Program(#[from] ProgramError),
}

/// How long and how often, where nothing else was asked for. For three other libraries a round of the long kind takes about a
/// minute, one of the short kind half of that.
struct Usual {
    pace: Pace,
    rounds: usize,
    ranks: &'static [u32],
}

const LONG: Usual = Usual {
    pace: Pace {
        figure: Duration::from_millis(100),
        job: Duration::from_secs(12),
    },
    rounds: 5,
    ranks: &[2, 4, 8, 16],
};

const SHORT: Usual = Usual {
    pace: Pace {
        figure: Duration::from_millis(30),
        job: Duration::from_secs(6),
    },
    rounds: 2,
    ranks: &[2, 16],
};

/// Measures. The number says how many jobs failed.
pub fn run(request: &Request) -> Result<(Report, usize), AgainstError> {
    let usual = if request.quick { SHORT } else { LONG };
    let rounds = if request.rounds == 0 {
        usual.rounds
    } else {
        request.rounds
    };
    let ranks = if request.ranks.is_empty() {
        usual.ranks
    } else {
        &request.ranks
    };
    let ours = Installation::ours(request.prefix.as_deref())?;
    // All of them are looked for before anything is compiled: a mistake shall show at once.
    let mut installations = vec![ours];
    for prefix in &request.peers {
        installations.push(Installation::find(prefix)?);
    }
    let workshop = Workshop::open()?;
    let standard = workshop.standard(&installations[0])?;
    let mut libraries = Vec::new();
    for (index, installation) in installations.into_iter().enumerate() {
        let program = workshop.program(index, &installation, &standard)?;
        libraries.push(Library {
            installation,
            program,
        });
    }
    let machine = Machine::here();
    let jobs = plan::jobs(&request.groups, ranks, machine.cpus);
    let mut notes: Vec<String> = crate::session::load_note().into_iter().collect();
    let progress = crate::session::progress_bar();
    progress.inc_length((rounds * jobs.len()) as u64);
    let mut comparison = Rounds::new(&libraries, &jobs, usual.pace);
    for round in 0..rounds {
        comparison.run(round, &progress);
    }
    progress.finish_and_clear();
    let found = comparison.comparison();
    notes.extend(found.notes);
    let report = Report {
        version: env!("CARGO_PKG_VERSION"),
        machine,
        quick: request.quick,
        rounds,
        libraries: libraries
            .iter()
            .zip(found.names)
            .map(|(library, name)| table::Library {
                name,
                prefix: library.installation.prefix.display().to_string(),
                library: library.installation.library.display().to_string(),
                standard_abi: library.installation.face == installation::Face::Standard,
            })
            .collect(),
        notes,
        rows: found.rows,
    };
    Ok((report, found.failures))
}
