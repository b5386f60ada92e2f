//! A rank of a window is killed, at moments chosen by a seed, on one host and on two.
//!
//! If it holds a lock, the others are told by an error, never hang, and the lock keeps them apart as
//! before: the lock's words in shared memory, and by message through the target's service, shared
//! and exclusive. Fences, and epochs of accesses and exposures, end with an error on every other
//! rank, also on those that wait only for ranks which live and have given up.

mod spread;

use std::process::{Command, exit};
use std::time::{Duration, Instant};

use oxmpi::op::Sum;
use oxmpi::window::Window;
use oxmpi::{Communicator, ErrorKind};
use spread::{NETWORKS, text};

/// Which rank dies. Rank 0 is the target; on two hosts 0 and 2 are on one, 1 and 3 on the other.
const DIES: [u32; 2] = [1, 2];
/// Locks that every survivor must get after it has been told.
const LOCKS_AFTER: u32 = 30;
/// A survivor that was neither told nor got its locks by then hangs.
const HANGS_AFTER: Duration = Duration::from_secs(40);

#[test]
fn agent() {
    spread::be_agent();
}

/// Numbers that look random, the same for the same seed.
fn next(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6364136223846793005)
        .wrapping_add(1442695040888963407);
    *state >> 33
}

/// Has this process killed after a while, by another.
fn be_killed_after(milliseconds: u64) {
    let (pid, seconds) = (std::process::id(), milliseconds as f64 / 1000.0);
    // In the background: the shell itself ends at once.
    let script = format!("(sleep {seconds}; kill -9 {pid}) &");
    let begun = Command::new("sh").args(["-c", &script]).status();
    assert!(begun.is_ok_and(|status| status.success()), "{script}");
}

/// What a rank has seen.
#[derive(Default)]
struct Seen {
    /// Errors that named the dead rank.
    told: u32,
    /// Two numbers that are changed together were different.
    torn: u32,
    locks: u32,
}

/// Takes rank 0's lock alone and changes two numbers together, with a pause between.
fn change_both(window: &Window<'_, u64>, seen: &mut Seen) -> oxmpi::Result<()> {
    let lock = window.lock(0)?;
    let mut both = [0; 2];
    lock.get(&mut both, 0)?;
    seen.torn += u32::from(both[0] != both[1]);
    let new = both[0].max(both[1]) + 1;
    lock.put(&[new], 0)?;
    lock.flush()?;
    std::hint::black_box((0..200).sum::<u64>());
    lock.put(&[new], 1)?;
    lock.unlock()
}

/// Takes it together with others and looks.
fn look(window: &Window<'_, u64>) -> oxmpi::Result<()> {
    let lock = window.lock_shared(0)?;
    lock.load(0)?;
    lock.fetch_add(1, 2)?;
    lock.unlock()
}

