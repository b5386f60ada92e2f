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
