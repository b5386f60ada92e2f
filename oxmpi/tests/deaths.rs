//! Ranks that end at a bad moment, on several hosts: the others are told, the launcher names the
//! cause.

mod spread;

use std::process::exit;
use std::time::{Duration, Instant};

use oxmpi::file::{OpenOptions, Pattern};
use oxmpi::{Communicator, Source, Tag};
use oxmpi_launch::Job;
use spread::{NETWORKS, text};

fn job(part: &str, ranks: u32, network: &str) -> Job {
    spread::job("a,b,c", part, ranks, network)
}

#[test]
fn agent() {
    spread::be_agent();
}

fn kill_self() -> ! {
    let pid = std::process::id().to_string();
    let _ = std::process::Command::new("kill")
        .args(["-9", &pid])
        .status();
    loop {
        std::thread::sleep(Duration::from_secs(1));
    }
}

#[test]
#[ignore = "the part of a rank, executed by the other tests: cargo test -p oxmpi --test deaths"]
fn as_rank() {
    let Ok(part) = std::env::var("PART") else {
        return;
    };
    let rank: u32 = std::env::var("OXMPI_RANK").unwrap().parse().unwrap();
    match part.as_str() {
        "dies before init" if rank == 1 => kill_self(),
        "first dies before init" if rank == 0 => kill_self(),
        "leaves before init" if rank == 1 => exit(0),
        "is killed stopped before init" if rank == 1 => {
            let script = format!("kill -STOP {0}; sleep 0.3; kill -9 {0}", std::process::id());
            let _ = std::process::Command::new("sh")
                .args(["-c", &script])
                .status();
            loop {
                std::thread::sleep(Duration::from_secs(1));
            }
        }
        _ => {}
    }
    let mpi = match oxmpi::init() {
        Ok(mpi) => mpi,
        Err(error) => {
            println!("\nrank {rank} cannot join: {error}");
            exit(23)
        }
    };
    let world = mpi.world();
    let mut word = [0u64];
    match part.as_str() {
        // A death after the wire-up, of a rank that some have talked to and some have not.
        "dies" | "dies and is waited for by anybody" if rank == 1 => {
            world.send(&[7u64], 0, 5).unwrap();
            std::thread::sleep(Duration::from_millis(300));
            kill_self()
        }
        "dies" | "dies and is waited for by anybody" if rank == 0 => {
            world.recv(&mut word, 1, 5).unwrap();
        }
        _ => {}
    }
    let begun = Instant::now();
    let outcome = match part.as_str() {
        "dies in a file" => write_together(&world, rank, true),
        "dies in a collective write" => write_together(&world, rank, false),
        "dies and is waited for by anybody" => {
            world.recv(&mut word, Source::Any, Tag::Any).map(drop)
        }
        _ => world.recv(&mut word, 1, 9).map(drop),
    };
    let error = outcome.unwrap_err();
    println!(
        "\nrank {rank} after {} s: {error}",
        begun.elapsed().as_secs()
    );
    if part.starts_with("dies in a ") {
        // The others are still here: a wait for one of them would not end.
        std::thread::sleep(Duration::from_secs(3));
        exit(0)
    }
    if std::env::var_os("GIVE_UP").is_some() {
        mpi.abort(17);
    }
    drop(mpi);
    exit(0)
}

/// Bytes that each rank writes at a time, and the length of its pieces.
const BYTES: usize = 100_000;
const PIECE: u64 = 64;

/// Writes to a file with all ranks until one dies: rank 1, at a moment that its process id decides.
fn write_together(world: &Communicator, rank: u32, in_other_ways: bool) -> oxmpi::Result<()> {
    let mut number = [std::process::id()];
    world.bcast(&mut number, 0)?;
    let path = std::env::temp_dir().join(format!("oxmpi-deaths-{}.dat", number[0]));
    let stripes = Pattern::Blocks {
        first: u64::from(rank) * PIECE,
        length: PIECE,
        stride: u64::from(world.size()) * PIECE,
    };
    let options = OpenOptions::new().write(true).create(true);
    let file = options.open(world, &path)?.view::<u8>(0, &stripes)?;
    world.barrier()?;
    // Open files stay; the name is not needed any more.
    if rank == 0 {
        let _ = std::fs::remove_file(&path);
    }
    if rank == 1 {
        let delay = u64::from(std::process::id()) * 37 % 300;
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(delay));
            kill_self()
        });
    }
    let data = vec![7; BYTES];
    loop {
        file.write_at_all(0, &data)?;
        if in_other_ways {
            file.sync()?;
            file.write_ordered(&data[..100])?;
        }
    }
}

