//! No call crashes or hangs, whatever arguments it gets: a generator built from the table.
//!
//! Every C function is called with null, freed, foreign and random handles, negative counts, null
//! pointers, and MPI_IN_PLACE and MPI_BOTTOM where they mean nothing; inside the library's life,
//! before it and after it. What is not tried are addresses that are no memory, and lengths that
//! lie about memory: no library can tell. A case is a number and a seed, so each can be had again.
//!
//! A sample runs every time; OXMPI_TEST_LONG takes twenty times as many. OXMPI_TEST_SEED repeats a
//! run.

mod library;
mod value;
mod worker;

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use oxmpi_abi_table::Table;

const CASE: &str = "OXMPI_ABI_TEST_CASE";

/// Calls of each function in a sample, and in a long run.
const CALLS: [u64; 2] = [3, 60];

/// Cases that one process makes: state that earlier calls leave behind is part of the trial, but
/// not for ever.
const BATCH: u64 = 500;

/// A process that says nothing for so long hangs; a call takes microseconds, the start of a process
/// on a machine with other work seconds.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// A case is tried in a process of its own, because it may crash.
#[test]
fn a_worker() {
    if let Ok(case) = std::env::var(CASE) {
        worker::run(&case);
    }
}

#[test]
fn inside() {
    trial("inside");
}

#[test]
fn before_initialisation() {
    trial("before");
}

#[test]
fn after_finalisation() {
    trial("after");
}

fn trial(stage: &str) {
    if std::env::var_os(CASE).is_some() {
        return;
    }
    let seed = std::env::var("OXMPI_TEST_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.unwrap().as_nanos() as u64
    });
    println!("OXMPI_TEST_SEED={seed}");
    let long = std::env::var_os("OXMPI_TEST_LONG").is_some();
    // Outside of its life the library looks at the stage first, so fewer arguments tell as much.
    let fewer = if stage == "inside" { 1 } else { 3 };
    let calls = CALLS[usize::from(long)] / fewer;
    let all = Table::mpi5().names().len() as u64 * calls;
    let (mut next, mut wrong) = (0, Vec::new());
    while next < all {
        let count = BATCH.min(all - next);
        next = batch(
            &format!("{stage}:{seed}:{next}:{count}"),
            next + count,
            &mut wrong,
        );
    }
    println!("{stage}: {all} calls, {} wrong", wrong.len());
    assert!(
        wrong.is_empty(),
        "OXMPI_TEST_SEED={seed}, {stage}:\n{}",
        wrong.join("\n")
    );
}

/// Runs a worker up to its end, crash or silence; the number of the case to go on with.
fn batch(case: &str, end: u64, wrong: &mut Vec<String>) -> u64 {
    // The three trials run side by side, and each removes what its worker has left.
    let stage = case.split(':').next().unwrap_or_default();
    let folder = format!("oxmpi-bad-arguments-{}-{stage}", std::process::id());
    let folder = std::env::temp_dir().join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    let mut worker = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_worker", "--nocapture", "--test-threads=1"])
        .env(CASE, case)
        .current_dir(&folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (said, hears) = channel();
    let output = BufReader::new(worker.stdout.take().unwrap());
    let reader = std::thread::spawn(move || {
        for line in output.split(b'\n').map_while(Result::ok) {
            let _ = said.send(String::from_utf8_lossy(&line).into_owned());
        }
    });
    let (mut last, mut number, mut finished) = (String::new(), None, false);
    loop {
        match hears.recv_timeout(SILENCE_MAX) {
            Ok(line) => {
                if let Some(text) = line.strip_prefix("wrong ") {
                    wrong.push(text.to_owned());
                } else if let Some(text) = line.strip_prefix("at ") {
                    number = text
                        .split(' ')
                        .next()
                        .and_then(|number| number.parse::<u64>().ok());
                    last = text.to_owned();
                }
                finished |= line == "finished";
            }
            Err(RecvTimeoutError::Timeout) => {
                let _ = worker.kill();
                wrong.push(format!("hangs: {last}"));
                break;
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let status = worker.wait().unwrap();
    let _ = reader.join();
    let _ = std::fs::remove_dir_all(&folder);
    if finished {
        return end;
    }
    if let Some(signal) = status.signal().filter(|signal| *signal != libc::SIGKILL) {
        wrong.push(format!("signal {signal}: {last}"));
    }
    // An error handler may have ended the process, which is its right.
    number.unwrap_or_else(|| panic!("the worker {case} ended before its first call: {status}")) + 1
}
