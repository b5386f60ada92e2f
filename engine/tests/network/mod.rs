//! The tests of messages, requests and threads once more, with engines that take each other for
//! processes of other hosts, and what only networks can get wrong.
#![allow(
    clippy::duplicate_mod,
    reason = "the tests of the other programs bring what they need"
)]

#[path = "../messages.rs"]
pub mod messages;
#[path = "../requests.rs"]
mod requests;
#[path = "../threads.rs"]
mod threads;

use std::thread;
use std::time::{Duration, Instant};

use messages::engines::{
    Random, all_facts, data, envelope, irecv, isend, job_on, nonsense, pair, recv, seats_that_know,
    send, survive_garbage, within,
};
use oxmpi_engine::{Engine, Fault, Mode, Options, Threads};
use oxmpi_net::transport::Sent;
use oxmpi_wire::{Kind, Repr};

const LIMIT: Duration = Duration::from_secs(600);

/// Both sides dial at the same moment, many times over: one connection stays, and nothing is lost.
#[test]
fn dials_that_cross_become_one_connection() {
    for turn in 0..40 {
        let (left, right) = pair(&Options::default(), Threads::One);
        within(LIMIT, &format!("crossing dials, turn {turn}"), || {
            thread::scope(|scope| {
                for (engine, other) in [(&left, 1), (&right, 0)] {
                    scope.spawn(move || {
                        let mut into = [0; 8];
                        let request = irecv(engine, other, 3, &mut into);
                        send(engine, other, 3, &[other as u8; 8]).unwrap();
                        engine.wait(request).unwrap();
                        assert_eq!(into, [1 - other as u8; 8]);
                        engine.finalize();
                    });
                }
            });
        });
    }
}

/// Long messages in both directions at once fill both sockets: each side must read while it cannot
/// write.
#[test]
fn long_messages_that_cross_do_not_block_each_other() {
    let (left, right) = pair(&Options::default(), Threads::One);
    let bytes = 24 << 20;
    within(LIMIT, "crossing long messages", || {
        thread::scope(|scope| {
            for (engine, me) in [(&left, 0u32), (&right, 1)] {
                scope.spawn(move || {
                    let (other, out) = (1 - me, data(me as usize, bytes));
                    let mut into = vec![0; bytes];
                    let receive = irecv(engine, other, 1, &mut into);
                    let sending = isend(engine, other, 1, &out, Mode::Standard);
                    engine.wait(sending).unwrap();
                    engine.wait(receive).unwrap();
                    assert!(
                        into == data(other as usize, bytes),
                        "bytes differ at rank {me}"
                    );
                    engine.finalize();
                });
            }
        });
    });
}

/// Everybody talks to everybody, ranks of one host through ports and the others by TCP, in an order
/// of which nothing is known.
#[test]
fn everybody_talks_to_everybody_over_ports_and_a_network() {
    let hosts = vec![0, 1, 0, 2, 1, 0];
    let engines = job_on(hosts, &Options::default(), Threads::One).engines;
    let size = engines.len() as u32;
    within(LIMIT, "all to all", || {
        thread::scope(|scope| {
            for (me, engine) in engines.iter().enumerate() {
                scope.spawn(move || {
                    for bytes in [0, 8, 3000, 70_000, 400_000] {
                        let out = data(me, bytes);
                        let mut into = vec![vec![0; bytes]; size as usize];
                        let mut requests: Vec<_> = into
                            .iter_mut()
                            .enumerate()
                            .map(|(from, into)| irecv(engine, from as u32, 5, into))
                            .collect();
                        requests
                            .extend((0..size).map(|to| isend(engine, to, 5, &out, Mode::Standard)));
                        for request in requests {
                            engine.wait(request).unwrap();
                        }
                        for (from, into) in into.iter().enumerate() {
                            assert!(*into == data(from, bytes), "{bytes} from {from} at {me}");
                        }
                    }
                    engine.finalize();
                });
            }
        });
    });
}

