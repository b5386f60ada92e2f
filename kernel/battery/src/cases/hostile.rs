//! Processes and peers that keep to nothing harm themselves only.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use oxmpi_wire::Kind;

use super::case;
use crate::ground::{Event, Ground, PATIENCE, Receive, connection, put};
use crate::packet::{data, eager, pattern, request, whole};
use crate::random::Random;
use crate::runner::{Case, Outcome, Trouble, equal, fail};
use crate::sys::{self, Buffer, Faults, scribble};

pub const CASES: &[Case] = &[
    case("hostile-memory", memory),
    case("hostile-tail", tail),
    case("hostile-peer", peer),
    case("hostile-reader", reader),
    case("hostile-calls-on-the-socket", calls),
    case("hostile-end-within-a-placement", end_within),
];

const MAP_BYTES: usize = 3 * 4096 + (64 << 10);

/// Flags, records and positions are overwritten while messages arrive and requests are made.
fn memory(random: &mut Random) -> Outcome {
    let mut ground = Ground::with(2, 64, 64 << 10)?;
    let both = libc::PROT_READ | libc::PROT_WRITE;
    let shared = Buffer::of_device(ground.device.as_fd(), MAP_BYTES, both)?;
    let buffer = Buffer::new(20_000);
    for peer in &ground.peers {
        peer.set_nonblocking(true)?;
    }
    let start = Instant::now();
    let mut generation = 0;
    while start.elapsed() < Duration::from_secs(1) {
        scribble(&shared, random, 50);
        generation += 1;
        let slot = random.below(64) as u32;
        let receive = Receive {
            generation,
            ..Receive::new(slot, None, None, buffer)
        };
        // Any answer is right; the kernel has to live.
        let _ = put(&ground.device, &receive, random.below(1 << 18));
        let rank = random.below(2) as u32;
        let bytes = match random.below(3) {
            0 => request(rank, 1, 20_000, 1),
            1 => data(receive.cookie(), 0, 20_000, &pattern(1, 0, 2000)),
            _ => eager(rank, 1, &pattern(1, 0, random.below(20_000) as usize)),
        };
        let _ = ground.send(rank, &bytes);
        let _ = ground.device.cancel_entry(receive.cookie());
        let _ = ground.device.free_entry(random.below(1 << 20));
        let _ = ground.device.wait(Some(Duration::ZERO));
    }
    drop(ground);
    // Another context is as good as new.
    let mut ground = Ground::new(1)?;
    ground.send(0, &eager(0, 1, b"still there"))?;
    equal(
        "payload",
        ground.next_packet()?.payload,
        b"still there".to_vec(),
    )
}

/// A tail that lies is not believed beyond the head: what has not been read is not overwritten by
/// accident of the kernel's own.
fn tail(_: &mut Random) -> Outcome {
    let mut ground = Ground::with(1, 4096, 64 << 10)?;
    let both = libc::PROT_READ | libc::PROT_WRITE;
    let control = Buffer::of_device(ground.device.as_fd(), 4096, both)?;
    for lie in [u64::MAX, 1 << 40, 33, 65_536 * 3] {
        control.write_word(128, lie);
        ground.send(0, &eager(0, 1, &[1; 500]))?;
        // Whatever the kernel believes, the head stays where records are.
        ground.device.wait(Some(Duration::from_millis(20)))?;
        let head = control.read_word(0);
        if head % 32 != 0 || head > 1 << 20 {
            return fail(format!("the head is {head} after a tail of {lie}"));
        }
    }
    Ok(())
}

