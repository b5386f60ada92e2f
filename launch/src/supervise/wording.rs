//! How ends and numbers of ranks are put into words.
//!
//! `supervise` says what is told and when; the texts are pinned by its tests.

use super::End;

pub(super) fn count(ranks: usize) -> String {
    match ranks {
        1 => "1 rank".to_owned(),
        _ => format!("{ranks} ranks"),
    }
}

pub(super) fn describe_end(end: End) -> String {
    match end {
        End::Status(status) => format!("exited with status {status}"),
        End::Signal { signal, core } => {
            let name = match signal {
                libc::SIGHUP => "SIGHUP, hangup",
                libc::SIGINT => "SIGINT, interrupt",
                libc::SIGQUIT => "SIGQUIT, quit",
                libc::SIGILL => "SIGILL, illegal instruction",
                libc::SIGTRAP => "SIGTRAP, breakpoint",
                libc::SIGABRT => "SIGABRT, abort",
                libc::SIGBUS => "SIGBUS, memory that is not there",
                libc::SIGFPE => "SIGFPE, arithmetic error",
                libc::SIGKILL => "SIGKILL, by somebody or for want of memory",
                libc::SIGSEGV => "SIGSEGV, invalid memory access",
                libc::SIGPIPE => "SIGPIPE, nobody reads its output",
                libc::SIGALRM => "SIGALRM, alarm clock",
                libc::SIGTERM => "SIGTERM, asked to end",
                libc::SIGUSR1 => "SIGUSR1",
                libc::SIGUSR2 => "SIGUSR2",
                libc::SIGXCPU => "SIGXCPU, limit of CPU time",
                libc::SIGXFSZ => "SIGXFSZ, limit of file size",
                libc::SIGSYS => "SIGSYS, forbidden system call",
                _ => "see signal(7)",
            };
            let core = if core { ", core dumped" } else { "" };
            format!("was killed by signal {signal} ({name}{core})")
        }
    }
}
