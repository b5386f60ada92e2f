//! Where the ranks of a running job are: what to look at when nothing moves.
//!
//! Jobs are found in /proc by their wardens. Ranks in the same place are told together: of a
//! thousand that wait in a barrier the one that does not is of interest.

use std::collections::HashMap;
use std::io;
use std::time::{Duration, Instant};

use crate::crash::{self, Stack};
use crate::supervise::spans;

/// Reading the debug information of a large program takes a second, and a job's end waits for it.
const LOOK_MAX: Duration = Duration::from_secs(5);
/// The name of a warden's process.
const WARDEN: &str = "oxmpi-warden";
/// What every process that has initialised MPI has mapped.
const SEGMENT: &str = "oxmpi-segment";
/// The variable by which a process knows its rank.
const RANK: &str = "OXMPI_RANK=";

/// Why it cannot be told where ranks are.
#[derive(Debug, thiserror::Error)]
pub enum WhyError {
    /// There is none.
    #[error("no job of yours runs on this host; of a job on several hosts, ask on each")]
    NoJob,
    /// It is neither a launcher nor a rank, and cannot be looked at either.
    #[error("process {0} is no job and cannot be looked at: {1}")]
    NoProcess(u32, io::Error),
}

/// A process, as /proc lists it.
struct Process {
    parent: u32,
    name: String,
}

/// The ranks of this host under one launcher.
struct Found {
    launcher: u32,
    warden: u32,
    /// Ranks and their processes.
    ranks: Vec<(u32, u32)>,
}

/// Where the ranks of jobs on this host are, in lines: of all jobs that this user may look at, or
/// of the one that a process belongs to (its launcher, or one of its ranks). Any other process is
/// looked at by itself.
pub fn why(process: Option<u32>) -> Result<Vec<String>, WhyError> {
    let processes = processes();
    let jobs = jobs(&processes);
    let wanted: Vec<&Found> = match process {
        None => jobs.iter().collect(),
        Some(wanted) => jobs.iter().filter(|job| job.has(wanted)).collect(),
    };
    match (process, wanted.is_empty()) {
        (Some(process), true) => {
            let stacks = crash::look(process);
            let stacks = stacks.map_err(|error| WhyError::NoProcess(process, error))?;
            Ok(told(&format!("process {process}"), &stacks, true))
        }
        (None, true) => Err(WhyError::NoJob),
        _ => Ok(wanted.iter().flat_map(|job| job.lines()).collect()),
    }
}

impl Found {
    fn has(&self, process: u32) -> bool {
        let ranks = self.ranks.iter();
        let own = [self.launcher, self.warden];
        own.contains(&process) || ranks.clone().any(|(_, rank)| *rank == process)
    }

    fn lines(&self) -> Vec<String> {
        let ranks: Vec<u32> = self.ranks.iter().map(|(rank, _)| *rank).collect();
        let noun = if ranks.len() == 1 { "rank" } else { "ranks" };
        let launcher = self.launcher;
        let mut lines = vec![format!(
            "the job of process {launcher} has {noun} {} on this host",
            spans(&ranks)
        )];
        let places = places(&self.ranks);
        if places.is_empty() {
            lines.push("none of them has initialised MPI, or none may be looked at".to_owned());
        }
        lines.extend(places);
        lines
    }
}

/// Where ranks are that have initialised MPI, in lines; `ranks` with their processes.
pub(crate) fn places(ranks: &[(u32, u32)]) -> Vec<String> {
    let until = Instant::now() + LOOK_MAX;
    let mut groups: Vec<(Vec<Stack>, Vec<u32>, Vec<u32>)> = Vec::new();
    let (mut refused, mut unseen) = (None, Vec::new());
    // One look at all processes, for ranks that are children of a shell.
    let mut family = None;
    for &(rank, pid) in ranks {
        let Some(pid) = program_of(pid, &mut family) else {
            continue;
        };
        if Instant::now() >= until {
            unseen.push(rank);
            continue;
        }
        match crash::look(pid) {
            Ok(stacks) => match groups.iter_mut().find(|(known, ..)| *known == stacks) {
                Some((_, ranks, pids)) => {
                    ranks.push(rank);
                    pids.push(pid);
                }
                None => groups.push((stacks, vec![rank], vec![pid])),
            },
            // It has just ended.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ESRCH | libc::ENOENT)) => {}
            Err(error) => {
                unseen.push(rank);
                refused = Some(error);
            }
        }
    }
    let mut lines = Vec::new();
    for (stacks, ranks, pids) in &groups {
        let who = match (ranks.as_slice(), pids.as_slice()) {
            ([rank], [pid]) => format!("rank {rank} (pid {pid})"),
            _ => format!("ranks {}", spans(ranks)),
        };
        lines.extend(told(&who, stacks, ranks.len() == 1));
    }
    if !unseen.is_empty() {
        let why = match refused {
            Some(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                "the kernel permits it to nobody but their launcher and root: --timeout SECONDS shows \
                 it at its end, sudo does now"
                    .to_owned()
            }
            Some(error) => error.to_string(),
            None => "it takes too long".to_owned(),
        };
        let noun = if unseen.len() == 1 { "rank" } else { "ranks" };
        lines.push(format!("{noun} {}, not seen: {why}", spans(&unseen)));
    }
    lines
}

