//! What the head and its agents say to each other: `Down` towards the ranks, `Up` towards the head.
//!
//! Both travel over the remote shell's standard input and output, between programs of the same
//! version ([`PROTOCOL`], checked by `greeting` before the first frame). `channel` cuts the bytes;
//! `node` carries out what comes down and passes on what goes up; nothing here knows descriptors or
//! processes.

use std::ffi::OsString;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::bind::Bind;
use crate::job::Stdin;
use crate::outlet::Which;
use crate::record::Stage;
use crate::supervise::{Ended, RankDeath};

/// The version of the frames between the head and its agents. Changes with every change of a frame.
pub const PROTOCOL: u32 = 5;

/// The longest frame: the cards of 65 535 ranks in a fence with up to 1 000 bytes each.
pub(crate) const FRAME_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Output a host may have sent without the head having passed it on. 1 000 hosts hold 128 MiB at
/// worst; one that streams is asked for more before it stops.
pub(crate) const WINDOW_BYTES: u64 = 128 * 1024;

/// Standard input that may be under way to a rank.
pub(crate) const STDIN_BYTES: usize = 64 * 1024;

/// Names and values that ranks have put into the job's table.
pub(crate) type Puts = Vec<(String, String)>;

/// From the head towards the ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Down {
    /// The first frame: who you are, and the hosts below you.
    Grow(Grow),
    /// All hosts have answered: start the ranks.
    Run(Box<JobSpec>),
    /// A signal for all ranks.
    Signal(i32),
    /// Input for the ranks that read; nothing is the end of it.
    Stdin(Vec<u8>),
    /// A host may send so many more bytes of output.
    Credit { host: u32, bytes: u64 },
    /// Every rank that has not ended has reached the fence; what all of them had put.
    FenceOver(Puts),
    /// A rank has ended without finalising MPI, wherever it ran: the others are told.
    Died { rank: u32, death: RankDeath },
    /// A rank has ended after finalising MPI, wherever it ran: a wait for it may be in vain.
    Finished { rank: u32 },
    /// The job is over: kill what is left, send what has been said, end.
    End,
    /// Say where the ranks are.
    Look,
}

/// What an agent must know to start the agents below it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Grow {
    /// The number of the agent's host.
    pub(crate) host: u32,
    /// The name it is reached by.
    pub(crate) name: String,
    /// The hosts below it, with the names they are reached by.
    pub(crate) below: Vec<(u32, String)>,
    /// The words of the template.
    pub(crate) template: Vec<String>,
    /// The path of `oxmpi` there.
    pub(crate) agent: String,
    /// How many agents one process starts.
    pub(crate) fanout: u32,
    /// How long hosts may take to answer, all together.
    pub(crate) patience: Duration,
    /// How much of that has passed already.
    pub(crate) waited: Duration,
}

/// A job, as every host needs to know it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct JobSpec {
    /// The name under which ranks find each other's words.
    pub(crate) name: String,
    /// The host number of every rank.
    pub(crate) host_of: Vec<u32>,
    /// The CPUs each host's ranks may count on.
    pub(crate) cpus: Vec<u32>,
    pub(crate) programs: Vec<Program>,
    /// The head's environment, as far as it means something on other hosts.
    pub(crate) inherited: Vec<(OsString, OsString)>,
    /// Variables for all ranks, over what they inherit.
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) bind: Bind,
    /// Which ranks get what comes as `Down::Stdin`; the others have nothing to read.
    pub(crate) stdin: Stdin,
}

/// Some ranks that execute the same program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Program {
    pub(crate) path: OsString,
    pub(crate) argv0: OsString,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) ranks: u32,
    /// None: where the launcher or agent runs.
    pub(crate) wdir: Option<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
}

