//! Processes that talk through ports while one of them is killed at a random moment.
//!
//! The survivors must go on talking among themselves, every message whole and in order, and must
//! not miss a wake-up, whatever instruction the dead process was at. The seed of a failure is
//! printed; `OXMPI_TEST_SEED` replays it.
#![cfg(not(loom))]

#[path = "../../xtask/limit.rs"]
mod limit;
mod processes;

use std::sync::Arc;
use std::time::Duration;

use limit::limit;
use oxmpi_ports::doorbell;
use oxmpi_ports::{Death, Port, PortError, PortState, Segment};
use processes::{Job, Random, first_seed, role, rounds};

const SIZE: u32 = 4;
/// Messages each process sends to each other one.
const MESSAGES: u32 = 1500;
/// The victim does not stop by itself.
const VICTIM: u32 = 1;
const HEADER: usize = 8;

/// One process's conversation with all others.
struct Talker {
    port: Port,
    segment: Arc<Segment>,
    random: Random,
    /// Messages sent to and received from each port.
    sent: Vec<u32>,
    received: Vec<u32>,
}

/// The length of message `number` from one port to another: both sides know it.
fn length(from: u32, to: u32, number: u32) -> usize {
    Random::new(u64::from(from) << 40 | u64::from(to) << 32 | u64::from(number)).length(40_000)
}

fn pattern(from: u32, number: u32) -> u8 {
    (from * 31 + number * 7) as u8
}

impl Talker {
    fn new(role: processes::Role) -> Self {
        let segment = Arc::new(Segment::attach(role.segment).unwrap());
        let ports = segment.ports() as usize;
        Self {
            port: Port::open(Arc::clone(&segment), role.port).unwrap(),
            segment,
            random: Random::new(role.seed ^ u64::from(role.port)),
            sent: vec![0; ports],
            received: vec![0; ports],
        }
    }

    fn is_dead(&self, port: u32) -> bool {
        matches!(self.segment.state(port), PortState::Dead(_))
    }

    /// Sends one message to everybody who still gets some; true if a ring was full.
    fn send_round(&mut self) -> bool {
        let me = self.port.index();
        let mut full = false;
        for to in (0..self.segment.ports()).filter(|&to| to != me) {
            let number = self.sent[to as usize];
            if self.is_dead(to) || me != VICTIM && number == MESSAGES {
                continue;
            }
            let header = |out: &mut [u8; 56]| out[..4].copy_from_slice(&number.to_le_bytes());
            let fill = |out: &mut [u8]| out.fill(pattern(me, number));
            match self
                .port
                .send(to, HEADER, header, length(me, to, number), fill)
            {
                Ok(()) => self.sent[to as usize] += 1,
                Err(PortError::Full) => full = true,
                Err(PortError::Segment(error)) => panic!("{error}"),
            }
        }
        full
    }

    fn receive_all(&mut self) -> bool {
        let me = self.port.index();
        let mut any = false;
        while let Some(arrival) = self.port.poll() {
            let from = arrival.from;
            let number = u32::from_le_bytes(arrival.prefix[..4].try_into().unwrap());
            assert_eq!(
                number, self.received[from as usize],
                "order from {from} to {me}"
            );
            let payload = arrival.payload(HEADER);
            assert_eq!(payload.len(), length(from, me, number));
            assert!(payload.iter().all(|&byte| byte == pattern(from, number)));
            self.received[from as usize] += 1;
            self.port.consume();
            any = true;
        }
        any
    }

    /// Everybody alive has sent all of theirs, and we ours.
    fn is_done(&self) -> bool {
        let me = self.port.index();
        (0..self.segment.ports())
            .filter(|&peer| peer != me)
            .all(|peer| {
                if peer == VICTIM || self.is_dead(peer) {
                    // The victim is waited for, so that everybody sees a death.
                    return self.is_dead(peer);
                }
                self.sent[peer as usize] == MESSAGES && self.received[peer as usize] == MESSAGES
            })
    }

    fn talk(mut self) {
        // The victim may have sent and received just as many messages as the others do.
        while self.port.index() == VICTIM || !self.is_done() {
            let full = self.send_round();
            if self.receive_all() {
                continue;
            }
            match self.random.below(4) {
                0 if self.port.prepare_sleep() => {
                    // Who waits for room looks again by itself; who waits for messages relies on
                    // being woken.
                    let me = self.port.index();
                    let more = full
                        || self.sent.iter().enumerate().any(|(to, &sent)| {
                            to as u32 != me && sent < MESSAGES && !self.is_dead(to as u32)
                        });
                    let nap = more.then_some(Duration::from_micros(100));
                    if !self.is_done() {
                        doorbell::sleep(self.segment.doorbell(self.port.index()), nap);
                    }
                    self.segment.doorbell(self.port.index()).announce_awake();
                }
                1 => std::thread::yield_now(),
                _ => {}
            }
        }
    }
}

