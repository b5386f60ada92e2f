//! A connection to an agent: the remote shell's process, frames over its standard input and output.
//!
//! Started by the head or by the agent above in the tree. It speaks for its host and all hosts
//! below that: the agent's words leave as [`Up`] frames, and when the agent, the shell or the
//! connection ends too early, [`Up::Lost`] says so once, with the command and what it printed.
//! Ending is always the same: close its standard input; a process that does not end by itself soon
//! is killed.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::os::fd::{AsFd, RawFd};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use crate::channel::{Greeting, Inbox, Outbox};
use crate::frame::{Down, Grow, Up};
use crate::hosts::Template;
use crate::shell::{Shell, describe};
use crate::sys;
use crate::tree::Limb;

/// Between the end of its output and the end of the process, or between being told and ending.
const LEAVE: Duration = Duration::from_secs(5);
/// What is kept of the standard error of a shell that has not answered yet: its last words.
const WORDS_BYTES_MAX: usize = 4096;
/// What is shown of output that is no agent's.
const NOISE_SHOWN_BYTES: usize = 40;
/// What is passed on of the standard error of a connection in its lifetime; nobody waits for who
/// floods.
const REMARK_BYTES_MAX: usize = 64 * 1024;

/// A connection to an agent.
pub(crate) struct Branch {
    name: String,
    /// The agent's own host first.
    hosts: Vec<u32>,
    /// The names of the others.
    below: Vec<String>,
    /// As the user could type it.
    command: String,
    shell: Option<Shell>,
    inbox: Inbox,
    outbox: Outbox,
    state: State,
    /// What is said to the agent when it has greeted.
    grow: Option<Grow>,
    patience: Duration,
    /// Unfinished or unanswered lines of standard error.
    words: Vec<u8>,
    remarked: usize,
    /// Those of `hosts` that have not said that nothing is left, and have not been lost.
    left: Vec<u32>,
}

/// Where the connection is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The agent has not greeted.
    Awaited { until: Instant },
    /// Frames go both ways.
    Up,
    /// It has ended, or is to end: wait for the process, so that it can be said how, and kill it
    /// then.
    Leaving { kill_at: Instant },
    /// Nothing is left of it here.
    Gone,
}

impl Branch {
    /// Starts the agent of a limb with the signal mask `mask`. A command that cannot be executed is
    /// a branch that is lost at once.
    pub(crate) fn start(
        limb: Limb,
        plan: &Grow,
        mask: libc::sigset_t,
        now: Instant,
        up: &mut VecDeque<Up>,
    ) -> Branch {
        let template = Template::from_words(plan.template.clone());
        let words = template.command(&limb.host.1, &plan.agent);
        let mut branch = Branch {
            name: limb.host.1.clone(),
            hosts: [limb.host.0]
                .into_iter()
                .chain(limb.below.iter().map(|host| host.0))
                .collect(),
            below: limb.below.iter().map(|host| host.1.clone()).collect(),
            command: words.join(" "),
            shell: None,
            inbox: Inbox::default(),
            outbox: Outbox::default(),
            state: State::Awaited {
                // A patience beyond what the clock can express is a day.
                until: now
                    .checked_add(plan.patience.saturating_sub(plan.waited))
                    .unwrap_or(now + Duration::from_secs(86_400)),
            },
            grow: Some(Grow {
                host: limb.host.0,
                name: limb.host.1,
                below: limb.below,
                ..plan.clone()
            }),
            patience: plan.patience,
            words: Vec::new(),
            remarked: 0,
            left: Vec::new(),
        };
        branch.left.clone_from(&branch.hosts);
        match Shell::start(&words, mask) {
            Ok(shell) => branch.shell = Some(shell),
            Err(error) => {
                let text = format!(
                    "cannot start anything on host {}: cannot execute {}: {error}; --launcher or OXMPI_LAUNCHER says how hosts are reached",
                    branch.name, words[0]
                );
                branch.state = State::Gone;
                branch.lose(text, up);
            }
        }
        branch
    }

    /// Whether frames for `host` go this way.
    pub(crate) fn leads_to(&self, host: u32) -> bool {
        self.hosts.contains(&host)
    }

    /// Its process has ended and been waited for.
    pub(crate) fn is_gone(&self) -> bool {
        self.state == State::Gone
    }

    /// All its hosts have said that nothing is left of the job.
    pub(crate) fn is_over(&self) -> bool {
        self.left.is_empty()
    }

    /// The highest of its descriptors.
    pub(crate) fn highest(&self) -> Option<RawFd> {
        self.shell.as_ref()?.highest()
    }

    /// The process of the remote shell.
    pub(crate) fn pid(&self) -> Option<i32> {
        self.shell.as_ref().map(Shell::pid)
    }

    /// Its agent has not greeted yet.
    pub(crate) fn is_awaited(&self) -> bool {
        matches!(self.state, State::Awaited { .. })
    }

