//! The supervision of a job without processes: events in, actions out, time by hand.

use std::time::{Duration, Instant};

use super::*;
use crate::{AppContext, Executable, Settings};

use Standing::{Finished, Member, Stranger};

const GOOD: End = End::Status(0);

/// A job on one host.
fn supervisor(ranks: u32, settings: Settings) -> (Supervisor, Instant) {
    spread(&["host"], &vec![0; ranks as usize], settings)
}

/// A job on several.
fn spread(hosts: &[&str], host_of: &[u32], settings: Settings) -> (Supervisor, Instant) {
    let ranks = host_of.len() as u32;
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
    let placement = Placement {
        hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
        here: None,
        host_of: host_of.to_vec(),
    };
    let mut supervisor = Supervisor::new(&job, &placement, now);
    for rank in 0..ranks {
        supervisor.handle_started(rank, 100 + rank as i32);
    }
    (supervisor, now)
}

fn ended(end: End, standing: Standing) -> Ended {
    Ended {
        end,
        standing,
        abort: None,
        told_of_loss: false,
    }
}

/// The end of a rank on a host where a rank has called abort.
fn aborted(end: End, standing: Standing, (rank, code): (u32, i32)) -> Ended {
    let abort = Some(Abort {
        rank,
        code,
        told_of_loss: false,
    });
    Ended {
        abort,
        ..ended(end, standing)
    }
}

/// The same of a rank that was told of a loss, and called abort because of it.
fn gave_up(rank: u32, code: i32) -> Ended {
    let abort = Some(Abort {
        rank,
        code,
        told_of_loss: true,
    });
    Ended {
        abort,
        told_of_loss: true,
        ..ended(End::Status(code as u8), Member)
    }
}

const KILLED: End = End::Signal {
    signal: libc::SIGKILL,
    core: false,
};

fn actions(supervisor: &mut Supervisor) -> Vec<Action> {
    std::iter::from_fn(|| supervisor.poll_action()).collect()
}

fn say(text: &str) -> Action {
    Action::Say(text.to_owned())
}

#[test]
fn a_death_is_told_to_the_user_and_ends_the_job() {
    let (mut job, now) = supervisor(3, Settings::default());
    let end = End::Signal {
        signal: libc::SIGSEGV,
        core: true,
    };
    job.handle_end(1, ended(end, Member), now);
    assert_eq!(
        actions(&mut job),
        [
            say(
                "rank 1 (pid 101 on host, prog) was killed by signal 11 (SIGSEGV, invalid memory access, core dumped); ending the other 2 ranks"
            ),
            Action::Signal(libc::SIGTERM),
            Action::Signal(libc::SIGCONT),
        ]
    );
    // What follows from it is not reported, and does not change the status.
    job.handle_end(0, ended(End::Status(1), Member), now);
    assert_eq!(actions(&mut job), []);
    job.handle_end(2, ended(GOOD, Finished), now);
    assert!(job.is_over() && actions(&mut job).is_empty());
    assert_eq!((job.code(), job.signal()), (139, None));
}

#[test]
fn the_grace_ends_with_a_kill() {
    let (mut job, now) = supervisor(2, Settings::default());
    job.handle_end(0, ended(End::Status(9), Stranger), now);
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
    let (mut job, now) = supervisor(2, Settings::default());
    job.handle_end(0, aborted(End::Status(1), Member, (1, 256)), now);
    assert_eq!(
        actions(&mut job)[0],
        say("rank 1 (pid 101 on host, prog) called MPI abort with code 256; ending the other rank")
    );
    job.handle_end(1, aborted(End::Status(0), Member, (1, 256)), now);
    assert_eq!(actions(&mut job), []);
    assert_eq!(
        job.code(),
        1,
        "an abort is a failure, whatever its low byte"
    );
}

#[test]
fn interrupted_jobs_end_by_the_signal() {
    let (mut job, now) = supervisor(1, Settings::default());
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
    job.handle_end(0, ended(end, Member), now);
    assert_eq!((job.code(), job.signal()), (130, Some(libc::SIGINT)));
}

