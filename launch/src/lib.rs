//! Starting a job and wiring it up.
//!
//! A [`Job`] says what is to run and where; [`Job::run`] starts its ranks, relays their output line
//! by line and comes back with an [`Outcome`] when nothing of the job is left. There are no files,
//! no daemon and no open ports. Four kinds of processes take part:
//!
//! - the head (this code, in the caller's process): output, signals, time-outs, what to say;
//! - agents, one on every other host ([`agent`]), started through ssh or any other command as a
//!   tree, connected by the standard input and output of that command;
//! - wardens, one small forked process per host: parent of the ranks there, adopts what they leave
//!   behind, and kills every descendant when the head or agent above it ends or dies, `kill -9`
//!   included;
//! - the ranks, each in a process group of its own, bound to the warden's life by the kernel.
//!
//! Head and agents are the same thing, a `node` (`local_ranks` and `branch`es to the agents below),
//! with the user above the one and a connection above the other. `frame` is what they say to each
//! other. On one host there is a head with its ranks and nothing else.
//!
//! The other end, what a rank does with all this, is the layer below, `join`. The layer also uses
//! `ports` for the shared segment of each host and `pmi` for what ranks ask their launcher.
//! Decisions (`supervise`, `hosts`, `tree`, `lines`, `program`) are apart from system calls (`sys`,
//! `tracee`, `warden`), which hold all the unsafe code.

#![deny(unsafe_code)]

mod agent;
mod bind;
mod branch;
mod channel;
mod crash;
mod credit;
mod environment;
mod frame;
mod head;
mod hosts;
mod job;
mod job_spec;
mod lines;
mod local_ranks;
mod node;
mod outlet;
mod plan;
mod pmi_sockets;
mod program;
#[cfg(any(test, fuzzing))]
pub mod properties;
mod record;
mod run;
mod shell;
mod stdin;
mod streams;
mod supervise;
#[allow(unsafe_code)]
mod sys;
#[allow(unsafe_code)]
mod tracee;
mod tree;
#[allow(unsafe_code)]
mod warden;
mod why;

pub use agent::agent;
pub use bind::{Bind, BindTo, cpu_list};
pub use frame::PROTOCOL as AGENT_PROTOCOL;
pub use hosts::{
    Allocation, HOST_RANKS_MAX, HOSTS_MAX, Host, HostsError, MapBy, Spread, Template, split_words,
};
pub use job::{AppContext, Job, LaunchError, Outcome, Output, Settings, Stdin};
pub use outlet::FilePatterns;
pub use oxmpi_join::{RANKS_MAX, host_name, usable_cpus};
pub use oxmpi_ports::fetch::is_refused as is_memory_refused;
pub use program::{Executable, ProgramError};
pub use why::{WhyError, why};

/// The word after the program's path that makes it an agent.
pub const AGENT_COMMAND: &str = "agent";

/// Ends this process by `signal`, so that a calling shell or script sees an interrupted program.
pub fn die_of_signal(signal: i32) -> ! {
    sys::die_of(signal)
}
