//! Engines that reach each other by TCP, with a double of the driver /dev/o2g reading their
//! connections; the name of this program decides.

mod network;

use std::thread;
use std::time::Duration;

use network::messages::engines::{data, from, irecv, isend, job_on, recv, send, within};
use oxmpi_engine::{Engine, Mode, Options, Progress, Request, Threads};

const LIMIT: Duration = Duration::from_secs(600);

/// Splitmix64: enough for tests, and repeatable.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }
}

fn options() -> Options {
    Options {
        progress: Progress::Kernel,
        ..Options::default()
    }
}

/// Message `number` of a sender to rank 0: its tag and its bytes.
fn message(seed: u64, sender: u32, number: usize) -> (i32, Vec<u8>) {
    let mut random = Random(seed ^ (u64::from(sender) << 40) ^ (number as u64) << 8);
    let tag = random.below(3) as i32;
    let bytes = [0, 8, 100, 3000, 66_000, 200_000][random.below(6)];
    let mut bytes = data(number, bytes + 8);
    bytes[..4].copy_from_slice(&sender.to_le_bytes());
    bytes[4..8].copy_from_slice(&(number as u32).to_le_bytes());
    (tag, bytes)
}

/// Rank 0 receives from a neighbour, by ports, from other hosts, by the driver, and from itself,
/// all with receives that name a sender, a tag, both or neither. Each message arrives once and
/// intact, and those of one sender with one tag in order.
fn receive_all(engine: &Engine, seed: u64, senders: u32, each: usize) {
    let mut random = Random(seed);
    let mut left = each * senders as usize;
    let mut seen = vec![Vec::<(i32, usize)>::new(); senders as usize];
    // What each sender still sends with each tag, so that receives are posted only for what comes.
    let mut due: Vec<Vec<i32>> = (0..senders)
        .map(|sender| {
            (0..each)
                .map(|number| message(seed, sender, number).0)
                .collect()
        })
        .collect();
    let own: Vec<Vec<u8>> = (0..each).map(|number| message(seed, 0, number).1).collect();
    let mut sent = 0;
    let mut sends = Vec::new();
    while left > 0 {
        let batch = 1 + random.below(left.min(90));
        let exact = random.below(2) == 0;
        let mut receives: Vec<(Request, Vec<u8>)> = Vec::new();
        for _ in 0..batch {
            let mut into = vec![0xee; 200_008];
            let (source, tag) = match exact {
                // A receive that names both can be for one message only; one that names nothing
                // must not take what such a one waits for.
                true => {
                    let sender = loop {
                        let sender = random.below(senders as usize);
                        if !due[sender].is_empty() {
                            break sender;
                        }
                    };
                    let tag = due[sender].remove(0);
                    (Some(sender as u32), Some(tag))
                }
                false => (None, None),
            };
            receives.push((irecv(engine, source, tag, &mut into), into));
            if sent < each && random.below(2) == 0 {
                let (tag, _) = message(seed, 0, sent);
                sends.push(isend(engine, 0, tag, &own[sent], Mode::Standard));
                sent += 1;
            }
        }
        while sent < each {
            let (tag, _) = message(seed, 0, sent);
            sends.push(isend(engine, 0, tag, &own[sent], Mode::Standard));
            sent += 1;
        }
        left -= batch;
        for (request, into) in receives {
            let done = engine.wait(request).unwrap();
            let sender = u32::from_le_bytes(into[..4].try_into().unwrap());
            let number = u32::from_le_bytes(into[4..8].try_into().unwrap()) as usize;
            let (tag, bytes) = message(seed, sender, number);
            assert_eq!((done.source, done.tag), (sender, tag), "seed {seed}");
            assert_eq!(done.bytes, bytes.len() as u64, "seed {seed}");
            assert!(
                into[..bytes.len()] == bytes,
                "seed {seed}: {sender} {number}"
            );
            assert!(
                into[bytes.len()..].iter().all(|byte| *byte == 0xee),
                "seed {seed}"
            );
            seen[sender as usize].push((tag, number));
            if !exact {
                let at = due[sender as usize].iter().position(|due| *due == tag);
                due[sender as usize].remove(at.unwrap());
            }
        }
    }
    for send in sends {
        engine.wait(send).unwrap();
    }
    for (sender, seen) in seen.iter().enumerate() {
        for tag in 0..3 {
            let numbers = seen.iter().filter(|(of, _)| *of == tag);
            assert!(
                numbers.is_sorted(),
                "seed {seed}: sender {sender}, tag {tag}"
            );
        }
    }
}

