//! Threads that put and cancel while messages arrive: each message is delivered once, and what was
//! cancelled stays untouched.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use o2g::{Cancel, Device, Put, PutError};
use oxmpi_wire::o2g::DONE;

use super::case;
use crate::ground::{Event, Ground, Receive, put};
use crate::packet::{eager, number_of, numbered};
use crate::random::Random;
use crate::runner::{Case, Outcome, Trouble, equal, fail};
use crate::sys::Buffer;

pub const CASES: &[Case] = &[
    case("cancel-race", cancel_race),
    case("put-and-cancel-by-threads", hammer),
    case("register-and-forget-beside", register_beside),
    case("close-while-placing", close_beside),
];

const BYTES: usize = 64;

/// One thread puts and cancels, another sends. The record tells of each message whether the entry
/// won.
fn cancel_race(random: &mut Random) -> Outcome {
    const MESSAGES: u64 = 800;
    let mut ground = Ground::new(1)?;
    let memory = Buffer::new(BYTES);
    let mut peer = ground.peers[0].try_clone()?;
    let mut pace = Random::new(random.next());
    thread::scope(|scope| {
        let sender = scope.spawn(move || {
            for number in 0..MESSAGES {
                peer.write_all(&eager(0, 1, &numbered(number, BYTES)))?;
                for _ in 0..pace.below(2000) {
                    std::hint::spin_loop();
                }
            }
            Ok::<(), std::io::Error>(())
        });
        let taken = put_and_cancel(&mut ground, &memory, random, MESSAGES);
        if taken.is_err() {
            ground.peers[0].shutdown(std::net::Shutdown::Both)?;
        }
        let sent = sender.join().expect("the sender does not panic");
        taken.and_then(|()| Ok(sent?))
    })
}

fn put_and_cancel(
    ground: &mut Ground,
    memory: &Buffer,
    random: &mut Random,
    messages: u64,
) -> Outcome {
    let (mut number, mut generation) = (0, 0);
    while number < messages {
        generation += 1;
        let receive = Receive {
            generation,
            ..Receive::new(3, Some(0), Some(1), *memory)
        };
        if ground.put(&receive)? == Put::Again {
            number = take(ground, number, None)?;
            continue;
        }
        for _ in 0..random.below(3000) {
            std::hint::spin_loop();
        }
        let entry = match ground.device.cancel_entry(receive.cookie())? {
            Cancel::Cancelled => None,
            Cancel::Again => Some(receive),
            // It is over, and the driver has forgotten it since.
            Cancel::Unknown if ground.device.state(receive.slot) == DONE => Some(receive),
            Cancel::Unknown => return fail(format!("{:#x} was posted", receive.cookie())),
        };
        number = take(ground, number, entry)?;
    }
    Ok(())
}

/// Takes what is there; waits for the record of an entry that is said to have met its message.
fn take(ground: &mut Ground, mut number: u64, mut entry: Option<Receive>) -> Outcome<u64> {
    loop {
        let event = match entry {
            Some(_) => Some(ground.next()?),
            None => ground.try_next()?,
        };
        let Some(event) = event else {
            ground.device.go_on()?;
            return Ok(number);
        };
        let Event::Packet(packet) = event else {
            return fail(format!("{event:?} among messages"));
        };
        let payload = match (packet.entry, entry) {
            (None, _) => packet.payload,
            (Some((_, cookie)), Some(receive)) if cookie == receive.cookie() => {
                entry = None;
                ground.wait_done(&receive)?;
                receive.buffer.expect("made with one").copy()
            }
            (Some(other), _) => return fail(format!("{other:?} met a message and is cancelled")),
        };
        equal("number", number_of(&payload), Some(number))?;
        number += 1;
    }
}

/// What became of entries, as the threads were told.
#[derive(Default)]
struct Ledger {
    posted: HashMap<u64, Buffer>,
    cancelled: Vec<u64>,
}

/// One thread puts, two cancel, one sends; afterwards the records must agree with what the threads
/// were told.
fn hammer(random: &mut Random) -> Outcome {
    const MESSAGES: u64 = 400;
    const PUTS: u32 = 3000;
    let mut ground = Ground::with(1, 64, 1 << 20)?;
    let memory = Buffer::new(PUTS as usize * BYTES);
    let ledger = Mutex::new(Ledger::default());
    let (last, over) = (AtomicU64::new(0), AtomicBool::new(false));
    let mut peer = ground.peers[0].try_clone()?;
    let seeds = [random.next(), random.next()];
    let device = &ground.device;
    thread::scope(|scope| {
        let cancellers = seeds.map(|seed| {
            let (ledger, last, over) = (&ledger, &last, &over);
            scope.spawn(move || cancel_any(device, ledger, last, over, Random::new(seed)))
        });
        let putter = scope.spawn(|| put_many(device, &ledger, &last, &memory, PUTS));
        let sender = scope.spawn(move || {
            for number in 0..MESSAGES {
                peer.write_all(&eager(0, 1, &numbered(number, BYTES)))?;
                thread::yield_now();
            }
            Ok::<(), std::io::Error>(())
        });
        let put = putter.join().expect("the putter does not panic");
        over.store(true, Ordering::Relaxed);
        for canceller in cancellers {
            canceller.join().expect("a canceller does not panic")?;
        }
        sender.join().expect("the sender does not panic")?;
        put
    })?;
    let ledger = ledger.into_inner().expect("nobody panicked");
    for number in 0..MESSAGES {
        let packet = ground.next_packet()?;
        let payload = match packet.entry {
            None => packet.payload,
            Some((_, cookie)) if ledger.cancelled.contains(&cookie) => {
                return fail(format!(
                    "{cookie:#x} was cancelled and met message {number}"
                ));
            }
            Some((_, cookie)) => match ledger.posted.get(&cookie) {
                Some(buffer) => buffer.copy(),
                None => return fail(format!("{cookie:#x} was never posted")),
            },
        };
        equal("number", number_of(&payload), Some(number))?;
    }
    ground.silence()
}