#[test]
fn a_fork_that_fails_ends_the_ranks_that_were_started() {
    let (mut job, now) = supervisor(4, Settings::default());
    job.handle_failed(2, (Stage::Fork, libc::EAGAIN), None, now);
    assert_eq!(
        actions(&mut job)[0],
        say(
            "rank 2 of 4 cannot be started: Resource temporarily unavailable (os error 11); check the limit of processes (ulimit -u, pids.max) and memory, or start fewer ranks"
        )
    );
    job.handle_end(0, ended(End::Status(143), Stranger), now);
    assert!(!job.is_over());
    job.handle_end(1, ended(End::Status(143), Stranger), now);
    assert!(job.is_over());
    assert_eq!(job.code(), 1);
}

#[test]
fn a_failed_start_is_said_once() {
    let (mut job, now) = supervisor(2, Settings::default());
    job.handle_failed(1, (Stage::Exec, libc::EACCES), None, now);
    job.handle_failed(0, (Stage::Exec, libc::EACCES), None, now);
    let said = actions(&mut job)
        .into_iter()
        .filter(|action| matches!(action, Action::Say(_)));
    assert_eq!(
        said.collect::<Vec<_>>(),
        [say(
            "rank 1 cannot execute prog: Permission denied (os error 13)"
        )]
    );
    job.handle_end(0, ended(End::Status(127), Stranger), now);
    job.handle_end(1, ended(End::Status(127), Stranger), now);
    assert!(job.is_over() && actions(&mut job).is_empty());
    assert_eq!(job.code(), 126);
}

#[test]
fn a_failure_after_finalising_gives_the_others_time() {
    let (mut job, now) = supervisor(3, Settings::default());
    job.handle_end(1, ended(End::Status(6), Finished), now);
    assert_eq!(
        actions(&mut job),
        [say(
            "rank 1 (pid 101 on host, prog) exited with status 6 after finalising MPI; ending the other 2 ranks in 2 s"
        )]
    );
    assert!(job.is_peaceful());
    job.handle_end(0, ended(End::Status(7), Finished), now);
    assert!(actions(&mut job).is_empty(), "one line is enough");
    job.handle_time(job.poll_deadline().unwrap());
    assert_eq!(actions(&mut job)[0], Action::Signal(libc::SIGTERM));
    assert_eq!(job.code(), 6);
}

#[test]
fn ranks_are_named_with_their_hosts() {
    let (mut job, now) = spread(&["a", "b"], &[0, 0, 1, 1], Settings::default());
    job.handle_end(3, ended(End::Status(7), Stranger), now);
    assert_eq!(
        actions(&mut job)[0],
        say("rank 3 (pid 103 on b, prog) exited with status 7; ending the other 3 ranks")
    );
    let (mut job, now) = spread(&["a", "b"], &[0, 0, 1, 1], Settings::default());
    job.handle_failed(2, (Stage::Exec, libc::ENOENT), None, now);
    assert_eq!(
        actions(&mut job)[0],
        say(
            "rank 2 on b cannot execute prog: No such file or directory (os error 2); the program must be at the same path on every host, with the interpreter or loader it names"
        )
    );
}

#[test]
fn a_fork_that_fails_concerns_its_host_only() {
    let (mut job, now) = spread(&["a", "b"], &[0, 1, 0, 1], Settings::default());
    job.handle_failed(1, (Stage::Fork, libc::EAGAIN), None, now);
    job.handle_end(0, ended(End::Status(143), Stranger), now);
    assert!(!job.is_over(), "rank 2 runs on the other host");
    job.handle_end(2, ended(End::Status(143), Stranger), now);
    assert!(job.is_over());
}

#[test]
fn a_host_out_of_reach_ends_the_job() {
    let (mut job, now) = spread(&["a", "b", "c"], &[0, 1, 2, 2], Settings::default());
    job.handle_lost(&[1, 2], "lost host b: ssh b".to_owned(), now);
    assert_eq!(
        actions(&mut job),
        [
            say("lost host b: ssh b; ending the other rank"),
            Action::Signal(libc::SIGTERM),
            Action::Signal(libc::SIGCONT)
        ]
    );
    job.handle_end(2, ended(End::Status(0), Member), now);
    assert!(!job.is_over(), "rank 2 is not heard of again");
    job.handle_end(0, ended(End::Status(143), Stranger), now);
    assert!(job.is_over());
    assert_eq!(job.code(), 1);
}