/// A process that ends without a goodbye: who waits for it is told, by name.
#[test]
fn who_waits_for_a_process_that_vanished_is_told() {
    let (left, right) = pair(&Options::default(), Threads::One);
    within(LIMIT, "a process that vanished", || {
        thread::scope(|scope| {
            scope.spawn(move || {
                send(&right, 0, 1, &[7; 8]).unwrap();
                let mut into = [0; 8];
                recv(&right, 0, 2, &mut into).unwrap();
                // Dropped without finalising, as a process that is killed drops everything.
            });
            let mut into = [0; 8];
            recv(&left, 1, 1, &mut into).unwrap();
            send(&left, 1, 2, &[1; 8]).unwrap();
            let error = recv(&left, 1, 3, &mut into).unwrap_err();
            let text = error.to_string();
            assert!(
                text.starts_with("rank 0 has lost rank 1 on host testhost: "),
                "{text}"
            );
            assert!(text.contains("the process is gone"), "{text}");
        });
    });
    left.finalize();
}

/// Nobody listens where the card says: an error that names rank, host, address and port, and soon.
#[test]
fn who_cannot_be_reached_is_named() {
    let (left, right) = pair(&Options::default(), Threads::One);
    drop(right);
    let begun = Instant::now();
    within(LIMIT, "nobody there", || {
        let envelope = envelope(0, 1, 1 << 20);
        let bytes = vec![0; 1 << 20];
        // SAFETY: the vector lives until the call returns, and the call waits.
        let error = unsafe { left.send(1, envelope, bytes.as_ptr(), Mode::Standard) };
        let error = error.unwrap_err();
        assert!(matches!(error.fault(), Fault::Unreachable { peer: 1, .. }));
        let text = error.to_string();
        assert!(text.contains("rank 1 on host testhost: "), "{text}");

        assert!(text.contains("Connection refused"), "{text}");
    });
    assert!(begun.elapsed() < LIMIT);
    left.finalize();
}

/// Engines that pause close their connections, and make them again when they go on.
#[test]
fn connections_are_made_again_after_a_pause() {
    let (left, right) = pair(&Options::default(), Threads::One);
    within(LIMIT, "pauses", || {
        thread::scope(|scope| {
            for (engine, other) in [(&left, 1), (&right, 0)] {
                scope.spawn(move || {
                    for turn in 0..10u64 {
                        let mut into = [0; 8];
                        let request = irecv(engine, other, 3, &mut into);
                        send(engine, other, 3, &turn.to_le_bytes()).unwrap();
                        engine.wait(request).unwrap();
                        assert_eq!(u64::from_le_bytes(into), turn);
                        engine.pause();
                        engine.resume();
                    }
                    engine.finalize();
                });
            }
        });
    });
}

/// The plain loop is only a baseline, but a correct one.
#[test]
fn the_plain_loop_carries_messages_too() {
    let options = Options {
        progress: oxmpi_engine::Progress::Sock,
        ..Options::default()
    };
    let engines = job_on(vec![0, 1, 2], &options, Threads::One).engines;
    within(LIMIT, "the plain loop", || {
        thread::scope(|scope| {
            for (me, engine) in engines.iter().enumerate() {
                scope.spawn(move || {
                    let (next, before) = ((me as u32 + 1) % 3, (me as u32 + 2) % 3);
                    for bytes in [8, 5000, 300_000] {
                        let out = data(me, bytes);
                        let mut into = vec![0; bytes];
                        let request = irecv(engine, before, 1, &mut into);
                        send(engine, next, 1, &out).unwrap();
                        engine.wait(request).unwrap();
                        assert!(into == data(before as usize, bytes));
                    }
                    engine.finalize();
                });
            }
        });
    });
}

