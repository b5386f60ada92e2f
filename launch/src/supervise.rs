//! How a job is supervised: what follows from a start, an end, a signal or the clock.
//!
//! No I/O and no clock, and no difference between one host and many. The head calls `handle_*` with
//! what happened and then takes [`Action`]s from `poll_action` until there are none;
//! `poll_deadline` says when `handle_time` is due. The job is over when `is_over`; `code` is then
//! the launcher's exit status.

mod end;
mod wording;

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use crate::hosts::Placement;
use crate::job::Job;
use crate::record::Stage;
pub(crate) use end::{Abort, End, Ended, RankDeath, Standing};
pub(crate) use wording::spans;
use wording::{Unstarted, count, describe_end};

/// The exit status of a job that ran into its time-out, as timeout(1) has it.
const CODE_TIMEOUT: u8 = 124;
/// The exit status when nobody reads the output any more: 128 + SIGPIPE, as a shell would see it.
const CODE_BROKEN_PIPE: u8 = 128 + libc::SIGPIPE as u8;

/// A rank on another host may notice a death by its connection and give up before word of the death
/// itself has come through the tree of agents. A rank that only exits with a status is accused
/// after this time: that word needs a few round trips.
const DOUBT: Duration = Duration::from_millis(200);
/// The same for a rank that was told of a loss: then there is a cause, and word of it is sure to
/// come unless the network itself is at fault. Generous, because launchers on busy hosts are slow.
const DOUBT_AFTER_LOSS: Duration = Duration::from_secs(3);

/// What the launcher has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Send a signal to all ranks.
    Signal(i32),
    /// Tell the user.
    Say(String),
    /// Tell the user where the ranks are.
    Look,
    /// Stop, as the ranks have been stopped.
    StopSelf,
}

/// What the end of a rank says about the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// It ended well.
    Good,
    /// It failed, and so has the job.
    Guilty,
    /// It failed, perhaps because of another rank: that one may be heard of within this time.
    Doubtful(Duration),
}

/// Where the job is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Ranks run as long as they like.
    Running,
    /// Ranks have given up, perhaps because of another one: until this time that one may be heard
    /// of.
    Doubting { until: Instant },
    /// One has failed after it had finalised: the others may finish by themselves until this time.
    Finishing { end_at: Instant },
    /// They have been asked to end and are killed at this time.
    Ending { kill_at: Instant },
    /// They have been killed.
    Killed,
}

/// What a failure means for the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// They are asked to end.
    End,
    /// They may finish, but who still waits for the one that failed must not wait for ever.
    LetFinish,
    /// They go on as if nothing had happened.
    GoOn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RankState {
    /// Not known to run yet.
    Starting,
    Running,
    /// It never became the program; its process still has to end.
    Failed,
    Ended,
}

#[derive(Debug)]
struct Rank {
    state: RankState,
    pid: i32,
    /// Which of the job's programs it executes.
    app: usize,
    /// Which of the job's hosts it runs on.
    host: u32,
    /// How its process has ended.
    end: Option<End>,
}

/// The supervision of one job.
#[derive(Debug)]
pub(crate) struct Supervisor {
    hosts: Vec<String>,
    programs: Vec<String>,
    ranks: Vec<Rank>,
    left: usize,
    keep_going: bool,
    verbose: bool,
    grace: Duration,
    timeout: Option<Duration>,
    time_over: Option<Instant>,
    phase: Phase,
    code: Option<u8>,
    asked: Option<i32>,
    /// Ranks that have failed, perhaps because of another.
    suspects: Vec<(u32, Ended)>,
    /// A rank ended well and never initialised MPI: who waited for it has no other cause.
    left_early: bool,
    /// Where ranks have crashed, until it is told.
    backtraces: HashMap<u32, Vec<String>>,
    /// The backtraces that have been told.
    told: Vec<Vec<String>>,
    actions: VecDeque<Action>,
}

