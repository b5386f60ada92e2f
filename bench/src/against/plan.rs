//! What is measured, in jobs: figures that need the same ranks share one, because starting costs
//! more than measuring. Everything is on this host but the group `network`, which is between hosts
//! and runs only when it is asked for by name, and a part of `onesided`, if that is asked for by
//! name and there are hosts.

use super::files::{self, FILES, Goal};
use super::memory::{self, MEMORY};
use crate::figure::size_name;

/// Groups of figures, as named on the command line, with what they are.
pub const GROUPS: [(&str, &str); 11] = [
    (
        "latency",
        "half a ping-pong, 8 B to 256 KiB, also just written and scattered",
    ),
    ("bandwidth", "windows of messages, 64 KiB to 4 MiB"),
    ("rate", "8 B messages per second, windows of 64"),
    (
        "threads",
        "the same from one thread and from four, MPI_THREAD_MULTIPLE",
    ),
    (
        "collectives",
        "barrier, bcast, allreduce, alltoall, gatherv, alltoallv, ibcast, iallreduce",
    ),
    (
        ONE_SIDED,
        "windows: put, get, fetch, lock, fence; also between two hosts if OXMPI_HOST names them",
    ),
    ("pack", "MPI_Pack of a strided datatype, beside a loop"),
    (
        "startup",
        "wall time of a job that initialises and finalises",
    ),
    (
        NETWORK,
        "messages between two hosts, an integer sort on two and four (by name only)",
    ),
    (
        FILES,
        "one file accessed by 2, 4 and 16 ranks, tmpfs and disk (by name only)",
    ),
    (
        MEMORY,
        "memory of a rank after MPI_Init and after an all-to-all of 128 ranks (by name only)",
    ),
];

/// The group between hosts.
pub const NETWORK: &str = "network";

/// The group of one-sided operations.
pub const ONE_SIDED: &str = "onesided";

/// One-sided operations, as their program spells them.
const WINDOWS: [&str; 8] = [
    "put:8",
    "get:8",
    "fetch:8",
    "locked:8",
    "longput:1048576",
    "puts:8",
    "fence",
    "passive:8",
];

/// Of those, what more than two ranks do: a rank that computes needs a core.
const MANY_WINDOWS: usize = 7;

/// Collective operations, as the benchmark program spells them.
const COLLECTIVES: [&str; 11] = [
    "barrier",
    "bcast:8",
    "bcast:65536",
    "allreduce:8",
    "allreduce:65536",
    "alltoall:64",
    "alltoall:4096",
    "gatherv:8",
    "alltoallv:8",
    "ibcast:8",
    "iallreduce:8",
];

/// Messages between two ranks.
const PAIRS: [&str; 10] = [
    "latency:8",
    "latency:1024",
    "latency:65536",
    "latency:262144",
    "fresh:65536",
    "typed:65536",
    "bandwidth:65536",
    "bandwidth:1048576",
    "bandwidth:4194304",
    "rate:8",
];

/// Messages between two hosts.
const FAR_PAIRS: [&str; 5] = [
    "latency:8",
    "latency:1024",
    "bandwidth:65536",
    "bandwidth:1048576",
    "rate:8",
];

/// The integer sort: its figure, hosts and ranks. One host is what the others are judged by; 16
/// hosts of one rank each are the cluster of the papers, with the classes that fit it.
const SORTS: [(&str, u32, u32); 7] = [
    ("is:A", 1, 4),
    ("is:A", 2, 4),
    ("is:A", 2, 16),
    ("is:A", 4, 4),
    ("is:A", 4, 16),
    ("is:S", 16, 16),
    ("is:W", 16, 16),
];

/// Of those, how many a quick run has.
const QUICK_SORTS: usize = 2;

/// Sorts of O2G's paper: classes that fit its 16 hosts.
const PAPER: [(&str, u32, u32); 8] = [
    ("is:S", 1, 4),
    ("is:S", 2, 4),
    ("is:S", 4, 4),
    ("is:S", 16, 16),
    ("is:W", 1, 4),
    ("is:W", 2, 4),
    ("is:W", 4, 4),
    ("is:W", 16, 16),
];

/// Of those, what a quick run has.
const QUICK_PAPER: [(&str, u32, u32); 3] = [PAPER[0], PAPER[1], PAPER[3]];

/// Threads per rank.
const THREADS: [&str; 2] = ["threads:1", "threads:4"];

/// Datatypes, each beside what a programmer would write instead.
const PACKS: [&str; 4] = ["pack:8", "loop:8", "pack:65536", "loop:65536"];

/// The figure of a job that measures nothing inside: its own wall time.
pub const STARTUP: &str = "startup";

