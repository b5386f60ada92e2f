//! Starting a job and wiring it up.
//!
//! A [`Job`] says what is to run; [`Job::run`] starts its ranks on this host, relays their output line by
//! line and comes back with an [`Outcome`] when nothing of the job is left. There are no files, no daemon
//! and no network. Three kinds of processes take part:
//!
//! - the launcher (this code, in the caller's process): output, signals, time-outs, what to say;
//! - the warden, one small forked process: parent of all ranks, adopts what they leave behind, and kills
//!   every descendant when the launcher ends or dies, `kill -9` included;
//! - the ranks, each in a process group of its own, bound to the warden's life by the kernel.
//!
//! [`Identity::from_env`] is the other end: what a rank learns from its environment. The layer uses
//! `ports` for the job's shared segment and nothing above it. Decisions (`conduct`, `lines`, `program`)
//! are apart from system calls (`sys`, `warden`), which hold all the unsafe code.

#![deny(unsafe_code)]

mod bind;
mod conduct;
mod identity;
mod job;
mod launcher;
mod lines;
mod outlet;
mod plan;
mod program;
mod record;
mod stdin;
#[allow(unsafe_code)]
mod sys;
#[allow(unsafe_code)]
mod warden;
mod wireup;

pub use bind::{Bind, usable_cpus};
pub use identity::{Identity, IdentityError};
pub use job::{AppContext, Job, LaunchError, Outcome, Output, RANKS_MAX, Settings, Stdin};
pub use program::{Executable, ProgramError};
pub use wireup::{Farewell, Membership, WireUpError};

/// The name of this host, as error reports give it.
pub fn host_name() -> String {
    sys::host_name()
}

/// Ends this process by `signal`, so that a calling shell or script sees an interrupted program.
pub fn die_of_signal(signal: i32) -> ! {
    sys::die_of(signal)
}
