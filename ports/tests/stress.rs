//! Rings and ports under random traffic: against an oracle, with many senders, sleeping and waking.
#![cfg(not(loom))]

#[path = "../../xtask/limit.rs"]
mod limit;
mod processes;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use limit::limit;
use oxmpi_ports::{Port, PortError, Segment, doorbell};
use processes::{Random, first_seed, rounds};

const HEADER: usize = 8;

fn ports(count: u32) -> (Arc<Segment>, Vec<Port>) {
    let segment = Arc::new(Segment::create(count, 2).unwrap());
    let open = |index| {
        // Mapped anew, as another process would have it.
        let fd = segment.fd().try_clone_to_owned().unwrap();
        Port::open(Arc::new(Segment::attach(fd).unwrap()), index).unwrap()
    };
    let ports = (0..count).map(open).collect();
    (segment, ports)
}

fn send(port: &mut Port, to: u32, number: u32, bytes: usize) -> bool {
    let header = |out: &mut [u8; 56]| out[..4].copy_from_slice(&number.to_le_bytes());
    let fill = |out: &mut [u8]| {
        for (at, byte) in out.iter_mut().enumerate() {
            *byte = (at as u32 ^ number) as u8;
        }
    };
    match port.send(to, HEADER, header, bytes, fill) {
        Ok(()) => true,
        Err(PortError::Full) => false,
        Err(PortError::Segment(error)) => panic!("{error}"),
    }
}

/// The next message: its sender, number and length, after a look at every byte.
fn receive(port: &mut Port) -> Option<(u32, u32, usize)> {
    let arrival = port.poll()?;
    let from = arrival.from;
    let number = u32::from_le_bytes(arrival.prefix[..4].try_into().unwrap());
    let payload = arrival.payload(HEADER);
    let whole = payload
        .iter()
        .enumerate()
        .all(|(at, &byte)| byte == (at as u32 ^ number) as u8);
    assert!(whole, "message {number} from {from}");
    let bytes = payload.len();
    port.consume();
    Some((from, number, bytes))
}

/// Random sends and receives of two senders to one receiver, step by step, beside a queue per
/// sender.
#[test]
fn a_port_agrees_with_its_oracle() {
    let first = first_seed();
    for seed in first..first + rounds(30, 1000) {
        let (_segment, mut ports) = ports(3);
        let fragment = ports[0].fragment_bytes_max() as u64;
        let mut random = Random::new(seed);
        let mut oracle: [VecDeque<(u32, usize)>; 3] = Default::default();
        let mut number = 0;
        let mut refused = 0;
        for _ in 0..3000 {
            let sender = 1 + random.below(2) as u32;
            // Long stretches of sending fill the ring, long stretches of receiving empty it.
            if random.below(8) < 3 + (number / 50 % 3) as u64 {
                let bytes = random.length(fragment);
                if send(&mut ports[sender as usize], 0, number, bytes) {
                    oracle[sender as usize].push_back((number, bytes));
                    number += 1;
                } else {
                    refused += 1;
                    assert!(
                        !oracle[sender as usize].is_empty(),
                        "seed {seed}: full and empty at once"
                    );
                }
            } else if let Some((from, number, bytes)) = receive(&mut ports[0]) {
                let expected = oracle[from as usize].pop_front();
                assert_eq!(expected, Some((number, bytes)), "seed {seed}");
            } else {
                assert!(
                    oracle.iter().all(VecDeque::is_empty),
                    "seed {seed}: a message is not found"
                );
            }
            if random.below(50) == 0 {
                let sleeps = ports[0].prepare_sleep();
                assert!(
                    !sleeps || oracle.iter().all(VecDeque::is_empty),
                    "seed {seed}: sleeps on work"
                );
            }
        }
        while let Some((from, number, bytes)) = receive(&mut ports[0]) {
            assert_eq!(
                oracle[from as usize].pop_front(),
                Some((number, bytes)),
                "seed {seed}"
            );
        }
        assert!(oracle.iter().all(VecDeque::is_empty), "seed {seed}");
        assert!(
            number > 100 && (refused == 0 || number > refused / 10),
            "seed {seed}"
        );
    }
}