/// Ports, the driver and the process itself compete for the same receives, more of them than the
/// driver has slots.
#[test]
fn receives_are_shared_with_the_driver_in_order() {
    for seed in 0..12 {
        let engines = job_on(vec![0, 0, 1, 2], &options(), Threads::One).engines;
        let each = 120;
        within(LIMIT, &format!("shared receives, seed {seed}"), || {
            thread::scope(|scope| {
                for (me, engine) in engines.iter().enumerate() {
                    scope.spawn(move || {
                        if me == 0 {
                            receive_all(engine, seed, 4, each);
                            let counters = engine.network_counters().unwrap();
                            assert_eq!(counters.reads, 0, "only the driver reads sockets");
                        } else {
                            for number in 0..each {
                                let (tag, bytes) = message(seed, me as u32, number);
                                send(engine, 0, tag, &bytes).unwrap();
                            }
                        }
                        engine.finalize();
                    });
                }
            });
        });
    }
}

/// A receive that the driver has can be cancelled, and its memory is not written afterwards.
#[test]
fn a_receive_that_the_driver_has_can_be_cancelled() {
    let mut engines = job_on(vec![0, 1], &options(), Threads::One)
        .engines
        .into_iter();
    let (left, right) = (engines.next().unwrap(), engines.next().unwrap());
    within(LIMIT, "cancelling", || {
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut word = [0; 8];
                for turn in 0..200u64 {
                    recv(&right, 0, 1, &mut word).unwrap();
                    send(&right, 0, 2, &turn.to_le_bytes()).unwrap();
                }
                right.finalize();
            });
            for turn in 0..200u64 {
                let mut first = [0xee; 8];
                let request = irecv(&left, 1, 2, &mut first);
                send(&left, 1, 1, &[0; 8]).unwrap();
                if turn % 3 == 0 {
                    thread::sleep(Duration::from_micros(50 * (turn % 7)));
                }
                left.cancel(request);
                if left.wait(request).unwrap().cancelled {
                    let mut word = [0; 8];
                    recv(&left, 1, 2, &mut word).unwrap();
                    assert_eq!(u64::from_le_bytes(word), turn);
                    assert_eq!(first, [0xee; 8]);
                } else {
                    assert_eq!(u64::from_le_bytes(first), turn);
                }
            }
            left.finalize();
        });
    });
}

/// Receives that nobody waits for when the engine finalises are not written afterwards, and a
/// receive from anybody ends when a process is lost.
#[test]
fn receives_from_anybody_end_with_a_lost_process() {
    let mut engines = job_on(vec![0, 1, 2], &options(), Threads::One).engines;
    let (lost, right, left) = (
        engines.pop().unwrap(),
        engines.pop().unwrap(),
        engines.pop().unwrap(),
    );
    within(LIMIT, "a lost process", || {
        let mut word = [0; 8];
        thread::scope(|scope| {
            scope.spawn(move || send(&lost, 0, 1, &[3; 8]).unwrap());
            recv(&left, 2, 1, &mut word).unwrap();
        });
        let mut into = vec![0; 100_000];
        let request = irecv(&left, None, 7, &mut into);
        let error = left.wait(request).unwrap_err().to_string();
        assert!(error.contains("has lost rank 2"), "{error}");
        assert!(left.probe(from(None, None)).unwrap().is_none());
    });
    thread::scope(|scope| {
        scope.spawn(|| right.finalize());
        left.finalize();
    });
}
