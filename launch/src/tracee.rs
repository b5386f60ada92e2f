//! A thread of another process, stopped for as long as its registers are read.
//!
//! The kernel permits it to processes of the same user, as a rule only to those that the other one
//! descends from (`kernel.yama.ptrace_scope`): the launcher may always look at its own ranks. The
//! thread notices nothing: calls that were interrupted go on, signals that come meanwhile are
//! handed over.

use std::io;
use std::time::{Duration, Instant};

use crate::sys;

/// A thread inside the kernel may take its time to stop.
const STOP_MAX: Duration = Duration::from_millis(500);
const STOP_POLL: Duration = Duration::from_micros(200);

/// NT_PRSTATUS: the general registers.
const GENERAL: usize = 1;

/// A stopped thread; it goes on when this is dropped.
pub(crate) struct Tracee {
    thread: i32,
    /// A signal that was on its way to it.
    signal: i32,
}

impl Tracee {
    /// Stops a thread.
    pub(crate) fn stop(thread: u32) -> io::Result<Tracee> {
        let mut tracee = Tracee {
            thread: thread as i32,
            signal: 0,
        };
        // SAFETY: attaches to a thread; no memory is involved.
        let seized = unsafe { libc::ptrace(libc::PTRACE_SEIZE, tracee.thread, 0usize, 0usize) };
        check(seized).inspect_err(|_| tracee.thread = 0)?;
        // SAFETY: as above.
        let asked = unsafe { libc::ptrace(libc::PTRACE_INTERRUPT, tracee.thread, 0usize, 0usize) };
        check(asked)?;
        let until = Instant::now() + STOP_MAX;
        loop {
            let mut status = 0;
            let flags = libc::__WALL | libc::WNOHANG;
            // SAFETY: `status` outlives the call.
            let found = unsafe { libc::waitpid(tracee.thread, &mut status, flags) };
            if sys::check(found)? == tracee.thread {
                if !libc::WIFSTOPPED(status) {
                    // It has ended, and was never stopped.
                    tracee.thread = 0;
                    return Err(io::Error::from_raw_os_error(libc::ESRCH));
                }
                // Without an event in the upper half it stopped because of a signal.
                tracee.signal = match status >> 16 {
                    0 => libc::WSTOPSIG(status),
                    _ => 0,
                };
                return Ok(tracee);
            }
            if Instant::now() >= until {
                return Err(io::Error::from_raw_os_error(libc::ETIMEDOUT));
            }
            std::thread::sleep(STOP_POLL);
        }
    }

    /// Program counter, stack pointer, frame pointer, link register (0 where there is none).
    pub(crate) fn registers(&self) -> io::Result<[u64; 4]> {
        let mut words = [0u64; 64];
        let mut place = libc::iovec {
            iov_base: words.as_mut_ptr().cast(),
            iov_len: size_of_val(&words),
        };
        // SAFETY: the kernel writes at most `iov_len` bytes to `words`, and the length to `place`.
        let read =
            unsafe { libc::ptrace(libc::PTRACE_GETREGSET, self.thread, GENERAL, &raw mut place) };
        check(read)?;
        // struct user_regs_struct of each processor.
        Ok(match cfg!(target_arch = "x86_64") {
            true => [words[16], words[19], words[4], 0],
            false => [words[32], words[31], words[29], words[30]],
        })
    }
}

impl Drop for Tracee {
    fn drop(&mut self) {
        if self.thread != 0 {
            // SAFETY: lets the thread go; no memory is involved. A thread that has ended is gone.
            unsafe {
                libc::ptrace(
                    libc::PTRACE_DETACH,
                    self.thread,
                    0usize,
                    self.signal as usize,
                )
            };
        }
    }
}

fn check(result: libc::c_long) -> io::Result<()> {
    match result {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_stopped_and_goes_on() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn();
        let child = child.as_mut().unwrap();
        let state = || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
            stat.rsplit(") ").next().unwrap().chars().next().unwrap()
        };
        {
            let tracee = match Tracee::stop(child.id()) {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return,
                tracee => tracee.unwrap(),
            };
            assert_eq!(state(), 't');
            let [counter, stack, ..] = tracee.registers().unwrap();
            assert!(counter > 4096 && stack > 4096);
        }
        let until = Instant::now() + Duration::from_secs(10);
        while state() != 'S' && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(state(), 'S');
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