/// From a host towards the head.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Up {
    /// An agent lives and knows its place.
    Hello(Hello),
    /// Hosts that could not be reached, or are out of reach now. Their ranks have ended or will by
    /// themselves.
    Lost { hosts: Vec<u32>, text: String },
    /// The process of a rank exists.
    Started { rank: u32, pid: i32 },
    /// A rank could not be started, with errno.
    Failed { rank: u32, stage: Stage, errno: i32 },
    /// Where a rank, which has just ended, has crashed.
    Backtrace { rank: u32, lines: Vec<String> },
    /// A rank's process has ended.
    Ended { rank: u32, ended: Ended },
    /// The warden of a host was killed, and its ranks with it.
    WardenLost { host: u32 },
    /// Lines a rank has written, or what is there of one.
    Output {
        rank: u32,
        which: Which,
        bytes: Vec<u8>,
    },
    /// No process of this host can write output any more.
    Quiet { host: u32 },
    /// So many bytes of input have reached a rank.
    StdinTaken { rank: u32, bytes: u32 },
    /// A rank reads no more.
    StdinClosed { rank: u32 },
    /// All ranks from here on down that have not ended are in a fence; what they had put.
    Fence(Puts),
    /// All ranks from here on down have ended: fences go on without them. What they had put since
    /// the last one.
    Deserted(Puts),
    /// A rank that speaks PMI asked for the end of the job.
    Abort { rank: u32, code: i32, text: String },
    /// Something the remote shell or the agent said on its standard error.
    Remark { host: u32, text: String },
    /// Nothing of the job is left on this host.
    Over { host: u32 },
}

/// What a host is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) host: u32,
    /// The same for all "hosts" that are one machine: containers, namespaces.
    pub(crate) machine: u64,
    /// CPUs the agent may use.
    pub(crate) cpus: u32,
}

impl JobSpec {
    /// Ranks in the job.
    pub(crate) fn size(&self) -> u32 {
        self.host_of.len() as u32
    }

    /// The ranks of a host, rising: rank `local(host)[port]` lives in that port of the host's
    /// segment.
    pub(crate) fn local(&self, host: u32) -> Vec<u32> {
        let ranks = (0..self.size()).zip(&self.host_of);
        let ours = ranks.filter(|(_, place)| **place == host);
        ours.map(|(rank, _)| rank).collect()
    }

    /// The number of the program that a rank executes.
    pub(crate) fn program_of(&self, rank: u32) -> usize {
        let mut end = 0_u32;
        let within = |program: &Program| {
            end = end.saturating_add(program.ranks);
            rank < end
        };
        // Counts come from another process: a rank beyond them gets the last program.
        let found = self.programs.iter().position(within);
        found.unwrap_or(self.programs.len().saturating_sub(1))
    }
}

/// The CPUs that the ranks of each host may count on: hosts that are one machine share its CPUs in
/// proportion.
pub(crate) fn shares(hellos: &[Hello], host_of: &[u32]) -> Vec<u32> {
    let mut ranks = vec![0u64; hellos.len()];
    for host in host_of {
        ranks[*host as usize] += 1;
    }
    let on_machine = |machine: u64| -> u64 {
        let there = hellos.iter().zip(&ranks);
        there
            .filter(|(hello, _)| hello.machine == machine)
            .map(|(_, ranks)| ranks)
            .sum()
    };
    let share = |(hello, ranks): (&Hello, &u64)| {
        let all = on_machine(hello.machine).max(1);
        (u64::from(hello.cpus) * ranks / all).max(1) as u32
    };
    hellos.iter().zip(&ranks).map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(host: u32, machine: u64, cpus: u32) -> Hello {
        Hello {
            host,
            machine,
            cpus,
        }
    }

    #[test]
    fn hosts_that_are_one_machine_share_its_cpus() {
        let hellos = [hello(0, 7, 8), hello(1, 7, 8), hello(2, 9, 4)];
        assert_eq!(shares(&hellos, &[0, 0, 0, 1, 2, 2]), [6, 2, 4]);
        let crowd = [hello(0, 7, 2), hello(1, 7, 2)];
        assert_eq!(shares(&crowd, &[0, 1, 1, 1, 1, 1]), [1, 1]);
        assert_eq!(
            shares(&[hello(0, 7, 2)], &[0; 16]),
            [2],
            "alone: all of them"
        );
    }

    #[test]
    fn ranks_find_their_host_and_program() {
        let program = |ranks| Program {
            path: "a".into(),
            argv0: "a".into(),
            arguments: Vec::new(),
            ranks,
            wdir: None,
            env: Vec::new(),
        };
        let spec = JobSpec {
            name: "job".to_owned(),
            host_of: vec![0, 1, 0, 1, 1],
            cpus: vec![1, 1],
            programs: vec![program(1), program(4)],
            inherited: Vec::new(),
            env: Vec::new(),
            bind: Bind::default(),
            stdin: Stdin::Null,
        };
        assert_eq!(spec.local(1), [1, 3, 4]);
        let programs: Vec<usize> = (0..6).map(|rank| spec.program_of(rank)).collect();
        assert_eq!(programs, [0, 1, 1, 1, 1, 1]);
    }
}
