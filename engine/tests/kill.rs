//! Engines in real processes, one of which is killed at a random moment: whoever waits for it is
//! told within a second, with its name and the signal; the others go on among themselves, every
//! message whole and in order.

mod engines;
#[path = "../../xtask/limit.rs"]
mod limit;
#[path = "../../ports/tests/processes/mod.rs"]
mod processes;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use engines::{data, from, irecv, isend, recv};
use limit::limit;
use oxmpi_engine::{
    Completion, Death, Engine, EngineError, Fault, Mode, Options, Request, Threads,
};
use oxmpi_ports::Segment;
use processes::{Job, Random, Role, first_seed, role, rounds};

const SIZE: u32 = 4;
const VICTIM: u32 = 2;
const SURVIVORS: [u32; 3] = [0, 1, 3];
/// Rounds in which the survivors exchange messages: together some tens of milliseconds.
const EXCHANGES: usize = 60;
/// A tag on which the victim never sends.
const SILENCE: i32 = 99;

fn attach(role: Role, size: u32) -> (std::sync::Arc<Engine>, u64) {
    let seed = role.seed;
    let options = Options::from_env().unwrap();
    // SAFETY: each child uses its engine from one thread.
    let engine = unsafe {
        let facts = engines::facts(role.port, size, role.segment);
        Engine::attach(facts, &options, Threads::One)
    };
    (std::sync::Arc::new(engine.unwrap()), seed)
}

/// The length of a round's message: both sides know it.
fn length(seed: u64, source: u32, to: u32, round: usize) -> usize {
    let key = u64::from(source) << 40 | u64::from(to) << 32 | round as u64;
    let mut random = Random::new(seed ^ key.wrapping_mul(0x9e37_79b9));
    match random.below(4) {
        0 => random.below(100) as usize,
        1 => random.below(10_000) as usize,
        2 => random.below(100_000) as usize,
        _ => random.below(500_000) as usize,
    }
}

fn assert_killed(outcome: Result<Completion, EngineError>) {
    let error = outcome.expect_err("the victim sends nothing on this tag");
    match error.fault() {
        Fault::PeerDied { peer, death, .. } => {
            assert_eq!((*peer, *death), (VICTIM, Some(Death::Signal(9))), "{error}");
        }
        _ => panic!("{error}"),
    }
}

/// One exchange between all survivors, and messages to the victim that nobody waits for.
fn exchange(engine: &Engine, seed: u64, round: usize, to_victim: &mut Vec<(Request, Vec<u8>)>) {
    let me = engine.rank();
    let others: Vec<u32> = SURVIVORS.into_iter().filter(|&rank| rank != me).collect();
    let mut into: Vec<Vec<u8>> = others
        .iter()
        .map(|&rank| vec![0; length(seed, rank, me, round)])
        .collect();
    let receiving: Vec<Request> = others
        .iter()
        .zip(&mut into)
        .map(|(&rank, into)| irecv(engine, rank, round as i32 % 7, into))
        .collect();
    let messages: Vec<Vec<u8>> = others
        .iter()
        .map(|&rank| data(round, length(seed, me, rank, round)))
        .collect();
    let sending: Vec<Request> = others
        .iter()
        .zip(&messages)
        .map(|(&rank, message)| isend(engine, rank, round as i32 % 7, message, Mode::Standard))
        .collect();
    let message = data(round, length(seed, me, VICTIM, round));
    let envelope = engines::envelope(me, 1, message.len());
    // SAFETY: the message is kept beside its request, and forgotten only with the process.
    match unsafe { engine.isend(VICTIM, envelope, message.as_ptr(), Mode::Standard) } {
        Ok(request) => to_victim.push((request, message)),
        Err(error) => assert_killed(Err(error)),
    }
    for request in receiving.into_iter().chain(sending) {
        engine.wait(request).unwrap();
    }
    for (into, &rank) in into.iter().zip(&others) {
        assert!(
            *into == data(round, length(seed, rank, me, round)),
            "round {round} from {rank}"
        );
    }
}

fn survivor(engine: &Engine, seed: u64) {
    let mut word = [0; 8];
    let silent = irecv(engine, VICTIM, SILENCE, &mut word);
    let mut to_victim = Vec::new();
    for round in 0..EXCHANGES {
        exchange(engine, seed, round, &mut to_victim);
    }
    assert_killed(engine.wait(silent));
    for (request, _message) in &to_victim {
        // Eager messages may have left before the death; offered ones that it took, too. All others
        // name it.
        if let Err(error) = engine.wait(*request) {
            assert_killed(Err(error));
        }
    }
    assert_killed(recv(engine, VICTIM, SILENCE, &mut word));
    exchange(engine, seed, EXCHANGES, &mut to_victim);
    engine.finalize();
}

/// The victim takes part in everything, at random, until it is killed.
fn victim(engine: &Engine, seed: u64) -> ! {
    let mut random = Random::new(seed);
    let mut into = vec![0; 1 << 20];
    let kept = data(0, 300_000);
    loop {
        match random.below(3) {
            0 => {
                let peer = SURVIVORS[random.below(3) as usize];
                let bytes = random.below(300_000) as usize;
                isend(engine, peer, 50, &kept[..bytes], Mode::Standard);
            }
            1 => {
                if engine.probe(from(None, 1)).unwrap().is_some() {
                    recv(engine, None, 1, &mut into).unwrap();
                }
            }
            _ => std::thread::sleep(Duration::from_micros(random.below(100))),
        }
    }
}