/// Packets whose fields contradict each other: lengths, offsets and tokens of all kinds. Nothing is
/// written beside the buffers.
fn peer(random: &mut Random) -> Outcome {
    const ROOM: usize = 5000;
    let memory = Buffer::new(8 * 2 * 8192);
    let part = |slot: u32| memory.part(slot as usize * 16384 + 4096 - 7, ROOM);
    for generation in 1..60 {
        let mut ground = Ground::with(0, 8, 256 << 10)?;
        let (mut peer, ours) = connection()?;
        ground.join(peer.try_clone()?, ours, &[])?;
        for slot in 0..8 {
            ground.post(&Receive {
                generation,
                ..Receive::new(slot, None, None, part(slot))
            })?;
        }
        // A few that are met properly, so that tokens are worth something.
        for _ in 0..random.below(4) {
            peer.write_all(&request(0, 1, random.below(9000) as usize, 1))?;
        }
        for _ in 0..random.below(12) {
            // Nobody reads on after nonsense, so writing may fail.
            let _ = peer.write_all(&contradiction(random, generation));
        }
        drop(peer);
        while ground.device.peek()?.is_some() {
            ground.device.advance()?;
        }
        drop(ground);
        for slot in 0..8 {
            let from = slot as usize * 16384;
            let beside = [
                memory.part(from, 4096 - 7),
                memory.part(from + 4096 - 7 + ROOM, 16384 - 4096 + 7 - ROOM),
            ];
            if !beside.iter().all(Buffer::is_untouched) {
                return fail(format!("written beside the buffer of slot {slot}"));
            }
        }
    }
    Ok(())
}

fn contradiction(random: &mut Random, generation: u32) -> Vec<u8> {
    let mut number = || match random.below(5) {
        0 => 0,
        1 => random.below(6000),
        2 => 4999 + random.below(3),
        3 => u64::MAX - random.below(6000),
        _ => random.next(),
    };
    let (bytes, offset) = (number(), number());
    let receive = (u64::from(generation) << 32) | (number() % 9);
    let kind = match random.below(6) {
        0 | 1 => Kind::Eager,
        2 => Kind::More { offset },
        3 => Kind::RequestToSend {
            send: 1,
            address: offset,
            mapped: false,
            fetchable: true,
            sync: true,
        },
        _ => Kind::Data { receive, offset },
    };
    let payload = pattern(1, 0, random.below(9000) as usize);
    whole(kind, 0, 1, bytes as usize, &payload)
}

/// A process that reads its registered socket all the same gets some bytes and loses the stream,
/// not more.
fn reader(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(2)?;
    let receive = Receive::new(0, Some(0), Some(1), Buffer::new(100_000));
    ground.post(&receive)?;
    let mut ours = ground.ours[0].try_clone()?;
    let mut peer = ground.peers[0].try_clone()?;
    ours.set_read_timeout(Some(Duration::from_millis(1)))?;
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut bytes = [0; 100];
            while !over.load(Ordering::Relaxed) {
                let _ = ours.read(&mut bytes);
            }
        });
        for _ in 0..100 {
            let _ = peer.write_all(&eager(0, 1, &pattern(1, 0, 3000)));
        }
        over.store(true, Ordering::Relaxed);
    });
    ground.send(1, &eager(1, 2, b"another socket"))?;
    loop {
        if let Event::Packet(packet) = ground.next()?
            && packet.rank == 1
        {
            return equal("payload", packet.payload, b"another socket".to_vec());
        }
    }
}

/// Whatever the process does to its socket, the driver notices or does not mind: copies, half a
/// close, an end from within, a new life.
fn calls(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(4)?;
    // A copy, and the first descriptor closed.
    let copy = ground.ours[0].try_clone()?;
    ground.ours[0] = copy;
    ground.send(0, &eager(0, 1, b"by a copy"))?;
    equal("copy", ground.next_packet()?.payload, b"by a copy".to_vec())?;
    // Half a close: the other half still brings messages.
    ground.ours[1].shutdown(Shutdown::Write)?;
    ground.send(1, &eager(1, 1, b"the other half"))?;
    equal(
        "half",
        ground.next_packet()?.payload,
        b"the other half".to_vec(),
    )?;
    // No more reading, as the process sees it.
    ground.ours[2].shutdown(Shutdown::Read)?;
    // The end of the connection by the process, after which the socket could be used anew.
    sys::disconnect(ground.ours[3].as_fd());
    let listens = sys::listen(ground.ours[3].as_fd());
    let _ = ground.send(2, &eager(2, 1, b"perhaps"));
    let _ = ground.send(3, &eager(3, 1, b"no more"));
    std::thread::sleep(Duration::from_millis(50));
    while ground.try_next()?.is_some() {}
    for rank in 0..4 {
        ground.device.forget_socket(rank)?;
    }
    ground.ours.clear();
    equal("a registered socket can listen", listens, false)
}