/// A list of hot rings that was long before a sleep and is short after it hides none of its rings.
#[test]
fn every_hot_ring_is_looked_at_after_a_sleep() {
    let (_segment, mut ports) = ports(14);
    for sender in &mut ports[1..] {
        assert!(send(sender, 0, 0, 8));
    }
    for _ in 1..14 {
        receive(&mut ports[0]).expect("a message of each");
    }
    // The last of the hot rings is the one looked at last.
    assert!(send(&mut ports[13], 0, 1, 8));
    receive(&mut ports[0]).unwrap();
    assert_eq!(receive(&mut ports[0]), None);
    assert!(ports[0].prepare_sleep());
    for sender in [1, 2] {
        assert!(send(&mut ports[sender], 0, 1, 8));
        assert_eq!(receive(&mut ports[0]), Some((sender as u32, 1, 8)));
    }
    for number in 2..5 {
        for sender in [2, 1] {
            assert!(send(&mut ports[sender], 0, number, 8));
            assert_eq!(receive(&mut ports[0]), Some((sender as u32, number, 8)));
        }
    }
}

/// A busy sender does not starve the others.
#[test]
fn everybody_gets_a_turn() {
    let (_segment, mut ports) = ports(4);
    for sender in &mut ports[1..] {
        for number in 0..60 {
            assert!(send(sender, 0, number, 8));
        }
    }
    let mut first_of: [Option<usize>; 4] = [None; 4];
    for turn in 0..180 {
        let (from, ..) = receive(&mut ports[0]).unwrap();
        first_of[from as usize].get_or_insert(turn);
    }
    // One burst of each of the others, and a little.
    let last = first_of[1..]
        .iter()
        .map(|first| first.unwrap())
        .max()
        .unwrap();
    assert!(
        last <= 100,
        "one sender waited for {last} messages of the others"
    );
}

/// Forty ports, each in a thread: everybody sends to everybody, more rings than can be hot, and
/// whoever is idle sleeps without a time limit, so that a lost wake-up shows.
#[test]
fn forty_ports_talk_and_sleep() {
    const PORTS: u32 = 40;
    let messages = rounds(30, 1000) as u32;
    let (segment, ports) = ports(PORTS);
    let finished = AtomicU32::new(0);
    let watch = AtomicBool::new(true);
    thread::scope(|scope| {
        for port in ports {
            let (segment, finished, watch) = (&segment, &finished, &watch);
            scope.spawn(move || {
                everybody_to_everybody(port, segment, messages);
                if finished.fetch_add(1, Ordering::SeqCst) + 1 == PORTS {
                    watch.store(false, Ordering::SeqCst);
                }
            });
        }
        let deadline = Instant::now() + Duration::from_secs(600);
        while watch.load(Ordering::SeqCst) {
            if Instant::now() > deadline {
                eprintln!(
                    "{} of {PORTS} ports are done",
                    finished.load(Ordering::SeqCst)
                );
                std::process::abort();
            }
            thread::sleep(Duration::from_millis(2));
        }
    });
}

fn everybody_to_everybody(mut port: Port, segment: &Segment, messages: u32) {
    let (me, count) = (port.index(), segment.ports());
    let mut random = Random::new(u64::from(me));
    let mut sent = vec![0; count as usize];
    let mut received = vec![0; count as usize];
    let expected = (count - 1) * messages;
    let mut total = 0;
    loop {
        let mut left = 0;
        for step in 1..count {
            let to = (me + step) % count;
            let number = sent[to as usize];
            if number == messages {
                continue;
            }
            left += 1;
            // Not always, so that rings run empty and turn cold.
            if random.below(3) == 0 {
                let bytes = random.length(3000);
                sent[to as usize] += u32::from(send(&mut port, to, number, bytes));
            }
        }
        let mut any = false;
        while let Some((from, number, _)) = receive(&mut port) {
            assert_eq!(number, received[from as usize], "from {from} to {me}");
            received[from as usize] += 1;
            total += 1;
            any = true;
        }
        if left == 0 && total == expected {
            return;
        }
        if !any && left == 0 && port.prepare_sleep() {
            doorbell::sleep(port.bell(), None);
            port.bell().announce_awake();
        } else if !any {
            thread::yield_now();
        }
    }
}

