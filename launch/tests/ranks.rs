//! Ranks that use the job's segment, as MPI programs do: this test executes itself as the ranks of
//! its jobs.
//!
//! `as_rank` is no test but what a rank does; which part it plays comes in PART.

use std::process::exit;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oxmpi_join::{Identity, host_name};
use oxmpi_launch::{AppContext, Executable, Job, Outcome, Output, Settings, Stdin};
use oxmpi_pmi::Client;
use oxmpi_ports::{Death, Port, PortState, Segment};

fn job(part: &str, ranks: u32) -> Job {
    Job {
        apps: vec![AppContext {
            executable: Executable::this_one("prog"),
            arguments: ["--exact", "as_rank", "--ignored", "--nocapture"]
                .map(Into::into)
                .to_vec(),
            ranks,
            wdir: None,
            env: vec![("PART".into(), part.into())],
        }],
        settings: Settings {
            stdin: Stdin::Null,
            output: Output::Capture,
            timeout: Some(Duration::from_secs(600)),
            ..Settings::default()
        },
    }
}

fn run(part: &str, ranks: u32) -> Outcome {
    job(part, ranks).run().unwrap()
}

/// The launcher's messages with pids and host made comparable.
fn said(outcome: &Outcome) -> String {
    let text =
        String::from_utf8_lossy(&outcome.stderr).replace(&format!(" on {}", host_name()), "");
    let lines = text.lines().filter(|line| line.starts_with("oxmpi: "));
    let plain = |line: &str| {
        let (before, after) = line.split_once("(pid ").unwrap_or((line, ""));
        let after = after.trim_start_matches(|c: char| c.is_ascii_digit());
        format!("{before}({after}\n")
    };
    lines.map(plain).collect()
}

#[test]
#[ignore = "the part of a rank, executed by the other tests: cargo test -p oxmpi-launch --test ranks"]
fn as_rank() {
    let Ok(part) = std::env::var("PART") else {
        return;
    };
    if let Some(part) = part.strip_prefix("foreign ") {
        return foreign(part);
    }
    let identity = Identity::from_env().expect("started by a launcher");
    let rank = identity.rank;
    let segment = Arc::new(Segment::attach(identity.segment.unwrap()).unwrap());
    assert_eq!(segment.ports(), identity.size);
    let _port = Port::open(Arc::clone(&segment), rank).unwrap();
    match part.as_str() {
        "good" => segment.finish(rank),
        "forgets" if rank == 1 => exit(0),
        "aborts" if rank == 1 => {
            segment.set_abort(1, 42);
            exit(42)
        }
        "aborts with 0" => {
            segment.set_abort(0, 0);
            exit(0)
        }
        "fails afterwards" => {
            segment.finish(rank);
            if rank == 1 {
                exit(6);
            }
            std::thread::sleep(Duration::from_millis(300));
            println!("\nrank {rank} has finished its work");
        }
        "fails and is waited for" if rank == 1 => {
            segment.finish(rank);
            exit(6)
        }
        "dies" if rank == 1 => std::process::abort(),
        "dies" => watch(&segment, PortState::Dead(Death::Signal(libc::SIGABRT))),
        "starts another" => {
            let child = std::process::Command::new("/proc/self/exe")
                .args(["--exact", "as_child", "--ignored", "--nocapture"])
                .output()
                .unwrap();
            segment.finish(rank);
            print!("{}", String::from_utf8_lossy(&child.stdout));
        }
        _ => loop {
            std::thread::sleep(Duration::from_secs(1));
        },
    }
    exit(0)
}

/// What a program on another MPI library does: it knows the launcher by PMI alone.
fn foreign(part: &str) {
    let mut client = Client::from_env().unwrap().expect("there is a launcher");
    let (rank, size) = (client.rank(), client.size());
    client.put("name", &format!("I-am-{rank}")).unwrap();
    client.fence().unwrap();
    for peer in 0..size {
        assert_eq!(client.get(peer, "name").unwrap(), format!("I-am-{peer}"));
    }
    match part {
        "good" => client.finalize().unwrap(),
        "fails afterwards" => {
            client.finalize().unwrap();
            exit(if rank == 1 { 6 } else { 0 })
        }
        "aborts" if rank == 1 => client.abort(42, "enough"),
        _ if rank == 1 => exit(0),
        _ => {}
    }
    if part != "good" {
        std::thread::sleep(Duration::from_secs(1000));
    }
    println!("\nhosts {:?}", client.hosts());
    exit(0)
}

/// Waits until rank 1 is what the launcher should have said it is.
fn watch(segment: &Segment, expected: PortState) {
    let begin = Instant::now();
    while segment.state(1) != expected {
        assert!(
            begin.elapsed() < Duration::from_secs(300),
            "{:?}",
            segment.state(1)
        );
        std::thread::sleep(Duration::from_millis(1));
    }
    println!("\nnoticed");
    segment.finish(0);
    exit(0)
}

