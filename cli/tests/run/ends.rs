//! How ranks end, and what the launcher makes of it.

use std::time::{Duration, Instant};

use crate::mpiexec::{command, eventually, finish, kill, marked, run, start};

/// A script in which one rank does something and the others would go on for long.
fn one_of(rank: u32, does: &str) -> String {
    format!("if [ $OXMPI_RANK = {rank} ]; then {does}; fi; sleep 1000")
}

#[test]
fn a_good_end_is_silent() {
    let ran = run(&["-n", "4", "true"]);
    assert_eq!(
        (ran.code, ran.text().as_str(), ran.stderr.as_str()),
        (0, "", "")
    );
}

#[test]
fn a_status_ends_the_job_with_one_line() {
    let ran = run(&["-n", "4", "sh", "-c", &one_of(2, "exit 7")]);
    assert_eq!(ran.code, 7);
    assert_eq!(
        ran.said(),
        "oxmpi: rank 2 (pid PID on HOST, sh) exited with status 7; ending the other 3 ranks\n"
    );
    assert!(ran.wall < Duration::from_secs(300));
}

#[test]
fn a_signal_ends_the_job_with_one_line() {
    let ran = run(&["-n", "2", "sh", "-c", &one_of(1, "kill -KILL $$")]);
    assert_eq!(ran.code, 128 + 9);
    assert_eq!(
        ran.said(),
        "oxmpi: rank 1 (pid PID on HOST, sh) was killed by signal 9 (SIGKILL, by somebody or for want of memory); ending the other rank\n"
    );
    let ran = run(&["-n", "1", "sh", "-c", "ulimit -c 0; kill -SEGV $$"]);
    assert_eq!(ran.code, 128 + 11);
    assert_eq!(
        ran.said(),
        "oxmpi: rank 0 (pid PID on HOST, sh) was killed by signal 11 (SIGSEGV, invalid memory access)\n"
    );
}

#[test]
fn last_words_come_before_the_line_about_the_death() {
    let ran = run(&[
        "-n",
        "2",
        "sh",
        "-c",
        &one_of(1, "printf dying >&2; exit 3"),
    ]);
    assert_eq!(
        ran.said(),
        "dying\noxmpi: rank 1 (pid PID on HOST, sh) exited with status 3; ending the other rank\n"
    );
}

#[test]
fn the_others_may_go_on() {
    let script = "if [ $OXMPI_RANK = 1 ]; then exit 5; fi; sleep 0.3; echo done";
    let ran = run(&["--keep-going", "-n", "3", "sh", "-c", script]);
    assert_eq!(ran.code, 5);
    assert_eq!(ran.text(), "done\ndone\n");
    assert_eq!(
        ran.said(),
        "oxmpi: rank 1 (pid PID on HOST, sh) exited with status 5; the other 2 ranks may go on\n"
    );
}

#[test]
fn time_is_up() {
    let begin = Instant::now();
    let ran = run(&["--timeout", "0.3", "-n", "2", "sleep", "1000"]);
    assert_eq!(ran.code, 124);
    assert_eq!(
        ran.stderr,
        "oxmpi: the job has reached its --timeout of 0.3 s; ending its 2 ranks\n"
    );
    let wall = begin.elapsed();
    assert!(wall >= Duration::from_millis(300) && wall < Duration::from_secs(300));
}

#[test]
fn who_does_not_listen_is_killed() {
    let script = "trap '' TERM; while :; do sleep 1; done";
    let ran = run(&[
        "--timeout",
        "0.3",
        "--grace",
        "0.2",
        "-n",
        "2",
        "sh",
        "-c",
        script,
    ]);
    assert_eq!(ran.code, 124);
    assert_eq!(
        ran.stderr,
        "oxmpi: the job has reached its --timeout of 0.3 s; ending its 2 ranks\n\
         oxmpi: killing 2 ranks that did not end within 0.2 s of being asked to\n"
    );
    assert!(ran.wall < Duration::from_secs(300));
}

#[test]
fn a_stopped_rank_is_ended_too() {
    let script = one_of(0, "sleep 0.2; exit 4").replace("sleep 1000", "kill -STOP $$; sleep 1000");
    let ran = run(&["--grace", "1000", "-n", "2", "sh", "-c", &script]);
    assert_eq!(ran.code, 4);
    assert!(
        ran.wall < Duration::from_secs(300),
        "by TERM and CONT, not after the grace"
    );
}

/// Rust's runtime gives threads a small stack for handlers of signals.
#[test]
fn a_rust_program_that_aborts_is_told_with_its_frames() {
    // Of hours, and like no other.
    let intervals = format!("{}", 900_000_000_000 + u64::from(std::process::id()));
    let child = start(&mut command(&["-n", "2", "pi", "--intervals", &intervals]));
    let is_ready = |pid: &i32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let mut lines = status.lines();
        let caught = lines.find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = caught.and_then(|caught| u64::from_str_radix(caught.trim(), 16).ok());
        // SIGABRT.
        caught.is_some_and(|caught| caught & (1 << 5) != 0)
    };
    let mut rank = None;
    eventually(|| {
        rank = marked(&intervals).into_iter().find(is_ready);
        rank.is_some()
    });
    kill("ABRT", rank.expect("a rank that has joined"));
    let ran = finish(child, b"");
    assert_eq!(ran.code, 128 + 6, "{ran:?}");
    assert!(ran.stderr.contains("signal 6"), "{ran:?}");
    assert!(ran.stderr.contains("#0 "), "{ran:?}");
}
