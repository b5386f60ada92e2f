//! `oxmpi bench --against`: OxMPI beside other MPI libraries, through the C ABI, with one program.
//!
//! `installation` finds the libraries, `program` compiles the benchmark for them, `plan` says which
//! jobs there are and `setting` how each library likes to be run, `hosts` where if not here;
//! `execution` runs one job, `compare` all of them in turns, and `table` shows the result. Nothing
//! is measured inside this process, and what is measured uses only functions of the MPI standard.

mod compare;
mod execution;
pub(crate) mod files;
mod hosts;
mod installation;
pub(crate) mod memory;
pub(crate) mod plan;
mod program;
mod setting;
mod table;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use thiserror::Error;

use compare::{Choice, Library, Rounds};
use execution::Pace;
use hosts::{Hosts, HostsError};
use installation::{Installation, InstallationError};
use plan::Which;
use program::{ProgramError, Programs, Workshop};
use table::Report;

use crate::net::Net;
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
    /// Networks that OxMPI uses between hosts, one after the other; none means as it chooses
    /// itself.
    pub nets: Vec<Net>,
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
    /// Hosts.
    #[error(transparent)]
    Hosts(#[from] HostsError),
}

/// How long and how often, where nothing else was asked for. For three other libraries a round of
/// the long kind takes about a minute, one of the short kind half of that; on a machine that needs
/// longer there are fewer rounds.
struct Usual {
    pace: Pace,
    rounds: usize,
    /// A round that would probably end later is not begun, unless rounds were asked for.
    time: Duration,
    ranks: &'static [u32],
}

const LONG: Usual = Usual {
    pace: Pace {
        figure: Duration::from_millis(100),
        job: Duration::from_secs(12),
        slow_job: Duration::from_secs(48),
        grace: Duration::from_secs(20),
        slow_grace: Duration::from_secs(20),
    },
    rounds: 5,
    time: Duration::from_secs(350),
    ranks: &[2, 4, 8, 16],
};

const SHORT: Usual = Usual {
    pace: Pace {
        figure: Duration::from_millis(30),
        job: Duration::from_secs(6),
        slow_job: Duration::from_secs(5),
        grace: Duration::from_secs(20),
        // A round of `files` is four jobs of each library, and is to end within three minutes.
        slow_grace: Duration::from_secs(5),
    },
    rounds: 2,
    time: Duration::from_secs(85),
    ranks: &[2, 16],
};

/// Measures. The number says how many jobs failed.
pub fn run(request: &Request) -> Result<(Report, usize), AgainstError> {
    let ranks = match request.ranks.is_empty() {
        true => usual(request).ranks,
        false => &request.ranks,
    };
    let needs_hosts = plan::needs_hosts(&request.groups);
    let find_hosts = || match plan::uses_hosts(&request.groups) {
        true if !needs_hosts => Ok(Hosts::from_env().ok()),
        _ => needs_hosts.then(Hosts::from_env).transpose(),
    };
    measure(request, find_hosts, |hosts, cpus| {
        let mut jobs = plan::jobs(&request.groups, ranks, cpus);
        if let Some(hosts) = hosts {
            if needs_hosts {
                jobs.extend(plan::far_jobs(hosts.count(), request.quick));
            }
            if plan::uses_hosts(&request.groups) {
                jobs.push(plan::far_windows());
            }
        }
        if files::is_wanted(&request.groups) {
            jobs.extend(plan::file_jobs(ranks, cpus));
        }
        if memory::is_wanted(&request.groups) {
            let ranks = match request.ranks.is_empty() {
                true => memory::RANKS[usize::from(request.quick)],
                false => &request.ranks,
            };
            jobs.extend(ranks.iter().map(|ranks| plan::memory_job(*ranks, cpus)));
        }
        jobs
    })
}

/// The integer sorts of O2G's paper with each library, on so many hosts.
pub fn sorts(request: &Request, hosts: usize) -> Result<Report, AgainstError> {
    let find_hosts = || (hosts > 1).then(Hosts::from_env).transpose();
    let (report, _) = measure(request, find_hosts, |hosts, _| {
        plan::paper_jobs(hosts.map_or(1, Hosts::count), request.quick)
    })?;
    Ok(report)
}

fn usual(request: &Request) -> Usual {
    if request.quick { SHORT } else { LONG }
}