#[test]
fn a_lost_warden_takes_the_ranks_of_its_host() {
    let (mut job, now) = spread(&["a", "b"], &[0, 1, 1], Settings::default());
    job.handle_lost_warden(1, now);
    assert_eq!(
        actions(&mut job)[0],
        say("the warden process on b was killed, and its ranks with it; ending the other rank")
    );
    let (mut job, now) = supervisor(2, Settings::default());
    job.handle_lost_warden(0, now);
    assert_eq!(
        actions(&mut job),
        [say(
            "the job's warden process was killed, and all ranks with it"
        )]
    );
    assert!(job.is_over());
    assert_eq!(job.code(), 137);
}

#[test]
fn a_rank_may_ask_for_the_end() {
    let (mut job, now) = spread(&["a", "b"], &[0, 1], Settings::default());
    job.handle_abort(1, 5, "out of\nmoney", now);
    assert_eq!(
        actions(&mut job)[0],
        say(
            "rank 1 (pid 101 on b, prog) asked for the end of the job with code 5: out of money; ending its 2 ranks"
        )
    );
    job.handle_end(1, ended(End::Status(5), Member), now);
    assert_eq!((actions(&mut job), job.code()), (vec![], 5));
}

#[test]
fn a_job_that_never_started_can_be_interrupted() {
    let (mut job, now) = spread(&["a", "b"], &[0, 1], Settings::default());
    job.handle_signal(libc::SIGINT, now);
    assert!(!job.is_peaceful());
    job.handle_cancelled();
    assert!(job.is_over());
    assert_eq!((job.code(), job.signal()), (130, Some(libc::SIGINT)));
}

#[test]
fn who_gives_up_because_of_another_is_not_accused() {
    let killed = End::Signal {
        signal: libc::SIGKILL,
        core: false,
    };
    let (mut job, now) = spread(&["a", "b"], &[0, 0, 1, 1], Settings::default());
    job.handle_end(2, ended(End::Status(1), Member), now);
    job.handle_end(3, ended(End::Status(1), Member), now);
    assert!(actions(&mut job).is_empty() && job.is_peaceful());
    job.handle_end(1, ended(killed, Member), now);
    assert_eq!(
        actions(&mut job)[0],
        say(
            "rank 1 (pid 101 on a, prog) was killed by signal 9 (SIGKILL, by somebody or for want of memory); ending the other rank"
        )
    );
    assert_eq!(job.code(), 137);
}

#[test]
fn who_gives_up_alone_is_accused_after_a_moment() {
    let (mut job, now) = spread(&["a", "b"], &[0, 1, 1], Settings::default());
    job.handle_end(2, ended(End::Status(3), Member), now);
    let due = job.poll_deadline().unwrap();
    assert_eq!(due, now + DOUBT);
    job.handle_time(due);
    assert_eq!(
        actions(&mut job)[0],
        say("rank 2 (pid 102 on b, prog) exited with status 3; ending the other 2 ranks")
    );
    // When everybody has ended nobody is left to explain it.
    let (mut job, now) = spread(&["a", "b"], &[0, 1], Settings::default());
    job.handle_end(1, ended(End::Status(3), Member), now);
    job.handle_end(0, ended(GOOD, Finished), now);
    assert_eq!(
        actions(&mut job),
        [say("rank 1 (pid 101 on b, prog) exited with status 3")]
    );
    assert!(job.is_over());
    assert_eq!(job.code(), 3);
}

#[test]
fn the_first_cause_wins_over_aborts_that_follow_from_it() {
    // Rank 1 on host b is killed; ranks of host a give up first, and one of host b does too.
    let (mut job, now) = spread(&["a", "b"], &[0, 1, 0, 1], Settings::default());
    job.handle_end(0, gave_up(0, 17), now);
    job.handle_end(2, gave_up(2, 19), now);
    assert!(actions(&mut job).is_empty() && job.is_peaceful());
    let later = now + Duration::from_secs(1);
    job.handle_time(later);
    assert!(actions(&mut job).is_empty());
    let killed = Ended {
        abort: gave_up(3, 17).abort,
        ..ended(KILLED, Member)
    };
    job.handle_end(1, killed, later);
    assert_eq!(
        actions(&mut job)[0],
        say(
            "rank 1 (pid 101 on b, prog) was killed by signal 9 (SIGKILL, by somebody or for want of memory); ending the other rank"
        )
    );
    job.handle_end(3, gave_up(3, 17), later);
    assert!(job.is_over() && actions(&mut job).is_empty());
    assert_eq!(job.code(), 128 + 9);
}