/// How the process ends the stream of a socket that the driver is reading.
#[derive(Clone, Copy, Debug)]
enum End {
    /// It reads no more; what the peer sends arrives all the same.
    Shutdown,
    /// The connection is over, and the socket is connected anew.
    Disconnect,
}

/// The driver waits for a page of an entry's buffer while the process takes the bytes for it away
/// and ends the stream. The entry is over then: what arrives later is not written to whatever has
/// its slot next.
fn end_within(_: &mut Random) -> Outcome {
    /// Beyond the limit, so that it is not pinned.
    const LONG: usize = 128 << 10;
    let mut prepared = Vec::new();
    for end in [End::Shutdown, End::Disconnect] {
        match Faults::new() {
            Ok(faults) => prepared.push((end, faults, Ground::new(1)?)),
            Err(error) => return Err(Trouble::Skip(format!("no userfaultfd here: {error}"))),
        }
    }
    sys::become_limited((LONG / 2) as u64)?;
    for (end, faults, mut ground) in prepared {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let long = Receive::new(0, None, Some(1), Buffer::new(LONG));
        ground.post(&long)?;
        faults.hold(&long.buffer.expect("made with one"))?;
        let message = eager(0, 1, &pattern(1, 0, LONG));
        ground.send(0, &message[..LONG / 2])?;
        let start = Instant::now();
        while ground.device.state(0) != oxmpi_wire::o2g::MATCHED && start.elapsed() < PATIENCE {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(100));
        // The driver holds no lock while it waits, so the process can have its bytes.
        let mut ours = ground.ours[0].try_clone()?;
        ours.set_nonblocking(true)?;
        let mut bytes = vec![0; LONG];
        while matches!(ours.read(&mut bytes), Ok(found) if found > 0) {}
        let mut peer = ground.peers[0].try_clone()?;
        if let End::Disconnect = end {
            sys::disconnect(ours.as_fd());
        }
        // The page comes; there is nothing left to put there.
        drop(faults);
        std::thread::sleep(Duration::from_millis(100));
        match end {
            End::Shutdown => ours.shutdown(Shutdown::Read)?,
            End::Disconnect => {
                ground.wait_done(&long)?;
                sys::connect(ours.as_fd(), listener.local_addr()?)?;
                peer = listener.accept()?.0;
            }
        }
        let done = ground.wait_done(&long)?;
        equal("the first entry", done.error, libc::ECONNRESET as u32)?;
        while ground.try_next()?.is_some() {}
        // The slot's next entry is pinned and accepts nothing of what comes.
        let next = Receive {
            generation: 2,
            ..Receive::new(0, None, Some(2), Buffer::new(LONG / 4))
        };
        ground.post(&next)?;
        equal("pinned", ground.device.counters()?.pages_pinned > 0, true)?;
        let _ = peer.write_all(&message[LONG / 2..LONG / 2 + 1000]);
        std::thread::sleep(Duration::from_millis(100));
        let touched = !next.buffer.expect("made with one").is_untouched();
        ground.device.cancel_entry(next.cookie())?;
        // Once more without an entry.
        let _ = peer.write_all(&message[..1000]);
        std::thread::sleep(Duration::from_millis(100));
        if touched {
            return fail(format!(
                "{end:?}: bytes of an entry that was over are in the next one"
            ));
        }
    }
    Ok(())
}