/// Measures the jobs that are chosen once hosts and CPUs are known.
fn measure(
    request: &Request,
    find_hosts: impl FnOnce() -> Result<Option<Hosts>, HostsError>,
    choose: impl FnOnce(Option<&Hosts>, usize) -> Vec<plan::Job>,
) -> Result<(Report, usize), AgainstError> {
    let usual = usual(request);
    let rounds = if request.rounds == 0 {
        usual.rounds
    } else {
        request.rounds
    };
    let ours = Installation::ours(request.prefix.as_deref())?;
    // All of them are looked for before anything is compiled: a mistake shall show at once.
    let mut installations = vec![ours];
    for prefix in &request.peers {
        installations.push(Installation::find(prefix)?);
    }
    let machine = Machine::here();
    let hosts = find_hosts()?;
    let jobs = choose(hosts.as_ref(), machine.cpus);
    let mut libraries: Vec<Library> = installations
        .iter()
        .map(|installation| Library {
            installation: installation.clone(),
            programs: Programs::default(),
        })
        .collect();
    // The executables are there as long as the workshops.
    let mut workshops = Vec::new();
    for which in Which::ALL {
        if !jobs.iter().any(|job| job.program == which) {
            continue;
        }
        let workshop = Workshop::open(which)?;
        let standard = workshop.standard(&installations[0])?;
        for (index, library) in libraries.iter_mut().enumerate() {
            let program =
                workshop.program(index, &library.installation, &installations[0], &standard)?;
            library.programs.add(which, program);
        }
        workshops.push(workshop);
    }
    let mut notes: Vec<String> = crate::session::load_note().into_iter().collect();
    let progress = crate::session::progress_bar();
    progress.inc_length((rounds * jobs.len()) as u64);
    let choice = Choice {
        nets: &request.nets,
        is_short: request.quick,
    };
    let mut comparison = Rounds::new(&libraries, &jobs, hosts.as_ref(), choice, usual.pace);
    let (began, mut done, mut last) = (Instant::now(), 0, Duration::ZERO);
    while done < rounds {
        let round = Instant::now();
        if done > 0 && request.rounds == 0 && began.elapsed() + last > usual.time {
            notes.push(format!(
                "{done} of {rounds} rounds were measured, because one takes {:.0} s; --rounds {rounds} measures all",
                last.as_secs_f64()
            ));
            break;
        }
        comparison.run(done, &progress);
        // Later rounds are shorter: settings that help nothing are dropped.
        last = round.elapsed();
        done += 1;
    }
    progress.finish_and_clear();
    let found = comparison.comparison();
    notes.extend(found.notes);
    let report = Report {
        version: env!("CARGO_PKG_VERSION"),
        machine,
        quick: request.quick,
        rounds: done,
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// Names an installation of OxMPI for the test below.
    const PREFIX: &str = "OXMPI_PREFIX";

    /// An installation: what the environment names, or what `cargo xtask` installs below the target
    /// folder for its own tests.
    fn installed() -> Option<PathBuf> {
        let below_target = || {
            let test = std::env::current_exe().ok()?;
            let target = test
                .ancestors()
                .find(|folder| folder.ends_with("debug"))?
                .parent()?;
            Some(target.join("installed/prefix"))
        };
        let prefix = std::env::var_os(PREFIX)
            .map(PathBuf::from)
            .or_else(below_target)?;
        prefix
            .join("lib/libmpi_abi.so.1")
            .is_file()
            .then_some(prefix)
    }

    #[test]
    fn oxmpi_alone_gives_every_figure_that_was_asked_for() {
        let Some(prefix) = installed() else {
            eprintln!(
                "SKIPPED: no installation of OxMPI to measure; cargo xtask install --prefix DIR, then {PREFIX}=DIR"
            );
            return;
        };
        let request = Request {
            prefix: Some(prefix),
            groups: ["latency", "pack", "startup"].map(String::from).into(),
            ranks: vec![2],
            rounds: 1,
            quick: true,
            ..Request::default()
        };
        let (report, failures) = run(&request).unwrap();
        assert_eq!(
            (
                failures,
                &report
                    .notes
                    .iter()
                    .filter(|note| note.contains("OxMPI"))
                    .count()
            ),
            (0, &0)
        );
        let names: Vec<&str> = report.rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "8 B one way",
                "1 KiB one way",
                "64 KiB one way",
                "256 KiB one way",
                "64 KiB one way, just written",
                "64 KiB one way, 4 of 8 bytes",
                "MPI_Pack, blocks of 8 B",
                "a loop, blocks of 8 B",
                "MPI_Pack, blocks of 64 KiB",
                "a loop, blocks of 64 KiB",
                "2 ranks"
            ]
        );
        assert!(
            report
                .rows
                .iter()
                .all(|row| row.ours.is_some_and(|value| value.median > 0.0))
        );
        assert!(report.libraries[0].name.starts_with("OxMPI"));
    }

    #[test]
    fn a_prefix_without_a_library_is_refused_before_anything_is_compiled() {
        let request = Request {
            prefix: Some(PathBuf::from("/nonexistent")),
            peers: vec![Path::new("/nonexistent").to_owned()],
            ..Request::default()
        };
        let text = run(&request).unwrap_err().to_string();
        assert!(
            text.starts_with("no installation of OxMPI to measure: /nonexistent is not a folder"),
            "{text}"
        );
    }
}