#[test]
#[ignore = "the part of a program that a rank starts, executed by the other tests: cargo test -p oxmpi-launch --test ranks"]
fn as_child() {
    if std::env::var_os("PART").is_some() {
        println!("\nchild: {}", Identity::from_env().unwrap_err());
    }
}

#[test]
fn ranks_that_finalise_end_well() {
    let outcome = run("good", 4);
    assert!(
        outcome.success(),
        "{}",
        String::from_utf8_lossy(&outcome.stderr)
    );
    assert_eq!(said(&outcome), "");
    assert!(outcome.wall > Duration::ZERO);
}

#[test]
fn an_end_without_finalising_is_an_error() {
    let outcome = run("forgets", 3);
    assert_eq!(outcome.code, 1);
    assert_eq!(
        said(&outcome),
        "oxmpi: rank 1 (, prog) exited with status 0 without finalising MPI; ending the other 2 ranks\n"
    );
}

#[test]
fn an_abort_is_reported_once() {
    let outcome = run("aborts", 3);
    assert_eq!(outcome.code, 42);
    assert_eq!(
        said(&outcome),
        "oxmpi: rank 1 (, prog) called MPI abort with code 42; ending the other 2 ranks\n"
    );
    let outcome = run("aborts with 0", 1);
    assert_eq!(outcome.code, 1);
    assert_eq!(
        said(&outcome),
        "oxmpi: rank 0 (, prog) called MPI abort with code 0\n"
    );
}

#[test]
fn a_failure_after_finalising_does_not_end_the_others() {
    let outcome = run("fails afterwards", 3);
    assert_eq!(outcome.code, 6);
    let text = String::from_utf8_lossy(&outcome.stdout);
    for rank in [0, 2] {
        assert!(
            text.contains(&format!("rank {rank} has finished its work")),
            "{text}"
        );
    }
    let said = said(&outcome);
    assert!(
        said.starts_with("oxmpi: rank 1 (, prog) exited with status 6 after finalising MPI"),
        "{said}"
    );
}

#[test]
fn who_waits_for_a_rank_that_failed_after_finalising_is_ended() {
    let mut job = job("fails and is waited for", 3);
    job.settings.grace = Duration::from_millis(200);
    let outcome = job.run().unwrap();
    assert_eq!(outcome.code, 6);
    assert!(outcome.wall < Duration::from_secs(300));
}

#[test]
fn survivors_learn_of_a_death() {
    let mut job = job("dies", 2);
    job.settings.keep_going = true;
    let outcome = job.run().unwrap();
    assert_eq!(outcome.code, 128 + libc::SIGABRT as u8);
    assert!(String::from_utf8_lossy(&outcome.stdout).contains("noticed"));
}

#[test]
fn a_program_started_by_a_rank_is_told_that_it_is_none() {
    let outcome = run("starts another", 1);
    let text = String::from_utf8_lossy(&outcome.stdout);
    assert!(text.contains("child: OXMPI_SEGMENT="), "{text}");
    assert!(text.contains("is not an open descriptor"), "{text}");
}

#[test]
fn programs_on_other_libraries_find_each_other_by_pmi() {
    let outcome = run("foreign good", 5);
    assert!(
        outcome.success(),
        "{}",
        String::from_utf8_lossy(&outcome.stderr)
    );
    assert_eq!(said(&outcome), "");
}

#[test]
fn programs_on_other_libraries_end_by_the_same_rules() {
    let outcome = run("foreign forgets", 3);
    assert_eq!(
        said(&outcome),
        "oxmpi: rank 1 (, prog) exited with status 0 without finalising MPI; ending the other 2 ranks\n"
    );
    assert_eq!(outcome.code, 1);
    let outcome = run("foreign aborts", 3);
    assert_eq!(
        said(&outcome),
        "oxmpi: rank 1 (, prog) asked for the end of the job with code 42: enough; ending its 3 ranks\n"
    );
    assert_eq!(outcome.code, 42);
    let outcome = run("foreign fails afterwards", 1);
    assert!(outcome.success());
    let outcome = run("foreign fails afterwards", 2);
    assert!(
        said(&outcome)
            .starts_with("oxmpi: rank 1 (, prog) exited with status 6 after finalising MPI"),
        "{}",
        said(&outcome)
    );
    assert_eq!(outcome.code, 6);
}

#[test]
fn without_a_launcher_there_is_one_rank() {
    let identity = Identity::from_env().unwrap();
    assert_eq!((identity.rank, identity.size), (0, 1));
    assert!(identity.segment.is_none());
    assert_eq!(identity.host, host_name());
}

#[test]
fn jobs_run_side_by_side() {
    let jobs: Vec<_> = (0..8)
        .map(|_| std::thread::spawn(|| (0..5).all(|_| run("good", 2).success())))
        .collect();
    for job in jobs {
        assert!(job.join().unwrap());
    }
}