#[test]
#[ignore = "the part of a rank, executed by the other tests of this file"]
fn as_rank() {
    let Ok(part) = std::env::var("PART") else {
        return;
    };
    let words: Vec<&str> = part.split(' ').collect();
    let [kind, seed, dies] = words[..] else {
        panic!("{part}");
    };
    let (seed, dies): (u64, u32) = (seed.parse().unwrap(), dies.parse().unwrap());
    let mpi = oxmpi::init().unwrap();
    let world = mpi.world();
    let me = world.rank();
    let mut random = seed << 8 | u64::from(me);
    let window = world.window::<u64>(4).unwrap();
    world.barrier().unwrap();
    if me == dies {
        be_killed_after(20 + next(&mut random) % 60);
    }
    if matches!(kind, "fence" | "exposure") {
        meet_until_told(kind, &window, dies);
        check_names(&window.free().unwrap_err(), dies);
        println!("\nrank {me} told 1 torn 0 locks 0");
        stay(&world, dies);
    }
    let (mut seen, mut after, begun) = (Seen::default(), 0, Instant::now());
    while me == dies || after < LOCKS_AFTER {
        let alone = match kind {
            "exclusive" => true,
            "shared" => me != dies,
            _ => next(&mut random).is_multiple_of(2),
        };
        let locked = match alone {
            true => change_both(&window, &mut seen),
            false => look(&window),
        };
        match locked {
            Ok(()) => seen.locks += 1,
            Err(error) => {
                check_names(&error, dies);
                seen.told += 1;
            }
        }
        // Not everybody has to be told: whoever did not wait for the dead rank goes on.
        let dead = begun.elapsed() > Duration::from_millis(400);
        after += u32::from(dead);
        assert!(begun.elapsed() < HANGS_AFTER, "after {} locks", seen.locks);
        if dead {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    println!(
        "\nrank {me} told {} torn {} locks {}",
        seen.told, seen.torn, seen.locks
    );
    stay(&world, dies)
}

/// All stay until all are done: whoever ends is dead to the others.
fn stay(world: &Communicator<'_>, dies: u32) -> ! {
    if world.rank() == 0 {
        for rank in (1..world.size()).filter(|rank| *rank != dies) {
            world.recv(&mut [0u64], rank, 1).unwrap();
        }
    } else {
        world.send(&[1u64], 0, 1).unwrap();
        // Nothing comes: this ends when rank 0 does.
        let _ = world.recv(&mut [0u64], 0, 2);
    }
    exit(0)
}

fn check_names(error: &oxmpi::Error, dies: u32) {
    let lost = format!("rank {dies} on host");
    assert!(matches!(error.kind(), ErrorKind::Engine(_)), "{error}");
    assert!(error.to_string().contains(&lost), "{error}");
}

/// All access all, until a call says that one has died.
fn meet_until_told(kind: &str, window: &Window<'_, u64>, dies: u32) {
    let (me, size) = (window.rank(), window.size());
    let others: Vec<u32> = (0..size).filter(|rank| *rank != me).collect();
    let begun = Instant::now();
    let one = [1];
    for round in 1.. {
        let round = [round];
        let ended = match kind {
            "fence" => window.fence(|epoch| {
                epoch.put(&round, (me + 1) % size, 0)?;
                epoch.accumulate(&one, 0, 1, Sum)
            }),
            _ => window.expose(&others, || {
                window.access(&others, |epoch| epoch.put(&round, (me + 1) % size, 0))
            }),
        };
        if let Err(error) = ended {
            check_names(&error, dies);
            break;
        }
        assert!(begun.elapsed() < HANGS_AFTER, "after {round:?} rounds");
    }
    assert_ne!(me, dies);
}

fn deaths(hosts: &str, network: &str, seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let kind = ["exclusive", "shared", "mixed"][seed as usize % 3];
        die_once(hosts, network, kind, seed, 4);
    }
}

/// With messages alone, and where the ranks of a host meet in shared memory.
fn deaths_of_partners(hosts: &str, network: &str, seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let kind = ["fence", "exposure"][seed as usize % 2];
        die_once(hosts, network, kind, seed, 6);
    }
}

fn die_once(hosts: &str, network: &str, kind: &str, seed: u64, ranks: u32) {
    let dies = DIES[seed as usize / 2 % 2];
    let part = format!("{kind} {seed} {dies}");
    let mut job = spread::job(hosts, &part, ranks, network);
    job.settings.keep_going = true;
    let boards = ["on", "off"][seed as usize / 4 % 2];
    job.apps[0].env.push(("OXMPI_BOARDS".into(), boards.into()));
    let outcome = job.run().unwrap();
    let text = text(&outcome);
    let mut torn = 0;
    for rank in (0..ranks).filter(|rank| *rank != dies) {
        let line = text
            .lines()
            .find(|line| line.starts_with(&format!("rank {rank} told")));
        let line = line.unwrap_or_else(|| panic!("{hosts} {network} {part}: {text}"));
        let words: Vec<u32> = line
            .split(' ')
            .filter_map(|word| word.parse().ok())
            .collect();
        // A dead holder is told once.
        assert!(words[1] <= 1, "{part}: {text}");
        torn += words[2];
    }
    // Whoever comes next mends what the dead rank has left.
    assert!(torn <= 1, "{hosts} {network} {part}: {text}");
    assert_eq!(outcome.code, 137, "{part}: {text}");
}

fn seeds(few: u64) -> std::ops::Range<u64> {
    match std::env::var_os("OXMPI_TEST_LONG") {
        Some(_) => 0..few * 10,
        None => 0..few,
    }
}

#[test]
fn a_lock_survives_its_holder_on_one_host() {
    deaths("a", NETWORKS[0], seeds(3));
}

#[test]
fn a_lock_survives_its_holder_on_two_hosts() {
    for network in NETWORKS {
        deaths("a,b", network, seeds(3));
    }
}

#[test]
fn fences_and_exposures_end_when_a_rank_has_died_on_one_host() {
    deaths_of_partners("a", NETWORKS[0], seeds(8));
}

#[test]
fn fences_and_exposures_end_when_a_rank_has_died_on_two_hosts() {
    for network in NETWORKS {
        deaths_of_partners("a,b", network, seeds(8));
    }
}
