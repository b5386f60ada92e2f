//! The head: the process that the user started, with the whole job in view.
//!
//! It is a [`Node`] with the user above: one thread that waits for ranks and agents, signals,
//! readers and the clock. It performs what `supervise` decides and passes output to the `outlet`. A
//! job comes up in two steps: all hosts answer (`Hello`), then all start their ranks (`Run`); on
//! one host there is nothing to wait for. There is no polling interval: it sleeps until a
//! descriptor is ready or a deadline is due. It never waits for a reader or a writer, so a signal
//! is always seen.

use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use crate::agent;
use crate::credit::{Credit, OWN_WINDOW_BYTES};
use crate::environment;
use crate::frame::{Down, Grow, Hello, Up};
use crate::hosts::{self, Placement, Spread};
use crate::job::{Job, LaunchError, Outcome, Output, Stdin};
use crate::job_spec;
use crate::local_ranks::{Input, StartRanks};
use crate::node::Node;
use crate::outlet::{Outlet, Style};
use crate::program;
use crate::stdin::Source;
use crate::supervise::{Action, RankDeath, Supervisor};
use crate::sys::{self, Signals};

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

/// When all ranks have ended well and a process they started still holds their output (`exec >
/// >(tee log)`), it gets this long to write the rest before it is killed.
const LINGER: Duration = Duration::from_millis(500);

/// How long hosts may keep silent between being told that the job is over and confirming it.
const CONFIRM: Duration = Duration::from_secs(10);

pub(crate) fn run(
    job: &Job,
    spread: &Spread,
    placement: Placement,
) -> Result<Outcome, LaunchError> {
    let begin = Instant::now();
    let mut head = Head::start(job, spread, placement, begin)?;
    head.watch()?;
    head.wind_up()?;
    let Head {
        node,
        supervisor,
        outlet,
        ..
    } = head;
    // Waits for the warden, so that nothing of the job is left when the caller goes on.
    drop(node);
    let (stdout, stderr) = outlet.captured();
    Ok(Outcome {
        code: supervisor.code(),
        signal: supervisor.signal(),
        wall: begin.elapsed(),
        stdout,
        stderr,
    })
}

struct Head<'a> {
    job: &'a Job,
    placement: Placement,
    node: Node,
    signals: Signals,
    supervisor: Supervisor,
    outlet: Outlet,
    source: Option<Source>,
    /// What each host is, as far as it has answered.
    hellos: Vec<Option<Hello>>,
    /// The ranks have been started.
    launched: bool,
    /// Hosts whose output has not ended.
    loud: Vec<bool>,
    credit: Credit,
    /// A fence has been reached: there are ranks that wait for others.
    joined: bool,
    /// Ranks that have ended and of which the others have not been told; how they died, if not
    /// after finalising MPI.
    departures: Vec<(u32, Option<RankDeath>)>,
    now: Instant,
}

