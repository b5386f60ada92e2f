//! Every interleaving of the ring's halves and of the doorbell's dance, searched by loom on small
//! models.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test --release --package oxmpi-ports loom`. What a port
//! adds to these two (which ring is hot, when to look again) is repeated here in `send` and
//! `Sleeper`, because a port needs memory that loom cannot stand in for; loom knows no membarrier
//! either, so senders fence for themselves here as they do where the kernel refuses it.
#![cfg(loom)]

use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;
use oxmpi_ports::doorbell::{ASLEEP, Doorbell};
use oxmpi_ports::ring::{Control, LINE_BYTES, Receiver, Ring, Sender, Slot};
use oxmpi_ports::sync::{Ordering, SharedBytes, fence};
use oxmpi_ports::turn_lock::{Drawn, Entry, Ticket, Turn, TurnLock, Wish};

/// Preemptions tried when the environment does not say (`LOOM_MAX_PREEMPTIONS`).
const PREEMPTIONS_MAX: usize = 3;
/// Bytes of a message's header in these tests; payload follows in the slot while it fits.
const HEADER: usize = 8;

fn search(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(PREEMPTIONS_MAX);
    builder.check(model);
}

/// The memory of a ring.
struct Memory {
    control: Control,
    slots: Vec<Slot>,
    payload: Vec<SharedBytes<LINE_BYTES>>,
}

// SAFETY: reached only through a ring's two halves, which hand it over by atomics; loom checks the
// rest.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    fn new(slots: usize, lines: usize) -> Arc<Self> {
        Arc::new(Self {
            control: Control::quiet(),
            slots: (0..slots).map(|_| Slot::empty()).collect(),
            payload: (0..lines).map(|_| SharedBytes::zeroed()).collect(),
        })
    }

    fn ring(&self) -> Ring<'_> {
        Ring {
            control: &self.control,
            slots: &self.slots,
            payload: &self.payload,
        }
    }
}

/// Publishes message `number` of `bytes` bytes; false while the ring is full.
fn push(sender: &mut Sender<'_>, number: u8, bytes: usize) -> bool {
    sender
        .push(
            HEADER,
            |header| header[0] = number,
            bytes,
            |payload| payload.fill(number ^ 0x55),
        )
        .is_ok()
}

/// Takes the next message, which must be `number` of `bytes` bytes; false while there is none.
fn take(receiver: &mut Receiver<'_>, number: u8, bytes: usize) -> bool {
    let Some(seen) = receiver.peek() else {
        return false;
    };
    let prefix = receiver.prefix(&seen);
    assert_eq!((prefix[0], seen.bytes), (number, bytes));
    if seen.inline {
        assert!(
            prefix[HEADER..][..bytes]
                .iter()
                .all(|&byte| byte == number ^ 0x55)
        );
    } else {
        assert_eq!(receiver.payload(&seen), vec![number ^ 0x55; bytes]);
    }
    receiver.consume(&seen);
    true
}

/// One sender, one receiver, messages of the given sizes.
fn exchange(slots: usize, lines: usize, sizes: &'static [usize]) {
    search(move || {
        let memory = Memory::new(slots, lines);
        let theirs = Arc::clone(&memory);
        let sending = thread::spawn(move || {
            let mut sender = Sender::new(theirs.ring());
            for (number, &bytes) in sizes.iter().enumerate() {
                while !push(&mut sender, number as u8, bytes) {
                    thread::yield_now();
                }
            }
        });
        let mut receiver = Receiver::new(memory.ring());
        for (number, &bytes) in sizes.iter().enumerate() {
            while !take(&mut receiver, number as u8, bytes) {
                thread::yield_now();
            }
        }
        assert!(receiver.peek().is_none(), "a message that nobody sent");
        sending.join().unwrap();
    });
}

mod loom_ring {
    use super::*;

    #[test]
    fn inline_messages_arrive_whole_and_in_order() {
        exchange(4, 4, &[0, 8, 48]);
    }

    #[test]
    fn payload_outside_the_slot_is_visible_with_its_stamp() {
        exchange(4, 8, &[64, 130, 49]);
    }

