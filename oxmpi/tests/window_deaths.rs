//! The holder of a window's lock is killed: the others are told by an error, never hang, and the
//! lock keeps them apart as before. One host (the lock's words in shared memory) and two (some by
//! message, through the target's service), shared and exclusive, at moments chosen by a seed.

mod spread;

use std::process::{Command, exit};
use std::time::{Duration, Instant};

use oxmpi::ErrorKind;
use oxmpi::window::Window;
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
                let lost = format!("rank {dies} on host");
                assert!(matches!(error.kind(), ErrorKind::Engine(_)), "{error}");
                assert!(error.to_string().contains(&lost), "{error}");
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
    // All stay until all are done: the target's part of the window must be there.
    if me == 0 {
        for rank in (1..world.size()).filter(|rank| *rank != dies) {
            world.recv(&mut [0u64], rank, 1).unwrap();
        }
    } else {
        world.send(&[1u64], 0, 1).unwrap();
    }
    exit(0)
}

fn deaths(hosts: &str, network: &str, seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let kind = ["exclusive", "shared", "mixed"][seed as usize % 3];
        let dies = DIES[seed as usize % 2];
        let part = format!("{kind} {seed} {dies}");
        let mut job = spread::job(hosts, &part, 4, network);
        job.settings.keep_going = true;
        let outcome = job.run().unwrap();
        let text = text(&outcome);
        let mut torn = 0;
        for rank in (0..4).filter(|rank| *rank != dies) {
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