/// Every survivor is told that rank 1 `how`.
fn all_are_told(part: &str, how: &str, code: u8) {
    for network in NETWORKS {
        let mut job = job(part, 6, network);
        job.settings.keep_going = true;
        let outcome = job.run().unwrap();
        let text = text(&outcome);
        for rank in [0, 2, 3, 4, 5] {
            let told = |line: &&str| line.starts_with(&format!("rank {rank} after"));
            let line = text
                .lines()
                .find(told)
                .unwrap_or_else(|| panic!("{network}: {text}"));
            // A rank that has a connection may see its end before it is told how the process ended.
            let seen = rank == 0 && line.ends_with("the process is gone");
            assert!(
                line.contains("rank 1 on host") && (line.ends_with(how) || seen),
                "{network}, {line}: {text}"
            );
        }
        assert_eq!(outcome.code, code, "{network}: {text}");
    }
}

#[test]
fn a_death_in_a_collective_write_leaves_nobody_waiting() {
    for network in NETWORKS {
        let mut job = job("dies in a file", 6, network);
        job.settings.keep_going = true;
        let text = text(&job.run().unwrap());
        for rank in [0, 2, 3, 4, 5] {
            // Which of its waits notices, and how, is a matter of chance; whom it names is not.
            let told = |line: &str| {
                line.starts_with(&format!("rank {rank} after"))
                    && line.contains("rank 1 on host")
                    && line.contains("oxmpi-deaths-")
            };
            assert!(text.lines().any(told), "{network}, rank {rank}: {text}");
        }
    }
}

#[test]
fn a_death_in_a_collective_write_is_told_with_file_and_bytes() {
    // On one host data go through memory that ranks share, on several by messages.
    for hosts in ["a", "a,b,c"] {
        let mut job = spread::job(hosts, "dies in a collective write", 6, "tcp");
        job.settings.keep_going = true;
        let text = text(&job.run().unwrap());
        for rank in [0, 2, 3, 4, 5] {
            let place = format!(".dat, {BYTES} bytes at byte {}: ", rank * PIECE);
            let told = |line: &str| {
                line.starts_with(&format!("rank {rank} after"))
                    && line.contains("cannot write ")
                    && line.contains(&place)
                    && line.contains("rank 1 on host")
            };
            assert!(text.lines().any(told), "{hosts}, rank {rank}: {text}");
        }
    }
}

#[test]
fn a_death_before_init_leaves_nobody_waiting() {
    all_are_told("dies before init", "which was killed by signal 9", 137);
}

#[test]
fn a_death_while_stopped_before_init_leaves_nobody_waiting() {
    all_are_told(
        "is killed stopped before init",
        "which was killed by signal 9",
        137,
    );
}

#[test]
fn an_end_without_init_leaves_nobody_waiting() {
    let how = "which exited with status 0 without finalising";
    all_are_told("leaves before init", how, 0);
}

#[test]
fn a_death_is_told_to_all_who_wait() {
    all_are_told("dies", "which was killed by signal 9", 137);
}

#[test]
fn a_death_is_told_to_who_waits_for_anybody() {
    all_are_told(
        "dies and is waited for by anybody",
        "which was killed by signal 9",
        137,
    );
}

#[test]
fn without_its_first_rank_a_job_says_so() {
    let mut job = job("first dies before init", 3, "tcp");
    job.settings.keep_going = true;
    let outcome = job.run().unwrap();
    let text = text(&outcome);
    assert_eq!(outcome.code, 137, "{text}");
    for rank in [1, 2] {
        let told = format!("rank {rank} cannot join: ");
        assert!(text.contains(&told), "{text}");
    }
    assert!(text.contains("rank 0 ended before it told"), "{text}");
}

#[test]
fn the_status_is_that_of_the_rank_that_was_killed() {
    for turn in 0..10 {
        let mut job = job("dies", 3, NETWORKS[turn % 2]);
        job.settings.env.push(("GIVE_UP".into(), "1".into()));
        let outcome = job.run().unwrap();
        let text = text(&outcome);
        assert_eq!(outcome.code, 137, "{text}");
        let said: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("oxmpi: rank"))
            .collect();
        assert_eq!(said.len(), 1, "{text}");
        assert!(
            said[0].contains("oxmpi: rank 1 (pid ")
                && said[0].contains(" on b, prog) was killed by signal 9"),
            "{text}"
        );
    }
}