fn put_many(
    device: &Device,
    ledger: &Mutex<Ledger>,
    last: &AtomicU64,
    memory: &Buffer,
    puts: u32,
) -> Outcome {
    for index in 0..puts {
        let receive = Receive {
            generation: index + 1,
            ..Receive::new(
                index % 64,
                Some(0),
                Some(1),
                memory.part(index as usize * BYTES, BYTES),
            )
        };
        // Under the lock, so that a message that meets it at once is known to be its.
        let mut ledger = ledger.lock().expect("nobody panicked");
        match put(device, &receive, device.tail()) {
            Ok(Put::Posted) => {
                let buffer = receive.buffer.expect("made with one");
                ledger.posted.insert(receive.cookie(), buffer);
                last.store(receive.cookie(), Ordering::Relaxed);
            }
            Ok(Put::Again) | Err(PutError::Busy { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        drop(ledger);
        if index % 8 == 0 {
            thread::yield_now();
        }
    }
    Ok(())
}

fn cancel_any(
    device: &Device,
    ledger: &Mutex<Ledger>,
    last: &AtomicU64,
    over: &AtomicBool,
    mut random: Random,
) -> Outcome {
    while !over.load(Ordering::Relaxed) {
        let last = last.load(Ordering::Relaxed);
        let (slot, generation) = (last as u32, (last >> 32) as u32);
        // One of the last few.
        let back = random.below(4) as u32;
        if generation > back && slot >= back {
            let cookie = u64::from(generation - back) << 32 | u64::from(slot - back);
            if device.cancel_entry(cookie)? == Cancel::Cancelled {
                ledger
                    .lock()
                    .expect("nobody panicked")
                    .cancelled
                    .push(cookie);
            }
        }
        thread::yield_now();
    }
    Ok(())
}

/// Sockets come and go while others bring messages.
fn register_beside(random: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    let mut peer = ground.peers[0].try_clone()?;
    let over = AtomicBool::new(false);
    let device = &ground.device;
    let others = thread::scope(|scope| {
        let changing = scope.spawn(|| {
            let mut random = random.clone();
            // A rank of its own for each: the rest of a half message never comes.
            for rank in 1.. {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                let (mut other, ours) = crate::ground::connection()?;
                other.write_all(&eager(1, 1, &[1; 100])[..random.below(130) as usize])?;
                device.register_socket(std::os::fd::AsFd::as_fd(&ours), rank, &[])?;
                device.forget_socket(rank)?;
            }
            Ok::<(), Trouble>(())
        });
        for number in 0..500 {
            peer.write_all(&eager(0, 1, &numbered(number, 100)))?;
        }
        over.store(true, Ordering::Relaxed);
        changing.join().expect("the other thread does not panic")
    });
    others?;
    let mut number = 0;
    while number < 500 {
        if let Event::Packet(packet) = ground.next()?
            && packet.rank == 0
        {
            equal("number", number_of(&packet.payload), Some(number))?;
            number += 1;
        }
    }
    Ok(())
}

/// The context goes while a message is being placed, again and again at other moments.
fn close_beside(random: &mut Random) -> Outcome {
    for _ in 0..20 {
        let mut ground = Ground::with(1, 8, 64 << 10)?;
        let bytes = 300_000;
        let receive = Receive::new(0, Some(0), Some(1), Buffer::new(bytes));
        ground.post(&receive)?;
        let mut peer = ground.peers.remove(0);
        let sender = thread::spawn(move || {
            // The connection may end under it.
            let _ = peer.write_all(&eager(0, 1, &vec![1; bytes]));
        });
        thread::sleep(Duration::from_micros(random.below(3000)));
        drop(ground);
        sender.join().expect("the sender does not panic");
        let buffer = receive.buffer.expect("made with one");
        let before = buffer.copy();
        thread::sleep(Duration::from_millis(1));
        equal(
            "written after the context is gone",
            buffer.copy() == before,
            true,
        )?;
        buffer.unmap();
    }
    crate::runner::left_behind()
}