impl Supervisor {
    pub(crate) fn new(job: &Job, placement: &Placement, now: Instant) -> Supervisor {
        let counts = job.apps.iter().map(|app| app.ranks as usize);
        let apps = counts.enumerate();
        let apps = apps.flat_map(|(app, ranks)| std::iter::repeat_n(app, ranks));
        let rank = |(app, &host)| Rank {
            state: RankState::Starting,
            pid: 0,
            app,
            host,
            end: None,
        };
        let ranks: Vec<Rank> = apps.zip(&placement.host_of).map(rank).collect();
        Supervisor {
            hosts: placement.hosts.clone(),
            programs: job
                .apps
                .iter()
                .map(|app| app.executable.shown.clone())
                .collect(),
            left: ranks.len(),
            ranks,
            keep_going: job.settings.keep_going,
            verbose: job.settings.verbose,
            grace: job.settings.grace,
            timeout: job.settings.timeout,
            // A time beyond what the clock can express is no time-out.
            time_over: job.settings.timeout.and_then(|time| now.checked_add(time)),
            phase: Phase::Running,
            code: None,
            asked: None,
            suspects: Vec::new(),
            left_early: false,
            backtraces: HashMap::new(),
            told: Vec::new(),
            actions: VecDeque::new(),
        }
    }

    /// The next thing to do.
    pub(crate) fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// When `handle_time` is to be called.
    pub(crate) fn poll_deadline(&self) -> Option<Instant> {
        match self.phase {
            // Once all have ended there is nothing that time could change.
            _ if self.left == 0 => None,
            Phase::Running => self.time_over,
            Phase::Doubting { until } => Some(until),
            Phase::Finishing { end_at } => Some(end_at),
            Phase::Ending { kill_at } => Some(kill_at),
            Phase::Killed => None,
        }
    }

    /// All ranks have ended.
    pub(crate) fn is_over(&self) -> bool {
        self.left == 0
    }

    /// All ranks ended by themselves, so far.
    pub(crate) fn is_peaceful(&self) -> bool {
        matches!(
            self.phase,
            Phase::Running | Phase::Doubting { .. } | Phase::Finishing { .. }
        )
    }

    /// The launcher's exit status as things stand.
    pub(crate) fn code(&self) -> u8 {
        self.code.unwrap_or(0)
    }

    /// How every rank has ended, in words.
    pub(crate) fn ends(&self) -> String {
        wording::ends(self.ranks.iter().map(|rank| rank.end))
    }

    /// The signal that ended the job, if the ranks ended because of it.
    pub(crate) fn signal(&self) -> Option<i32> {
        self.asked
            .filter(|signal| self.code() == 128 + *signal as u8)
    }

    pub(crate) fn handle_started(&mut self, rank: u32, pid: i32) {
        let Some(entry) = self.ranks.get_mut(rank as usize) else {
            return;
        };
        entry.pid = pid;
        // The report of a child that failed at once may overtake this one.
        if entry.state == RankState::Starting {
            entry.state = RankState::Running;
        }
        if self.verbose {
            let (host, program) = (&self.hosts[entry.host as usize], &self.programs[entry.app]);
            let text = format!("rank {rank} is process {pid} on {host}: {program}");
            self.actions.push_back(Action::Say(text));
        }
    }

    /// The number of the program that a rank executes.
    pub(crate) fn app(&self, rank: u32) -> Option<usize> {
        self.ranks.get(rank as usize).map(|rank| rank.app)
    }

    /// A rank never became its program, which may be one for another processor.
    pub(crate) fn handle_failed(
        &mut self,
        rank: u32,
        (stage, errno): (Stage, i32),
        machine: Option<&str>,
        now: Instant,
    ) {
        let number = rank as usize;
        let size = self.ranks.len();
        let Some(entry) = self.ranks.get_mut(number) else {
            return;
        };
        entry.state = RankState::Failed;
        let (host, app) = (entry.host, entry.app);
        if stage == Stage::Fork {
            // The warden of a host starts nobody after the first fork that fails.
            self.forget(|index, rank| index >= number && rank.host == host);
        }
        if self.phase != Phase::Running {
            return;
        }
        let which = Unstarted {
            rank: self.place(rank),
            of: size,
            program: &self.programs[app],
            machine,
            remote: self.hosts.len() > 1,
        };
        let (text, code) = which.tell(stage, errno);
        self.actions.push_back(Action::Say(text));
        self.code.get_or_insert(code);
        self.end(libc::SIGTERM, now);
    }