/// Messages that wait to leave together leave even if their sender never calls again: the driver
/// sees to it.
#[test]
fn messages_in_quick_succession_leave_without_another_call() {
    let (left, right) = pair(&Options::default(), Threads::One);
    within(LIMIT, "quick succession", || {
        thread::scope(|scope| {
            let (done, computing) = std::sync::mpsc::channel::<()>();
            scope.spawn(move || {
                let mut word = [0; 8];
                recv(&left, 1, 1, &mut word).unwrap();
                for number in 0..20u64 {
                    send(&left, 1, 2, &number.to_le_bytes()).unwrap();
                }
                // The application computes, and calls nothing until the other has everything.
                computing.recv().unwrap();
                left.finalize();
            });
            send(&right, 0, 1, &[0; 8]).unwrap();
            for number in 0..20u64 {
                let mut word = [0; 8];
                recv(&right, 0, 2, &mut word).unwrap();
                assert_eq!(u64::from_le_bytes(word), number);
            }
            done.send(()).unwrap();
            right.finalize();
        });
    });
}

/// A message is free only when all of it has left, however short its last packet is: what is in its
/// memory afterwards does not reach the receiver.
#[test]
fn a_message_with_a_short_end_is_free_when_all_of_it_has_left() {
    let (left, right) = pair(&Options::default(), Threads::One);
    // Packets between hosts carry up to 256 KiB.
    let bytes = 3 * (256 << 10) + 16;
    within(LIMIT, "short ends", || {
        thread::scope(|scope| {
            scope.spawn(|| {
                for turn in 0..20 {
                    let mut out = data(turn, bytes);
                    send(&left, 1, 1, &out).unwrap();
                    out.fill(0xee);
                }
                left.finalize();
            });
            scope.spawn(|| {
                for turn in 0..20 {
                    let mut into = vec![0; bytes];
                    recv(&right, 0, 1, &mut into).unwrap();
                    assert!(into == data(turn, bytes), "turn {turn}");
                }
                right.finalize();
            });
        });
    });
}

/// Who has received everything may finalise at once: its goodbye may overtake the last
/// acknowledgement, and the sender is not told that something is wrong.
#[test]
fn a_goodbye_behind_a_long_message_is_no_failure() {
    for turn in 0..40 {
        let (left, right) = pair(&Options::default(), Threads::One);
        let bytes = [20_000, 100_000, 600_000][turn % 3];
        within(LIMIT, &format!("an early goodbye, turn {turn}"), || {
            thread::scope(|scope| {
                scope.spawn(|| {
                    send(&left, 1, 1, &data(turn, bytes)).unwrap();
                    left.finalize();
                });
                let mut into = vec![0; bytes];
                recv(&right, 0, 1, &mut into).unwrap();
                assert!(into == data(turn, bytes));
                right.finalize();
            });
        });
    }
}

/// A process of another host that proves that it belongs to the job, and then sends garbage.
#[test]
fn garbage_from_another_host_concerns_its_sender_alone() {
    for seed in 0..12 {
        let (mut all_facts, options, _segment) = all_facts(vec![0, 1, 2, 3], &Options::default());
        let mut rogue = all_facts.pop().unwrap().network.unwrap().transport;
        // SAFETY: each engine is used by one thread.
        let attach = |facts| unsafe { Engine::attach(facts, &options, Threads::One) };
        let engines: Vec<Engine> = all_facts
            .into_iter()
            .map(|facts| attach(facts).unwrap())
            .collect();
        within(LIMIT, &format!("garbage, seed {seed}"), || {
            thread::scope(|scope| {
                let running: Vec<_> = engines
                    .iter()
                    .map(|engine| {
                        scope.spawn(move || {
                            survive_garbage(engine, 4);
                            engine.finalize();
                        })
                    })
                    .collect();
                let mut random = Random(seed);
                let mut left = [3usize; 3];
                while !running.iter().all(|thread| thread.is_finished()) {
                    while rogue.poll().is_some() {
                        let bytes = rogue.at_hand().len();
                        rogue.pass(bytes);
                    }
                    for (to, left) in left.iter_mut().enumerate() {
                        let (mut prefix, mut used, payload) = nonsense(&mut random);
                        if *left == 0 || random.below(2) == 0 {
                            continue;
                        }
                        if *left == 1 {
                            // Surely garbage: nobody has offered anything.
                            let kind = Kind::ClearToSend {
                                send: 1 << 40,
                                receive: 0,
                            };
                            let repr = Repr {
                                envelope: envelope(3, 1, 0),
                                sequence: 0,
                                credit: 0,
                                kind,
                            };
                            used = repr.emit_prefix(&mut prefix);
                        }
                        let head = &prefix[..used];
                        // SAFETY: the payload is copied, because it is not lasting.
                        let sent = unsafe {
                            rogue.send(to as u32, head, payload.as_ptr(), payload.len(), None)
                        };
                        *left -= usize::from(sent == Sent::Left);
                    }
                    rogue.flush_unsent();
                    thread::sleep(Duration::from_micros(200));
                }
            });
        });
    }
}