    #[test]
    fn a_full_ring_takes_more_after_the_receiver_has_consumed() {
        exchange(2, 4, &[8, 8, 8]);
    }

    #[test]
    fn one_slot_is_used_again_and_again() {
        exchange(1, 4, &[8, 70, 8]);
    }

    #[test]
    fn payload_wraps_around_and_skips_the_rest_of_the_buffer() {
        // Four lines hold fragments of at most a line and a half: the third does not fit behind the
        // second.
        exchange(4, 4, &[64, 90, 96]);
    }

    #[test]
    fn payload_that_finds_no_room_waits_for_it() {
        exchange(4, 4, &[96, 96, 96]);
    }

    #[test]
    fn inline_and_outside_payload_mix() {
        exchange(2, 4, &[80, 4, 96]);
    }

    #[test]
    fn a_sender_that_stops_shows_nothing_unfinished() {
        search(|| {
            let memory = Memory::new(2, 4);
            let theirs = Arc::clone(&memory);
            let sending = thread::spawn(move || {
                let mut sender = Sender::new(theirs.ring());
                assert!(push(&mut sender, 0, 70));
                // It dies while it fills its second message, which is what a push that never ends
                // looks like.
                let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    sender.push(
                        HEADER,
                        |_| {},
                        8,
                        |_| std::panic::resume_unwind(Box::new(())),
                    )
                }));
                assert!(died.is_err());
            });
            let mut receiver = Receiver::new(memory.ring());
            while !take(&mut receiver, 0, 70) {
                thread::yield_now();
            }
            assert!(receiver.peek().is_none());
            sending.join().unwrap();
            assert!(receiver.peek().is_none());
        });
    }
}

/// A futex that loom understands: who sleeps on the doorbell's word, and who wakes it.
struct Bell {
    doorbell: Doorbell,
    gate: Mutex<()>,
    woken: Condvar,
}

impl Bell {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            doorbell: Doorbell::quiet(),
            gate: Mutex::new(()),
            woken: Condvar::new(),
        })
    }

    fn wake(&self) {
        let gate = self.gate.lock().unwrap();
        self.woken.notify_all();
        drop(gate);
    }

    fn ring(&self, sender: usize) {
        if self.doorbell.ring(sender) {
            self.wake();
        }
    }

    /// As `doorbell::sleep`: until the word says awake. A wake-up that is lost is a deadlock, which
    /// loom reports.
    fn sleep(&self) {
        let mut gate = self.gate.lock().unwrap();
        while self.doorbell.asleep_word().load(Ordering::SeqCst) == ASLEEP {
            gate = self.woken.wait(gate).unwrap();
        }
    }

    /// Sleeps until a sender has rung, and returns who has.
    fn wait(&self) -> Vec<usize> {
        let mut found = Vec::new();
        loop {
            self.doorbell.take(|sender| found.push(sender));
            if !found.is_empty() {
                return found;
            }
            self.doorbell.announce_sleep();
            if self.doorbell.is_rung_before_sleep() {
                self.doorbell.announce_awake();
            } else {
                self.sleep();
            }
        }
    }
}

mod loom_doorbell {
    use super::*;

    #[test]
    fn a_ring_is_never_slept_through() {
        search(|| {
            let bell = Bell::new();
            let theirs = Arc::clone(&bell);
            let ringing = thread::spawn(move || theirs.ring(5));
            assert_eq!(bell.wait(), [5]);
            ringing.join().unwrap();
        });
    }

    #[test]
    fn two_senders_are_both_found() {
        two_senders(3, 4);
    }

    #[test]
    fn senders_in_different_words_are_both_found() {
        two_senders(3, 100);
    }

    fn two_senders(first: usize, second: usize) {
        search(move || {
            let bell = Bell::new();
            let ringing: Vec<_> = [first, second]
                .into_iter()
                .map(|sender| {
                    let theirs = Arc::clone(&bell);
                    thread::spawn(move || theirs.ring(sender))
                })
                .collect();
            let mut found = Vec::new();
            while found.len() < 2 {
                found.extend(bell.wait());
            }
            found.sort_unstable();
            assert_eq!(found, [first, second]);
            for sender in ringing {
                sender.join().unwrap();
            }
        });
    }

