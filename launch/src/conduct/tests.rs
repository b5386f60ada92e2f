//! The conduct of a job without processes: events in, actions out, time by hand.

use std::time::{Duration, Instant};

use oxmpi_ports::{Death, PortState};

use super::*;
use crate::{AppContext, Executable, Settings};

const ATTACHED: PortState = PortState::Attached { pid: 100 };
const GOOD: End = End::Status(0);

fn conduct(ranks: u32, settings: Settings) -> (Conduct, Instant) {
    let app = AppContext {
        executable: Executable::this_one("prog"),
        arguments: Vec::new(),
        ranks,
        wdir: None,
        env: Vec::new(),
    };
    let now = Instant::now();
    let job = Job {
        apps: vec![app],
        settings,
    };
    let mut conduct = Conduct::new(&job, "host".to_owned(), now);
    for rank in 0..ranks {
        conduct.handle_started(rank, 100 + rank as i32);
    }
    (conduct, now)
}

fn actions(conduct: &mut Conduct) -> Vec<Action> {
    std::iter::from_fn(|| conduct.poll_action()).collect()
}

fn say(text: &str) -> Action {
    Action::Say(text.to_owned())
}

#[test]
fn a_death_is_told_to_the_ranks_and_the_user_and_ends_the_job() {
    let (mut job, now) = conduct(3, Settings::default());
    let end = End::Signal {
        signal: libc::SIGSEGV,
        core: true,
    };
    job.handle_end(1, end, ATTACHED, None, now);
    assert_eq!(
        actions(&mut job),
        [
            Action::MarkDead(1, Death::Signal(libc::SIGSEGV)),
            say(
                "rank 1 (pid 101 on host, prog) was killed by signal 11 (SIGSEGV, invalid memory access, core dumped); ending the other 2 ranks"
            ),
            Action::Signal(libc::SIGTERM),
            Action::Signal(libc::SIGCONT),
        ]
    );
    // What follows from it is not reported, and does not change the status.
    job.handle_end(0, End::Status(1), ATTACHED, None, now);
    assert_eq!(actions(&mut job), [Action::MarkDead(0, Death::Status(1))]);
    job.handle_end(2, GOOD, PortState::Finished, None, now);
    assert!(job.is_over() && actions(&mut job).is_empty());
    assert_eq!((job.code(), job.signal()), (139, None));
}

#[test]
fn the_grace_ends_with_a_kill() {
    let (mut job, now) = conduct(2, Settings::default());
    job.handle_end(0, End::Status(9), PortState::Empty, None, now);
    actions(&mut job);
    let due = job.poll_deadline().unwrap();
    assert_eq!(due, now + Duration::from_secs(2));
    job.handle_time(due - Duration::from_millis(1));
    assert!(actions(&mut job).is_empty());
    job.handle_time(due);
    assert_eq!(
        actions(&mut job),
        [
            say("killing 1 rank that did not end within 2 s of being asked to"),
            Action::Signal(libc::SIGKILL)
        ]
    );
    assert_eq!(job.poll_deadline(), None);
}

#[test]
fn an_abort_counts_even_when_another_rank_is_seen_to_end_first() {
    let (mut job, now) = conduct(2, Settings::default());
    job.handle_end(0, End::Status(1), ATTACHED, Some((1, 256)), now);
    assert_eq!(
        actions(&mut job)[1],
        say("rank 1 (pid 101 on host, prog) called MPI abort with code 256; ending the other rank")
    );
    job.handle_end(1, End::Status(0), ATTACHED, Some((1, 256)), now);
    assert_eq!(
        actions(&mut job),
        [Action::MarkDead(1, Death::Aborted(256))]
    );
    assert_eq!(
        job.code(),
        1,
        "an abort is a failure, whatever its low byte"
    );
}

#[test]
fn interrupted_jobs_end_by_the_signal() {
    let (mut job, now) = conduct(1, Settings::default());
    job.handle_signal(libc::SIGINT, now);
    assert_eq!(
        actions(&mut job),
        [Action::Signal(libc::SIGINT), Action::Signal(libc::SIGCONT)]
    );
    job.handle_signal(libc::SIGINT, now);
    assert_eq!(actions(&mut job), [Action::Signal(libc::SIGKILL)]);
    let end = End::Signal {
        signal: libc::SIGINT,
        core: false,
    };
    job.handle_end(0, end, ATTACHED, None, now);
    assert_eq!((job.code(), job.signal()), (130, Some(libc::SIGINT)));
}

#[test]
fn a_fork_that_fails_ends_the_ranks_that_were_started() {
    let (mut job, now) = conduct(4, Settings::default());
    job.handle_failed(2, Stage::Fork, libc::EAGAIN, now);
    assert_eq!(
        actions(&mut job)[0],
        say(
            "rank 2 of 4 cannot be started: Resource temporarily unavailable (os error 11); check the limit of processes (ulimit -u, pids.max) and memory, or start fewer ranks"
        )
    );
    job.handle_end(0, End::Status(143), PortState::Empty, None, now);
    assert!(!job.is_over());
    job.handle_end(1, End::Status(143), PortState::Empty, None, now);
    assert!(job.is_over());
    assert_eq!(job.code(), 1);
}

#[test]
fn a_failed_start_is_said_once() {
    let (mut job, now) = conduct(2, Settings::default());
    job.handle_failed(1, Stage::Exec, libc::EACCES, now);
    job.handle_failed(0, Stage::Exec, libc::EACCES, now);
    let said = actions(&mut job)
        .into_iter()
        .filter(|action| matches!(action, Action::Say(_)));
    assert_eq!(
        said.collect::<Vec<_>>(),
        [say(
            "rank 1 cannot execute prog: Permission denied (os error 13)"
        )]
    );
    job.handle_end(0, End::Status(127), PortState::Empty, None, now);
    job.handle_end(1, End::Status(127), PortState::Empty, None, now);
    assert!(job.is_over() && actions(&mut job).is_empty());
    assert_eq!(job.code(), 126);
}

#[test]
fn a_failure_after_finalising_gives_the_others_time() {
    let (mut job, now) = conduct(3, Settings::default());
    job.handle_end(1, End::Status(6), PortState::Finished, None, now);
    assert_eq!(
        actions(&mut job),
        [say(
            "rank 1 (pid 101 on host, prog) exited with status 6 after finalising MPI; ending the other 2 ranks in 2 s"
        )]
    );
    assert!(job.is_peaceful());
    job.handle_end(0, End::Status(7), PortState::Finished, None, now);
    assert!(actions(&mut job).is_empty(), "one line is enough");
    job.handle_time(job.poll_deadline().unwrap());
    assert_eq!(actions(&mut job)[0], Action::Signal(libc::SIGTERM));
    assert_eq!(job.code(), 6);
}
