//! Jobs in which nothing moves: it can be asked where their ranks are.

use std::process::Command;

use crate::mpiexec::{command, eventually, finish, kill, run, start};

/// Of hours, and like no other.
fn intervals(number: u64) -> String {
    format!(
        "{}",
        800_000_000_000 + 10 * u64::from(std::process::id()) + number
    )
}

fn why(words: &[&str]) -> (i32, String, String) {
    let mut oxmpi = Command::new(env!("CARGO_BIN_EXE_oxmpi"));
    let said = oxmpi.arg("why").args(words).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let code = said.status.code().unwrap_or(-1);
    (code, text(&said.stdout), text(&said.stderr))
}

/// Says where its ranks are, or that the kernel does not permit to look.
fn tells_places(text: &str) -> bool {
    let seen = text.contains("outside of MPI") && text.contains("#0 ");
    seen || text.contains("not seen: the kernel permits it")
}

#[test]
fn a_running_job_says_where_its_ranks_are() {
    let child = start(&mut command(&[
        "-n",
        "2",
        "pi",
        "--intervals",
        &intervals(0),
    ]));
    let launcher = child.id().to_string();
    let begins = format!("the job of process {launcher} has ranks 0-1 on this host\n");
    let mut last = (0, String::new(), String::new());
    // Before it has ranks, a launcher is a process like any other.
    let told = eventually(|| {
        last = why(&[&launcher]);
        last.1.starts_with(&begins) && tells_places(&last.1)
    });
    kill("INT", child.id() as i32);
    let ran = finish(child, b"");
    assert!(told, "{last:?}");
    assert_eq!((last.0, last.2.as_str()), (0, ""));
    assert_eq!(ran.code, 128 + 2, "the ranks went on: {ran:?}");
}

#[test]
fn a_job_that_runs_out_of_time_says_where_its_ranks_were() {
    let job = ["--timeout", "15", "-n", "2", "pi", "--intervals"];
    let ran = run(&[&job[..], &[&intervals(1)]].concat());
    assert_eq!(ran.code, 124);
    let (first, rest) = ran.stderr.split_once('\n').unwrap();
    assert_eq!(
        first,
        "oxmpi: the job has reached its --timeout of 15 s; ending its 2 ranks"
    );
    assert!(tells_places(rest), "{rest}");
    let job = [
        "--no-backtrace",
        "--timeout",
        "5",
        "-n",
        "2",
        "pi",
        "--intervals",
    ];
    let ran = run(&[&job[..], &[&intervals(2)]].concat());
    assert_eq!((ran.code, ran.stderr.lines().count()), (124, 1), "{ran:?}");
}

#[test]
fn there_may_be_nothing_to_look_at() {
    let (code, out, err) = why(&["4000000000"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(
        err.starts_with("oxmpi: process 4000000000 is no job and cannot be looked at: "),
        "{err}"
    );
}