/// Which of the programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Messages, collectives, datatypes.
    Messages,
    /// The integer sort.
    Sort,
    /// Access to a file.
    Files,
    /// Windows.
    OneSided,
    /// What a rank occupies.
    Memory,
}

impl Which {
    /// All of them.
    pub const ALL: [Which; 5] = [
        Which::Messages,
        Which::Sort,
        Which::OneSided,
        Which::Files,
        Which::Memory,
    ];
}

/// One start of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// What is started.
    pub program: Which,
    /// On how many ranks.
    pub ranks: u32,
    /// On how many hosts; 1 is this one.
    pub hosts: u32,
    /// The program's words; none for start-up.
    pub figures: Vec<&'static str>,
    /// Whether a core for each rank is not what it needs: there are too few, or its ranks have
    /// several threads.
    pub crowded: bool,
}

impl Job {
    /// The figures it gives, as keys.
    pub fn keys(&self) -> Vec<&'static str> {
        if self.figures.is_empty() {
            vec![STARTUP]
        } else {
            self.figures.clone()
        }
    }

    /// The group one of its figures is shown in.
    pub fn group(&self, figure: &str) -> &'static str {
        if self.program == Which::Files {
            FILES
        } else if self.program == Which::Memory {
            MEMORY
        } else if self.program == Which::OneSided {
            ONE_SIDED
        } else if self.hosts > 1 || self.program == Which::Sort {
            NETWORK
        } else {
            group_of(figure)
        }
    }

    /// Whether a single operation of some libraries takes seconds. Without it there is nothing to
    /// compare with, so the job may take longer than others.
    pub fn is_slow(&self) -> bool {
        match self.program {
            Which::Files => true,
            Which::Messages | Which::Sort | Which::OneSided | Which::Memory => false,
        }
    }

    /// What one of its figures shall reach.
    pub fn goals(&self, figure: &str) -> Vec<Goal> {
        match self.program {
            Which::Files => files::goals(figure),
            Which::Memory => vec![Goal::Peers(1.0)],
            Which::Messages | Which::Sort | Which::OneSided => Vec::new(),
        }
    }

    /// One of its figures for people.
    pub fn title(&self, figure: &str) -> String {
        if self.program == Which::Files {
            return files::title(figure, self.ranks);
        }
        if self.program == Which::Memory {
            return memory::title(figure, self.ranks);
        }
        let title = title(figure, self.ranks);
        match figure.split(':').next() {
            Some("is") if self.hosts == 1 => format!("{title}, {} ranks on one host", self.ranks),
            _ if self.hosts == 1 => title,
            _ if self.program == Which::OneSided => format!("{title}, {} hosts", self.hosts),
            Some("bandwidth") => format!("{title} stream"),
            Some("is") => format!("{title}, {} ranks on {} hosts", self.ranks, self.hosts),
            _ => title,
        }
    }
}

/// Whether these groups measure between hosts where there are some.
pub fn uses_hosts(groups: &[String]) -> bool {
    groups.iter().any(|group| group == ONE_SIDED)
}

/// One-sided operations between two hosts.
pub fn far_windows() -> Job {
    Job {
        program: Which::OneSided,
        ranks: 2,
        hosts: 2,
        figures: WINDOWS.to_vec(),
        crowded: false,
    }
}

/// Whether these groups need hosts.
pub fn needs_hosts(groups: &[String]) -> bool {
    groups.iter().any(|group| group == NETWORK)
}

/// The jobs of a round between hosts, of which there are so many. Ranks always share CPUs with
/// others in the sort: hosts that are parts of one machine share its CPUs, and nobody tells them.
pub fn far_jobs(hosts: u32, quick: bool) -> Vec<Job> {
    let mut jobs = vec![Job {
        program: Which::Messages,
        ranks: 2,
        hosts: 2,
        figures: FAR_PAIRS.to_vec(),
        crowded: false,
    }];
    let sorts = if quick {
        &SORTS[..QUICK_SORTS]
    } else {
        &SORTS[..]
    };
    jobs.extend(sort_jobs(sorts, hosts));
    jobs
}

/// The sorts of O2G's paper, as far as there are hosts.
pub fn paper_jobs(hosts: u32, quick: bool) -> Vec<Job> {
    sort_jobs(if quick { &QUICK_PAPER } else { &PAPER }, hosts)
}

