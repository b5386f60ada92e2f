//! The ranks of one host: their segment, their warden, their output, their input, their PMI
//! sockets.
//!
//! The head has one for its own host and every agent has one for its. Events leave as [`Up`] frames
//! in a queue, orders come as method calls; this module does not know whether a head or an agent is
//! at the other end. Nothing waits: `poll_entries` and `poll_deadline` say when `handle_ready` has
//! something to do.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use oxmpi_pmi::Left;
use oxmpi_ports::{PortState, Segment};

use crate::crash::Crashes;
use crate::environment::Variables;
use crate::frame::{JobSpec, Up};
use crate::job::{LaunchError, Stdin};
use crate::plan::{Ends, Plan, RankEnds};
use crate::pmi_sockets::PmiSockets;
use crate::record::{Command, Report};
use crate::stdin::Feed;
use crate::streams::Streams;
use crate::supervise::{Abort, End, Ended, RankDeath, Standing};
use crate::sys;
use crate::warden::Warden;
use crate::why;

/// Both ends of two pipes and of a socket per rank.
const DESCRIPTORS_PER_RANK: u64 = 6;
/// Both ends of the pipe to a rank that is fed, where all are.
const DESCRIPTORS_OF_INPUT: u64 = 2;
/// For everything else: four for each agent below, and what the process had open before.
const DESCRIPTORS_BESIDES: u64 = 64 + 4 * 32;

/// Descriptors are created and handed to the warden one job at a time: a warden that is forked
/// while another job is half set up would hold that job's pipes open for its own lifetime.
static STARTING: Mutex<()> = Mutex::new(());

/// What ranks read.
#[derive(Debug)]
pub(crate) enum Input {
    /// A rank reads a file or a pipe: what the launcher itself would read.
    Own(u32, OwnedFd),
    /// What is handed to [`LocalRanks::feed`], those that are named.
    Fed(Stdin),
}

/// Everything that starting the ranks of a host takes.
pub(crate) struct StartRanks<'a> {
    pub(crate) spec: &'a JobSpec,
    pub(crate) host: u32,
    /// What ranks inherit on this host.
    pub(crate) inherited: &'a Variables,
    pub(crate) input: Input,
    /// Output that may be taken before the head grants more.
    pub(crate) window: u64,
    /// The signal mask of the ranks.
    pub(crate) mask: libc::sigset_t,
}

/// The ranks of one host.
pub(crate) struct LocalRanks {
    host: u32,
    /// By port.
    ranks: Vec<Member>,
    segment: Segment,
    warden: Warden,
    warden_lives: bool,
    /// When the warden was seen to have ended.
    lost_at: Option<Instant>,
    streams: Streams,
    pmi: PmiSockets,
    crashes: Crashes,
    /// By rank, of those that are fed and still read.
    feeds: Vec<(u32, Feed)>,
    /// The ranks of the job that are fed.
    readers: Stdin,
    state: State,
}

struct Member {
    rank: u32,
    /// 0 when no process is known to run.
    pid: i32,
    /// It became its program.
    began: bool,
}

/// How far the ranks of this host are on their way to their end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Ranks may run and write.
    Working,
    /// All output has ended.
    Quiet,
    /// The warden has been told to kill what is left.
    Ending,
    /// Nothing is left and everything has been said.
    Over,
}