    #[test]
    fn a_sender_that_dies_between_its_stores_does_not_silence_its_neighbour() {
        search(|| {
            let bell = Bell::new();
            let dying = Arc::clone(&bell);
            let neighbour = Arc::clone(&bell);
            let dead = thread::spawn(move || dying.doorbell.ring_and_die(6));
            let alive = thread::spawn(move || neighbour.ring(7));
            let mut found = Vec::new();
            while !found.contains(&7) {
                found.extend(bell.wait());
            }
            dead.join().unwrap();
            alive.join().unwrap();
        });
    }
}

/// As `Port::send`: publish, fence, and ring if the receiver does not look by itself.
fn send(memory: &Memory, sender: &mut Sender<'_>, bell: &Bell, index: usize, number: u8) {
    assert!(push(sender, number, 8));
    fence(Ordering::SeqCst);
    if !memory.ring().is_hot() {
        bell.ring(index);
    }
}

/// As `Port::prepare_sleep` with one hot ring: true if it is safe to sleep.
fn prepare_sleep(receiver: &Receiver<'_>, bell: &Bell) -> bool {
    receiver.ring().set_hot(false);
    bell.doorbell.announce_sleep();
    fence(Ordering::SeqCst);
    if !receiver.has_message() && !bell.doorbell.is_rung_before_sleep() {
        return true;
    }
    bell.doorbell.announce_awake();
    false
}

mod loom_port {
    use super::*;

    #[test]
    fn a_hot_ring_turns_cold_before_its_receiver_sleeps() {
        search(|| {
            let memory = Memory::new(4, 4);
            let bell = Bell::new();
            memory.ring().set_hot(true);
            let (theirs, their_bell) = (Arc::clone(&memory), Arc::clone(&bell));
            let sending = thread::spawn(move || {
                let mut sender = Sender::new(theirs.ring());
                send(&theirs, &mut sender, &their_bell, 1, 0);
                send(&theirs, &mut sender, &their_bell, 1, 1);
            });
            let mut receiver = Receiver::new(memory.ring());
            for number in 0..2 {
                while !take(&mut receiver, number, 8) {
                    if prepare_sleep(&receiver, &bell) {
                        bell.sleep();
                    }
                    bell.doorbell.take(|_| ());
                    receiver.ring().set_hot(true);
                }
            }
            sending.join().unwrap();
        });
    }
}

/// Members of a lock, each with a word under which it sleeps.
struct Locked {
    lock: TurnLock,
    entries: Vec<Entry>,
    asleep: Vec<Mutex<bool>>,
    woken: Vec<Condvar>,
    /// Who is inside: 1 for each reader, 100 for a writer.
    inside: loom::sync::atomic::AtomicU32,
}

impl Locked {
    fn new(members: usize) -> Arc<Locked> {
        Arc::new(Locked {
            lock: TurnLock::free(),
            entries: (0..members).map(|_| Entry::none()).collect(),
            asleep: (0..members).map(|_| Mutex::new(false)).collect(),
            woken: (0..members).map(|_| Condvar::new()).collect(),
            inside: loom::sync::atomic::AtomicU32::new(0),
        })
    }

    fn wake(&self, turn: Turn) {
        if turn.has_sleepers {
            for member in 0..self.entries.len() {
                if self.entries[member].has(turn) {
                    *self.asleep[member].lock().unwrap() = false;
                    self.woken[member].notify_one();
                }
            }
        }
    }

    /// Takes the lock, sleeping until the turn comes, and gives it back.
    fn visit(&self, member: usize, wish: Wish) {
        let ticket = match self.lock.draw(wish, &self.entries[member]) {
            Drawn::Inside(ticket, turn) => {
                self.wake(turn);
                ticket
            }
            Drawn::Waits(ticket) => self.sleep(member, ticket),
            Drawn::Disrupted(_) => panic!("nobody has disrupted the lock"),
        };
        let (weight, most) = match wish {
            Wish::Read => (1, 99),
            Wish::Write => (100, 100),
        };
        let others = self.inside.fetch_add(weight, Ordering::Relaxed);
        assert!(others + weight <= most, "a writer is alone");
        self.inside.fetch_sub(weight, Ordering::Relaxed);
        self.wake(self.lock.release(ticket, &self.entries[member]));
    }