    /// Where a rank has crashed whose end is to be told next.
    pub(crate) fn handle_backtrace(&mut self, rank: u32, lines: Vec<String>) {
        self.backtraces.insert(rank, lines);
    }

    /// Tells where a rank has crashed, if that is known.
    fn tell_backtrace(&mut self, rank: u32) {
        if let Some(lines) = self.backtraces.remove(&rank) {
            self.actions.extend(lines.iter().cloned().map(Action::Say));
            self.told.push(lines);
        }
    }

    /// A rank has crashed while the job is being ended for another reason: that is told only if it
    /// happened at another place.
    fn tell_other_crash(&mut self, rank: u32, end: End) {
        let known = |lines: &Vec<String>| self.told.contains(lines);
        if self.backtraces.get(&rank).is_none_or(known) {
            return;
        }
        let text = format!("{} {}, too", self.describe(rank), describe_end(end));
        self.actions.push_back(Action::Say(text));
        self.tell_backtrace(rank);
    }

    /// A rank's process has ended.
    pub(crate) fn handle_end(&mut self, rank: u32, ended: Ended, now: Instant) {
        let number = rank as usize;
        let Some(entry) = self.ranks.get_mut(number) else {
            return;
        };
        if entry.state == RankState::Ended {
            return;
        }
        let failed = entry.state == RankState::Failed;
        entry.state = RankState::Ended;
        entry.end = Some(ended.end);
        self.left -= 1;
        if failed {
            return;
        }
        if !matches!(self.phase, Phase::Running | Phase::Doubting { .. }) {
            // What ranks do when they are asked to end is their affair; only the first status
            // counts.
            if ended.end.code() != 0 {
                self.code.get_or_insert(ended.end.code());
                self.tell_other_crash(rank, ended.end);
            }
            return;
        }
        match self.verdict(rank, &ended) {
            Verdict::Good => self.left_early |= ended.standing == Standing::Stranger,
            Verdict::Guilty => {
                self.phase = Phase::Running;
                self.judge(rank, ended, now);
                self.conclude(now);
            }
            Verdict::Doubtful(time) => {
                let until = match self.phase {
                    Phase::Doubting { until } => until.min(now + time),
                    _ => now + time,
                };
                self.phase = Phase::Doubting { until };
                self.suspects.push((rank, ended));
            }
        }
        if self.left == 0 {
            // No rank is left that could explain it.
            self.conclude(now);
        }
    }

    /// What the end of a rank says by itself.
    fn verdict(&self, rank: u32, ended: &Ended) -> Verdict {
        let after_loss = match self.left_early {
            false => DOUBT_AFTER_LOSS,
            true => DOUBT,
        };
        if let Some(abort) = ended.relevant_abort(rank) {
            return match abort.told_of_loss {
                true => Verdict::Doubtful(after_loss),
                false => Verdict::Guilty,
            };
        }
        let member = ended.standing == Standing::Member;
        match ended.end {
            End::Status(0) if !member => Verdict::Good,
            _ if ended.told_of_loss => Verdict::Doubtful(after_loss),
            // It may have noticed a death by other means than the library's.
            End::Status(1..) if member && self.hosts.len() > 1 && !self.keep_going => {
                Verdict::Doubtful(DOUBT)
            }
            _ => Verdict::Guilty,
        }
    }

    /// Says how a rank has failed and what follows from it.
    fn judge(&mut self, rank: u32, ended: Ended, now: Instant) {
        let (end, standing) = (ended.end, ended.standing);
        if let Some(abort) = ended.relevant_abort(rank) {
            let code = abort.code;
            let who = self.describe(abort.rank);
            let text = format!("{who} called MPI abort with code {code}");
            // An abort with code 0, or one whose low byte is 0, is still a failure.
            self.fail(text, (code as u8).max(1), Then::End, now);
        } else if end.code() != 0 {
            let mut text = format!("{} {}", self.describe(rank), describe_end(end));
            let finished = standing == Standing::Finished;
            if finished {
                text += " after finalising MPI";
            }
            let then = match (self.keep_going, finished) {
                (true, _) => Then::GoOn,
                (false, true) => Then::LetFinish,
                (false, false) => Then::End,
            };
            self.fail(text, end.code(), then, now);
            self.tell_backtrace(rank);
        } else {
            let who = self.describe(rank);
            let text = format!("{who} exited with status 0 without finalising MPI");
            let then = if self.keep_going {
                Then::GoOn
            } else {
                Then::End
            };
            self.fail(text, 1, then, now);
        }
    }