impl LocalRanks {
    /// Makes the segment and has the warden start the ranks. `highest` is the highest descriptor of
    /// the connections to other hosts, which are not for the warden.
    pub(crate) fn start(start: StartRanks<'_>, highest: RawFd) -> Result<LocalRanks, LaunchError> {
        let (spec, host) = (start.spec, start.host);
        let ranks = spec.local(host);
        let count = ranks.len() as u32;
        check_folders(spec, &ranks)?;
        let cpus = spec.cpus.get(host as usize).copied().unwrap_or(1);
        let segment = Segment::create(count, cpus).map_err(|error| LaunchError::Segment {
            ranks: count,
            error,
        })?;
        let mut needed = u64::from(count) * DESCRIPTORS_PER_RANK + DESCRIPTORS_BESIDES;
        if matches!(start.input, Input::Fed(Stdin::All)) {
            needed += u64::from(count) * DESCRIPTORS_OF_INPUT;
        }
        let open_files = sys::raise_open_files(needed)
            .map_err(LaunchError::system("read the limit of open files"))?;
        let making = |what| {
            move |error: io::Error| match error.raw_os_error() {
                Some(libc::EMFILE) => LaunchError::OpenFiles {
                    ranks: count,
                    needed,
                    limit: open_files.rlim_max,
                },
                _ => LaunchError::system(what)(error),
            }
        };
        let too_few = making("make the ranks' pipes");

        // A panic elsewhere while holding the lock leaves nothing half done that matters here.
        let starting = STARTING.lock().unwrap_or_else(|broken| broken.into_inner());
        let mut readers = Stdin::Null;
        let (mut feeds, mut inputs) = (Vec::new(), Vec::new());
        match start.input {
            Input::Own(reader, file) => {
                let port = ranks.iter().position(|rank| *rank == reader);
                inputs.extend(port.map(|port| (port, file)));
            }
            Input::Fed(fed) => {
                readers = fed;
                let ports = ranks.iter().enumerate();
                for (port, &rank) in ports.filter(|(_, rank)| fed.includes(**rank)) {
                    let (feed, reader) = Feed::new().map_err(too_few)?;
                    feeds.push((rank, feed));
                    inputs.push((port, reader.into()));
                }
            }
        }
        let (streams, outputs) = Streams::new(&ranks, start.window).map_err(too_few)?;
        let (pmi, sockets) = PmiSockets::new(spec, &ranks).map_err(too_few)?;
        let (crashes, crash) = Crashes::new().map_err(too_few)?;
        let ends = outputs.into_iter().zip(sockets);
        let ends = Ends {
            inputs,
            null: null().map_err(making("open /dev/null"))?,
            crash,
            ranks: ends
                .map(|((stdout, stderr), pmi)| RankEnds {
                    stdout,
                    stderr,
                    pmi,
                })
                .collect(),
        };
        let inherited = start.inherited;
        let plan = Plan::new(
            spec,
            &ranks,
            inherited,
            segment.fd(),
            ends,
            start.mask,
            open_files,
        )?;
        let warden = Warden::start(plan, highest).map_err(making("fork the warden process"))?;
        drop(starting);

        let member = |rank| Member {
            rank,
            pid: 0,
            began: true,
        };
        Ok(LocalRanks {
            host,
            ranks: ranks.into_iter().map(member).collect(),
            segment,
            warden,
            warden_lives: true,
            lost_at: None,
            streams,
            pmi,
            crashes,
            feeds,
            readers,
            state: State::Working,
        })
    }

    pub(crate) fn poll_entries(&self, entries: &mut Vec<libc::pollfd>) {
        if self.warden_lives {
            entries.push(sys::poll_entry(self.warden.fd(), libc::POLLIN));
        }
        self.streams.poll_entries(entries);
        self.pmi.poll_entries(entries);
        entries.push(self.crashes.poll_entry());
        let feeds = self.feeds.iter();
        entries.extend(feeds.filter_map(|(_, feed)| feed.poll_entry()));
    }