#[test]
fn a_loss_that_nothing_explains_is_told_as_what_the_rank_did() {
    let (mut job, now) = spread(&["a", "b"], &[0, 1, 1], Settings::default());
    job.handle_end(0, gave_up(0, 17), now);
    let due = job.poll_deadline().unwrap();
    assert_eq!(due, now + DOUBT_AFTER_LOSS);
    job.handle_time(due);
    assert_eq!(
        actions(&mut job)[0],
        say("rank 0 (pid 100 on a, prog) called MPI abort with code 17; ending the other 2 ranks")
    );
    assert_eq!(job.code(), 17);
    // A rank that left without initialising MPI is no failure, and the only cause there will be.
    let (mut job, now) = spread(&["a", "b"], &[0, 1, 1], Settings::default());
    job.handle_end(1, ended(GOOD, Stranger), now);
    job.handle_end(0, gave_up(0, 17), now);
    assert_eq!(job.poll_deadline(), Some(now + DOUBT));
}

#[test]
fn survivors_that_may_go_on_are_reported_after_the_cause() {
    let settings = Settings {
        keep_going: true,
        ..Settings::default()
    };
    let (mut job, now) = spread(&["a", "b"], &[0, 1, 1], settings);
    let status = Ended {
        told_of_loss: true,
        ..ended(End::Status(4), Member)
    };
    job.handle_end(0, status, now);
    assert!(actions(&mut job).is_empty());
    job.handle_end(1, ended(KILLED, Member), now);
    let said = actions(&mut job);
    assert_eq!(said.len(), 2, "{said:?}");
    assert_eq!(
        said[1],
        say("rank 0 (pid 100 on a, prog) exited with status 4; the other rank may go on")
    );
    assert_eq!(job.code(), 128 + 9);
}

#[test]
fn an_end_without_finalising_explains_what_follows_from_it() {
    let (mut job, now) = spread(&["a", "b"], &[0, 1, 1], Settings::default());
    job.handle_end(0, gave_up(0, 17), now);
    job.handle_end(1, ended(GOOD, Member), now);
    assert_eq!(
        actions(&mut job)[0],
        say(
            "rank 1 (pid 101 on b, prog) exited with status 0 without finalising MPI; ending the other rank"
        )
    );
    assert_eq!(job.code(), 1);
}

#[test]
fn a_backtrace_stands_below_the_line_about_its_rank() {
    let crash = End::Signal {
        signal: libc::SIGSEGV,
        core: false,
    };
    let (mut supervisor, now) = supervisor(4, Settings::default());
    let lines = |place: &str| vec![format!("  #0 {place}")];
    supervisor.handle_backtrace(2, lines("here"));
    supervisor.handle_end(2, ended(crash, Member), now);
    let said = actions(&mut supervisor);
    let death = "rank 2 (pid 102 on host, prog) was killed by signal 11 (SIGSEGV, invalid memory \
                 access); ending the other 3 ranks";
    let place = said.iter().position(|action| *action == say(death));
    let below = said.iter().position(|action| *action == say("  #0 here"));
    assert!(place.is_some() && place < below, "{said:?}");
    // The same place again says nothing new; another one does.
    supervisor.handle_backtrace(0, lines("here"));
    supervisor.handle_end(0, ended(crash, Member), now);
    assert_eq!(actions(&mut supervisor), []);
    supervisor.handle_backtrace(1, lines("there"));
    supervisor.handle_end(1, ended(crash, Member), now);
    let too = "rank 1 (pid 101 on host, prog) was killed by signal 11 (SIGSEGV, invalid memory \
               access), too";
    assert_eq!(actions(&mut supervisor), [say(too), say("  #0 there")]);
    supervisor.handle_end(3, ended(KILLED, Member), now);
    assert_eq!(actions(&mut supervisor), [], "it was ended");
}