/// A group's stacks, in lines.
fn told(who: &str, stacks: &[Stack], is_one: bool) -> Vec<String> {
    let verb = if is_one { "is" } else { "are" };
    let mut lines = Vec::new();
    for (number, stack) in stacks.iter().enumerate() {
        let of = if number == 0 {
            ""
        } else {
            "another thread of "
        };
        lines.push(match &stack.call {
            Some(call) => format!("{of}{who} {verb} in {call}"),
            None if stack.frames.is_empty() => format!("{of}{who} {verb} somewhere unknown"),
            None => format!("{of}{who} {verb} outside of MPI"),
        });
        lines.extend(stack.frames.iter().cloned());
    }
    lines
}

/// The process that has initialised MPI: the rank's own, or one below it (`sh -c ./a.out`).
fn program_of(pid: u32, family: &mut Option<HashMap<u32, Process>>) -> Option<u32> {
    if has_segment(pid) {
        return Some(pid);
    }
    let family = family.get_or_insert_with(processes);
    let mut below = vec![pid];
    while let Some(parent) = below.pop() {
        let children = family
            .iter()
            .filter(|(_, process)| process.parent == parent);
        for (&child, _) in children {
            if has_segment(child) {
                return Some(child);
            }
            below.push(child);
        }
    }
    None
}

fn has_segment(pid: u32) -> bool {
    let maps = std::fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
    let name = SEGMENT.as_bytes();
    maps.windows(name.len()).any(|found| found == name)
}

fn jobs(processes: &HashMap<u32, Process>) -> Vec<Found> {
    let wardens = processes
        .iter()
        .filter(|(_, process)| process.name == WARDEN);
    let mut jobs: Vec<Found> = wardens
        .map(|(&warden, process)| {
            let children = processes.iter().filter(|(_, child)| child.parent == warden);
            let ranks = children.filter_map(|(&pid, _)| Some((rank_of(pid)?, pid)));
            let mut ranks: Vec<(u32, u32)> = ranks.collect();
            ranks.sort_unstable();
            Found {
                launcher: process.parent,
                warden,
                ranks,
            }
        })
        .filter(|job| !job.ranks.is_empty())
        .collect();
    jobs.sort_unstable_by_key(|job| job.launcher);
    jobs
}

/// The rank that a process was started as; none if this user may not know.
fn rank_of(pid: u32) -> Option<u32> {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut variables = environment.split(|byte| *byte == 0);
    let found = variables.find_map(|variable| variable.strip_prefix(RANK.as_bytes()))?;
    std::str::from_utf8(found).ok()?.parse().ok()
}

fn processes() -> HashMap<u32, Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return HashMap::new();
    };
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers
        .filter_map(|pid: u32| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            // pid (name) state parent …, and a name may contain anything.
            let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
            let parent = rest.split_whitespace().nth(1)?.parse().ok()?;
            let name = name.to_owned();
            Some((pid, Process { parent, name }))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_found_below_its_parent() {
        let all = processes();
        let own = &all[&std::process::id()];
        assert!(all.contains_key(&own.parent) && !own.name.is_empty());
    }

    #[test]
    fn places_are_told_with_their_ranks() {
        let stack = |call: Option<&str>, frames: &[&str]| Stack {
            call: call.map(str::to_owned),
            frames: frames.iter().map(|frame| (*frame).to_owned()).collect(),
        };
        let waits = stack(Some("MPI_Recv"), &["  #0 main at a.c:7"]);
        let computes = stack(None, &["  #0 main at a.c:3"]);
        assert_eq!(
            told("ranks 0-2", std::slice::from_ref(&waits), false),
            ["ranks 0-2 are in MPI_Recv", "  #0 main at a.c:7"]
        );
        assert_eq!(
            told("rank 3 (pid 7)", &[computes, waits], true),
            [
                "rank 3 (pid 7) is outside of MPI",
                "  #0 main at a.c:3",
                "another thread of rank 3 (pid 7) is in MPI_Recv",
                "  #0 main at a.c:7",
            ]
        );
        assert_eq!(
            told("process 9", &[stack(None, &[])], true),
            ["process 9 is somewhere unknown"]
        );
    }
}