impl<'a> Head<'a> {
    fn start(
        job: &'a Job,
        spread: &Spread,
        placement: Placement,
        now: Instant,
    ) -> Result<Head<'a>, LaunchError> {
        let settings = &job.settings;
        let style = Style {
            label: settings.label,
            time: settings.time,
            colour: settings.colour,
        };
        let outlet = match settings.output {
            Output::Inherit => Outlet::inherit(style, &settings.files)
                .map_err(LaunchError::system("use standard output and error"))?,
            Output::Capture => Outlet::capture(style),
        };
        let signals = Signals::take(&SIGNALS).map_err(LaunchError::system("take over signals"))?;
        let hosts = placement.hosts.len();
        let mut head = Head {
            job,
            node: Node::new(placement.here),
            signals,
            supervisor: Supervisor::new(job, &placement, now),
            outlet,
            source: None,
            hellos: vec![None; hosts],
            launched: false,
            loud: vec![true; hosts],
            credit: Credit::new(&placement),
            joined: false,
            departures: Vec::new(),
            placement,
            now,
        };
        if let Some(here) = head.placement.here {
            head.hellos[here as usize] = Some(match hosts {
                // There is nobody to share the machine with.
                1 => Hello {
                    host: here,
                    machine: 0,
                    cpus: oxmpi_join::usable_cpus(),
                },
                _ => agent::hello(here),
            });
        }
        head.grow(spread)?;
        // A command that cannot be executed is known by now.
        head.relay();
        head.launch()?;
        Ok(head)
    }

    /// Starts the agents of the other hosts.
    fn grow(&mut self, spread: &Spread) -> Result<(), LaunchError> {
        let here = self.placement.here;
        let hosts = (0..).zip(self.placement.hosts.iter().cloned());
        let below: Vec<(u32, String)> = hosts.filter(|host| Some(host.0) != here).collect();
        if below.is_empty() {
            return Ok(());
        }
        let plan = Grow {
            host: here.unwrap_or(0),
            name: String::new(),
            below,
            template: spread.template().words().to_vec(),
            agent: spread.agent_path()?,
            fanout: hosts::fanout() as u32,
            patience: spread.patience(),
            waited: Duration::ZERO,
        };
        self.node.grow(&plan, self.signals.before(), self.now);
        Ok(())
    }

    /// Starts the ranks once all hosts have answered.
    fn launch(&mut self) -> Result<(), LaunchError> {
        if self.launched || !self.supervisor.is_peaceful() {
            return Ok(());
        }
        let hellos: Option<Vec<Hello>> = self.hellos.iter().cloned().collect();
        let Some(hellos) = hellos else {
            return Ok(());
        };
        let several = self.placement.is_elsewhere();
        let (input, fed) = self.input()?;
        let spec = job_spec::job_spec(self.job, &self.placement, &hellos, fed)?;
        if let Some(host) = self.placement.here {
            self.node.start_ranks(StartRanks {
                spec: &spec,
                host,
                inherited: &environment::own(),
                input,
                window: OWN_WINDOW_BYTES,
                mask: self.signals.before(),
            })?;
        }
        self.launched = true;
        if several {
            self.node.down(&Down::Run(Box::new(spec)), self.now);
        }
        Ok(())
    }

    /// What ranks of this host read, and which ranks must be fed.
    fn input(&mut self) -> Result<(Input, Stdin), LaunchError> {
        let system = LaunchError::system("use standard input");
        let readers = self.job.settings.stdin;
        if readers == Stdin::Null {
            return Ok((Input::Fed(Stdin::Null), Stdin::Null));
        }
        let hosts = &self.placement.host_of;
        if let Stdin::Rank(rank) = readers
            && self.placement.here == hosts.get(rank as usize).copied()
            && !io::stdin().is_terminal()
        {
            let own = io::stdin().as_fd().try_clone_to_owned();
            return Ok((Input::Own(rank, own.map_err(system)?), Stdin::Null));
        }
        let ranks = (0..hosts.len() as u32).filter(|rank| readers.includes(*rank));
        self.source = Some(Source::new(ranks).map_err(system)?);
        Ok((Input::Fed(readers), readers))
    }

    /// Until all ranks have ended and, if they did so by themselves, their output has.
    fn watch(&mut self) -> Result<(), LaunchError> {
        let mut linger = None;
        loop {
            if !self.launched && !self.supervisor.is_peaceful() {
                self.supervisor.handle_cancelled();
            }
            if self.supervisor.is_over() {
                let until = *linger.get_or_insert(self.now + LINGER);
                let quiet = !self.loud.contains(&true) || self.now >= until;
                if quiet || !self.supervisor.is_peaceful() {
                    return Ok(());
                }
            }
            self.turn(linger)?;
        }
    }

    /// What is left is killed everywhere, the rest of the output is written.
    fn wind_up(&mut self) -> Result<(), LaunchError> {
        self.node.down(&Down::End, self.now);
        self.relay();
        let mut until = self.now + CONFIRM;
        while !self.node.is_over() {
            let heard = self.turn(Some(until))?;
            if heard || !self.outlet.is_empty() {
                // Somebody still speaks, or waits for a reader.
                until = self.now + CONFIRM;
            } else if self.now >= until {
                self.node.abandon(CONFIRM, self.now);
                self.relay();
                until = self.now + CONFIRM;
            }
        }
        if self.job.settings.exit_codes {
            self.outlet.say(&self.supervisor.ends());
        }
        while !self.outlet.is_empty() {
            self.turn(None)?;
        }
        Ok(())
    }

    /// Waits once and handles whatever happened. True: ranks or agents had something to say.
    fn turn(&mut self, until: Option<Instant>) -> Result<bool, LaunchError> {
        let mut entries = vec![sys::poll_entry(self.signals.fd(), libc::POLLIN)];
        let source = self.source.as_ref().and_then(Source::poll_entry);
        entries.extend(source);
        self.node.poll_entries(&mut entries);
        self.outlet.poll_entries(&mut entries);
        let due = [
            until,
            self.supervisor.poll_deadline(),
            self.node.poll_deadline(),
        ];
        let due = due.into_iter().flatten().min();
        let wait = due.map(|due| due.saturating_duration_since(Instant::now()));
        sys::poll(&mut entries, wait).map_err(LaunchError::system("wait for the ranks"))?;
        self.now = Instant::now();

        while let Some(signal) = self.signals.next() {
            self.handle_signal(signal);
        }
        if source.is_some() && entries[1].revents != 0 {
            self.read_source();
        }
        self.node.handle_ready(self.now)?;
        let heard = self.relay();
        self.launch()?;
        self.supervisor.handle_time(self.now);
        self.act();
        self.flush();
        Ok(heard)
    }

    fn handle_signal(&mut self, signal: i32) {
        let ends = matches!(
            signal,
            libc::SIGINT | libc::SIGTERM | libc::SIGHUP | libc::SIGQUIT
        );
        // All ranks have ended and only a reader is waited for: nobody waits for ever for who does
        // not read.
        let stalled = self.node.is_over() || !self.outlet.has_room();
        if ends && self.supervisor.is_over() && stalled {
            self.outlet.give_up();
        }
        if signal == libc::SIGCONT {
            self.source.iter_mut().for_each(Source::handle_continue);
        }
        self.supervisor.handle_signal(signal, self.now);
        self.act();
    }

    fn read_source(&mut self) {
        let Some(piece) = self.source.as_mut().and_then(Source::read) else {
            return;
        };
        if piece.is_empty() {
            self.source = None;
        }
        self.node.down(&Down::Stdin(piece), self.now);
    }

    /// Handles everything that has come up. False: there was nothing.
    fn relay(&mut self) -> bool {
        let mut heard = false;
        while let Some(frame) = self.node.poll_up() {
            heard = true;
            self.handle(frame);
            self.act();
        }
        heard
    }

    fn handle(&mut self, frame: Up) {
        let now = self.now;
        match frame {
            Up::Hello(hello) => {
                let host = hello.host as usize;
                self.hellos
                    .iter_mut()
                    .skip(host)
                    .take(1)
                    .for_each(|place| *place = Some(hello.clone()));
            }
            Up::Lost { hosts, text } => {
                hosts.iter().for_each(|host| self.quieten(*host));
                self.close_input(|host| hosts.contains(&host));
                self.supervisor.handle_lost(&hosts, text, now);
            }
            Up::Started { rank, pid } => self.supervisor.handle_started(rank, pid),
            Up::Failed { rank, stage, errno } => {
                let machine = match errno {
                    libc::ENOEXEC => self.machine_of(rank),
                    _ => None,
                };
                let how = (stage, errno);
                self.supervisor
                    .handle_failed(rank, how, machine.as_deref(), now);
            }
            Up::Backtrace { rank, lines } => self.supervisor.handle_backtrace(rank, lines),
            Up::Ended { rank, ended } => {
                self.supervisor.handle_end(rank, ended, now);
                self.departures.push((rank, ended.death(rank)));
                self.tell_departures();
            }
            Up::WardenLost { host } => {
                self.close_input(|lost| lost == host);
                self.supervisor.handle_lost_warden(host, now);
            }
            Up::Output { rank, which, bytes } => {
                if let Some(&host) = self.placement.host_of.get(rank as usize) {
                    self.credit.handle_output(host, bytes.len());
                }
                self.outlet.put(rank, which, &bytes);
            }
            Up::Quiet { host } | Up::Over { host } => self.quieten(host),
            Up::StdinTaken { rank, bytes } => {
                let source = self.source.iter_mut();
                source.for_each(|source| source.handle_taken(rank, bytes));
            }
            Up::StdinClosed { rank } => self.close_input_of(rank),
            Up::Fence(all) => {
                self.joined = true;
                self.tell_departures();
                self.node.down(&Down::FenceOver(all), now);
            }
            Up::Deserted(_) => {}
            Up::Abort { rank, code, text } => self.supervisor.handle_abort(rank, code, &text, now),
            Up::Remark { text, .. } => self.outlet.say(&text),
        }
    }

    /// The processor that a rank's program is for, if it is another one.
    fn machine_of(&self, rank: u32) -> Option<String> {
        let app = self.job.apps.get(self.supervisor.app(rank)?)?;
        program::machine(&app.executable.path)
    }

    /// Ranks of hosts that are lost read no more, and stop no other rank's reading.
    fn close_input(&mut self, is_lost: impl Fn(u32) -> bool) {
        for rank in 0..self.placement.host_of.len() {
            if is_lost(self.placement.host_of[rank]) {
                self.close_input_of(rank as u32);
            }
        }
    }

    fn close_input_of(&mut self, rank: u32) {
        let source = self.source.as_mut();
        if source.is_some_and(|source| !source.handle_closed(rank)) {
            self.source = None;
        }
    }

    /// Tells all hosts which ranks have ended, if ranks have joined and the job goes on. Ranks that
    /// are not wired up yet learn of it before their first fence is over. That a rank has finalised
    /// is seen on its own host without the launcher.
    fn tell_departures(&mut self) {
        if !self.joined || !self.supervisor.is_peaceful() {
            return;
        }
        let one_host = self.placement.hosts.len() == 1;
        for (rank, death) in std::mem::take(&mut self.departures) {
            let told = match death {
                Some(death) => Down::Died { rank, death },
                None if one_host => continue,
                None => Down::Finished { rank },
            };
            self.node.down(&told, self.now);
        }
    }

    fn quieten(&mut self, host: u32) {
        let loud = self.loud.iter_mut().skip(host as usize).take(1);
        loud.for_each(|loud| *loud = false);
    }

    /// Does what the supervisor asks for.
    fn act(&mut self) {
        while let Some(action) = self.supervisor.poll_action() {
            match action {
                Action::Signal(signal) => self.node.down(&Down::Signal(signal), self.now),
                Action::Say(text) => self.outlet.say(&text),
                Action::Look if !self.job.settings.wants_backtraces() => {}
                Action::Look => {
                    // What is known already stands before what takes time to find out.
                    self.flush();
                    self.node.down(&Down::Look, self.now);
                }
                Action::StopSelf => {
                    self.flush();
                    sys::stop_self();
                }
            }
        }
    }

    /// Writes what readers take, and lets those go on whose output found room.
    fn flush(&mut self) {
        if let Err(error) = self.outlet.flush() {
            self.supervisor.handle_broken_output(&error, self.now);
            self.act();
        }
        while self.outlet.has_room()
            && let Some((host, bytes)) = self.credit.poll()
        {
            self.node.down(&Down::Credit { host, bytes }, self.now);
        }
    }
}
