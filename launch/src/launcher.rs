//! The launcher's event loop: one thread that waits for the warden, signals, output and the clock.
//!
//! It performs what `conduct` decides and moves bytes from the ranks' pipes (`lines`) to the `outlet`. There
//! is no polling interval: it sleeps until a descriptor is ready or a deadline is due. It never waits for a
//! reader or a writer, so a signal is always seen.

use std::collections::VecDeque;
use std::io::{self, IsTerminal, PipeReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use oxmpi_ports::Segment;

use crate::bind;
use crate::conduct::{Action, Conduct, End};
use crate::job::{Job, LaunchError, Outcome, Output, Stdin};
use crate::lines::Lines;
use crate::outlet::{Outlet, Which};
use crate::plan::{Ends, Plan};
use crate::record::{Command, Report};
use crate::stdin::Relay;
use crate::sys::{self, Epoll, Signals};
use crate::warden::Warden;

/// Signals that are passed to the ranks.
const SIGNALS: [i32; 8] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGTSTP,
    libc::SIGCONT,
];

/// When all ranks have ended well and a process they started still holds their output (`exec > >(tee log)`),
/// it gets this long to write the rest before it is killed.
const LINGER: Duration = Duration::from_millis(500);

/// Taken from one pipe at a time, so that a rank that floods does not starve the others.
const READ_BYTES: usize = 64 * 1024;

/// Descriptors are created and handed to the warden one job at a time: a warden that is forked while
/// another job is half set up would hold that job's pipes open for its own lifetime.
static STARTING: Mutex<()> = Mutex::new(());

pub(crate) fn run(job: &Job, ranks: u32) -> Result<Outcome, LaunchError> {
    let begin = Instant::now();
    let segment = Segment::create(ranks, bind::usable_cpus())
        .map_err(|error| LaunchError::Segment { ranks, error })?;
    let mut launcher = Launcher::start(job, ranks, &segment, begin)?;
    launcher.watch()?;
    launcher.wind_up()?;
    let Launcher {
        warden,
        conduct,
        outlet,
        ..
    } = launcher;
    // Waits for the warden, so that nothing of the job is left when the caller goes on.
    drop(warden);
    let (stdout, stderr) = outlet.captured();
    Ok(Outcome {
        code: conduct.code(),
        signal: conduct.signal(),
        wall: begin.elapsed(),
        stdout,
        stderr,
    })
}

/// One output stream of one rank.
struct Stream {
    rank: u32,
    which: Which,
    /// None when it has ended.
    pipe: Option<PipeReader>,
    lines: Lines,
}

struct Launcher<'a> {
    segment: &'a Segment,
    warden: Warden,
    warden_lives: bool,
    signals: Signals,
    conduct: Conduct,
    outlet: Outlet,
    relay: Option<Relay>,
    /// Two per rank, standard output first.
    streams: Vec<Stream>,
    streams_open: usize,
    /// The streams' pipes; one descriptor to wait for, however many ranks there are.
    readable: Epoll,
    /// Streams that hold an unfinished line, by the time it is due; entries may be out of date.
    partial: VecDeque<(Instant, usize)>,
    scratch: Vec<u8>,
    now: Instant,
}

impl<'a> Launcher<'a> {
    fn start(
        job: &Job,
        ranks: u32,
        segment: &'a Segment,
        now: Instant,
    ) -> Result<Launcher<'a>, LaunchError> {
        let settings = &job.settings;
        let outlet = match settings.output {
            Output::Inherit => Outlet::inherit(settings.label)
                .map_err(LaunchError::system("use standard output and error"))?,
            Output::Capture => Outlet::capture(settings.label),
        };
        let signals = Signals::take(&SIGNALS).map_err(LaunchError::system("take over signals"))?;
        // Both ends of two pipes per rank, and a few dozen for everything else.
        let needed = u64::from(ranks) * 4 + 64;
        let open_files = sys::raise_open_files(needed)
            .map_err(LaunchError::system("read the limit of open files"))?;
        let too_few = |error: io::Error| match error.raw_os_error() {
            Some(libc::EMFILE) => LaunchError::OpenFiles {
                ranks,
                needed,
                limit: open_files.rlim_max,
            },
            _ => LaunchError::system("make the ranks' pipes")(error),
        };

        // A panic elsewhere while holding the lock leaves nothing half done that matters here.
        let starting = STARTING.lock().unwrap_or_else(|broken| broken.into_inner());
        let (relay, stdin) = first_stdin(settings.stdin).map_err(too_few)?;
        let (streams, outputs) = pipes(ranks).map_err(too_few)?;
        let ends = Ends {
            first_stdin: stdin,
            null: null().map_err(too_few)?,
            outputs,
        };
        let readable = Epoll::new().map_err(too_few)?;
        for (key, stream) in streams.iter().enumerate() {
            if let Some(pipe) = &stream.pipe {
                readable
                    .add(pipe.as_fd(), key as u64)
                    .map_err(LaunchError::system("watch the ranks' pipes"))?;
            }
        }
        let plan = Plan::new(job, segment.fd(), ends, signals.before(), open_files)?;
        let warden = Warden::start(plan).map_err(LaunchError::system("fork the warden process"))?;
        drop(starting);