    pub(crate) fn send(&mut self, frame: &Down) {
        if self.state == State::Up {
            self.outbox.put(frame);
        }
    }

    /// The agent is to end, and what is below it: its input ends.
    pub(crate) fn leave(&mut self, now: Instant) {
        if let Some(shell) = &mut self.shell {
            shell.stdin = None;
        }
        if matches!(self.state, State::Awaited { .. } | State::Up) {
            self.state = State::Leaving {
                kill_at: now + LEAVE,
            };
        }
    }

    /// Nobody waits for it any more: it is killed, and nothing is said about it.
    pub(crate) fn give_up(&mut self, now: Instant) {
        self.leave(now);
        self.left.clear();
        if let State::Leaving { kill_at } = &mut self.state {
            *kill_at = now;
        }
    }

    /// Its hosts were told that the job is over and have not confirmed it.
    pub(crate) fn abandon(&mut self, after: Duration, now: Instant, up: &mut VecDeque<Up>) {
        let seconds = after.as_secs_f64();
        let text = format!(
            "host {} has not confirmed the end of the job within {seconds} s; what runs there ends when its agent notices",
            self.name
        );
        self.lose(text, up);
        self.give_up(now);
    }

    pub(crate) fn poll_entries(&self, entries: &mut Vec<libc::pollfd>) {
        let Some(shell) = &self.shell else { return };
        let stdout = shell.stdout.as_ref().map(AsFd::as_fd);
        let stderr = shell.stderr.as_ref().map(AsFd::as_fd);
        let ended = shell.ended.as_ref().map(AsFd::as_fd);
        let readable = [stdout, stderr, ended].into_iter().flatten();
        entries.extend(readable.map(|fd| sys::poll_entry(fd, libc::POLLIN)));
        if let (Some(stdin), false) = (&shell.stdin, self.outbox.is_empty()) {
            entries.push(sys::poll_entry(stdin.as_fd(), libc::POLLOUT));
        }
    }

    pub(crate) fn poll_deadline(&self) -> Option<Instant> {
        match self.state {
            State::Awaited { until } => Some(until),
            State::Leaving { kill_at } => Some(kill_at),
            State::Up | State::Gone => None,
        }
    }

    /// Moves what can be moved and notices ends.
    pub(crate) fn handle_ready(&mut self, now: Instant, up: &mut VecDeque<Up>) {
        if self.state == State::Gone {
            return;
        }
        // Asked before reading: what it wrote before its end is then in the pipe.
        let status = self.shell.as_mut().and_then(Shell::status);
        self.hear_words(up);
        let open = self.hear(now, up);
        self.write();
        if let Some(status) = status {
            return self.bury(Some(status), up);
        }
        match self.state {
            State::Awaited { until } if now >= until => {
                let text = format!(
                    "host {} has not answered within {} s (--launch-timeout): {}{}",
                    self.name,
                    self.patience.as_secs_f64(),
                    self.command,
                    self.printed()
                );
                self.lose(text, up);
                self.kill(up);
            }
            State::Leaving { kill_at } if now >= kill_at => self.kill(up),
            State::Awaited { .. } | State::Up if !open => self.leave(now),
            _ => {}
        }
    }

    /// Writes what can be written now. That nobody reads is noticed as the end of what is read.
    pub(crate) fn write(&mut self) {
        let shell = self.shell.as_mut();
        if let Some(stdin) = shell.and_then(|shell| shell.stdin.as_mut()) {
            let _ = self.outbox.flush(stdin);
        }
    }

    /// Reads frames. False: there will be no more.
    fn hear(&mut self, now: Instant, up: &mut VecDeque<Up>) -> bool {
        let Some(stdout) = self.shell.as_mut().and_then(|shell| shell.stdout.as_mut()) else {
            return false;
        };
        let open = matches!(self.inbox.fill(stdout), Ok(true));
        if self.grow.is_some() && matches!(self.state, State::Leaving { .. }) {
            // It ends, or is to end, before it has greeted: what it sends is of use for messages
            // alone.
            if self.inbox.greeting() == Greeting::Noise {
                self.stop_reading(now);
            }
            return open;
        }
        if let State::Awaited { until } = self.state {
            match self.inbox.greeting() {
                Greeting::Waiting => return open,
                Greeting::Ours => {
                    self.state = State::Up;
                    self.words.clear();
                    if let Some(mut grow) = self.grow.take() {
                        let left = until.saturating_duration_since(now);
                        grow.waited = grow.patience.saturating_sub(left);
                        self.send(&Down::Grow(grow));
                    }
                }
                Greeting::Foreign(version) => {
                    let own = env!("CARGO_PKG_VERSION");
                    let text = format!(
                        "host {} runs OxMPI {version} and this is {own}, they do not understand each other: install the same version on both or name another one with --agent ({})",
                        self.name, self.command
                    );
                    self.lose(text, up);
                    self.stop_reading(now);
                    return false;
                }
                Greeting::Noise => {
                    let text = format!(
                        "host {} sends something else than an agent would, beginning with {:?}: {}; run that command by hand to see all of it, silence what login scripts print, or name another command with --launcher",
                        self.name,
                        self.inbox.first(NOISE_SHOWN_BYTES),
                        self.command,
                    );
                    self.lose(text, up);
                    self.stop_reading(now);
                    return false;
                }
            }
        }
        loop {
            match self.inbox.next::<Up>() {
                Ok(Some(frame)) => {
                    match &frame {
                        Up::Over { host } => self.left.retain(|left| left != host),
                        Up::Lost { hosts, .. } => self.left.retain(|left| !hosts.contains(left)),
                        _ => {}
                    }
                    up.push_back(frame);
                }
                Ok(None) => return open,
                Err(error) => {
                    let text = format!("lost host {}: its agent sent {error}", self.name);
                    self.lose(text, up);
                    self.stop_reading(now);
                    return false;
                }
            }
        }
    }