fn sort_jobs(sorts: &[(&'static str, u32, u32)], hosts: u32) -> Vec<Job> {
    let possible = sorts.iter().filter(|(_, wanted, _)| *wanted <= hosts);
    let job = |(figure, hosts, ranks): &(&'static str, u32, u32)| Job {
        program: Which::Sort,
        ranks: *ranks,
        hosts: *hosts,
        figures: vec![*figure],
        crowded: true,
    };
    possible.map(job).collect()
}

/// The jobs of a round on this host, for these groups (none means all) and these numbers of ranks,
/// on `cpus` CPUs.
pub fn jobs(groups: &[String], ranks: &[u32], cpus: usize) -> Vec<Job> {
    let wanted =
        |figure: &str| groups.is_empty() || groups.iter().any(|group| group == group_of(figure));
    let mut jobs = Vec::new();
    let mut add = |ranks: u32, threads: u32, figures: &[&[&'static str]]| {
        let figures: Vec<&'static str> = figures
            .concat()
            .into_iter()
            .filter(|figure| wanted(figure))
            .collect();
        if !figures.is_empty() {
            jobs.push(Job {
                program: Which::Messages,
                ranks,
                hosts: 1,
                figures,
                crowded: threads > 1 || ranks as usize > cpus,
            });
        }
    };
    add(1, 1, &[&PACKS]);
    let pairs_alone: &[&[&str]] = &[&PAIRS];
    let pairs_and_collectives: &[&[&str]] = &[&PAIRS, &COLLECTIVES];
    add(
        2,
        1,
        if ranks.contains(&2) {
            pairs_and_collectives
        } else {
            pairs_alone
        },
    );
    add(2, 4, &[&THREADS]);
    for count in ranks.iter().filter(|count| **count != 2) {
        add(*count, 1, &[&COLLECTIVES]);
    }
    if wanted(WINDOWS[0]) {
        let most = ranks.iter().copied().max().unwrap_or(2);
        let mut counts = vec![(2, WINDOWS.len()), (most, MANY_WINDOWS)];
        counts.dedup_by_key(|(ranks, _)| *ranks);
        jobs.extend(counts.into_iter().map(|(ranks, figures)| Job {
            program: Which::OneSided,
            ranks,
            hosts: 1,
            figures: WINDOWS[..figures].to_vec(),
            crowded: ranks as usize > cpus,
        }));
    }
    if wanted(STARTUP) {
        let mut counts = vec![2, ranks.iter().copied().max().unwrap_or(2)];
        counts.dedup();
        jobs.extend(counts.into_iter().map(|ranks| Job {
            program: Which::Messages,
            ranks,
            hosts: 1,
            figures: Vec::new(),
            crowded: ranks as usize > cpus,
        }));
    }
    jobs
}

/// The jobs of a round of `files` on `cpus` CPUs: one for each medium and each of these numbers of
/// ranks that has figures.
pub fn file_jobs(wanted: &[u32], cpus: usize) -> Vec<Job> {
    let counts = files::RANKS.iter().filter(|ranks| wanted.contains(ranks));
    let media = counts.flat_map(|&ranks| {
        files::figures(ranks).map(|figures| Job {
            program: Which::Files,
            ranks,
            hosts: 1,
            figures,
            crowded: ranks as usize > cpus,
        })
    });
    media.collect()
}

/// The job of a round of `memory` on so many ranks.
pub fn memory_job(ranks: u32, cpus: usize) -> Job {
    Job {
        program: Which::Memory,
        ranks,
        hosts: 1,
        figures: memory::FIGURES.to_vec(),
        crowded: ranks as usize > cpus,
    }
}

/// The group a figure of this host is shown in.
fn group_of(figure: &str) -> &'static str {
    let kind = figure.split(':').next().unwrap_or(figure);
    match kind {
        "loop" => "pack",
        "fresh" | "typed" => "latency",
        "barrier" | "bcast" | "allreduce" | "alltoall" | "gatherv" | "alltoallv" | "ibcast"
        | "iallreduce" => "collectives",
        "put" | "get" | "fetch" | "locked" | "longput" | "puts" | "fence" | "passive" => ONE_SIDED,
        other => GROUPS
            .iter()
            .find(|(name, _)| *name == other)
            .map_or("other", |(name, _)| name),
    }
}

/// A figure of this host for people.
fn title(figure: &str, ranks: u32) -> String {
    let (kind, number) = figure.split_once(':').unwrap_or((figure, ""));
    if kind == "is" {
        return format!("integer sort, class {number}");
    }
    let number: usize = number.parse().unwrap_or(0);
    let size = size_name(number);
    match kind {
        "latency" => format!("{size} one way"),
        "fresh" => format!("{size} one way, just written"),
        "typed" => format!("{size} one way, 4 of 8 bytes"),
        "bandwidth" => size,
        "rate" => format!("{size}, windows of 64"),
        "threads" if number == 1 => "8 B, 1 thread per rank".to_owned(),
        "threads" => format!("8 B, {number} threads per rank"),
        "pack" => format!("MPI_Pack, blocks of {size}"),
        "loop" => format!("a loop, blocks of {size}"),
        "barrier" | "fence" => format!("{kind}, {ranks} ranks"),
        "put" | "get" => format!("{size} {kind} + flush, {ranks} ranks"),
        "fetch" => format!("{size} fetch_and_op + flush, {ranks} ranks"),
        "locked" => format!("lock + {size} put + unlock, {ranks} ranks"),
        "longput" => format!("{size} put, {ranks} ranks"),
        "puts" => format!("64 puts of {size} + flush, {ranks} ranks"),
        "passive" => format!("{size} put + flush, target computes"),
        STARTUP => format!("{ranks} ranks"),
        _ => format!("{kind} {size}, {ranks} ranks"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_has_one_job_per_number_of_ranks_and_kind_of_thread() {
        let all = jobs(&[], &[2, 4, 16], 2);
        let shapes: Vec<(u32, usize, bool)> = all
            .iter()
            .map(|job| (job.ranks, job.figures.len(), job.crowded))
            .collect();
        assert_eq!(
            shapes,
            [
                (1, 4, false),
                (2, 21, false),
                (2, 2, true),
                (4, 11, true),
                (16, 11, true),
                (2, 8, false),
                (16, 7, true),
                (2, 0, false),
                (16, 0, true)
            ]
        );
        for figure in all.iter().flat_map(Job::keys) {
            assert!(
                GROUPS.iter().any(|(name, _)| *name == group_of(figure)),
                "{figure}"
            );
        }
    }

    #[test]
    fn groups_choose_figures() {
        let some = jobs(&["rate".into(), "startup".into()], &[2], 2);
        assert_eq!(some.len(), 2);
        assert_eq!(some[0].figures, ["rate:8"]);
        assert_eq!(some[1].keys(), [STARTUP]);
    }

    #[test]
    fn between_hosts_there_are_messages_and_sorts() {
        let jobs = far_jobs(4, false);
        assert_eq!(jobs.len(), 6);
        assert_eq!(jobs[0].title("latency:8"), "8 B one way");
        assert_eq!(jobs[0].title("bandwidth:65536"), "64 KiB stream");
        for (job, place) in [
            (&jobs[1], "4 ranks on one host"),
            (&jobs[5], "16 ranks on 4 hosts"),
        ] {
            let title = job.title("is:A");
            assert_eq!(title, format!("integer sort, class A, {place}"));
            assert_eq!(job.group("is:A"), NETWORK);
        }
        assert_eq!(far_jobs(2, false).len(), 4);
        assert_eq!(far_jobs(16, false).len(), 8);
        assert_eq!(far_jobs(16, true).len(), 3);
        assert!(needs_hosts(&[NETWORK.into()]) && !needs_hosts(&[]));
    }

    #[test]
    fn files_have_their_figures_on_both_media() {
        let jobs = file_jobs(&[2, 4, 8, 16], 2);
        assert_eq!(file_jobs(&[2, 16], 2).len(), 4);
        let shapes: Vec<(u32, usize)> = jobs.iter().map(|j| (j.ranks, j.figures.len())).collect();
        assert_eq!(
            shapes,
            [(2, 13), (2, 13), (4, 14), (4, 14), (16, 15), (16, 15)]
        );
        // What a figure is held against is measured in the same job.
        for job in &jobs {
            for goal in job.figures.iter().flat_map(|figure| job.goals(figure)) {
                if let Goal::Figure(other, _) = goal {
                    assert!(job.figures.contains(&other.as_str()), "{other}");
                }
            }
        }
    }

    #[test]
    fn windows_are_measured_on_two_and_most_ranks_and_between_hosts() {
        let near = jobs(&[ONE_SIDED.into()], &[2, 4, 16], 2);
        let ranks: Vec<u32> = near.iter().map(|job| job.ranks).collect();
        assert_eq!(ranks, [2, 16]);
        assert!(near.iter().all(|job| !job.figures.is_empty()));
        assert_eq!(near[0].title("put:8"), "8 B put + flush, 2 ranks");
        assert_eq!(jobs(&[ONE_SIDED.into()], &[2], 2).len(), 1);
        let far = far_windows();
        assert_eq!(far.group("put:8"), ONE_SIDED);
        assert_eq!(far.title("fence"), "fence, 2 ranks, 2 hosts");
        assert!(uses_hosts(&[ONE_SIDED.into()]) && !uses_hosts(&[]));
    }

    #[test]
    fn titles_are_for_people() {
        assert_eq!(title("latency:1024", 2), "1 KiB one way");
        assert_eq!(title("allreduce:65536", 16), "allreduce 64 KiB, 16 ranks");
        assert_eq!(title("barrier", 4), "barrier, 4 ranks");
        assert_eq!(title("fresh:65536", 2), "64 KiB one way, just written");
        assert_eq!(title("loop:8", 1), "a loop, blocks of 8 B");
    }
}