/// Two processes talk; a third comes that neither knew when it began, and then all three talk.
#[test]
fn a_process_that_is_introduced_takes_part() {
    if messages::engines::KERNEL {
        // The driver's table has the size of the job; see below.
        return;
    }
    let known = [2, 2, 3];
    let (all_facts, cards, options, _segment) =
        seats_that_know(&known, vec![0, 1, 2], &Options::default());
    // SAFETY: each engine is used by one thread at a time.
    let attach = |facts| unsafe { Engine::attach(facts, &options, Threads::One) };
    let engines: Vec<Engine> = all_facts
        .into_iter()
        .map(|facts| attach(facts).unwrap())
        .collect();
    let talk = |engine: &Engine, size: u32, turn: usize| {
        let me = engine.rank();
        for bytes in [0, 8, 3000, 70_000, 400_000] {
            let others: Vec<u32> = (0..size).filter(|other| *other != me).collect();
            let out = data(turn + me as usize, bytes);
            let mut into = vec![vec![0; bytes]; others.len()];
            let mut requests: Vec<_> = others
                .iter()
                .zip(&mut into)
                .map(|(&other, into)| irecv(engine, other, 5, into))
                .collect();
            let send = |&to| isend(engine, to, 5, &out, Mode::Standard);
            requests.extend(others.iter().map(send));
            for request in requests {
                engine.wait(request).unwrap();
            }
            for (into, &from) in into.iter().zip(&others) {
                assert!(*into == data(turn + from as usize, bytes), "{from} to {me}");
            }
        }
    };
    within(LIMIT, "an introduction", || {
        thread::scope(|scope| {
            for engine in &engines[..2] {
                scope.spawn(move || talk(engine, 2, 0));
            }
        });
        for engine in &engines[..2] {
            let process = engine.introduce(cards[2].clone()).unwrap();
            assert_eq!((process.index(), engine.host_of(process.index())), (2, 2));
        }
        thread::scope(|scope| {
            for engine in &engines {
                scope.spawn(move || {
                    talk(engine, 3, 7);
                    engine.finalize();
                });
            }
        });
    });
}

/// Where a process cannot be introduced, the error says why and what to do.
#[test]
fn an_introduction_that_cannot_be_is_refused() {
    if !messages::engines::KERNEL {
        return;
    }
    let (all_facts, cards, options, _segment) =
        seats_that_know(&[2, 2, 3], vec![0, 1, 2], &Options::default());
    let facts = all_facts.into_iter().next().unwrap();
    // SAFETY: one thread uses it.
    let engine = unsafe { Engine::attach(facts, &options, Threads::One) }.unwrap();
    let error = engine.introduce(cards[2].clone()).unwrap_err().to_string();
    assert!(error.contains("run without --progress kernel"), "{error}");
    engine.finalize();
}
