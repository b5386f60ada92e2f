//! Random programs in which a rank dies between two operations, by seed: what the others ask of
//! each other is done as the oracle says, what they ask of the dead rank is done or is an error
//! that names it, and nobody waits for ever.

use std::time::Duration;

use oxmpi_core::process::Threads;
use oxmpi_core::window::Flavor;
use oxmpi_core::{ErrorKind, SendMode, Source, Tag};
use oxmpi_harness::run;

use super::faults::take_no_hint;
use super::ground::{NONE, Random, Rank, SETTINGS, Words, buffer};
use super::random::{Access, Made, Planned, WORDS, oracle, perform, plan, seed};

const RANKS: u32 = 3;

/// An error about the dead rank is no surprise; any other is.
fn expect_of_the_dead<T>(outcome: Result<T, ErrorKind>, dead: u32) -> Option<T> {
    outcome
        .inspect_err(|error| {
            let names = error.to_string().contains(&format!("rank {dead}"));
            assert!(names, "not about rank {dead}: {error}");
        })
        .ok()
}

/// Tells every other survivor, and waits for it: the operations of all are completed.
fn meet(rank: &Rank, dead: u32) {
    let mut others: Vec<u32> = (0..rank.size()).collect();
    others.retain(|other| *other != dead && *other != rank.rank());
    let word = [1_u64];
    for other in &others {
        let sent = (rank.comm).send_buffer(&buffer(&word), Some(*other), 1, SendMode::Standard);
        sent.unwrap();
    }
    for other in others {
        let source = Some(Source::Rank(other));
        let told = &mut [0_u64];
        let got = rank.comm.recv_buffer(&buffer(told), source, Tag::Is(1));
        got.unwrap();
    }
}

/// Every word that the dead rank did not mean to change holds what the oracle says.
fn check(rank: &Rank, words: &Words, planned: &[Planned], state: &[u64], dead: u32) {
    let mut touched_by_dead = vec![false; WORDS];
    for operation in planned {
        let changes = operation.origin == dead && operation.access != Access::Get;
        if changes && operation.target == rank.rank() {
            operation
                .places()
                .for_each(|place| touched_by_dead[place] = true);
        }
    }
    let own = words.own();
    for (place, touched) in touched_by_dead.into_iter().enumerate() {
        assert!(touched || own[place] == state[place], "word {place}");
    }
}

fn live_on(flavor: Flavor) {
    take_no_hint();
    let rank = Rank::join(Threads::One);
    let mut seeds = [seed()];
    rank.bcast(&mut seeds, 0);
    println!("OXMPI_TEST_SEED={}", seeds[0]);
    let mut random = Random(seeds[0]);
    let words = Words::new(&rank, flavor, WORDS);
    let mut state = vec![vec![0_u64; WORDS]; RANKS as usize];
    let planned = plan(&mut random, RANKS);
    let read = oracle(&mut state, &planned);
    let dead = 1 + random.below(u64::from(RANKS) - 1) as u32;
    let last = random.below(planned.len() as u64) as usize;
    let flushes = random.below(2) == 0;
    words.window.lock_all(NONE).unwrap();
    rank.barrier();
    let mut made: Vec<Made> = Vec::new();
    for (at, operation) in planned.iter().enumerate() {
        if at == last && rank.rank() == dead {
            if flushes {
                words.window.flush_all().unwrap();
            }
            std::process::abort();
        }
        if operation.origin != rank.rank() {
            continue;
        }
        let begun = perform(&words, operation, at, read[at][0], false);
        match operation.target == dead {
            true => made.extend(expect_of_the_dead(begun, dead)),
            false => made.push(begun.unwrap()),
        }
    }
    for target in (0..RANKS).filter(|target| *target != dead) {
        words.window.flush(Some(target)).unwrap();
    }
    expect_of_the_dead(words.window.flush(Some(dead)), dead);
    meet(&rank, dead);
    check(&rank, &words, &planned, &state[rank.rank() as usize], dead);
    expect_of_the_dead(words.window.unlock_all(), dead);
    drop(made);
    // Whoever ends is dead to those that still unlock its part.
    meet(&rank, dead);
    std::thread::sleep(Duration::from_millis(20));
    eprintln!("rank {} lives on", rank.rank());
    std::process::exit(1);
}

fn judge(name: &str, flavor: Flavor) {
    let path = format!("{}::{name}", module_path!());
    let is_rank = std::env::var("OXMPI_TEST_CASE").is_ok_and(|case| case == path);
    if is_rank {
        return run(&path, &[], &[], || live_on(flavor));
    }
    let programs = match std::env::var_os("OXMPI_TEST_LONG") {
        Some(_) => 30,
        None => 2,
    };
    // By UDP only the launcher could tell of the death, and it ends the job instead.
    for (setting, _) in SETTINGS[..2]
        .iter()
        .flat_map(|setting| (0..programs).map(move |program| (setting, program)))
    {
        let outcome = oxmpi_harness::job(&path, RANKS, setting);
        let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
        let out = String::from_utf8_lossy(&outcome.stdout).into_owned();
        let living = said.lines().filter(|line| line.contains("lives on"));
        let count = living.count();
        assert_eq!(count, 2, "{flavor:?} {setting:?}\n{out}\n{said}");
        assert!(outcome.wall < Duration::from_secs(60), "{:?}", outcome.wall);
    }
}

#[test]
fn survivors_of_a_death_live_on_by_shared_memory() {
    judge(
        "survivors_of_a_death_live_on_by_shared_memory",
        Flavor::Allocate,
    );
}

#[test]
fn survivors_of_a_death_live_on_by_message() {
    judge("survivors_of_a_death_live_on_by_message", Flavor::Create);
}
