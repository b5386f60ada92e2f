//! Ctrl-C and its relatives reach every rank, and the launcher ends as if it had got them alone.

use std::io::{BufRead, BufReader};
use std::process::Child;
use std::time::{Duration, Instant};

use crate::mpiexec::{command, finish, kill, start};

/// Starts ranks that run `script` and waits until each has said "ready".
fn ready(ranks: usize, script: &str) -> Child {
    let words = [
        "--grace",
        "1000",
        "-n",
        &ranks.to_string(),
        "sh",
        "-c",
        script,
    ];
    let mut child = start(&mut command(&words));
    // One byte at a time, so that nothing of what follows is swallowed.
    let mut lines = BufReader::with_capacity(1, child.stdout.as_mut().unwrap());
    for _ in 0..ranks {
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
    }
    child
}

#[test]
fn signals_reach_everybody() {
    for (signal, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        let script = format!(
            "trap 'echo got {signal}; trap - {signal}; kill -s {signal} $$' {signal}; echo ready; while :; do sleep 0.05; done"
        );
        let child = ready(3, &script);
        kill(signal, child.id() as i32);
        let ran = finish(child, b"");
        assert_eq!(ran.text(), format!("got {signal}\n").repeat(3));
        assert!(
            !ran.stderr.contains("oxmpi:"),
            "an end that was asked for is no news: {}",
            ran.stderr
        );
        assert_eq!(
            ran.signal,
            Some(number),
            "a script must see that it was interrupted"
        );
    }
}

#[test]
fn ranks_that_end_well_when_asked_make_a_good_job() {
    let child = ready(
        2,
        "trap 'exit 0' TERM; echo ready; while :; do sleep 0.05; done",
    );
    kill("TERM", child.id() as i32);
    assert_eq!(finish(child, b"").code, 0);
}

#[test]
fn the_second_time_kills() {
    let begin = Instant::now();
    let script = "trap '' INT; trap 'echo cont' CONT; echo ready; while :; do sleep 0.05; done";
    let child = ready(2, script);
    kill("INT", child.id() as i32);
    std::thread::sleep(Duration::from_millis(100));
    kill("INT", child.id() as i32);
    assert_eq!(finish(child, b"").code, 128 + 9);
    assert!(
        begin.elapsed() < Duration::from_secs(300),
        "before the grace is over"
    );
}

#[test]
fn user_signals_are_passed_on() {
    let child = ready(
        2,
        "trap 'echo one; exit 0' USR1; echo ready; while :; do sleep 0.05; done",
    );
    kill("USR1", child.id() as i32);
    let ran = finish(child, b"");
    assert_eq!((ran.code, ran.text().as_str()), (0, "one\none\n"));
}

#[test]
fn ignored_signals_stay_ignored() {
    // As under nohup.
    let script = format!(
        "trap '' HUP; exec {} -n 1 sh -c 'echo ready; sleep 0.5; echo alive'",
        env!("CARGO_BIN_EXE_mpiexec")
    );
    let mut shell = std::process::Command::new("sh");
    let mut child = start(shell.args(["-c", &script]));
    let mut line = String::new();
    BufReader::with_capacity(1, child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    kill("HUP", child.id() as i32);
    let ran = finish(child, b"");
    assert_eq!((ran.code, ran.text().as_str()), (0, "alive\n"));
}

#[test]
fn stopping_and_continuing_takes_the_ranks_along() {
    let child = ready(
        1,
        "echo ready; i=0; while [ $i -lt 20 ]; do sleep 0.05; i=$((i+1)); done; echo over",
    );
    let state = |pid: i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(") ")
            .next()
            .and_then(|rest| rest.chars().next())
    };
    let launcher = child.id() as i32;
    kill("TSTP", launcher);
    assert!(crate::mpiexec::eventually(|| state(launcher) == Some('T')));
    std::thread::sleep(Duration::from_millis(1500));
    kill("CONT", launcher);
    let begin = Instant::now();
    let ran = finish(child, b"");
    assert_eq!((ran.code, ran.text().as_str()), (0, "over\n"));
    assert!(
        begin.elapsed() > Duration::from_millis(200),
        "the rank stood still meanwhile"
    );
}
