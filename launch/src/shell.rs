//! The process of a remote shell: its three files, its end.
//!
//! `branch` knows what is said through it. Nothing here waits except `end_within`, which is for the
//! very end.

use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::sys;

/// The remote shell.
pub(crate) struct Shell {
    child: Child,
    /// Readable when the process has ended; None where the kernel is too old.
    pub(crate) ended: Option<OwnedFd>,
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: Option<ChildStdout>,
    pub(crate) stderr: Option<ChildStderr>,
}

impl Shell {
    /// Executes a command with the signal mask `mask`; it dies with this thread.
    pub(crate) fn start(words: &[String], mask: libc::sigset_t) -> io::Result<Shell> {
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C at the terminal is for the head to pass on, not for the shell to die of.
            .process_group(0);
        if oxmpi_trust::is_privileged() {
            command.env("PATH", oxmpi_trust::search_path());
        }
        sys::bind_life(&mut command, mask);
        let mut child = command.spawn()?;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let fds = [
            stdin.as_ref().map(AsFd::as_fd),
            stdout.as_ref().map(AsFd::as_fd),
            stderr.as_ref().map(AsFd::as_fd),
        ];
        for fd in fds.into_iter().flatten() {
            sys::set_nonblocking(fd)?;
        }
        Ok(Shell {
            // Without it (old kernels) the end of the process shows as the end of its output.
            ended: sys::process_descriptor(child.id()).ok(),
            child,
            stdin,
            stdout,
            stderr,
        })
    }

    pub(crate) fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// The highest of its descriptors.
    pub(crate) fn highest(&self) -> Option<RawFd> {
        let fds = [
            self.stdin.as_ref().map(AsRawFd::as_raw_fd),
            self.stdout.as_ref().map(AsRawFd::as_raw_fd),
            self.stderr.as_ref().map(AsRawFd::as_raw_fd),
            self.ended.as_ref().map(AsRawFd::as_raw_fd),
        ];
        fds.into_iter().flatten().max()
    }

    /// How the process ended, if it has.
    pub(crate) fn status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Waits for its end, and kills it when the time is over. Its standard input should be closed.
    pub(crate) fn end_within(mut self, time: Duration) {
        // Its output is of no use any more, but must find room for it to end by itself.
        let until = Instant::now() + time;
        while self.status().is_none() {
            let mut sink = [0; 4096];
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.kill();
                return;
            }
            let mut read = |from: Option<&mut dyn Read>| {
                from.is_some_and(|from| matches!(from.read(&mut sink), Ok(0)))
            };
            if read(self.stdout.as_mut().map(|pipe| pipe as &mut dyn Read)) {
                self.stdout = None;
            }
            if read(self.stderr.as_mut().map(|pipe| pipe as &mut dyn Read)) {
                self.stderr = None;
            }
            let fds = [
                self.stdout.as_ref().map(AsFd::as_fd),
                self.stderr.as_ref().map(AsFd::as_fd),
                self.ended.as_ref().map(AsFd::as_fd),
            ];
            let entries = fds.into_iter().flatten();
            let mut entries: Vec<_> = entries
                .map(|fd| sys::poll_entry(fd, libc::POLLIN))
                .collect();
            // Without a descriptor for its end (old kernels), look now and then.
            let wait = if self.ended.is_some() {
                left
            } else {
                Duration::from_millis(10)
            };
            let _ = sys::poll(&mut entries, Some(wait));
        }
    }

    /// Kills it with what it has started in its group.
    pub(crate) fn kill(&mut self) -> ExitStatus {
        sys::signal_group(self.pid(), libc::SIGKILL);
        let status = self.child.kill().and_then(|()| self.child.wait());
        status.unwrap_or_else(|_| ExitStatus::from_raw(libc::SIGKILL))
    }
}

/// An end as the second half of a sentence about the command.
pub(crate) fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with status {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}
