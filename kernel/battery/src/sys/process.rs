//! Processes: forked, waited for with a time, stopped, killed.

use std::io;
use std::os::fd::AsRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use super::answer;

/// A forked process.
pub struct Child {
    pid: i32,
}

/// How one ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Exit(i32),
    Signal(i32),
    /// Not yet: it was stopped.
    Stopped,
}

impl Child {
    /// Forks a process that does `work` and exits with what that returns; 101 if it panics. To be
    /// called while there is one thread.
    pub fn fork(work: impl FnOnce() -> i32) -> io::Result<Child> {
        // SAFETY: one thread, so the child has every lock free.
        let pid = unsafe { libc::fork() };
        match pid {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                let status = catch_unwind(AssertUnwindSafe(work)).unwrap_or(101);
                // SAFETY: ends the process without running what the parent registered.
                unsafe { libc::_exit(status) }
            }
            pid => Ok(Child { pid }),
        }
    }

    /// Its number.
    pub fn id(&self) -> i32 {
        self.pid
    }

    /// Waits until it ended or stopped; `None` if it did neither in the time.
    pub fn wait(&self, time: Duration) -> io::Result<Option<Ended>> {
        let start = Instant::now();
        loop {
            let mut status = 0;
            // SAFETY: writes one integer.
            let found =
                unsafe { libc::waitpid(self.pid, &mut status, libc::WNOHANG | libc::WUNTRACED) };
            if found == -1 {
                return Err(io::Error::last_os_error());
            }
            if found == self.pid {
                return Ok(Some(if libc::WIFEXITED(status) {
                    Ended::Exit(libc::WEXITSTATUS(status))
                } else if libc::WIFSTOPPED(status) {
                    Ended::Stopped
                } else {
                    Ended::Signal(libc::WTERMSIG(status))
                }));
            }
            if start.elapsed() > time {
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub fn kill(&self, signal: i32) {
        // SAFETY: integers only; the process has not been waited for, so the number is its own.
        unsafe { libc::kill(self.pid, signal) };
    }

    /// The process, which [leads a group](lead_group), and what it has forked.
    pub fn kill_group(&self, signal: i32) {
        // SAFETY: as above; a group of that number is its own.
        unsafe { libc::kill(-self.pid, signal) };
    }
}

/// This process and what it forks can be killed together.
pub fn lead_group() {
    // SAFETY: integers only.
    unsafe { libc::setpgid(0, 0) };
}

/// Stops this process until it is told to go on.
pub fn stop_self() {
    // SAFETY: an integer.
    unsafe { libc::raise(libc::SIGSTOP) };
}

/// Gives up root, and with it the right to lock memory beyond the limit, which becomes 0.
pub fn become_nobody() -> io::Result<()> {
    become_limited(0)
}

/// Gives up root; so many bytes of memory may be locked.
pub fn become_limited(locked_bytes: u64) -> io::Result<()> {
    limit(libc::RLIMIT_MEMLOCK, locked_bytes)?;
    // SAFETY: integers only.
    answer(unsafe { libc::setuid(65534) }.into()).map_err(io::Error::from_raw_os_error)?;
    Ok(())
}

/// Sets a limit for good.
pub fn limit(what: u32, value: u64) -> io::Result<()> {
    let limit = libc::rlimit {
        rlim_cur: value,
        rlim_max: value,
    };
    // SAFETY: reads one structure.
    let limited = unsafe { libc::setrlimit(what, &limit) };
    answer(limited.into()).map_err(io::Error::from_raw_os_error)?;
    Ok(())
}

/// This process has a network of its own from now on, with nothing in it.
pub fn new_network_namespace() -> io::Result<()> {
    // SAFETY: changes nothing in memory.
    match unsafe { libc::unshare(libc::CLONE_NEWNET) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The network namespace of another process becomes this one's.
pub fn enter_network_namespace(pid: i32) -> io::Result<()> {
    let namespace = std::fs::File::open(format!("/proc/{pid}/ns/net"))?;
    // SAFETY: integers only.
    match unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