        Ok(Launcher {
            segment,
            warden,
            warden_lives: true,
            signals,
            conduct: Conduct::new(job, sys::host_name(), now),
            outlet,
            relay,
            streams_open: streams.len(),
            streams,
            readable,
            partial: VecDeque::new(),
            scratch: vec![0; READ_BYTES],
            now,
        })
    }

    /// Until all ranks have ended and, if they did so by themselves, their output has.
    fn watch(&mut self) -> Result<(), LaunchError> {
        let mut linger = None;
        loop {
            if self.conduct.is_over() {
                let until = *linger.get_or_insert(self.now + LINGER);
                let quiet = self.streams_open == 0 || self.now >= until;
                if quiet || !self.conduct.is_peaceful() || !self.warden_lives {
                    return Ok(());
                }
            }
            self.turn(linger)?;
        }
    }

    /// The warden kills what is left, the rest of the output is written.
    fn wind_up(&mut self) -> Result<(), LaunchError> {
        self.warden.tell(Command::End);
        while self.warden_lives {
            self.turn(None)?;
        }
        // Nobody writes any more. What is in the pipes is all there will be.
        for key in 0..self.streams.len() {
            while self.pump(key) {
                self.drain()?;
            }
            self.close(key);
        }
        self.drain()
    }

    /// Writes what is queued, however long readers take; a signal ends the waiting.
    fn drain(&mut self) -> Result<(), LaunchError> {
        while !self.outlet.is_empty() {
            let asked = std::iter::from_fn(|| self.signals.next()).any(|signal| {
                matches!(
                    signal,
                    libc::SIGINT | libc::SIGTERM | libc::SIGHUP | libc::SIGQUIT
                )
            });
            if asked {
                self.outlet.give_up();
                return Ok(());
            }
            self.flush();
            if !self.outlet.is_empty() {
                let mut entries = vec![sys::poll_entry(self.signals.fd(), libc::POLLIN)];
                self.outlet.poll_entries(&mut entries);
                sys::poll(&mut entries, None).map_err(LaunchError::system("wait for readers"))?;
            }
        }
        Ok(())
    }

    /// Waits once and handles whatever happened.
    fn turn(&mut self, until: Option<Instant>) -> Result<(), LaunchError> {
        let has_room = self.outlet.has_room();
        let mut entries = vec![sys::poll_entry(self.signals.fd(), libc::POLLIN)];
        if self.warden_lives {
            entries.push(sys::poll_entry(self.warden.fd(), libc::POLLIN));
        }
        if has_room && self.streams_open > 0 {
            entries.push(sys::poll_entry(self.readable.fd(), libc::POLLIN));
        }
        let relay = self.relay.as_ref().and_then(Relay::poll_entry);
        entries.extend(relay);
        let relay = relay.map(|_| entries.len() - 1);
        self.outlet.poll_entries(&mut entries);

        let due = [
            until,
            self.conduct.poll_deadline(),
            self.partial.front().map(|front| front.0),
        ];
        let due = due.into_iter().flatten().min();
        let wait = due.map(|due| due.saturating_duration_since(Instant::now()));
        sys::poll(&mut entries, wait).map_err(LaunchError::system("wait for the ranks"))?;
        self.now = Instant::now();

        while let Some(signal) = self.signals.next() {
            if signal == libc::SIGCONT {
                self.relay.iter_mut().for_each(Relay::handle_continue);
            }
            self.conduct.handle_signal(signal, self.now);
            self.act();
        }
        if relay.is_some_and(|index| entries[index].revents != 0)
            && !self.relay.as_mut().is_some_and(Relay::handle_ready)
        {
            self.relay = None;
        }
        if has_room {
            self.pump_ready()?;
        }
        self.handle_reports()?;
        self.show_partial();
        self.conduct.handle_time(self.now);
        self.act();
        self.flush();
        Ok(())
    }

    /// Reads what the warden tells.
    fn handle_reports(&mut self) -> Result<(), LaunchError> {
        if !self.warden_lives {
            return Ok(());
        }
        let mut reports = Vec::new();
        let lives = self.warden.reports(&mut reports);
        let lives = lives.map_err(LaunchError::system("hear from the warden process"))?;
        for report in reports {
            self.handle_report(report);
            self.act();
        }
        if !lives {
            self.warden_lives = false;
            // What the kernel does not kill for us: children of ranks, in the ranks' groups.
            for pid in self.conduct.running() {
                sys::signal_group(pid, libc::SIGKILL);
            }
            self.conduct.handle_lost_warden();
            self.act();
        }
        Ok(())
    }

    fn handle_report(&mut self, report: Report) {
        match report {
            Report::Started { rank, pid } => self.conduct.handle_started(rank, pid),
            Report::Failed { rank, stage, errno } => {
                self.conduct.handle_failed(rank, stage, errno, self.now);
            }
            Report::Ended { rank, status } => {
                let end = End::from_wait(status);
                if end.code() != 0 {
                    // Its last words come before ours about it.
                    for key in [rank as usize * 2, rank as usize * 2 + 1] {
                        while self.outlet.has_room() && self.pump(key) {}
                        self.show(key);
                    }
                }
                let port = self.segment.state_at_end(rank);
                let abort = self.segment.abort_code();
                self.conduct.handle_end(rank, end, port, abort, self.now);
            }
        }
    }

    /// Does what the conduct asks for.
    fn act(&mut self) {
        while let Some(action) = self.conduct.poll_action() {
            match action {
                Action::Signal(signal) => self.warden.tell(Command::Signal(signal)),
                Action::MarkDead(rank, death) => self.segment.mark_dead(rank, death),
                Action::Say(text) => self.outlet.say(&text),
                Action::StopSelf => {
                    self.flush();
                    sys::stop_self();
                }
            }
        }
    }

    fn pump_ready(&mut self) -> Result<(), LaunchError> {
        let mut keys = Vec::new();
        if self.streams_open > 0 {
            self.readable
                .ready(&mut keys)
                .map_err(LaunchError::system("watch the ranks' pipes"))?;
        }
        for key in keys {
            self.pump(key as usize);
        }
        Ok(())
    }

    /// Takes one piece from a rank's stream. False: there is nothing more at the moment, or ever.
    fn pump(&mut self, key: usize) -> bool {
        let stream = &mut self.streams[key];
        let Some(pipe) = &mut stream.pipe else {
            return false;
        };
        match pipe.read(&mut self.scratch) {
            Ok(0) => {
                self.close(key);
                false
            }
            Ok(count) => {
                let (rank, which, outlet) = (stream.rank, stream.which, &mut self.outlet);
                let known = stream.lines.deadline();
                stream
                    .lines
                    .handle_bytes(&self.scratch[..count], self.now, |block| {
                        outlet.put(rank, which, block);
                    });
                let due = stream.lines.deadline();
                if let Some(due) = due.filter(|_| due != known) {
                    self.partial.push_back((due, key));
                }
                true
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => true,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => false,
            Err(_) => {
                self.close(key);
                false
            }
        }
    }

    fn close(&mut self, key: usize) {
        self.show(key);
        if self.streams[key].pipe.take().is_some() {
            self.streams_open -= 1;
        }
    }

    /// Shows the unfinished line of a stream.
    fn show(&mut self, key: usize) {
        let (stream, outlet) = (&mut self.streams[key], &mut self.outlet);
        let (rank, which) = (stream.rank, stream.which);
        stream.lines.flush(|block| outlet.put(rank, which, block));
    }

    /// Shows unfinished lines whose time has come.
    fn show_partial(&mut self) {
        while let Some(&(due, key)) = self.partial.front() {
            // Entries whose line has ended meanwhile are dropped without waiting for their time.
            let current = self.streams[key].lines.deadline() == Some(due);
            if current && due > self.now {
                break;
            }
            self.partial.pop_front();
            if current {
                self.show(key);
            }
        }
    }

    fn flush(&mut self) {
        if let Err(error) = self.outlet.flush() {
            self.conduct.handle_broken_output(&error, self.now);
            self.act();
        }
    }
}

