//! How ends and numbers of ranks are put into words.
//!
//! `supervise` says what is told and when; the texts are pinned by its tests.

use super::End;
use crate::record::Stage;

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

/// A rank that never became its program.
pub(super) struct Unstarted<'a> {
    /// It, with its host where there are several.
    pub rank: String,
    /// How many ranks the job has.
    pub of: usize,
    pub program: &'a str,
    /// The processor that the program is for, if it is not this machine's.
    pub machine: Option<&'a str>,
    /// The job has several hosts.
    pub remote: bool,
}

impl Unstarted<'_> {
    /// What went wrong and what to try, and the launcher's exit status.
    pub(super) fn tell(&self, stage: Stage, errno: i32) -> (String, u8) {
        let Unstarted {
            rank, of, program, ..
        } = self;
        let error = std::io::Error::from_raw_os_error(errno);
        match stage {
            Stage::Fork => {
                let advice = "check the limit of processes (ulimit -u, pids.max) and memory, or \
                              start fewer ranks";
                let text = format!("{rank} of {of} cannot be started: {error}; {advice}");
                (text, 1)
            }
            Stage::Descriptors => {
                let text = format!("{rank} cannot get its standard files: {error}");
                (text, 1)
            }
            Stage::Directory => {
                let text = format!("{rank} cannot enter its working directory: {error}");
                (text, 1)
            }
            Stage::Exec => {
                let (why, code) = self.refusal(&error);
                (format!("{rank} cannot execute {program}: {why}"), code)
            }
        }
    }

    /// Why the kernel does not execute the program, and the exit status that a shell has for it.
    fn refusal(&self, error: &std::io::Error) -> (String, u8) {
        match error.raw_os_error() {
            Some(libc::ENOENT) if self.remote => {
                let advice = "the program must be at the same path on every host, with the \
                              interpreter or loader it names";
                (format!("{error}; {advice}"), 127)
            }
            Some(libc::ENOENT) => {
                let text = format!("{error}; the interpreter or loader it names is missing");
                (text, 127)
            }
            Some(libc::ENOEXEC) => {
                let text = match self.machine {
                    Some(machine) => format!(
                        "it was compiled for {machine}, and this machine is {}",
                        std::env::consts::ARCH
                    ),
                    None => format!("{error}; a script needs a first line such as #!/bin/sh"),
                };
                (text, 126)
            }
            _ => (error.to_string(), 126),
        }
    }
}

/// How ranks have ended: those of one end together.
pub(super) fn ends(ranks: impl Iterator<Item = Option<End>>) -> String {
    let mut groups: Vec<(Option<End>, Vec<u32>)> = Vec::new();
    for (rank, end) in (0..).zip(ranks) {
        match groups.iter_mut().find(|(known, _)| *known == end) {
            Some((_, members)) => members.push(rank),
            None => groups.push((end, vec![rank])),
        }
    }
    let group = |(end, members): &(Option<End>, Vec<u32>)| {
        let noun = match members.len() {
            1 => "rank",
            _ => "ranks",
        };
        let how = match end {
            Some(End::Status(status)) => format!("status {status}"),
            Some(End::Signal { signal, .. }) => format!("signal {signal}"),
            None => "unknown".to_owned(),
        };
        format!("{noun} {}: {how}", spans(members))
    };
    let groups: Vec<String> = groups.iter().map(group).collect();
    format!("exit codes: {}", groups.join("; "))
}

/// Rising numbers as people write them: 0-2,5.
pub(crate) fn spans(numbers: &[u32]) -> String {
    let mut spans: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match spans.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => spans.push((number, number)),
        }
    }
    let span = |&(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    spans.iter().map(span).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_grouped() {
        let crash = Some(End::Signal {
            signal: 11,
            core: false,
        });
        let fine = Some(End::Status(0));
        let all = [fine, fine, crash, fine, None];
        let text = "exit codes: ranks 0-1,3: status 0; rank 2: signal 11; rank 4: unknown";
        assert_eq!(ends(all.into_iter()), text);
    }
}