    /// What comes from there makes no sense, and more of it would not either: nothing is read any
    /// more, and the command is killed at once.
    fn stop_reading(&mut self, now: Instant) {
        self.inbox = Inbox::default();
        if let Some(shell) = &mut self.shell {
            shell.stdout = None;
        }
        self.give_up(now);
    }

    /// Standard error: kept until the agent greets, then passed on line by line.
    fn hear_words(&mut self, up: &mut VecDeque<Up>) {
        let Some(stderr) = self.shell.as_mut().and_then(|shell| shell.stderr.as_mut()) else {
            return;
        };
        let mut bytes = [0; WORDS_BYTES_MAX];
        let ended = match stderr.read(&mut bytes) {
            Ok(count) => {
                self.words.extend_from_slice(&bytes[..count]);
                count == 0
            }
            Err(error) => !matches!(
                error.kind(),
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
            ),
        };
        if let Some(shell) = self.shell.as_mut().filter(|_| ended) {
            shell.stderr = None;
        }
        if self.state == State::Up {
            let cut = self.words.iter().rposition(|byte| *byte == b'\n');
            let cut = cut.map_or(0, |last| last + 1);
            let cut = if ended || self.words.len() > WORDS_BYTES_MAX {
                self.words.len()
            } else {
                cut
            };
            let whole: Vec<u8> = self.words.drain(..cut).collect();
            self.remarked += whole.len();
            if self.remarked <= REMARK_BYTES_MAX {
                let text = String::from_utf8_lossy(&whole);
                up.extend(text.lines().map(|line| Up::Remark {
                    host: self.hosts[0],
                    text: format!("host {}: {line}", self.name),
                }));
            }
        } else if self.words.len() > WORDS_BYTES_MAX {
            let surplus = self.words.len() - WORDS_BYTES_MAX;
            self.words.drain(..surplus);
        }
    }

    /// What the command printed before it failed, as the end of a message.
    fn printed(&self) -> String {
        let words = String::from_utf8_lossy(&self.words);
        let noise = self.inbox.noise();
        let lines = words.lines().chain(noise.lines());
        let lines = lines.map(str::trim).filter(|line| !line.is_empty());
        let lines: Vec<String> = lines
            // What comes from elsewhere must not command the user's terminal.
            .map(|line| line.chars().filter(|c| !c.is_control()).take(400).collect())
            .collect();
        match lines.len() {
            0 => String::new(),
            count => format!(
                "; it said: {}",
                lines[count.saturating_sub(4)..].join(" / ")
            ),
        }
    }

    fn kill(&mut self, up: &mut VecDeque<Up>) {
        let status = self.shell.as_mut().map(Shell::kill);
        self.bury(status, up);
    }

    /// The process is gone: says how, unless it had nothing left to do.
    fn bury(&mut self, status: Option<ExitStatus>, up: &mut VecDeque<Up>) {
        let how = status.map_or_else(|| "ended".to_owned(), describe);
        let text = if self.grow.is_some() {
            format!(
                "cannot start an agent on host {}: {} {how}{}",
                self.name,
                self.command,
                self.printed()
            )
        } else {
            format!("lost host {}: {} {how}", self.name, self.command)
        };
        self.lose(text, up);
        self.shell = None;
        self.state = State::Gone;
    }

    /// Reports hosts that are out of reach, once, unless they have nothing left to do.
    fn lose(&mut self, mut text: String, up: &mut VecDeque<Up>) {
        if self.is_over() {
            return;
        }
        let hosts = std::mem::take(&mut self.left);
        if self.grow.is_none() && !self.below.is_empty() {
            text += &format!("; with it {}, reached through it", self.below.join(", "));
        }
        up.push_back(Up::Lost { hosts, text });
    }
}

impl Drop for Branch {
    /// Whatever happened, no process of ours is left. Whoever drops several has told all to leave
    /// before.
    fn drop(&mut self) {
        self.leave(Instant::now());
        if let Some(shell) = self.shell.take() {
            shell.end_within(LEAVE);
        }
    }
}