    pub(crate) fn poll_deadline(&self) -> Option<Instant> {
        // Without a warden no descriptor tells that the rest can be finished, and it can be at
        // once.
        let finish = self.lost_at.filter(|_| self.can_finish());
        [finish, self.streams.poll_deadline()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Whether all that is left to do is to take what lies in the pipes.
    fn can_finish(&self) -> bool {
        self.state == State::Ending && !self.warden_lives && self.streams.has_room()
    }

    /// Whether the warden is gone.
    pub(crate) fn is_unguarded(&self) -> bool {
        !self.warden_lives
    }

    /// Nothing is left of it.
    pub(crate) fn is_over(&self) -> bool {
        self.state == State::Over
    }

    /// Handles whatever has happened.
    pub(crate) fn handle_ready(
        &mut self,
        now: Instant,
        up: &mut VecDeque<Up>,
    ) -> Result<(), LaunchError> {
        self.flush_feeds(up);
        self.streams
            .handle_ready(now, up)
            .map_err(LaunchError::system("watch the ranks' pipes"))?;
        self.pmi
            .handle_ready(up)
            .map_err(LaunchError::system("watch the ranks' sockets"))?;
        self.crashes.handle_ready();
        self.handle_reports(now, up)?;
        if self.state == State::Working && self.streams.all_ended() {
            self.state = State::Quiet;
            up.push_back(Up::Quiet { host: self.host });
        }
        if self.state == State::Ending && !self.warden_lives {
            self.streams.finish(now, up);
            if self.streams.all_ended() {
                self.state = State::Over;
                up.push_back(Up::Over { host: self.host });
            }
        }
        Ok(())
    }

    /// Sends a signal to all ranks and what they have started.
    pub(crate) fn signal(&mut self, signal: i32) {
        self.warden.tell(Command::Signal(signal));
    }

    /// Kills what is left.
    pub(crate) fn end(&mut self) {
        if self.state != State::Over {
            self.state = State::Ending;
            self.warden.tell(Command::End);
        }
    }

    /// Whether no rank of another host is fed.
    pub(crate) fn has_the_reader(&self) -> bool {
        match self.readers {
            Stdin::Rank(reader) => self.ranks.iter().any(|member| member.rank == reader),
            Stdin::Null | Stdin::All => false,
        }
    }

    /// Input for those that read; nothing is the end of it.
    pub(crate) fn feed(&mut self, bytes: &[u8], up: &mut VecDeque<Up>) {
        self.feeds.iter_mut().for_each(|(_, feed)| feed.put(bytes));
        self.flush_feeds(up);
    }

    /// So much more output may be taken.
    pub(crate) fn widen(&mut self, bytes: u64) {
        self.streams.widen(bytes);
    }

    pub(crate) fn fence_over(&mut self, all: &[(String, String)], up: &mut VecDeque<Up>) {
        self.pmi.fence_over(all, up);
    }

    fn flush_feeds(&mut self, up: &mut VecDeque<Up>) {
        self.feeds.retain_mut(|(rank, feed)| {
            let (rank, fed) = (*rank, feed.flush());
            if fed.bytes > 0 {
                let bytes = fed.bytes;
                up.push_back(Up::StdinTaken { rank, bytes });
            }
            if fed.over {
                up.push_back(Up::StdinClosed { rank });
            }
            !fed.over
        });
    }

    /// Reads what the warden tells.
    fn handle_reports(&mut self, now: Instant, up: &mut VecDeque<Up>) -> Result<(), LaunchError> {
        if !self.warden_lives {
            return Ok(());
        }
        let mut reports = Vec::new();
        let lives = self.warden.reports(&mut reports);
        let lives = lives.map_err(LaunchError::system("hear from the warden process"))?;
        for report in reports {
            self.handle_report(report, now, up);
        }
        if !lives {
            self.warden_lives = false;
            self.lost_at = Some(now);
            // What the kernel does not kill for us: children of ranks, in the ranks' groups.
            for member in &self.ranks {
                sys::signal_group(member.pid, libc::SIGKILL);
            }
            if self.state != State::Ending {
                up.push_back(Up::WardenLost { host: self.host });
            }
        }
        Ok(())
    }

    fn handle_report(&mut self, report: Report, now: Instant, up: &mut VecDeque<Up>) {
        let (Report::Started { port, .. }
        | Report::Failed { port, .. }
        | Report::Ended { port, .. }) = report;
        let Some(member) = self.ranks.get_mut(port as usize) else {
            return;
        };
        let rank = member.rank;
        match report {
            Report::Started { pid, .. } => {
                member.pid = pid;
                up.push_back(Up::Started { rank, pid });
            }
            Report::Failed { stage, errno, .. } => {
                member.began = false;
                up.push_back(Up::Failed { rank, stage, errno });
            }
            Report::Ended { status, .. } => {
                let end = End::from_wait(status);
                let process = std::mem::replace(&mut member.pid, 0);
                if end.code() != 0 {
                    let lines = self.crashes.backtrace(rank, process);
                    if !lines.is_empty() {
                        up.push_back(Up::Backtrace { rank, lines });
                    }
                }
                self.handle_end(port, end, now, up);
            }
        }
    }

    fn handle_end(&mut self, port: u32, end: End, now: Instant, up: &mut VecDeque<Up>) {
        let member = &self.ranks[port as usize];
        let (rank, began) = (member.rank, member.began);
        if end.code() != 0 {
            // Its last words come before ours about it.
            self.streams.last_words(port, now, up);
        }
        let left = self.pmi.has_left(port, up);
        let state = self.segment.state_at_end(port);
        let abort = |(port, code): (u32, i32)| {
            let member = self.ranks.get(port as usize)?;
            Some(Abort {
                rank: member.rank,
                code,
                told_of_loss: self.segment.knows_of_loss(port),
            })
        };
        let ended = Ended {
            end,
            standing: standing(state, left),
            abort: self.segment.abort_code().and_then(abort),
            told_of_loss: self.segment.knows_of_loss(port),
        };
        if began
            && state != PortState::Finished
            && let Some(death) = ended.death(rank)
        {
            self.segment.mark_dead(port, death.into());
        }
        up.push_back(Up::Ended { rank, ended });
        // Behind the word of its end, so that whoever leaves a fence because of it knows why.
        self.pmi.handle_end(port, up);
    }

    /// Where the ranks are that run here.
    pub(crate) fn look(&self, host: u32) -> Vec<Up> {
        let running = self.ranks.iter().filter(|member| member.pid > 0);
        let ranks: Vec<(u32, u32)> = running
            .map(|member| (member.rank, member.pid as u32))
            .collect();
        let lines = why::places(&ranks).into_iter();
        lines.map(|text| Up::Remark { host, text }).collect()
    }

    /// A rank has finalised MPI and ended, here or on another host.
    pub(crate) fn record_finish(&self, rank: u32) {
        self.segment.record_finish(rank);
    }

    /// A rank has died, here or on another host: the ranks here that are wired up learn of it.
    pub(crate) fn record_death(&self, rank: u32, death: RankDeath) {
        self.segment.record_death(rank, death.into());
    }
}

/// What a rank was to the others when it ended: its port says so, or for programs on other
/// libraries PMI does.
fn standing(port: PortState, left: Left) -> Standing {
    match (port, left) {
        (PortState::Finished, _) | (PortState::Empty, Left::Finalised) => Standing::Finished,
        (PortState::Attached { .. }, _) | (PortState::Empty, Left::Initialised) => Standing::Member,
        (PortState::Empty | PortState::Dead(_), _) => Standing::Stranger,
    }
}

/// Every program must find its folder on this host.
fn check_folders(spec: &JobSpec, ranks: &[u32]) -> Result<(), LaunchError> {
    let mut checked: Option<&OsStr> = None;
    for &rank in ranks {
        let Some(program) = spec.programs.get(spec.program_of(rank)) else {
            continue;
        };
        let Some(wdir) = program.wdir.as_deref().filter(|wdir| checked != Some(wdir)) else {
            continue;
        };
        check_folder(Path::new(wdir))?;
        checked = Some(wdir);
    }
    Ok(())
}

/// Whether ranks could be put there.
pub(crate) fn check_folder(path: &Path) -> Result<(), LaunchError> {
    let why = match path.metadata() {
        Ok(found) if found.is_dir() => return Ok(()),
        Ok(_) => "it is not a directory".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(LaunchError::Wdir {
        path: PathBuf::from(path),
        why,
    })
}

fn null() -> io::Result<OwnedFd> {
    Ok(std::fs::File::open("/dev/null")?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_on_other_libraries_take_leave_by_pmi() {
        let attached = PortState::Attached { pid: 1 };
        assert_eq!(
            standing(PortState::Empty, Left::NeverSpoke),
            Standing::Stranger
        );
        assert_eq!(
            standing(PortState::Empty, Left::Initialised),
            Standing::Member
        );
        assert_eq!(
            standing(PortState::Empty, Left::Finalised),
            Standing::Finished
        );
        assert_eq!(standing(attached, Left::NeverSpoke), Standing::Member);
        assert_eq!(
            standing(PortState::Finished, Left::Initialised),
            Standing::Finished
        );
        assert_eq!(
            standing(attached, Left::Finalised),
            Standing::Member,
            "the port of a rank that has one counts"
        );
    }
}