/// What rank 0 reads, and the relay if it takes one. None: the launcher's own standard input.
fn first_stdin(stdin: Stdin) -> io::Result<(Option<Relay>, Option<OwnedFd>)> {
    match stdin {
        Stdin::Null => Ok((None, Some(null()?))),
        Stdin::Inherit if io::stdin().is_terminal() => {
            let (reader, writer) = io::pipe()?;
            Ok((Some(Relay::new(writer)?), Some(reader.into())))
        }
        Stdin::Inherit => Ok((None, None)),
    }
}

fn null() -> io::Result<OwnedFd> {
    Ok(std::fs::File::open("/dev/null")?.into())
}

/// The launcher's and the ranks' ends of the output pipes.
#[allow(clippy::type_complexity)]
fn pipes(ranks: u32) -> io::Result<(Vec<Stream>, Vec<(OwnedFd, OwnedFd)>)> {
    let mut streams = Vec::with_capacity(ranks as usize * 2);
    let mut ends = Vec::with_capacity(ranks as usize);
    for rank in 0..ranks {
        let mut pipe = |which| -> io::Result<OwnedFd> {
            let (reader, writer) = io::pipe()?;
            sys::set_nonblocking(reader.as_fd())?;
            streams.push(Stream {
                rank,
                which,
                pipe: Some(reader),
                lines: Lines::default(),
            });
            Ok(writer.into())
        };
        let stdout = pipe(Which::Stdout)?;
        let stderr = pipe(Which::Stderr)?;
        ends.push((stdout, stderr));
    }
    Ok((streams, ends))
}