    /// The waiting for a cause is over: what the suspects did counts as far as nothing before it
    /// has ended the job. Those that were told of no loss come first.
    fn conclude(&mut self, now: Instant) {
        if matches!(self.phase, Phase::Doubting { .. }) {
            self.phase = Phase::Running;
        }
        let mut suspects = std::mem::take(&mut self.suspects);
        suspects.sort_by_key(|(_, ended)| ended.told_of_loss);
        for (rank, ended) in suspects {
            if self.phase == Phase::Running {
                self.judge(rank, ended, now);
            }
        }
    }

    /// A rank asked its launcher to end the job.
    pub(crate) fn handle_abort(&mut self, rank: u32, code: i32, text: &str, now: Instant) {
        if !matches!(self.phase, Phase::Running | Phase::Doubting { .. }) {
            return;
        }
        let why: String = text
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        let why = match why.trim() {
            "" => String::new(),
            why => format!(": {why}"),
        };
        let text = format!(
            "{} asked for the end of the job with code {code}{why}",
            self.describe(rank)
        );
        let running = match self.left {
            1 => "its rank".to_owned(),
            left => format!("its {left} ranks"),
        };
        self.actions
            .push_back(Action::Say(format!("{text}; ending {running}")));
        self.code.get_or_insert((code as u8).max(1));
        self.end(libc::SIGTERM, now);
    }

    /// The launcher got a signal.
    pub(crate) fn handle_signal(&mut self, signal: i32, now: Instant) {
        match signal {
            libc::SIGTSTP => {
                self.actions.push_back(Action::Signal(libc::SIGSTOP));
                self.actions.push_back(Action::StopSelf);
            }
            libc::SIGINT | libc::SIGTERM | libc::SIGHUP | libc::SIGQUIT => {
                if self.is_peaceful() {
                    self.asked = Some(signal);
                    self.end(signal, now);
                } else {
                    self.kill();
                }
            }
            other => self.actions.push_back(Action::Signal(other)),
        }
    }

    /// The clock has reached the deadline.
    pub(crate) fn handle_time(&mut self, now: Instant) {
        match self.phase {
            _ if self.left == 0 => {}
            Phase::Running if self.time_over.is_some_and(|over| now >= over) => {
                let time = self.timeout.unwrap_or_default().as_secs_f64();
                let ranks = count(self.left);
                let text =
                    format!("the job has reached its --timeout of {time} s; ending its {ranks}");
                self.actions.extend([Action::Say(text), Action::Look]);
                self.code.get_or_insert(CODE_TIMEOUT);
                self.end(libc::SIGTERM, now);
            }
            Phase::Doubting { until } if now >= until => self.conclude(now),
            Phase::Finishing { end_at } if now >= end_at => self.end(libc::SIGTERM, now),
            Phase::Ending { kill_at } if now >= kill_at => {
                let (ranks, grace) = (count(self.left), self.grace.as_secs_f64());
                let text =
                    format!("killing {ranks} that did not end within {grace} s of being asked to");
                self.actions.push_back(Action::Say(text));
                self.kill();
            }
            _ => {}
        }
    }

    /// Standard output cannot be written any more.
    pub(crate) fn handle_broken_output(&mut self, error: &std::io::Error, now: Instant) {
        // A reader that has seen enough (| head) or a closed terminal is no news to anybody.
        let quiet = matches!(error.raw_os_error(), Some(libc::EPIPE | libc::EIO));
        if quiet {
            self.code.get_or_insert(CODE_BROKEN_PIPE);
        } else {
            let text = format!("cannot write the job's output: {error}");
            self.actions.push_back(Action::Say(text));
            self.code.get_or_insert(1);
        }
        if self.is_peaceful() {
            self.end(libc::SIGTERM, now);
        }
    }