/// Two ports that do nothing but wake each other.
#[test]
fn sleepers_wake_each_other() {
    let (_segment, mut ports) = ports(2);
    let turns = rounds(3000, 100_000) as u32;
    let (second, first) = (ports.pop().unwrap(), ports.pop().unwrap());
    let play = |mut port: Port, begins: bool| {
        let other = 1 - port.index();
        for turn in 0..turns {
            if begins {
                assert!(send(&mut port, other, turn, 16));
            }
            loop {
                if let Some((_, number, _)) = receive(&mut port) {
                    assert_eq!(number, turn);
                    break;
                }
                if port.prepare_sleep() {
                    let before = Instant::now();
                    doorbell::sleep(port.bell(), Some(Duration::from_secs(300)));
                    assert!(
                        before.elapsed() < Duration::from_secs(290),
                        "a lost wake-up at {turn}"
                    );
                    port.bell().announce_awake();
                }
            }
            if !begins {
                assert!(send(&mut port, other, turn, 16));
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| play(first, true));
        scope.spawn(|| play(second, false));
    });
}

/// A message wakes its receiver soon, and a receiver that sleeps uses no CPU.
#[test]
fn an_idle_port_sleeps_and_is_woken() {
    let (_segment, mut ports) = ports(2);
    let (mut sender, mut receiver) = (ports.pop().unwrap(), ports.pop().unwrap());
    let sleeping = thread::spawn(move || {
        let before = cpu();
        while receive(&mut receiver).is_none() {
            if receiver.prepare_sleep() {
                doorbell::sleep(receiver.bell(), None);
            }
        }
        (cpu() - before, Instant::now())
    });
    thread::sleep(Duration::from_millis(500));
    let rung = Instant::now();
    assert!(send(&mut sender, 0, 0, 100));
    let (used, woken) = sleeping.join().unwrap();
    assert!(
        used < Duration::from_millis(5),
        "{used:?} of CPU in half a second of sleep"
    );
    assert!(
        woken - rung < limit(Duration::from_secs(1)),
        "woken after {:?}",
        woken - rung
    );
}

/// CPU time of this thread.
fn cpu() -> Duration {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: getrusage fills the structure when it returns 0, and only then is it read.
    let usage = unsafe {
        assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()), 0);
        usage.assume_init()
    };
    let time = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}

/// Memory grows with the pairs that talk, not with those that could.
#[test]
fn silent_pairs_take_no_memory() {
    let (segment, mut ports) = ports(64);
    let taken = |segment: &Segment| {
        let file = std::fs::File::from(segment.fd().try_clone_to_owned().unwrap());
        std::os::unix::fs::MetadataExt::blocks(&file.metadata().unwrap()) * 512
    };
    let silent = taken(&segment);
    assert!(silent < 2 << 20, "{silent} bytes before a word was said");
    assert!(send(&mut ports[1], 0, 0, 16));
    let short = taken(&segment);
    assert!(
        short - silent < 64 << 10,
        "{} bytes for a short message",
        short - silent
    );
    assert!(send(&mut ports[1], 0, 1, 3000));
    let long = taken(&segment);
    assert!(
        long - silent < 512 << 10,
        "{} bytes for a long message",
        long - silent
    );
    assert!(
        segment.layout().bytes() > 100 << 20,
        "there is room for everybody"
    );
}