#[test]
fn survivors_of_a_killed_process_go_on() {
    if let Some(role) = role() {
        Talker::new(role).talk();
        return;
    }
    let first = first_seed();
    for seed in first..first + rounds(30, 1000) {
        let mut random = Random::new(seed);
        let mut job = Job::start("survivors_of_a_killed_process_go_on", SIZE, seed, &[]);
        job.until_attached();
        std::thread::sleep(Duration::from_micros(random.below(40_000)));
        job.kill(VICTIM);
        job.finish(Duration::from_secs(300));
    }
}

/// A sender that is killed after it has marked its receiver awake and before it has woken it leaves
/// a sleeper that no other sender wakes: the record of the death must.
#[test]
fn a_death_wakes_who_was_marked_awake_and_not_woken() {
    let segment = Arc::new(Segment::create(3, 2).unwrap());
    let mut port = Port::open(Arc::clone(&segment), 0).unwrap();
    assert!(port.prepare_sleep());
    let sleeper = Arc::clone(&segment);
    let sleeping = std::thread::spawn(move || {
        doorbell::sleep(sleeper.doorbell(0), Some(Duration::from_secs(300)));
        std::time::Instant::now()
    });
    std::thread::sleep(Duration::from_millis(100));
    assert!(segment.doorbell(0).ring(1), "the receiver sleeps");
    // Here sender 1 is killed.
    let marked = std::time::Instant::now();
    segment.mark_dead(1, Death::Signal(9));
    let woken = sleeping.join().unwrap();
    assert!(
        woken - marked < limit(Duration::from_secs(1)),
        "woken after {:?}",
        woken - marked
    );
}

#[test]
fn the_end_of_a_process_of_another_host_is_recorded_once() {
    let segment = Segment::create(2, 1).unwrap();
    let last = oxmpi_ports::layout::PROCESSES_MAX - 1;
    assert_eq!((segment.death_of(7), segment.death_of(last)), (None, None));
    segment.record_death(7, Death::Signal(9));
    segment.record_death(7, Death::Status(1));
    segment.record_death(last, Death::Aborted(-3));
    segment.record_death(last + 1, Death::Status(1));
    assert_eq!(segment.death_of(7), Some(Death::Signal(9)));
    assert_eq!(segment.death_of(last), Some(Death::Aborted(-3)));
    segment.record_finish(8);
    segment.record_death(8, Death::Status(1));
    assert_eq!((segment.has_finished(8), segment.death_of(8)), (true, None));
    assert!(!segment.has_finished(7));
    assert_eq!(segment.death_of(last + 1), None);
    assert_eq!(segment.departures(), 3);
}

#[test]
fn a_message_that_was_sent_before_the_death_arrives() {
    let segment = Arc::new(Segment::create(2, 2).unwrap());
    let mut receiver = Port::open(Arc::clone(&segment), 0).unwrap();
    {
        let theirs = Arc::new(Segment::attach(segment.fd().try_clone_to_owned().unwrap()).unwrap());
        let mut sender = Port::open(theirs, 1).unwrap();
        let header = |out: &mut [u8; 56]| out[0] = 42;
        sender
            .send(0, HEADER, header, 1000, |out| out.fill(7))
            .unwrap();
    }
    segment.mark_dead(1, Death::Status(3));
    let arrival = receiver.poll().expect("the message outlives its sender");
    assert_eq!((arrival.from, arrival.prefix[0]), (1, 42));
    assert_eq!(arrival.payload(HEADER), [7; 1000]);
    receiver.consume();
    assert_eq!(segment.state(1), PortState::Dead(Death::Status(3)));
}

/// Names in `folder` that could be ours.
fn our_files(folder: &str) -> Vec<String> {
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let ours = |name: &String| name.to_lowercase().contains("oxmpi");
    names
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(ours)
        .collect()
}

#[test]
fn nothing_is_left_behind() {
    let before = our_files("/dev/shm");
    let mut job = Job::start("survivors_of_a_killed_process_go_on", 3, 1, &[]);
    job.until_attached();
    let pids: Vec<u32> = (0..3).map(|port| job.segment.pid(port)).collect();
    assert_eq!(our_files("/dev/shm"), before, "a segment has no name");
    job.kill(2);
    drop(job);
    assert_eq!(our_files("/dev/shm"), before);
    for pid in pids {
        assert!(
            !std::path::Path::new(&format!("/proc/{pid}")).exists(),
            "process {pid} is left"
        );
    }
}