    /// The warden of a host was killed; the kernel kills its ranks after it.
    pub(crate) fn handle_lost_warden(&mut self, host: u32, now: Instant) {
        if !self.forget(|_, rank| rank.host == host) {
            return;
        }
        let text = match self.hosts.as_slice() {
            [_] => "the job's warden process was killed, and all ranks with it".to_owned(),
            hosts => format!(
                "the warden process on {} was killed, and its ranks with it",
                hosts[host as usize]
            ),
        };
        self.lose(text, 128 + libc::SIGKILL as u8, now);
    }

    /// Hosts are out of reach, or could not be reached at all. `text` says why.
    pub(crate) fn handle_lost(&mut self, hosts: &[u32], text: String, now: Instant) {
        let known = |rank: &Rank| hosts.contains(&rank.host);
        self.forget(|_, rank| known(rank));
        self.lose(text, 1, now);
    }

    /// The job ends before a rank was started: because of a signal, the clock or a host.
    pub(crate) fn handle_cancelled(&mut self) {
        self.forget(|_, _| true);
        if let Some(signal) = self.asked {
            self.code.get_or_insert(128 + signal as u8);
        }
    }

    /// Counts ranks out that will not be heard of again. False: there were none.
    fn forget(&mut self, which: impl Fn(usize, &Rank) -> bool) -> bool {
        let before = self.left;
        for (index, rank) in self.ranks.iter_mut().enumerate() {
            if rank.state != RankState::Ended && which(index, rank) {
                rank.state = RankState::Ended;
                self.left -= 1;
            }
        }
        self.left < before
    }

    /// Says what was lost and ends the rest.
    fn lose(&mut self, text: String, code: u8, now: Instant) {
        if self.is_peaceful() {
            self.fail(text, code, Then::End, now);
        } else {
            self.actions.push_back(Action::Say(text));
            self.code.get_or_insert(code);
        }
    }

    fn fail(&mut self, mut text: String, code: u8, then: Then, now: Instant) {
        let running = |rank: &Rank| rank.state != RankState::Ended && rank.pid != 0;
        let started = self.ranks.iter().any(running);
        let others = match self.left {
            1 => "the other rank".to_owned(),
            left => format!("the other {left} ranks"),
        };
        let grace = self.grace.as_secs_f64();
        text += &match then {
            _ if self.left == 0 || !started => String::new(),
            Then::End => format!("; ending {others}"),
            Then::LetFinish => format!("; ending {others} in {grace} s"),
            Then::GoOn => format!("; {others} may go on"),
        };
        self.actions.push_back(Action::Say(text));
        self.code.get_or_insert(code);
        match then {
            Then::End => self.end(libc::SIGTERM, now),
            Then::LetFinish => {
                let end_at = self.after_grace(now);
                self.phase = Phase::Finishing { end_at };
            }
            Then::GoOn => {}
        }
    }

    fn after_grace(&self, now: Instant) -> Instant {
        // A grace beyond what the clock can express ends with the day after tomorrow.
        now.checked_add(self.grace)
            .unwrap_or(now + Duration::from_secs(172_800))
    }

    fn end(&mut self, signal: i32, now: Instant) {
        if self.left > 0 {
            self.actions.push_back(Action::Signal(signal));
            // A stopped process takes no notice of anything but this.
            self.actions.push_back(Action::Signal(libc::SIGCONT));
        }
        self.phase = Phase::Ending {
            kill_at: self.after_grace(now),
        };
    }

    fn kill(&mut self) {
        self.actions.push_back(Action::Signal(libc::SIGKILL));
        self.phase = Phase::Killed;
    }

    fn describe(&self, rank: u32) -> String {
        match self.ranks.get(rank as usize) {
            Some(entry) => {
                let (pid, program) = (entry.pid, &self.programs[entry.app]);
                let host = &self.hosts[entry.host as usize];
                format!("rank {rank} (pid {pid} on {host}, {program})")
            }
            None => format!("rank {rank}"),
        }
    }

    /// A rank without a process; with its host where there are several.
    fn place(&self, rank: u32) -> String {
        match (self.hosts.as_slice(), self.ranks.get(rank as usize)) {
            ([_, _, ..], Some(entry)) => {
                format!("rank {rank} on {}", self.hosts[entry.host as usize])
            }
            _ => format!("rank {rank}"),
        }
    }
}

#[cfg(test)]
mod tests;
