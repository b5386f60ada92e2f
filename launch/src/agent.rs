//! The agent: what `oxmpi agent` does on a host, started by the head or by another agent through a
//! remote shell.
//!
//! It greets, learns its place in the tree, starts the agents below, says what its host is, and
//! then is a [`Node`] with its parent above: frames from there are carried out, what happens is
//! passed on. Its standard input and output are that connection. When it ends, for whatever reason,
//! so does everything below: that is what makes "no orphans" true on every host.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::time::Instant;

use crate::channel::{Inbox, Outbox};
use crate::environment;
use crate::frame::{Down, Hello, JobSpec, Up, WINDOW_BYTES};
use crate::job::LaunchError;
use crate::local_ranks::{Input, StartRanks};
use crate::node::Node;
use crate::sys;

/// Why an agent ended before its parent told it to.
#[derive(Debug, thiserror::Error)]
enum AgentError {
    /// Somebody typed the command.
    #[error(
        "the agent is started by mpiexec on the hosts of a job and speaks to it over standard input and output; there is nothing to type"
    )]
    Terminal,
    /// The connection to the parent is unusable.
    #[error("cannot hear from the parent: {0}")]
    Parent(String),
    /// The host cannot watch its ranks any more.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The system refused.
    #[error("cannot {what}: {error}")]
    System {
        what: &'static str,
        error: io::Error,
    },
}

/// Serves one job on this host; returns the exit status. What goes wrong is said on standard error,
/// which the parent passes on.
pub fn agent() -> u8 {
    match serve() {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("oxmpi agent: {error}");
            1
        }
    }
}

struct Agent {
    stdin: File,
    stdout: File,
    inbox: Inbox,
    outbox: Outbox,
    node: Node,
    name: String,
    host: u32,
    /// The parent has said that the job is over.
    told_to_end: bool,
    now: Instant,
}

fn serve() -> Result<(), AgentError> {
    let system = |what| move |error| AgentError::System { what, error };
    if io::IsTerminal::is_terminal(&io::stdin()) {
        return Err(AgentError::Terminal);
    }
    let (stdin, stdout) =
        sys::claim_standard_files().map_err(system("take standard input and output"))?;
    for fd in [&stdin, &stdout] {
        sys::set_nonblocking(fd.as_fd()).map_err(system("use standard input and output"))?;
    }
    let mut agent = Agent {
        stdin: stdin.into(),
        stdout: stdout.into(),
        inbox: Inbox::default(),
        outbox: Outbox::default(),
        node: Node::default(),
        name: oxmpi_join::host_name(),
        host: 0,
        told_to_end: false,
        now: Instant::now(),
    };
    agent.outbox.greet();
    while agent.turn()? {}
    Ok(())
}

impl Agent {
    /// Waits once and handles whatever happened. False: there is nothing left to do.
    fn turn(&mut self) -> Result<bool, AgentError> {
        // A parent that cannot be written to is about to be seen to have ended.
        if self.outbox.flush(&self.stdout).is_err() {
            return Ok(false);
        }
        if self.told_to_end && self.node.is_over() && self.outbox.is_empty() {
            return Ok(false);
        }
        let mut entries = vec![sys::poll_entry(self.stdin.as_fd(), libc::POLLIN)];
        if !self.outbox.is_empty() {
            entries.push(sys::poll_entry(self.stdout.as_fd(), libc::POLLOUT));
        }
        self.node.poll_entries(&mut entries);
        let due = self.node.poll_deadline();
        let wait = due.map(|due| due.saturating_duration_since(Instant::now()));
        sys::poll(&mut entries, wait).map_err(|error| AgentError::System {
            what: "wait for the ranks",
            error,
        })?;
        self.now = Instant::now();
        if entries[0].revents != 0 && !self.hear()? {
            // The end of the parent is the end of everything below it.
            return Ok(false);
        }
        self.node.handle_ready(self.now)?;
        while let Some(frame) = self.node.poll_up() {
            self.outbox.put(&frame);
        }
        Ok(true)
    }

    /// Carries out what the parent says. False: there is no parent any more.
    fn hear(&mut self) -> Result<bool, AgentError> {
        let open = self.inbox.fill(&self.stdin).unwrap_or(false);
        loop {
            let frame = self.inbox.next::<Down>();
            match frame.map_err(|error| AgentError::Parent(error.to_string()))? {
                Some(frame) => self.handle(frame),
                None => return Ok(open),
            }
        }
    }

    fn handle(&mut self, frame: Down) {
        match frame {
            Down::Grow(plan) => {
                self.host = plan.host;
                self.name.clone_from(&plan.name);
                self.node = Node::new(Some(plan.host));
                self.node.adopt_orphans();
                self.node.grow(&plan, sys::signal_mask(), self.now);
                self.outbox.put(&Up::Hello(hello(plan.host)));
            }
            Down::Run(spec) => {
                self.run(&spec);
                self.node.down(&Down::Run(spec), self.now);
            }
            other => {
                self.told_to_end |= other == Down::End;
                self.node.down(&other, self.now);
            }
        }
    }

    fn run(&mut self, spec: &JobSpec) {
        let mut inherited = environment::own();
        environment::overlay(&mut inherited, &spec.inherited);
        let started = self.node.start_ranks(StartRanks {
            spec,
            host: self.host,
            inherited: &inherited,
            input: Input::Fed(spec.stdin),
            window: WINDOW_BYTES,
            mask: sys::signal_mask(),
        });
        if let Err(error) = started {
            self.node.excuse(format!("host {}: {error}", self.name));
        }
    }
}

/// What this host is.
pub(crate) fn hello(host: u32) -> Hello {
    Hello {
        host,
        machine: machine(),
        cpus: oxmpi_join::usable_cpus(),
    }
}

/// A number for this machine: the kernel's boot id, which containers and namespaces on it share.
fn machine() -> u64 {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    // A kernel that does not tell: hosts of one name are one machine.
    let id = id.unwrap_or_else(|_| oxmpi_join::host_name());
    // FNV-1a, because it must be the same number in every process of every build.
    id.trim()
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
}