#[test]
fn survivors_of_a_killed_engine_go_on() {
    if let Some(role) = role() {
        let (engine, seed) = attach(role, SIZE);
        if engine.rank() == VICTIM {
            victim(&engine, seed);
        }
        survivor(&engine, seed);
        return;
    }
    let first = first_seed();
    for seed in first..first + rounds(24, 600) {
        let single_copy = if seed % 2 == 0 { "on" } else { "off" };
        let wait = ["auto", "sleep", "yield"][seed as usize % 3];
        let environment = [("OXMPI_SINGLE_COPY", single_copy), ("OXMPI_WAIT", wait)];
        let mut job = Job::start(
            "survivors_of_a_killed_engine_go_on",
            SIZE,
            seed,
            &environment,
        );
        job.until_attached();
        std::thread::sleep(Duration::from_micros(Random::new(seed).below(100_000)));
        job.kill(VICTIM);
        job.finish(Duration::from_secs(300));
    }
}

/// The ways to wait for a process that never answers.
fn wait_in_way(engine: &Engine, way: u32) {
    let mut word = [0; 8];
    let long = vec![0; 300_000];
    let outcome = match way {
        0 => recv(engine, VICTIM, SILENCE, &mut word),
        1 => {
            let requests = [
                irecv(engine, VICTIM, 1, &mut word),
                irecv(engine, 0, 2, &mut [0; 8]),
            ];
            engine.wait_any(&requests).1
        }
        3 => engine.wait(isend(engine, VICTIM, 3, &long, Mode::Standard)),
        4 => engine.wait(isend(engine, VICTIM, 3, &[], Mode::Synchronous)),
        5 => engine
            .probe_wait(Some(VICTIM), from(VICTIM, 4))
            .map(|_| unreachable!()),
        6 => recv(engine, None, SILENCE, &mut word),
        7 => {
            let never = &mut Never;
            engine
                .wait_until(never, &[0, VICTIM, 7])
                .map(|()| unreachable!())
        }
        8 => {
            // As a poller: test until it is over.
            let request = irecv(engine, VICTIM, SILENCE, &mut word);
            loop {
                match engine.test(request) {
                    Ok(None) => std::thread::yield_now(),
                    Ok(Some(completion)) => break Ok(completion),
                    Err(error) => break Err(error),
                }
            }
        }
        _ => unreachable!(),
    };
    assert_killed(outcome);
    // And at once from now on.
    let started = Instant::now();
    assert_killed(recv(engine, VICTIM, 5, &mut word));
    assert!(started.elapsed() < limit(Duration::from_secs(1)));
    engine.finalize();
}

/// A condition that never comes true.
struct Never;

impl oxmpi_engine::Condition for Never {
    fn is_met(&mut self) -> bool {
        false
    }
}

#[test]
fn whoever_waits_for_the_dead_is_told_within_a_second() {
    const WAYS: u32 = 9;
    if let Some(role) = role() {
        let (engine, _) = attach(role, WAYS);
        if engine.rank() == VICTIM {
            loop {
                std::thread::sleep(Duration::from_secs(1));
            }
        }
        wait_in_way(&engine, engine.rank());
        return;
    }
    for wait in ["auto", "sleep", "yield"] {
        let environment = [("OXMPI_WAIT", wait)];
        let mut job = Job::start(
            "whoever_waits_for_the_dead_is_told_within_a_second",
            WAYS,
            0,
            &environment,
        );
        job.until_attached();
        std::thread::sleep(Duration::from_millis(100));
        job.kill(VICTIM);
        job.finish(limit(Duration::from_secs(1)));
    }
}

/// A death that is recorded just as its waiter falls asleep must not be slept through: rank 0
/// receives from one rank after the other, and each is declared dead at about the moment when the
/// receive has looked around and goes to sleep.
#[test]
fn a_death_is_not_slept_through() {
    const RANKS: u32 = 1000;
    let options = Options {
        wait: oxmpi_engine::WaitMode::Sleep,
        driver: false,
        ..Options::default()
    };
    let seed = first_seed();
    for round in 0..rounds(3, 100) {
        let segment = Segment::create(RANKS, 2).unwrap();
        let fd = segment.fd().try_clone_to_owned().unwrap();
        // SAFETY: one thread uses it.
        let engine =
            unsafe { Engine::attach(engines::facts(0, RANKS, fd), &options, Threads::One) };
        let engine = engine.unwrap();
        let next = AtomicU32::new(0);
        engines::within(Duration::from_secs(600), &format!("seed {seed}"), || {
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    for peer in 1..RANKS {
                        next.store(peer, Ordering::Release);
                        recv(&engine, peer, SILENCE, &mut [0; 8]).unwrap_err();
                    }
                });
                let mut random = Random::new(seed + round);
                for peer in 1..RANKS {
                    while next.load(Ordering::Acquire) != peer {
                        std::thread::yield_now();
                    }
                    for _ in 0..random.below(100) {
                        std::hint::spin_loop();
                    }
                    segment.mark_dead(peer, Death::Signal(9));
                }
            });
        });
    }
}