    /// Sleeps until the turn of a ticket comes, and takes the lock.
    fn sleep(&self, member: usize, ticket: Ticket) -> Ticket {
        if !self.lock.has_turn(ticket) {
            *self.asleep[member].lock().unwrap() = true;
            self.lock.announce_sleep();
            while !self.lock.has_turn(ticket) {
                let mut asleep = self.asleep[member].lock().unwrap();
                while *asleep {
                    asleep = self.woken[member].wait(asleep).unwrap();
                }
                // As a port's doorbell, which is announced again before each sleep.
                *asleep = !self.lock.has_turn(ticket);
            }
            self.lock.announce_awake();
        }
        let entered = self.lock.enter(ticket, &self.entries[member]);
        self.wake(entered.expect("the lock is not disrupted"));
        ticket
    }
}

fn search_lock(wishes: &'static [Wish]) {
    search(move || {
        let locked = Locked::new(wishes.len());
        let others: Vec<_> = (1..wishes.len())
            .map(|member| {
                let locked = locked.clone();
                thread::spawn(move || locked.visit(member, wishes[member]))
            })
            .collect();
        locked.visit(0, wishes[0]);
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

/// Counts a member in and out.
fn be_inside(locked: &Locked) {
    let others = locked.inside.fetch_add(100, Ordering::Relaxed);
    assert_eq!(others, 0, "a writer is alone");
    locked.inside.fetch_sub(100, Ordering::Relaxed);
}

mod loom_turn_lock {
    use super::*;

    /// One member enters by its ticket while another notices a death, disrupts the lock and takes
    /// it: only one of them is inside at a time.
    #[test]
    fn disruption_keeps_members_apart() {
        search(|| {
            let locked = Locked::new(3);
            let other = {
                let locked = locked.clone();
                thread::spawn(move || {
                    let (lock, entries) = (&locked.lock, &locked.entries);
                    let _ = lock.disrupt(&entries[1]);
                    if lock.take_disrupted(Wish::Write, &entries[1], entries[..1].iter()) {
                        be_inside(&locked);
                        let _ = lock.release_disrupted(&entries[1]);
                    }
                })
            };
            let (lock, entries) = (&locked.lock, &locked.entries);
            if let Drawn::Inside(ticket, _) = lock.draw(Wish::Write, &entries[0]) {
                be_inside(&locked);
                let _ = lock.release(ticket, &entries[0]);
            }
            other.join().unwrap();
        });
    }

    /// The same with a member that has waited for its turn.
    #[test]
    fn disruption_keeps_members_apart_that_have_waited() {
        search(|| {
            let locked = Locked::new(3);
            let (lock, entries) = (&locked.lock, &locked.entries);
            let Drawn::Inside(first, _) = lock.draw(Wish::Write, &entries[2]) else {
                panic!("the lock is free");
            };
            let Drawn::Waits(ticket) = lock.draw(Wish::Write, &entries[0]) else {
                panic!("the lock is held");
            };
            let _ = lock.release(first, &entries[2]);
            let other = {
                let locked = locked.clone();
                thread::spawn(move || {
                    let (lock, entries) = (&locked.lock, &locked.entries);
                    let _ = lock.disrupt(&entries[1]);
                    if lock.take_disrupted(Wish::Write, &entries[1], entries[..1].iter()) {
                        be_inside(&locked);
                        let _ = lock.release_disrupted(&entries[1]);
                    }
                })
            };
            assert!(lock.has_turn(ticket));
            if lock.enter(ticket, &entries[0]).is_ok() {
                be_inside(&locked);
                let _ = lock.release(ticket, &entries[0]);
            }
            other.join().unwrap();
        });
    }

    #[test]
    fn writers_take_turns() {
        search_lock(&[Wish::Write, Wish::Write]);
        search_lock(&[Wish::Write, Wish::Write, Wish::Write]);
    }

    #[test]
    fn readers_and_a_writer_exclude_each_other() {
        search_lock(&[Wish::Read, Wish::Write]);
        search_lock(&[Wish::Read, Wish::Write, Wish::Read]);
    }
}
